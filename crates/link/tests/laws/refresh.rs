//! UpdateFC without freed credit: every limit is sent again within 30 us to 45 us (PCIe Base 2.6.1.2).

use kernel::{Span, Time};
use packet::Frame;
use protocol::{Class, Dllp, Generation};

use proptest::prelude::*;
use proptest::sample::select;

use crate::pair::*;

fn setup() -> Setup {
    let mut setup = Setup::default();
    setup.parameters.update_fc_refresh = Span::from_us(30);
    setup
}

/// The times at which `side` sent an UpdateFC of `class`.
fn updates(pair: &Pair, side: Side, class: Class) -> Vec<Time> {
    let dllps = pair.dllps(side).into_iter();
    let updates =
        dllps.filter(|(_, dllp)| matches!(dllp, Dllp::UpdateFc(credit) if credit.class == class));
    updates.map(|(start, _)| start).collect()
}

#[test]
fn an_idle_link_sends_each_limit_again_each_30_us() {
    let mut pair = Pair::new(&setup());
    pair.run_for(Span::from_us(1000));
    for side in [Left, Right] {
        for class in Class::ALL {
            let updates = updates(&pair, side, class);
            assert!((32..=33).contains(&updates.len()), "{}", updates.len());
            for pair in updates.windows(2) {
                let gap = pair[1].since(pair[0]);
                assert!(
                    gap >= Span::from_us(30) && gap <= Span::from_us(31),
                    "{gap:?}"
                );
            }
        }
    }
}

#[test]
fn infinite_credit_is_not_sent_again() {
    let mut pair = Pair::new(&Setup {
        infinite_completions: true,
        ..setup()
    });
    pair.run_for(Span::from_us(1000));
    assert_eq!(updates(&pair, Left, Class::Completion), []);
}

#[test]
fn a_limit_that_was_raised_lately_is_not_sent_again() {
    let mut setup = setup();
    setup.parameters.update_fc_share = 0.0;
    let mut pair = Pair::ready(&setup);
    for _ in 0..100 {
        pair.send(Left, write(128));
        pair.run_for(Span::from_us(20));
    }
    assert_eq!(updates(&pair, Right, Class::Posted).len(), 100);
}

/// A write and a read make two of the three limits be sent at different times.
#[test]
fn limits_of_unequal_age_are_each_sent_again_after_30_us() {
    let mut setup = setup();
    setup.parameters.update_fc_share = 0.0;
    let mut pair = Pair::ready(&setup);
    for packet in [write(128), read()] {
        pair.run_for(Span::from_us(9));
        pair.send(Left, packet);
    }
    pair.run_for(Span::from_us(200));
    for class in Class::ALL {
        let updates = updates(&pair, Right, class);
        assert!(updates.len() >= 6, "{}", updates.len());
        for two in updates.windows(2) {
            let gap = two[1].since(two[0]);
            assert!(gap <= Span::from_us(31), "{class:?}: {gap:?}");
        }
    }
}

/// The end receives no `InitFC2`, but a packet of the far end also completes the initialisation.
#[test]
fn an_end_that_got_no_initfc2_sends_its_limits_again() {
    let second = |frame: &Frame| matches!(frame, Frame::Dllp(bytes) if matches!(Dllp::parse(bytes), Ok(Dllp::InitFc2(_))));
    let mut pair = Pair::with_wire(&setup(), move |side, frame| {
        if side == Left && second(frame) {
            Fate::Lose
        } else {
            Fate::Pass
        }
    });
    pair.send(Left, write(128));
    pair.run_for(Span::from_us(1000));
    assert!(updates(&pair, Right, Class::Posted).len() >= 30);
}

#[test]
fn a_run_does_not_wait_for_refreshes() {
    let mut pair = Pair::new(&setup());
    pair.run();
    assert!(pair.now() < Time::ZERO + Span::from_us(100));
}

/// The guideline of PCIe Base 2.6.1.2 for 5 GT/s, four lanes and 128 bytes: 124 symbol times.
#[test]
fn freed_credit_is_told_by_the_guideline() {
    let mut setup = setup();
    setup.parameters.update_fc_share = 1.0;
    let mut pair = Pair::ready(&setup);
    pair.send(Left, write(128));
    pair.run_for(Span::from_us(5));
    let freed = pair.given[Right as usize][0].complete;
    let told = updates(&pair, Right, Class::Posted)[0].since(freed);
    let guideline = pair.symbol() * 124;
    assert!(
        told >= guideline && told <= guideline + pair.symbol() * 8,
        "{told:?}"
    );
}

#[test]
fn after_a_number_of_packets_credit_is_told_and_an_ack_is_sent() {
    let mut setup = setup();
    setup.parameters.update_fc_share = 1.0;
    setup.parameters.update_fc_packets = 4;
    setup.parameters.update_fc_delay = Some(Span::from_us(100));
    setup.parameters.ack_packets = 5;
    setup.max_payload = 4096;
    let mut pair = Pair::ready(&setup);
    for _ in 0..20 {
        pair.send(Left, write(128));
    }
    pair.run_for(Span::from_us(3));
    assert_eq!(updates(&pair, Right, Class::Posted).len(), 5);
    let acks: Vec<u16> = pair.acks(Right).iter().map(|ack| ack.1).collect();
    assert_eq!(acks, [4, 9, 14, 19]);
}

proptest! {
    /// Without a probe, a dormant end sends no refreshes. Its counters are the same as if it sent them, a packet waits for the wire just as
    /// long, and later refreshes are sent at the same times.
    #[test]
    fn a_packet_after_a_long_idle_time_is_no_earlier_without_probes(
        generation in select(vec![Generation::Gen1, Generation::Gen2, Generation::Gen3, Generation::Gen4]),
        lanes in select(vec![1_u8, 4, 8]),
        clocks in any_clocks(),
        idles in prop::collection::vec((1000_u64..4000, 0_u64..8_000_000), 1..8),
    ) {
        let watched = Setup { generation, lanes, clocks, ..setup() };
        let dormant = Setup { is_watched: false, ..watched.clone() };
        let (mut watched, mut dormant) = (Pair::ready(&watched), Pair::ready(&dormant));
        for (idle, after) in idles {
            watched.run_for(Span::from_us(idle));
            let count = watched.dllps(Left).len();
            while watched.dllps(Left).len() == count {
                watched.step();
            }
            // The time is no multiple of a symbol time, because this test does not order events of the same time as a simulation does.
            watched.run_for(Span::from_fs(after * 10 + 3));
            let now = watched.now();
            dormant.run_for(now.since(dormant.now()));
            prop_assert_eq!(watched.counters(Left), dormant.counters(Left), "at {}", now);
            for pair in [&mut watched, &mut dormant] {
                pair.send(Left, write(128));
                pair.run_for(Span::from_us(900));
            }
        }
        prop_assert_eq!(&watched.given[Right as usize], &dormant.given[Right as usize]);
    }
}
