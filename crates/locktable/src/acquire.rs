//! Acquiring the lock of a bucket, or joining its queue.

use crate::{Bucket, Machine, NotJoined, Operation, Owner, Queue};

/// Adds an owner at the end of a bucket's queue.
///
/// The first attempt assumes that the bucket is free, because one compare-and-swap is then enough. If the bucket is not free, the queue
/// that was found becomes the next expected value. Each further failure means that another owner has changed the bucket since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Acquire {
    bucket: Bucket,
    owner: Owner,
    expected: Queue,
    new: Queue,
    swaps: u32,
}

/// The result of an acquisition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Acquired {
    /// The owner holds the lock.
    Held,
    /// The owner is in the queue, and must [wait](crate::Wait).
    Queued {
        /// Number of owners before this owner.
        ahead: u32,
    },
    /// The owner was already in the queue, because of another record version in this bucket: it holds the lock or waits for it. One release
    /// ends both uses of the lock.
    Present {
        /// Number of owners before this owner; 0 when it holds the lock.
        ahead: u32,
    },
    /// The queue is full. The caller decides whether and when to try again.
    Full,
}

impl Acquire {
    /// `owner` requests the lock of `bucket`.
    pub fn new(bucket: Bucket, owner: Owner) -> Self {
        Acquire {
            bucket,
            owner,
            expected: Queue::EMPTY,
            new: Queue::of(owner),
            swaps: 0,
        }
    }

    /// Number of compare-and-swaps so far.
    pub fn swaps(&self) -> u32 {
        self.swaps
    }
}

impl Machine for Acquire {
    type Outcome = Acquired;

    fn operation(&self) -> Operation {
        Operation::CompareAndSwap {
            bucket: self.bucket,
            expected: self.expected,
            new: self.new,
        }
    }

    fn answered(&mut self, found: Queue) -> Option<Acquired> {
        self.swaps += 1;
        if found == self.expected {
            return Some(match found.len() {
                0 => Acquired::Held,
                ahead => Acquired::Queued { ahead },
            });
        }
        match found.joined(self.owner, self.bucket.width()) {
            Ok(new) => {
                (self.expected, self.new) = (found, new);
                None
            }
            Err(NotJoined::Present { ahead }) => Some(Acquired::Present { ahead }),
            Err(NotJoined::Full) => Some(Acquired::Full),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::{owner, queue};
    use crate::{Table, Width};

    fn bucket(width: Width) -> Bucket {
        Table::new(0, 1, width).unwrap().bucket(0)
    }

    #[test]
    fn a_free_bucket_is_taken_by_one_compare_and_swap() {
        let bucket = bucket(Width::Bits64);
        let mut acquire = Acquire::new(bucket, owner(7));
        assert_eq!(
            acquire.operation(),
            Operation::CompareAndSwap {
                bucket,
                expected: Queue::EMPTY,
                new: queue(&[7]),
            }
        );
        assert_eq!(acquire.answered(Queue::EMPTY), Some(Acquired::Held));
        assert_eq!(acquire.swaps(), 1);
    }

    #[test]
    fn what_was_found_instead_is_expected_next_until_nobody_comes_between() {
        let bucket = bucket(Width::Bits64);
        let mut acquire = Acquire::new(bucket, owner(7));
        for found in [queue(&[1]), queue(&[1, 2])] {
            assert_eq!(acquire.answered(found), None);
            let (expected, new) = (found, found.joined(owner(7), Width::Bits64).unwrap());
            let next = Operation::CompareAndSwap {
                bucket,
                expected,
                new,
            };
            assert_eq!(acquire.operation(), next);
        }
        let queued = Acquired::Queued { ahead: 2 };
        assert_eq!(acquire.answered(queue(&[1, 2])), Some(queued));
        assert_eq!(acquire.swaps(), 3);
    }

    #[test]
    fn a_bucket_that_was_freed_meanwhile_is_taken() {
        let mut acquire = Acquire::new(bucket(Width::Bits64), owner(7));
        assert_eq!(acquire.answered(queue(&[1])), None);
        assert_eq!(acquire.answered(Queue::EMPTY), None);
        assert_eq!(acquire.answered(Queue::EMPTY), Some(Acquired::Held));
    }

    #[test]
    fn a_full_bucket_refuses() {
        let four = queue(&[1, 2, 3, 4]);
        let mut narrow = Acquire::new(bucket(Width::Bits64), owner(7));
        assert_eq!(narrow.answered(four), Some(Acquired::Full));
        let mut wide = Acquire::new(bucket(Width::Bits128), owner(7));
        assert_eq!(wide.answered(four), None);
    }

    #[test]
    fn an_owner_that_has_the_bucket_for_another_record_is_told() {
        for (ids, ahead) in [([7, 1], 0), ([1, 7], 1)] {
            let mut acquire = Acquire::new(bucket(Width::Bits64), owner(7));
            let told = acquire.answered(queue(&ids));
            assert_eq!(told, Some(Acquired::Present { ahead }));
        }
    }
}
