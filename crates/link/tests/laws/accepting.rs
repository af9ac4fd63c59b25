//! The fast path for a packet that is only accepted.

use std::cell::RefCell;
use std::rc::Rc;

use kernel::{Span, Stream};
use link::PortParameters;
use proptest::prelude::*;

use crate::between::{Fate, Left, Right};
use crate::cases::cases;
use crate::pair::{Appetite, Pair, Setup, completion, read, write};

/// The complete behaviour of both ends in a run: the frames in order, the packets that each end delivers to its component and the reports
/// about its own packets, the counters, and the time of the last event.
fn run(setup: &Setup, accepts: bool, seed: u64, lost: u64) -> impl PartialEq + std::fmt::Debug {
    let mut pair = Pair::ready(setup);
    pair.accepts = accepts;
    pair.appetite = [
        Appetite::After(Span::ZERO),
        Appetite::Foreseen(Span::from_ns(90)),
    ];
    let mut fates = Stream::named(seed, "fates");
    let frames = Rc::new(RefCell::new(Vec::new()));
    let recorded = frames.clone();
    pair.wish(move |side, frame| {
        recorded.borrow_mut().push(format!("{side:?} {frame:?}"));
        match fates.below(100) {
            chance if chance < lost => {
                [Fate::Lose, Fate::Damage, Fate::Nullify][chance as usize % 3]
            }
            _ => Fate::Pass,
        }
    });
    let mut random = Stream::named(seed, "packets");
    for _ in 0..150 {
        let side = if random.below(3) == 0 { Right } else { Left };
        let len = 1 + random.below(128) as u32;
        let header = match random.below(4) {
            0 => read(),
            1 => completion(len),
            _ => write(len),
        };
        pair.send(side, header);
        if random.below(3) == 0 {
            pair.run_for(Span::from_ns(random.below(500)));
        }
    }
    pair.run();
    let counters = [Left, Right].map(|side| format!("{:?}", pair.counters(side)));
    let frames = frames.borrow().clone();
    let now = pair.now();
    (frames, pair.given, pair.finished, counters, now)
}

proptest! {
    #![proptest_config(cases(48))]
    #[test]
    fn a_packet_that_is_only_accepted_does_what_any_other_does(
        seed in any::<u64>(),
        lost in prop_oneof![Just(0_u64), Just(9)],
        ack_packets in 0_u32..5,
        cut_through in any::<bool>(),
    ) {
        let setup = Setup {
            cut_through,
            is_watched: false,
            parameters: PortParameters { ack_packets, ..Setup::default().parameters },
            ..Setup::default()
        };
        let long = run(&setup, false, seed, lost);
        prop_assert_eq!(run(&setup, true, seed, lost), long);
    }
}
