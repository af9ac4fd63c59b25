//! What limits the requests of an engine besides the link: tags, the completion buffer, and the engine itself.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use crate::cases::cases;
use crate::fixture::*;

/// A device `a` at a fast link to a memory that is far away, with a flow.
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

/// The most bytes of reads that were requested and not yet completed at one time.
fn most_outstanding(lines: &[Value]) -> u64 {
    let (mut missing, mut most) = (BTreeMap::new(), 0);
    for (place, line) in lines.iter().enumerate() {
        let tag = &line["tag"];
        let left = match line["tlp"].as_str() {
            Some("MRd") => line["length"].as_u64(),
            // The next completion of the same request says what was left after this one.
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

    /// The bytes that are requested and have not come never exceed the buffer, whatever else limits the reads.
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
