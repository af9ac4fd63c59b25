//! A link that fails: the packets and flows that are lost, and the flows that are not affected.

use kernel::{Span, Time};
use proptest::prelude::*;
use proptest::sample::select;

use crate::cases::cases;
use crate::fixture::{Ask, HOST, run, simulation, trace};

/// A scenario with two DMA engines below the host, each with a flow. The link of the first engine fails.
fn two(direction: &str) -> String {
    let mut text = format!("[links]\ngeneration = 3\nlanes = 8\n{HOST}");
    text += "[devices.d0]\nupstream = { to = \"h0\", fails_at = \"20 us\" }\n";
    text += "[devices.d1]\nupstream = \"h0\"\n";
    let flow = |device: &str| {
        format!(
            "[[flows]]\nid = \"{device}\"\nfrom = \"{device}\"\nto = \"h0\"\nsize = \"256 KiB\"\ndirection = \"{direction}\"\n"
        )
    };
    text + &flow("d0") + &flow("d1")
}

#[test]
fn reads_over_a_link_that_has_failed_end_by_completion_timeout() {
    let result = run(&two("read"));
    let [failed, other] = ["d0", "d1"].map(|id| result.flow(id));
    assert!(failed.bytes > 0 && failed.bytes < 256 * 1024 && !failed.intact);
    assert!(other.completed && other.intact);
    let missing = (256 * 1024 - failed.bytes).div_ceil(512);
    let timeouts = result.errors("d0", "completion timeout");
    assert!(
        (missing..=missing + 1).contains(&timeouts),
        "{timeouts} of {missing}"
    );
    assert_eq!(result.errors("d1", "completion timeout"), 0);
}

#[test]
fn writes_over_a_link_that_has_failed_do_not_arrive_and_others_do() {
    let result = run(&two("write"));
    let [failed, other] = ["d0", "d1"].map(|id| result.flow(id));
    assert!(failed.bytes > 0 && failed.bytes < 256 * 1024);
    assert!(!failed.completed && other.completed && other.intact);
    let down = result.link("h0-d1", "up");
    assert_eq!(down.replays, 0);
}

#[test]
fn the_wire_of_a_failed_link_is_idle() {
    for measured in ["25 us", "1000 us"] {
        let window = format!("[measure]\nfrom = \"{measured}\"\nuntil = \"1500 us\"\n");
        let flow = "duration = \"1600 us\"\ninterval = \"5 us\"";
        let result = run(&(window + &two("write").replace("size = \"256 KiB\"", flow)));
        assert!(result.measured_ns.is_some());
        for direction in ["up", "down"] {
            let failed = result.link("h0-d0", direction);
            assert!(failed.utilisation <= 0.0, "{failed:?}");
            assert_eq!(failed.ordered_set_bytes + failed.dllp_bytes, 0);
            assert!(result.link("h0-d1", direction).ordered_set_bytes > 0);
        }
    }
}

#[test]
fn what_was_under_way_to_a_host_by_a_link_that_fails_is_let_go_of() {
    let mut simulation = simulation(&two("read").replace("20 us", "18 us"));
    assert!(simulation.run(&mut |_| true));
    assert_eq!(simulation.packets_in_use(), 0);
}

#[test]
fn messages_end_with_the_cable_that_carried_them() {
    let side = |side: &str| {
        format!(
            "[controllers.{side}]\n[hosts.h{side}]\n[devices.n{side}]\nmodel = \"nic\"\nupstream = \"h{side}\"\ncontroller = \"{side}\"\n"
        )
    };
    let mut text = String::from("[links]\ngeneration = 3\nlanes = 8\n") + &side("a") + &side("b");
    text += "[[cables]]\nfrom = \"a\"\nto = \"b\"\nfails_at = \"40 us\"\n";
    text += "[[flows]]\nid = \"m\"\nfrom = \"na\"\nto = \"nb\"\nsize = \"1 MiB\"\n";
    let result = run(&text);
    let flow = result.flow("m");
    assert!(flow.bytes > 0 && flow.bytes < 1 << 20);
    assert!(!flow.completed);
    let mut log = result.incidents.iter();
    for place in ["a to b", "b to a"] {
        let is_told = log.any(|one| one.place == place && one.what == "link down");
        assert!(is_told, "{place}: {:?}", result.incidents);
    }
}

