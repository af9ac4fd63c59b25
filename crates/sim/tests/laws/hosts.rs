//! Limits of a host's rates: the datapaths of its root ports, its memory system, and its path from port to port.

use kernel::{Span, Time};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use crate::cases::cases;
use crate::fixture::*;

/// The rate of a long flow of writes or reads of 256 bytes, made by a device below a host with the keys `host`.
fn rate_of(host: &str, direction: &str) -> f64 {
    let text = format!(
        "[links]\ngeneration = 3\nlanes = 16\n[measure]\nfrom = \"20 us\"\nuntil = \"120 us\"\n[hosts.h]\nmemory_bandwidth = \"400 GB/s\"\n{host}\n[devices.a]\nupstream = \"h\"\ntags = 256\nmax_payload_supported = \"256 B\"\nmax_read_request = \"256 B\"\n[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"h\"\ndirection = {direction:?}\nrequest_size = \"256 B\"\nduration = \"140 us\"\n"
    );
    steady(run(&text).all_intact().flow("f"))
}

/// 12 bytes of header and 256 bytes of payload occupy 17 beats of 16 bytes, and one beat is idle.
#[test]
fn a_root_port_moves_whole_beats_of_its_datapath() {
    let port = "port_clock = \"250 MHz\"\nport_datapath = \"16 B\"\nport_idle_cycles = 1";
    let expected = 256.0 / (18.0 * 4e-9);
    close(rate_of(port, "write"), expected, 0.1);
    close(rate_of(port, "read"), expected, 0.1);
    assert!(rate_of("", "write") > 2.0 * expected);
}

#[test]
fn a_memory_system_takes_writes_at_its_rate_and_answers_reads_at_theirs() {
    let host = "ingest_bandwidth = \"2 GB/s\"";
    close(rate_of(host, "write"), 2e9, 0.1);
    assert!(rate_of(host, "read") > 4e9);
}

/// The receive buffer holds four packets, each for a microsecond.
#[test]
fn buffers_for_writes_free_the_receive_buffer_before_the_memory_has_them() {
    let slow = "posted_headers = 4\nlatency = \"1 us\"\nport_latency = \"0 ns\"";
    let held = rate_of(slow, "write");
    close(held, 4.0 * 256.0 / 1.05e-6, 5.0);
    let with_few = rate_of(&format!("{slow}\nwrite_buffers = 4"), "write");
    assert!(with_few > 1.5 * held, "{with_few} {held}");
}

/// The rates of two devices at two root ports. Each device writes `bytes` bytes at a time to memory whose lines must be owned.
fn rates_of_short_writes(host: &str, bytes: u32) -> [f64; 2] {
    let text = format!(
        "[links]\ngeneration = 3\nlanes = 8\n[measure]\nfrom = \"20 us\"\nuntil = \"60 us\"\n[hosts.h]\n{host}\n[devices.a]\nupstream = \"h\"\n[devices.b]\nupstream = \"h\"\n[[flows]]\nid = \"a\"\nfrom = \"a\"\nto = \"h\"\nrequest_size = \"{bytes} B\"\nduration = \"70 us\"\n[[flows]]\nid = \"b\"\nfrom = \"b\"\nto = \"h\"\nrequest_size = \"{bytes} B\"\nduration = \"70 us\"\n"
    );
    let result = run(&text).all_intact();
    [steady(result.flow("a")), steady(result.flow("b"))]
}

/// The first write to a line does not wait, because the line is owned. Each later write waits 200 ns for the ownership. The two ports do not wait for
/// each other.
#[test]
fn writes_to_parts_of_a_line_wait_for_its_ownership_and_whole_lines_do_not() {
    let one = "ownership_time = \"200 ns\"\nwrites_per_ownership = 1";
    for rate in rates_of_short_writes(one, 32) {
        close(rate, 64.0 / 200e-9, 1.0);
    }
    for rate in rates_of_short_writes(one, 16) {
        close(rate, 64.0 / 600e-9, 1.0);
    }
    let two = "ownership_time = \"200 ns\"\nwrites_per_ownership = 2";
    for rate in rates_of_short_writes(two, 16) {
        close(rate, 64.0 / 200e-9, 1.0);
    }
    let whole = rates_of_short_writes(one, 64).into_iter();
    for (rate, free) in whole.zip(rates_of_short_writes("", 64)) {
        close(rate, free, 0.01);
    }
}

