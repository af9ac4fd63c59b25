//! Parameters of a root complex and its memory.

use kernel::{Bandwidth, Bytes, Frequency, Span};
use packet::Between;
use protocol::{Class, PerClass};
use transaction::{CompletionBuffer, Datapath, OutstandingLimits, RequesterLimits, Staging};

kernel::parameters! {
    /// The parameters of a host.
    pub struct RootComplexParameters {
        /// Number of root ports.
        ports: u32 = 8, within 1..=MOST_ROOT_PORTS, from "common among servers";
        /// Number of sockets. Every two are connected directly. A link to a root port names the socket of the port; the CPU is on
        /// the first.
        sockets: u32 = 1, within 1..=MOST_SOCKETS as u32, from "common among workstations; servers often have two";
        /// Time from one socket to another, one way.
        socket_latency: Span = Span::from_ns(30), from "half of the additional latency of a read from the other socket's memory: some 57 ns on two-socket Skylake-SP servers by memory latency checkers";
        /// Rate from one socket to another in each direction, for headers and payloads of packets.
        socket_bandwidth: Bandwidth = Bandwidth(20_800_000_000),
            within Bandwidth(1_000_000)..=Bandwidth(1_000_000_000_000_000), lifts "socket", from "one UPI link: 16 data lanes of 10.4 GT/s";
        /// Number of quadrants of each socket: parts of its I/O die whose root ports share one path to the rest of the host, such as the
        /// IIO stacks of Intel Xeon processors. A link to a root port names the quadrant of the port.
        quadrants: u32 = 1, within 1..=MOST_QUADRANTS, from "PCIe Base 1.3.1: a root complex has root ports, and no parts that group them";
        /// Rate from each quadrant to the rest of the host, and from there to the quadrant, for headers and payloads of packets to and from
        /// memory, processors and root ports of other quadrants. Packets between root ports of one quadrant do not take this path.
        quadrant_bandwidth: Option<Bandwidth> = None, within None..=Some(Bandwidth(1_000_000_000_000_000)), lifts "datapath the path of a quadrant", from "our choice: the links are the limit";
        /// Additional time of a packet from a root port of one quadrant to a root port of another quadrant of the same socket.
        quadrant_latency: Span = Span::ZERO, from "our choice: none";
        /// Rate from each quadrant to each other quadrant of its socket, for headers and payloads of packets between root ports.
        quadrant_peer_bandwidth: Option<Bandwidth> = None, within None..=Some(Bandwidth(1_000_000_000_000_000)), lifts "datapath the path between root ports", from "our choice: the links are the limit";
        /// Requests between root ports of different quadrants of one socket that are forwarded, if peer_to_peer permits them, too.
        quadrant_peer_to_peer: PeerToPeer = PeerToPeer::All, from "our choice: as within a quadrant";
        /// Size of the memory. In order of addresses, each socket has an equal share, in whole pages of 4 KiB.
        memory: Bytes = Bytes(1 << 30), within Bytes(4096)..=Bytes(1 << 36), from "our choice";
        /// Location of the memory: 32 for address 0 (up to 3 GiB), 64 for address 4 GiB, for which requests need 16-byte headers.
        memory_address_bits: u32 = 64, among [32, 64], ranges ["32", "64"], from "common: the memory of a server is above 4 GiB but for its first 2 or 3 GiB, and drivers set a DMA mask of 64 bits";
        /// Time from the last bit of a packet at a root port to the memory controller, and from the memory controller to a root
        /// port.
        latency: Span = Span::from_ns(100), ranges ["50 ns", "200 ns"], from "our choice: half of the rest of common round trips; the ends leave 180 and 480 ns for a read at the port, of some 550 ns that a whole read of 64 B by an adapter takes below a Xeon E5 (Neugebauer et al., SIGCOMM 2018)";
        /// Part of the latency in the PHY and the pipeline of a root port; a packet holds its receive buffer during the rest. DLLPs
        /// pass the port, too. None in a coherent host: the latencies of its home agent begin and end at the pins.
        port_latency: Option<Span> = None, from "our choice: half of the latency";
        /// Clock of the datapath behind each root port, in each direction.
        port_clock: Frequency = Frequency(1_000_000_000), within Frequency(1_000_000)..=Frequency(10_000_000_000), lifts "datapath", from "our choice: common for server processors";
        /// Bytes that the datapath of a root port transfers each cycle; "0 B" for no limit. A packet holds its receive buffer until
        /// its last beat has passed.
        port_datapath: Bytes = Bytes(0), within Bytes(0)..=Bytes(1024), lifts "datapath" times [2, 4, 8], from "our choice: the link is the limit";
        /// Idle cycles of the datapath of a root port between two packets.
        port_idle_cycles: u32 = 0, within 0..=1000, from "our choice: none";
        /// Rate at which the memory system of each socket takes payloads of writes from root ports.
        ingest_bandwidth: Option<Bandwidth> = None, within None..=Some(Bandwidth(1_000_000_000_000_000)), lifts "memory", from "our choice: the memory is the limit";
        /// Number of writes of each socket that may be on their way from root ports to memory outside of the receive buffers; 0 for
        /// none, so that a write holds its receive buffer until it is in memory.
        write_buffers: u32 = 0, within 0..=65536, lifts "memory" times [16, 256] to ["256", "65536"], from "our choice: none";
        /// Number of writes to a line that one ownership of the line by a root port serves; 0 if writes need no ownership. A write
        /// is visible once its root port owns its lines, and after the earlier writes of its port.
        writes_per_ownership: u32 = 0, within 0..=64, lifts "memory the ownership of lines" to ["0"], from "our choice: a cache takes writes from all root ports";
        /// Time from the last write to a line under one ownership to the first under the next: the line is given back, and requested
        /// again.
        ownership_time: Option<Span> = None, within None..=Some(Span::from_us(1_000)), from "our choice: the way from the receive buffer of a root port to the memory controller and back";
        /// Latency of a read in the memory, after its lines are served.
        memory_read_latency: Span = Span::from_ns(80), ranges ["60 ns", "130 ns"], from "common for DDR3 and DDR4, from one die to chiplets";
        /// Largest random addition to the latency of a read, uniformly distributed.
        memory_read_jitter: Span = Span::ZERO, from "our choice: none";
        /// Bandwidth of each socket's memory, reads and writes together.
        memory_bandwidth: Bandwidth = Bandwidth(204_800_000_000),
            within Bandwidth(1_000_000)..=Bandwidth(1_000_000_000_000_000), lifts "memory", from "eight channels of DDR4-3200: seldom the limit";
        /// Unit of memory accesses; a shorter write takes the time of a whole line.
        memory_line: Bytes = Bytes(64), among [Bytes(32), Bytes(64), Bytes(128)], from "one burst of a 64-bit DDR channel";
        /// Additional time of a write to a part of a line: the rest of the line must be read first.
        memory_partial_line: Span = Span::ZERO, lifts "memory", from "our choice: a cache takes it";
        /// Read Completion Boundary in Link Control: addresses at which a read may be divided into completions.
        read_completion_boundary: Bytes = Bytes(64), among [Bytes(64), Bytes(128)], from "PCIe Base 2.3.1.1: 64 B or 128 B";
        /// Largest payload of a completion, if the max payload size allows it.
        largest_completion: Bytes = Bytes(4096), within Bytes(64)..=Bytes(4096), ranges ["128 B", "4 KiB"], from "our choice: the max payload size decides; PCIe Base 2.3.1.1 permits a completion for each 128 B, a read completion boundary";
        /// Time from the last bit of a packet at a root port to its first bit at another root port.
        peer_latency: Span = Span::from_ns(200), ranges ["100 ns", "500 ns"], from "our choice: twice the latency to the memory controller; a switch, which has no memory to order, takes 100 ns and more";
        /// Rate of packets from one root port to another, with their headers; each pair of ports has it in each direction.
        peer_bandwidth: Option<Bandwidth> = None, within None..=Some(Bandwidth(1_000_000_000_000_000)), lifts "datapath the path between root ports", from "our choice: the links are the limit";
        /// Largest payload of a packet between root ports, if the max payload size of the port that it leaves by allows it. A larger memory
        /// write is split at addresses that are multiples of it, a larger completion at read completion boundaries; a packet holds its
        /// receive buffer until its last part has left. Read requests pass whole.
        largest_peer_payload: Bytes = Bytes(4096), among [Bytes(64), Bytes(128), Bytes(256), Bytes(512), Bytes(1024), Bytes(2048), Bytes(4096)], from "our choice: the max payload sizes decide; PCIe Base 1.3.1 permits splitting";
        /// Requests between root ports that are forwarded: "none", "writes" (posted requests only), or "all". Others end in Unsupported
        /// Request at the root port that receives them.
        peer_to_peer: PeerToPeer = PeerToPeer::All, from "our choice; PCIe Base 1.3.1: optional, and many hosts forward none, or writes alone";
        /// Requests between root ports of different sockets that are forwarded, if peer_to_peer permits them, too.
        socket_peer_to_peer: PeerToPeer = PeerToPeer::All, from "our choice: as within a socket";
        /// Rate of packets to each root port from the root ports of all other sockets together, with their headers.
        socket_peer_bandwidth: Option<Bandwidth> = None, within None..=Some(Bandwidth(1_000_000_000_000_000)), lifts "datapath the path between root ports", from "our choice: the connection of the sockets is the limit; NVIDIA's tuning guide of the Vera CPU states such a limit for each root port";
        /// Time from the arrival of a posted write at its target, which is the memory of a socket or another root port, to its response at the
        /// root port that received it. A write waits until all earlier writes to other targets that it must not pass have their responses. None
        /// if writes wait for no response.
        write_response_latency: Option<Span> = None, within None..=Some(Span::from_us(1_000)), lifts "datapath the responses of writes" to ["none"], from "our choice: none. Interconnects may have the rule: AMD PG453, Cyclic Dependency Avoidance, single slave per ID; no document states it of a server";
        /// Whether root ports check the requesters of requests from below: Source Validation in ACS Control. A request whose requester is
        /// on none of the buses below the port is an ACS Violation.
        acs_source_validation: bool = false, from "PCIe Base 6.12: off after reset";
        /// Whether root ports block memory requests from below with translated addresses, and translation requests: Translation Blocking in
        /// ACS Control. A request that is blocked is an ACS Violation.
        acs_translation_blocking: bool = false, from "PCIe Base 6.12: off after reset";
        /// P2P Request Redirect in ACS Control of root ports. Requests between root ports always pass the IOMMU and peer_to_peer, so it
        /// changes only what egress control does: a request that it would block passes.
        acs_redirect: bool = false, from "PCIe Base 6.12: off after reset";
        /// Whether root ports send packets back down that switches below have redirected: Upstream Forwarding in ACS Control. Without it
        /// requests end in Unsupported Request, and completions are unexpected.
        acs_upstream_forwarding: bool = true, from "our choice: as operating systems set it together with redirect below";
        /// Whether requests with translated addresses pass from one root port to another, whatever egress control says: Direct Translated
        /// P2P in ACS Control of root ports.
        acs_direct_translated: bool = false, from "PCIe Base 6.12: off after reset";
        /// Whether root ports pass on configuration requests for all 256 functions of a device with ARI: ARI Forwarding Supported in
        /// Device Capabilities 2. Firmware then enables it above devices with ARI; without it, more than 7 virtual functions take a bus
        /// number of their own.
        ari_forwarding: bool = true, from "our choice; PCIe Base 6.13: optional";
        /// Whether root ports receive packets with End-End TLP prefixes, such as PASID: End-End TLP Prefix Supported in Device Capabilities 2.
        /// Without it such a packet is malformed.
        tlp_prefixes: bool = false, from "our choice: off; PCIe Base 2.2.10.2: optional";
        /// Stores and other requests of the CPU that may be on their way to root ports. Each holds a buffer of its core until its last bit
        /// leaves the root port, so that a core stores at most this number of 64-byte lines in the time from core to root port. For
        /// several cores that store at the same time: the sum of their buffers.
        write_combining_buffers: u32 = 16, within 1..=4096, lifts "outstanding write-combining buffers" times [4, 16] to ["64", "256"], ranges ["10", "16"], from "common: fill buffers of the first-level data cache of one core, 10 in Intel's Nehalem to Broadwell, 12 in Skylake and Ice Lake, 16 in Golden Cove (Intel 248966, Optimization Reference Manual)";
        /// Most outstanding non-posted requests of the CPU.
        tags: u32 = 32, within 1..=256, lifts "tags" to ["256", "768"], from "our choice";
        /// Whether completions repeat all ten bits of a tag: 10-Bit Tag Completer Supported in Device Capabilities 2 of the root ports.
        /// Without it, firmware enables 10-bit tags at no device below.
        ten_bit_tag_completer: bool = true, from "PCIe Base 2.2.6.2: required from 16 GT/s on";
        /// Completion timeout of non-posted requests.
        /// Device Control 2 has the range of times that contains it. Software can select another range: the timeout is then the time
        /// of that range that is nearest to this one. For a time between two ranges, Device Control 2 has the longer range. Of several root ports the
        /// longest time counts for the requests of the processors.
        completion_timeout: Span = Span::from_us(10_000), within Span::from_us(50)..=Span::from_us(64_000_000), from "PCIe Base 2.8: 50 us to 50 ms, and 10 ms or more is recommended";
        /// Time after its timeout in which the tag of a request is not used again, so that its late completion is unexpected
        /// instead of the answer to another request.
        tag_quarantine: Span = Span::from_us(50_000), within Span::ZERO..=Span::from_us(50_000), from "PCIe Base 2.8: the longest time to a timeout in the default range, so that what comes later is lost to every requester";
        /// Largest read request of the CPU.
        max_read_request: Bytes = Bytes(64), among [Bytes(4), Bytes(8), Bytes(16), Bytes(32), Bytes(64), Bytes(128), Bytes(256), Bytes(512), Bytes(1024), Bytes(2048), Bytes(4096)], from "a cache line";
    }
}