#[test]
fn a_link_that_fails_before_it_is_up_lets_the_run_end() {
    let result = run(&two("write").replace("20 us", "1 ns"));
    let [failed, other] = ["d0", "d1"].map(|id| result.flow(id));
    assert!(!failed.completed && failed.bytes == 0);
    assert!(other.completed && other.intact);
    let alone = two("write").replace(
        "[devices.d1]\nupstream = \"h0\"",
        "[devices.d1]\nupstream = { to = \"h0\", fails_at = \"1 ns\" }",
    );
    let result = run(&alone.replace("20 us", "1 ns"));
    assert!(
        result
            .flows
            .iter()
            .all(|flow| flow.bytes == 0 && !flow.completed)
    );
}

#[test]
fn a_link_that_does_not_come_up_is_named_and_is_no_deadlock() {
    for kept_down in ["bit_error_rate = 0.3", "fails_at = \"1 ns\""] {
        let text = two("write").replace("fails_at = \"20 us\"", kept_down);
        let result = run(&text);
        assert!(!result.flow("d0").completed && result.flow("d1").intact);
        assert_eq!(result.standing_packets, 0);
        assert_eq!(result.errors("h0-d0", "the link did not come up"), 1);
        assert_eq!(result.errors("h0-d1", "the link did not come up"), 0);
    }
}

/// A corrupt packet that a cut-through switch has begun to forward is not stored in the receive buffer. If the egress link of the packet fails, the
/// packet frees no credit.
#[test]
fn a_corrupt_packet_that_a_failed_link_drops_frees_no_credit() {
    for seed in 0..4 {
        let text = format!(
            "seed = {seed}\n[hosts.h]\n[switches.s]\nupstream = {{ to = \"h\", fails_at = \"2 us\" }}\n[devices.d]\nupstream = {{ to = \"s\", bit_error_rate = 1e-4 }}\n[[flows]]\nid = \"f\"\nfrom = \"d\"\nto = \"h\"\nsize = \"64 KiB\"\n"
        );
        assert!(!run(&text).flow("f").completed);
    }
}

/// A fabric with bit errors on every link, in which the upstream link of `failing` fails.
///
/// `a` and `b` are below switch `t` below switch `s`, `c` is below `s`, `d` below a second root port. Each link carries flows in both directions, and
/// every egress carries packets of several sources.
fn wrecked(
    failing: &str,
    (seed, rate, fails_at): (u32, f64, u32),
    (cut_through, output_queue): (bool, u32),
) -> String {
    let link = |node: &str, above: &str| {
        let failure = if node == failing {
            format!(", fails_at = \"{fails_at} ns\"")
        } else {
            String::new()
        };
        format!("upstream = {{ to = \"{above}\"{failure} }}\n")
    };
    let switch = |(node, above): (&str, &str)| {
        format!(
            "[switches.{node}]\n{}cut_through = {cut_through}\noutput_queue = \"{output_queue} B\"\n",
            link(node, above)
        )
    };
    let device = |(node, above): (&str, &str)| {
        format!(
            "[devices.{node}]\n{}bar = \"256 KiB\"\ncompletion_timeout = \"1000 us\"\n",
            link(node, above)
        )
    };
    let flows = |(from, to): (&str, &str)| {
        ["write", "read"].map(|direction| {
            format!(
                "[[flows]]\nid = \"{from}-{to}-{direction}\"\nfrom = \"{from}\"\nto = \"{to}\"\ndirection = \"{direction}\"\nsize = \"16 KiB\"\nrequest_size = \"64 B\"\n"
            )
        })
    };
    // With so many bit errors, a read may take longer than the shortest completion timeout.
    let head = format!(
        "seed = {seed}\n[links]\ngeneration = 3\nlanes = 4\nbit_error_rate = {rate:e}\n[hosts.h0]\ncompletion_timeout = \"1000 us\"\n"
    );
    let switches = [("s", "h0"), ("t", "s")].map(switch);
    let devices = [("a", "t"), ("b", "t"), ("c", "s"), ("d", "h0")].map(device);
    let pairs = [
        ("a", "h0"),
        ("d", "h0"),
        ("h0", "c"),
        ("b", "a"),
        ("c", "b"),
        ("d", "a"),
    ];
    head + &switches.concat() + &devices.concat() + &pairs.map(flows).concat().concat()
}

/// Whether an end of a flow of [`wrecked`] is `failing` or a node below it. A failure above a switch also ends flows between devices below the
/// switch, because it resets the switch.
fn is_hit(flow: &str, failing: &str) -> bool {
    let above = |node: &str| match node {
        "a" => vec!["a", "t", "s"],
        "b" => vec!["b", "t", "s"],
        "c" => vec!["c", "s"],
        "d" => vec!["d"],
        _ => vec![],
    };
    flow.split('-').any(|end| above(end).contains(&failing))
}

