//! Parameters of the coherence of a host's memory.

use coherence::{Geometry, GeometryError};
use kernel::{Bytes, Span};
use protocol::coherence::PacketFormat;
use transaction::Packing;

kernel::parameters! {
    /// The parameters of the coherence of a host's memory.
    pub struct CoherenceParameters {
        /// Whether cores, and devices that can, cache lines of the memory.
        coherent: bool = false, from "our choice: without coherent devices, caches change nothing";
        /// Size of each core's cache, which includes its first level.
        core_cache: Bytes = Bytes(1 << 20), from "Arm Neoverse N1: 1 MiB";
        /// Ways of each core's cache.
        core_cache_ways: u32 = 8, from "Arm Neoverse N1";
        /// Latency of a load that hits in a core's cache.
        core_cache_latency: Span = Span::from_fs(4_231_000), from "Arm Neoverse N1: 11 cycles, here of 2.6 GHz";
        /// Size of each core's first-level data cache.
        first_cache: Bytes = Bytes(64 << 10), from "Arm Neoverse N1: 64 KiB";
        /// Ways of the first-level data cache.
        first_cache_ways: u32 = 4, from "Arm Neoverse N1";
        /// Latency of a load that hits in the first-level data cache.
        first_cache_latency: Span = Span::from_fs(1_538_000), from "Arm Neoverse N1: 4 cycles, here of 2.6 GHz";
        /// Most outstanding lines of a core.
        core_requests: u32 = 16, within 1..=1024, from "common among server cores: line fill buffers";
        /// Time from a snoop to a core's response.
        core_snoop_latency: Span = Span::from_ns(15), from "our choice: a lookup in both levels, some 40 cycles";
        /// Where cores execute atomic operations: "near", in the core's cache after it has the line, or "far", at the home agent
        /// unless the core holds the line alone.
        core_atomics: CoreAtomics = CoreAtomics::Near, from "our choice; Armv8.1 cores have both";
        /// Additional time of an atomic operation on a line that the core holds, compared with a load.
        atomic_latency: Span = Span::from_ns(8), from "common among server cores: some 20 cycles";
        /// Time from a core to the home agent.
        core_distance: Span = Span::from_ns(8), from "our choice: with the home agent's time, a load from the system cache takes 22 ns and more, as Arm says of Neoverse N1";
        /// Time from a root port to the home agent, for coherence messages.
        port_distance: Span = Span::from_ns(100), from "our choice: that of packets to the memory controller";
        /// Time that the home agent needs for its directory and for an answer.
        home_latency: Span = Span::from_ns(6), from "our choice: some 10 cycles";
        /// Size of the system cache, which all agents share.
        system_cache: Bytes = Bytes(8 << 20), from "Arm N1-SDP: 8 MiB";
        /// Ways of the system cache.
        system_cache_ways: u32 = 16, from "Arm CMN-600";
        /// Latency of the system cache.
        system_cache_latency: Span = Span::from_ns(10), from "our choice: see core_distance";
        /// Packet header of coherence messages: "optimized" or "compatible".
        packet_header: PacketHeader = PacketHeader::Optimized, from "CCIX: both ends of a link choose it where they can";
        /// Whether several coherence messages go in one packet.
        message_packing: bool = true, from "CCIX: unless an end has NoMessagePack";
        /// Largest payload of a packet of coherence messages.
        largest_packet: Bytes = Bytes(256), among [Bytes(128), Bytes(256), Bytes(512)], from "CCIX: 128, 256 or 512";
    }
}

kernel::choices! {
    /// The type of header of packets of coherence messages.
    pub enum PacketHeader {
        /// One dword.
        Optimized = "optimized",
        /// Four dwords, which PCI Express switches can route.
        Compatible = "compatible",
    }
}

kernel::choices! {
    /// The location at which cores execute atomic operations.
    pub enum CoreAtomics {
        /// In the core's cache.
        Near = "near",
        /// At the home agent, unless the core holds the line alone.
        Far = "far",
    }
}

impl CoherenceParameters {
    /// The packing of messages into packets.
    pub fn packing(&self) -> Packing {
        Packing {
            format: match self.packet_header {
                PacketHeader::Optimized => PacketFormat::Optimized,
                PacketHeader::Compatible => PacketFormat::Compatible,
            },
            packs: self.message_packing,
            largest: self.largest_packet.0 as usize,
        }
    }

    /// Geometries of a core's cache, of its first level, and of the system cache; or the error, with the parameter's key.
    pub fn geometries(&self) -> Result<[Geometry; 3], (&'static str, GeometryError)> {
        let core = Geometry::new(self.core_cache.0, self.core_cache_ways);
        let first = Geometry::new(self.first_cache.0, self.first_cache_ways);
        let system = Geometry::new(self.system_cache.0, self.system_cache_ways);
        Ok([
            core.map_err(|error| error.under("core_cache", "core_cache_ways"))?,
            first.map_err(|error| error.under("first_cache", "first_cache_ways"))?,
            system.map_err(|error| error.under("system_cache", "system_cache_ways"))?,
        ])
    }
}
