//! The addresses at which the requests of a flow begin: their order in the window, and the socket of the memory.

use proptest::prelude::*;
use serde_json::Value;

use crate::cases::cases;
use crate::fixture::*;

/// A device `a` below a host with 1 MiB of memory, and a flow `f` between them.
fn machine(flow: &str) -> String {
    format!(
        "[links]\ngeneration = 3\nlanes = 8\n{HOST}memory = \"1 MiB\"\n[devices.a]\nupstream = \"h0\"\n[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"h0\"\n{flow}\n"
    )
}

/// The addresses and lengths of all packets of a kind, in the order on the link.
fn ranges(lines: &[Value], kind: &str) -> Vec<(u64, u64)> {
    let requests = lines.iter().filter(|line| line["tlp"] == kind);
    requests
        .map(|line| {
            let address = line["address"]
                .as_str()
                .and_then(|text| text.strip_prefix("0x"));
            let address = address.and_then(|digits| u64::from_str_radix(digits, 16).ok());
            let length = line["length"].as_u64();
            address
                .zip(length)
                .expect("a request has an address and a length")
        })
        .collect()
}

fn addresses(flow: &str, kind: &str) -> Vec<u64> {
    let (result, lines) = trace(&machine(flow));
    result.all_intact();
    ranges(&lines, kind)
        .into_iter()
        .map(|(address, _)| address)
        .collect()
}

#[test]
fn strided_requests_begin_a_stride_apart_and_again_at_the_beginning() {
    let strided = "addresses = \"strided\"\nstride = \"256 B\"\nrequest_size = \"64 B\"";
    let once = addresses(&format!("{strided}\ncount = 5"), "MWr");
    assert_eq!(once, [0, 256, 512, 768, 1024]);
    let again =
        format!("{strided}\ncount = 5\nwindow = \"640 B\"\noffset = \"4 B\"\ndirection = \"read\"");
    assert_eq!(addresses(&again, "MRd"), [4, 260, 516, 4, 260]);
}

#[test]
fn a_strided_request_may_have_several_packets() {
    let flow = "addresses = \"strided\"\nstride = \"2 KiB\"\nrequest_size = \"1 KiB\"\ncount = 2";
    assert_eq!(addresses(flow, "MWr"), [0, 512, 2048, 2560]);
}

#[test]
fn random_addresses_come_from_the_seed() {
    let flow = "addresses = \"random\"\nrequest_size = \"64 B\"\nwindow = \"64 KiB\"\ncount = 100";
    let of_seed = |seed: u32| {
        let (result, lines) = trace(&format!("seed = {seed}\n{}", machine(flow)));
        result.all_intact();
        ranges(&lines, "MWr")
    };
    let (first, again, other) = (of_seed(1), of_seed(1), of_seed(2));
    assert_eq!(first, again);
    assert_ne!(first, other);
    assert!(
        first
            .iter()
            .all(|(address, length)| address % 64 == 0 && *length == 64)
    );
    assert!(first.iter().all(|(address, _)| *address < 64 << 10));
    let mut lines: Vec<u64> = first.iter().map(|(address, _)| address / 64).collect();
    lines.sort_unstable();
    lines.dedup();
    assert!(lines.len() > 90, "{}", lines.len());
}

#[test]
fn each_read_follows_the_write_of_its_place() {
    for order in [
        "",
        "addresses = \"random\"\nwindow = \"8 KiB\"",
        "addresses = \"strided\"\nstride = \"300 B\"",
    ] {
        let flow = format!(
            "direction = \"both\"\nread_after_write = true\nrequest_size = \"200 B\"\ncount = 60\n{order}"
        );
        let (result, lines) = trace(&machine(&flow));
        // The flow's bytes are not in the memory before the flow, so a read that passes its write does not return the right bytes.
        result.all_intact();
        let packets = |kind| {
            let at = lines.iter().enumerate();
            let at = at
                .filter(|(_, line)| line["tlp"] == kind)
                .map(|(place, _)| place);
            at.zip(ranges(&lines, kind)).collect::<Vec<_>>()
        };
        let (writes, reads) = (whole(&packets("MWr"), true), whole(&packets("MRd"), false));
        assert_eq!((writes.len(), reads.len()), (60, 60));
        for ((written, write), (read, range)) in writes.iter().zip(&reads) {
            assert_eq!(write, range);
            assert!(written < read, "{range:?}");
        }
    }
}

/// The requests of 200 bytes, each made of one or more packets. For each request: the trace line of its last packet if `by_last` is set, or of its
/// first packet, and its address range.
fn whole(packets: &[(usize, (u64, u64))], by_last: bool) -> Vec<(usize, (u64, u64))> {
    let mut all: Vec<(usize, (u64, u64))> = Vec::new();
    for (line, (address, length)) in packets {
        match all.last_mut() {
            Some((own, (begin, so_far))) if *so_far < 200 => {
                assert_eq!(*begin + *so_far, *address);
                *so_far += length;
                if by_last {
                    *own = *line;
                }
            }
            _ => all.push((*line, (*address, *length))),
        }
    }
    all
}

