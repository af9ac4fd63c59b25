//! Unused memory of a host, allocated and freed in pages.

use std::collections::BTreeMap;

use crate::plan::Region;

/// The memory of a host for programs.
#[derive(Clone, Debug, Default)]
pub struct Spare {
    /// Free ranges, which are whole pages: the length of each by its first address. No two ranges are adjacent.
    free: BTreeMap<u64, u64>,
    /// Allocated ranges: the requested number of bytes of each by its first address.
    taken: BTreeMap<u64, u64>,
}

/// Page size of allocations.
const PAGE: u64 = 4096;

impl Spare {
    /// All of `region`, which is whole pages, as free memory.
    pub fn of(region: Region) -> Self {
        Spare {
            free: BTreeMap::from([(region.base, region.size)]),
            taken: BTreeMap::new(),
        }
    }

    /// Allocates the first free `size` bytes, aligned to a page.
    pub fn take(&mut self, size: u64) -> Option<u64> {
        self.take_aligned(size, PAGE)
    }

    /// Allocates the first free `asked` bytes, aligned to `alignment`, which is a power of two.
    pub fn take_aligned(&mut self, asked: u64, alignment: u64) -> Option<u64> {
        let size = pages(asked)?;
        let start_in = |(base, free): (&u64, &u64)| {
            let start = base.checked_next_multiple_of(alignment)?;
            let end = start.checked_add(size)?;
            (end <= base + free).then_some((*base, *free, start))
        };
        let (base, free, start) = self.free.iter().find_map(start_in)?;
        self.free.remove(&base);
        self.add(base, start - base);
        self.add(start + size, base + free - (start + size));
        self.taken.insert(start, asked);
        Some(start)
    }

    /// Frees the `size` bytes that were taken at `base`. An error has the number of bytes that were taken there, if there are any.
    pub fn give_back(&mut self, base: u64, size: u64) -> Result<(), Option<u64>> {
        let taken = *self.taken.get(&base).ok_or(None)?;
        if taken != size {
            return Err(Some(taken));
        }
        self.taken.remove(&base);
        let mut size = size.next_multiple_of(PAGE);
        if let Some(behind) = self.free.remove(&(base + size)) {
            size += behind;
        }
        match self.free.range_mut(..base).next_back() {
            Some((before, free)) if before + *free == base => *free += size,
            _ => self.add(base, size),
        }
        Ok(())
    }

    fn add(&mut self, base: u64, size: u64) {
        if size > 0 {
            self.free.insert(base, size);
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
                    prop_assert_eq!(spare.give_back(base, size + 1), Err(Some(size)));
                    prop_assert_eq!(spare.give_back(base, size), Ok(()));
                    prop_assert_eq!(spare.give_back(base, size), Err(None));
                }
            }
            for (base, size) in taken {
                prop_assert_eq!(spare.give_back(base, size), Ok(()));
            }
            prop_assert_eq!(spare.free, Spare::of(region()).free);
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