const PAGE: u64 = 4096;

kernel::choices! {
    /// The requests between root ports that a root complex forwards.
    pub enum PeerToPeer {
        /// No request.
        None = "none",
        /// Posted requests.
        Writes = "writes",
        /// All requests.
        All = "all",
    }
}

impl PeerToPeer {
    /// Whether a packet of this class is forwarded. Completions are always forwarded, because their request was forwarded.
    fn allows(self, class: Class) -> bool {
        match class {
            Class::Posted => self != Self::None,
            Class::NonPosted => self == Self::All,
            Class::Completion => true,
        }
    }
}

/// The maximum number of sockets that an x86 server can connect without additional hardware.
pub(crate) const MOST_SOCKETS: usize = 8;

/// The maximum number of quadrants of a socket. Our choice: AMD EPYC 9005 processors have eight I/O root complexes, and Intel Xeon dies
/// up to six IIO stacks.
const MOST_QUADRANTS: u32 = 16;

/// The wire of a root port is shared by the host itself and all root ports: 128 sources, which is the maximum of an arbiter.
const MOST_ROOT_PORTS: u32 = 127;

impl RootComplexParameters {
    /// Latency of the PHY and the pipeline of a root port in each direction.
    pub fn port_latency(&self) -> Span {
        let half = |latency: Span| Span::from_fs(latency.as_fs() / 2);
        self.port_latency
            .unwrap_or_else(|| half(self.latency.min(self.peer_latency)))
    }

