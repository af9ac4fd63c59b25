//! The clock of a flow of messages begins with the first bit of the first doorbell on the link.

use super::*;
use crate::fixture::{Ask, run, trace};

/// A scenario with one message from a host, whose controller has one lane at 2.5 GT/s, which carries 250 MB/s.
fn message(primitive: &str, size: u32) -> String {
    let slow = "upstream = { to = \"h0\", generation = 1, lanes = 1 }";
    hosts(2, "", "").replace("upstream = \"h0\"", slow)
        + &format!(
            "[[flows]]\nid = \"f\"\nfrom = \"n0\"\nto = \"n1\"\nprimitive = \"{primitive}\"\nsize = \"{size} B\"\n"
        )
}

#[test]
fn a_message_is_no_faster_than_its_link() {
    for (primitive, size) in [
        ("put", 256),
        ("put", 64),
        ("get", 256),
        ("nap-indirect", 64),
        ("nap-immediate", 32),
    ] {
        let text = message(primitive, size);
        let rate = run(&text).all_intact().flow("f").bytes_per_second;
        assert!(rate.expect("it moved") < 250e6, "{primitive}: {rate:?}");
    }
}

#[test]
fn the_clock_of_a_message_begins_with_its_doorbell_on_the_wire() {
    let (result, lines) = trace(&message("put", 256));
    let write = lines.iter().find(|line| line["tlp"] == "MWr");
    let doorbell = write.expect("a doorbell is a write");
    assert_eq!(doorbell["link"], "h0-n0");
    let first = result.flow("f").first_byte_ns;
    assert_eq!(first, doorbell["ns"].as_f64());
}

#[test]
fn messages_that_arrive_are_noticed_though_others_were_lost() {
    let text = hosts(2, "", "").replace("[hosts.h1]", "[hosts.h1]\npoll = \"20 us\"")
        + "[[flows]]\nid = \"f\"\nfrom = \"n0\"\nto = \"n1\"\nprimitive = \"nap-immediate\"\nrequest_size = \"64 B\"\ncount = 400\noutstanding = 32\n";
    let mut simulation = simulation(&text);
    simulation.run(&mut |_| true);
    let result = simulation.result();
    let flow = result.flow("f");
    assert!(0 < flow.bytes && flow.bytes < 400 * 64, "{}", flow.bytes);
    // The program polls for messages only every 20 us, also for the last messages.
    let last = flow.last_byte_ns.expect("some arrived");
    assert!(simulation.now().as_ns() > last + 10_000.0);
    // Each latency begins with the doorbell of the message itself, not with the doorbell of another message that was lost.
    let longest = flow.latency_ns.as_ref().expect("some were noticed").max;
    assert!((20_000.0..30_000.0).contains(&longest), "{longest}");
}
