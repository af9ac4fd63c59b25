//! Links that go down and train again (PCIe Base 4.2.6, 3.2.1).

use kernel::{Span, Time};
use link::{DownCause, LinkChange, LinkCommand, LinkState};
use proptest::prelude::*;
use protocol::Dllp;

use crate::cases::cases;
use crate::pair::{Appetite, Fate, Left, Pair, READY, Right, Setup, Side, write};

const BOTH: [Side; 2] = [Left, Right];

/// A time after which an idle link has certainly trained.
const TRAINED: Span = Span::from_us(200);

fn changes(pair: &Pair, side: Side) -> Vec<LinkChange> {
    let changes = pair.changes[side as usize].iter();
    changes.map(|(_, change)| *change).collect()
}

#[test]
fn a_link_that_went_down_trains_and_carries_packets_again() {
    let mut pair = Pair::ready(&Setup::default());
    for side in BOTH {
        pair.send(side, write(64));
    }
    pair.run();
    pair.command(Left, LinkCommand::TakeDown);
    pair.run();
    assert_eq!(
        BOTH.map(|side| pair.state(side)),
        [LinkState::Down, LinkState::Training]
    );
    assert!(BOTH.iter().all(|side| pair.is_down(*side)));
    pair.command(Left, LinkCommand::Train);
    pair.run();
    assert_eq!(BOTH.map(|side| pair.state(side)), [LinkState::L0; 2]);
    assert!(!BOTH.iter().any(|side| pair.is_down(*side)));
    for side in BOTH {
        pair.send(side, write(64));
    }
    pair.run();
    for side in BOTH {
        assert_eq!(pair.given[side as usize].len(), 2);
    }
    let down = LinkChange::Down;
    assert_eq!(
        changes(&pair, Left),
        [down(DownCause::Command), LinkChange::Up]
    );
    assert_eq!(
        changes(&pair, Right),
        [down(DownCause::LossOfSignal), LinkChange::Up]
    );
}

#[test]
fn the_far_end_learns_after_the_flight_time_that_a_link_is_down() {
    let setup = Setup {
        delay: Span::from_ns(50),
        ..Setup::default()
    };
    let mut pair = Pair::ready(&setup);
    let begun = pair.now();
    pair.command(Left, LinkCommand::TakeDown);
    pair.run();
    let times = BOTH.map(|side| pair.changes[side as usize][0].0.since(begun));
    assert_eq!(times, [Span::ZERO, Span::from_ns(50)]);
}

#[test]
fn training_takes_its_time_from_when_both_ends_send_ts1() {
    let mut setup = Setup::default();
    setup.parameters.training_time = Some(Span::from_us(300));
    let mut pair = Pair::ready(&setup);
    pair.command(Left, LinkCommand::TakeDown);
    pair.run_for(Span::from_us(1000));
    let begun = pair.now();
    pair.command(Left, LinkCommand::Train);
    pair.run();
    for side in BOTH {
        let (up, change) = *pair.changes[side as usize].last().expect("it came up");
        assert_eq!(change, LinkChange::Up);
        let took = up.since(begun).as_ns();
        // The time includes training and the initialisation of flow control after it.
        assert!((300_000.0..305_000.0).contains(&took), "{took}");
    }
}

#[test]
fn a_hot_reset_holds_the_far_end_until_the_link_trains() {
    let mut pair = Pair::ready(&Setup::default());
    pair.command(Left, LinkCommand::HotReset);
    pair.run_for(TRAINED);
    assert_eq!(BOTH.map(|side| pair.state(side)), [LinkState::HotReset; 2]);
    assert_eq!(
        changes(&pair, Right),
        [LinkChange::Down(DownCause::HotReset)]
    );
    pair.command(Left, LinkCommand::Train);
    pair.run();
    assert_eq!(BOTH.map(|side| pair.state(side)), [LinkState::L0; 2]);
}

