//! A set-associative cache of translations: the IOTLB of a translation agent, and the address translation cache of a device.
//!
//! Pages of all sizes share the entries. The page size of an address is unknown before the lookup, so that a lookup tries every size of
//! which there are entries.

use std::ops::RangeInclusive;

use thiserror::Error;

use crate::{AddressSpace, Mapping, PageSize};

/// Translations of pages in the address spaces of functions. Each set replaces its least recently used entry (LRU).
#[derive(Clone, Debug)]
pub struct TranslationCache {
    ways: usize,
    /// The entries of each set, most recently used first.
    sets: Vec<Vec<Entry>>,
    /// The number of entries of each page size, by [`PageSize`].
    present: [u32; PageSize::ALL.len()],
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    who: AddressSpace,
    mapping: Mapping,
}

impl TranslationCache {
    /// An empty cache of `entries` entries, a power of two, in sets of `ways` entries. `ways` must divide `entries`.
    pub fn new(entries: u32, ways: u32) -> Result<Self, GeometryError> {
        if !entries.is_power_of_two() {
            return Err(GeometryError::Entries(entries));
        }
        // The number of sets is then also a power of two.
        if ways == 0 || !entries.is_multiple_of(ways) {
            return Err(GeometryError::Ways { entries, ways });
        }
        Ok(Self {
            ways: ways as usize,
            sets: vec![Vec::new(); (entries / ways) as usize],
            present: [0; PageSize::ALL.len()],
        })
    }

    /// Looks up the page that contains `address`, and marks it as most recently used.
    pub fn lookup(&mut self, who: impl Into<AddressSpace>, address: u64) -> Option<Mapping> {
        let (set, way) = self.find(who.into(), address)?;
        self.sets[set][..=way].rotate_right(1);
        Some(self.sets[set][0].mapping)
    }

    /// Whether there is an entry for `address`. This check does not count as a use of the entry.
    pub fn holds(&self, who: impl Into<AddressSpace>, address: u64) -> bool {
        self.find(who.into(), address).is_some()
    }

    /// Adds a page of an address space. Returns the least recently used entry if it was replaced.
    pub fn fill(
        &mut self,
        who: impl Into<AddressSpace>,
        mapping: Mapping,
    ) -> Option<(AddressSpace, Mapping)> {
        let who = who.into();
        let set = self.set_of(who, mapping.size(), mapping.virtual_base());
        let entries = &mut self.sets[set];
        let page = (who, mapping.virtual_base(), mapping.size());
        let same = entries.iter().position(|entry| entry.page() == page);
        let gone = same.or_else(|| (entries.len() == self.ways).then(|| entries.len() - 1));
        let gone = gone.map(|way| entries.remove(way));
        entries.insert(0, Entry { who, mapping });
        self.present[mapping.size() as usize] += 1;
        if let Some(gone) = gone {
            self.present[gone.mapping.size() as usize] -= 1;
        }
        gone.filter(|_| same.is_none())
            .map(|gone| (gone.who, gone.mapping))
    }

    /// Removes every page of an address space that overlaps `range`.
    pub fn invalidate(&mut self, who: impl Into<AddressSpace>, range: &RangeInclusive<u64>) {
        let who = who.into();
        self.keep(|entry| entry.who != who || !entry.mapping.overlaps(range));
    }

    /// Removes all pages.
    pub fn invalidate_all(&mut self) {
        self.keep(|_| false);
    }

    fn keep(&mut self, stays: impl Fn(&Entry) -> bool) {
        for set in &mut self.sets {
            set.retain(|entry| {
                let stays = stays(entry);
                self.present[entry.mapping.size() as usize] -= u32::from(!stays);
                stays
            });
        }
    }

    /// The set and the way of the entry for an address.
    fn find(&self, who: AddressSpace, address: u64) -> Option<(usize, usize)> {
        let sizes = PageSize::ALL.into_iter();
        let mut sizes = sizes.filter(|size| self.present[*size as usize] > 0);
        sizes.find_map(|size| {
            let set = self.set_of(who, size, address);
            let mut entries = self.sets[set].iter();
            let way = entries.position(|entry| entry.who == who && entry.mapping.covers(address));
            way.map(|way| (set, way))
        })
    }

