//! Where the buckets of a lock table lie, and which one locks a record version.

use std::ops::Range;

use thiserror::Error;

/// Bytes of a line, which caches own as a whole: who changes a word takes its line away from all others.
const LINE_BYTES: u64 = 64;

/// A table of buckets, a power of two of them, each with one queue in one word.
///
/// A bucket is locked as a whole: of two record versions that fall into it one waits for the other although nobody touches
/// both (a false conflict), and one owner that wants both finds that it has the lock. More buckets make it rarer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    base: u64,
    buckets: u64,
    width: Width,
    stride: u64,
}

/// Bits of a bucket's word: what one compare-and-swap changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// Four slots.
    Bits64,
    /// Eight slots.
    Bits128,
}

/// Where the queue of one bucket lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bucket {
    address: u64,
    width: Width,
}

/// What a lock is taken for: one version of one record, as the database numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordVersion(pub u64);

/// Why there can be no such table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TableError {
    /// A bucket is found by some bits of a hash.
    #[error("a lock table has no {0} buckets; a power of two is possible: 1, 2, 4, ...")]
    Buckets(u64),
    /// Buckets would overlap, or cross lines.
    #[error(
        "buckets cannot lie {stride} bytes apart; a power of two of at least {least}, the bytes of a bucket, is possible"
    )]
    Stride {
        /// Bytes from one bucket to the next.
        stride: u64,
        /// Bytes of a bucket.
        least: u64,
    },
    /// Words would not be aligned, or not alone in their lines.
    #[error(
        "a lock table cannot lie at {base:#x}; a multiple of {stride}, the bytes from bucket to bucket, is possible"
    )]
    Base {
        /// Address of the first bucket.
        base: u64,
        /// Bytes from one bucket to the next.
        stride: u64,
    },
    /// Beyond the last address that there is.
    #[error(
        "{buckets} buckets, {stride} bytes apart, from {base:#x} do not end below 2^64; fewer of them, or a lower address, may"
    )]
    End {
        /// Address of the first bucket.
        base: u64,
        /// How many.
        buckets: u64,
        /// Bytes from one bucket to the next.
        stride: u64,
    },
}

impl Width {
    /// Owners that a queue has room for.
    pub const fn slots(self) -> u32 {
        match self {
            Width::Bits64 => 4,
            Width::Bits128 => 8,
        }
    }

    /// Bytes of the word.
    pub const fn bytes(self) -> u64 {
        match self {
            Width::Bits64 => 8,
            Width::Bits128 => 16,
        }
    }
}

impl Table {
    /// `buckets` of that width from the virtual address `base`, each in a line of its own, so that those who want different
    /// buckets do not take lines from each other.
    pub fn new(base: u64, buckets: u64, width: Width) -> Result<Self, TableError> {
        Self::with_stride(base, buckets, width, LINE_BYTES)
    }

    /// `buckets` of that width from the virtual address `base`, so many bytes apart.
    pub fn with_stride(
        base: u64,
        buckets: u64,
        width: Width,
        stride: u64,
    ) -> Result<Self, TableError> {
        let least = width.bytes();
        if !buckets.is_power_of_two() {
            return Err(TableError::Buckets(buckets));
        }
        if !stride.is_power_of_two() || stride < least {
            return Err(TableError::Stride { stride, least });
        }
        if !base.is_multiple_of(stride) {
            return Err(TableError::Base { base, stride });
        }
        let bytes = buckets.checked_mul(stride);
        if bytes.and_then(|bytes| base.checked_add(bytes)).is_none() {
            return Err(TableError::End {
                base,
                buckets,
                stride,
            });
        }
        Ok(Table {
            base,
            buckets,
            width,
            stride,
        })
    }

    /// The addresses that it takes up, to the end of the last bucket's stride.
    pub fn addresses(&self) -> Range<u64> {
        self.base..self.base + self.buckets * self.stride
    }

    /// Bits of a bucket's word.
    pub fn width(&self) -> Width {
        self.width
    }

    /// How many buckets there are.
    pub fn bucket_count(&self) -> u64 {
        self.buckets
    }

