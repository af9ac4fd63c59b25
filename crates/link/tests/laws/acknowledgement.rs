//! Sequence numbers, Ack and Nak, and the replay buffer (PCIe Base 3.6).

use kernel::{Bytes, Span, Time};
use link::{Clocks, PortParameters};
use packet::Frame;
use protocol::{Dllp, Generation};

use crate::pair::*;

fn limit(setup: &Setup, pair: &Pair) -> Span {
    let symbols = setup
        .generation
        .ack_latency_limit(setup.lanes, setup.max_payload);
    pair.symbol() * u64::from(symbols)
}

fn replay_limit(setup: &Setup, pair: &Pair) -> Span {
    let symbols = setup
        .generation
        .replay_timer_limit(setup.lanes, setup.max_payload);
    pair.symbol() * (u64::from(symbols) * setup.parameters.replay_timer_factor as u64)
}

#[test]
fn a_packet_is_acknowledged_within_the_latency_limit() {
    for generation in Generation::ALL {
        for (lanes, max_payload) in [(1, 128), (4, 256), (16, 512)] {
            let setup = Setup {
                generation,
                lanes,
                max_payload,
                ..Setup::default()
            };
            let mut pair = Pair::ready(&setup);
            pair.send(Left, write(128));
            pair.run();
            let arrived = pair.given[Right as usize][0].complete;
            let acks = pair.acks(Right);
            assert_eq!(acks.len(), 1, "{generation:?} x{lanes}");
            // An idle transmitter starts at a symbol boundary, or after a skip ordered set that was due.
            let slack = pair.symbol() * 40;
            assert!(acks[0].0 <= arrived + limit(&setup, &pair) + slack);
            assert_eq!(pair.packets_in_use(), 0);
        }
    }
}

/// The limit applies between the pins: from the last symbol of the packet to the first symbol of the Ack.
#[test]
fn the_pipelines_of_a_port_are_within_the_latency_limit() {
    let mut setup = Setup {
        max_payload: 512,
        ..Setup::default()
    };
    let acknowledged = |setup: &Setup| {
        let mut pair = Pair::ready(setup);
        pair.send(Left, write(128));
        pair.run();
        let arrived = pair.given[Right as usize][0].complete;
        (pair.acks(Right)[0].0.since(arrived), pair.symbol())
    };
    let (without, _) = acknowledged(&setup);
    setup.parameters.receive_pipeline_symbols = Some(46);
    setup.parameters.transmit_pipeline_symbols = Some(48);
    let (with, symbol) = acknowledged(&setup);
    // Each Ack begins at a symbol boundary.
    let earlier = without.saturating_sub(with);
    assert!(
        earlier >= symbol * 93 && earlier <= symbol * 95,
        "{earlier:?}"
    );
}

/// The limit counts symbols, which a spread clock makes a quarter of a percent longer.
#[test]
fn the_latency_limit_is_longer_with_a_spread_clock() {
    let [nominal, spread] = [false, true].map(|are_spread| {
        let setup = Setup {
            generation: Generation::Gen1,
            lanes: 1,
            max_payload: 4096,
            clocks: Clocks {
                are_spread,
                are_separate: false,
            },
            ..Setup::default()
        };
        let mut pair = Pair::ready(&setup);
        pair.send(Left, write(128));
        pair.run();
        let arrived = pair.given[Right as usize][0].complete;
        pair.acks(Right)[0].0.since(arrived).as_ns()
    });
    let ratio = spread / nominal;
    assert!((1.0015..1.0035).contains(&ratio), "{ratio}");
}

#[test]
fn one_acknowledgement_stands_for_all_packets_up_to_its_number() {
    let mut pair = Pair::ready(&Setup {
        generation: Generation::Gen3,
        lanes: 16,
        ..Setup::default()
    });
    for _ in 0..4 {
        pair.send(Left, write(4));
    }
    pair.run();
    let acks: Vec<u16> = pair.acks(Right).into_iter().map(|ack| ack.1).collect();
    assert_eq!(acks, [3]);
    assert_eq!(pair.packets_in_use(), 0);
}

