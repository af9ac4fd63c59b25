//! Hosts with several sockets. The expected results are calculated by hand.
//!
//! Links are Gen2 x4, as in the tests of latency. A hop between sockets takes 40 ns and carries two bytes a nanosecond. Of 1 MiB of memory, the first
//! 512 KiB are in socket 0.

use std::fmt::Write;

use crate::fixture::*;

const LINKS: &str = "[links]\ngeneration = 2\nlanes = 4\ndelay = \"1 ns\"\n";

const SOCKETS: &str =
    "memory = \"1 MiB\"\nsockets = 2\nsocket_latency = \"40 ns\"\nsocket_bandwidth = \"2 GB/s\"\n";

const HOP: f64 = 40.0;
const NS_PER_BYTE: f64 = 0.5;

/// The size of the header of a packet with an address below 4 GiB.
const HEADER: f64 = 12.0;

/// The section of a device at a socket.
fn device(name: &str, socket: u32) -> String {
    format!("[devices.{name}]\nupstream = {{ to = \"h0\", socket = {socket} }}\n")
}

/// A flow of one request with the further keys `more`.
fn one(id: &str, from: &str, to: &str, more: &str) -> String {
    format!(
        "[[flows]]\nid = \"{id}\"\nfrom = \"{from}\"\nto = \"{to}\"\ncount = 1\nstart = \"10 us\"\n{more}\n"
    )
}

const IN_THE_FIRST: &str = "offset = \"0 KiB\"\nrequest_size = \"128 B\"";
const IN_THE_SECOND: &str = "offset = \"512 KiB\"\nrequest_size = \"128 B\"";

/// The additional latency of the flow if device `a` is at socket `a` and device `b` is at socket `b`, compared with a host with one socket.
fn later(a: u32, b: u32, flow: &str) -> f64 {
    let with = |sockets: &str, a, b| {
        let (a, b) = (device("a", a), device("b", b));
        latency(&format!("{LINKS}{HOST}{sockets}{a}{b}{flow}"))
    };
    with(SOCKETS, a, b) - with("memory = \"1 MiB\"\n", 0, 0)
}

fn ns(actual: f64, expected: f64) {
    assert!(
        (actual - expected).abs() < 1e-6,
        "{actual} ns later, {expected} ns expected"
    );
}

#[test]
fn a_write_to_a_peer_at_another_socket_is_later_by_the_hop_and_its_bytes() {
    let flow = one("f", "a", "b", "request_size = \"128 B\"");
    let hop = HOP + (HEADER + 128.0) * NS_PER_BYTE;
    ns(later(0, 1, &flow), hop);
    ns(later(1, 0, &flow), hop);
}

#[test]
fn within_a_socket_nothing_is_later() {
    let peer = one("f", "a", "b", "request_size = \"128 B\"");
    ns(later(0, 0, &peer), 0.0);
    ns(later(1, 1, &peer), 0.0);
    for more in [
        IN_THE_SECOND,
        "offset = \"1020 KiB\"\ndirection = \"read\"\nrequest_size = \"64 B\"",
    ] {
        ns(later(1, 1, &one("f", "a", "h0", more)), 0.0);
    }
}

#[test]
fn the_memory_of_another_socket_is_behind_the_hop() {
    let hop = HOP + (HEADER + 128.0) * NS_PER_BYTE;
    let (first, second) = (
        one("f", "a", "h0", IN_THE_FIRST),
        one("f", "a", "h0", IN_THE_SECOND),
    );
    ns(later(0, 0, &first), 0.0);
    ns(later(0, 0, &second), hop);
    ns(later(1, 0, &first), hop);
    ns(later(1, 0, &second), 0.0);
}

#[test]
fn a_read_crosses_twice_as_a_request_and_as_a_completion() {
    let there = HOP + HEADER * NS_PER_BYTE;
    let back = HOP + (HEADER + 64.0) * NS_PER_BYTE;
    let read = |to, offset| {
        let more =
            format!("offset = \"{offset} KiB\"\ndirection = \"read\"\nrequest_size = \"64 B\"");
        one("f", "a", to, &more)
    };
    ns(later(0, 0, &read("h0", 512)), there + back);
    ns(later(1, 0, &read("h0", 0)), there + back);
    ns(later(0, 1, &read("b", 0)), there + back);
}

#[test]
fn the_cpu_is_in_the_first_socket() {
    let write = one("f", "h0", "a", "request_size = \"64 B\"");
    ns(later(0, 0, &write), 0.0);
    ns(later(1, 0, &write), HOP + (HEADER + 64.0) * NS_PER_BYTE);
    let read = one(
        "f",
        "h0",
        "a",
        "direction = \"read\"\nrequest_size = \"64 B\"",
    );
    ns(
        later(1, 0, &read),
        2.0 * HOP + (2.0 * HEADER + 64.0) * NS_PER_BYTE,
    );
}