    /// The relation of root ports whose rule forbids to forward a packet of this class between root ports of the relation `between`. None
    /// if the packet is forwarded.
    pub(super) fn forbidden_by(&self, between: Between, class: Class) -> Option<Between> {
        if !self.peer_to_peer.allows(class) {
            return Some(Between::Ports);
        }
        let rule = match between {
            Between::Ports => return None,
            Between::Quadrants => self.quadrant_peer_to_peer,
            Between::Sockets => self.socket_peer_to_peer,
        };
        (!rule.allows(class)).then_some(between)
    }

    /// The time from one ownership of a line to the next ownership of it.
    pub(crate) fn ownership_time(&self) -> Span {
        let way = self.latency.saturating_sub(self.port_latency());
        self.ownership_time.unwrap_or(way * 2)
    }

    /// Returns the parameters with latencies that begin and end at the receive buffers instead of the pins.
    #[must_use]
    pub fn behind_ports(self) -> Self {
        let port = self.port_latency();
        RootComplexParameters {
            latency: self.latency.saturating_sub(port),
            ownership_time: Some(self.ownership_time()),
            peer_latency: self.peer_latency.saturating_sub(port * 2),
            ..self
        }
    }

    /// The time that a packet of `bytes` of each class is in the receive buffer of a root port if nothing delays it. The packet leaves the
    /// buffer when a write is in memory, when a read is answered, or when another root port has sent the packet, which takes the time
    /// `frame`. The latencies begin at the receive buffer.
    pub fn held(&self, frame: Span, bytes: u64) -> PerClass<Span> {
        let datapath = self.datapath().time_of(bytes);
        let across = match self.sockets {
            1 => Span::ZERO,
            _ => self.socket_latency + self.socket_bandwidth.time_of(bytes),
        };
        let hop = match self.quadrants {
            1 => Span::ZERO,
            _ => self.quadrant_latency,
        };
        let peer = match self.peer_to_peer {
            PeerToPeer::None => Span::ZERO,
            PeerToPeer::Writes | PeerToPeer::All => self.peer_latency + hop + frame,
        };
        let lines = self.latency + self.memory_bandwidth.time_of(bytes + self.memory_line.0);
        let written = match self.write_buffers {
            0 => lines,
            _ => Span::ZERO,
        };
        let read = lines + self.memory_read_latency + self.memory_read_jitter;
        let longest = |way: Span| datapath + across + way.max(peer);
        [written, read, Span::ZERO].map(longest)
    }

