//! Hosts whose sockets have several quadrants, and the rules for requests between root ports. The expected results are calculated by hand.
//!
//! Packets have 12 bytes of header, because all addresses are below 4 GiB.

use std::fmt::Write;

use crate::fixture::*;

const HEADER: f64 = 12.0;

/// The section of a device with these keys of its link to the host.
fn device(name: &str, link: &str) -> String {
    format!("[devices.{name}]\nupstream = {{ to = \"h0\", {link} }}\ntags = 256\n")
}

/// A flow of one request with the further keys `more`.
fn one(id: &str, from: &str, to: &str, more: &str) -> String {
    format!(
        "[[flows]]\nid = \"{id}\"\nfrom = \"{from}\"\nto = \"{to}\"\ncount = 1\nstart = \"10 us\"\n{more}\n"
    )
}

/// The rates of flows `(from, to, further keys)` of requests of 256 bytes between devices `d0`, `d1` ... at these places in a host with the keys
/// `host`. Each device has a link of 16 lanes at 16 GT/s.
fn rates(host: &str, places: &[&str], flows: &[(usize, &str, &str)]) -> Vec<f64> {
    let mut text = format!(
        "[links]\ngeneration = 4\nlanes = 16\n[measure]\nfrom = \"20 us\"\nuntil = \"70 us\"\n[hosts.h0]\nmemory = \"1 MiB\"\nmemory_bandwidth = \"400 GB/s\"\n{host}\n"
    );
    for (number, place) in places.iter().enumerate() {
        text += &device(&format!("d{number}"), place);
        text += "max_payload_supported = \"256 B\"\nbar = \"1 MiB\"\n";
    }
    for (number, (from, to, more)) in flows.iter().enumerate() {
        write!(
            text,
            "[[flows]]\nid = \"f{number}\"\nfrom = \"d{from}\"\nto = \"{to}\"\nwindow = \"64 KiB\"\nduration = \"80 us\"\nrequest_size = \"256 B\"\nstart = \"3 us\"\n{more}\n"
        )
        .expect("a string");
    }
    let result = run(&text).all_intact();
    result.flows.iter().map(steady).collect()
}

const READ: &str = "direction = \"read\"";

/// A limit of 40 GB/s, which is above the rate of one link and below the rate of two.
const LIMIT: &str = "quadrants = 4\nquadrant_bandwidth = \"40 GB/s\"";

/// The part of the bytes of a packet that is payload.
const PAYLOAD: f64 = 256.0 / (256.0 + HEADER);

#[test]
fn two_devices_in_one_quadrant_share_its_limit_and_in_two_quadrants_they_do_not() {
    for more in ["", READ] {
        let flows = [(0, "h0", more), (1, "h0", more)];
        let free = rates("", &["port = 0", "port = 1"], &flows);
        let apart = rates(LIMIT, &["quadrant = 0", "quadrant = 1"], &flows);
        for (apart, free) in apart.iter().zip(&free) {
            close(*apart, *free, 0.1);
        }
        let together = rates(LIMIT, &["quadrant = 2", "quadrant = 2"], &flows);
        close(together[0] + together[1], 40e9 * PAYLOAD, 0.5);
        close(together[0], together[1], 2.0);
        assert!(free[0] + free[1] > 1.3 * (together[0] + together[1]));
    }
}

#[test]
fn each_direction_of_a_quadrant_has_the_limit() {
    let flows = [
        (0, "h0", ""),
        (1, "h0", ""),
        (2, "h0", READ),
        (3, "h0", READ),
    ];
    let rates = rates(LIMIT, &["quadrant = 0"; 4], &flows);
    // The read requests also take their time on the way to the memory: 12 bytes for each 256 bytes that are read.
    let down = rates[2] + rates[3];
    close(down, 40e9 * PAYLOAD, 0.5);
    let requests = down / 256.0 * HEADER;
    close(rates[0] + rates[1], (40e9 - requests) * PAYLOAD, 1.0);
}

