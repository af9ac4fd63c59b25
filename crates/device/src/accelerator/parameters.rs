//! What an accelerator with a coherent cache can be told.

use coherence::{Geometry, GeometryError};
use kernel::{Bytes, Frequency, Span};
use protocol::{AddressTranslation, Ats, PageRequests};
use transaction::TranslationCache;

kernel::parameters! {
    /// What an accelerator can be told.
    pub struct AcceleratorParameters {
        /// Its cache, which holds lines of the host's memory.
        cache: Bytes = Bytes(128 << 10), from "AMD System Cache: 32 KiB to 4 MiB, ours";
        /// Places that a line may stand at in it.
        cache_ways: u32 = 4, from "AMD System Cache: 2 or 4";
        /// Time from an access to the end of a write to a line that it may write.
        cache_latency: Span = Span::from_ns(48), from "AMD System Cache: some 12 cycles, here of 250 MHz";
        /// Time that a read takes longer: the data comes out of its memory and across the port.
        data_latency: Span = Span::from_ns(16), from "AMD System Cache: 16 cycles in all, here of 250 MHz";
        /// Time that an access which must ask the home agent takes in the cache beyond that.
        miss_latency: Span = Span::from_ns(116), from "AMD System Cache: 45 cycles and the round trip, against 16, here of 250 MHz";
        /// Time from a snoop to its answer.
        snoop_latency: Span = Span::from_ns(80), from "our choice: 20 cycles of 250 MHz";
        /// A second level behind it; "0 B" for none. The first holds no line that this does not hold.
        second_cache: Bytes = Bytes(0), from "our choice: one level";
        /// Places that a line may stand at in the second level.
        second_cache_ways: u32 = 8, from "our choice";
        /// Time that an access takes longer whose line is in the second level alone.
        second_latency: Span = Span::from_ns(40), from "our choice: 10 cycles of 250 MHz";
        /// Clock of the port by which accesses come.
        port_clock: Frequency = Frequency(250_000_000), within Frequency(1_000_000)..=Frequency(10_000_000_000), from "common for FPGA logic";
        /// Bytes that the port moves each cycle.
        port_width: Bytes = Bytes(64), among [Bytes(4), Bytes(8), Bytes(16), Bytes(32), Bytes(64)], from "AMD System Cache: up to 512 bits";
        /// Requests at the port that an atomic operation is made of, such as its operands and then the operation: each takes the latency of the cache.
        atomic_accesses: u32 = 2, within 1..=16, from "the authors of ccix: atomics are sequences of AXI requests";
        /// Lines that it may have asked for at a time.
        outstanding: u32 = 64, within 2..=4096, from "our choice";
        /// Whether addresses are virtual, and translated by the host (ATS).
        virtual_addresses: bool = false, from "our choice: physical addresses";
        /// Translations that it keeps, a power of two.
        translations: u32 = 256, within 1..=16384, from "AMD System Cache: 256";
        /// Places that a translation may stand at.
        translation_ways: u32 = 4, within 1..=16384, from "our choice";
        /// Time that an access takes longer whose translation is not there, beyond the host's answer: half before the request and half behind it.
        translation_latency: Span = Span::ZERO, from "our choice: none";
        /// Translation requests that may be under way.
        translation_requests: u32 = 16, within 1..=32, from "our choice";
        /// Pages that it may ask the host to bring in at a time (PRI); 0 for none, where accesses to absent pages fail.
        page_requests: u32 = 16, within 0..=512, from "our choice";
        /// How long a translation request waits for its answer.
        completion_timeout: Span = Span::from_us(10_000), within Span::from_us(50)..=Span::from_us(64_000_000), from "PCIe Base 2.8: 50 us to 50 ms, and 10 ms or more is recommended";
    }
}

impl AcceleratorParameters {
    /// The cache whose lines it holds, and the first level before that, if there are two. With the key of one that cannot be.
    pub fn geometries(
        &self,
    ) -> Result<(Geometry, Option<Geometry>), (&'static str, GeometryError)> {
        let cache = Geometry::new(self.cache.0, self.cache_ways);
        let cache = cache.map_err(|error| error.under("cache", "cache_ways"))?;
        if self.second_cache.0 == 0 {
            return Ok((cache, None));
        }
        let second = Geometry::new(self.second_cache.0, self.second_cache_ways);
        let second = second.map_err(|error| error.under("second_cache", "second_cache_ways"))?;
        Ok((second, Some(cache)))
    }

    /// Its cache of translations, empty.
    pub fn translation_cache(&self) -> Result<TranslationCache, transaction::GeometryError> {
        TranslationCache::new(self.translations, self.translation_ways)
    }

    /// How the function has its addresses translated, if they are virtual.
    pub fn address_translation(&self) -> Option<AddressTranslation> {
        let ats = Ats {
            invalidate_queue_depth: 32,
            global_invalidate: true,
        };
        let requests = PageRequests {
            capacity: self.page_requests,
        };
        self.virtual_addresses.then(|| AddressTranslation {
            ats,
            page_requests: (self.page_requests > 0).then_some(requests),
        })
    }

    /// From one line at the port to the next.
    pub(super) fn line_interval(&self) -> Span {
        self.port_clock.period() * (64 / self.port_width.0)
    }
}