#[test]
fn an_interrupt_goes_to_the_first_socket() {
    let message = one("f", "a", "0xfee00000", "request_size = \"4 B\"");
    ns(later(0, 0, &message), 0.0);
    ns(later(1, 0, &message), HOP + (HEADER + 4.0) * NS_PER_BYTE);
}

/// The latencies in nanoseconds of flow `f` and of flow `g`, which begins 200 ns later. A hop between sockets takes 5 us.
fn behind(f: &str, g: &str) -> (f64, f64) {
    let devices = device("a", 0) + &device("b", 0) + &device("c", 1);
    let sockets = SOCKETS.replace("40 ns", "5 us");
    let g = g.replace("10 us", "10.2 us");
    let text = format!("{LINKS}{HOST}{sockets}{devices}{f}{g}");
    let result = run(&text).all_intact();
    let latency = |id| {
        let latency = result.flow(id).latency_ns.as_ref();
        latency.expect("a request came to its end").max
    };
    (latency("f"), latency("g"))
}

#[test]
fn what_comes_after_a_write_is_not_there_before_it_whatever_the_socket() {
    let remote = one("f", "a", "h0", IN_THE_SECOND);
    for g in [
        one("g", "a", "h0", IN_THE_FIRST),
        one("g", "a", "0xfee00000", "request_size = \"4 B\""),
        one("g", "a", "b", "request_size = \"64 B\""),
        one(
            "g",
            "a",
            "h0",
            "direction = \"read\"\noffset = \"0 B\"\nrequest_size = \"64 B\"",
        ),
    ] {
        let (f, g) = behind(&remote, &g);
        assert!(f > 5000.0 && g + 200.0 >= f, "{f} {g}");
    }
    // Stores of the CPU also keep their order: a store to a near device does not arrive before an earlier store to a far device.
    let (f, g) = (
        one("f", "h0", "c", "request_size = \"64 B\""),
        one("g", "h0", "b", "request_size = \"64 B\""),
    );
    let (f, g) = behind(&f, &g);
    assert!(f > 5000.0 && g + 200.0 >= f, "{f} {g}");
}

#[test]
fn a_write_does_not_wait_for_a_read_of_another_socket() {
    let read = "direction = \"read\"\noffset = \"512 KiB\"\nrequest_size = \"64 B\"";
    let (f, g) = behind(
        &one("f", "a", "h0", read),
        &one("g", "a", "h0", IN_THE_FIRST),
    );
    assert!(f > 10_000.0 && g < 300.0, "{f} {g}");
}

/// The rates of flows `f0`, `f1` ... from devices `d0`, `d1` ... at these sockets to other devices or to the memory, as fast as possible.
fn rates(host: &str, sockets: &[u32], flows: &[(usize, &str, &str)]) -> Vec<f64> {
    let mut text = format!(
        "[links]\ngeneration = 3\nlanes = 8\n[measure]\nfrom = \"60 us\"\nuntil = \"260 us\"\n[hosts.h0]\nmemory = \"1 MiB\"\n{host}\n"
    );
    for (number, socket) in sockets.iter().enumerate() {
        text += &device(&format!("d{number}"), *socket);
    }
    for (number, (from, to, offset)) in flows.iter().enumerate() {
        write!(
            text,
            "[[flows]]\nid = \"f{number}\"\nfrom = \"d{from}\"\nto = \"{to}\"\noffset = \"{offset}\"\nwindow = \"64 KiB\"\nduration = \"300 us\"\nrequest_size = \"128 B\"\nstart = \"3 us\"\n"
        )
        .expect("a string");
    }
    let result = run(&text).all_intact();
    result.flows.iter().map(steady).collect()
}

const SLOW: &str = "sockets = 3\nsocket_bandwidth = \"1.4 GB/s\"\nmemory_bandwidth = \"100 GB/s\"";

/// The payload rate of a connection with 1.4 GB/s: 128 of the 140 bytes of a packet are payload.
const PAYLOAD: f64 = 1.28e9;

#[test]
fn a_hop_that_is_slower_than_the_links_sets_the_rate() {
    let peer = rates(SLOW, &[0, 1], &[(0, "d1", "0 B")]);
    close(peer[0], PAYLOAD, 0.5);
    let memory = rates(SLOW, &[0], &[(0, "h0", "400 KiB")]);
    close(memory[0], PAYLOAD, 0.5);
}

#[test]
fn those_who_cross_in_one_direction_share_the_hop() {
    let sockets = [0, 0, 1];
    let flows = [(0, "d2", "0 B"), (1, "h0", "400 KiB")];
    let rates = rates(SLOW, &sockets, &flows);
    close(rates[0] + rates[1], PAYLOAD, 0.5);
    close(rates[0], PAYLOAD / 2.0, 2.0);
}

#[test]
fn each_direction_between_each_two_sockets_is_a_hop_of_its_own() {
    let sockets = [0, 1, 0, 2, 1, 2];
    let flows = [
        (0, "d1", "0 B"),
        (1, "d0", "0 B"),
        (2, "d3", "0 B"),
        (4, "d5", "0 B"),
    ];
    for rate in rates(SLOW, &sockets, &flows) {
        close(rate, PAYLOAD, 0.5);
    }
}

