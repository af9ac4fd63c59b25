//! ASPM L0s and L1: which ports may enter these states, and how much latency the exit adds (PCIe Base 5.4.1, 7.5.3.6, 7.5.3.7).

use protocol::register::{LINK_CAPABILITIES, LINK_CONTROL};
use transaction::FunctionPlace;

use crate::fixture::*;

/// A scenario with a DMA engine below a switch. `flow` says when the engine makes requests.
fn machine(host: &str, switch: &str, device: &str, flow: &str) -> String {
    format!(
        "{HOST}{host}[switches.s]\nupstream = \"h0\"\n{switch}[devices.d]\nupstream = \"s\"\n{device}[[flows]]\nid = \"f\"\nfrom = \"d\"\nto = \"h0\"\ndirection = \"read\"\nrequest_size = \"64 B\"\n{flow}"
    )
}

const SELDOM: &str = "count = 20\ninterval = \"30 us\"\n";
const EXIT: &str = "l0s_exit_latency = \"1 us\"\nupdate_fc_refresh = \"1 ms\"\n";
const QUIET: &str = "update_fc_refresh = \"1 ms\"\n";

fn first(text: &str) -> f64 {
    let result = run(text).all_intact();
    let latency = result.flow("f").latency_ns.as_ref();
    latency.expect("requests ended").p50
}

#[test]
fn a_seldom_read_waits_for_exits_from_l0s_and_a_stream_for_none() {
    let awake = first(&machine(QUIET, QUIET, QUIET, SELDOM));
    let on = format!("{EXIT}aspm_l0s = true\n");
    let asleep = first(&machine(&on, EXIT, EXIT, SELDOM));
    // The request and its completion cross two links each, so there are four exits of 1 us. The first exit is before the measured latency begins, and
    // the root port exits within its own latency of 100 ns.
    close(asleep - awake, 2900.0, 1.0);
    let resting = run(&machine(&on, EXIT, EXIT, SELDOM));
    let share = resting.link("s-d", "up").l0s_ns / resting.simulated_ns;
    assert!((0.5..0.95).contains(&share), "{share}");
    let stream = "size = \"256 KiB\"\n";
    let rates = [QUIET, on.as_str()].map(|host| {
        let port = if host == QUIET { QUIET } else { EXIT };
        let result = run(&machine(host, port, port, stream)).all_intact();
        rate(result.flow("f"))
    });
    close(rates[1], rates[0], 3.0);
}

/// ASPM Control at both ends of both links, from the root port down. The arguments are the keys of the nodes.
fn control(host: &str, switch: &str, device: &str) -> [u32; 4] {
    let simulation = simulation(&machine(host, switch, device, SELDOM));
    let bits = |node: &str, place: FunctionPlace| {
        let functions = simulation.functions(node).expect("a node");
        functions.space(place).read(LINK_CONTROL) & 3
    };
    let port = FunctionPlace::Port(0);
    [
        bits("h0", port),
        bits("s", FunctionPlace::Own),
        bits("s", port),
        bits("d", FunctionPlace::Own),
    ]
}

#[test]
fn firmware_enables_l0s_where_both_ports_of_a_link_support_it() {
    let on = format!("{EXIT}aspm_l0s = true\n");
    assert_eq!(control(&on, EXIT, EXIT), [1, 1, 1, 1]);
    assert_eq!(control(EXIT, EXIT, EXIT), [0, 0, 0, 0]);
    assert_eq!(control(&on, EXIT, ""), [1, 1, 0, 0]);
    assert_eq!(control(&on, "", EXIT), [0, 0, 0, 0]);
}

#[test]
fn link_capabilities_have_the_exit_latency() {
    for (written, field) in [
        ("60 ns", 0),
        ("64 ns", 1),
        ("500 ns", 3),
        ("1 us", 4),
        ("1024 ns", 5),
        ("4 us", 6),
        ("5 us", 7),
    ] {
        let port = format!("l0s_exit_latency = \"{written}\"\n");
        let simulation = simulation(&machine("", "", &port, SELDOM));
        let functions = simulation.functions("d").expect("a device");
        let space = functions.space(FunctionPlace::Own);
        let capabilities = space.read(LINK_CAPABILITIES);
        assert_eq!(
            (capabilities >> 10 & 3, capabilities >> 12 & 7),
            (1, field),
            "{written}"
        );
        let functions = simulation.functions("s").expect("a switch");
        let above = functions.space(FunctionPlace::Port(0));
        assert_eq!(above.read(LINK_CAPABILITIES) >> 10 & 3, 0);
    }
}

