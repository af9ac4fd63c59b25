//! Virtual channels: each channel has its own credit, and the channels share the wire (PCIe Base 2.5, 2.6).

use kernel::Span;
use link::PortParameters;
use protocol::{Class, Dllp, Header, TrafficClass};

use crate::pair::*;

fn setup() -> Setup {
    Setup {
        channels: 2,
        parameters: PortParameters {
            posted_headers: Some(1),
            update_fc_share: 0.0,
            ..PortParameters::default()
        },
        ..Setup::default()
    }
}

fn of_class(number: u8) -> Header {
    Header {
        traffic_class: TrafficClass::new(number).expect("there are eight classes"),
        ..write(64)
    }
}

#[test]
fn each_channel_is_initialised() {
    let mut pair = Pair::new(&setup());
    pair.run();
    let mut granted: Vec<_> = pair
        .dllps(Left)
        .into_iter()
        .filter_map(|(_, dllp)| match dllp {
            Dllp::InitFc1(credit) => Some((credit.channel, credit.class)),
            _ => None,
        })
        .collect();
    granted.sort_unstable();
    let expected: Vec<_> = (0..2)
        .flat_map(|channel| Class::ALL.map(|class| (channel, class)))
        .collect();
    assert_eq!(granted, expected);
}

#[test]
fn a_channel_without_credit_does_not_stop_another() {
    let mut pair = Pair::ready(&setup());
    pair.appetite = [Appetite::Never; 2];
    for class in [0, 0, 1, 1] {
        pair.send(Left, of_class(class));
    }
    pair.run_for(Span::from_us(2));
    assert_eq!(pair.numbers(Right), [0, 2]);
    pair.free(Right);
    pair.run_for(Span::from_us(2));
    assert_eq!(pair.numbers(Right), [0, 2, 1]);
}

#[test]
fn channels_share_the_wire_and_lose_nothing() {
    let mut pair = Pair::ready(&setup());
    for class in [0, 1, 2].repeat(200) {
        pair.send(Left, of_class(class));
    }
    pair.run();
    assert_eq!(pair.numbers(Right).len(), 600);
    assert_eq!(pair.packets_in_use(), 0);
}
