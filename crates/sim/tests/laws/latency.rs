//! The latency without load, compared with sums that were calculated by hand.
//!
//! A Gen2 x4 link carries two bytes a nanosecond. A symbol takes 2 ns, and on an idle wire a packet starts at the beginning of a symbol. The flight
//! time is 1 ns. A write of 128 bytes has 148 bytes on the wire, which take 74 ns; its header is complete after 16 bytes, 8 ns. All flows begin at 10
//! us, between two skip ordered sets. Memory of 25.6 GB/s takes a line of 64 bytes each 2.5 ns.

use crate::fixture::*;

const LINKS: &str = "[links]\ngeneration = 2\nlanes = 4\ndelay = \"1 ns\"\n";

const ONE_WRITE: &str = r#"
[[flows]]
id = "f"
from = "a"
to = "h0"
count = 1
request_size = "128 B"
start = "10 us"
"#;

fn ns(text: &str, expected: f64) {
    let actual = latency(text);
    assert!(
        (actual - expected).abs() < 0.001,
        "{actual} ns, {expected} ns expected"
    );
}

#[test]
fn a_write_to_memory_without_a_switch() {
    let text = format!("{LINKS}{HOST}[devices.a]\nupstream = \"h0\"\n{ONE_WRITE}");
    ns(&text, 74.0 + 1.0 + 100.0 + 2.0 * 2.5);
}

#[test]
fn a_write_through_one_cut_through_switch() {
    let text = format!(
        "{LINKS}{HOST}[switches.s]\nlatency = \"150 ns\"\nupstream = \"h0\"\n[devices.a]\nupstream = \"s\"\n{ONE_WRITE}"
    );
    // The header arrives at 9 ns and leaves 150 ns later, at the next symbol.
    ns(&text, 160.0 + 74.0 + 1.0 + 105.0);
}

#[test]
fn a_write_through_two_cut_through_switches() {
    let text = format!(
        "{LINKS}{HOST}[switches.s]\nlatency = \"150 ns\"\nupstream = \"h0\"\n[switches.t]\nlatency = \"150 ns\"\nupstream = \"s\"\n[devices.a]\nupstream = \"t\"\n{ONE_WRITE}"
    );
    ns(&text, 160.0 + 160.0 + 74.0 + 1.0 + 105.0);
}

#[test]
fn a_store_and_forward_switch_waits_for_the_last_bit() {
    let text = format!(
        "{LINKS}{HOST}[switches.s]\nlatency = \"150 ns\"\nupstream = \"h0\"\ncut_through = false\n[devices.a]\nupstream = \"s\"\n{ONE_WRITE}"
    );
    // The packet is complete at 75 ns. The first symbol at least 150 ns later begins at 226 ns.
    ns(&text, 226.0 + 74.0 + 1.0 + 105.0);
}

/// A write from a Gen1 x1 link, where a byte takes 4 ns, to the Gen2 x4 link above the switch.
fn from_a_slow_link(switch: &str) -> String {
    format!(
        "{LINKS}{HOST}[switches.s]\nlatency = \"150 ns\"\nupstream = \"h0\"\n{switch}\n[devices.a]\nupstream = {{ to = \"s\", generation = 1, lanes = 1 }}\n{ONE_WRITE}"
    )
}

#[test]
fn from_a_slow_to_a_fast_link_the_latency_is_that_of_the_last_bit() {
    // The last bit arrives at 593 ns and could leave at 743 ns. The header leaves 74 ns before that time, at the next symbol.
    ns(&from_a_slow_link(""), 670.0 + 74.0 + 1.0 + 105.0);
}

#[test]
fn a_switch_may_store_what_goes_from_a_slow_to_a_fast_link() {
    let text = from_a_slow_link("store_for_faster_links = true");
    ns(&text, 744.0 + 74.0 + 1.0 + 105.0);
    // A packet for a link that is not faster is not stored.
    let text = format!(
        "{LINKS}{HOST}[switches.s]\nlatency = \"150 ns\"\nupstream = \"h0\"\nstore_for_faster_links = true\n[devices.a]\nupstream = \"s\"\n{ONE_WRITE}"
    );
    ns(&text, 160.0 + 74.0 + 1.0 + 105.0);
}

