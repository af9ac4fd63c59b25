//! Releasing the lock of a bucket.

use crate::{Bucket, Machine, Operation, Owner, Queue};

/// Shifts the queue of a bucket, so that the next owner holds the lock.
///
/// The first attempt assumes that no owner waits, because one compare-and-swap is then enough. Otherwise the queue that was found becomes
/// the next expected value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Release {
    bucket: Bucket,
    owner: Owner,
    expected: Queue,
}

/// The result of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Released {
    /// The owner held the lock and has released it.
    Passed {
        /// The new holder, if an owner waited.
        next: Option<Owner>,
    },
    /// The owner did not hold the lock, and nothing was changed. If the owner had acquired the lock, it was declared dead and removed;
    /// other owners may have repeated its work under the lock.
    NotHeld,
}

impl Release {
    /// `owner` releases the lock of `bucket`.
    pub fn new(bucket: Bucket, owner: Owner) -> Self {
        Release {
            bucket,
            owner,
            expected: Queue::of(owner),
        }
    }
}

impl Machine for Release {
    type Outcome = Released;

    fn operation(&self) -> Operation {
        Operation::CompareAndSwap {
            bucket: self.bucket,
            expected: self.expected,
            new: self.expected.shifted(),
        }
    }

    fn answered(&mut self, found: Queue) -> Option<Released> {
        if found == self.expected {
            let next = found.shifted().head();
            return Some(Released::Passed { next });
        }
        if found.head() != Some(self.owner) {
            return Some(Released::NotHeld);
        }
        self.expected = found;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::{owner, queue};
    use crate::{Table, Width};

    fn release() -> (Release, Bucket) {
        let bucket = Table::new(0, 1, Width::Bits64).unwrap().bucket(0);
        (Release::new(bucket, owner(1)), bucket)
    }

    fn passed(next: Option<u16>) -> Released {
        let next = next.map(owner);
        Released::Passed { next }
    }

    #[test]
    fn a_lock_that_nobody_waits_for_is_given_up_by_one_compare_and_swap() {
        let (mut release, bucket) = release();
        let first = Operation::CompareAndSwap {
            bucket,
            expected: queue(&[1]),
            new: Queue::EMPTY,
        };
        assert_eq!(release.operation(), first);
        assert_eq!(release.answered(queue(&[1])), Some(passed(None)));
    }

    #[test]
    fn the_queue_moves_up_with_whoever_joined_meanwhile() {
        let (mut release, bucket) = release();
        assert_eq!(release.answered(queue(&[1, 2])), None);
        assert_eq!(release.answered(queue(&[1, 2, 3])), None);
        let third = Operation::CompareAndSwap {
            bucket,
            expected: queue(&[1, 2, 3]),
            new: queue(&[2, 3]),
        };
        assert_eq!(release.operation(), third);
        assert_eq!(release.answered(queue(&[1, 2, 3])), Some(passed(Some(2))));
    }

    #[test]
    fn who_does_not_hold_a_lock_does_not_give_it_up() {
        for found in [vec![], vec![2], vec![2, 3], vec![2, 1]] {
            let (mut release, _) = release();
            let told = release.answered(queue(&found));
            assert_eq!(told, Some(Released::NotHeld), "{found:?}");
        }
    }

    #[test]
    fn an_owner_that_is_removed_between_two_tries_does_not_hold_the_lock() {
        let (mut release, _) = release();
        assert_eq!(release.answered(queue(&[1, 2, 3])), None);
        let told = release.answered(queue(&[2, 3]));
        assert_eq!(told, Some(Released::NotHeld));
    }
}
