//! Running the algorithms on a memory with immediate results, such as that of real threads.

use std::sync::atomic::{AtomicU64, Ordering};

use thiserror::Error;

use crate::{Bucket, Machine, NotAQueue, Operation, Queue, Table, Width};

/// A shared memory with the two operations that the table needs. Both return the word that they found.
pub trait SharedWords {
    /// Reads the word of `bucket` atomically.
    fn load(&mut self, bucket: Bucket) -> u128;

    /// Writes `new` if the word is `expected`, in one atomic operation.
    fn compare_and_swap(&mut self, bucket: Bucket, expected: u128, new: u128) -> u128;
}

/// Performs all operations of `machine`. `between` is called between two operations: the caller may do nothing, pause or yield. A
/// word that is not a queue ends the run with an error: another program writes to the table.
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
/// The holder of a lock sees all writes that the previous holder made under the lock. Words have 64 bits, because the standard
/// library has no 128-bit atomics.
#[derive(Clone, Copy, Debug)]
pub struct AtomicWords<'a> {
    base: u64,
    words: &'a [AtomicU64],
}

/// The reason why these words cannot be a table's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WordsError {
    /// The table has 128-bit buckets, but the words have 64 bits.
    #[error("a table with 128-bit buckets cannot be in words of 64 bits; use 64-bit buckets")]
    Width,
    /// The number of words is not that of the table.
    #[error("the table needs {need} words from its base to its end, not {have}")]
    Count {
        /// Number of words given.
        have: usize,
        /// Number of words that the table needs.
        need: u64,
    },
}

impl<'a> AtomicWords<'a> {
    /// The words of `table`: the first word is at its base, the last one just before its end.
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
        word.expect("the bucket belongs to the table of these words")
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
