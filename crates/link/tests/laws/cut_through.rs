//! A cut-through end receives a packet at its header.

use kernel::{Span, Time};
use link::LinkCommand;
use packet::{Charge, Frame};

use crate::pair::*;

fn setup() -> Setup {
    Setup {
        cut_through: true,
        delay: Span::from_ns(5),
        ..Setup::default()
    }
}

#[test]
fn a_cut_through_end_sees_a_packet_when_its_header_is_there() {
    let mut pair = Pair::ready(&setup());
    pair.send(Left, write(128));
    pair.run();
    let (_, _, start, length) = pair.tlps(Left)[0];
    let given = &pair.given[Right as usize][0];
    // STP token with sequence number and three header dwords, at two bytes per nanosecond.
    assert_eq!(given.at, start + Span::from_ns(16 / 2 + 5));
    assert_eq!(given.complete, start + length + Span::from_ns(5));
}

#[test]
fn a_packet_is_not_acknowledged_before_its_last_bit() {
    let mut setup = setup();
    setup.parameters.ack_limit_fraction = 0.0;
    let mut pair = Pair::ready(&setup);
    for _ in 0..20 {
        pair.send(Left, write(128));
    }
    pair.run();
    for (at, sequence) in pair.acks(Right) {
        let given = &pair.given[Right as usize][usize::from(sequence)];
        assert!(at >= given.complete, "Ack {sequence}");
    }
    assert_eq!(pair.packets_in_use(), 0);
}

/// A packet that a cut-through port forwards while the packet is still arriving stays in the receive buffer of its ingress, even if its
/// egress link goes down.
#[test]
fn a_packet_that_still_arrives_is_not_finished_when_its_link_goes_down() {
    // When the link goes down, the first packet is on the wire, and the second packet waits.
    for (before, count) in [(0, 1), (100, 1), (100, 2)] {
        let mut pair = Pair::ready(&setup());
        let complete = pair.now() + Span::from_ns(128);
        for _ in 0..count {
            pair.send_arriving(Left, write(256), complete);
        }
        pair.run_for(Span::from_ns(before));
        pair.command(Left, LinkCommand::TakeDown);
        while pair.finished[Left as usize].is_empty() {
            assert!(pair.step(), "a packet that is dropped is reported");
        }
        assert!(pair.now() >= complete);
        pair.run();
        assert_eq!(pair.finished[Left as usize].len(), count);
    }
}

#[test]
fn a_nak_follows_the_last_bit_of_the_damaged_packet() {
    let mut pair = Pair::ready(&setup());
    pair.wish_for(2..=2, Fate::Damage);
    for _ in 0..4 {
        pair.send(Left, write(128));
    }
    pair.run();
    let (_, _, start, length) = pair.tlps(Left)[1];
    let naks = pair.naks(Right);
    assert_eq!(naks.len(), 1);
    assert_eq!(naks[0].1, 0);
    assert!(naks[0].0 >= start + length + Span::from_ns(5));
    assert_eq!(pair.numbers(Right), [0, 1, 2, 3]);
    assert_eq!(pair.packets_in_use(), 0);
}

#[test]
fn an_acknowledgement_that_is_due_does_not_wait_for_a_damaged_packet_that_still_arrives() {
    let setup = Setup {
        lanes: 1,
        ..setup()
    };
    let mut pair = Pair::ready(&setup);
    pair.wish_for(2..=2, Fate::Damage);
    pair.send(Left, write(4));
    pair.send(Left, write(4096));
    pair.run();
    let (_, _, start, length) = pair.tlps(Left)[1];
    let end = start + length + Span::from_ns(5);
    let (acks, naks) = (pair.acks(Right), pair.naks(Right));
    assert_eq!((acks[0].1, naks[0].1), (0, 0));
    assert!(acks[0].0 < end && naks[0].0 >= end);
    assert_eq!(pair.numbers(Right), [0, 1]);
}

#[test]
fn a_nullified_packet_is_passed_on_as_corrupt() {
    let mut pair = Pair::ready(&setup());
    pair.wish(|side, frame| {
        if side == Left && matches!(frame, Frame::Tlp(_)) {
            Fate::Nullify
        } else {
            Fate::Pass
        }
    });
    pair.send(Left, write(128));
    pair.run_for(Span::from_ns(500));
    assert_eq!(pair.given[Right as usize].len(), 1);
    assert!(pair.given[Right as usize][0].corrupt);
    assert!(pair.naks(Right).is_empty());
}

/// A corrupt packet was never in the sender's receive buffer, so the end of the packet must not free credit there.
#[test]
fn a_failed_link_reports_the_end_of_every_packet_but_corrupt_ones() {
    let mut pair = Pair::ready(&Setup {
        fails_at: Time::ZERO + READY,
        ..setup()
    });
    pair.send(Left, write(64));
    pair.send_corrupt(Left, write(128));
    pair.send(Left, read());
    pair.run();
    let ended = pair.finished[Left as usize].iter();
    let ended: Vec<Charge> = ended.map(|finished| finished.charge).collect();
    assert_eq!(ended, [Charge::of(&write(64)), Charge::of(&read())]);
    assert_eq!((pair.waiting(Left), pair.packets_in_use()), (0, 0));
}

#[test]
fn a_packet_that_is_still_arriving_counts_towards_the_next_ack() {
    for packets in [1, 2, 4] {
        let mut setup = setup();
        setup.parameters.ack_packets = packets;
        setup.max_payload = 4096;
        let mut pair = Pair::ready(&setup);
        for _ in 0..60 {
            pair.send(Left, write(128));
            pair.send(Right, write(128));
        }
        pair.run_for(Span::from_us(4));
        let acks = pair.acks(Right);
        assert!(acks.len() > 40 / packets as usize, "{}", acks.len());
        // A packet, an UpdateFC and an ordered set may be on the wire.
        let longest = pair.length(148 + 8) + pair.symbol() * 5;
        for two in acks.windows(2) {
            let last = usize::from(two[0].1) + packets as usize;
            let due = pair.given[Right as usize][last].complete;
            assert!(two[1].0 <= due + longest, "{:?} is due at {due:?}", two[1]);
        }
    }
}

#[test]
fn a_packet_that_is_still_arriving_does_not_delay_the_ack_of_the_one_before() {
    let mut setup = setup();
    setup.max_payload = 4096;
    setup.parameters.ack_packets = 2;
    setup.parameters.ack_limit_fraction = 0.1;
    let mut pair = Pair::ready(&setup);
    pair.send(Left, write(128));
    pair.send(Left, write(4096));
    pair.run();
    let limit = setup
        .generation
        .ack_latency_limit(setup.lanes, setup.max_payload);
    let due = pair.given[Right as usize][0].complete + pair.symbol() * (u64::from(limit) / 10);
    assert!(due < pair.given[Right as usize][1].complete);
    let first = pair.acks(Right)[0];
    assert_eq!(first.1, 0);
    // An idle transmitter starts at a symbol boundary, or after a skip ordered set that was due.
    assert!(first.0 <= due + pair.symbol() * 10, "{first:?}");
}