/// The packets have 12 bytes of header and 256 bytes of payload.
#[test]
fn packets_from_port_to_port_have_a_rate_of_their_own() {
    let text = "[links]\ngeneration = 3\nlanes = 8\n[measure]\nfrom = \"20 us\"\nuntil = \"120 us\"\n[hosts.h]\npeer_bandwidth = \"1 GB/s\"\n[devices.a]\nupstream = \"h\"\nmax_payload_supported = \"256 B\"\n[devices.b]\nupstream = \"h\"\n[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"b\"\nwindow = \"4 KiB\"\nrequest_size = \"256 B\"\nduration = \"140 us\"\n";
    let rate = steady(run(text).all_intact().flow("f"));
    close(rate, 1e9 * 256.0 / 268.0, 0.1);
}

/// Each pair of root ports has the full rate in each direction.
#[test]
fn packets_from_port_to_port_do_not_share_the_rate_of_other_pairs_and_directions() {
    let flow = |id: &str, from: &str, to: &str| {
        format!(
            "[[flows]]\nid = \"{id}\"\nfrom = \"{from}\"\nto = \"{to}\"\nwindow = \"4 KiB\"\nrequest_size = \"256 B\"\nduration = \"140 us\"\n"
        )
    };
    let device =
        |id: &str| format!("[devices.{id}]\nupstream = \"h\"\nmax_payload_supported = \"256 B\"\n");
    let text = "[links]\ngeneration = 3\nlanes = 8\n[measure]\nfrom = \"20 us\"\nuntil = \"120 us\"\n[hosts.h]\npeer_bandwidth = \"1 GB/s\"\n".to_owned()
        + &["a", "b", "c"].map(device).concat()
        + &[("ab", "a", "b"), ("ba", "b", "a"), ("ac", "a", "c")].map(|(id, from, to)| flow(id, from, to)).concat();
    let result = run(&text).all_intact();
    for id in ["ab", "ba", "ac"] {
        close(steady(result.flow(id)), 1e9 * 256.0 / 268.0, 0.1);
    }
}

/// The class, headers and data of each initial credit limit that the host advertises on a link of 16 lanes.
fn announced(host: &str) -> Vec<(String, u64, u64)> {
    let text = format!(
        "[links]\ngeneration = 2\nlanes = 16\n[hosts.h]\n{host}\n[devices.d]\nupstream = \"h\"\n[[flows]]\nfrom = \"d\"\nto = \"h\"\nsize = \"64 B\"\n"
    );
    let (result, lines) = trace(&text);
    result.all_intact();
    let limits = lines
        .iter()
        .filter(|line| line["dllp"] == "InitFC1" && line["direction"] == "down");
    let limit = |line: &Value| {
        let class = line["class"].as_str()?.to_owned();
        Some((class, line["headers"].as_u64()?, line["data"].as_u64()?))
    };
    limits.filter_map(limit).take(3).collect()
}

#[test]
fn a_profile_of_a_host_sets_its_root_ports_and_its_root_complex() {
    let limits = [
        ("posted", 64, 320),
        ("non-posted", 72, 4),
        ("completion", 0, 0),
    ];
    let limits = limits.map(|(class, headers, data)| (class.to_owned(), headers, data));
    assert_eq!(announced("profile = \"intel-xeon-c5500\""), limits);
    let own = "profile = \"intel-xeon-c5500\"\nposted_headers = 8";
    assert_eq!(announced(own)[0], ("posted".to_owned(), 8, 320));
    let text = "[profiles.p]\nbase = \"ti-am64x\"\nmemory = \"1 MiB\"\n[hosts.h]\nprofile = \"p\"\n[hosts.g]\n";
    let simulation = simulation(text);
    let tags = |name: &str| {
        let nodes = &simulation.plan().nodes;
        let node = nodes.iter().find(|node| node.name == name);
        node.expect("a node").kind.tags()
    };
    assert_eq!((tags("h"), tags("g")), (8, 32));
}

