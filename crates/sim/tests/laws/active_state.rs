//! ASPM L0s: who may enter it, and what it costs (PCIe Base 5.4.1.1, 7.5.3.6, 7.5.3.7).

use protocol::register::{LINK_CAPABILITIES, LINK_CONTROL};
use transaction::FunctionPlace;

use crate::fixture::*;

/// A DMA engine below a switch, which makes a request each 30 us.
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
    // Two links on the way there and back. The latency begins after the first exit, and the root port exits within its latency of 100 ns.
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

#[test]
fn firmware_enables_l0s_where_both_ports_of_a_link_support_it() {
    let control = |host: &str, switch: &str, device: &str| {
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
    };
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