    /// The datapath behind a root port in one direction.
    pub(super) fn datapath(&self) -> Datapath {
        let (Bytes(width), idle) = (self.port_datapath, self.port_idle_cycles);
        Datapath::new(self.port_clock.period(), width, idle, 0)
    }

    /// The first address of the memory.
    pub fn memory_base(&self) -> u64 {
        if self.memory_address_bits == 64 {
            1 << 32
        } else {
            0
        }
    }

    /// The bytes of memory of each socket. The last socket has the rest. Shares are whole pages, so that no request crosses the end of a
    /// share (PCIe Base 2.2.7).
    pub fn memory_share(&self) -> u64 {
        let share = self.memory.0.div_ceil(self.sockets.into());
        share.next_multiple_of(PAGE)
    }

    /// The limits of the CPU's requests. The max payload size is the value after reset. The root complex replaces it by the value that its
    /// root ports have.
    pub fn limits(&self) -> RequesterLimits {
        RequesterLimits {
            max_payload: 128,
            max_read_request: self.max_read_request.0 as u32,
            outstanding: OutstandingLimits {
                tags: self.tags as u16,
                completion_timeout: self.completion_timeout,
                tag_quarantine: self.tag_quarantine,
                completion_buffer: CompletionBuffer::default(),
            },
            staging: Staging::default(),
        }
    }
}
