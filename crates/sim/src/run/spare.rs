//! Unused memory of a host, allocated and freed in pages.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plan::Region;

/// Free ranges of a host's memory: the length of each by its first address. No two ranges touch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Spare(BTreeMap<u64, u64>);

/// Page size of allocations.
const PAGE: u64 = 4096;

impl Spare {
    /// All of `region`, which is whole pages, as free memory.
    pub fn of(region: Region) -> Self {
        Self(BTreeMap::from([(region.base, region.size)]))
    }

    /// Takes the first free `size` bytes, aligned to a page.
    pub fn take(&mut self, size: u64) -> Option<u64> {
        let size = pages(size)?;
        let fits = |(_, free): &(&u64, &u64)| **free >= size;
        let (&base, &free) = self.0.iter().find(fits)?;
        self.0.remove(&base);
        self.add(base + size, free - size);
        Some(base)
    }

    /// Takes the first free `size` bytes, aligned to `alignment`, a power of two.
    pub fn take_aligned(&mut self, size: u64, alignment: u64) -> Option<u64> {
        let size = pages(size)?;
        let start_in = |(base, free): (&u64, &u64)| {
            let start = base.checked_next_multiple_of(alignment)?;
            let end = start.checked_add(size)?;
            (end <= base + free).then_some((*base, *free, start))
        };
        let (base, free, start) = self.0.iter().find_map(start_in)?;
        self.0.remove(&base);
        self.add(base, start - base);
        self.add(start + size, base + free - (start + size));
        Some(start)
    }

    /// Frees the `size` bytes at `base`.
    pub fn give_back(&mut self, base: u64, size: u64) {
        let Some(mut size) = pages(size) else {
            return;
        };
        if let Some(behind) = self.0.remove(&(base + size)) {
            size += behind;
        }
        match self.0.range_mut(..base).next_back() {
            Some((before, free)) if before + *free == base => *free += size,
            _ => self.add(base, size),
        }
    }

    fn add(&mut self, base: u64, size: u64) {
        if size > 0 {
            self.0.insert(base, size);
        }
    }
}

/// `size` rounded up to whole pages.
fn pages(size: u64) -> Option<u64> {
    size.checked_next_multiple_of(PAGE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn region() -> Region {
        Region {
            base: 16 * PAGE,
            size: 64 * PAGE,
        }
    }

    proptest! {
        #[test]
        fn nothing_is_given_out_twice_and_all_of_it_comes_back(
            steps in prop::collection::vec((1..5 * PAGE, any::<prop::sample::Index>()), 0..200),
        ) {
            let mut spare = Spare::of(region());
            let mut taken: Vec<(u64, u64)> = Vec::new();
            for (size, which) in steps {
                if let Some(base) = spare.take(size) {
                    let apart = |(other, len): &(u64, u64)| base + size <= *other || other + len <= base;
                    prop_assert!(taken.iter().all(apart));
                    prop_assert!(base >= region().base);
                    prop_assert!(base + size <= region().base + region().size);
                    taken.push((base, size));
                } else {
                    let (base, size) = taken.swap_remove(which.index(taken.len()));
                    spare.give_back(base, size);
                }
            }
            for (base, size) in taken {
                spare.give_back(base, size);
            }
            prop_assert_eq!(spare.0, Spare::of(region()).0);
        }
    }

    #[test]
    fn more_than_there_is_is_not_given_out() {
        let mut spare = Spare::of(region());
        assert_eq!(spare.take(u64::MAX), None);
        assert_eq!(spare.take(64 * PAGE + 1), None);
        assert_eq!(spare.take(64 * PAGE), Some(16 * PAGE));
        assert_eq!(spare.take(1), None);
        assert_eq!(Spare::default().take(1), None);
    }
}
