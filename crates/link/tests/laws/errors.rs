//! With bit errors, every packet still arrives once, intact and in order (PCIe Base 3.6.1).

use kernel::{Span, Stream};
use link::{LinkChange, LinkCommand, Offer};
use proptest::prelude::*;
use protocol::Generation;

use crate::cases::cases;
use crate::pair::*;

/// Sends packets of random length in both directions until all have arrived or a long time has passed.
fn exchange(setup: &Setup, packets: u64) -> Pair {
    let mut pair = Pair::new(setup);
    let mut random = Stream::named(setup.seed, "lengths");
    for _ in 0..packets {
        pair.send(Left, write(1 + random.below(128) as u32));
        pair.send(Right, write(1 + random.below(128) as u32));
    }
    for _ in 0..3000 {
        pair.run_for(Span::from_us(10));
        let all = |side| pair.numbers(side).len() as u64 >= packets;
        if all(Left) && all(Right) {
            break;
        }
    }
    // Time for the last acknowledgements, and for the replays if these are lost.
    pair.run_for(Span::from_us(200));
    pair
}

fn check(pair: &Pair, packets: u64) -> Result<(), TestCaseError> {
    for (side, first) in [(Right, 0), (Left, 1)] {
        let expected: Vec<u64> = (0..packets).map(|n| 2 * n + first).collect();
        prop_assert_eq!(pair.numbers(side), expected);
        let good = pair.given[side as usize].iter();
        prop_assert!(
            good.filter(|given| !given.corrupt)
                .all(|given| given.intact)
        );
    }
    prop_assert_eq!(pair.packets_in_use(), 0);
    Ok(())
}

proptest! {
    #![proptest_config(cases(20))]
    #[test]
    fn everything_arrives_once_and_in_order(
        seed in any::<u64>(),
        rate in prop::sample::select(vec![1e-6, 1e-5, 1e-4, 3e-4]),
        cut_through in any::<bool>(),
        lanes in prop::sample::select(vec![1_u8, 4, 16]),
    ) {
        let setup = Setup { bit_error_rate: rate, seed, cut_through, lanes, ..Setup::default() };
        let pair = exchange(&setup, 1000);
        check(&pair, 1000)?;
    }
}

#[test]
fn errors_cost_replays_in_proportion_to_their_rate() {
    let replays = |rate| {
        let setup = Setup {
            bit_error_rate: rate,
            ..Setup::default()
        };
        let pair = exchange(&setup, 4000);
        pair.counters(Left).replays + pair.counters(Right).replays
    };
    let (few, many) = (replays(1e-6), replays(1e-5));
    // 8000 packets of 84 bytes on average have about 5 errors at 1e-6 and 54 at 1e-5. Each error causes the replay of a few
    // packets.
    assert!(few >= 1, "{few}");
    assert!(many > 4 * few, "{few} {many}");
}

#[test]
fn a_struck_packet_at_a_cut_through_end_is_shown_as_corrupt_and_again_as_good() {
    let setup = Setup {
        bit_error_rate: 1e-4,
        cut_through: true,
        ..Setup::default()
    };
    let pair = exchange(&setup, 500);
    let corrupt = pair.given[0].iter().filter(|given| given.corrupt).count();
    assert!(corrupt > 10, "{corrupt}");
    assert_eq!(pair.numbers(Left).len(), 500);
}