proptest! {
    #![proptest_config(cases(16))]
    /// With bit errors on all links and a failure of any one link, no packet and no credit remains, and the flows that do not use the failed link
    /// arrive completely.
    #[test]
    fn bit_errors_and_a_failed_link_leave_no_packet_and_no_credit_behind(
        failing in select(&["s", "t", "a", "b", "c", "d"][..]),
        seed in 0_u32..1000,
        rate in select(&[1e-7, 1e-6, 1e-5][..]),
        fails_at in 1_000_u32..30_000,
        cut_through in any::<bool>(),
        output_queue in select(&[0, 0, 256, 65536][..]),
    ) {
        let text = wrecked(failing, (seed, rate, fails_at), (cut_through, output_queue));
        let mut simulation = simulation(&text);
        prop_assert!(simulation.run(&mut |_| true));
        let rest = Time::from_fs(simulation.now().as_fs() + Span::from_us(1000).as_fs());
        simulation.run_until(rest, &mut || true);
        prop_assert_eq!(simulation.packets_in_use(), 0);
        prop_assert_eq!(simulation.credits_held(), 0);
        let result = simulation.result();
        for flow in &result.flows {
            if !is_hit(&flow.id, failing) {
                prop_assert!(flow.completed && flow.intact, "{:?}", flow);
            }
        }
    }
}

/// A scenario with a device `a`, and a device `b` whose link fails at 20 us. Both are below a switch or at root ports of the host.
fn peers(above: &str, direction: &str) -> String {
    let switch = match above {
        "s" => "[switches.s]\nupstream = \"h0\"\n",
        _ => "",
    };
    format!(
        "[links]\ngeneration = 3\nlanes = 8\n{HOST}{switch}[devices.a]\nupstream = \"{above}\"\n[devices.b]\nupstream = {{ to = \"{above}\", fails_at = \"20 us\" }}\nbar = \"256 KiB\"\n[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"b\"\ndirection = \"{direction}\"\nsize = \"256 KiB\"\nrequest_size = \"256 B\"\n"
    )
}

/// PCIe Base 2.9.1: a port whose link is down answers non-posted requests, so only requests that were already sent over the link time out. The port
/// discards and reports posted requests.
#[test]
fn a_port_whose_link_is_down_refuses_requests_for_it() {
    for above in ["s", "h0"] {
        for direction in ["read", "write"] {
            let mut simulation = simulation(&peers(above, direction));
            assert!(simulation.run(&mut |_| true));
            let result = simulation.result();
            let flow = result.flow("f");
            let refused = result.errors(above, "unsupported request");
            let timeouts = result.errors("a", "completion timeout");
            assert!(flow.bytes > 0 && refused > 100, "{flow:?} {refused}");
            // The number of bytes that were in flight when the link failed.
            let lost = 256 * 1024 - flow.bytes - 256 * refused;
            assert!(lost < 64 * 256, "{lost}");
            if direction == "read" {
                assert!(flow.completed && timeouts == lost / 256 && timeouts <= 32);
                assert!(simulation.now() < Time::ZERO + Span::from_us(11_000));
            } else {
                assert_eq!(timeouts, 0);
            }
            // A refused read receives a completion, so the error is an advisory non-fatal error (PCIe Base 6.2.3.2.4.1).
            let (status, bit) = match direction {
                "read" => (protocol::register::AER + 4, 1 << 13),
                _ => (protocol::register::AER + 1, 1 << 20),
            };
            let functions = simulation.functions(above).expect("a node");
            let ports: Vec<u32> = functions
                .ports()
                .map(|space| space.read(status) & bit)
                .collect();
            assert_eq!(ports, [0, bit]);
            assert_eq!(simulation.packets_in_use(), 0);
        }
    }
}