#[test]
fn a_host_with_one_quadrant_may_have_a_limit_for_all_its_root_ports() {
    let flows = [(0, "h0", ""), (1, "h0", "")];
    let limit = "quadrant_bandwidth = \"10 GB/s\"";
    let rates = rates(limit, &["port = 0", "port = 3"], &flows);
    close(rates[0] + rates[1], 10e9 * PAYLOAD, 0.5);
}

#[test]
fn packets_between_root_ports_of_one_quadrant_do_not_leave_it() {
    let limit =
        "quadrants = 4\nquadrant_bandwidth = \"1 GB/s\"\nquadrant_peer_bandwidth = \"1 GB/s\"";
    let flows = [(0, "d1", ""), (1, "d0", "")];
    let free = rates("", &["port = 0", "port = 1"], &flows);
    let inside = rates(limit, &["quadrant = 1", "quadrant = 1"], &flows);
    for (inside, free) in inside.iter().zip(&free) {
        close(*inside, *free, 0.1);
    }
    let outside = rates(limit, &["quadrant = 1", "quadrant = 3"], &flows);
    for rate in outside {
        close(rate, 1e9 * PAYLOAD, 0.5);
    }
}

#[test]
fn packets_to_two_root_ports_of_another_quadrant_share_the_path_into_it() {
    let limit = "quadrants = 4\nquadrant_bandwidth = \"10 GB/s\"";
    let places = [
        "quadrant = 0",
        "quadrant = 1",
        "quadrant = 2",
        "quadrant = 2",
    ];
    let rates = rates(limit, &places, &[(0, "d2", ""), (1, "d3", "")]);
    close(rates[0] + rates[1], 10e9 * PAYLOAD, 0.5);
}

#[test]
fn all_pairs_of_two_quadrants_share_the_path_between_them_in_each_direction() {
    let path = "quadrants = 4\nquadrant_peer_bandwidth = \"4 GB/s\"";
    let places = [
        "quadrant = 0",
        "quadrant = 0",
        "quadrant = 1",
        "quadrant = 1",
        "quadrant = 2",
    ];
    let flows = [
        (0, "d2", ""),
        (1, "d3", ""),
        (2, "d0", ""),
        (4, "d1", ""),
        (3, "h0", ""),
    ];
    let rates = rates(path, &places, &flows);
    close(rates[0] + rates[1], 4e9 * PAYLOAD, 0.5);
    close(rates[2], 4e9 * PAYLOAD, 0.5);
    close(rates[3], 4e9 * PAYLOAD, 0.5);
    assert!(rates[4] > 20e9, "memory is not behind this path");
}

/// Writes that wait for their quadrant do not take the turn of writes of another quadrant at the memory.
#[test]
fn a_memory_that_is_not_full_does_not_feel_a_quadrant_that_is() {
    let devices = [("a", 0), ("b", 1), ("c", 1)]
        .map(|(name, quadrant)| device(name, &format!("quadrant = {quadrant}")));
    let flow = |name: &str, more: &str| {
        format!(
            "[[flows]]\nid = \"{name}\"\nfrom = \"{name}\"\nto = \"h0\"\nwindow = \"64 KiB\"\nduration = \"20 us\"\nrequest_size = \"128 B\"\n{more}\n"
        )
    };
    let paced = flow("a", "interval = \"500 ns\"");
    let busy = flow("b", "") + &flow("c", "");
    let latency = |flows: &str| {
        let text = format!(
            "[links]\ngeneration = 4\nlanes = 16\n[hosts.h0]\nmemory = \"1 MiB\"\nmemory_bandwidth = \"400 GB/s\"\nquadrants = 2\nquadrant_bandwidth = \"8 GB/s\"\n{}{flows}",
            devices.concat()
        );
        let result = run(&text).all_intact();
        let latency = result.flow("a").latency_ns.as_ref();
        latency.expect("requests came to their end").mean
    };
    let (alone, beside) = (latency(&paced), latency(&(paced.clone() + &busy)));
    assert!(beside - alone < 1.0, "{alone} {beside}");
}

const LINKS: &str = "[links]\ngeneration = 2\nlanes = 4\ndelay = \"1 ns\"\n";