#[test]
fn a_disabled_link_comes_back_when_it_is_told_to_train() {
    let mut pair = Pair::ready(&Setup::default());
    pair.command(Left, LinkCommand::Disable);
    pair.run_for(TRAINED);
    assert_eq!(BOTH.map(|side| pair.state(side)), [LinkState::Disabled; 2]);
    pair.command(Left, LinkCommand::Train);
    pair.run();
    assert!(!BOTH.iter().any(|side| pair.is_down(*side)));
}

#[test]
fn a_port_announces_its_buffers_anew_when_the_packets_of_before_have_left_them() {
    let mut pair = Pair::ready(&Setup::default());
    pair.appetite[Right as usize] = Appetite::Never;
    for _ in 0..5 {
        pair.send(Left, write(64));
    }
    pair.run();
    pair.command(Left, LinkCommand::TakeDown);
    pair.command(Left, LinkCommand::Train);
    pair.run_for(TRAINED);
    assert_eq!(BOTH.map(|side| pair.state(side)), [LinkState::Training; 2]);
    for _ in 0..5 {
        pair.free(Right);
    }
    pair.run();
    assert!(!BOTH.iter().any(|side| pair.is_down(*side)));
}

/// A step of a run: a packet is sent, an end is commanded, or a number of nanoseconds passes.
#[derive(Clone, Copy, Debug)]
enum Step {
    Send(Side, u32),
    Command(Side, LinkCommand),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let side = || prop_oneof![Just(Left), Just(Right)];
    let command = prop_oneof![
        Just(LinkCommand::TakeDown),
        Just(LinkCommand::HotReset),
        Just(LinkCommand::Disable),
        Just(LinkCommand::Train),
        Just(LinkCommand::Retrain),
    ];
    let step = prop_oneof![
        6 => (side(), 0_u32..30).prop_map(|(side, dwords)| Step::Send(side, dwords * 4 + 4)),
        2 => (side(), command).prop_map(|(side, command)| Step::Command(side, command)),
        3 => (0_u64..3000).prop_map(Step::Wait),
        1 => (50_000_u64..200_000).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(cases(200))]

    /// No packet is delivered twice or out of order, whatever commands take the link down. A link that both ends train is up in the end and
    /// carries every packet.
    #[test]
    fn a_link_comes_up_whatever_went_down_before(
        steps in steps(),
        generation in prop_oneof![Just(protocol::Generation::Gen2), Just(protocol::Generation::Gen4)],
        errors in prop_oneof![Just(0.0), Just(1e-5), Just(1e-3)],
        delay in 0_u64..300,
        (l0s, l1) in any::<(bool, bool)>(),
        seed in 0_u64..1000,
    ) {
        // At 16 GT/s a wrong bit between packets also stops the data stream. With one wrong bit in a thousand, no data stream would last.
        let errors = if generation.has_tokens() { errors / 10.0 } else { errors };
        let mut setup = Setup {
            generation,
            bit_error_rate: errors,
            delay: Span::from_ns(delay),
            seed,
            ..Setup::default()
        };
        setup.parameters.training_time = Some(Span::from_us(1));
        // Bit errors may damage the last InitFC2. Then an UpdateFC completes the initialisation at the far end.
        setup.parameters.update_fc_refresh = Span::from_us(30);
        setup.parameters.l0s_exit_latency = l0s.then_some(Span::from_ns(300));
        setup.parameters.l0s_entry_time = Span::from_ns(200);
        setup.parameters.l1_exit_latency = l1.then_some(Span::from_us(1));
        setup.parameters.l1_entry_time = Span::from_ns(500);
        let mut pair = Pair::ready(&setup);
        for side in BOTH {
            if l0s {
                pair.enable_l0s(side);
            }
            pair.enable_l1(side, l1);
        }
        for step in steps {
            match step {
                Step::Send(side, bytes) => {
                    pair.send(side, write(bytes));
                }
                Step::Command(side, command) => pair.command(side, command),
                Step::Wait(ns) => pair.run_for(Span::from_ns(ns)),
            }
        }
        for side in BOTH {
            pair.command(side, LinkCommand::Train);
        }
        pair.run_for(Span::from_us(3000));
        // At this time, the link may be in Recovery because of a framing error, or an idle link may be in L1.
        let may_recover = errors > 0.0 || l1;
        let is_up = |state| match state {
            LinkState::L0 => true,
            LinkState::L1 => l1,
            LinkState::Recovery => may_recover,
            _ => false,
        };
        prop_assert!(BOTH.iter().all(|side| is_up(pair.state(*side))));
        prop_assert!(!BOTH.iter().any(|side| pair.is_down(*side)));
        let before = BOTH.map(|side| pair.given[side as usize].len());
        for side in BOTH {
            for _ in 0..20 {
                pair.send(side, write(64));
            }
        }
        pair.run_for(Span::from_us(3000));
        for side in BOTH {
            let numbers = pair.numbers(side);
            prop_assert!(numbers.is_sorted_by(|a, b| a < b), "{:?}", numbers);
            prop_assert!(pair.given[side as usize].iter().all(|given| given.intact));
            prop_assert_eq!(pair.given[side as usize].len() - before[side as usize], 20);
            prop_assert_eq!(pair.waiting(side), 0);
        }
    }
}

