//! Work under locks, as the probes are told of it.

use kernel::Span;
use packet::{Note, NoteKind};

/// How an owner stands with a lock in memory. A lock is named by the number of its bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockNote {
    /// A request has ended: its owner holds the lock or has a place in the queue, as the next note says.
    Requested {
        /// Compare-and-swaps that the request took.
        swaps: u32,
        /// How long the last of them took, with what came before the first.
        took: Span,
    },
    /// The owner has a place in the queue.
    Placed {
        /// The lock.
        bucket: u64,
        /// The number of the owner before it; none if it holds the lock.
        behind: Option<u16>,
    },
    /// The owner has seen that it holds the lock.
    Held {
        /// The lock.
        bucket: u64,
    },
    /// The owner begins to give the lock up.
    Releasing {
        /// The lock.
        bucket: u64,
    },
    /// Host software begins to take the owner, which is gone, out of the queue.
    Removing {
        /// The lock.
        bucket: u64,
        /// The number of the owner before it; none if it is the first.
        behind: Option<u16>,
    },
    /// The memory of the lock is not what it must be: somebody else has written there.
    Lost {
        /// The lock.
        bucket: u64,
    },
}

/// In the second word: the kind of the note, then the owner before and whether there is one, or the count of swaps.
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
            other => panic!("a lock's note has no kind {other}"),
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
                LockNote::Releasing { bucket },
                LockNote::Removing { bucket, behind },
                LockNote::Lost { bucket },
            ] {
                prop_assert_eq!(LockNote::unpack(note.pack()), note);
            }
        }
    }
}