const QUADRANTS: &str = "memory = \"1 MiB\"\nquadrants = 4\nquadrant_latency = \"40 ns\"\n";

/// The additional latency of the flow with these keys of the host and of the links of devices `a` and `b`, compared with a host without them.
fn later(host: &str, (a, b): (&str, &str), flow: &str) -> f64 {
    let with = |host: &str, a, b| {
        let (a, b) = (device("a", a), device("b", b));
        latency(&format!("{LINKS}{HOST}{host}{a}{b}{flow}"))
    };
    with(host, a, b) - with("memory = \"1 MiB\"\n", "port = 0", "port = 1")
}

fn ns(actual: f64, expected: f64) {
    assert!(
        (actual - expected).abs() < 1e-6,
        "{actual} ns later, {expected} ns expected"
    );
}

#[test]
fn a_packet_to_a_root_port_of_another_quadrant_is_later_by_the_hop() {
    let write = one("f", "a", "b", "request_size = \"128 B\"");
    let read = one(
        "f",
        "a",
        "b",
        "direction = \"read\"\nrequest_size = \"64 B\"",
    );
    let apart = ("quadrant = 0", "quadrant = 3");
    ns(later(QUADRANTS, apart, &write), 40.0);
    ns(later(QUADRANTS, apart, &read), 80.0);
    let together = ("quadrant = 3", "quadrant = 3");
    ns(later(QUADRANTS, together, &write), 0.0);
    ns(later(QUADRANTS, together, &read), 0.0);
}

#[test]
fn memory_and_processors_are_in_no_quadrant() {
    let apart = ("quadrant = 3", "quadrant = 0");
    for direction in ["write", "read"] {
        let keys = format!("direction = \"{direction}\"\nrequest_size = \"64 B\"");
        ns(later(QUADRANTS, apart, &one("f", "a", "h0", &keys)), 0.0);
        ns(later(QUADRANTS, apart, &one("f", "h0", "a", &keys)), 0.0);
    }
}

/// A path that is free takes no time: packets only follow each other at its rate.
#[test]
fn a_quadrant_that_is_not_busy_does_not_delay_a_packet() {
    let limit = format!(
        "{QUADRANTS}quadrant_bandwidth = \"1 GB/s\"\nquadrant_peer_bandwidth = \"1 GB/s\"\n"
    );
    let apart = ("quadrant = 0", "quadrant = 3");
    let write = one("f", "a", "b", "request_size = \"128 B\"");
    ns(later(&limit, apart, &write), 40.0);
    let memory = one(
        "f",
        "a",
        "h0",
        "direction = \"read\"\nrequest_size = \"64 B\"",
    );
    ns(later(&limit, apart, &memory), 0.0);
}

/// Between sockets, packets take the connection of the sockets, and no hop between quadrants.
#[test]
fn a_read_across_sockets_takes_the_connection_of_the_sockets_twice() {
    let host = format!(
        "{QUADRANTS}sockets = 2\nsocket_latency = \"70 ns\"\nsocket_bandwidth = \"2 GB/s\"\n"
    );
    let read = one(
        "f",
        "a",
        "b",
        "direction = \"read\"\nrequest_size = \"64 B\"",
    );
    let connection = 2.0 * 70.0 + (2.0 * HEADER + 64.0) * 0.5;
    let links = |a: u32, b: u32| {
        let (a, b) = (
            format!("socket = 0, quadrant = {a}"),
            format!("socket = 1, quadrant = {b}"),
        );
        later(&host, (&a, &b), &read)
    };
    ns(links(0, 0), connection);
    ns(links(0, 3), connection);
}

