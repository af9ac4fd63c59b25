//! Flows of a scenario.

use host::message::Primitive;
use kernel::{Bytes, Quantity, Span, Value};

use crate::scenario::{FabricScenario, NodeKind};
use crate::workload::entry;

use super::recording::Recording;

kernel::choices! {
    /// Direction of the data, seen from the requester.
    pub enum Direction {
        /// Posted writes to the target.
        Write = "write",
        /// Reads from the target.
        Read = "read",
        /// Writes and reads at once, the whole amount each way.
        Both = "both",
        /// One write at a time; the next write begins after the reflector's answer to the previous one has arrived.
        RoundTrip = "round-trip",
    }
}

impl Direction {
    /// Whether write requests are sent.
    pub fn writes(self) -> bool {
        self != Self::Read
    }

    /// Whether read requests are sent.
    pub fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Both)
    }
}

kernel::choices! {
    /// Clock on which the rate of a flow is measured.
    pub enum Clock {
        /// Time from the first byte sent to the last byte at its destination.
        Arrival = "arrival",
        /// Time from the first byte sent to the last byte sent.
        Sender = "sender",
        /// Time from the system call that moves the flow to its return.
        Application = "application",
    }
}

kernel::choices! {
    /// Order of the addresses of a flow's requests.
    pub enum AddressOrder {
        /// Each request begins where the previous one ended.
        Sequential = "sequential",
        /// Each request begins at a random place.
        Random = "random",
        /// Each request begins one stride after the beginning of the previous one.
        Strided = "strided",
    }
}