#[test]
fn a_cut_through_switch_does_not_let_a_faster_egress_run_dry() {
    let text = format!(
        "{LINKS}{HOST}[switches.s]\nlatency = \"150 ns\"\nupstream = \"h0\"\n[devices.a]\nupstream = {{ to = \"s\", lanes = 1 }}\n{ONE_WRITE}"
    );
    // On one lane the packet takes 296 ns. Its last bit may leave at 297 + 150 ns, so its first bit may leave at 373 ns. The next symbol begins at
    // 374 ns.
    ns(&text, 374.0 + 74.0 + 1.0 + 105.0);
}

#[test]
fn a_slower_egress_starts_after_the_latency() {
    let text = format!(
        "{LINKS}{HOST}[switches.s]\nlatency = \"150 ns\"\nupstream = {{ to = \"h0\", lanes = 1 }}\n[devices.a]\nupstream = \"s\"\n{ONE_WRITE}"
    );
    ns(&text, 160.0 + 296.0 + 1.0 + 105.0);
}

#[test]
fn a_write_at_gen3_takes_130_bits_for_128() {
    let text = format!(
        "[links]\ngeneration = 3\nlanes = 8\ndelay = \"1 ns\"\n{HOST}[devices.a]\nupstream = \"h0\"\n{ONE_WRITE}"
    );
    // The packet starts with the first symbol at or after 10 us. A symbol takes 130/128 ns.
    let symbol = 130.0 / 128.0;
    let start = (10_000.0_f64 / symbol).ceil() * symbol - 10_000.0;
    ns(&text, start + 148.0 * symbol / 8.0 + 1.0 + 105.0);
}

#[test]
fn a_read_of_memory_and_back() {
    let text = format!(
        "{LINKS}{HOST}[devices.a]\nupstream = \"h0\"\n[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"h0\"\ndirection = \"read\"\ncount = 1\nrequest_size = \"64 B\"\nstart = \"10 us\"\n"
    );
    // The request of 20 bytes takes 10 ns and 1 ns of flight. The path to the memory takes 100 ns, a memory line 2.5 ns, the data 80 ns, and the path
    // back 100 ns. The completion of 84 bytes starts at the next symbol.
    let data = 10.0 + 1.0 + 100.0 + 2.5 + 80.0 + 100.0;
    ns(&text, data + 0.5 + 42.0 + 1.0);
}

#[test]
fn the_memory_of_a_device_answers_after_its_own_latency() {
    let text = format!(
        "{LINKS}{HOST}[devices.a]\nupstream = \"h0\"\nread_latency = \"300 ns\"\nreceive_latency = \"40 ns\"\nsend_latency = \"60 ns\"\n[[flows]]\nid = \"f\"\nfrom = \"h0\"\nto = \"a\"\ndirection = \"read\"\ncount = 1\nrequest_size = \"64 B\"\nstart = \"10 us\"\n"
    );
    // The path from the CPU to the root port takes 100 ns, the wire 11 ns, and the latencies of the device 40, 300 and 60 ns. The completion is
    // counted after the 50 ns of the root port's pipeline.
    let out = 100.0 + 11.0 + 40.0 + 300.0 + 60.0;
    ns(&text, out + 1.0 + 42.0 + 1.0 + 50.0);
}

const TWO_BELOW_A_SWITCH: &str = r#"
[links]
generation = 2
lanes = 4
delay = "1 ns"
[hosts.h0]
peer_latency = "200 ns"
[devices.a]
upstream = "s"
[devices.b]
upstream = "s"
[[flows]]
id = "f"
from = "a"
to = "b"
count = 1
request_size = "128 B"
start = "10 us"
[switches.s]
latency = "150 ns"
upstream = "h0"
"#;

#[test]
fn a_peer_write_turns_at_the_switch() {
    ns(TWO_BELOW_A_SWITCH, 160.0 + 74.0 + 1.0);
}

#[test]
fn acs_redirect_takes_a_peer_write_via_the_root() {
    let text = format!("{TWO_BELOW_A_SWITCH}acs_redirect = true\n");
    // The write arrives at the root complex at 235 ns. It takes 200 ns from port to port, leaves at the next symbol, 436 ns, and passes the switch
    // again.
    ns(&text, 436.0 + 160.0 + 74.0 + 1.0);
    let (_, lines) = trace(&text);
    let wires: Vec<_> = lines
        .iter()
        .filter(|line| line["tlp"] == "MWr")
        .map(|line| (line["link"].as_str(), line["direction"].as_str()))
        .collect();
    let hop = |link, direction| (Some(link), Some(direction));
    assert_eq!(
        wires,
        [
            hop("s-a", "up"),
            hop("h0-s", "up"),
            hop("h0-s", "down"),
            hop("s-b", "down")
        ]
    );
}

