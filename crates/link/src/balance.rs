//! The balance between requests and completions that share a wire: while packets of both kinds wait, each kind gets half of the bytes.
//!
//! Neither requests nor completions can occupy the wire alone, whatever the number and the sizes of the packets. The ordering rules have
//! priority: a completion waits for older posted requests (PCIe Base 2.4.1), and gets its share of the bytes afterwards.

use protocol::{Class, MAX_TLP_OVERHEAD};

/// The two sides of a device that send packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The requester, with posted and non-posted requests.
    Requester,
    /// The completer, with completions.
    Completer,
}

impl Side {
    /// The side that sends packets of `class`.
    pub const fn of(class: Class) -> Self {
        match class {
            Class::Posted | Class::NonPosted => Side::Requester,
            Class::Completion => Side::Completer,
        }
    }
}

/// The number of bytes by which one side is ahead of the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Balance {
    /// The lead in bytes; positive if the requester is ahead.
    lead: i16,
}

/// The largest lead: the bytes of the largest packet. A side that could not send for some time can catch up by at most this number of bytes.
const LARGEST: i16 = 4096 + MAX_TLP_OVERHEAD as i16;

impl Balance {
    /// The side that sends next, if packets of both can leave.
    pub const fn next(self) -> Side {
        if self.lead > 0 {
            Side::Completer
        } else {
            Side::Requester
        }
    }

    /// Counts `bytes` that `side` sends while packets of the other side wait.
    pub fn count(&mut self, side: Side, bytes: u16) {
        let bytes = i16::try_from(bytes).unwrap_or(LARGEST).min(LARGEST);
        let lead = match side {
            Side::Requester => self.lead + bytes,
            Side::Completer => self.lead - bytes,
        };
        self.lead = lead.clamp(-LARGEST, LARGEST);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn two_sides_that_wait_all_the_time_get_half_of_the_bytes_each(
            packets in prop::collection::vec((20_u16..4120, 20_u16..4120), 1..200),
        ) {
            let mut balance = Balance::default();
            let mut sent = [0_i64; 2];
            for (request, completion) in packets {
                let side = balance.next();
                let bytes = match side {
                    Side::Requester => request,
                    Side::Completer => completion,
                };
                balance.count(side, bytes);
                sent[side as usize] += i64::from(bytes);
                prop_assert!((sent[0] - sent[1]).abs() <= i64::from(LARGEST));
            }
        }
    }

    #[test]
    fn a_side_that_was_blocked_gets_back_one_largest_packet() {
        let mut balance = Balance::default();
        for _ in 0..100 {
            balance.count(Side::Requester, 256);
        }
        let mut bytes = 0;
        while balance.next() == Side::Completer {
            balance.count(Side::Completer, 256);
            bytes += 256;
        }
        assert!((LARGEST..LARGEST + 256).contains(&bytes));
    }
}
