//! Credit between two ranks: it limits the NAPs that one rank may send before the other has read them.
//!
//! A NAP without a buffer is dropped, so there must be a buffer for each NAP that can be unread. Sending a NAP spends credit. The
//! receiver returns credit with its next NAP, or by a credit NAP when half of the share is owed. A credit NAP spends no credit. It
//! returns at least half of a share, and at most one share is in use, so there are at most [`RETURNS`] unread credit NAPs.
//!
//! Whenever a rank calls the layer, it reads every NAP that has arrived. A rank that waits for credit therefore receives it at the next call of
//! the other rank.

use super::RankParameters;

/// The credit of one rank for another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credit {
    share: u32,
    /// The number of NAPs that may still be sent.
    left: u32,
    /// The number of NAPs read from the other side whose credit has not been returned.
    owed: u32,
}

/// The largest number of unread credit NAPs.
pub(super) const RETURNS: u32 = 2;

impl Credit {
    pub(super) fn new(share: u32) -> Self {
        Self {
            share,
            left: share,
            owed: 0,
        }
    }

    /// Whether a NAP may be sent.
    pub(super) fn is_open(&self) -> bool {
        self.left > 0
    }

    /// Spends credit for one NAP. There must be credit.
    pub(super) fn spend(&mut self) {
        self.left -= 1;
    }

    /// Adds credit that the other side has returned.
    pub(super) fn gain(&mut self, returned: u16) {
        self.left += u32::from(returned);
        debug_assert!(
            self.left <= self.share,
            "the other side returns only credit that was spent"
        );
    }

    /// Records that a NAP of the other side was read.
    pub(super) fn owe(&mut self) {
        self.owed += 1;
    }

    /// Whether enough credit is owed for a credit NAP.
    pub(super) fn is_due(&self) -> bool {
        self.owed >= self.share.div_ceil(2)
    }

    pub(super) fn pay(&mut self) -> u16 {
        std::mem::take(&mut self.owed) as u16
    }
}

impl RankParameters {
    /// The largest number of unread NAPs of one rank at another.
    pub(super) fn unread(&self) -> u32 {
        self.share + RETURNS
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    /// Two ranks, with the unread NAPs that each has sent. The flag of a NAP is true for a message and false for a credit NAP, and the number is
    /// the credit that the NAP returns.
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
