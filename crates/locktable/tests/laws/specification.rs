//! The specification of a bucket's lock, independent of memory: a queue with four calls.

use std::collections::VecDeque;

use locktable::{Acquired, Owner, Released, Removed, Waited};

/// A call of an owner on the lock of a bucket. For a removal, it is the owner to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    Acquire(Owner),
    Wait(Owner),
    Release(Owner),
    Remove(Owner),
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    Acquired(Acquired),
    Waited(Waited),
    Released(Released),
    Removed(Removed),
}

/// The lock of a bucket.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QueueLock {
    slots: u32,
    owners: VecDeque<Owner>,
}

impl QueueLock {
    pub fn new(slots: u32) -> Self {
        let owners = VecDeque::new();
        QueueLock { slots, owners }
    }

    /// The owners in the queue, the holder first.
    pub fn owners(&self) -> impl Iterator<Item = Owner> {
        self.owners.iter().copied()
    }

    pub fn holder(&self) -> Option<Owner> {
        self.owners.front().copied()
    }

    /// Executes `call` atomically; `None` if the call must wait.
    pub fn make(&mut self, call: Call) -> Option<Outcome> {
        match call {
            Call::Acquire(owner) => Some(Outcome::Acquired(self.acquire(owner))),
            Call::Wait(owner) => self.wait(owner).map(Outcome::Waited),
            Call::Release(owner) => Some(Outcome::Released(self.release(owner))),
            Call::Remove(owner) => Some(Outcome::Removed(self.remove(owner))),
        }
    }

    fn acquire(&mut self, owner: Owner) -> Acquired {
        if let Some(ahead) = self.ahead_of(owner) {
            return Acquired::Present { ahead };
        }
        let ahead = self.owners.len() as u32;
        if ahead == self.slots {
            return Acquired::Full;
        }
        self.owners.push_back(owner);
        if ahead == 0 {
            Acquired::Held
        } else {
            Acquired::Queued { ahead }
        }
    }

    fn wait(&self, owner: Owner) -> Option<Waited> {
        match self.ahead_of(owner) {
            None => Some(Waited::Removed),
            Some(0) => Some(Waited::Held),
            Some(_) => None,
        }
    }

    fn release(&mut self, owner: Owner) -> Released {
        if self.holder() != Some(owner) {
            return Released::NotHeld;
        }
        self.owners.pop_front();
        let next = self.holder();
        Released::Passed { next }
    }

    fn remove(&mut self, owner: Owner) -> Removed {
        let ahead = self.ahead_of(owner);
        self.owners.retain(|other| *other != owner);
        let next = self.holder();
        match ahead {
            None => Removed::Absent,
            Some(0) => Removed::Holder { next },
            Some(_) => Removed::Waiter,
        }
    }

    fn ahead_of(&self, owner: Owner) -> Option<u32> {
        let ahead = self.owners.iter().position(|other| *other == owner);
        ahead.map(|ahead| ahead as u32)
    }
}
