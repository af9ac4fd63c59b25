//! Flows that use the same bytes, and flows to regions that do not keep written data.

use std::fmt::Write;

use proptest::prelude::*;

use crate::cases::cases;
use crate::fixture::*;

/// A host with two sockets, and devices whose BAR 0 has memory, registers or FIFOs.
const MACHINE: &str = r#"
[hosts.h]
memory = "128 KiB"
sockets = 2
[devices.a]
upstream = "h"
virtual_functions = 2
virtual_bar = "16 KiB"
[devices.b]
upstream = "h"
[devices.card]
model = "fpga-card"
upstream = "h"
[devices.drive]
model = "nvme"
upstream = "h"
[devices.fifo]
model = "sg-dma"
user = "matrix"
upstream = "h"
"#;

/// Two hosts that share a controller, with a device below each.
const HOSTS: &str = r#"
[hosts.h0]
[hosts.h1]
[controllers.c]
[devices.n0]
model = "nic"
upstream = "h0"
[devices.n1]
model = "nic"
upstream = "h1"
[devices.d0]
upstream = "h0"
[devices.d1]
upstream = "h1"
"#;

fn flow(id: &str, keys: &str) -> String {
    format!("[[flows]]\nid = \"{id}\"\nsize = \"8 KiB\"\n{keys}\n")
}

/// Whether the bytes that flow `r` reads are compared if another flow `w` runs. Asserts that no byte is wrong.
fn is_compared(machine: &str, r: &str, w: &str) -> bool {
    let result = run(&format!("{machine}{}{}", flow("r", r), flow("w", w))).all_intact();
    result.flow("r").compared
}

#[test]
fn the_function_that_reads_does_not_change_the_bytes_that_it_reads() {
    let read = |keys: &str| format!("from = \"a\"\nto = \"h\"\ndirection = \"read\"\n{keys}");
    let (whole, of_function) = (
        read("offset = \"0 B\""),
        read("offset = \"4 KiB\"\nfunction = 1"),
    );
    assert!(!is_compared(MACHINE, &whole, &of_function));
    let beside = read("offset = \"8 KiB\"\nfunction = 1");
    assert!(is_compared(MACHINE, &whole, &beside));
}

#[test]
fn each_function_has_bytes_of_its_own() {
    let to = |function: &str| {
        format!("from = \"h\"\nto = \"a\"\ndirection = \"read\"\noffset = \"0 B\"\n{function}")
    };
    let (own, named, first) = (to(""), to("function = 0"), to("function = 1"));
    assert!(!is_compared(MACHINE, &own, &named));
    assert!(is_compared(MACHINE, &own, &first));
    assert!(is_compared(MACHINE, &named, &first));
}

#[test]
fn the_memory_of_a_socket_is_a_part_of_the_memory() {
    let read = |keys: &str| format!("from = \"a\"\nto = \"h\"\ndirection = \"read\"\n{keys}");
    let of_socket = read("socket = 1\noffset = \"4 KiB\"");
    assert!(!is_compared(
        MACHINE,
        &of_socket,
        &read("offset = \"68 KiB\"")
    ));
    assert!(is_compared(
        MACHINE,
        &of_socket,
        &read("offset = \"4 KiB\"")
    ));
}

#[test]
fn an_address_leads_to_the_bytes_of_whoever_has_it() {
    let read = "from = \"a\"\nto = \"h\"\ndirection = \"read\"\noffset = \"4 KiB\"";
    let write = |address: u64| format!("from = \"b\"\nto = \"{address:#x}\"");
    assert!(!is_compared(MACHINE, read, &write(0x2000)));
    assert!(is_compared(MACHINE, read, &write(0x3000)));
    let plan = simulation(MACHINE);
    let place = |name: &str, function| {
        let node = plan.plan().nodes.iter().find(|node| node.name == name);
        let region = node.and_then(|node| node.registers(function));
        region.expect("there is a BAR 0").base
    };
    let read = "from = \"h\"\nto = \"a\"\nfunction = 2\ndirection = \"read\"\noffset = \"0 B\"";
    assert!(!is_compared(MACHINE, read, &write(place("a", 2) + 0x1000)));
    assert!(is_compared(MACHINE, read, &write(place("a", 1))));
}

#[test]
fn windows_to_other_hosts_lead_to_their_bytes() {
    let read = "from = \"d1\"\nto = \"h1\"\ndirection = \"read\"\noffset = \"0 B\"";
    let write = |offset: &str| format!("from = \"d0\"\nto = \"h1\"\noffset = \"{offset}\"");
    assert!(!is_compared(HOSTS, read, &write("4 KiB")));
    assert!(is_compared(HOSTS, read, &write("8 KiB")));
    let simulation = simulation(HOSTS);
    let (base, _) = simulation.plan().window(4, 1).expect("there is a window");
    let write = |offset: u64| format!("from = \"d0\"\nto = \"{:#x}\"", base + offset);
    assert!(!is_compared(HOSTS, read, &write(0x1000)));
    assert!(is_compared(HOSTS, read, &write(0x2000)));
}

