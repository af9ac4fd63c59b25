//! Limits of an engine's requests in addition to the link: tags, the completion buffer, and the engine itself.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;
use sim::result::RunResult;

use crate::cases::cases;
use crate::fixture::*;

/// A scenario with a device `a` on a fast link, a memory with a long latency, and a flow.
fn machine(device: &str, flow: &str) -> String {
    format!(
        "[links]\ngeneration = 4\nlanes = 16\n{}[devices.a]\nupstream = \"h0\"\n{device}\n[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"h0\"\n{flow}\n",
        HOST.replace("80 ns", "2 us")
            .replace("25.6 GB/s", "200 GB/s")
    )
}

const READS: &str = "direction = \"read\"\nsize = \"256 KiB\"";

fn rate_of(device: &str, flow: &str) -> f64 {
    rate(run(&machine(device, flow)).all_intact().flow("f"))
}

#[test]
fn a_completion_buffer_limits_outstanding_reads_as_tags_do() {
    let buffer = rate_of("completion_buffer = \"2 KiB\"", READS);
    close(buffer, rate_of("tags = 4", READS), 0.5);
    // A request of 512 bytes may be divided into 8 completions.
    let headers = rate_of("completion_buffer_headers = 24", READS);
    close(headers, rate_of("tags = 3", READS), 0.5);
}

#[test]
fn a_completion_buffer_that_is_large_enough_changes_nothing() {
    let (free, large) = (
        machine("", READS),
        machine(
            "completion_buffer = \"16 KiB\"\ncompletion_buffer_headers = 256",
            READS,
        ),
    );
    assert_eq!(trace_bytes(&free).1, trace_bytes(&large).1);
}

#[test]
fn requests_are_no_larger_than_the_completion_buffer() {
    let text = machine("completion_buffer = \"300 B\"", READS);
    let (result, lines) = trace(&text);
    assert!(result.flow("f").intact);
    let reads = lines.iter().filter(|line| line["tlp"] == "MRd");
    assert!(
        reads
            .map(|line| line["length"].as_u64())
            .all(|length| length == Some(256))
    );
}

#[test]
fn the_latency_of_requests_in_an_engine_is_no_part_of_the_life_of_a_tag() {
    let with = "tags = 4\nrequest_latency = \"700 ns\"";
    let (plain, staged) = (run(&machine("tags = 4", READS)), run(&machine(with, READS)));
    close(rate(staged.flow("f")), rate(plain.flow("f")), 0.2);
    let max = |result: &RunResult| result.flow("f").latency_ns.as_ref().expect("reads").max;
    close(max(&staged) - max(&plain), 700.0, 0.2);
    let one = "direction = \"read\"\ncount = 1\nrequest_size = \"64 B\"";
    close(
        latency(&machine(with, one)) - latency(&machine("", one)),
        700.0,
        0.2,
    );
}

#[test]
fn a_round_trip_takes_the_latency_of_its_request_each_time() {
    let round = |device: &str| {
        let text = format!(
            "{HOST}[devices.a]\nupstream = \"h0\"\n{device}\n[devices.r]\nmodel = \"reflector\"\nupstream = \"h0\"\n[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"r\"\ndirection = \"round-trip\"\ncount = 100\n"
        );
        let result = run(&text).all_intact();
        let flow = result.flow("f");
        let time = flow
            .last_byte_ns
            .zip(flow.first_byte_ns)
            .map(|(last, first)| last - first);
        (
            time.expect("a time"),
            flow.latency_ns.as_ref().expect("trips").min,
        )
    };
    let ((time, trip), (longer, staged)) = (round(""), round("request_latency = \"500 ns\""));
    close(staged - trip, 500.0, 0.2);
    // The rate is measured from the first bit on the wire, which is sent after the first latency.
    close(longer - time, 99.0 * 500.0, 0.2);
}

#[test]
fn a_request_that_is_collected_takes_longer_and_leaves_the_rate_as_it_is() {
    for direction in ["write", "read"] {
        let flow = format!("direction = \"{direction}\"\nrequest_size = \"4 KiB\"\ncount = 200");
        let with = "store_and_forward = \"2 GB/s\"";
        let one = flow.replace("count = 200", "count = 1");
        let longer = latency(&machine(with, &one)) - latency(&machine("", &one));
        close(longer, 4096.0 / 2.0, 0.2);
        // Only the end of the last read is later, because the times of earlier reads overlap.
        close(
            rate_of(with, &flow),
            rate_of("", &flow),
            if direction == "read" { 8.0 } else { 0.2 },
        );
    }
}

#[test]
fn an_engine_may_need_a_time_from_one_request_to_the_next() {
    let device = "virtual_functions = 1\nrequest_interval = \"100 ns\"";
    let writes = "count = 400\nrequest_size = \"128 B\"";
    close(rate_of(device, writes), 128.0 / 100e-9, 0.5);
    // The functions of the device share one engine.
    let two = machine(device, writes)
        + "[[flows]]\nid = \"g\"\nfrom = \"a\"\nto = \"h0\"\nfunction = 1\ncount = 400\nrequest_size = \"128 B\"\n";
    let result = run(&two).all_intact();
    close(
        rate(result.flow("f")) + rate(result.flow("g")),
        128.0 / 100e-9,
        0.5,
    );
}

/// The maximum number of bytes that reads had requested and that had not yet arrived.
fn most_outstanding(lines: &[Value]) -> u64 {
    let (mut missing, mut most) = (BTreeMap::new(), 0);
    for (place, line) in lines.iter().enumerate() {
        let tag = &line["tag"];
        let left = match line["tlp"].as_str() {
            Some("MRd") => line["length"].as_u64(),
            // The byte count of the next completion of the same request is the number of bytes that remain after this completion.
            Some("CplD") => {
                let later = lines[place + 1..].iter().find(|later| later["tag"] == *tag);
                Some(
                    later
                        .and_then(|later| later["byte_count"].as_u64())
                        .unwrap_or(0),
                )
            }
            _ => continue,
        };
        missing.insert(tag.as_u64(), left.expect("a read has a length"));
        most = most.max(missing.values().sum());
    }
    most
}

proptest! {
    #![proptest_config(cases(24))]

    /// The bytes that are requested and have not yet arrived never exceed the completion buffer, with all other limits of the reads.
    #[test]
    fn outstanding_bytes_fit_into_the_completion_buffer(
        buffer in 128_u64..6000,
        tags in 1_u32..40,
        size in 1_u64..5000,
        offset in 0_u64..70,
    ) {
        let device = format!("completion_buffer = \"{buffer} B\"\ntags = {tags}\nmax_read_request = \"1 KiB\"");
        let flow = format!("direction = \"read\"\ncount = 20\nrequest_size = \"{size} B\"\noffset = \"{offset} B\"");
        let (result, lines) = trace(&machine(&device, &flow));
        prop_assert!(result.flow("f").intact);
        let most = most_outstanding(&lines);
        prop_assert!(most <= buffer, "{} of {}", most, buffer);
    }
}