#[test]
fn a_root_port_takes_packets_of_all_other_sockets_at_one_rate() {
    let host = "sockets = 3\nsocket_bandwidth = \"100 GB/s\"\nsocket_peer_bandwidth = \"6 GB/s\"";
    let places = [
        "socket = 0",
        "socket = 1",
        "socket = 2",
        "socket = 2",
        "socket = 2",
    ];
    let remote = rates(host, &places, &[(0, "d2", ""), (1, "d2", "")]);
    close(remote[0] + remote[1], 6e9 * PAYLOAD, 0.5);
    let apart = rates(
        host,
        &places,
        &[(0, "d2", ""), (1, "d3", ""), (4, "d2", "")],
    );
    close(apart[0], 6e9 * PAYLOAD, 0.5);
    close(apart[1], 6e9 * PAYLOAD, 0.5);
    assert!(apart[2] > 20e9, "{}", apart[2]);
}

/// Two devices in the places `a` and `b` of a host with two sockets of two quadrants, and a flow from `a` to `b`.
fn pair(host: &str, (a, b): (&str, &str), direction: &str) -> String {
    let flow = format!(
        "[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"b\"\ndirection = \"{direction}\"\ncount = 10\nrequest_size = \"128 B\"\n"
    );
    format!(
        "[hosts.h0]\nsockets = 2\nquadrants = 2\n{host}\n{}{}{flow}",
        device("a", a),
        device("b", b)
    )
}

const NEAR: (&str, &str) = ("quadrant = 1", "quadrant = 1");
const QUADRANT: (&str, &str) = ("quadrant = 0", "quadrant = 1");
const SOCKET: (&str, &str) = ("socket = 0, quadrant = 0", "socket = 1, quadrant = 0");

#[test]
fn each_class_of_pairs_of_root_ports_forwards_what_its_rule_permits() {
    let rules = [
        (
            "peer_to_peer",
            [NEAR, QUADRANT, SOCKET].as_slice(),
            "root ports",
        ),
        ("quadrant_peer_to_peer", &[QUADRANT], "quadrants"),
        ("socket_peer_to_peer", &[SOCKET], "sockets"),
    ];
    for (key, subject, between) in rules {
        for place in [NEAR, QUADRANT, SOCKET] {
            for (value, forwarded) in [
                ("none", [].as_slice()),
                ("writes", &["write"]),
                ("all", &["write", "read"]),
            ] {
                for direction in ["write", "read"] {
                    let text = pair(&format!("{key} = \"{value}\""), place, direction);
                    let result = run(&text);
                    if !subject.contains(&place) || forwarded.contains(&direction) {
                        result.all_intact();
                        continue;
                    }
                    let what = format!("unsupported request between {between} ({key})");
                    assert_eq!(result.errors("h0", &what), 10, "{:?}", result.errors);
                    // The requester of a read gets a completion, and no request times out.
                    assert_eq!(result.errors("a", "completion timeout"), 0);
                    let flow = result.flow("f");
                    assert!(flow.completed && flow.bytes == 0);
                }
            }
        }
    }
}

#[test]
fn a_rule_for_some_pairs_permits_nothing_that_the_general_rule_forbids() {
    let host =
        "peer_to_peer = \"writes\"\nquadrant_peer_to_peer = \"all\"\nsocket_peer_to_peer = \"all\"";
    for place in [QUADRANT, SOCKET] {
        run(&pair(host, place, "write")).all_intact();
        let result = run(&pair(host, place, "read"));
        let what = "unsupported request between root ports (peer_to_peer)";
        assert_eq!(result.errors("h0", what), 10);
    }
}

#[test]
fn the_linked_ports_of_a_socket_take_the_quadrants_in_turn() {
    let devices = [
        ("a", "port = 5"),
        ("b", "port = 0"),
        ("c", "port = 1, socket = 1"),
        ("d", "port = 2"),
        ("e", "port = 3, socket = 1"),
        ("f", "port = 4, quadrant = 2"),
    ];
    let devices = devices.map(|(name, link)| device(name, link)).concat();
    let text = format!("[hosts.h0]\nsockets = 2\nquadrants = 3\n{devices}");
    let simulation = simulation(&text);
    let links = &simulation.plan().links;
    let mut found: Vec<(u32, Option<u32>)> = links
        .iter()
        .map(|link| (link.upstream.1, link.quadrant))
        .collect();
    found.sort_unstable();
    let expected = [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (5, 0)];
    assert_eq!(
        found,
        expected.map(|(port, quadrant)| (port, Some(quadrant)))
    );
}

