//! Notes about work under locks.

use kernel::Span;
use packet::{Note, NoteKind};

/// The state of an owner and a lock in memory. Locks are identified by the numbers of their buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockNote {
    /// A request has ended. The owner holds the lock or is in the queue. The next note shows which.
    Requested {
        /// The number of compare-and-swaps of the request.
        swaps: u32,
        /// The time of the last compare-and-swap, including the software time before the first.
        took: Span,
    },
    /// The owner has entered the queue of a lock.
    Placed {
        /// The lock.
        bucket: u64,
        /// The ID of the previous owner in the queue. `None` if this owner holds the lock.
        behind: Option<u16>,
    },
    /// The owner has found that it holds the lock.
    Held {
        /// The lock.
        bucket: u64,
    },
    /// The owner holds the lock that it requested.
    Acquired {
        /// The time since the request began: software, all compare-and-swaps, and the wait.
        took: Span,
    },
    /// The owner starts to release the lock.
    Releasing {
        /// The lock.
        bucket: u64,
    },
    /// Host software starts to remove an owner that no longer exists from the queue.
    Removing {
        /// The lock.
        bucket: u64,
        /// The ID of the previous owner in the queue. `None` if the removed owner is the first one.
        behind: Option<u16>,
    },
    /// The lock's memory is inconsistent, because another party has written to it.
    Lost {
        /// The lock.
        bucket: u64,
    },
}

/// The layout of the second word: the kind of the note in the low bits. Above it is the previous owner with a valid bit, or the number of
/// compare-and-swaps.
const BEHIND: u32 = 8;
const IS_BEHIND: u64 = 1 << 24;

impl Note for LockNote {
    const KIND: NoteKind = NoteKind::named("lock");

    fn pack(self) -> [u64; 2] {
        let behind =
            |behind: Option<u16>| behind.map_or(0, |owner| IS_BEHIND | u64::from(owner) << BEHIND);
        match self {
            LockNote::Requested { swaps, took } => [took.as_fs(), u64::from(swaps) << BEHIND],
            LockNote::Placed { bucket, behind: b } => [bucket, 1 | behind(b)],
            LockNote::Held { bucket } => [bucket, 2],
            LockNote::Releasing { bucket } => [bucket, 3],
            LockNote::Removing { bucket, behind: b } => [bucket, 4 | behind(b)],
            LockNote::Lost { bucket } => [bucket, 5],
            LockNote::Acquired { took } => [took.as_fs(), 6],
        }
    }

    fn unpack([bucket, rest]: [u64; 2]) -> Self {
        let behind = (rest & IS_BEHIND != 0).then_some((rest >> BEHIND) as u16);
        match rest as u8 {
            0 => LockNote::Requested {
                swaps: (rest >> BEHIND) as u32,
                took: Span::from_fs(bucket),
            },
            1 => LockNote::Placed { bucket, behind },
            2 => LockNote::Held { bucket },
            3 => LockNote::Releasing { bucket },
            4 => LockNote::Removing { bucket, behind },
            5 => LockNote::Lost { bucket },
            6 => LockNote::Acquired {
                took: Span::from_fs(bucket),
            },
            other => panic!("{other} is not a kind of a lock's note"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_note_is_unpacked_as_it_was_packed(bucket: u64, behind: Option<u16>, swaps: u32, fs: u64) {
            let took = Span::from_fs(fs);
            for note in [
                LockNote::Requested { swaps, took },
                LockNote::Placed { bucket, behind },
                LockNote::Held { bucket },
                LockNote::Acquired { took },
                LockNote::Releasing { bucket },
                LockNote::Removing { bucket, behind },
                LockNote::Lost { bucket },
            ] {
                prop_assert_eq!(LockNote::unpack(note.pack()), note);
            }
        }
    }
}
