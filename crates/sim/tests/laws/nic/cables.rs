//! Controllers that are connected by cables: packets in one direction do not wait for packets in the other direction.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::*;
use crate::cases::cases;
use crate::fixture::{Ask, run};
use crate::network::threads::{assert_two_are_as_one, is_the_same_on_threads};

/// A scenario with `controllers` controllers in a row. The hosts at the two ends of the row send each other as many requests as possible.
fn across(controllers: usize, crossbar: &str, nic: &str) -> String {
    let crossbar =
        format!("posted_headers = 1\nnonposted_headers = 1\ncompletion_headers = 1\n{crossbar}");
    let nic = format!("get_queue = 1\nmessages = 2\nloads = 4\n{nic}");
    let mut text = in_a_row(
        &hosts(controllers, &crossbar, &nic),
        controllers,
        controllers,
    );
    let last = controllers - 1;
    for (from, to) in [(0, last), (last, 0)] {
        for primitive in ["put", "get"] {
            let _ = write!(
                text,
                "[[flows]]\nfrom = \"n{from}\"\nto = \"n{to}\"\nprimitive = \"{primitive}\"\nsize = \"256 KiB\"\nrequest_size = \"4 KiB\"\noutstanding = 32\n"
            );
        }
        let _ = write!(
            text,
            "[[flows]]\nfrom = \"h{from}\"\nto = \"h{to}\"\ndirection = \"both\"\nsize = \"16 KiB\"\n"
        );
    }
    text
}

#[test]
fn messages_loads_and_stores_share_cables_both_ways() {
    for controllers in 2..4 {
        for port in ["", "cable_send_latency = \"300 ns\""] {
            run(&across(controllers, port, "")).all_intact();
        }
    }
}

/// The scenario without a channel for GETs ends in a deadlock.
#[test]
fn controllers_with_their_hosts_run_on_threads_of_their_own() {
    let far = "cable_send_latency = \"300 ns\"";
    for crossbar in [far, &format!("{far}\nget_channel = false")] {
        assert_two_are_as_one(&across(2, crossbar, ""));
    }
}

/// A flow between two hosts, by messages of their controllers or by stores.
fn flow() -> impl Strategy<Value = (Index, Index, &'static str, u32)> {
    let kinds = &[
        "primitive = \"put\"",
        "primitive = \"get\"",
        "direction = \"write\"",
    ];
    (
        any::<Index>(),
        any::<Index>(),
        select(&kinds[..]),
        1_u32..40_000,
    )
}

/// A scenario with random numbers of controllers in a row and of hosts, cables of random delay and speed, and flows.
fn row() -> impl Strategy<Value = String> {
    let cables = (
        select(&["0 ns", "1 ns", "7 ns", "90 ns"][..]),
        1_u32..=5,
        select(&["", "bit_error_rate = 1e-6\n"][..]),
    );
    let flows = vec(flow(), 1..8);
    (2_usize..=3, 3_usize..=6, cables, flows).prop_map(
        |(controllers, count, (delay, generation, errors), flows)| {
            let row = in_a_row(&hosts(count, "", ""), count, controllers);
            let cable = format!("[[cables]]\ndelay = \"{delay}\"\ngeneration = {generation}\n");
            let mut text = row.replacen("[[cables]]\n", &format!("{cable}{errors}"), 1);
            for (from, to, kind, size) in flows {
                let (from, to) = (from.index(count), to.index(count));
                if from != to {
                    let end = if kind.starts_with('p') { 'n' } else { 'h' };
                    let _ = write!(
                        text,
                        "[[flows]]\nfrom = \"{end}{from}\"\nto = \"{end}{to}\"\n{kind}\nsize = \"{size} B\"\n"
                    );
                }
            }
            text
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2000, ..cases(24) })]
    #[test]
    fn the_number_of_threads_changes_nothing_over_cables(text in row(), is_traced: bool) {
        prop_assert!(is_the_same_on_threads(&text, is_traced), "{}", text);
    }
}

#[test]
fn gets_without_a_channel_of_their_own_wait_for_ever() {
    let result = run(&across(2, "get_channel = false", ""));
    assert!(result.standing_packets > 0);
    assert!(result.flows.iter().any(|flow| !flow.completed));
}

#[test]
fn stores_over_a_cable_go_at_its_pace() {
    let flow = "[[flows]]\nid = \"f\"\nfrom = \"h0\"\nto = \"h1\"\ndirection = \"write\"\nsize = \"256 KiB\"\n";
    let row = in_a_row(&hosts(2, "", ""), 2, 2);
    // One lane at 5 GT/s with 8b/10b encoding carries 500 MB/s. Packets have 512 bytes of payload and 24 bytes of overhead.
    let text = row.replace("[[cables]]\n", "[[cables]]\nlanes = 1\n") + flow;
    let rate = run(&text).all_intact().flow("f").bytes_per_second;
    crate::fixture::close(rate.expect("it moved"), 5e8 * 512.0 / 536.0, 2.0);
}

#[test]
fn a_second_cable_between_the_same_controllers_is_told() {
    let row = in_a_row(&hosts(2, "", ""), 2, 2);
    let twice = format!("{row}[[cables]]\nfrom = \"c1\"\nto = \"c0\"\n");
    let simulation = simulation(&twice);
    let [warning] = simulation.plan().warnings.as_slice() else {
        panic!("{:?}", simulation.plan().warnings);
    };
    assert!(
        warning.ends_with("c1-c0 is never used, as c0-c1 joins both, too; leave it out, or write more lanes for that"),
        "{warning}"
    );
}

/// Each of two flows to different processors has a cable of one lane for itself.
#[test]
fn two_cables_between_the_same_controllers_share_the_processors() {
    let row = in_a_row(&hosts(4, "", ""), 4, 2);
    let twice = format!("{row}[[cables]]\nfrom = \"c1\"\nto = \"c0\"\n");
    let mut text = twice.replace("[[cables]]\n", "[[cables]]\nlanes = 1\n");
    for (from, to) in [(0, 1), (2, 3)] {
        let _ = write!(
            text,
            "[[flows]]\nid = \"{from}\"\nfrom = \"h{from}\"\nto = \"h{to}\"\ndirection = \"write\"\nsize = \"256 KiB\"\n"
        );
    }
    assert_eq!(simulation(&text).plan().warnings, [""; 0]);
    let result = run(&text).all_intact();
    for flow in ["0", "2"] {
        let rate = result.flow(flow).bytes_per_second;
        crate::fixture::close(rate.expect("it moved"), 5e8 * 512.0 / 536.0, 2.0);
    }
}
