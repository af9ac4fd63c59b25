//! Whether all ranks call the same collectives, in the same order.

use std::collections::VecDeque;
use std::fmt;

use host::ranks::{Number, Operator};

/// What all ranks do together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    /// Nobody goes on before all have come.
    Barrier,
    /// So many bytes of one go to all others.
    Broadcast {
        /// Whose.
        root: usize,
        /// How many.
        len: u64,
    },
    /// Numbers of all become one.
    AllReduce {
        /// Their type.
        number: Number,
        /// How.
        operator: Operator,
        /// Bytes of them.
        len: u64,
    },
    /// Each gives memory to be written and read by all.
    Allocate,
}

/// What was called by some ranks and not by all of them, in order, with who was first.
#[derive(Debug, Default)]
pub(super) struct Together {
    calls: VecDeque<(usize, Collective)>,
    /// Calls of all ranks, which are not in the list any more.
    past: u64,
    /// Calls of each rank.
    made: Vec<u64>,
}

impl Together {
    pub(super) fn of(size: usize) -> Self {
        Self {
            made: vec![0; size],
            ..Self::default()
        }
    }

    /// `rank` calls; or else, which of its calls that is, and who has called what instead.
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
                let number = name(&Number::NAMES, number);
                let operator = name(&Operator::NAMES, operator);
                write!(formatter, "all_reduce ({operator}) of {count} {number}")
            }
            Collective::Allocate => formatter.write_str("allocate"),
        }
    }
}

fn name<T: PartialEq>(names: &[(&'static str, T)], one: &T) -> &'static str {
    let found = names.iter().find(|(_, known)| known == one);
    found.map_or("", |(name, _)| name)
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