/// The times of a test count from the end of flow-control initialisation.
#[test]
fn a_run_begins_with_a_link_in_l0() {
    let mut pair = Pair::new(&Setup::default());
    assert_eq!(pair.state(Left), LinkState::L0);
    pair.run_for(READY);
    assert!(pair.changes.iter().all(Vec::is_empty));
    assert!(pair.now() > Time::ZERO);
}

/// PCIe Base 3.6.2.1: when `REPLAY_NUM` rolls over, the transmitter retrains the link and replays after that.
#[test]
fn the_fourth_replay_without_progress_waits_for_recovery() {
    let mut pair = Pair::ready(&Setup::default());
    pair.wish_for(1..=4, Fate::Lose);
    pair.send(Left, write(64));
    pair.run();
    assert_eq!(pair.numbers(Right), [0]);
    assert_eq!(pair.tlps(Left).len(), 5);
    for side in BOTH {
        assert_eq!(
            changes(&pair, side),
            [LinkChange::Retrained { is_notified: false }]
        );
    }
    let recovered = pair.changes[Left as usize][0].0;
    assert!(pair.tlps(Left)[4].2 >= recovered && pair.tlps(Left)[3].2 < recovered);
}

/// PCIe Base 3.6.2.1: the replay timer holds in Recovery, and an Ack that arrives during Recovery stops it.
#[test]
fn an_ack_that_arrives_in_recovery_stops_the_replay_timer() {
    let setup = Setup {
        delay: Span::from_us(2),
        ..Setup::default()
    };
    let mut pair = Pair::new(&setup);
    pair.run_for(READY * 10);
    pair.forget();
    pair.send(Left, write(64));
    pair.run_for(Span::from_us(3));
    pair.command(Left, LinkCommand::Retrain);
    pair.run_for(Span::from_us(200));
    assert_eq!(pair.numbers(Right), [0]);
    assert_eq!(pair.acks(Right).len(), 1);
    assert_eq!((pair.tlps(Left).len(), pair.repaired(Left)), (1, 0));
}

/// PCIe Base 3.4.1: a link that has come up begins with InitFC DLLPs, even if credit was freed while it was down.
#[test]
fn a_port_announces_no_credit_of_the_time_before_its_link_was_down() {
    let mut setup = Setup {
        generation: protocol::Generation::Gen4,
        ..Setup::default()
    };
    setup.parameters.update_fc_share = 0.0;
    let mut pair = Pair::ready(&setup);
    pair.appetite[Right as usize] = Appetite::Never;
    for _ in 0..5 {
        pair.send(Left, write(64));
    }
    pair.run();
    pair.command(Left, LinkCommand::TakeDown);
    pair.run_for(Span::from_us(1));
    pair.forget();
    for _ in 0..5 {
        pair.free(Right);
    }
    pair.command(Left, LinkCommand::Train);
    pair.run();
    let dllps = pair.dllps(Right).into_iter();
    let credit = dllps.filter(|(_, dllp)| !matches!(dllp, Dllp::Feature { .. }));
    let first = credit.map(|(_, dllp)| dllp).next();
    assert!(matches!(first, Some(Dllp::InitFc1(_))), "{first:?}");
}