    /// The bucket of that number, counted from the base.
    pub fn bucket(&self, index: u64) -> Bucket {
        assert!(index < self.buckets, "a table has no bucket beyond its end");
        Bucket {
            address: self.base + index * self.stride,
            width: self.width,
        }
    }

    /// The number of the bucket that locks `record`: the least significant bits of its [mixed](RecordVersion::mixed) id.
    pub fn index_of(&self, record: RecordVersion) -> u64 {
        record.mixed() & (self.buckets - 1)
    }

    /// The bucket that locks `record`.
    pub fn bucket_of(&self, record: RecordVersion) -> Bucket {
        self.bucket(self.index_of(record))
    }

    /// Virtual address of that bucket.
    pub fn address_of(&self, record: RecordVersion) -> u64 {
        self.bucket_of(record).address
    }
}

impl Bucket {
    /// Virtual address of the word, a multiple of its bytes.
    pub fn address(self) -> u64 {
        self.address
    }

    /// Bits of the word, which is little-endian.
    pub fn width(self) -> Width {
        self.width
    }
}

impl RecordVersion {
    /// The id with every bit spread over all others, as all who share a table must do it: three times it is folded onto
    /// itself by a shift and an exclusive or (30, 27 and 31 bits), with a multiplication modulo 2^64 between.
    ///
    /// These are the finalizer and the constants of the generator `splitmix64`. Each step can be undone: no two ids mix alike.
    pub const fn mixed(self) -> u64 {
        let folded = self.0 ^ (self.0 >> 30);
        let spread = folded.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let folded = spread ^ (spread >> 27);
        let spread = folded.wrapping_mul(0x94d0_49bb_1331_11eb);
        spread ^ (spread >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_have_lines_of_their_own_unless_told_otherwise() {
        let table = Table::new(0x4000, 16, Width::Bits128).unwrap();
        assert_eq!(table.bucket(3).address(), 0x40c0);
        assert_eq!(table.addresses(), 0x4000..0x4400);
        let dense = Table::with_stride(0x4010, 2, Width::Bits128, 16).unwrap();
        assert_eq!(dense.bucket(1).address(), 0x4020);
    }

    #[test]
    fn bad_geometry_says_what_would_be_right() {
        let made = |base, buckets, stride| {
            let table = Table::with_stride(base, buckets, Width::Bits128, stride);
            table.unwrap_err().to_string()
        };
        assert_eq!(
            made(0, 12, 64),
            "a lock table has no 12 buckets; a power of two is possible: 1, 2, 4, ..."
        );
        assert_eq!(
            made(0, 16, 8),
            "buckets cannot lie 8 bytes apart; a power of two of at least 16, the bytes of a bucket, is possible"
        );
        assert_eq!(
            made(0x20, 16, 64),
            "a lock table cannot lie at 0x20; a multiple of 64, the bytes from bucket to bucket, is possible"
        );
        let last = u64::MAX - 63;
        assert_eq!(
            made(last, 1, 64),
            "1 buckets, 64 bytes apart, from 0xffffffffffffffc0 do not end below 2^64; fewer of them, or a lower address, may"
        );
        assert!(Table::new(last - 64, 1, Width::Bits64).is_ok());
    }

    #[test]
    fn ids_mix_as_the_published_generator_does() {
        // The generator adds the golden ratio to its state before each number; these are its first three from state 0.
        let golden: u64 = 0x9e37_79b9_7f4a_7c15;
        let number = |count: u64| RecordVersion(golden.wrapping_mul(count)).mixed();
        assert_eq!(number(1), 0xe220_a839_7b1d_cdaf);
        assert_eq!(number(2), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(number(3), 0x06c4_5d18_8009_454f);
    }

    #[test]
    fn ids_that_follow_each_other_at_any_step_spread_over_all_buckets() {
        let table = Table::new(0, 64, Width::Bits64).unwrap();
        for step in [1, 8, 64, 4096, 1 << 32, 1 << 50] {
            let mut taken = [0_u32; 64];
            for id in 0..6_400 {
                taken[(table.address_of(RecordVersion(id * step)) / 64) as usize] += 1;
            }
            let range = (taken.iter().min(), taken.iter().max());
            assert!(
                taken.iter().all(|count| (50..150).contains(count)),
                "{step}: {range:?}"
            );
        }
    }
}