const TWO: &str = "sockets = 2\nsocket_latency = \"1 us\"\n";

fn two_sockets(flows: &str) -> String {
    format!(
        "[links]\ngeneration = 3\nlanes = 8\n{HOST}{TWO}memory = \"1 MiB\"\n[devices.a]\nupstream = {{ to = \"h0\", socket = 0 }}\n{flows}\n"
    )
}

#[test]
fn a_flow_uses_the_memory_of_its_socket() {
    let flow = |id: &str, more: &str| {
        format!(
            "[[flows]]\nid = \"{id}\"\nfrom = \"a\"\nto = \"h0\"\nrequest_size = \"64 B\"\ncount = 1\n{more}\n"
        )
    };
    let near = latency(&two_sockets(&flow("f", "socket = 0")));
    let far = latency(&two_sockets(&flow("f", "socket = 1")));
    assert!(far > near + 1000.0);
    let offset = latency(&two_sockets(&flow("f", "offset = \"512 KiB\"")));
    close(far, offset, 1e-6);
    // Each flow has its own range of memory, also if other flows name no socket.
    let many = flow("p", "")
        + &flow("q", "socket = 1")
        + &flow("r", "socket = 1")
        + &flow("s", "socket = 0")
        + &flow("t", "")
        + &flow("u", "socket = 1\noffset = \"128 B\"");
    let (result, lines) = trace(&two_sockets(&many));
    result.all_intact();
    let mut begins: Vec<u64> = ranges(&lines, "MWr")
        .into_iter()
        .map(|(address, _)| address)
        .collect();
    begins.sort_unstable();
    let half = 512 << 10;
    assert_eq!(begins, [0, 4096, 8192, half, half + 128, half + 4096]);
}

proptest! {
    #![proptest_config(cases(40))]

    /// For every order of addresses, all requests are within the window and every byte arrives as it was sent.
    #[test]
    fn requests_stay_within_the_window(
        random in any::<bool>(),
        step in 1_u64..5000,
        size in 1_u64..3000,
        window in 3000_u64..60_000,
        offset in 0_u64..5000,
        direction in prop::sample::select(&["read", "write", "both"][..]),
        coupled in any::<bool>(),
        seed in 0_u64..1000,
    ) {
        let order = if random {
            format!("addresses = \"random\"\nalignment = \"{step} B\"")
        } else {
            format!("addresses = \"strided\"\nstride = \"{step} B\"")
        };
        let coupled = coupled && direction == "both";
        let flow = format!("direction = \"{direction}\"\nread_after_write = {coupled}\nrequest_size = \"{size} B\"\nwindow = \"{window} B\"\noffset = \"{offset} B\"\ncount = 30\n{order}");
        let (result, lines) = trace(&format!("seed = {seed}\n{}", machine(&flow)));
        let flow = result.flow("f");
        prop_assert!(flow.completed && flow.intact);
        for kind in ["MWr", "MRd"] {
            for (address, length) in ranges(&lines, kind) {
                prop_assert!(address >= offset && address + length <= offset + window);
            }
        }
    }
}

#[test]
fn a_step_beyond_the_window_is_warned_of() {
    let warnings = |places: &str| {
        let flow = format!("count = 8\nrequest_size = \"64 B\"\nwindow = \"512 B\"\n{places}");
        let simulation = simulation(&machine(&flow));
        simulation.plan().warnings.clone()
    };
    for (places, key) in [
        (
            "addresses = \"random\"\nalignment = \"1 KiB\"",
            "alignment: 1 KiB",
        ),
        (
            "addresses = \"random\"\nalignment = \"449 B\"",
            "alignment: 449 B",
        ),
        (
            "addresses = \"strided\"\nstride = \"512 B\"",
            "stride: 512 B",
        ),
    ] {
        let warned = warnings(places);
        assert_eq!(warned.len(), 1, "{places}: {warned:?}");
        assert!(warned[0].contains(key), "{warned:?}");
        assert!(warned[0].contains("write a larger window"), "{warned:?}");
    }
    for places in [
        "",
        "addresses = \"random\"",
        "addresses = \"random\"\nalignment = \"448 B\"",
        "addresses = \"strided\"\nstride = \"448 B\"",
    ] {
        assert_eq!(warnings(places), [""; 0], "{places}");
    }
}

/// A recording as the text of its key: time in nanoseconds, offset and size of each request.
fn recorded(requests: &[(u64, u64, u64)]) -> String {
    let lines = requests.iter();
    let lines: Vec<String> = lines
        .map(|(time, offset, size)| format!("{time}, {offset}, {size}"))
        .collect();
    format!("requests = \"{}\"", lines.join("\\n"))
}

