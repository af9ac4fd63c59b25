//! Removing an owner from a bucket, at any position of the queue.

use crate::{Bucket, Machine, Operation, Owner, Queue};

/// Removes an owner from a bucket: a dead one during recovery, or a waiter that gives up.
///
/// A removal begins with a load: most searched buckets do not contain the owner, and to read a cache line is cheaper than to own it. A
/// removal can be abandoned and repeated, also by several callers at once: one of them removes the owner, and the others find it absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Remove {
    bucket: Bucket,
    owner: Owner,
    /// The queue that was found last, which contains the owner.
    found: Option<Queue>,
}

/// The owner's position before the removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Removed {
    /// The owner held the lock.
    Holder {
        /// The new holder, if an owner waited.
        next: Option<Owner>,
    },
    /// The owner waited.
    Waiter,
    /// The owner was not in the queue.
    Absent,
}

impl Remove {
    /// Removes `owner` from `bucket`.
    pub fn new(bucket: Bucket, owner: Owner) -> Self {
        Remove {
            bucket,
            owner,
            found: None,
        }
    }
}

impl Machine for Remove {
    type Outcome = Removed;

    fn operation(&self) -> Operation {
        let bucket = self.bucket;
        match self.found {
            None => Operation::Load(bucket),
            Some(expected) => Operation::CompareAndSwap {
                bucket,
                expected,
                new: expected.without(self.owner),
            },
        }
    }

    fn answered(&mut self, found: Queue) -> Option<Removed> {
        let Some(position) = found.position_of(self.owner) else {
            return Some(Removed::Absent);
        };
        if self.found != Some(found) {
            self.found = Some(found);
            return None;
        }
        Some(match position {
            0 => Removed::Holder {
                next: found.shifted().head(),
            },
            _ => Removed::Waiter,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::{owner, queue};
    use crate::{Table, Width};

    fn removal() -> (Remove, Bucket) {
        let bucket = Table::new(0, 1, Width::Bits64).unwrap().bucket(0);
        (Remove::new(bucket, owner(1)), bucket)
    }

    #[test]
    fn the_next_holds_the_lock_of_a_holder_that_is_removed() {
        let (mut remove, _) = removal();
        assert_eq!(remove.answered(queue(&[1, 2, 3])), None);
        let next = Some(owner(2));
        let removed = Some(Removed::Holder { next });
        assert_eq!(remove.answered(queue(&[1, 2, 3])), removed);
    }

    #[test]
    fn a_waiter_is_removed_from_the_queue_that_is_there_now() {
        let (mut remove, bucket) = removal();
        assert_eq!(remove.answered(queue(&[2, 1])), None);
        assert_eq!(remove.answered(queue(&[2, 1, 3])), None);
        let third = Operation::CompareAndSwap {
            bucket,
            expected: queue(&[2, 1, 3]),
            new: queue(&[2, 3]),
        };
        assert_eq!(remove.operation(), third);
        let removed = remove.answered(queue(&[2, 1, 3]));
        assert_eq!(removed, Some(Removed::Waiter));
    }

    #[test]
    fn an_owner_that_has_no_place_costs_one_load() {
        let (mut remove, bucket) = removal();
        assert_eq!(remove.operation(), Operation::Load(bucket));
        assert_eq!(remove.answered(queue(&[2, 3])), Some(Removed::Absent));
    }
}