/// A scenario with a flow from `a` to `b`, which are below root ports of `h`. Packets between root ports have at most 64 bytes of payload.
fn split(host: &str, flow: &str) -> String {
    format!(
        "[links]\ngeneration = 3\nlanes = 8\n[measure]\nfrom = \"20 us\"\nuntil = \"120 us\"\n[hosts.h]\nlargest_peer_payload = \"64 B\"\n{host}\n[devices.a]\nupstream = \"h\"\nmax_payload_supported = \"256 B\"\ntags = 256\nmax_read_request = \"4096 B\"\n[devices.b]\nupstream = \"h\"\n[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"b\"\nwindow = \"4 KiB\"\n{flow}\n"
    )
}

/// The rate in bytes per second of a link with 8 lanes at 8 GT/s, with one ordered set of 16 bytes a lane and one token for each 370 to 375 blocks.
const GEN3_X8: f64 = 8e9 * 128.0 / 130.0 * 372.5 / 373.5;

/// On the second link, each part of 64 bytes has 20 bytes of header and framing.
#[test]
fn packets_that_a_root_complex_splits_cost_their_headers_on_the_next_link() {
    let write = "request_size = \"256 B\"\nduration = \"140 us\"";
    let rate_of = |text: &str| steady(run(text).all_intact().flow("f"));
    close(rate_of(&split("", write)), GEN3_X8 * 64.0 / 84.0, 1.0);
    let read = "direction = \"read\"\nrequest_size = \"4096 B\"\nduration = \"140 us\"";
    close(rate_of(&split("", read)), GEN3_X8 * 64.0 / 84.0, 1.0);
    let path = "peer_bandwidth = \"1 GB/s\"";
    close(rate_of(&split(path, write)), 1e9 * 64.0 / 76.0, 0.1);
}

/// The payload sizes of the packets of the type `tlp` that the host sent down to `device`, in order.
fn sent_down(text: &str, device: &str, tlp: &str) -> Vec<u64> {
    let (result, lines) = trace(text);
    result.all_intact();
    let link = format!("h-{device}");
    let lines = lines.iter().filter(|line| {
        line["link"] == link.as_str() && line["direction"] == "down" && line["tlp"] == tlp
    });
    lines.filter_map(|line| line["bytes"].as_u64()).collect()
}

#[test]
fn a_root_complex_splits_writes_and_completions_between_its_ports() {
    let write = "request_size = \"200 B\"\ncount = 1\noffset = \"35 B\"";
    // The first dword has one byte of the write, the last one three.
    assert_eq!(sent_down(&split("", write), "b", "MWr"), [32, 64, 64, 44]);
    let read = "direction = \"read\"\nrequest_size = \"200 B\"\ncount = 1\noffset = \"40 B\"";
    assert_eq!(sent_down(&split("", read), "b", "MRd"), [0]);
    assert_eq!(sent_down(&split("", read), "a", "CplD"), [24, 64, 64, 48]);
    // Each part except the last ends at the read completion boundary.
    let boundary = "read_completion_boundary = \"128 B\"";
    assert_eq!(sent_down(&split(boundary, read), "a", "CplD"), [88, 112]);
}

/// A flow between two devices below different root ports.
#[derive(Clone, Debug)]
struct PeerFlow {
    ends: (&'static str, &'static str),
    reads: bool,
    request: u32,
    offset: u32,
    size: u32,
}

fn peer_flow() -> impl Strategy<Value = PeerFlow> {
    let ends = select(&[("a", "b"), ("b", "a"), ("a", "c"), ("c", "b")][..]);
    let flow = (ends, any::<bool>(), 1..600_u32, 0..200_u32, 1..9000_u32);
    flow.prop_map(|(ends, reads, request, offset, size)| PeerFlow {
        ends,
        reads,
        request,
        offset,
        size,
    })
}