#[test]
fn separate_reference_clocks_make_ordered_sets_ten_times_as_frequent() {
    let sets = |links: &str| {
        let text = format!(
            "[links]\n{links}{}",
            machine("", "", "", "size = \"1 MiB\"\n")
        );
        let mut simulation = simulation(&text);
        assert!(simulation.run(&mut |_| true));
        let functions = simulation.functions("d").expect("a device");
        let status = functions.space(FunctionPlace::Own).read(LINK_CONTROL);
        let result = simulation.result().all_intact();
        let bytes = result.link("s-d", "up").ordered_set_bytes as f64;
        (bytes / result.simulated_ns, status >> 28 & 1)
    };
    for (generation, ratio) in [(1, 1359.0 / 153.0), (3, 373.0 / 37.0)] {
        let [common, separate] = ["false", "true"].map(|sris| {
            sets(&format!(
                "generation = {generation}\nlanes = 4\nsris = {sris}\n"
            ))
        });
        assert_eq!((common.1, separate.1), (1, 0));
        close(separate.0 / common.0, ratio, 3.0);
    }
}

const L1: &str = "l1_exit_latency = \"4 us\"\nl1_entry_time = \"2 us\"\n";

#[test]
fn firmware_enables_l1_where_both_ports_of_a_link_support_it() {
    let on = format!("{L1}aspm_l1 = true\n");
    assert_eq!(control(&on, L1, L1), [2, 2, 2, 2]);
    assert_eq!(control(L1, L1, L1), [0, 0, 0, 0]);
    assert_eq!(control(&on, L1, ""), [2, 2, 0, 0]);
    let both = format!("{L1}l0s_exit_latency = \"1 us\"\n");
    let all = format!("{both}aspm_l1 = true\naspm_l0s = true\n");
    assert_eq!(control(&all, &both, L1), [3, 3, 2, 2]);
}

#[test]
fn link_capabilities_have_the_exit_latency_of_l1() {
    for (written, field) in [
        ("999 ns", 0),
        ("1 us", 1),
        ("3999 ns", 2),
        ("4 us", 3),
        ("32 us", 6),
        ("64 us", 6),
        ("65 us", 7),
    ] {
        let port = format!("l1_exit_latency = \"{written}\"\n");
        let simulation = simulation(&machine("", "", &port, SELDOM));
        let functions = simulation.functions("d").expect("a device");
        let capabilities = functions.space(FunctionPlace::Own).read(LINK_CAPABILITIES);
        let found = (capabilities >> 10 & 3, capabilities >> 15 & 7);
        assert_eq!(found, (2, field), "{written}");
    }
}

/// A read waits for the exits of both links. They begin at the same time, because the upstream port of the switch leaves L1 as soon as the link below
/// it does.
#[test]
fn the_links_on_the_way_up_leave_l1_together() {
    let awake = first(&machine("", "", "", SELDOM));
    let on = format!("{L1}aspm_l1 = true\n");
    let text = machine(&on, L1, L1, SELDOM);
    let asleep = first(&text);
    let waited = asleep - awake;
    assert!((4000.0..5000.0).contains(&waited), "{waited}");
    let result = run(&text).all_intact();
    for link in ["h0-s", "s-d"] {
        let resting = result.link(link, "up");
        assert!(
            resting.l1_ns / result.simulated_ns > 0.6,
            "{}",
            resting.l1_ns
        );
        assert!(
            (19..=21).contains(&resting.l1_entries),
            "{}",
            resting.l1_entries
        );
    }
}

#[test]
fn the_upstream_link_of_a_switch_is_in_l0_while_one_below_is() {
    let on = format!("{L1}aspm_l1 = true\n");
    // The second device does not support L1, so its link stays in L0.
    let text = machine(&on, L1, L1, SELDOM) + "[devices.e]\nupstream = \"s\"\n";
    let result = run(&text).all_intact();
    assert!(result.link("s-d", "up").l1_ns > 0.0);
    assert_eq!(result.link("h0-s", "up").l1_entries, 0);
    let second = format!("[devices.e]\nupstream = \"s\"\n{L1}");
    let result = run(&(machine(&on, L1, L1, SELDOM) + &second)).all_intact();
    assert!(result.link("h0-s", "up").l1_entries > 0);
}

#[test]
fn a_link_without_l1_has_no_time_in_it() {
    let result = run(&machine("", "", "", SELDOM)).all_intact();
    for link in &result.links {
        assert_eq!((link.l1_ns.to_bits(), link.l1_entries), (0, 0));
    }
}

/// A packet waits until the link leaves L1, but the link fails before the exit is complete.
#[test]
fn a_packet_that_has_woken_a_link_which_fails_then_does_not_wait_for_ever() {
    for fails_at in (9_900..10_600).step_by(10) {
        let text = format!(
            "{HOST}{L1}aspm_l1 = true\n[devices.d]\nupstream = {{ to = \"h0\", fails_at = \"{fails_at} ns\" }}\n{L1}bar = \"4 KiB\"\n[[flows]]\nid = \"f\"\nfrom = \"h0\"\nto = \"d\"\nsize = \"64 B\"\nstart = \"10 us\"\n"
        );
        let result = run(&text);
        assert_eq!(result.standing_packets, 0, "{fails_at}");
    }
}
