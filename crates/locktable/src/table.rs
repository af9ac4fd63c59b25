//! The location of a lock table's buckets, and the bucket for each record version.

use std::ops::Range;

use thiserror::Error;

/// Bytes of a cache line. A cache that changes a word takes the whole line from all other caches.
const LINE_BYTES: u64 = 64;

/// A table of buckets, each with one queue in one word. The number of buckets is a power of two.
///
/// Two record versions in the same bucket share its lock. One owner may wait for another although they use different records (a false
/// conflict), and an owner that locks both records finds that it already has the lock. With more buckets, both cases are rarer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    base: u64,
    buckets: u64,
    width: Width,
    stride: u64,
}

/// Width of a bucket's word, which one compare-and-swap changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// Four slots.
    Bits64,
    /// Eight slots.
    Bits128,
}

/// The location of one bucket's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bucket {
    address: u64,
    width: Width,
}

/// The unit of locking: one version of one record, as the database numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordVersion(pub u64);

/// The reason why a lock table cannot have these parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TableError {
    /// The number of buckets is not a power of two. A power of two is necessary, because some bits of a hash select the bucket.
    #[error("a lock table cannot have {0} buckets; use a power of two: 1, 2, 4, ...")]
    Buckets(u64),
    /// Buckets would overlap, or cross cache lines.
    #[error(
        "the stride of buckets cannot be {stride} bytes; use a power of two, at least {least}, the bytes of a bucket"
    )]
    Stride {
        /// Bytes from one bucket to the next.
        stride: u64,
        /// Bytes of a bucket.
        least: u64,
    },
    /// Words would not be aligned to the stride.
    #[error(
        "a lock table cannot be at address {base:#x}; use a multiple of {stride}, the bytes from bucket to bucket"
    )]
    Base {
        /// Address of the first bucket.
        base: u64,
        /// Bytes from one bucket to the next.
        stride: u64,
    },
    /// The table would end above the last address.
    #[error(
        "{buckets} buckets with a stride of {stride} bytes from {base:#x} do not end below 2^64; use fewer buckets or a lower address"
    )]
    End {
        /// Address of the first bucket.
        base: u64,
        /// Number of buckets.
        buckets: u64,
        /// Bytes from one bucket to the next.
        stride: u64,
    },
}

impl Width {
    /// Number of owners that a queue can hold.
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
    /// A table of `buckets` buckets of width `width` from the virtual address `base`. Each bucket has its own cache line, so that owners of
    /// different buckets do not take cache lines from each other.
    pub fn new(base: u64, buckets: u64, width: Width) -> Result<Self, TableError> {
        Self::with_stride(base, buckets, width, LINE_BYTES)
    }

    /// A table of `buckets` buckets of width `width` from the virtual address `base`, `stride` bytes apart.
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

    /// The table's addresses, to the end of the last bucket's stride.
    pub fn addresses(&self) -> Range<u64> {
        self.base..self.base + self.buckets * self.stride
    }

    /// Width of a bucket's word.
    pub fn width(&self) -> Width {
        self.width
    }

    /// Number of buckets.
    pub fn bucket_count(&self) -> u64 {
        self.buckets
    }

    /// The bucket `index`, counted from the base.
    pub fn bucket(&self, index: u64) -> Bucket {
        assert!(
            index < self.buckets,
            "a bucket's index is below the number of buckets"
        );
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

    /// Virtual address of the bucket that locks `record`.
    pub fn address_of(&self, record: RecordVersion) -> u64 {
        self.bucket_of(record).address
    }
}

impl Bucket {
    /// Virtual address of the word, a multiple of its bytes.
    pub fn address(self) -> u64 {
        self.address
    }

    /// Width of the word, which is little-endian.
    pub fn width(self) -> Width {
        self.width
    }
}

impl RecordVersion {
    /// The id after a mixing function, which every user of a shared table must apply: three times an exclusive or with the number
    /// shifted right (30, 27 and 31 bits), with a multiplication modulo 2^64 in between.
    ///
    /// The mixing function consists of the finalizer and the constants of the generator `splitmix64`. Each step is invertible, so different
    /// ids stay different.
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
            "a lock table cannot have 12 buckets; use a power of two: 1, 2, 4, ..."
        );
        assert_eq!(
            made(0, 16, 8),
            "the stride of buckets cannot be 8 bytes; use a power of two, at least 16, the bytes of a bucket"
        );
        assert_eq!(
            made(0x20, 16, 64),
            "a lock table cannot be at address 0x20; use a multiple of 64, the bytes from bucket to bucket"
        );
        let last = u64::MAX - 63;
        assert_eq!(
            made(last, 1, 64),
            "1 buckets with a stride of 64 bytes from 0xffffffffffffffc0 do not end below 2^64; use fewer buckets or a lower address"
        );
        assert!(Table::new(last - 64, 1, Width::Bits64).is_ok());
    }

    #[test]
    fn ids_mix_as_the_published_generator_does() {
        // The generator adds the golden ratio to its state before each number. The expected values are its first three numbers from state
        // 0.
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
