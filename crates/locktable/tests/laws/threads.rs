//! The table shared by real threads.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use locktable::{
    Acquire, Acquired, Bucket, Machine, Owner, RecordVersion, Release, Released, Table, Wait,
    Waited, Width,
};

use crate::linearizability::{Record, is_linearizable};
use crate::specification::{Call, Outcome, QueueLock};
use crate::words::AtomicWords;

const THREADS: u32 = 4;
const ROUNDS: u64 = 1_000;
const BUCKETS: u64 = 2;
/// The largest number of yields, which take some seconds, so that the other threads end when one thread fails.
const MOST_YIELDS: u32 = 10_000_000;

/// Data that is protected by the lock of a bucket and by nothing else.
#[derive(Default)]
struct Protected {
    inside: AtomicU64,
    visits: AtomicU64,
}

impl Protected {
    fn visit(&self, owner: Owner) {
        let before = self.inside.swap(owner.id().into(), Ordering::Relaxed);
        assert_eq!(before, 0, "nobody is inside");
        // The read and the write are separate: a visit of another thread between them would be lost.
        let visits = self.visits.load(Ordering::Relaxed);
        thread::yield_now();
        self.visits.store(visits + 1, Ordering::Relaxed);
        let after = self.inside.swap(0, Ordering::Relaxed);
        assert_eq!(after, u64::from(owner.id()), "nobody came");
    }
}

/// One thread, with its calls on each bucket as the thread recorded them.
struct Thread<'a> {
    owner: Owner,
    table: Table,
    words: AtomicWords<'a>,
    clock: &'a AtomicU64,
    protected: &'a [Protected],
    calls: Vec<Vec<Record>>,
}

impl Thread<'_> {
    fn live(mut self, records: Range<u64>) -> Vec<Vec<Record>> {
        for record in records {
            let bucket = self.table.bucket_of(RecordVersion(record));
            self.take_and_give_up(bucket);
        }
        self.calls
    }

    fn take_and_give_up(&mut self, bucket: Bucket) {
        let owner = self.owner;
        let acquire = Acquire::new(bucket, owner);
        let acquired = self.call(bucket, Call::Acquire(owner), acquire, Outcome::Acquired);
        if let Acquired::Queued { .. } = acquired {
            let wait = Wait::new(bucket, owner);
            let waited = self.call(bucket, Call::Wait(owner), wait, Outcome::Waited);
            assert_eq!(waited, Waited::Held);
        } else {
            assert_eq!(acquired, Acquired::Held, "there is room for all");
        }
        self.protected[self.index_of(bucket)].visit(owner);
        let release = Release::new(bucket, owner);
        let released = self.call(bucket, Call::Release(owner), release, Outcome::Released);
        assert!(matches!(released, Released::Passed { .. }));
    }

    fn call<M: Machine<Outcome: Copy>>(
        &mut self,
        bucket: Bucket,
        call: Call,
        machine: M,
        told: impl Fn(M::Outcome) -> Outcome,
    ) -> M::Outcome {
        let began = self.clock.fetch_add(1, Ordering::SeqCst);
        let mut yields = 0_u32;
        let between = || {
            yields += 1;
            assert!(yields < MOST_YIELDS, "somebody waits for ever");
            thread::yield_now();
        };
        let outcome = self.words.run(machine, between).unwrap();
        let ended = self.clock.fetch_add(1, Ordering::SeqCst);
        let index = self.index_of(bucket);
        self.calls[index].push(Record {
            call,
            began,
            ended: Some(ended),
            outcome: Some(told(outcome)),
        });
        outcome
    }

    fn index_of(&self, bucket: Bucket) -> usize {
        usize::from(bucket != self.table.bucket(0))
    }
}

#[test]
fn threads_exclude_each_other_and_their_history_is_one_of_a_queue() {
    let table = Table::new(0x1_0000, BUCKETS, Width::Bits64).unwrap();
    let memory: Vec<AtomicU64> = (0..BUCKETS * 8).map(|_| AtomicU64::new(0)).collect();
    let words = AtomicWords::new(&table, &memory);
    let (clock, protected) = (
        AtomicU64::new(0),
        [Protected::default(), Protected::default()],
    );
    let thread = |id| Thread {
        owner: Owner::new(id).unwrap(),
        table,
        words,
        clock: &clock,
        protected: &protected,
        calls: vec![Vec::new(); BUCKETS as usize],
    };
    let calls: Vec<Vec<Vec<Record>>> = thread::scope(|scope| {
        let threads: Vec<_> = (1..=THREADS)
            .map(|id| scope.spawn(move || thread(id).live(0..ROUNDS)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let visits = protected
        .iter()
        .map(|one| one.visits.load(Ordering::Relaxed));
    assert_eq!(visits.sum::<u64>(), u64::from(THREADS) * ROUNDS);
    assert!(memory.iter().all(|word| word.load(Ordering::Relaxed) == 0));
    for bucket in 0..BUCKETS as usize {
        let processes: Vec<Vec<Record>> =
            calls.iter().map(|thread| thread[bucket].clone()).collect();
        assert!(is_linearizable(
            QueueLock::new(table.width().slots()),
            &processes
        ));
    }
}