#[test]
fn an_acknowledgement_waits_for_the_packet_on_the_wire_and_goes_before_the_next() {
    let mut setup = Setup {
        max_payload: 4096,
        ..Setup::default()
    };
    setup.parameters.ack_limit_fraction = 0.0;
    let mut pair = Pair::ready(&setup);
    pair.send(Right, write(4096));
    pair.send(Right, write(4096));
    pair.send(Left, write(4));
    pair.run();
    let passed = pair.passed(Right);
    let kinds: Vec<&str> = passed
        .iter()
        .filter_map(|it| match it.what {
            What::Tlp { .. } => Some("TLP"),
            What::Dllp(Dllp::Ack { .. }) => Some("Ack"),
            What::Dllp(_) => None,
        })
        .collect();
    assert_eq!(kinds, ["TLP", "Ack", "TLP"]);
}

#[test]
fn sequence_numbers_count_from_0_and_wrap_at_4096() {
    let mut pair = Pair::ready(&Setup::default());
    for _ in 0..5000 {
        pair.send(Left, write(4));
    }
    pair.run();
    let sequences: Vec<u16> = pair.tlps(Left).into_iter().map(|tlp| tlp.0).collect();
    let expected: Vec<u16> = (0..5000).map(|n| n % 4096).collect();
    assert_eq!(sequences, expected);
    assert_eq!(pair.numbers(Right), (0..5000).collect::<Vec<_>>());
    assert_eq!(pair.packets_in_use(), 0);
}

#[test]
fn a_nak_makes_everything_unacknowledged_go_again_in_order() {
    let mut pair = Pair::ready(&Setup::default());
    pair.wish_for(3..=3, Fate::Damage);
    for _ in 0..6 {
        pair.send(Left, write(128));
    }
    pair.run();
    let naks = pair.naks(Right);
    assert_eq!(naks.len(), 1);
    assert_eq!(naks[0].1, 1, "a Nak acknowledges what came before");
    let again: Vec<u16> = pair
        .tlps(Left)
        .into_iter()
        .filter(|tlp| tlp.1)
        .map(|tlp| tlp.0)
        .collect();
    assert_eq!(again[0], 2, "the damaged packet is replayed first");
    assert!(again.windows(2).all(|pair| pair[1] == pair[0] + 1));
    assert_eq!(pair.numbers(Right), [0, 1, 2, 3, 4, 5]);
    assert_eq!(pair.counters(Left).replays, again.len() as u64);
    assert_eq!(pair.packets_in_use(), 0);
}

#[test]
fn only_one_nak_is_sent_until_a_good_packet_comes() {
    let mut pair = Pair::ready(&Setup::default());
    pair.wish_for(2..=4, Fate::Damage);
    for _ in 0..4 {
        pair.send(Left, write(128));
    }
    pair.run();
    assert_eq!(pair.naks(Right).len(), 1);
    assert_eq!(pair.numbers(Right), [0, 1, 2, 3]);
}

#[test]
fn a_lost_packet_is_noticed_by_the_sequence_number_of_the_next() {
    let mut pair = Pair::ready(&Setup::default());
    pair.wish_for(2..=2, Fate::Lose);
    for _ in 0..3 {
        pair.send(Left, write(128));
    }
    pair.run();
    assert_eq!(pair.naks(Right)[0].1, 0);
    assert_eq!(pair.numbers(Right), [0, 1, 2]);
    assert_eq!(pair.packets_in_use(), 0);
}

#[test]
fn a_lost_acknowledgement_ends_in_a_replay_whose_duplicate_is_discarded_and_acknowledged() {
    for are_spread in [false, true] {
        let clocks = Clocks {
            are_spread,
            are_separate: false,
        };
        lose_an_acknowledgement(&Setup {
            clocks,
            ..Setup::default()
        });
    }
}

fn lose_an_acknowledgement(setup: &Setup) {
    let mut pair = Pair::ready(setup);
    let mut lost = false;
    pair.wish(move |side, frame| {
        if side == Right
            && !lost
            && matches!(frame, Frame::Dllp(bytes) if matches!(Dllp::parse(bytes), Ok(Dllp::Ack { .. })))
        {
            lost = true;
            return Fate::Lose;
        }
        Fate::Pass
    });
    pair.send(Left, write(128));
    pair.run();
    assert_eq!(pair.numbers(Right), [0], "delivered once");
    let tlps = pair.tlps(Left);
    assert_eq!(tlps.len(), 2);
    let (first, again) = (tlps[0], tlps[1]);
    assert!(again.1);
    let waited = again.2.since(first.2 + first.3);
    let limit = replay_limit(setup, &pair);
    assert!(
        waited >= limit,
        "the replay timer runs from the last symbol"
    );
    assert!(waited <= limit + pair.symbol() * 10);
    let acks: Vec<u16> = pair.acks(Right).into_iter().map(|ack| ack.1).collect();
    assert_eq!(acks, [0, 0]);
    assert_eq!(pair.packets_in_use(), 0);
}