kernel::parameters! {
    /// Parameters of a flow, besides its `id` and its two ends `from` and `to`.
    pub struct FlowParameters {
        /// Direction of the data: "write", "read", "both" or "round-trip".
        direction: Direction = Direction::Write, from "a common choice";
        /// Bytes to move; one of size, count and duration is given.
        size: Option<Bytes> = None, from "each flow";
        /// Number of requests to make; one of size, count and duration is given.
        count: Option<u64> = None, from "each flow";
        /// Time during which new requests are made; one of size, count and duration is given.
        duration: Option<Span> = None, from "each flow";
        /// Bytes of one request, which the engine sends as packets within max payload (writes) or max read request (reads); none for one packet, or 4 B (round trips).
        request_size: Option<Bytes> = None, from "the largest that the fabric allows";
        /// Time of the first request.
        start: Span = Span::ZERO, from "the beginning of the run";
        /// Least time between requests; 0 for as fast as possible.
        interval: Span = Span::ZERO, lifts "datapath keeps the interval of the flow", from "as fast as possible";
        /// Offset of the first byte in the target; none for a place that no earlier flow uses, if there is enough space.
        offset: Option<Bytes> = None, from "each flow has a buffer of its own";
        /// Bytes of the target that are used repeatedly; none to use each byte once, or 1 MiB with a duration. Without a window, all requests of a
        /// router use the same place.
        window: Option<Bytes> = None, from "each byte is used once";
        /// Places in the window at which requests begin: "sequential", each where the previous one ended; "random"; or "strided", each one stride
        /// after the beginning of the previous one. After the end of the window, requests continue at its start.
        addresses: AddressOrder = AddressOrder::Sequential, from "a common choice";
        /// Bytes from the beginning of one strided request to the beginning of the next.
        stride: Option<Bytes> = None, from "each flow with strided addresses";
        /// Alignment of random requests: they begin at multiples of this size in the window. None for the size of a request; 1 B for any place.
        alignment: Option<Bytes> = None, from "our choice: requests do not overlap in part";
        /// Recorded requests, one a line: the time from the start of the flow on, the offset in the target, and the size, such as
        /// "0 ns, 0 B, 4 KiB". Numbers without a unit are nanoseconds and bytes. A request is made at its time, or later if the requester is still
        /// busy; its latency begins at its time. Without times, each request is made as early as possible. None for requests of one size.
        requests: Option<Recording> = None, from "each flow";
        /// The socket of the host whose memory is the target; offset and window then refer to the memory of this socket. None for the whole memory,
        /// beginning with the first socket.
        socket: Option<u32> = None, within None..=Some(7), from "memory is used from its first address on";
        /// With direction = "both": whether each read follows the write to the same place. The read is made after the write has been sent, and
        /// returns the written data.
        read_after_write: bool = false, from "our choice: writes and reads do not wait for each other";
        /// An earlier flow whose data this flow carries on: data that reached the engine through its FIFOs, or that was written to the blocks of the
        /// drive. None for data of its own.
        carries: Option<String> = None, from "each flow has bytes of its own";
        /// Another flow whose system call must return before the system call of this flow is made.
        after: Option<String> = None, from "calls are made at their start";
        /// Primitive of messages of a nic: "nap-immediate", "nap-indirect", "put" or "get"; none for "put" (writes) or "get" (reads).
        primitive: Option<Primitive> = None, from "each flow";
        /// Maximum number of outstanding messages of a nic.
        outstanding: Option<u32> = None, within Some(1)..=Some(32), from "8; the authors of chpp allow 32";
        /// Smallest size of the messages of a nic. If it is given, sizes are random, evenly distributed from smallest to request_size; the flow has the bytes of count messages of request_size, and the latency is not measured. None: all messages have request_size.
        smallest: Option<Bytes> = None, from "messages of one size";
        /// The function of a nic whose queue pair sends the messages: 0 is the physical one; none for any that is free.
        function: Option<u32> = None, within Some(0)..=Some(255), from "each flow has a queue pair of its own";
        /// Whether requests have the attribute Relaxed Ordering, with which they may pass earlier writes. The requester sets it while Enable Relaxed Ordering in its Device Control is set.
        relaxed_ordering: bool = false, lifts "order" to ["true"], from "PCIe Base 2.2.6.4: the default ordering";
        /// Whether requests have the attribute ID-based Ordering, with which they may pass earlier writes of other requesters. The requester sets it while IDO Request Enable in its Device Control 2 is set.
        id_ordering: bool = false, from "PCIe Base 2.2.6.4: the default ordering";
        /// Whether requests have the attribute No Snoop: the requester needs no coherence. The requester sets it while Enable No Snoop in its Device Control is set.
        no_snoop: bool = false, from "PCIe Base 2.2.6.5: hardware keeps caches coherent";
        /// Traffic class of the requests.
        traffic_class: u32 = 0, within 0..=7, from "PCIe Base 2.2.6.6: the class of best effort, which every device supports";
        /// The process whose virtual addresses the requests have: the requests have a PASID prefix with this number. The requester sends the prefix
        /// while PASID Enable in its PASID capability is set, and the IOMMU of the host translates the addresses with the page table of the process.
        pasid: Option<u32> = None, within None..=Some(0xf_ffff), from "PCIe Base 6.20: no prefix, the address space of the function";
        /// Whether the PASID prefix of reads requests permission to execute: Execute Requested.
        execute_requested: bool = false, from "PCIe Base 6.20.2: not requested";
        /// Whether the PASID prefix says that privileged software makes the requests: Privileged Mode Requested.
        privileged_requested: bool = false, from "PCIe Base 6.20.2: not privileged";
        /// Requester ID of the requests of a dma device, such as "05:00.0", instead of the ID of its function, to model a faulty or malicious device.
        /// Completions are sent to the function with this ID.
        requester_id: Option<String> = None, from "PCIe Base 2.2.6.2: the ID of the function";
        /// Whether the requests of a dma device are marked as translated in their address type (AT), to model a device with a translation cache, or a
        /// malicious one.
        translated_addresses: bool = false, from "PCIe Base 10.2.1: untranslated";
        /// Clock of the rate: "arrival", "sender" or, where a driver moves the flow, "application".
        clock: Clock = Clock::Arrival, from "the receiver has the data";
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A host's memory or a device's BAR 0.
    Node(String),
    /// An address without a node; perhaps no node answers there.
    Address(u64),
}

impl Quantity for Target {
    fn read(value: &Value<'_>) -> Result<Self, String> {
        match value {
            Value::Integer(address) if *address >= 0 => Ok(Self::Address(address.unsigned_abs())),
            Value::Text(text) => match text.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(&digits.replace('_', ""), 16)
                    .map(Self::Address)
                    .map_err(|_| format!("{value} is not an address; write \"0xc0000000\"")),
                None => Ok(Self::Node((*text).to_owned())),
            },
            _ => Err(format!(
                "{value} is not a target; write the name of a host or device, or an address such as \"0xc0000000\""
            )),
        }
    }

    fn show(&self) -> String {
        match self {
            Self::Node(name) => name.clone(),
            Self::Address(address) => format!("{address:#x}"),
        }
    }
}

entry! {
    /// One `[[flows]]` entry.
    pub struct Flow, called "flow" {
        /// The host, or the dma, sg-dma, nvme, router or nic device, that makes the requests.
        from: String, of "a host or device";
        /// A host (its memory), a device (its BAR 0; of a nic, the memory of its host), or an address such as "0xc0000000".
        to: Target, of "a host or device";
        ..parameters: FlowParameters, in "flows";
    }
}

impl Flow {
    /// Whether the flow makes one host load from, or store to, the memory of another host.
    pub(crate) fn is_between_hosts(&self, scenario: &FabricScenario) -> bool {
        let is_host = |name: &str| {
            let mut nodes = scenario.nodes.iter();
            nodes.any(|node| node.name.value == name && matches!(node.kind, NodeKind::Host(..)))
        };
        let to = match &self.to.value {
            Target::Node(name) => is_host(name) && *name != self.from.value,
            Target::Address(_) => false,
        };
        to && is_host(&self.from.value)
    }
}
