//! Waiting in the queue of a bucket.

use crate::{Bucket, Machine, Operation, Owner, Queue};

/// Loads a bucket until an owner is at its head. The caller decides how long to wait between loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wait {
    bucket: Bucket,
    owner: Owner,
}

/// The result of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Waited {
    /// The owner holds the lock.
    Held,
    /// The owner is no longer in the queue: it was declared dead and removed.
    Removed,
}

impl Wait {
    /// `owner`, which is in the queue of `bucket`, waits for the lock.
    pub fn new(bucket: Bucket, owner: Owner) -> Self {
        Wait { bucket, owner }
    }
}

impl Machine for Wait {
    type Outcome = Waited;

    fn operation(&self) -> Operation {
        Operation::Load(self.bucket)
    }

    fn answered(&mut self, found: Queue) -> Option<Waited> {
        match found.position_of(self.owner) {
            Some(0) => Some(Waited::Held),
            Some(_) => None,
            None => Some(Waited::Removed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::{owner, queue};
    use crate::{Table, Width};

    #[test]
    fn a_waiter_loads_until_it_is_the_head_or_gone() {
        let bucket = Table::new(0, 1, Width::Bits64).unwrap().bucket(0);
        for (last, waited) in [([7, 8], Waited::Held), ([8, 9], Waited::Removed)] {
            let mut wait = Wait::new(bucket, owner(7));
            for found in [[1, 7], [2, 7]] {
                assert_eq!(wait.operation(), Operation::Load(bucket));
                assert_eq!(wait.answered(queue(&found)), None);
            }
            assert_eq!(wait.answered(queue(&last)), Some(waited));
        }
    }
}
