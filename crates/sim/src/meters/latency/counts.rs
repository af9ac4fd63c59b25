//! The counts of a histogram's buckets. Memory is allocated only for groups of buckets in which something was counted.
//!
//! An array of all buckets up to the longest latency takes tens of kilobytes for each flow, although most flows have few different latencies.
//! Thousands of these arrays do not fit into any cache, and filling them with zeros takes longer than a short flow.

/// The number of leading bits of a value that determine its bucket. It gives the precision of a histogram with three digits.
const PRECISION: u32 = 11;

/// The number of buckets of a page. The counts of a page fill one cache line.
const PAGE: usize = 16;

/// Counts by bucket.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// For each group of [`PAGE`] buckets, the number of its page plus one; 0 if nothing was counted in the group.
    places: Vec<u32>,
    pages: Vec<[u32; PAGE]>,
}

impl Counts {
    /// Counts `value` `count` times.
    #[inline]
    pub(super) fn add(&mut self, value: u64, count: u32) {
        let bucket = bucket(value);
        let place = self.places.get(bucket / PAGE).copied().unwrap_or(0);
        let page = match place.checked_sub(1) {
            Some(page) => page as usize,
            None => self.add_page(bucket / PAGE),
        };
        let total = &mut self.pages[page][bucket % PAGE];
        *total = total.saturating_add(count);
    }

    /// Begins to load the number of the page in which `value` is counted.
    pub(super) fn prefetch_place(&self, value: u64) {
        if let Some(place) = self.places.get(bucket(value) / PAGE) {
            kernel::prefetch(place, 0..1);
        }
    }

    /// Begins to load the page in which `value` is counted, if there is one.
    pub(super) fn prefetch_count(&self, value: u64) {
        let place = self.places.get(bucket(value) / PAGE);
        let page = place.and_then(|place| self.pages.get(place.checked_sub(1)? as usize));
        if let Some(page) = page {
            kernel::prefetch(page, 0..1);
        }
    }

    #[cold]
    fn add_page(&mut self, place: usize) -> usize {
        if self.places.len() <= place {
            self.places.resize(place + 1, 0);
        }
        self.pages.push([0; PAGE]);
        self.places[place] = self.pages.len() as u32;
        self.pages.len() - 1
    }

    /// The lowest value of each bucket that is not empty, and its count, by value.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u32)> {
        let pages = self.places.iter().enumerate();
        let pages = pages.filter_map(|(place, page)| {
            let page = self.pages.get(page.checked_sub(1)? as usize)?;
            Some((place * PAGE, page))
        });
        let counts = pages.flat_map(|(first, page)| (first..).zip(page));
        let counts = counts.filter(|(_, count)| **count > 0);
        counts.map(|(bucket, count)| (lowest(bucket), *count))
    }
}

/// The bucket of a value. Each value below 2^[`PRECISION`] has its own bucket. For each further bit of the values, a bucket has twice as many values.
#[inline]
fn bucket(value: u64) -> usize {
    let dropped = (u64::BITS - value.leading_zeros()).saturating_sub(PRECISION);
    ((dropped as usize) << (PRECISION - 1)) + (value >> dropped) as usize
}

/// The lowest value of a bucket.
fn lowest(bucket: usize) -> u64 {
    let dropped = (bucket >> (PRECISION - 1)).saturating_sub(1);
    ((bucket - (dropped << (PRECISION - 1))) as u64) << dropped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_counted_in_the_bucket_that_begins_nearest_below_it() {
        for bits in 0..64 {
            for value in [
                1_u64 << bits,
                (1 << bits) + 1,
                (1_u64 << bits) + (1 << bits) / 2,
                u64::MAX >> bits,
            ] {
                let bucket = bucket(value);
                assert!(lowest(bucket) <= value, "{value}");
                assert!(
                    bucket == super::bucket(u64::MAX) || lowest(bucket + 1) > value,
                    "{value}"
                );
            }
        }
    }

    #[test]
    fn counts_of_one_bucket_are_added() {
        let mut counts = Counts::default();
        for (value, count) in [
            (5, 1),
            (1_000_000, 2),
            (1_000_001, 1),
            (5, 3),
            (4_000_000_000, 7),
        ] {
            counts.add(value, count);
        }
        let all: Vec<_> = counts.iter().collect();
        assert_eq!(all, [(5, 4), (999_936, 3), (3_999_268_864, 7)]);
    }
}
