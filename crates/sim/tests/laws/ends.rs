//! The end of a run: when no event remains.

use std::fmt::Write;

use crate::fixture::*;

/// A scenario in which a device reads from its host over a link. `fails_at` is empty or the key for the time at which the link fails.
fn reads(fails_at: &str) -> String {
    format!(
        "[hosts.h]\n[devices.d]\nupstream = {{ to = \"h\"{fails_at} }}\n[[flows]]\nid = \"reads\"\nfrom = \"d\"\nto = \"h\"\ndirection = \"read\"\nsize = \"8 KiB\"\n"
    )
}

/// A scenario in which one host sends a message to another.
fn message() -> String {
    let mut text = "[controllers.c]\nports = 2\n".to_owned();
    for node in 0..2 {
        writeln!(
            text,
            "[hosts.h{node}]\n[devices.n{node}]\nmodel = \"nic\"\nupstream = \"h{node}\""
        )
        .expect("a string");
    }
    text + "[[flows]]\nfrom = \"n0\"\nto = \"n1\"\nprimitive = \"put\"\nsize = \"16 KiB\"\n"
}

#[test]
fn timers_of_reads_that_were_answered_are_nothing_to_wait_for() {
    for text in [reads(""), message()] {
        let mut simulation = simulation(&text);
        while simulation.step() {}
        simulation.result().all_intact();
        let end = simulation.now().as_ns();
        assert!(end < 1e6, "{end}");
    }
}

#[test]
fn reads_that_nobody_answers_end_with_their_timeout() {
    let mut simulation = simulation(&reads(", fails_at = \"400 ns\""));
    while simulation.step() {}
    assert!(simulation.result().errors("d", "completion timeout") > 0);
    let end = simulation.now().as_ns();
    assert!((10e6..10.1e6).contains(&end), "{end}");
}
