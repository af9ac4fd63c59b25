//! A world of clients, a memory, and sweeps for dead clients, in steps that may interleave.

use std::collections::VecDeque;

use locktable::{
    Acquire, Acquired, Bucket, Machine, Operation, Owner, Queue, Release, Remove, Sweep, Table,
    Wait, Waited,
};

use crate::specification::{Call, Outcome, QueueLock};

/// The complete state. After each operation the memory is compared with the specification.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub table: Table,
    memory: Vec<u128>,
    locks: Vec<QueueLock>,
    pub clients: Vec<Client>,
    pub sweeps: Vec<Sweeping>,
}

/// A client, which takes one lock after the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    pub owner: Owner,
    wishes: VecDeque<Bucket>,
    doing: Doing,
    pub standing: Standing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Doing {
    Resting,
    Calling(Bucket, Steps),
    /// A call has an outcome that the client has not received yet.
    Told(Bucket, Outcome),
    Queued(Bucket),
    Holding(Bucket),
}

/// The standing of a client among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    Trusted,
    /// The client was declared dead but lives.
    Doubted,
    Dead,
}

/// A sweep, which removes an owner from the table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sweeping {
    pub owner: Owner,
    sweep: Sweep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Steps {
    Acquire(Acquire),
    Wait(Wait),
    Release(Release),
    Remove(Remove),
}

/// The meaning of a client's step in the history of the lock of a bucket.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    Began(Bucket, Call),
    Ended(Bucket, Outcome),
    /// A call that changes nothing was abandoned.
    Dropped(Bucket),
}

impl World {
    /// Clients 1, 2, ... request the locks of the buckets in `wishes`, one after the other.
    pub fn new(table: Table, wishes: &[Vec<u64>]) -> Self {
        let clients = (1..).zip(wishes).map(|(id, wishes)| Client {
            owner: Owner::new(id).unwrap(),
            wishes: wishes.iter().map(|index| table.bucket(*index)).collect(),
            doing: Doing::Resting,
            standing: Standing::Trusted,
        });
        let count = table.bucket_count() as usize;
        World {
            table,
            memory: vec![0; count],
            locks: vec![QueueLock::new(table.width().slots()); count],
            clients: clients.collect(),
            sweeps: Vec::new(),
        }
    }

    /// The index of a bucket.
    pub fn index_of(&self, bucket: Bucket) -> usize {
        let addresses = self.table.addresses();
        let stride = (addresses.end - addresses.start) / self.table.bucket_count();
        ((bucket.address() - addresses.start) / stride) as usize
    }

    /// Executes one step of a client: it begins a call, performs one operation, or receives the outcome.
    pub fn go(&mut self, client: usize) -> Option<Event> {
        let Client { owner, doing, .. } = self.clients[client];
        match doing {
            Doing::Resting => {
                let bucket = self.clients[client].wishes.pop_front()?;
                Some(self.begin(client, bucket, Call::Acquire(owner)))
            }
            Doing::Queued(bucket) => Some(self.begin(client, bucket, Call::Wait(owner))),
            Doing::Holding(bucket) => Some(self.begin(client, bucket, Call::Release(owner))),
            Doing::Calling(bucket, mut steps) => {
                let outcome = steps.answered(self.perform(steps.operation()));
                self.clients[client].doing = Doing::Calling(bucket, steps);
                if let Some(outcome) = outcome {
                    let index = self.index_of(bucket);
                    let specified = self.locks[index].make(steps.call(owner));
                    assert_eq!(Some(outcome), specified, "an outcome is as specified");
                    self.clients[client].doing = Doing::Told(bucket, outcome);
                }
                None
            }
            Doing::Told(bucket, outcome) => {
                self.clients[client].doing = after(bucket, outcome);
                if outcome == Outcome::Acquired(Acquired::Full) {
                    self.clients[client].wishes.push_front(bucket);
                }
                Some(Event::Ended(bucket, outcome))
            }
        }
    }

    /// A waiting client gives up.
    pub fn give_up(&mut self, client: usize) -> Vec<Event> {
        let Client { owner, doing, .. } = self.clients[client];
        let begin = |world: &mut Self, bucket| world.begin(client, bucket, Call::Remove(owner));
        match doing {
            Doing::Queued(bucket) => vec![begin(self, bucket)],
            Doing::Calling(bucket, Steps::Wait(_)) => {
                vec![Event::Dropped(bucket), begin(self, bucket)]
            }
            _ => Vec::new(),
        }
    }

    /// A client that holds a lock acquires the lock of another record version in the same bucket.
    pub fn ask_again(&mut self, client: usize) -> Option<Event> {
        let Doing::Holding(bucket) = self.clients[client].doing else {
            return None;
        };
        let owner = self.clients[client].owner;
        Some(self.begin(client, bucket, Call::Acquire(owner)))
    }

    /// A client dies or is wrongly declared dead; a sweep begins.
    pub fn declare_dead(&mut self, client: usize, standing: Standing) -> bool {
        let client = &mut self.clients[client];
        if client.standing != Standing::Trusted {
            return false;
        }
        client.standing = standing;
        if standing == Standing::Dead {
            client.wishes.clear();
            client.doing = Doing::Resting;
        }
        let owner = client.owner;
        let sweep = Sweep::new(self.table, owner);
        self.sweeps.push(Sweeping { owner, sweep });
        true
    }

