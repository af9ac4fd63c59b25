//! Credit between two ranks: how many messages each may send before the other has taken some in.
//!
//! A NAP that finds no buffer is dropped, so there is one for each that may be under way. A NAP takes credit, which comes back with
//! whatever the other side sends next, or by a NAP of its own when half of the share is owed. That one takes none: it brings at
//! least half of a share back, and no more than a share is away, so there are never more than [`RETURNS`] that were not read.
//!
//! Who waits for credit gets it as soon as the other side makes any call of the layer: there, each NAP is taken in, whether
//! anybody wants it or not.

use super::RankParameters;

/// Credit of one side for the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credit {
    share: u32,
    /// Messages that may still be sent.
    left: u32,
    /// Messages of the other side that were taken in, and not told yet.
    owed: u32,
}

/// NAPs that bring back credit, and that were not read: at most.
pub(super) const RETURNS: u32 = 2;

impl Credit {
    pub(super) fn new(share: u32) -> Self {
        Self {
            share,
            left: share,
            owed: 0,
        }
    }

    /// Whether a message may be sent.
    pub(super) fn is_open(&self) -> bool {
        self.left > 0
    }

    /// A message is sent, which may be.
    pub(super) fn spend(&mut self) {
        self.left -= 1;
    }

    /// The other side has taken so many messages in.
    pub(super) fn gain(&mut self, returned: u16) {
        self.left += u32::from(returned);
        debug_assert!(self.left <= self.share, "nobody returns what was not spent");
    }

    /// A message of the other side was taken in.
    pub(super) fn owe(&mut self) {
        self.owed += 1;
    }

    /// Whether so much is owed that it goes back by itself.
    pub(super) fn is_due(&self) -> bool {
        self.owed >= self.share.div_ceil(2)
    }

    /// What is owed goes back.
    pub(super) fn pay(&mut self) -> u16 {
        std::mem::take(&mut self.owed) as u16
    }
}

impl RankParameters {
    /// NAPs of one rank that another has not taken in yet, at most.
    pub(super) fn unread(&self) -> u32 {
        self.share + RETURNS
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    /// Two sides, and what each has sent that the other has not read: whether it is a message, and the credit with it.
    struct Pair {
        sides: [Credit; 2],
        unread: [VecDeque<(bool, u16)>; 2],
    }

    impl Pair {
        fn send(&mut self, from: usize, is_message: bool) {
            if is_message {
                self.sides[from].spend();
            }
            let returned = self.sides[from].pay();
            self.unread[from].push_back((is_message, returned));
        }

        fn read(&mut self, by: usize) {
            let Some((is_message, returned)) = self.unread[1 - by].pop_front() else {
                return;
            };
            self.sides[by].gain(returned);
            if is_message {
                self.sides[by].owe();
            }
            if self.sides[by].is_due() {
                self.send(by, false);
            }
        }
    }

    proptest! {
        #[test]
        fn no_more_is_unread_than_a_share_and_two_returns_and_none_of_it_is_lost(
            share in 1..20_u32,
            steps in prop::collection::vec((0..2_usize, any::<bool>()), 0..400),
        ) {
            let mut pair = Pair { sides: [Credit::new(share); 2], unread: Default::default() };
            for (side, sends) in steps {
                if !sends {
                    pair.read(side);
                } else if pair.sides[side].is_open() {
                    pair.send(side, true);
                }
                for unread in &pair.unread {
                    let returns = unread.iter().filter(|(is_message, _)| !is_message).count();
                    prop_assert!(returns as u32 <= RETURNS);
                    prop_assert!((unread.len() - returns) as u32 <= share);
                }
            }
            while pair.unread.iter().any(|unread| !unread.is_empty()) {
                pair.read(0);
                pair.read(1);
            }
            for side in 0..2 {
                prop_assert!(pair.sides[side].is_open());
                prop_assert_eq!(pair.sides[side].left + pair.sides[1 - side].owed, share);
            }
        }
    }
}