#[test]
fn the_same_seed_strikes_the_same_bits() {
    let run = |seed| {
        let setup = Setup {
            bit_error_rate: 1e-4,
            seed,
            ..Setup::default()
        };
        exchange(&setup, 300).passed(Left)
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

/// PCIe Base 4.2.1.3 and 4.2.2.3: idle symbols and ordered sets are also decoded, so that errors in them are detected.
#[test]
fn damage_to_an_idle_wire_is_a_receiver_error_and_stops_nothing() {
    for generation in [Generation::Gen1, Generation::Gen3] {
        let mut pair = Pair::new(&Setup {
            generation,
            bit_error_rate: 1e-7,
            ..Setup::default()
        });
        pair.run_for(Span::from_us(10_000));
        pair.send(Left, write(128));
        pair.run_for(Span::from_us(100));
        assert_eq!(pair.repaired(Right) & 1, 1, "{generation:?}");
        assert_eq!(pair.numbers(Right), [0]);
    }
}

/// A byte is ten bits of 8b/10b on the line.
#[test]
fn the_bits_of_the_coding_are_damaged_as_often_as_others() {
    let mut pair = Pair::ready(&Setup {
        generation: Generation::Gen2,
        bit_error_rate: 2e-5,
        ..Setup::default()
    });
    // The packets are sent one at a time, because a receiver sends no further Nak until the replay.
    for _ in 0..20_000 {
        pair.send(Left, write(128));
        pair.run_for(Span::from_us(1));
    }
    let seen = pair.naks(Right).len() as f64 / pair.tlps(Left).len() as f64;
    let expected = 1.0 - (1.0 - 2e-5_f64).powf(148.0 * 10.0);
    assert!((seen / expected - 1.0).abs() < 0.12, "{seen} {expected}");
}

/// PCIe Base 4.2.2.3: at Gen3 and later a damaged token is a Receiver Error. Its packet is not recognised, and no Nak is sent for it. The
/// loss is detected by the receiver with the next sequence number, or by the sender with its replay timer. The link goes through Recovery
/// first.
#[test]
fn framing_errors_of_tokens_are_receiver_errors() {
    let setup = Setup {
        generation: Generation::Gen3,
        bit_error_rate: 1e-4,
        ..Setup::default()
    };
    let pair = exchange(&setup, 1000);
    assert_eq!(pair.repaired(Right) & RECEIVER_ERROR, RECEIVER_ERROR);
    let retrained = LinkChange::Retrained { is_notified: false };
    for side in [Left, Right] {
        let changes = &pair.changes[side as usize];
        assert!(changes.len() > 10 && changes.iter().all(|(_, change)| *change == retrained));
    }
    check(&pair, 1000).expect("everything arrives");
}

/// PCIe Base 4.2.1.3: with 8b/10b coding, Recovery after a Receiver Error is optional.
#[test]
fn errors_of_symbols_do_not_retrain_a_link() {
    for generation in [Generation::Gen1, Generation::Gen2] {
        let setup = Setup {
            generation,
            bit_error_rate: 2e-5,
            ..Setup::default()
        };
        let pair = exchange(&setup, 1000);
        assert!(pair.naks(Right).len() > 10);
        assert!(pair.changes.iter().all(Vec::is_empty));
    }
}

/// A damaged idle token is also a framing error, although no frame is damaged.
#[test]
fn damage_between_frames_retrains_an_idle_link() {
    let mut pair = Pair::new(&Setup {
        generation: Generation::Gen3,
        bit_error_rate: 1e-7,
        ..Setup::default()
    });
    pair.run_for(Span::from_us(10_000));
    // On average one bit of 1e7 is wrong, at 32 Gbit/s in each direction.
    let retrained = pair.changes[0].len();
    assert!((45..85).contains(&retrained), "{retrained}");
}

/// After a link has changed to 2.5 GT/s, it has no tokens, and bit errors no longer cause Recovery.
#[test]
fn a_degraded_link_has_the_framing_of_its_rate() {
    let mut pair = Pair::new(&Setup {
        generation: Generation::Gen3,
        bit_error_rate: 1e-5,
        ..Setup::default()
    });
    let limit = Offer {
        generation: Generation::Gen1,
        lanes: 4,
    };
    for side in [Left, Right] {
        pair.command(side, LinkCommand::Limit(limit));
    }
    pair.run_for(Span::from_us(10));
    pair.changes = [Vec::new(), Vec::new()];
    for _ in 0..500 {
        pair.send(Left, write(128));
        pair.run_for(Span::from_us(2));
    }
    assert!(pair.changes.iter().all(Vec::is_empty));
    assert!(pair.naks(Right).len() > 2);
}

/// An idle wire in L0s carries no bits that errors can damage.
#[test]
fn silence_is_not_damaged() {
    let mut setup = Setup {
        generation: Generation::Gen3,
        bit_error_rate: 1e-7,
        ..Setup::default()
    };
    setup.parameters.l0s_exit_latency = Some(Span::from_ns(500));
    let mut pair = Pair::ready(&setup);
    for side in [Left, Right] {
        pair.enable_l0s(side);
    }
    pair.run_for(Span::from_us(10_000));
    assert!(pair.changes.iter().all(Vec::is_empty));
}

const RECEIVER_ERROR: u32 = 1;