#[test]
fn acs_redirect_of_requests_leaves_completions_alone() {
    let text = format!("{TWO_BELOW_A_SWITCH}acs_redirect = true\n")
        .replace("count = 1", "count = 1\ndirection = \"read\"");
    let (result, lines) = trace(&text);
    result.all_intact();
    let wires = |tlp: &str| {
        let on = lines.iter().filter(|line| line["tlp"] == tlp);
        on.count()
    };
    assert_eq!((wires("MRd"), wires("CplD")), (4, 2));
}

/// The scenario `TWO_BELOW_A_SWITCH` with a second switch above the first. `below` and `above` have the ACS keys of the two switches.
fn nested(below: &str, above: &str) -> String {
    format!("{TWO_BELOW_A_SWITCH}{below}\n[switches.top]\nupstream = \"h0\"\n{above}\n").replace(
        "[switches.s]\nlatency = \"150 ns\"\nupstream = \"h0\"",
        "[switches.s]\nlatency = \"150 ns\"\nupstream = \"top\"",
    )
}

#[test]
fn a_redirected_peer_write_passes_switches_above_that_forward_upstream() {
    for above in ["", "acs_redirect = true\n"] {
        let above = format!("{above}acs_upstream_forwarding = true");
        let (result, lines) = trace(&nested("acs_redirect = true", &above));
        result.all_intact();
        let writes = lines.iter().filter(|line| line["tlp"] == "MWr");
        assert_eq!(writes.count(), 6);
    }
}

/// PCIe Base 6.12.1.1: P2P Request Redirect applies to requests from one port to another port, not to requests that must return to the port at which
/// they arrived.
#[test]
fn a_redirected_peer_write_ends_at_a_switch_above_that_does_not_forward_upstream() {
    for above in ["", "acs_redirect = true"] {
        let (result, lines) = trace(&nested("acs_redirect = true", above));
        assert_eq!(result.errors("top", "unsupported request"), 1);
        let writes = lines.iter().filter(|line| line["tlp"] == "MWr");
        assert_eq!(writes.count(), 2);
    }
}

#[test]
fn upstream_forwarding_redirects_nothing() {
    let text = nested(
        "acs_upstream_forwarding = true",
        "acs_upstream_forwarding = true",
    );
    let (result, lines) = trace(&text);
    result.all_intact();
    let writes = lines.iter().filter(|line| line["tlp"] == "MWr");
    assert_eq!(writes.count(), 2);
}

#[test]
fn a_write_between_root_ports_takes_the_peer_latency() {
    let text = r#"
        [links]
        generation = 2
        lanes = 4
        delay = "1 ns"
        [hosts.h0]
        peer_latency = "333 ns"
        [devices.a]
        upstream = "h0"
        [devices.b]
        upstream = "h0"
        [[flows]]
        id = "f"
        from = "a"
        to = "b"
        count = 1
        request_size = "128 B"
        start = "10 us"
    "#;
    // A symbol begins at 75 + 333 ns, so the packet does not wait for one.
    ns(text, 408.0 + 74.0 + 1.0);
}

#[test]
fn a_round_trip_is_two_writes_one_after_the_other() {
    let text = r#"
        [links]
        generation = 2
        lanes = 4
        delay = "1 ns"
        [hosts.h0]
        [switches.s]
        latency = "150 ns"
        upstream = "h0"
        [devices.a]
        upstream = "s"
        [devices.r]
        upstream = "s"
        model = "reflector"
        [[flows]]
        id = "f"
        from = "a"
        to = "r"
        direction = "round-trip"
        count = 1
        start = "10 us"
    "#;
    // A write of four bytes has 24 bytes on the wire, which take 12 ns. It arrives at 160 + 13 ns. The write back starts at the next symbol, 174 ns,
    // after the UpdateFC for the first write, which takes 4 ns.
    ns(text, 174.0 + 4.0 + 160.0 + 13.0);
}

#[test]
fn flight_time_counts_once_on_each_link() {
    let with = |delay: &str| {
        let text = format!(
            "[links]\ngeneration = 2\nlanes = 4\ndelay = \"{delay}\"\n{HOST}[switches.s]\nlatency = \"150 ns\"\nupstream = \"h0\"\n[devices.a]\nupstream = \"s\"\n{ONE_WRITE}"
        );
        latency(&text)
    };
    let longer = with("41 ns") - with("1 ns");
    assert!((longer - 80.0).abs() < 0.001, "{longer}");
}
