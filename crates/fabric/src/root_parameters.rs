//! What a root complex and its memory can be told.

use kernel::{Bandwidth, Bytes, Span};
use transaction::RequesterLimits;

kernel::parameters! {
    /// What a host can be told.
    pub struct RootComplexParameters {
        /// Root ports.
        ports: u32 = 8, within 1..=60, from "common among servers";
        /// Sockets. Every two are joined directly; a link to a root port says which one that belongs to, and the CPU is on the first.
        sockets: u32 = 1, within 1..=MOST_SOCKETS as u32, from "common among workstations; servers often have two";
        /// Time from one socket to another, one way.
        socket_latency: Span = Span::from_ns(30), from "half of what a read of the other socket's memory takes longer on two-socket Skylake-SP servers, some 57 ns by memory latency checkers";
        /// Rate from one socket to another, each way, for the headers and payloads of packets.
        socket_bandwidth: Bandwidth = Bandwidth(20_800_000_000),
            within Bandwidth(1_000_000)..=Bandwidth(1_000_000_000_000_000), from "one UPI link: 16 data lanes of 10.4 GT/s";
        /// Size of the memory. In order of address, each socket has an even share of it, in whole pages of 4 KiB.
        memory: Bytes = Bytes(1 << 30), within Bytes(4096)..=Bytes(1 << 36), from "our choice";
        /// Where the memory is: 32 for address 0 on (up to 3 GiB), 64 for 4 GiB on, which requests reach with 16-byte headers.
        memory_address_bits: u32 = 32, among [32, 64], from "our choice: 12-byte headers";
        /// Time from a packet's last bit in at a root port to the memory controller, and from there to a root port.
        latency: Span = Span::from_ns(100), from "our choice: half of what is left of common round trips";
        /// Time that the memory takes to answer a read, after its turn has come.
        memory_read_latency: Span = Span::from_ns(80), from "common for DDR3 and DDR4";
        /// The answer takes up to this much longer, evenly distributed.
        memory_read_jitter: Span = Span::ZERO, from "our choice: none";
        /// Rate at which the memory of a socket takes and gives lines, reads and writes together.
        memory_bandwidth: Bandwidth = Bandwidth(204_800_000_000),
            within Bandwidth(1_000_000)..=Bandwidth(1_000_000_000_000_000), from "eight channels of DDR4-3200: seldom the limit";
        /// The unit of memory accesses: a shorter write takes the time of a whole line.
        memory_line: Bytes = Bytes(64), among [Bytes(32), Bytes(64), Bytes(128)], from "one burst of a 64-bit DDR channel";
        /// Time that a write of less than a line takes beyond the line's own: the rest of the line must be fetched first.
        memory_partial_line: Span = Span::ZERO, from "our choice: a cache takes it";
        /// Boundary at which completions end (Link Control, Read Completion Boundary).
        read_completion_boundary: Bytes = Bytes(64), among [Bytes(64), Bytes(128)], from "PCIe Base 2.3.1.1: 64 B or 128 B";
        /// Largest payload of a completion, where the max payload size admits it.
        largest_completion: Bytes = Bytes(4096), within Bytes(64)..=Bytes(4096), from "our choice: the max payload size decides";
        /// Time from a packet's last bit in at a root port to its first bit out at another.
        peer_latency: Span = Span::from_ns(200), from "our choice: twice the latency to the memory controller";
        /// Whether requests from one root port to another are carried out.
        peer_to_peer: bool = true, from "our choice; many hosts do not";
        /// Non-posted requests of the CPU that may wait for completions.
        tags: u32 = 32, within 1..=256, from "our choice";
        /// How long a non-posted request waits for its completions.
        completion_timeout: Span = Span::from_us(10_000), within Span::from_us(50)..=Span::from_us(64_000_000), from "PCIe Base 2.8: 50 us to 50 ms, and 10 ms or more is recommended";
        /// Largest read request of the CPU.
        max_read_request: Bytes = Bytes(64), among [Bytes(4), Bytes(8), Bytes(16), Bytes(32), Bytes(64), Bytes(128), Bytes(256), Bytes(512), Bytes(1024), Bytes(2048), Bytes(4096)], from "a cache line";
    }
}

const PAGE: u64 = 4096;

/// As many as any x86 server joins without further hardware.
pub(crate) const MOST_SOCKETS: usize = 8;

impl RootComplexParameters {
    /// The first address of the memory.
    pub fn memory_base(&self) -> u64 {
        if self.memory_address_bits == 64 {
            1 << 32
        } else {
            0
        }
    }

    /// How much of the memory a socket has, but the last one, which has what is left. No request crosses its end, as none
    /// crosses that of a page (PCIe Base 2.2.7).
    pub(crate) fn memory_share(&self) -> u64 {
        let share = self.memory.0.div_ceil(self.sockets.into());
        share.next_multiple_of(PAGE)
    }

    /// What the CPU may ask for, where the smallest max payload size of the root ports is `max_payload`.
    pub fn limits(&self, max_payload: u32) -> RequesterLimits {
        RequesterLimits {
            max_payload,
            max_read_request: self.max_read_request.0 as u32,
            tags: self.tags as u16,
            completion_timeout: self.completion_timeout,
        }
    }
}