#[test]
fn windows_of_routers_lead_to_the_bytes_behind_them() {
    let machine = r#"
[hosts.h0]
[hosts.h1]
[devices.r0]
model = "router"
upstream = "h0"
[devices.r1]
model = "router"
upstream = "h1"
[devices.d1]
upstream = "h1"
[[fibres]]
from = "r0"
to = "r1"
"#;
    let read = "from = \"h1\"\nto = \"r1\"\ndirection = \"read\"\noffset = \"0 B\"";
    let write = |offset: &str| format!("from = \"h0\"\nto = \"r1\"\noffset = \"{offset}\"");
    assert!(!is_compared(machine, read, &write("4 KiB")));
    assert!(is_compared(machine, read, &write("8 KiB")));
}

#[test]
fn what_registers_return_is_not_compared() {
    for device in ["card", "drive"] {
        for direction in ["read", "both"] {
            let keys = format!("from = \"h\"\nto = \"{device}\"\ndirection = \"{direction}\"");
            let result = run(&format!("{MACHINE}{}", flow("f", &keys))).all_intact();
            assert!(!result.flow("f").compared, "{device}, {direction}");
        }
    }
}

#[test]
fn the_memory_of_a_card_follows_its_registers() {
    let reads = |offset: &str| {
        let keys = format!(
            "from = \"h\"\nto = \"card\"\ndirection = \"both\"\nread_after_write = true\noffset = \"{offset}\""
        );
        let mut simulation = simulation(&format!("{DEFAULT_LINKS}{MACHINE}{}", flow("f", &keys)));
        let warnings = simulation.plan().warnings.clone();
        assert!(simulation.run(&mut |_| true));
        let result = simulation.result().all_intact();
        (result.flow("f").compared, warnings)
    };
    assert_eq!(reads("256 KiB"), (true, Vec::new()));
    let warning = "law.toml:29: flow \"f\", offset: the first 256 KiB of BAR 0 of card are registers, so the bytes that the flow reads are not compared; write an offset of at least 256 KiB, where the memory of the card begins";
    assert_eq!(reads("252 KiB"), (false, vec![warning.to_owned()]));
}

#[test]
fn a_fifo_does_not_keep_what_is_written() {
    let is_compared = |keys: &str| {
        let flow = "[[flows]]\nid = \"f\"\nfrom = \"h\"\nto = \"fifo\"\ndirection = \"both\"";
        let result = run(&format!("{MACHINE}{flow}\nsize = \"1 KiB\"\n{keys}")).all_intact();
        result.flow("f").compared
    };
    assert!(is_compared(""));
    assert!(!is_compared("read_after_write = true\n"));
}

#[test]
fn what_nobody_has_filled_is_not_compared() {
    let read = |keys: &str| {
        let keys = format!("from = \"a\"\nto = \"0x1000\"\n{keys}");
        let result = run(&format!("{MACHINE}{}", flow("f", &keys))).all_intact();
        result.flow("f").compared
    };
    assert!(!read("direction = \"read\""));
    assert!(read("direction = \"both\"\nread_after_write = true"));
}

/// The keys of a random flow in [`MACHINE`].
fn any_flow() -> impl Strategy<Value = String> {
    let from = prop::sample::select(vec!["a", "b", "h"]);
    let to = prop::sample::select(vec!["a", "b", "h", "card", "drive", "fifo", "0x3000"]);
    let direction = prop::sample::select(vec!["write", "read", "both"]);
    let offset = prop::option::of(0_u64..3);
    (from, to, direction, offset, 0_u32..4, any::<bool>(), 0_u32..4).prop_filter_map(
        "a flow has two ends",
        |(from, to, direction, offset, function, again, socket)| {
            // A write to the FIFO does not end, because no driver reads the FIFO. A host makes no requests to its own memory.
            let is_stuck = to == "fifo" && direction != "read" || from == "h" && to == "0x3000";
            if from == to || is_stuck {
                return None;
            }
            let mut keys = format!(
                "from = \"{from}\"\nto = \"{to}\"\ndirection = \"{direction}\"\nsize = \"6 KiB\"\n"
            );
            let is_bare = to.starts_with("0x");
            if let Some(offset) = offset.filter(|_| !is_bare) {
                let _ = writeln!(keys, "offset = \"{} KiB\"", 2 * offset);
            }
            if function < 3 && (from == "a" || from == "h" && to == "a") {
                let _ = writeln!(keys, "function = {function}");
            }
            if again && direction == "both" && !is_bare {
                keys += "read_after_write = true\n";
            }
            if socket < 2 && to == "h" {
                let _ = writeln!(keys, "socket = {socket}");
            }
            Some(keys)
        },
    )
}

proptest! {
    #![proptest_config(cases(100))]

    /// Without a fault, no flow ends with wrong bytes, for all regions that flows share and all kinds of memory behind the regions.
    #[test]
    fn without_a_fault_no_byte_is_wrong(flows in prop::collection::vec(any_flow(), 1..5)) {
        let text = format!("{MACHINE}[[flows]]\n{}", flows.join("[[flows]]\n"));
        let result = run(&text);
        for flow in &result.flows {
            prop_assert!(flow.completed && flow.intact && !flow.wrong, "{flow:?}\n{text}");
        }
    }
}
