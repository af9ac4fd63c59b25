//! Completions that arrive after the completion timeout of their requests: with tag quarantine, they are not taken for completions of other requests
//! (PCIe Base 2.8).

use kernel::{Span, Time};
use proptest::prelude::*;
use sim::Models;

use crate::cases::cases;
use crate::fixture::*;

/// A scenario with a device with `tags` tags whose reads time out after 50 us, and a memory with the read latency `latency`.
fn slow(latency: &str, tags: u32, more: &str) -> String {
    format!(
        "[hosts.h0]\nmemory_read_latency = \"{latency}\"\n[devices.a]\nupstream = \"h0\"\ntags = {tags}\ncompletion_timeout = \"50 us\"\n{more}\n"
    )
}

const READS: &str = "[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"h0\"\ndirection = \"read\"\nrequest_size = \"64 B\"\ncount = 64\n";

#[test]
fn a_late_completion_is_dropped_and_no_read_gets_the_bytes_of_another() {
    for latency in ["60 us", "120 us", "9 ms", "40 ms"] {
        let result = run(&(slow(latency, 1, "") + READS));
        let flow = result.flow("f");
        assert_eq!((flow.bytes, flow.completed), (0, true));
        assert_eq!(result.errors("a", "completion timeout"), 64);
        // The last completion has not yet arrived when the last read times out.
        assert_eq!(result.errors("a", "unexpected completion"), 63);
    }
}

#[test]
fn without_quarantine_a_late_completion_answers_the_next_request() {
    let text = slow("60 us", 1, "tag_quarantine = \"0 ns\"") + READS;
    let flow = run(&text).flow("f").clone();
    assert!(flow.completed && !flow.intact && flow.bytes > 0);
}

#[test]
fn a_requester_with_one_tag_waits_for_the_end_of_its_quarantine() {
    let text = slow("60 us", 1, "tag_quarantine = \"300 us\"") + READS;
    let (_, lines) = trace(&text);
    let reads = lines.iter().filter(|line| line["tlp"] == "MRd");
    let times: Vec<f64> = reads
        .map(|line| line["ns"].as_f64().expect("a time"))
        .collect();
    assert_eq!(times.len(), 64);
    for pair in times.windows(2) {
        close(pair[1] - pair[0], 350_000.0, 0.01);
    }
}

#[test]
fn an_unexpected_completion_is_recorded_as_an_advisory_error() {
    let mut simulation = simulation(&slow("60 us", 1, ""));
    assert!(simulation.read_back("a", 0x1000, 4, &mut || true).is_err());
    let correctable = |simulation: &sim::Simulation| {
        let functions = simulation.functions("a").expect("a node");
        let space = functions.space(transaction::FunctionPlace::Own);
        space.read(protocol::register::AER + 4)
    };
    assert_eq!(correctable(&simulation), 0);
    let until = simulation.now() + Span::from_us(20);
    simulation.run_until(until, &mut || true);
    // Advisory Non-Fatal Error Status (PCIe Base 6.2.3.2.4.5).
    assert_eq!(correctable(&simulation), 1 << 13);
    assert_eq!(simulation.result().errors("a", "unexpected completion"), 1);
}

#[test]
fn configuration_requests_wait_for_tags_in_quarantine() {
    // The delay of the link is longer than the timeout, so no request is answered in time. A root port has 32 tags for configuration requests.
    let text = "[links]\ngeneration = 1\nlanes = 1\ndelay = \"30 us\"\n[hosts.h0]\ncompletion_timeout = \"50 us\"\ntag_quarantine = \"20 ms\"\n[devices.a]\nupstream = \"h0\"\n";
    let mut simulation = simulation(text);
    let a = simulation.plan().nodes[1].id;
    for _ in 0..33 {
        let read = simulation.config_read("h0", a, 0, 4, &mut || true);
        assert_eq!(read, Ok(u32::MAX));
    }
    assert!(simulation.now() > Time::ZERO + Span::from_us(20_000));
    assert_eq!(simulation.result().errors("h0", "completion timeout"), 33);
    assert!(simulation.result().errors("h0", "unexpected completion") >= 32);
}

proptest! {
    #![proptest_config(cases(12))]

    /// Some completions arrive in time and some do not. If a read returns bytes, they are the bytes at its address.
    #[test]
    fn a_read_returns_the_bytes_of_its_address_or_none(
        seed in any::<u64>(),
        tags in 1_u32..3,
        latency in 30_u64..80,
        jitter in 1_u64..60,
        quarantine in 100_u64..1000,
    ) {
        let more = format!("tag_quarantine = \"{quarantine} us\"");
        let text = slow(&format!("{latency} us"), tags, &more)
            .replace("[devices.a]", &format!("memory_read_jitter = \"{jitter} us\"\n[devices.a]"));
        let mut simulation = simulation_with(&text, Some(seed), &Models::default());
        let content: Vec<u8> = (0..4096_u32).map(|at| (at / 4 * 7 + at) as u8).collect();
        simulation.fill("h0", 0x1000, &content).expect("memory");
        for at in (0..2048_usize).step_by(64) {
            let read = simulation.read_back("a", 0x1000 + at as u64, 64, &mut || true);
            if let Ok(bytes) = read {
                prop_assert_eq!(&bytes, &content[at..at + 64]);
            }
        }
    }
}
