//! The words of a table in the memory of this process, and the execution of machines on these words.

use std::sync::atomic::{AtomicU64, Ordering};

use locktable::{
    Acquire, Acquired, Bucket, Machine, NotAQueue, Operation, Owner, Queue, Release, Released,
    Sweep, Swept, Table, Width,
};

/// The words of a table with buckets of 64 bits, because the standard library has no 128-bit atomics. The holder of a lock sees all writes
/// that the previous holder made under the lock.
#[derive(Clone, Copy)]
pub struct AtomicWords<'a> {
    base: u64,
    words: &'a [AtomicU64],
}

impl<'a> AtomicWords<'a> {
    /// The words of `table`: the first word is at its base, the last one just before its end.
    pub fn new(table: &Table, words: &'a [AtomicU64]) -> Self {
        let addresses = table.addresses();
        let need = (addresses.end - addresses.start) / Width::Bits64.bytes();
        assert_eq!((table.width(), need), (Width::Bits64, words.len() as u64));
        let base = addresses.start;
        AtomicWords { base, words }
    }

    /// Performs all operations of `machine`. `between` is called between two operations: the caller may do nothing, pause or yield. A
    /// word that is not a queue ends the run with an error: another program writes to the table.
    pub fn run<M: Machine>(
        &self,
        mut machine: M,
        mut between: impl FnMut(),
    ) -> Result<M::Outcome, NotAQueue> {
        loop {
            let found = self.perform(machine.operation());
            if let Some(outcome) = machine.answered(Queue::from_word(found.into())?) {
                return Ok(outcome);
            }
            between();
        }
    }

    /// Performs an operation atomically, and returns the word that was found.
    fn perform(&self, operation: Operation) -> u64 {
        match operation {
            Operation::Load(bucket) => self.word(bucket).load(Ordering::Acquire),
            Operation::CompareAndSwap {
                bucket,
                expected,
                new,
            } => {
                let (expected, new) = (expected.word() as u64, new.word() as u64);
                let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
                let word = self.word(bucket);
                let found = word.compare_exchange(expected, new, success, failure);
                found.unwrap_or_else(|found| found)
            }
        }
    }

    fn word(&self, bucket: Bucket) -> &'a AtomicU64 {
        let index = (bucket.address() - self.base) / Width::Bits64.bytes();
        &self.words[index as usize]
    }
}

fn words(count: usize) -> Vec<AtomicU64> {
    (0..count).map(|_| AtomicU64::new(0)).collect()
}

#[test]
fn what_one_acquires_the_next_waits_for() {
    let table = Table::new(0x1000, 4, Width::Bits64).unwrap();
    let memory = words(32);
    let words = AtomicWords::new(&table, &memory);
    let [one, other] = [1, 2].map(|id| Owner::new(id).unwrap());
    let bucket = table.bucket(2);
    let acquire = |owner| words.run(Acquire::new(bucket, owner), || {});
    assert_eq!(acquire(one), Ok(Acquired::Held));
    assert_eq!(acquire(other), Ok(Acquired::Queued { ahead: 1 }));
    assert_eq!(memory[16].load(Ordering::Relaxed), 0x2_0001);
    let next = Some(other);
    let released = words.run(Release::new(bucket, one), || {});
    assert_eq!(released, Ok(Released::Passed { next }));
}

#[test]
fn a_sweep_finds_every_place_of_an_owner_and_no_other() {
    let table = Table::new(0, 4, Width::Bits64).unwrap();
    let memory = words(32);
    let words = AtomicWords::new(&table, &memory);
    let [dead, alive] = [1, 2].map(|id| Owner::new(id).unwrap());
    for (index, owner) in [(0, dead), (1, alive), (1, dead), (3, dead), (3, alive)] {
        let acquire = Acquire::new(table.bucket(index), owner);
        words.run(acquire, || {}).unwrap();
    }
    let swept = words.run(Sweep::new(table, dead), || {});
    assert_eq!(swept, Ok(Swept { held: 2, waited: 1 }));
    let left = [0, 1, 2, 3].map(|index| memory[8 * index].load(Ordering::Relaxed));
    assert_eq!(left, [0, 2, 0, 2]);
}

#[test]
fn a_word_that_somebody_else_wrote_is_told() {
    let table = Table::new(0, 1, Width::Bits64).unwrap();
    let memory = words(8);
    memory[0].store(0x1_0000, Ordering::Relaxed);
    let words = AtomicWords::new(&table, &memory);
    let acquire = Acquire::new(table.bucket(0), Owner::new(1).unwrap());
    assert_eq!(words.run(acquire, || {}), Err(NotAQueue(0x1_0000)));
}
