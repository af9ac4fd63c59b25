//! Laws of the check of a circuit's ports, which the build makes on Verilator's header.

#[path = "../build/ports.rs"]
#[expect(dead_code, reason = "the build alone stops")]
mod ports;

/// A header of Verilator with the ports of a leaf at 64 bits. `changed` replaces the line of the port `name`.
fn header(name: &str, changed: Option<&str>) -> String {
    let line = |(port, (direction, bits)): (&&str, &ports::Port)| {
        if *port == name {
            return changed.unwrap_or_default().to_owned();
        }
        let kind = if *direction == "input" { "IN" } else { "OUT" };
        format!("    VL_{kind}8(&{port},{},0);", bits - 1)
    };
    let lines: Vec<_> = ports::documented(64).iter().map(line).collect();
    lines.join("\n")
}

#[test]
fn a_module_with_the_documented_ports_is_a_leaf() {
    assert_eq!(ports::fault(&header("", None), 64), None);
}

/// The header without the lines of these ports.
fn without(names: &[&str]) -> String {
    let whole = header("", None);
    let is_kept = |line: &&str| !names.iter().any(|name| line.contains(&format!("&{name},")));
    whole.lines().filter(is_kept).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_module_may_leave_out_a_group_of_ports_as_a_whole() {
    let groups: [&[&str]; 3] = [
        &["ext_tag_i"],
        &["flr_done_o", "flr_i"],
        &["err_header_o", "err_kind_o", "err_valid_o"],
    ];
    for group in groups {
        let header = without(group);
        assert_eq!(ports::fault(&header, 64), None);
        assert_eq!(ports::left_out(&header, 64), group);
    }
    assert_eq!(
        ports::fault(&without(&groups.concat()), 64),
        None,
        "all of them"
    );
    for (port, message) in [
        ("flr_i", "it has no port flr_i (input of 1 bit)"),
        (
            "err_header_o",
            "it has no port err_header_o (output of 128 bits)",
        ),
    ] {
        let fault = ports::fault(&without(&[port]), 64);
        assert_eq!(fault.as_deref(), Some(message));
    }
}

#[test]
fn a_module_with_other_ports_is_refused_with_the_first_of_them() {
    let faults = [
        (
            header("irq_valid_o", None),
            "it has no port irq_valid_o (output of 1 bit)",
        ),
        (
            header("rx_bytes_i", Some("    VL_IN8(&rx_bytes_i,4,0);")),
            "its port rx_bytes_i is an input of 5 bits; it must be an input of 4 bits",
        ),
        (
            header("tx_ready_i", Some("    VL_OUT8(&tx_ready_i,0,0);")),
            "its port tx_ready_i is an output of 1 bit; it must be an input of 1 bit",
        ),
        (
            header("", None) + "\n    VL_IN8(&enable_i,0,0);",
            "it has a port enable_i, which a leaf does not have",
        ),
    ];
    for (header, message) in faults {
        assert_eq!(ports::fault(&header, 64).as_deref(), Some(message));
    }
}