#[test]
fn a_host_is_told_that_a_device_below_a_failed_link_is_gone() {
    for (above, switch) in [("h0", ""), ("s", "[switches.s]\nupstream = \"h0\"\n")] {
        let text = format!(
            "{HOST}{switch}[devices.d]\nupstream = {{ to = \"{above}\", fails_at = \"20 us\" }}\nbar = \"4 KiB\"\n"
        );
        let mut simulation = simulation(&text);
        simulation.run_until(Time::ZERO + Span::from_us(10), &mut || true);
        let device = simulation
            .plan()
            .nodes
            .last()
            .expect("a device")
            .functions
            .id();
        let id = |simulation: &mut sim::Simulation| {
            simulation.config_read("h0", device, 0, 4, &mut || true)
        };
        assert_ne!(id(&mut simulation), Ok(u32::MAX));
        let down = Time::ZERO + Span::from_us(21);
        simulation.run_until(down, &mut || true);
        assert_eq!(id(&mut simulation), Ok(u32::MAX));
        assert!(
            simulation
                .read_back("h0", 0xc000_0000, 4, &mut || true)
                .is_err()
        );
        assert!(simulation.now() < down + Span::from_us(10));
        simulation.run_until(down + Span::from_us(100), &mut || true);
        assert_eq!(simulation.packets_in_use(), 0);
    }
}

/// A sender that does not detect the failure continues to send at the rate of the link, so the simulated time advances and the flow ends.
#[test]
fn a_flow_that_goes_on_over_a_failed_link_comes_to_an_end() {
    for (from, to) in [("h0", "d"), ("d", "h0")] {
        for direction in ["write", "read"] {
            let text = format!(
                "{HOST}[devices.d]\nupstream = {{ to = \"h0\", fails_at = \"20 us\" }}\nbar = \"4 KiB\"\n[[flows]]\nid = \"f\"\nfrom = \"{from}\"\nto = \"{to}\"\ndirection = \"{direction}\"\nwindow = \"4 KiB\"\nduration = \"50 us\"\n"
            );
            let mut simulation = simulation(&text);
            assert!(simulation.run(&mut |_| true));
            assert!(simulation.result().flow("f").bytes > 0);
            assert_eq!(simulation.packets_in_use(), 0);
            if (from, direction) == ("h0", "write") {
                assert!(simulation.result().errors("h0", "unsupported request") > 0);
            }
        }
    }
}

/// A scenario with a chain of two switches below the host: device `a` is below switch `t`, which is below switch `s`; device `b` is below `s`.
fn chain(s: &str, t: &str, a: &str) -> String {
    let link = |to: &str, fails_at: &str| match fails_at {
        "" => format!("upstream = \"{to}\"\n"),
        time => format!("upstream = {{ to = \"{to}\", fails_at = \"{time}\" }}\n"),
    };
    format!(
        "{HOST}[switches.s]\n{}[switches.t]\n{}[devices.a]\n{}[devices.b]\nupstream = \"s\"\n",
        link("h0", s),
        link("s", t),
        link("t", a)
    )
}

/// Uncorrectable Error Status, and whether the link below is active, of each downstream port of a node.
fn ports(simulation: &sim::Simulation, node: &str) -> Vec<(u32, bool)> {
    let functions = simulation.functions(node).expect("a node");
    let port = |space: &protocol::ConfigSpace| {
        (space.read(protocol::register::AER + 1), space.link_active())
    };
    functions.ports().map(port).collect()
}

const SURPRISE_DOWN: u32 = 1 << 5;

#[test]
fn the_port_above_a_failed_link_records_surprise_down() {
    let mut simulation = simulation(&chain("", "", "20 us"));
    simulation.run_until(Time::ZERO + Span::from_us(19), &mut || true);
    assert_eq!(ports(&simulation, "t"), [(0, true)]);
    simulation.run_until(Time::ZERO + Span::from_us(21), &mut || true);
    assert_eq!(ports(&simulation, "t"), [(SURPRISE_DOWN, false)]);
    assert_eq!(ports(&simulation, "s"), [(0, true), (0, true)]);
    assert_eq!(ports(&simulation, "h0"), [(0, true)]);
    // Software reads the Surprise Down bit, clears it, and then reads 0.
    let port = simulation.functions("t").expect("a switch");
    let port = port.id_of(transaction::FunctionPlace::Port(0));
    for expected in [SURPRISE_DOWN, 0] {
        let status = simulation.config_read("h0", port, 0x104, 4, &mut || true);
        assert_eq!(status, Ok(expected));
        simulation
            .config_write("h0", port, (0x104, 4), expected, &mut || true)
            .expect("a host");
    }
    assert!(!simulation.lspci().contains("\n0000:04:00.0 a"));
}

