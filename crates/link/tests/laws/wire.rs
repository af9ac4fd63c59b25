//! The use of the wire and transmission times (PCIe Base 3.0 4.2.7, and the framing of 4.2.2 and 4.2.1.2).

use kernel::{Span, Time};
use link::Clocks;
use proptest::prelude::*;
use protocol::Generation;

use crate::cases::cases;
use crate::pair::*;

#[test]
fn a_packet_takes_its_bytes_and_eight_of_framing_and_crc() {
    let mut pair = Pair::ready(&Setup::default());
    pair.send(Left, write(128));
    pair.run();
    let (_, _, _, length) = pair.tlps(Left)[0];
    // Gen2 x4 transfers two bytes per nanosecond.
    assert_eq!(length, Span::from_ns((128 + 12 + 8) / 2));
}

#[test]
fn an_address_of_64_bits_costs_four_bytes() {
    let mut pair = Pair::ready(&Setup::default());
    let wide = protocol::Header::memory_write(REQUESTER, 1 << 40, 128).expect("a legal write");
    pair.send(Left, wide);
    pair.run();
    assert_eq!(pair.tlps(Left)[0].3, Span::from_ns((128 + 16 + 8) / 2));
}

#[test]
fn a_packet_is_given_when_its_last_bit_has_flown() {
    let mut pair = Pair::ready(&Setup {
        delay: Span::from_ns(17),
        ..Setup::default()
    });
    pair.send(Left, write(128));
    pair.run();
    let (_, _, start, length) = pair.tlps(Left)[0];
    let given = &pair.given[Right as usize][0];
    assert_eq!(given.at, start + length + Span::from_ns(17));
    assert_eq!(given.complete, given.at);
}

#[test]
fn a_failed_link_sends_nothing() {
    let counters = |sent_later: u32, is_watched: bool| {
        let mut pair = Pair::ready(&Setup {
            fails_at: Time::ZERO + READY + Span::from_us(50),
            is_watched,
            ..Setup::default()
        });
        pair.send(Left, write(128));
        pair.run_for(Span::from_us(50));
        let at_failure = pair.counters(Left);
        // These packets are dropped.
        for _ in 0..sent_later {
            pair.run_for(Span::from_us(50));
            pair.send(Left, write(128));
        }
        pair.run_for(Span::from_us(3000));
        assert!(at_failure.ordered_set_bytes > 0);
        assert_eq!(pair.counters(Left), at_failure);
        at_failure
    };
    assert_eq!(counters(0, true), counters(3, false));
}

/// Generation, lanes, the reference clocks of the ends, and the position of SKP ordered sets in their interval.
type Wire = (Generation, u8, Clocks, f64);

fn any_wire() -> impl Strategy<Value = Wire> {
    let lanes = prop::sample::select(vec![1, 2, 4, 8, 16]);
    let generation = prop::sample::select(Generation::ALL.to_vec());
    (generation, lanes, any_clocks(), 0.0..=1.0_f64)
}

/// The size of each write in bytes, and the number of symbol times until the next write.
fn writes() -> impl Strategy<Value = Vec<(u32, u64)>> {
    let longest_pause = prop::sample::select(vec![0_u64, 400, 8000]);
    longest_pause.prop_flat_map(|longest| {
        let write = (1..=1024_u32).prop_map(|dwords| dwords * 4);
        prop::collection::vec((write, 0..=longest), 1..60)
    })
}