/// The latencies in nanoseconds of flow `f` from `a` to a root port of another quadrant, whose hop takes 5 us, and of flow `g`, which begins 200 ns
/// later.
fn behind(g: &str) -> (f64, f64) {
    let devices =
        device("a", "quadrant = 0") + &device("b", "quadrant = 0") + &device("c", "quadrant = 1");
    let host = QUADRANTS.replace("40 ns", "5 us");
    let f = one("f", "a", "c", "request_size = \"128 B\"");
    let g = g.replace("10 us", "10.2 us");
    let result = run(&format!("{LINKS}{HOST}{host}{devices}{f}{g}")).all_intact();
    let latency = |id| {
        let latency = result.flow(id).latency_ns.as_ref();
        latency.expect("a request came to its end").max
    };
    (latency("f"), latency("g"))
}

/// A strongly ordered write stays behind the earlier writes of its source until they have left the quadrant, whatever their targets are. Relaxed
/// Ordering permits it to pass them.
#[test]
fn what_comes_after_a_write_to_another_quadrant_waits_for_it_unless_its_order_is_relaxed() {
    for (to, more) in [
        ("h0", "request_size = \"128 B\""),
        ("b", "request_size = \"64 B\""),
        ("0xfee00000", "request_size = \"4 B\""),
        ("h0", "direction = \"read\"\nrequest_size = \"64 B\""),
    ] {
        let (f, g) = behind(&one("g", "a", to, more));
        assert!(f > 5000.0 && g + 200.0 > 5000.0, "{to}: {f} {g}");
    }
    for to in ["h0", "b"] {
        let relaxed = "request_size = \"128 B\"\nrelaxed_ordering = true";
        let (f, g) = behind(&one("g", "a", to, relaxed));
        assert!(f > 5000.0 && g < 600.0, "{to}: {f} {g}");
        let (_, other) = behind(&one("g", "b", if to == "b" { "a" } else { to }, ""));
        assert!(other < 1000.0, "another device does not wait: {other}");
    }
}

#[test]
fn a_flow_waits_for_the_path_of_its_quadrant() {
    let text = |place: &str| {
        let devices = device("a", "quadrant = 0") + &device("b", place);
        let flow = |id: &str| {
            format!("[[flows]]\nid = \"{id}\"\nfrom = \"{id}\"\nto = \"h0\"\nsize = \"128 KiB\"\n")
        };
        format!(
            "[links]\ngeneration = 3\nlanes = 8\n{HOST}quadrants = 2\nquadrant_bandwidth = \"12 GB/s\"\n{devices}{}{}",
            flow("a"),
            flow("b")
        )
    };
    let waits = |text: &str| {
        let mut simulation = simulation(text);
        simulation.watch_waits();
        assert!(simulation.run(&mut |_| true));
        let waits = simulation.result().waits.expect("waits were sampled");
        let detail = waits[0].limit.clone().expect("a limit").detail;
        detail.unwrap_or_default()
    };
    assert_eq!(waits(&text("quadrant = 0")), "the path of a quadrant");
    assert_ne!(waits(&text("quadrant = 1")), "the path of a quadrant");
}

#[test]
fn without_quadrants_their_keys_change_nothing() {
    let text = |host: &str| {
        let (a, b) = (device("a", "port = 0"), device("b", "port = 1"));
        format!(
            "{LINKS}{HOST}{host}{a}{b}{}{}",
            one("f", "a", "b", ""),
            one("g", "b", "h0", "direction = \"both\"")
        )
    };
    let keys = "quadrants = 1\nquadrant_latency = \"9 us\"\nquadrant_peer_bandwidth = \"1 MB/s\"\nquadrant_peer_to_peer = \"none\"\nsocket_peer_to_peer = \"none\"\nsocket_peer_bandwidth = \"1 MB/s\"\n";
    assert!(trace_bytes(&text("")).1 == trace_bytes(&text(keys)).1);
}
