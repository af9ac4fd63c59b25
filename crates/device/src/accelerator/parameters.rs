//! Parameters of an accelerator with a coherent cache.

use coherence::{Geometry, GeometryError};
use kernel::{Bytes, Frequency, Span};
use transaction::TranslationCache;

kernel::parameters! {
    /// The parameters of an accelerator.
    pub struct AcceleratorParameters {
        /// Size of the cache for lines of the host's memory.
        cache: Bytes = Bytes(128 << 10), from "AMD System Cache: 32 KiB to 4 MiB, ours";
        /// Ways of the cache.
        cache_ways: u32 = 4, from "AMD System Cache: 2 or 4";
        /// Latency of a write that hits.
        cache_latency: Span = Span::from_ns(48), from "AMD System Cache: some 12 cycles, here of 250 MHz";
        /// Additional latency of a read, to read the data from the cache's memory and to transfer it through the port.
        data_latency: Span = Span::from_ns(16), from "AMD System Cache: 16 cycles in all, here of 250 MHz";
        /// Additional latency in the cache of an access that sends a request to the home agent.
        miss_latency: Span = Span::from_ns(116), from "AMD System Cache: 45 cycles and the round trip, against 16, here of 250 MHz";
        /// Time from a snoop to its response.
        snoop_latency: Span = Span::from_ns(80), from "our choice: 20 cycles of 250 MHz";
        /// Size of a second level, which includes the first; "0 B" for no second level.
        second_cache: Bytes = Bytes(0), from "our choice: one level";
        /// Ways of the second level.
        second_cache_ways: u32 = 8, from "our choice";
        /// Additional latency of an access with its line only in the second level.
        second_latency: Span = Span::from_ns(40), from "our choice: 10 cycles of 250 MHz";
        /// Clock of the port for accesses.
        port_clock: Frequency = Frequency(250_000_000), within Frequency(1_000_000)..=Frequency(10_000_000_000), lifts "datapath", from "common for FPGA logic";
        /// Bytes that the port transfers each cycle.
        port_width: Bytes = Bytes(64), among [Bytes(4), Bytes(8), Bytes(16), Bytes(32), Bytes(64)], from "AMD System Cache: up to 512 bits";
        /// Number of requests at the port, one after the other, for an atomic operation that returns a value: for example, one for its operands
        /// by the write channel and one for the value by the read channel. Each has the latency of the cache. An AtomicStore is one request.
        atomic_accesses: u32 = 2, within 1..=16, from "AMD PG118 5.0, Atomics: all but AtomicStore use both the AW and the AR channel";
        /// Request for a line that is written whole and not held: "make-unique", which moves no data, or "read-unique".
        whole_line_request: WholeLineRequest = WholeLineRequest::MakeUnique, from "our choice: what CCIX has for this";
        /// Most outstanding requests for lines; as many write-backs may be outstanding besides them.
        outstanding: u32 = 64, within 1..=2048, from "our choice";
        /// Whether addresses are virtual, and translated by the host (ATS).
        virtual_addresses: bool = false, from "our choice: physical addresses";
        /// Size of the translation cache in translations, a power of two.
        translations: u32 = 256, within 1..=16384, from "AMD System Cache: 256";
        /// Ways of the translation cache.
        translation_ways: u32 = 4, within 1..=16384, from "our choice";
        /// Additional latency of an access that misses the translation cache, besides the host's answer; half of it before the
        /// request, half after the answer.
        translation_latency: Span = Span::ZERO, from "our choice: none";
        /// Most outstanding translation requests.
        translation_requests: u32 = 16, within 1..=32, from "our choice";
        /// Most outstanding page requests (PRI). With 0 there are no page requests, and accesses to absent pages fail.
        page_requests: u32 = 16, within 0..=512, from "our choice";
    }
}

kernel::choices! {
    /// The request for a line that is written whole and not held.
    pub enum WholeLineRequest {
        /// `MakeUnique`: without data.
        MakeUnique = "make-unique",
        /// `ReadUnique`: with the old data, which the write replaces.
        ReadUnique = "read-unique",
    }
}

impl AcceleratorParameters {
    /// Geometry of the whole cache, and of the first level if there are two levels; or the error, with the parameter's key.
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

    /// An empty translation cache.
    pub fn translation_cache(&self) -> Result<TranslationCache, transaction::GeometryError> {
        TranslationCache::new(self.translations, self.translation_ways)
    }

    /// Time from one line at the port to the next.
    pub(super) fn line_interval(&self) -> Span {
        self.port_clock.period() * (64 / self.port_width.0)
    }
}