/// PCIe Base 2.9.1 and 6.6.1: the switch loses its configuration, and the links below the switch go down.
#[test]
fn a_switch_whose_upstream_link_fails_is_reset_with_all_below() {
    let mut simulation = simulation(&chain("20 us", "", "10 us"));
    let before = simulation.functions("s").expect("a switch");
    assert_ne!(
        before.space(transaction::FunctionPlace::Own).buses(),
        (0, 0)
    );
    simulation.run_until(Time::ZERO + Span::from_us(21), &mut || true);
    assert_eq!(ports(&simulation, "h0"), [(SURPRISE_DOWN, false)]);
    // A hot reset that takes a link down is not an error. An earlier error remains recorded, because the status is sticky.
    assert_eq!(ports(&simulation, "s"), [(0, false), (0, false)]);
    assert_eq!(ports(&simulation, "t"), [(SURPRISE_DOWN, false)]);
    for switch in ["s", "t"] {
        let functions = simulation.functions(switch).expect("a switch");
        for place in functions.places() {
            let space = functions.space(place);
            assert_eq!(space.secondary_bus(), 0);
            assert!(!space.memory_enable() && !space.bus_master_enable());
            assert_eq!(space.max_payload(), 128);
        }
    }
}

/// If the link above a switch fails, a flow between two devices below the switch also ends, because the switch is reset.
#[test]
fn a_switch_that_is_reset_forwards_nothing() {
    let text = chain("20 us", "", "")
        + "[[flows]]\nid = \"f\"\nfrom = \"b\"\nto = \"a\"\nsize = \"1 MiB\"\nwindow = \"64 KiB\"\n";
    let mut simulation = simulation(&text);
    assert!(simulation.run(&mut |_| true));
    let result = simulation.result();
    assert!(result.flow("f").bytes > 0 && !result.flow("f").completed);
    assert_eq!(
        (simulation.packets_in_use(), simulation.credits_held()),
        (0, 0)
    );
}

/// The root port of an I/O port refuses the loads and stores of hosts, and records them.
#[test]
fn an_io_port_refuses_what_is_for_an_endpoint_below_a_failed_link() {
    let text = r#"
        [controllers.c]
        ports = 2
        [hosts.h0]
        [devices.n0]
        model = "nic"
        upstream = "h0"
        [io_ports.p]
        owners = ["h0"]
        [devices.e]
        upstream = { to = "p", fails_at = "10 us" }
        [[flows]]
        id = "f"
        from = "h0"
        to = "e"
        direction = "read"
        size = "64 KiB"
    "#;
    let mut simulation = simulation(text);
    assert!(simulation.run(&mut |_| true));
    let result = simulation.result();
    let flow = result.flow("f");
    assert!(flow.completed && !flow.intact && flow.bytes > 0);
    assert!(result.errors("p", "unsupported request") > 100);
    let functions = simulation.functions("p").expect("an I/O port");
    let port = functions.space(transaction::FunctionPlace::Port(0));
    let (uncorrectable, correctable) = (protocol::register::AER + 1, protocol::register::AER + 4);
    assert_eq!(port.read(uncorrectable), SURPRISE_DOWN);
    assert_eq!(port.read(correctable), 1 << 13);
}

/// If a cut-through port has forwarded the header of a packet and the rest of the packet never arrives, the forwarded copy ends with EDB (PCIe Base
/// 3.5.2.1).
#[test]
fn a_packet_that_the_end_of_its_link_cuts_is_forwarded_as_nullified() {
    let removal = "[[incidents]]\nat = \"40 us\"\nwhat = \"surprise-removal\"\nnode = \"d\"\n";
    for (key, incident) in [(", fails_at = \"60 us\"", ""), ("", removal)] {
        let text = format!(
            "[links]\ngeneration = 1\nlanes = 1\n{HOST}[switches.s]\nupstream = \"h0\"\n[devices.d]\nupstream = {{ to = \"s\"{key} }}\n[[flows]]\nid = \"f\"\nfrom = \"d\"\nto = \"h0\"\nsize = \"64 KiB\"\n{incident}"
        );
        let (result, lines) = trace(&text);
        let of = |key: &'static str, value: &'static str| {
            let lines = lines.iter().filter(|line| line["direction"] == "up");
            lines.filter(move |line| line[key] == value)
        };
        let forwarded = of("tlp", "MWr").filter(|line| line["link"] == "h0-s");
        let (cut, good): (Vec<_>, Vec<_>) = forwarded.partition(|line| line["nullified"] == true);
        assert_eq!(cut.len(), 1);
        let came = of("arrival", "tlp").filter(|line| line["link"] == "s-d");
        let came = came.filter(|line| line["verdict"] == "accepted");
        assert_eq!(good.len(), came.count());
        let bytes: u64 = good.iter().filter_map(|line| line["bytes"].as_u64()).sum();
        assert_eq!(result.flow("f").bytes, bytes);
    }
}
