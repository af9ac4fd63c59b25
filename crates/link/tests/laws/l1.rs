//! L1: both ends agree to be electrically idle, and return to L0 through Recovery (PCIe Base 5.4.1.2).

use kernel::{Span, Time};
use link::{LinkCommand, LinkState, PortParameters};
use packet::Frame;
use protocol::Dllp;

use crate::pair::{Appetite, Fate, Left, Pair, Right, Setup, Side, read, write};

const BOTH: [Side; 2] = [Left, Right];
const EXIT: Span = Span::from_us(4);
const ENTRY: Span = Span::from_us(2);

fn setup() -> Setup {
    let setup = Setup::default();
    Setup {
        parameters: PortParameters {
            l1_exit_latency: Some(EXIT),
            l1_entry_time: ENTRY,
            ..setup.parameters
        },
        ..setup
    }
}

/// A pair in which the right end is the lower end of the link and requests L1.
fn pair() -> Pair {
    let mut pair = Pair::ready(&setup());
    enable(&mut pair);
    pair
}

fn enable(pair: &mut Pair) {
    for side in BOTH {
        pair.enable_l1(side, true);
    }
}

fn requests(pair: &Pair) -> Vec<Time> {
    let dllps = pair.dllps(Right).into_iter();
    let requests = dllps.filter(|(_, dllp)| *dllp == Dllp::ActiveStateRequest);
    requests.map(|(at, _)| at).collect()
}

fn is_dllp(frame: &Frame, dllp: Dllp) -> bool {
    matches!(frame, Frame::Dllp(bytes) if *bytes == dllp.emit())
}

fn states(pair: &Pair) -> [LinkState; 2] {
    BOTH.map(|side| pair.state(side))
}

#[test]
fn an_idle_link_enters_l1_when_the_lower_end_asks_and_the_upper_end_agrees() {
    let mut pair = Pair::ready(&Setup {
        delay: Span::from_ns(100),
        ..setup()
    });
    enable(&mut pair);
    pair.run_for(Span::from_us(20));
    assert_eq!(states(&pair), [LinkState::L1; 2]);
    let dllps = |side| {
        let dllps = pair.dllps(side).into_iter();
        let of_l1 = dllps.filter(|(_, dllp)| !matches!(dllp, Dllp::UpdateFc(_)));
        of_l1.collect::<Vec<_>>()
    };
    let (acknowledgements, requests) = (dllps(Left), dllps(Right));
    assert!(requests.iter().all(|one| one.1 == Dllp::ActiveStateRequest));
    assert!(
        acknowledgements
            .iter()
            .all(|one| one.1 == Dllp::PowerRequestAck)
    );
    assert!(requests[0].0 < acknowledgements[0].0);
    let gaps = requests.windows(2).map(|pair| pair[1].0.since(pair[0].0));
    let longest = gaps.max().expect("more than one request");
    assert!(longest <= pair.length(8) + pair.symbol() * 9, "{longest:?}");
    for side in BOTH {
        let counters = pair.counters(side);
        assert_eq!(counters.l1_entries, 1);
        assert!(counters.in_l1 > Span::from_us(15), "{:?}", counters.in_l1);
    }
}

#[test]
fn nothing_leaves_in_l1_and_a_packet_of_either_end_ends_it() {
    for side in BOTH {
        let mut pair = pair();
        pair.run_for(Span::from_us(20));
        pair.forget();
        pair.run_for(Span::from_us(100));
        assert!(BOTH.iter().all(|side| pair.passed(*side).is_empty()));
        let handed = pair.now();
        pair.send(side, write(64));
        pair.run();
        assert_eq!(pair.given[1 - side as usize].len(), 1);
        let waited = pair.tlps(side)[0].2.since(handed);
        assert!(
            waited >= EXIT && waited < EXIT + Span::from_us(1),
            "{waited:?}"
        );
        pair.run_for(Span::from_us(20));
        assert_eq!(states(&pair), [LinkState::L1; 2]);
        assert_eq!(pair.counters(side).l1_entries, 2);
        assert!(BOTH.iter().all(|side| {
            let mut changes = pair.changes[*side as usize].iter();
            changes.all(|(_, change)| *change == link::LinkChange::Power)
        }));
    }
}

#[test]
fn the_wait_for_l1_begins_anew_with_each_packet() {
    let mut pair = Pair::ready(&setup());
    pair.send(Left, write(64));
    enable(&mut pair);
    for number in 1..50 {
        pair.send([Left, Right][number % 2], write(64));
        pair.run_for(Span::from_ns(1500));
    }
    assert!(requests(&pair).is_empty());
    assert_eq!(pair.given.each_ref().map(Vec::len), [25, 25]);
}