#[test]
fn a_lost_nak_ends_in_a_replay_by_timer() {
    let mut pair = Pair::ready(&Setup::default());
    let (mut damaged, mut lost) = (false, false);
    pair.wish(move |side, frame| match (side, frame) {
        (Left, Frame::Tlp(_)) if !damaged => {
            damaged = true;
            Fate::Damage
        }
        (Right, Frame::Dllp(bytes)) if !lost => match Dllp::parse(bytes) {
            Ok(Dllp::Nak { .. }) => {
                lost = true;
                Fate::Lose
            }
            _ => Fate::Pass,
        },
        _ => Fate::Pass,
    });
    pair.send(Left, write(128));
    pair.run();
    assert_eq!(pair.numbers(Right), [0]);
    assert_eq!(pair.counters(Left).replays, 1);
    assert_eq!(pair.packets_in_use(), 0);
}

/// PCIe Base 3.6.2.1: for each replay, `REPLAY_TIMER` restarts with the first replayed packet.
#[test]
fn a_replay_restarts_the_replay_timer() {
    let setup = Setup::default();
    let mut pair = Pair::ready(&setup);
    let limit = replay_limit(&setup, &pair);
    // The packet is lost, so its receiver sends no Nak. The test itself delivers a Nak just before the timer expires.
    pair.wish(|_, frame| match frame {
        Frame::Tlp(_) => Fate::Lose,
        _ => Fate::Pass,
    });
    pair.send(Left, write(128));
    let (_, _, start, length) = pair.tlps(Left)[0];
    let nearly = (start + length + limit)
        .since(pair.now())
        .saturating_sub(Span::from_ns(40));
    pair.run_for(nearly);
    pair.deliver(Left, Dllp::Nak { sequence: 4095 });
    pair.run_for(limit.saturating_sub(Span::from_ns(200)));
    assert_eq!(
        pair.counters(Left).replays,
        1,
        "the Nak's replay alone: the timer began anew with it"
    );
}

/// PCIe Base 3.6.2.1: the fourth replay without progress rolls `REPLAY_NUM` over.
#[test]
fn four_replays_without_an_acknowledgement_are_remembered() {
    const ROLLOVER: u32 = 1 << 8;
    let mut pair = Pair::ready(&Setup::default());
    let limit = replay_limit(&Setup::default(), &pair);
    pair.wish(|_, frame| match frame {
        packet::Frame::Tlp(_) => Fate::Lose,
        _ => Fate::Pass,
    });
    pair.send(Left, write(64));
    pair.run_for(limit * 3);
    assert_eq!(pair.repaired(Left) & ROLLOVER, 0);
    pair.run_for(limit * 2);
    assert_eq!(pair.repaired(Left) & ROLLOVER, ROLLOVER);
}

#[test]
fn clean_links_replay_nothing_however_busy_they_are() {
    for generation in Generation::ALL {
        for (lanes, max_payload) in [(1, 128), (4, 256), (8, 512), (16, 4096)] {
            let setup = Setup {
                generation,
                lanes,
                max_payload,
                delay: Span::from_ns(5),
                ..Setup::default()
            };
            let mut pair = Pair::ready(&setup);
            for number in 0..300 {
                let len = [u32::from(max_payload), 4, 128][number % 3];
                pair.send(Left, write(len));
                pair.send(Right, write(len));
            }
            pair.run();
            for side in [Left, Right] {
                assert_eq!(
                    pair.counters(side).replays,
                    0,
                    "{generation:?} x{lanes} {max_payload}"
                );
            }
            assert_eq!(pair.numbers(Left).len() + pair.numbers(Right).len(), 600);
        }
    }
}

/// A pair whose ends have replay buffers of `replay_buffer` bytes, and whose left end receives no acknowledgement.
fn unacknowledged(replay_buffer: u64) -> Pair {
    let setup = Setup {
        parameters: PortParameters {
            replay_buffer: Some(Bytes(replay_buffer)),
            ..PortParameters::default()
        },
        ..Setup::default()
    };
    let mut pair = Pair::ready(&setup);
    pair.wish(|side, _| {
        if side == Right {
            Fate::Lose
        } else {
            Fate::Pass
        }
    });
    pair
}