    /// The set of an address. It also depends on the address space, so that equal addresses of different address spaces are spread over the
    /// sets.
    fn set_of(&self, who: AddressSpace, size: PageSize, address: u64) -> usize {
        let page = (address >> size.bits()).wrapping_add(who.number());
        page as usize & (self.sets.len() - 1)
    }
}

impl Entry {
    fn page(&self) -> (AddressSpace, u64, PageSize) {
        (self.who, self.mapping.virtual_base(), self.mapping.size())
    }
}

/// The reason why a cache cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum GeometryError {
    /// The number of entries is not a power of two.
    #[error("a cache cannot have {0} entries; write a power of two")]
    Entries(u32),
    /// The number of ways does not divide the number of entries.
    #[error("{entries} entries cannot have {ways} ways; write a power of two from 1 to {entries}")]
    Ways {
        /// The number of entries.
        entries: u32,
        /// The number of ways.
        ways: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rights;
    use proptest::prelude::*;
    use protocol::FunctionId;

    const DEVICE: FunctionId = FunctionId::new(1, 0, 0);
    const OTHER: FunctionId = FunctionId::new(2, 0, 0);

    fn cache(entries: u32, ways: u32) -> TranslationCache {
        TranslationCache::new(entries, ways).expect("a legal geometry")
    }

    fn page(number: u64, size: PageSize) -> Mapping {
        let (base, physical) = (number << size.bits(), (number + 7) << size.bits());
        Mapping::around(base, physical, size, Rights::ReadWrite)
    }

    #[test]
    fn entries_are_a_power_of_two_and_ways_divide_them() {
        let refused = |entries, ways| {
            let cache = TranslationCache::new(entries, ways);
            cache.expect_err("an impossible geometry").to_string()
        };
        assert_eq!(
            refused(48, 4),
            "a cache cannot have 48 entries; write a power of two"
        );
        assert_eq!(
            refused(64, 3),
            "64 entries cannot have 3 ways; write a power of two from 1 to 64"
        );
        for (entries, ways) in [(0, 1), (16, 0), (16, 32), (16, 12)] {
            assert!(TranslationCache::new(entries, ways).is_err());
        }
        for ways in [1, 2, 4, 8, 16] {
            assert!(TranslationCache::new(16, ways).is_ok());
        }
    }

    #[test]
    fn the_page_used_longest_ago_gives_way() {
        let mut cache = cache(2, 2);
        cache.fill(DEVICE, page(0, PageSize::Kib4));
        cache.fill(DEVICE, page(1, PageSize::Kib4));
        assert!(cache.lookup(DEVICE, 0x0123).is_some());
        let gone = cache.fill(DEVICE, page(2, PageSize::Kib4));
        assert_eq!(gone, Some((DEVICE.into(), page(1, PageSize::Kib4))));
        assert!(cache.holds(DEVICE, 0) && !cache.holds(DEVICE, 0x1000));
    }

    #[test]
    fn a_page_that_is_filled_again_takes_no_second_entry() {
        let mut cache = cache(2, 2);
        cache.fill(DEVICE, page(0, PageSize::Kib4));
        cache.fill(DEVICE, page(1, PageSize::Kib4));
        let moved = Mapping::around(0, 0x9000, PageSize::Kib4, Rights::Read);
        assert_eq!(cache.fill(DEVICE, moved), None);
        assert_eq!(cache.lookup(DEVICE, 0), Some(moved));
        assert!(cache.holds(DEVICE, 0x1000));
    }

    #[test]
    fn one_entry_serves_all_addresses_of_a_huge_page_and_of_one_function_only() {
        let mut cache = cache(16, 4);
        cache.fill(DEVICE, page(3, PageSize::Gib1));
        let address = (3 << 30) + 0x1234_5678;
        assert_eq!(cache.lookup(DEVICE, address), Some(page(3, PageSize::Gib1)));
        assert_eq!(cache.lookup(OTHER, address), None);
        assert_eq!(cache.lookup(DEVICE, 4 << 30), None);
    }

    #[test]
    fn an_invalidation_drops_each_page_it_touches() {
        let mut cache = cache(16, 16);
        cache.fill(DEVICE, page(0, PageSize::Kib64));
        cache.fill(DEVICE, page(1, PageSize::Kib64));
        cache.fill(OTHER, page(0, PageSize::Kib64));
        cache.invalidate(DEVICE, &(0xf000..=0xffff));
        assert!(!cache.holds(DEVICE, 0));
        assert!(cache.holds(DEVICE, 0x1_0000) && cache.holds(OTHER, 0));
        cache.invalidate_all();
        assert!(!cache.holds(DEVICE, 0x1_0000) && !cache.holds(OTHER, 0));
        assert_eq!(cache.present, [0; 5]);
    }

    #[derive(Clone, Debug)]
    enum Use {
        Lookup(u16, u64),
        Fill(u16, u64, PageSize),
        Invalidate(u16, u64, u64),
    }

    fn any_use() -> impl Strategy<Value = Use> {
        let size = prop::sample::select(&PageSize::ALL[..3]);
        prop_oneof![
            3 => (0..3_u16, 0..1_u64 << 24).prop_map(|(who, at)| Use::Lookup(who, at)),
            2 => (0..3_u16, 0..1_u64 << 24, size).prop_map(|(who, at, size)| Use::Fill(who, at, size)),
            1 => (0..3_u16, 0..1_u64 << 24, 0..1_u64 << 18).prop_map(|(who, at, len)| Use::Invalidate(who, at, len)),
        ]
    }

    proptest! {
        #[test]
        fn what_is_found_was_filled_and_not_invalidated_since(
            entries in 0..7_u32, ways in 0..7_u32, uses in prop::collection::vec(any_use(), 1..300),
        ) {
            let mut cache = cache(1 << entries, 1 << ways.min(entries));
            let mut known: Vec<(FunctionId, Mapping)> = Vec::new();
            for one in uses {
                match one {
                    Use::Lookup(who, at) => {
                        let who = FunctionId(who);
                        let found = cache.lookup(who, at);
                        let known = known.iter().find(|(owner, page)| *owner == who && page.covers(at));
                        prop_assert!(found.is_none() || found == known.map(|(_, page)| *page));
                    }
                    Use::Fill(who, at, size) => {
                        let (who, page) = (FunctionId(who), Mapping::around(at, at * 3, size, Rights::Read));
                        cache.invalidate(who, &page.range());
                        known.retain(|(owner, other)| *owner != who || !other.overlaps(&page.range()));
                        cache.fill(who, page);
                        known.push((who, page));
                        prop_assert_eq!(cache.lookup(who, at), Some(page));
                    }
                    Use::Invalidate(who, at, len) => {
                        let (who, range) = (FunctionId(who), at..=at + len);
                        cache.invalidate(who, &range);
                        known.retain(|(owner, page)| *owner != who || !page.overlaps(&range));
                    }
                }
                let held: usize = cache.sets.iter().map(Vec::len).sum();
                prop_assert_eq!(held, cache.present.iter().sum::<u32>() as usize);
                prop_assert!(cache.sets.iter().all(|set| set.len() <= cache.ways));
            }
        }

        #[test]
        fn as_many_pages_as_there_are_ways_are_found_again_whatever_their_sizes(
            pages in prop::collection::btree_set((0..64_u64, 0..5_usize), 8),
        ) {
            // Pages of different sizes have distant addresses, so that no page contains another.
            let pages: Vec<Mapping> = pages.into_iter().map(|(number, size)| {
                let base = (size as u64 + 1) << 40;
                let size = PageSize::ALL[size];
                Mapping::around(base | (number << size.bits()), 0, size, Rights::Read)
            }).collect();
            let mut cache = cache(8, 8);
            for page in &pages {
                prop_assert_eq!(cache.fill(DEVICE, *page), None);
            }
            for page in &pages {
                prop_assert_eq!(cache.lookup(DEVICE, *page.range().end()), Some(*page));
            }
        }
    }
}
