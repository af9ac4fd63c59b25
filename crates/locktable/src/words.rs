//! Step machines on a memory that answers at once, such as that of real threads.

use std::sync::atomic::{AtomicU64, Ordering};

use thiserror::Error;

use crate::{Bucket, Machine, NotAQueue, Operation, Queue, Table, Width};

/// A memory that several may reach, with the two operations that the table needs. Both give the word that they found.
pub trait SharedWords {
    /// Reads the word of `bucket` at once.
    fn load(&mut self, bucket: Bucket) -> u128;

    /// Puts `new` there if `expected` is there, with nothing in between.
    fn compare_and_swap(&mut self, bucket: Bucket, expected: u128, new: u128) -> u128;
}

/// Performs `machine` to its end. `between` is called between two operations: nothing, a pause or a yield, as the caller
/// waits. A word that is no queue ends it: somebody else writes to the table.
pub fn run<M: Machine>(
    mut machine: M,
    words: &mut impl SharedWords,
    mut between: impl FnMut(),
) -> Result<M::Outcome, NotAQueue> {
    loop {
        let word = match machine.operation() {
            Operation::Load(bucket) => words.load(bucket),
            Operation::CompareAndSwap {
                bucket,
                expected,
                new,
            } => words.compare_and_swap(bucket, expected.word(), new.word()),
        };
        if let Some(outcome) = machine.answered(Queue::from_word(word)?) {
            return Ok(outcome);
        }
        between();
    }
}

/// The words of a table in the memory of this process.
///
/// What an owner did under a lock is seen by the next that holds it. Words are of 64 bits: the standard library has no
/// atomic ones of 128.
#[derive(Clone, Copy, Debug)]
pub struct AtomicWords<'a> {
    base: u64,
    words: &'a [AtomicU64],
}

/// Why words cannot be those of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WordsError {
    /// They are of 64 bits.
    #[error(
        "a table of 128-bit buckets does not lie in words of 64 bits; one of 64-bit buckets does"
    )]
    Width,
    /// The table does not end where they do.
    #[error("{have} words are not those of the table, which has {need}, from its base to its end")]
    Count {
        /// Words there.
        have: usize,
        /// Words that the table takes up.
        need: u64,
    },
}

impl<'a> AtomicWords<'a> {
    /// The first word is at the base of `table`, the last before its end.
    pub fn new(table: &Table, words: &'a [AtomicU64]) -> Result<Self, WordsError> {
        if table.width() != Width::Bits64 {
            return Err(WordsError::Width);
        }
        let addresses = table.addresses();
        let have = words.len();
        let need = (addresses.end - addresses.start) / Width::Bits64.bytes();
        if have as u64 != need {
            return Err(WordsError::Count { have, need });
        }
        let base = addresses.start;
        Ok(AtomicWords { base, words })
    }

    fn word(&self, bucket: Bucket) -> &'a AtomicU64 {
        let index = bucket.address().wrapping_sub(self.base) / Width::Bits64.bytes();
        let word = self.words.get(index as usize);
        word.expect("a bucket is one of the table whose words these are")
    }
}

impl SharedWords for AtomicWords<'_> {
    fn load(&mut self, bucket: Bucket) -> u128 {
        self.word(bucket).load(Ordering::Acquire).into()
    }

    fn compare_and_swap(&mut self, bucket: Bucket, expected: u128, new: u128) -> u128 {
        let (expected, new) = (expected as u64, new as u64);
        let found =
            self.word(bucket)
                .compare_exchange(expected, new, Ordering::AcqRel, Ordering::Acquire);
        found.unwrap_or_else(|found| found).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Acquire, Acquired, Owner, Release, Released, Sweep, Swept};

    fn words(count: usize) -> Vec<AtomicU64> {
        (0..count).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn the_words_are_those_of_the_table() {
        let table = Table::new(0x1000, 4, Width::Bits64).unwrap();
        assert!(AtomicWords::new(&table, &words(32)).is_ok());
        let count = AtomicWords::new(&table, &words(31)).unwrap_err();
        assert_eq!(count, WordsError::Count { have: 31, need: 32 });
        let wide = Table::new(0x1000, 4, Width::Bits128).unwrap();
        let width = AtomicWords::new(&wide, &words(32)).unwrap_err();
        assert_eq!(width, WordsError::Width);
    }

    #[test]
    fn what_one_acquires_the_next_waits_for() {
        let table = Table::new(0x1000, 4, Width::Bits64).unwrap();
        let memory = words(32);
        let mut words = AtomicWords::new(&table, &memory).unwrap();
        let [one, other] = [1, 2].map(|id| Owner::new(id).unwrap());
        let bucket = table.bucket(2);
        let mut acquire = |owner| run(Acquire::new(bucket, owner), &mut words, || {});
        assert_eq!(acquire(one), Ok(Acquired::Held));
        assert_eq!(acquire(other), Ok(Acquired::Queued { ahead: 1 }));
        assert_eq!(memory[16].load(Ordering::Relaxed), 0x2_0001);
        let next = Some(other);
        let released = run(Release::new(bucket, one), &mut words, || {});
        assert_eq!(released, Ok(Released::Passed { next }));
    }

    #[test]
    fn a_sweep_finds_every_place_of_an_owner_and_no_other() {
        let table = Table::new(0, 4, Width::Bits64).unwrap();
        let memory = words(32);
        let mut words = AtomicWords::new(&table, &memory).unwrap();
        let [dead, alive] = [1, 2].map(|id| Owner::new(id).unwrap());
        for (index, owner) in [(0, dead), (1, alive), (1, dead), (3, dead), (3, alive)] {
            run(Acquire::new(table.bucket(index), owner), &mut words, || {}).unwrap();
        }
        let swept = run(Sweep::new(table, dead), &mut words, || {});
        assert_eq!(swept, Ok(Swept { held: 2, waited: 1 }));
        let left = [0, 1, 2, 3].map(|index| words.load(table.bucket(index)));
        assert_eq!(left, [0, 2, 0, 2]);
    }

    #[test]
    fn a_word_that_somebody_else_wrote_is_told() {
        let table = Table::new(0, 1, Width::Bits64).unwrap();
        let memory = words(8);
        memory[0].store(0x1_0000, Ordering::Relaxed);
        let mut words = AtomicWords::new(&table, &memory).unwrap();
        let acquire = Acquire::new(table.bucket(0), Owner::new(1).unwrap());
        assert_eq!(run(acquire, &mut words, || {}), Err(NotAQueue(0x1_0000)));
    }
}
