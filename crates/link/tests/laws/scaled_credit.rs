//! Scaled flow control (PCIe Base 3.4.2), and the exchange of features before it (3.2.1).

use kernel::{Bytes, Span, Stream};
use packet::Frame;
use protocol::{Class, Credit, Dllp, Generation, Scale};

use crate::pair::*;

/// A pair at 32 GT/s with buffers for 500 headers and 64 KiB of data of posted requests.
fn large() -> Setup {
    let mut setup = Setup {
        generation: Generation::Gen5,
        lanes: 16,
        ..Setup::default()
    };
    setup.parameters.posted_headers = Some(500);
    setup.parameters.posted_data = Some(Bytes(64 << 10));
    setup
}

/// The first limits for posted requests that `side` announced.
fn granted(pair: &Pair, side: Side) -> Credit {
    let dllps = pair.dllps(side).into_iter();
    let mut posted = dllps.filter_map(|(_, dllp)| match dllp {
        Dllp::InitFc1(credit) if credit.class == Class::Posted => Some(credit),
        _ => None,
    });
    posted.next().expect("an end announces its limits")
}

fn features(pair: &Pair, side: Side) -> Vec<bool> {
    let dllps = pair.dllps(side).into_iter();
    let features = dllps.filter_map(|(_, dllp)| match dllp {
        Dllp::Feature { acknowledges, .. } => Some(acknowledges),
        _ => None,
    });
    features.collect()
}

#[test]
fn ends_that_both_scale_announce_large_buffers_in_units() {
    let mut pair = Pair::new(&large());
    pair.run();
    let credit = granted(&pair, Left);
    assert_eq!((credit.header_scale, credit.headers), (Scale::Four, 125));
    assert_eq!((credit.data_scale, credit.data), (Scale::Four, 1024));
    assert_eq!(features(&pair, Left), [false, true]);
}

#[test]
fn below_16_gt_nothing_is_scaled_and_no_features_are_told() {
    let mut pair = Pair::new(&Setup {
        generation: Generation::Gen3,
        ..large()
    });
    pair.run();
    let credit = granted(&pair, Left);
    assert_eq!(
        (credit.header_scale, credit.headers),
        (Scale::Unscaled, 127)
    );
    assert_eq!((credit.data_scale, credit.data), (Scale::Unscaled, 2047));
    assert_eq!(features(&pair, Left), []);
}

/// In this test the two ends have different parameters.
#[test]
fn where_one_end_does_not_scale_neither_does() {
    for side in [Left, Right] {
        let setup = large();
        let mut other = setup.parameters.clone();
        other.scaled_flow_control = Some(false);
        let mut pair = Pair::with_parameters(&setup, side, &other);
        pair.run();
        for end in [Left, Right] {
            let credit = granted(&pair, end);
            assert_eq!(
                (credit.header_scale, credit.headers),
                (Scale::Unscaled, 127)
            );
        }
        assert_eq!(features(&pair, side), []);
        let number = pair.send(Left, write(128));
        pair.run();
        assert_eq!(pair.numbers(Right), [number]);
    }
}

#[test]
fn as_many_headers_are_outstanding_as_the_scaled_limit_allows() {
    let mut pair = Pair::ready(&large());
    pair.appetite = [Appetite::Never; 2];
    for _ in 0..600 {
        pair.send(Left, write(4));
    }
    pair.run();
    assert_eq!(pair.numbers(Right).len(), 500);
    for _ in 0..3 {
        pair.free(Right);
    }
    pair.run();
    assert_eq!(pair.numbers(Right).len(), 500, "three credits are no unit");
    pair.free(Right);
    pair.run();
    assert_eq!(pair.numbers(Right).len(), 504);
}

#[test]
fn lost_features_are_told_again() {
    let mut random = Stream::named(5, "losses");
    let mut losses = 40;
    let wish = move |_, frame: &Frame| {
        losses -= u32::from(losses > 0);
        if losses > 0 && matches!(frame, Frame::Dllp(_)) && random.below(2) == 0 {
            Fate::Lose
        } else {
            Fate::Pass
        }
    };
    let mut pair = Pair::with_wire(&large(), wish);
    pair.run_for(Span::from_us(10_000));
    let number = pair.send(Left, write(128));
    pair.run();
    assert_eq!(pair.numbers(Right), [number]);
    assert_eq!(granted(&pair, Left).header_scale, Scale::Four);
    assert_eq!(granted(&pair, Right).header_scale, Scale::Four);
}
