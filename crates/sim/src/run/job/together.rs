//! Check that all ranks call the same collectives in the same order.

use std::collections::VecDeque;
use std::fmt;

use host::ranks::{Number, Operator};

/// A collective call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    /// Barrier: no rank continues before all ranks have reached it.
    Barrier,
    /// Broadcast of the bytes of one rank to all others.
    Broadcast {
        /// Root rank.
        root: usize,
        /// Length in bytes.
        len: u64,
    },
    /// Reduction of the numbers of all ranks to one result.
    AllReduce {
        /// Type of the numbers.
        number: Number,
        /// Reduction operator.
        operator: Operator,
        /// Length in bytes.
        len: u64,
    },
    /// Allocation of one window per rank.
    Allocate,
}

/// Collectives that some ranks have called and others have not, in order, each with the rank that called it first.
#[derive(Debug, Default)]
pub(super) struct Together {
    calls: VecDeque<(usize, Collective)>,
    /// Number of collectives that all ranks have called, which are no longer in the list.
    past: u64,
    /// Number of calls of each rank.
    made: Vec<u64>,
}

impl Together {
    pub(super) fn of(size: usize) -> Self {
        Self {
            made: vec![0; size],
            ..Self::default()
        }
    }

    /// Records a call of `rank`. If another rank has made a different call at the same position, returns an error: the position, the first rank that
    /// called there, and the collective of that rank.
    pub(super) fn call(
        &mut self,
        rank: usize,
        call: Collective,
    ) -> Result<(), (u64, usize, Collective)> {
        let number = self.made[rank];
        match self.calls.get((number - self.past) as usize) {
            Some((first, other)) if *other != call => return Err((number + 1, *first, *other)),
            Some(_) => {}
            None => self.calls.push_back((rank, call)),
        }
        self.made[rank] += 1;
        if self.made.iter().all(|made| *made > self.past) {
            self.past += 1;
            self.calls.pop_front();
        }
        Ok(())
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Collective::Barrier => formatter.write_str("barrier()"),
            Collective::Broadcast { root, len } => {
                write!(formatter, "broadcast of {len} bytes from rank {root}")
            }
            Collective::AllReduce {
                number,
                operator,
                len,
            } => {
                let count = len / number.bytes();
                let number = number.name();
                let operator = operator.name();
                write!(formatter, "all_reduce ({operator}) of {count} {number}")
            }
            Collective::Allocate => formatter.write_str("allocate"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_may_be_any_number_of_calls_apart_and_call_the_same() {
        let mut together = Together::of(2);
        let broadcast = Collective::Broadcast { root: 1, len: 3 };
        assert_eq!(together.call(0, Collective::Barrier), Ok(()));
        assert_eq!(together.call(0, broadcast), Ok(()));
        assert_eq!(together.call(1, Collective::Barrier), Ok(()));
        let other = Collective::Broadcast { root: 1, len: 4 };
        assert_eq!(together.call(1, other), Err((2, 0, broadcast)));
        assert_eq!(together.call(1, broadcast), Ok(()));
        assert!(together.calls.is_empty());
        assert_eq!(together.call(1, Collective::Allocate), Ok(()));
    }
}