#[test]
fn a_port_with_packets_refuses_and_is_asked_again_after_10_us() {
    // The upper end has a packet, and the lower end has announced no credit for it.
    let mut setup = setup();
    setup.parameters.nonposted_headers = Some(1);
    let mut pair = Pair::ready(&setup);
    pair.appetite[Right as usize] = Appetite::Never;
    enable(&mut pair);
    pair.send(Left, read());
    pair.send(Left, read());
    pair.run_for(Span::from_us(40));
    assert_eq!(states(&pair), [LinkState::L0; 2]);
    let asked = requests(&pair);
    let pauses = asked.windows(2).map(|pair| pair[1].since(pair[0]));
    let pauses: Vec<Span> = pauses.filter(|pause| *pause > Span::from_us(1)).collect();
    assert!(pauses.len() >= 2 && pauses.iter().all(|pause| *pause >= Span::from_us(10)));
    // The upper end sends one read, and one message for each request that it refuses.
    let messages = pair.tlps(Left).len() - 1;
    assert_eq!(messages, pauses.len() + 1);
    // A packet that the link itself consumes is not delivered to its component.
    assert_eq!(pair.given[Right as usize].len(), 1);
    pair.free(Right);
    pair.run();
    assert_eq!(pair.given[Right as usize].len(), 2);
    pair.free(Right);
    pair.run_for(Span::from_us(40));
    assert_eq!(states(&pair), [LinkState::L1; 2]);
}

#[test]
fn a_port_in_which_l1_is_not_enabled_refuses() {
    let mut pair = Pair::ready(&setup());
    pair.enable_l1(Right, true);
    pair.run_for(Span::from_us(30));
    assert_eq!(states(&pair), [LinkState::L0; 2]);
    assert!(!requests(&pair).is_empty());
}

#[test]
fn an_end_without_credit_for_the_largest_packet_does_not_ask() {
    let mut setup = setup();
    setup.parameters.posted_data = Some(kernel::Bytes(256));
    let mut pair = Pair::ready(&setup);
    pair.appetite[Left as usize] = Appetite::Never;
    enable(&mut pair);
    pair.send(Right, write(128));
    pair.send(Right, write(128));
    pair.run_for(Span::from_us(50));
    assert_eq!(states(&pair), [LinkState::L0; 2]);
    pair.free(Left);
    pair.run_for(Span::from_us(50));
    assert_eq!(states(&pair), [LinkState::L1; 2]);
}

#[test]
fn a_packet_that_comes_while_an_end_asks_waits_for_l1_and_the_exit() {
    for side in BOTH {
        let mut pair = pair();
        while requests(&pair).is_empty() {
            assert!(pair.step());
        }
        pair.send(side, write(64));
        pair.run();
        assert_eq!(pair.given[1 - side as usize].len(), 1);
    }
}

#[test]
fn credit_that_is_freed_in_l1_ends_it() {
    let mut pair = pair();
    pair.appetite[Right as usize] = Appetite::Never;
    pair.send(Left, write(64));
    pair.run_for(Span::from_us(20));
    assert_eq!(states(&pair), [LinkState::L1; 2]);
    pair.forget();
    pair.free(Right);
    pair.run();
    let updates = pair.dllps(Right).into_iter();
    assert!(
        updates
            .clone()
            .any(|(_, dllp)| matches!(dllp, Dllp::UpdateFc(_)))
    );
}

#[test]
fn lost_dllps_of_the_handshake_are_sent_again() {
    let lost = |side: Side, dllp: Dllp| {
        let mut pair = pair();
        let mut left = 5;
        pair.wish(move |from, frame| {
            let is_lost = from == side && is_dllp(frame, dllp) && left > 0;
            left -= u32::from(is_lost);
            if is_lost { Fate::Lose } else { Fate::Pass }
        });
        pair.run_for(Span::from_us(20));
        assert_eq!(states(&pair), [LinkState::L1; 2]);
    };
    lost(Right, Dllp::ActiveStateRequest);
    lost(Left, Dllp::PowerRequestAck);
}

#[test]
fn an_end_that_is_left_waiting_with_packets_goes_to_recovery() {
    let mut pair = pair();
    pair.wish(|from, frame| {
        let is_lost = from == Right && is_dllp(frame, Dllp::ActiveStateRequest);
        if is_lost { Fate::Lose } else { Fate::Pass }
    });
    while requests(&pair).is_empty() {
        assert!(pair.step());
    }
    pair.send(Right, write(64));
    pair.run();
    assert_eq!(pair.given[Left as usize].len(), 1);
}

#[test]
fn commands_in_l1_and_on_the_way_to_it_end_as_ever() {
    let commands = [
        LinkCommand::TakeDown,
        LinkCommand::HotReset,
        LinkCommand::Disable,
        LinkCommand::Retrain,
    ];
    // The commands are given from before the first request until L1, in steps of a frame or less.
    for ns in (1_900..2_500).step_by(7).chain([20_000]) {
        for command in commands {
            for side in BOTH {
                let mut pair = pair();
                pair.run_for(Span::from_ns(ns));
                pair.command(side, command);
                pair.run_for(Span::from_us(20));
                if command != LinkCommand::Retrain {
                    assert!(pair.is_down(side), "{command:?} {ns}");
                    pair.command(side, LinkCommand::Train);
                    pair.run_for(Span::from_us(300));
                }
                pair.send(Left, write(64));
                pair.send(Right, write(64));
                pair.run_for(Span::from_us(300));
                let given = pair.given.each_ref().map(Vec::len);
                assert_eq!(given, [1, 1], "{command:?} {side:?} {ns}");
                assert_eq!(states(&pair), [LinkState::L1; 2], "{command:?} {ns}");
            }
        }
    }
}