#[test]
fn recorded_requests_are_made_at_their_times_or_as_soon_as_the_requester_is_free() {
    let requests = [
        (0, 0, 64),
        (3000, 8192, 64),
        (3000, 4096, 64),
        (9000, 65, 64),
    ];
    let (result, lines) = trace(&machine(&recorded(&requests)));
    let packets: Vec<&Value> = lines.iter().filter(|line| line["tlp"] == "MWr").collect();
    assert_eq!(
        ranges(&lines, "MWr"),
        [(0, 64), (8192, 64), (4096, 64), (65, 64)]
    );
    let at = |packet: usize| packets[packet]["ns"].as_f64().expect("a time");
    let length = |packet: usize| packets[packet]["length_ns"].as_f64().expect("a length");
    close(at(1) - at(0), 3000.0, 0.1);
    // The third request waits for the wire, and its latency contains the wait.
    close(at(2) - at(1), length(1), 0.1);
    close(at(3) - at(0), 9000.0, 0.1);
    let result = result.all_intact();
    let latency = result.flow("f").latency_ns.as_ref().expect("latencies");
    close(latency.max - latency.min, length(1), 2.0);
}

#[test]
fn a_recording_without_times_takes_as_long_as_a_flow_of_the_same_requests() {
    for direction in ["write", "read"] {
        let fixed =
            format!("direction = \"{direction}\"\nrequest_size = \"1 KiB\"\nsize = \"64 KiB\"");
        let lines: Vec<String> = (0..64)
            .map(|number| format!("{}, 1 KiB", number * 1024))
            .collect();
        let listed = format!(
            "direction = \"{direction}\"\nrequests = \"{}\"",
            lines.join("\\n")
        );
        let end = |flow: &str| run(&machine(flow)).all_intact().flow("f").last_byte_ns;
        assert_eq!(end(&listed), end(&fixed));
    }
}

/// In the steady state, a recording starts again after its last request.
#[test]
fn a_recording_may_be_repeated() {
    let steady = |recording: &str| format!("[measure]\nsteady = true\n{}", machine(recording));
    let refusal = crate::bad_input::refusal(&steady("requests = \"0, 0, 256\""));
    assert!(refusal.contains("have no steady state"), "{refusal}");
    let steady = steady("requests = \"0, 256\\n4096, 256\"");
    let whole = run(&machine("request_size = \"256 B\"\nsize = \"1 MiB\""));
    close(
        rate(run(&steady).flow("f")),
        rate(whole.flow("f")),
        0.01 * rate(whole.flow("f")),
    );
}

proptest! {
    #![proptest_config(cases(40))]

    /// Any recording is made exactly as it is written, in order, and all its bytes arrive.
    #[test]
    fn every_recorded_request_is_made(
        requests in proptest::collection::vec((0_u64..2000, 0_u64..100_000, 1_u64..9000), 1..20),
        is_read: bool,
    ) {
        let mut requests = requests;
        requests.sort_by_key(|(time, ..)| *time);
        let direction = if is_read { "read" } else { "write" };
        let flow = format!("direction = \"{direction}\"\n{}", recorded(&requests));
        let (result, lines) = trace(&machine(&flow));
        let flow = result.flow("f");
        prop_assert!(flow.completed && flow.intact);
        prop_assert_eq!(flow.bytes, requests.iter().map(|(.., size)| size).sum::<u64>());
        let mut packets = ranges(&lines, if is_read { "MRd" } else { "MWr" }).into_iter();
        for (_, offset, size) in requests {
            let mut next = offset;
            while next < offset + size {
                let (address, length) = packets.next().expect("a packet");
                prop_assert_eq!(address, next);
                next += length;
            }
            prop_assert_eq!(next, offset + size);
        }
        prop_assert_eq!(packets.next(), None);
    }
}

#[test]
fn what_contradicts_a_recording_is_refused() {
    let refusal = |keys: &str| {
        let text = machine(&format!("requests = \"0, 64\"\n{keys}"));
        crate::bad_input::refusal(&text)
    };
    for (keys, wanted) in [
        (
            "size = \"64 B\"",
            "size: the flow makes the requests that requests = ",
        ),
        (
            "interval = \"1 ns\"",
            "interval: requests = \"...\" says which requests the flow makes",
        ),
        (
            "direction = \"both\"",
            "direction: recorded requests are writes or reads",
        ),
    ] {
        let message = refusal(keys);
        assert!(message.contains(wanted), "{message}");
    }
    let lines = "0, 64\\n".repeat(5000);
    run(&machine(&format!("requests = \"{lines}\""))).all_intact();
    let far = crate::bad_input::refusal(&machine("requests = \"1 MiB, 64 B\""));
    assert!(far.ends_with("requests: 1048640 B is more than the 1 MiB there are; write less, or a larger bar or memory"), "{far}");
    let drive = machine("requests = \"0, 64\"").replace("upstream", "model = \"nvme\"\nupstream");
    let driven = crate::bad_input::refusal(&drive);
    assert!(
        driven.contains("requests: the driver of the device makes its own requests"),
        "{driven}"
    );
    let large = crate::bad_input::refusal(&machine("requests = \"0, 128 MiB\""));
    assert!(
        large.contains("requests: 128 MiB is too much for one request"),
        "{large}"
    );
}
