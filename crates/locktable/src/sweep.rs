//! Taking an owner that died out of the whole table.

use crate::{Machine, Operation, Owner, Queue, Remove, Removed, Table};

/// Removes an owner from every bucket, one after the other.
///
/// It is complete only if the owner can no longer reach the memory: a compare-and-swap of it that is under way may still put it
/// into a bucket that was swept before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sweep {
    table: Table,
    owner: Owner,
    index: u64,
    remove: Remove,
    swept: Swept,
}

/// What an owner had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Swept {
    /// Locks that it held.
    pub held: u64,
    /// Places in which it waited.
    pub waited: u64,
}

impl Sweep {
    /// `owner` is to have no place in `table`.
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