/// A scenario in which devices `a` and `b` are below root ports, and `c` is below a switch at a third root port. The link of `b` may fail.
fn peers(
    (host, max_payload): (&str, u32),
    (error_rate, fails_at): (f64, Option<u32>),
    flows: &[PeerFlow],
) -> String {
    let failure = fails_at.map_or_else(String::new, |at| format!(", fails_at = \"{at} ns\""));
    let device = |(name, above): (&str, &str)| {
        let failure = if name == "b" { failure.as_str() } else { "" };
        format!(
            "[devices.{name}]\nupstream = {{ to = \"{above}\"{failure} }}\nbar = \"256 KiB\"\nmax_payload_supported = \"512 B\"\ncompletion_timeout = \"1000 us\"\n"
        )
    };
    let flow = |(number, flow): (usize, &PeerFlow)| {
        let (from, to) = flow.ends;
        let (direction, largest) = if flow.reads {
            ("read", 512)
        } else {
            ("write", max_payload)
        };
        let request = flow.request.min(largest);
        // Each flow uses its own bytes of the memory.
        let offset = number as u32 * 16384 + flow.offset;
        format!(
            "[[flows]]\nfrom = \"{from}\"\nto = \"{to}\"\ndirection = \"{direction}\"\nsize = \"{} B\"\nrequest_size = \"{request} B\"\noffset = \"{offset} B\"\n",
            flow.size
        )
    };
    let head = format!(
        "[links]\ngeneration = 3\nlanes = 4\nbit_error_rate = {error_rate:e}\n[hosts.h]\nmax_payload_supported = \"{max_payload} B\"\n{host}[switches.s]\nupstream = {{ to = \"h\", socket = 1 }}\n"
    );
    let devices = [("a", "h"), ("b", "h"), ("c", "s")].map(device);
    let flows: Vec<String> = flows.iter().enumerate().map(flow).collect();
    head + &devices.concat() + &flows.concat()
}

proptest! {
    #![proptest_config(cases(40))]
    /// Bytes that pass between root ports arrive unchanged, with all settings for the splitting of packets. No packet and no credit remains, also if
    /// a link fails.
    #[test]
    fn split_packets_arrive_exactly_and_free_their_buffers_once(
        largest in select(&[64, 128, 256, 512][..]),
        boundary in select(&[64, 128][..]),
        path in select(&["", "peer_bandwidth = \"500 MB/s\"\n", "port_datapath = \"16 B\"\n"][..]),
        buffers in select(&["", "posted_headers = 2\nposted_data = \"1 KiB\"\ncompletion_headers = 3\ncompletion_data = \"1 KiB\"\n"][..]),
        max_payload in select(&[128, 512][..]),
        error_rate in select(&[0.0, 1e-6, 3e-5][..]),
        fails_at in proptest::option::weighted(0.3, 2_000..20_000_u32),
        flows in proptest::collection::vec(peer_flow(), 1..6),
    ) {
        let host = format!(
            "sockets = 2\nlargest_peer_payload = \"{largest} B\"\nread_completion_boundary = \"{boundary} B\"\n{path}{buffers}"
        );
        let mut simulation =
            simulation(&peers((&host, max_payload), (error_rate, fails_at), &flows));
        prop_assert!(simulation.run(&mut |_| true));
        let rest = Time::from_fs(simulation.now().as_fs() + Span::from_us(1000).as_fs());
        simulation.run_until(rest, &mut || true);
        prop_assert_eq!((simulation.packets_in_use(), simulation.credits_held()), (0, 0));
        let result = simulation.result();
        prop_assert!(fails_at.is_some() || result.errors.is_empty(), "{:?}", result.errors);
        for flow in &result.flows {
            let is_hit = fails_at.is_some() && [flow.from.as_str(), flow.to.as_str()].contains(&"b");
            prop_assert!(is_hit || flow.completed && flow.intact, "{:?}", flow);
        }
    }
}
