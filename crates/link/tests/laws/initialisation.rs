//! Flow-control initialisation (PCIe Base 3.4).

use kernel::{Span, Stream};
use packet::Frame;
use protocol::{Class, Dllp};

use crate::pair::*;

fn stage(dllp: Dllp) -> Option<(u8, Class)> {
    match dllp {
        Dllp::InitFc1(credit) => Some((1, credit.class)),
        Dllp::InitFc2(credit) => Some((2, credit.class)),
        _ => None,
    }
}

#[test]
fn each_end_sends_initfc1_then_initfc2_for_posted_nonposted_completion() {
    let mut pair = Pair::new(&Setup::default());
    pair.run();
    let expected: Vec<_> = [1, 2]
        .into_iter()
        .flat_map(|stage| Class::ALL.map(|class| (stage, class)))
        .collect();
    for side in [Left, Right] {
        let sent: Vec<_> = pair
            .dllps(side)
            .iter()
            .filter_map(|(_, dllp)| stage(*dllp))
            .collect();
        assert_eq!(sent, expected, "{side:?}");
    }
}

#[test]
fn no_packet_leaves_before_flow_control_is_initialised() {
    let mut pair = Pair::new(&Setup::default());
    pair.send(Left, write(128));
    pair.run();
    let passed = pair.passed(Left);
    let first = passed
        .iter()
        .position(|it| matches!(it.what, What::Tlp { .. }))
        .expect("the packet is sent after initialisation");
    let greetings = passed[..first]
        .iter()
        .filter(|it| matches!(it.what, What::Dllp(dllp) if stage(dllp).is_some()));
    assert_eq!(greetings.count(), 6);
    let received = pair
        .dllps(Right)
        .into_iter()
        .find(|(_, dllp)| stage(*dllp) == Some((2, Class::Posted)));
    let (received, _) = received.expect("the far end sends InitFC2");
    assert!(passed[first].start >= received + pair.length(8) + Span::from_ns(1));
    assert_eq!(pair.numbers(Right), [0]);
}

#[test]
fn the_first_limits_are_the_sizes_of_the_buffers() {
    let setup = Setup::default();
    let mut pair = Pair::new(&setup);
    pair.run();
    let granted = pair
        .dllps(Right)
        .into_iter()
        .find_map(|(_, dllp)| match dllp {
            Dllp::InitFc1(credit) if credit.class == Class::Posted => Some(credit),
            _ => None,
        })
        .expect("posted credit is granted");
    let buffers = setup.parameters.buffers(&setup.config("right"));
    assert_eq!(u32::from(granted.headers), buffers.headers[0]);
    assert_eq!(u64::from(granted.data) * 16, buffers.data[0].0);
}

#[test]
fn infinite_completion_credit_is_advertised_as_zero() {
    let mut pair = Pair::new(&Setup {
        infinite_completions: true,
        ..Setup::default()
    });
    pair.run();
    for (_, dllp) in pair.dllps(Left) {
        if let Dllp::InitFc1(credit) | Dllp::InitFc2(credit) = dllp {
            let none = credit.headers == 0 && credit.data == 0;
            assert_eq!(none, credit.class == Class::Completion);
        }
    }
}

#[test]
fn an_initialisation_packet_that_is_lost_is_sent_again_within_34_us() {
    for lost in 0..12 {
        let mut seen = 0;
        let mut pair = Pair::with_wire(&Setup::default(), move |_, _| {
            seen += 1;
            if seen == lost + 1 {
                Fate::Lose
            } else {
                Fate::Pass
            }
        });
        pair.send(Left, write(128));
        pair.send(Right, write(128));
        pair.run_for(Span::from_us(40));
        assert_eq!(pair.numbers(Right), [0], "frame {lost} lost");
        assert_eq!(pair.numbers(Left), [1], "frame {lost} lost");
    }
}

#[test]
fn a_wire_that_loses_a_third_of_all_dllps_is_initialised_in_the_end() {
    for seed in 0..20 {
        let mut random = Stream::named(seed, "losses");
        let mut pair = Pair::with_wire(&Setup::default(), move |_, frame| {
            let lost = matches!(frame, Frame::Dllp(_)) && random.below(3) == 0;
            if lost { Fate::Lose } else { Fate::Pass }
        });
        pair.send(Left, write(128));
        pair.send(Right, write(128));
        pair.run_for(Span::from_us(1000));
        assert_eq!(pair.numbers(Right), [0], "seed {seed}");
        assert_eq!(pair.numbers(Left), [1], "seed {seed}");
    }
}
