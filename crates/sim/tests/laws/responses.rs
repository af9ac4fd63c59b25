//! Writes that wait for the responses of earlier writes to other targets. The expected rates are calculated by hand.

use crate::fixture::*;

/// The rates of flows of writes of 256 bytes from device `a` to these targets, below a host whose writes arrive at another root port 100 ns after they
/// have left the receive buffer: `peer_latency` without the latencies of two ports. Each flow has the further keys `more`.
fn rates(host: &str, targets: &[&str], more: &str) -> Vec<f64> {
    let devices = ["a", "b", "c"].map(|name| {
        format!("[devices.{name}]\nupstream = \"h0\"\nbar = \"1 MiB\"\nmax_payload_supported = \"256 B\"\n")
    });
    let flows = targets.iter().map(|to| {
        format!(
            "[[flows]]\nfrom = \"a\"\nto = \"{to}\"\nwindow = \"4 KiB\"\nrequest_size = \"256 B\"\nstart = \"5 us\"\nduration = \"140 us\"\n{more}\n"
        )
    });
    let text = format!(
        "[links]\ngeneration = 4\nlanes = 16\n[measure]\nfrom = \"20 us\"\nuntil = \"120 us\"\n{HOST}port_latency = \"50 ns\"\n{host}\n{}{}",
        devices.concat(),
        flows.collect::<String>()
    );
    run(&text).all_intact().flows.iter().map(steady).collect()
}

const LATENCY: &str = "write_response_latency = \"60 ns\"";

/// The writes of the two flows follow each other by turns. Each waits until the one before it has arrived, and 60 ns for its response.
#[test]
fn writes_to_two_root_ports_wait_for_each_other() {
    let waiting = rates(LATENCY, &["b", "c"], "");
    let each = 256.0 / 160e-9;
    close(waiting[0] + waiting[1], each, 0.5);
    let free = rates("", &["b", "c"], "");
    assert!(free[0] + free[1] > 10.0 * each, "{free:?}");
}

/// A write arrives at the memory after 50 ns, and its four lines take 10 ns.
#[test]
fn writes_to_memory_and_to_a_root_port_wait_for_each_other() {
    let waiting = rates(LATENCY, &["h0", "b"], "");
    let pair = 2.0 * 256.0 / (160e-9 + 120e-9);
    close(waiting[0] + waiting[1], pair, 0.5);
}

#[test]
fn writes_to_one_target_do_not_wait() {
    for targets in [["b", "b"], ["h0", "h0"]] {
        let (with, without) = (rates(LATENCY, &targets, ""), rates("", &targets, ""));
        assert_eq!(with, without);
    }
}

#[test]
fn writes_with_relaxed_ordering_do_not_wait() {
    let relaxed = "relaxed_ordering = true";
    let targets = ["b", "c"];
    assert_eq!(
        rates(LATENCY, &targets, relaxed),
        rates("", &targets, relaxed)
    );
}

#[test]
fn a_flow_waits_for_the_responses_of_writes() {
    let flow = |to: &str| format!("[[flows]]\nfrom = \"a\"\nto = \"{to}\"\nsize = \"32 KiB\"\n");
    let text = format!(
        "{HOST}{LATENCY}\n[devices.a]\nupstream = \"h0\"\n[devices.b]\nupstream = \"h0\"\n{}{}",
        flow("h0"),
        flow("b")
    );
    let mut simulation = simulation(&text);
    simulation.watch_waits();
    assert!(simulation.run(&mut |_| true));
    let waits = simulation.result().waits.expect("the run was watched");
    let limit = waits[0]
        .limit
        .as_ref()
        .expect("the flow waited for something");
    assert_eq!(limit.detail.as_deref(), Some("the responses of writes"));
}