proptest! {
    #![proptest_config(cases(200))]

    /// PCIe Base 4.2.1, 4.2.2: a lane carries one stream of symbols.
    #[test]
    fn nothing_on_a_wire_overlaps(wire in any_wire(), writes in writes()) {
        let (generation, lanes, clocks, position) = wire;
        let mut setup = Setup { generation, lanes, clocks, max_payload: 4096, ..Setup::default() };
        setup.parameters.skip_position = position;
        let mut pair = Pair::new(&setup);
        for (number, (bytes, pause)) in writes.into_iter().enumerate() {
            pair.send(Left, write(bytes));
            if number % 3 == 0 {
                pair.send(Right, read());
            }
            pair.run_for(pair.symbol() * pause);
        }
        pair.run();
        pair.run_for(Span::from_us(100));
        pair.send(Left, write(4));
        pair.run();
        for side in [Left, Right] {
            let uses = pair.uses(side);
            for both in uses.windows(2) {
                let free = both[0].0 + both[0].1;
                prop_assert!(free <= both[1].0, "{free:?} > {:?}", both[1].0);
            }
            prop_assert!(pair.counters(side).busy <= pair.now().since(Time::ZERO));
        }
    }
}

#[test]
fn a_busy_wire_gives_ordered_sets_their_share() {
    for generation in Generation::ALL {
        for lanes in [1, 4, 16] {
            let mut setup = Setup {
                generation,
                lanes,
                ..Setup::default()
            };
            setup.parameters.skip_position = 0.0;
            let mut pair = Pair::ready(&setup);
            let (before, began) = (pair.counters(Left).ordered_set_bytes, pair.now());
            for _ in 0..20_000 {
                pair.send(Left, write(128));
            }
            pair.run();
            let elapsed = pair.now().since(began);
            let sets = (pair.counters(Left).ordered_set_bytes - before) as f64;
            let skip = generation.skp();
            let of_one = f64::from(skip.symbols * u32::from(lanes) + skip.token_bytes);
            let interval = pair.symbol() * u64::from(*skip.interval_symbols.start());
            let expected = elapsed.as_ns() / interval.as_ns();
            assert!(
                (sets / of_one - expected).abs() <= expected * 0.01 + 2.0,
                "{generation:?} x{lanes}: {} sets, {expected} expected",
                sets / of_one
            );
        }
    }
}

#[test]
fn data_link_packets_take_eight_bytes_of_the_wire_from_the_packets() {
    let run = |share| {
        let mut setup = Setup::default();
        setup.parameters.update_fc_share = share;
        setup.parameters.ack_limit_fraction = share;
        let mut pair = Pair::ready(&setup);
        // Packets to the left cause UpdateFCs and Acks of the right end, which are sent between its own packets.
        for _ in 0..500 {
            pair.send(Left, write(128));
            pair.send(Right, write(128));
        }
        let before = pair.counters(Right).dllp_bytes;
        let start = pair.now();
        pair.run();
        let tlps = pair.tlps(Right);
        let last = tlps.last().expect("packets left");
        let counters = pair.counters(Right);
        let dllps = counters.dllp_bytes - before;
        ((last.2 + last.3).since(start), dllps)
    };
    let ((eager, many), (lazy, few)) = (run(0.0), run(0.9));
    assert!(many > 2 * few, "{many} {few}");
    let difference = eager.saturating_sub(lazy).as_ns();
    let expected = (many - few) as f64 / 2.0;
    // The longer time includes a few more skip ordered sets.
    assert!(
        (difference / expected - 1.0).abs() < 0.05,
        "{difference} ns for {expected} ns of DLLPs"
    );
}

#[test]
fn what_is_counted_is_what_took_the_wire() {
    let mut pair = Pair::new(&Setup::default());
    for number in 0..1000_u32 {
        pair.send(Left, write(4 + number % 125));
    }
    pair.run();
    let counters = pair.counters(Left);
    let packets = counters.payload_bytes + counters.overhead_bytes;
    let bytes = packets + counters.dllp_bytes + counters.ordered_set_bytes;
    assert_eq!(counters.busy, pair.length(bytes as u32));
    assert_eq!(counters.packets, 1000);
    let time = |lengths: Vec<Span>| {
        lengths
            .into_iter()
            .fold(Span::ZERO, |sum, length| sum + length)
    };
    let tlps = pair.tlps(Left).iter().map(|tlp| tlp.3).collect();
    assert_eq!(pair.length(packets as u32), time(tlps));
    let dllps = pair.dllps(Left).len() as u64;
    assert_eq!(counters.dllp_bytes, 8 * dllps);
}
