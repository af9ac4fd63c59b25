//! Parameters of a translation agent.

use kernel::{Bytes, Span};
use transaction::{GeometryError, PageSize, TranslationCache};

kernel::parameters! {
    /// The parameters of a translation agent.
    pub struct IommuParameters {
        /// Whether the host translates the addresses of all requests from below. Software maps every address to itself; without this,
        /// only devices with virtual addresses have theirs translated.
        iommu: bool = false, from "our choice: off, so that addresses from below are physical";
        /// Largest page by which software maps the memory for `iommu`; other devices' BARs have the largest pages that fit.
        iommu_page: PageSize = PageSize::Kib4, from "common on Linux: each buffer of a driver is mapped by itself";
        /// Bytes of the memory, from its beginning, that software maps for `iommu`; what is beyond is a fault.
        iommu_mapped: Option<Bytes> = None, within None..=Some(Bytes(1 << 36)), from "our choice: all of it";
        /// Most requests from below whose translations are outstanding; later ones wait in the receive buffers of their root ports. 0
        /// for as many as these buffers hold.
        iommu_requests: u32 = 0, within 0..=65536, from "our choice: the receive buffers are the limit";
        /// Pages in the cache of translations (IOTLB), a power of two.
        iotlb_entries: u32 = 64, within 1..=65536, from "Neugebauer et al., Understanding PCIe performance for end host networking, SIGCOMM 2018: 64 inferred for Intel servers";
        /// Ways of the IOTLB, a power of two; as many as entries for a fully associative cache.
        iotlb_ways: u32 = 4, within 1..=65536, from "Arm MMU-600 TRM, TBU direct indexing: a main TLB has four ways";
        /// Latency of a lookup in the IOTLB. Lookups are pipelined.
        lookup_latency: Span = Span::from_ns(3), from "three cycles, as a main TLB of gem5's SMMUv3 takes, of 1 GHz";
        /// Page walks at the same time; each reads one descriptor after the other.
        walkers: u32 = 8, within 1..=256, from "Arm MMU-500 TRM 2.3.5: eight for a translation buffer unit";
        /// Tables of the lower levels in the walk cache, at which walks can begin.
        walk_cache_entries: u32 = 0, within 0..=4096, from "our choice: none, every walk begins at the root";
        /// Time of a translation request (ATS) in the agent before its lookup.
        request_latency: Span = Span::ZERO, from "our choice: none";
        /// Time that software takes to make a page resident for a page request (PRI).
        page_latency: Span = Span::from_us(10), from "common on Linux: an interrupt, a thread, and a minor page fault";
        /// Whether the page after a used page is walked ahead while a walker is free.
        pretranslate: bool = false, from "off by default in gem5's SMMUv3, too";
    }
}

impl IommuParameters {
    /// An IOTLB of this geometry, if it is valid.
    pub fn iotlb(&self) -> Result<TranslationCache, GeometryError> {
        TranslationCache::new(self.iotlb_entries, self.iotlb_ways)
    }
}
