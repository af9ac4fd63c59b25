//! What a translation agent can be told.

use kernel::Span;
use transaction::{GeometryError, TranslationCache};

kernel::parameters! {
    /// What a translation agent can be told.
    pub struct IommuParameters {
        /// Pages that its cache of translations (IOTLB) holds, a power of two.
        iotlb_entries: u32 = 64, within 1..=65536, from "our choice: small enough for traffic of a few devices to show it";
        /// Entries of each set of that cache: a power of two, and all entries for a fully associative one.
        iotlb_ways: u32 = 4, within 1..=65536, from "Arm MMU-600 TRM, TBU direct indexing: a main TLB has four ways";
        /// Time until it is known whether the cache has a page. Lookups follow each other as fast as they come.
        lookup_latency: Span = Span::from_ns(3), from "three cycles, as a main TLB of gem5's SMMUv3 takes, of 1 GHz";
        /// Page walks at the same time, each of which reads one descriptor after the other.
        walkers: u32 = 8, within 1..=256, from "Arm MMU-500 TRM 2.3.5: eight for a translation buffer unit";
        /// Tables of the lower levels that are remembered, so that walks begin there.
        walk_cache_entries: u32 = 0, within 0..=4096, from "our choice: none, every walk begins at the root";
        /// Time that a translation request (ATS) takes through the agent before it is looked up.
        request_latency: Span = Span::ZERO, from "our choice: none";
        /// Time that software takes to bring in a page that a device asks for (PRI).
        page_latency: Span = Span::from_us(10), from "common on Linux: an interrupt, a thread, and a minor page fault";
        /// Whether the page after one that is used is walked ahead while a walker is free.
        pretranslate: bool = false, from "off by default in gem5's SMMUv3, too";
    }
}

impl IommuParameters {
    /// An IOTLB of that geometry, if there can be one.
    pub fn iotlb(&self) -> Result<TranslationCache, GeometryError> {
        TranslationCache::new(self.iotlb_entries, self.iotlb_ways)
    }
}
