//! Parameters of a translation agent.

use kernel::{Bytes, Span};
use transaction::{GeometryError, PageSize, TranslationCache};

use super::Processes;

kernel::parameters! {
    /// The parameters of a translation agent.
    pub struct IommuParameters {
        /// Whether the host translates the addresses of all requests from below. Software maps every address to itself; without this,
        /// only devices with virtual addresses have theirs translated.
        iommu: bool = false, lifts "mapping", from "our choice: off, so that addresses from below are physical";
        /// Largest page by which software maps the memory for `iommu`; other devices' BARs have the largest pages that fit.
        iommu_page: PageSize = PageSize::Kib4, lifts "mapping" to ["2 MiB"], from "common on Linux: each buffer of a driver is mapped by itself";
        /// Bytes of the memory, from its beginning, that software maps for `iommu`; what is beyond is a fault.
        iommu_mapped: Option<Bytes> = None, within Some(Bytes(4096))..=Some(Bytes(1 << 36)), from "our choice: all of it";
        /// The processes whose addresses devices may use, by PASID, each perhaps with the bytes of memory, from its beginning, that software
        /// maps for it; all of it, and the BARs of devices, where none are written: "1, 16-31, 7: 64 KiB". Software maps every address to
        /// itself. The addresses of other processes, and those that are not mapped, are faults. Requests without a PASID prefix are translated only with `iommu`.
        iommu_pasids: Option<Processes> = None, from "our choice: none; PCIe Base 6.20: optional";
        /// Most requests from below whose translations are outstanding; later ones wait in the receive buffers of their root ports. 0
        /// for as many as these buffers hold.
        iommu_requests: u32 = 0, within 0..=65536, from "our choice: the receive buffers are the limit";
        /// Pages in the cache of translations (IOTLB), a power of two.
        iotlb_entries: u32 = 64, within 1..=65536, lifts "memory address translation", from "Neugebauer et al., Understanding PCIe performance for end host networking, SIGCOMM 2018: 64 inferred for Intel servers";
        /// Ways of the IOTLB, a power of two; as many as entries for a fully associative cache.
        iotlb_ways: u32 = 4, within 1..=65536, from "Arm MMU-600 TRM, TBU direct indexing: a main TLB has four ways";
        /// Latency of a lookup in the IOTLB. Lookups are pipelined.
        lookup_latency: Span = Span::from_ns(3), from "three cycles, as a main TLB of gem5's SMMUv3 takes, of 1 GHz";
        /// Page walks at the same time; each reads one descriptor after the other.
        walkers: u32 = 8, within 1..=256, lifts "memory address translation", from "Arm MMU-500 TRM 2.3.5: eight for a translation buffer unit";
        /// Time from the IOMMU to the memory controller, and from the memory controller to the IOMMU, which each read of a descriptor takes.
        walk_latency: Option<Span> = None, within None..=Some(Span::from_us(10)), from "computed: the way of a request from its root port, latency less port_latency; none in a coherent host, whose home agent has the memory";
        /// Tables of the lower levels in the walk cache, at which walks can begin.
        walk_cache_entries: u32 = 256, within 0..=4096, from "Intel 814346, Agilex 5, TCU of an Arm MMU-600: 256 for each level of tables";
        /// Bytes of translated requests of a function after which software invalidates, because it unmaps what the function has used: the
        /// size of a buffer (iommu.strict=1 on Linux), or of as many as are unmapped together.
        invalidate_after: Option<Bytes> = None, within Some(Bytes(1))..=Some(Bytes(1 << 40)), lifts "mapping" times [256], from "our choice: mappings stay. Linux, drivers/iommu/dma-iommu.c: a flush queue has 256 buffers";
        /// Translations that go after so many bytes: "pages", translations of the pages that the function has used since the last time, or
        /// "function", all of it, with the tables in the walk cache.
        invalidation_scope: InvalidationScope = InvalidationScope::Pages, from "VT-d, IOTLB Invalidate: page-selective or domain-selective; iommu.strict=1 on Linux unmaps pages";
        /// Time from the first use of a translation to an invalidation of all translations of all functions, again and again.
        invalidation_interval: Option<Span> = None, within Some(Span::from_ns(1))..=Some(Span::from_us(64_000_000)), lifts "mapping" times [256], from "our choice: none. Linux, drivers/iommu/dma-iommu.c: a flush queue is emptied after 10 ms";
        /// Time of an invalidation in the IOMMU, from its order or the end of the one before. Software waits for its end before it
        /// orders the next one for the function.
        invalidation_latency: Span = Span::from_ns(200), from "our choice: two accesses to memory, for the descriptor and for the status of its end (VT-d, queued invalidation)";
        /// Time of a translation request (ATS) in the agent before its lookup.
        request_latency: Span = Span::ZERO, from "our choice: none";
        /// Time that software takes to make a page resident for a page request (PRI).
        page_latency: Span = Span::from_us(10), from "common on Linux: an interrupt, a thread, and a minor page fault";
        /// Whether the page after a used page is walked ahead while a walker is free.
        pretranslate: bool = false, from "off by default in gem5's SMMUv3, too";
    }
}

kernel::choices! {
    /// The translations that an invalidation by software removes.
    pub enum InvalidationScope {
        /// The pages that the function has used.
        Pages = "pages",
        /// All translations of the function.
        Function = "function",
    }
}

impl IommuParameters {
    /// An IOTLB of this geometry, if it is valid.
    pub fn iotlb(&self) -> Result<TranslationCache, GeometryError> {
        TranslationCache::new(self.iotlb_entries, self.iotlb_ways)
    }
}
