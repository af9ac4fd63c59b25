//! Removing a dead owner from the whole table.

use crate::{Machine, Operation, Owner, Queue, Remove, Removed, Table};

/// Removes an owner from every bucket, one after the other.
///
/// A sweep is complete only if the owner can no longer access the memory. Otherwise, a compare-and-swap that is under way may add the owner
/// to a bucket that was already swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sweep {
    table: Table,
    owner: Owner,
    index: u64,
    remove: Remove,
    swept: Swept,
}

/// Result of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Swept {
    /// Number of locks that the owner held.
    pub held: u64,
    /// Number of queues in which the owner waited.
    pub waited: u64,
}

impl Sweep {
    /// Removes `owner` from all buckets of `table`.
    pub fn new(table: Table, owner: Owner) -> Self {
        Sweep {
            table,
            owner,
            index: 0,
            remove: Remove::new(table.bucket(0), owner),
            swept: Swept::default(),
        }
    }
}

impl Machine for Sweep {
    type Outcome = Swept;

    fn operation(&self) -> Operation {
        self.remove.operation()
    }

    fn answered(&mut self, found: Queue) -> Option<Swept> {
        match self.remove.answered(found)? {
            Removed::Holder { .. } => self.swept.held += 1,
            Removed::Waiter => self.swept.waited += 1,
            Removed::Absent => {}
        }
        self.index += 1;
        if self.index == self.table.bucket_count() {
            return Some(self.swept);
        }
        self.remove = Remove::new(self.table.bucket(self.index), self.owner);
        None
    }
}