#[test]
fn what_stays_in_its_socket_does_not_feel_a_hop_that_is_full() {
    let alone = rates(SLOW, &[0], &[(0, "h0", "0 B")]);
    let beside = rates(
        SLOW,
        &[0, 0, 1],
        &[(0, "h0", "0 B"), (1, "h0", "400 KiB"), (2, "h0", "64 KiB")],
    );
    close(beside[0], alone[0], 0.1);
}

#[test]
fn each_socket_has_a_memory_controller() {
    let host = "sockets = 2\nmemory_bandwidth = \"1 GB/s\"\nmemory_line = \"64 B\"";
    let own = rates(host, &[0, 1], &[(0, "h0", "0 B"), (1, "h0", "512 KiB")]);
    close(own[0], 1e9, 0.5);
    close(own[1], 1e9, 0.5);
    let one = rates(host, &[0, 1], &[(0, "h0", "0 B"), (1, "h0", "64 KiB")]);
    close(one[0] + one[1], 1e9, 0.5);
}

#[test]
fn a_write_holds_its_buffer_until_it_is_across() {
    let (a, b) = (device("a", 0), device("b", 1));
    let text = format!(
        "{LINKS}[hosts.h0]\nsockets = 2\nsocket_bandwidth = \"100 MB/s\"\nposted_headers = 4\n{a}{b}[[flows]]\nfrom = \"a\"\nto = \"b\"\ncount = 100\nrequest_size = \"128 B\"\n"
    );
    let result = run(&text).all_intact();
    // 96 packets wait until an earlier packet has left. A packet leaves every 1.4 us, and its own transmission takes 74 ns of this time.
    let stall = result.link("h0-a", "up").credit_stall_ns;
    close(stall, 96.0 * (1400.0 - 74.0), 3.0);
}

/// The host has buffer space for two writes, and returns their credits after both have left. The first write is for a memory that is busy for a long
/// time, the second is for an idle memory, and the third needs the space of both.
#[test]
fn a_write_to_a_quick_memory_leaves_its_buffer_after_one_to_a_slow_memory() {
    let devices = device("a", 0) + &device("b", 1);
    let busy = one("busy", "b", "h0", "offset = \"600 KiB\"").replace("count = 1", "count = 8");
    let flows = busy
        + &one("slow", "a", "h0", IN_THE_SECOND).replace("10 us", "11 us")
        + &one("quick", "a", "h0", IN_THE_FIRST).replace("10 us", "11.1 us")
        + &one("last", "a", "h0", IN_THE_FIRST).replace("10 us", "11.2 us");
    let text = format!(
        "{LINKS}[hosts.h0]\n{SOCKETS}memory_bandwidth = \"64 MB/s\"\nposted_headers = 2\nupdate_fc_share = 1.0\n{devices}{flows}"
    );
    let result = run(&text).all_intact();
    let end = |id| {
        let latency = result.flow(id).latency_ns.as_ref();
        latency.expect("a request came to its end").max
    };
    assert!(end("quick") < end("slow"), "memories are independent");
    assert!(end("last") > end("slow"), "{} {}", end("last"), end("slow"));
}

#[test]
fn every_byte_of_a_flow_over_all_shares_arrives() {
    let device = device("a", 1);
    for direction in ["write", "read", "both"] {
        // Three sockets have three pages each, and the fourth socket has the remaining memory.
        let text = format!(
            "{LINKS}[hosts.h0]\nmemory = \"41 KiB\"\nsockets = 4\n{device}[[flows]]\nfrom = \"a\"\nto = \"h0\"\noffset = \"100 B\"\nsize = \"41000 B\"\ndirection = \"{direction}\"\n"
        );
        let _ = run(&text).all_intact();
    }
}

#[test]
fn a_driver_moves_its_flows_across() {
    let text = format!(
        "{LINKS}{HOST}{SOCKETS}{}model = \"sg-dma\"\ndescriptor_fetch = true\n[[flows]]\nfrom = \"a\"\nto = \"h0\"\nsize = \"200 KiB\"\n[[flows]]\nfrom = \"a\"\nto = \"h0\"\nsize = \"200 KiB\"\ndirection = \"read\"\n",
        device("a", 1)
    );
    let _ = run(&text).all_intact();
}

#[test]
fn with_one_socket_the_hop_is_never_there() {
    let text = |host: &str| {
        let (a, b) = (device("a", 0), device("b", 0));
        format!(
            "{LINKS}{HOST}{host}{a}{b}{}{}",
            one("f", "a", "b", ""),
            one("g", "b", "h0", "direction = \"both\"")
        )
    };
    let hop = "sockets = 1\nsocket_latency = \"9 us\"\nsocket_bandwidth = \"1 MB/s\"\n";
    assert!(trace_bytes(&text("")).1 == trace_bytes(&text(hop)).1);
}