#[test]
fn a_full_replay_buffer_stops_the_sender_until_an_acknowledgement() {
    let mut pair = unacknowledged(3 * 148);
    for _ in 0..5 {
        pair.send(Left, write(128));
    }
    pair.run_for(Span::from_ns(600));
    assert_eq!(pair.tlps(Left).len(), 3);
    assert_eq!(pair.waiting(Left), 2);
    assert_eq!(pair.counters(Left).credit_stall, Span::ZERO);
    pair.wish(|_, _| Fate::Pass);
    pair.run();
    assert_eq!(pair.numbers(Right), [0, 1, 2, 3, 4]);
    assert_eq!(pair.packets_in_use(), 0);
}

/// PCIe Base 3.6.2: the buffer holds whole TLPs.
#[test]
fn a_packet_that_does_not_fit_into_the_replay_buffer_waits_for_an_acknowledgement() {
    let held = |bytes: u64, then: u32| {
        let mut pair = unacknowledged(bytes);
        for len in [128, 128, 128, then] {
            pair.send(Left, write(len));
        }
        pair.run_for(Span::from_ns(600));
        let sent = pair.tlps(Left).len();
        pair.wish(|_, _| Fate::Pass);
        pair.run();
        assert_eq!(pair.numbers(Right), [0, 1, 2, 3]);
        sent
    };
    // A packet has 148 bytes with framing, sequence number and LCRC. A packet with one doubleword of data has 24.
    assert_eq!([4 * 148, 4 * 148 - 1].map(|bytes| held(bytes, 128)), [4, 3]);
    assert_eq!(
        [3 * 148 + 24, 3 * 148 + 23].map(|bytes| held(bytes, 4)),
        [4, 3]
    );
}

#[test]
fn a_nullified_packet_is_dropped_without_nak_and_uses_no_sequence_number() {
    let mut pair = Pair::ready(&Setup::default());
    pair.wish_for(1..=1, Fate::Nullify);
    pair.send(Left, write(128));
    pair.run_for(Span::from_ns(300));
    assert!(pair.naks(Right).is_empty());
    assert!(pair.numbers(Right).is_empty());
    assert!(pair.acks(Right).is_empty());
    // The sender did not nullify the packet, and sends it again when its timer expires.
    pair.run();
    assert!(pair.naks(Right).is_empty());
    assert_eq!(pair.numbers(Right), [0]);
}

#[test]
fn time_passes_between_two_packets_only_for_what_else_takes_the_wire() {
    let mut pair = Pair::ready(&Setup::default());
    for _ in 0..20 {
        pair.send(Left, write(128));
    }
    pair.run();
    let tlps = pair.tlps(Left);
    let end: Time = tlps.last().map(|tlp| tlp.2 + tlp.3).expect("packets left");
    let counters = pair.counters(Left);
    let skips = counters.ordered_set_bytes / 16 * 8;
    let taken = pair.length(148) * 20 + pair.length(8) * (counters.dllp_bytes / 8);
    assert!(end.since(tlps[0].2) <= taken + Span::from_ns(skips));
}

#[test]
fn never_more_than_half_of_the_sequence_numbers_are_unacknowledged() {
    let setup = Setup {
        parameters: PortParameters {
            replay_buffer: Some(Bytes(1 << 30)),
            posted_headers: Some(0),
            posted_data: Some(Bytes(0)),
            ..PortParameters::default()
        },
        ..Setup::default()
    };
    let mut pair = Pair::ready(&setup);
    pair.wish(|side, _| {
        if side == Right {
            Fate::Lose
        } else {
            Fate::Pass
        }
    });
    for _ in 0..5000 {
        pair.send(Left, write(4));
    }
    pair.run_for(Span::from_us(500));
    let first = pair.tlps(Left).iter().filter(|tlp| !tlp.1).count();
    assert!((1..2048).contains(&first), "{first}");
    pair.wish(|_, _| Fate::Pass);
    pair.run();
    assert_eq!(pair.numbers(Right), (0..5000).collect::<Vec<_>>());
    assert_eq!(pair.packets_in_use(), 0);
}