    /// One operation of a sweep; returns the removed owner after the last one.
    pub fn sweep(&mut self, index: usize) -> Option<Owner> {
        let Sweeping { owner, mut sweep } = self.sweeps[index].clone();
        let operation = sweep.operation();
        let found = self.perform(operation);
        if let Operation::CompareAndSwap {
            bucket, expected, ..
        } = operation
            && expected == found
        {
            let index = self.index_of(bucket);
            self.locks[index].make(Call::Remove(owner));
        }
        let is_last = sweep.answered(found).is_some();
        self.sweeps[index].sweep = sweep;
        is_last.then(|| self.sweeps.remove(index).owner)
    }

    /// Checks the invariants.
    pub fn check(&self) {
        for (word, lock) in self.memory.iter().zip(&self.locks) {
            let queue = Queue::from_word(*word).expect("memory holds queues");
            assert!(queue.owners().eq(lock.owners()), "{queue:?}: {lock:?}");
        }
        for client in &self.clients {
            let Some(bucket) = client.holds() else {
                continue;
            };
            let holder = self.locks[self.index_of(bucket)].holder();
            assert_eq!(holder, Some(client.owner), "one owner holds a lock");
        }
    }

    /// Whether every living client has reached its goal, and the table is empty.
    pub fn is_over(&self) -> bool {
        let is_over = self.clients.iter().all(Client::is_over) && self.sweeps.is_empty();
        assert!(!is_over || self.memory.iter().all(|word| *word == 0));
        is_over
    }

    fn begin(&mut self, client: usize, bucket: Bucket, call: Call) -> Event {
        self.clients[client].doing = Doing::Calling(bucket, Steps::of(bucket, call));
        Event::Began(bucket, call)
    }

    fn perform(&mut self, operation: Operation) -> Queue {
        let (Operation::Load(bucket) | Operation::CompareAndSwap { bucket, .. }) = operation;
        let index = self.index_of(bucket);
        let found = Queue::from_word(self.memory[index]).expect("memory holds queues");
        if let Operation::CompareAndSwap { expected, new, .. } = operation
            && expected == found
        {
            self.memory[index] = new.word();
        }
        found
    }
}

impl Client {
    /// Whether the client's next step is an operation on memory, or it has no next step.
    pub fn is_settled(&self) -> bool {
        matches!(self.doing, Doing::Calling(..)) || self.is_over()
    }

    pub fn is_over(&self) -> bool {
        self.doing == Doing::Resting && self.wishes.is_empty()
    }

    /// The bucket with the lock that the client holds.
    fn holds(&self) -> Option<Bucket> {
        match self.doing {
            Doing::Holding(bucket) | Doing::Calling(bucket, Steps::Release(_)) => {
                (self.standing == Standing::Trusted).then_some(bucket)
            }
            _ => None,
        }
    }
}

impl Steps {
    fn of(bucket: Bucket, call: Call) -> Self {
        match call {
            Call::Acquire(owner) => Steps::Acquire(Acquire::new(bucket, owner)),
            Call::Wait(owner) => Steps::Wait(Wait::new(bucket, owner)),
            Call::Release(owner) => Steps::Release(Release::new(bucket, owner)),
            Call::Remove(owner) => Steps::Remove(Remove::new(bucket, owner)),
        }
    }

    fn call(self, owner: Owner) -> Call {
        match self {
            Steps::Acquire(_) => Call::Acquire(owner),
            Steps::Wait(_) => Call::Wait(owner),
            Steps::Release(_) => Call::Release(owner),
            Steps::Remove(_) => Call::Remove(owner),
        }
    }
}

impl Machine for Steps {
    type Outcome = Outcome;

    fn operation(&self) -> Operation {
        match self {
            Steps::Acquire(steps) => steps.operation(),
            Steps::Wait(steps) => steps.operation(),
            Steps::Release(steps) => steps.operation(),
            Steps::Remove(steps) => steps.operation(),
        }
    }

    fn answered(&mut self, found: Queue) -> Option<Outcome> {
        match self {
            Steps::Acquire(steps) => steps.answered(found).map(Outcome::Acquired),
            Steps::Wait(steps) => steps.answered(found).map(Outcome::Waited),
            Steps::Release(steps) => steps.answered(found).map(Outcome::Released),
            Steps::Remove(steps) => steps.answered(found).map(Outcome::Removed),
        }
    }
}

/// The state of a client after the outcome of its call.
fn after(bucket: Bucket, outcome: Outcome) -> Doing {
    match outcome {
        Outcome::Acquired(Acquired::Held | Acquired::Present { ahead: 0 })
        | Outcome::Waited(Waited::Held) => Doing::Holding(bucket),
        Outcome::Acquired(Acquired::Queued { .. } | Acquired::Present { .. }) => {
            Doing::Queued(bucket)
        }
        _ => Doing::Resting,
    }
}
