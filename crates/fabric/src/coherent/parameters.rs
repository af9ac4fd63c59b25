//! What the coherence of a host's memory can be told.

use coherence::{Geometry, GeometryError};
use kernel::{Bytes, Span};
use protocol::coherence::PacketFormat;
use transaction::Packing;

kernel::parameters! {
    /// What the coherence of a host's memory can be told.
    pub struct CoherenceParameters {
        /// Whether cores, and devices that can, keep lines of the memory in caches of their own.
        coherent: bool = false, from "our choice: where nobody looks at caches, they change nothing";
        /// Cache of each core, which holds all that its first level holds.
        core_cache: Bytes = Bytes(1 << 20), from "Arm Neoverse N1: 1 MiB";
        /// Places that a line may stand at in it.
        core_cache_ways: u32 = 8, from "Arm Neoverse N1";
        /// Time from a load to its data out of it.
        core_cache_latency: Span = Span::from_fs(4_231_000), from "Arm Neoverse N1: 11 cycles, here of 2.6 GHz";
        /// First level of each core's cache, for data.
        first_cache: Bytes = Bytes(64 << 10), from "Arm Neoverse N1: 64 KiB";
        /// Places that a line may stand at in it.
        first_cache_ways: u32 = 4, from "Arm Neoverse N1";
        /// Time from a load to its data out of it.
        first_cache_latency: Span = Span::from_fs(1_538_000), from "Arm Neoverse N1: 4 cycles, here of 2.6 GHz";
        /// Lines that a core may have asked for at a time.
        core_requests: u32 = 16, within 1..=1024, from "common among server cores: line fill buffers";
        /// Time from a snoop to a core's answer.
        core_snoop_latency: Span = Span::from_ns(15), from "our choice: a look at both levels, some 40 cycles";
        /// Where atomic operations of cores happen: "near", in the core's cache, which gets the line, or "far", at the home agent unless the core holds the line alone.
        core_atomics: CoreAtomics = CoreAtomics::Near, from "our choice; Armv8.1 cores have both";
        /// Time that a core takes for an atomic operation on a line that it holds, beyond a load's.
        atomic_latency: Span = Span::from_ns(8), from "common among server cores: some 20 cycles";
        /// Time from a core to the home agent, one way.
        core_distance: Span = Span::from_ns(8), from "our choice: with the home agent's time, a load from the system cache takes 22 ns and more, as Arm says of Neoverse N1";
        /// Time from a root port to the home agent, one way, for coherence messages.
        port_distance: Span = Span::from_ns(100), from "our choice: that of packets to the memory controller";
        /// Time that the home agent takes to look at its directory and to answer.
        home_latency: Span = Span::from_ns(6), from "our choice: some 10 cycles";
        /// Cache before the memory, which all share.
        system_cache: Bytes = Bytes(8 << 20), from "Arm N1-SDP: 8 MiB";
        /// Places that a line may stand at in it.
        system_cache_ways: u32 = 16, from "Arm CMN-600";
        /// Time that it takes to give a line.
        system_cache_latency: Span = Span::from_ns(10), from "our choice: see core_distance";
        /// Header of packets of coherence messages: "optimized" or "compatible".
        packet_header: PacketHeader = PacketHeader::Optimized, from "CCIX: both ends of a link choose it where they can";
        /// Whether several coherence messages go in one packet.
        message_packing: bool = true, from "CCIX: unless an end has NoMessagePack";
        /// Bytes of messages in a packet at most.
        largest_packet: Bytes = Bytes(256), among [Bytes(128), Bytes(256), Bytes(512)], from "CCIX: 128, 256 or 512";
    }
}

/// Which header packets of coherence messages have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketHeader {
    /// One dword.
    Optimized,
    /// Four dwords, which PCI Express understands.
    Compatible,
}

/// Where atomic operations of cores happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreAtomics {
    /// In the core's cache.
    Near,
    /// At the home agent, unless the core holds the line alone.
    Far,
}

impl CoreAtomics {
    const NAMES: [(&str, Self); 2] = [("near", Self::Near), ("far", Self::Far)];
}

impl PacketHeader {
    const NAMES: [(&str, Self); 2] = [
        ("optimized", Self::Optimized),
        ("compatible", Self::Compatible),
    ];
}

kernel::choices!(CoreAtomics);
kernel::choices!(PacketHeader);

impl CoherenceParameters {
    /// How messages are made into packets.
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

    /// The caches: of a core, its first level, and the system's. With the key of the one that cannot be.
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
