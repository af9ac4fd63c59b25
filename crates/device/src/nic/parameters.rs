//! Parameters of a network interface controller.

use kernel::Bytes;

use super::doorbells::Arbiter;
use super::weights::Weights;

kernel::choices! {
    /// The sharing of the engine by functions.
    pub enum Sharing {
        /// One message after the other, of any function.
        Message = "message",
        /// A packet of each function in turn; each function has its own queue of messages.
        Packet = "packet",
    }
}

kernel::choices! {
    /// The way in which software starts a message.
    pub enum StartMode {
        /// Software writes the descriptor to memory, and the controller reads it after a store to the doorbell.
        Doorbell = "doorbell",
        /// Software stores the descriptor in the controller.
        Descriptor = "descriptor",
    }
}

kernel::parameters! {
    /// The parameters of a network interface controller. Cycles are of its `clock`.
    pub struct NicParameters {
        /// Controller of the network interface; needed where there are several.
        controller: Option<String> = None, from "the only one there is";
        /// Number among all processors, to which packets are addressed; none for the next free number.
        processor: Option<u32> = None, within None..=Some(255), from "numbered in the order of the scenario";
        /// Start of messages: "doorbell", the controller reads the descriptor from memory after one store of software, or "descriptor", software stores
        /// the descriptor in the controller, 8 bytes at a time, if it has 256 bytes or fewer. Each queue pair has a window of its own for it, so that
        /// software needs no lock.
        start_mode: StartMode = StartMode::Doorbell, from "the authors of chpp, who discuss both";
        /// Arbitration between doorbells: "round-robin" over the functions, or "priority" for functions with lower numbers first.
        arbiter: Arbiter = Arbiter::RoundRobin, from "the authors of chpp: a fair arbiter, with priorities possible";
        /// Sharing of the engine by functions: "packet", a packet of each function in turn, so that none waits for another's long
        /// message, or "message", one message after the other.
        sharing: Sharing = Sharing::Packet, from "the authors of chpp: a fair arbiter of doorbells";
        /// With sharing = "packet", the number of packets that each function sends in its turn, physical function first: "4, 2" are 4, 2, and 1 for
        /// all others.
        weights: Weights = Weights::EQUAL, from "the authors of chpp: a fair arbiter";
        /// Most waiting doorbells of a function.
        doorbell_fifo: u32 = 32, within 2..=1024, from "the authors of chpp";
        /// Most descriptors that are read at the same time.
        descriptors: u32 = 4, within 1..=64, from "our choice: enough to hide a memory read behind 2 KiB of data";
        /// Most messages whose data is read at the same time; with sharing = "packet", the limit applies to each function.
        messages: u32 = 8, within 1..=64, from "our choice: enough to hide a memory read behind messages of 512 B";
        /// Size of the buffer for data that is requested and not packed yet.
        reorder_buffer: Bytes = Bytes(32 << 10), within Bytes(4096)..=Bytes(1 << 20), from "our choice: 256 tags of 128 B";
        /// Largest read request, if the max read request size allows it. The register of a PCI Express function cannot be set below
        /// 128 bytes.
        read_request: Bytes = Bytes(128), within Bytes(16)..=Bytes(4096), from "the authors of chpp: as large as the MTU";
        /// Largest payload of a packet to another controller.
        network_payload: Bytes = Bytes(128), within Bytes(128)..=Bytes(4096), from "the authors of chpp: an MTU of 128 B; the format has room for 4 KiB";
        /// Most outstanding non-posted requests, for descriptors, data and buffer addresses together.
        tags: u32 = 32, within 1..=256, lifts "tags" to ["256", "768"], from "the authors of chpp: 32, or 256 with extended tags";
        /// Cycles from a doorbell to the read request for its descriptor.
        doorbell_cycles: u32 = 7, within 0..=1000, from "a fifth of the 35 cycles of a NAP that the authors of chpp give";
        /// Cycles from a descriptor's arrival to the begin of its work.
        parse_cycles: u32 = 7, within 0..=1000, from "another fifth of the 35 cycles";
        /// Cycles from data's arrival until it is in order.
        reorder_cycles: u32 = 13, within 0..=1000, from "the 48 cycles of a PUT that the authors of chpp give, less the 35";
        /// Cycles to make a packet.
        packetise_cycles: u32 = 7, within 0..=1000, from "another fifth of the 35 cycles";
        /// Cycles from a packet's arrival to its write requests.
        receive_cycles: u32 = 7, within 0..=1000, from "the last fifth of the 35 cycles";
        /// Cycles that the receiver of completions needs for each completion besides its header and data.
        handling_cycles: u32 = 1, within 0..=100, from "the authors of chpp: 1 cycle for the header, 8 for 128 B, 1 to handle it";
        /// Cycles from one packet of a NAP to the next; each packet has the engine to itself.
        nap_cycles: u32 = 35, within 0..=1000, from "the authors of chpp: 35 cycles of a NAP, which is its slope, too";
        /// Additional cycles for each 16 bytes of an immediate NAP's packets: its data leaves the descriptor at 64 bits per cycle.
        immediate_cycles: u32 = 1, within 0..=100, from "the authors of chpp: two cycles for each word of 128 bits";
        /// Cycles from the last write of a message to the write of its event.
        event_cycles: u32 = 13, within 0..=1000, from "fitted to what the authors of chpp measured of a NAP of 1 B";
        /// Most waiting GETs of other processors; with sharing = "packet", the limit applies to each function.
        get_queue: u32 = 8, within 1..=1024, from "our choice";
        /// Number of buffer addresses that are prefetched for the NAPs of a queue pair. When half of them are used, more are read from memory.
        buffer_prefetch: u32 = 16, within 8..=256, from "our choice: two reads of 64 B";
        /// Size of the receive buffer for packets from the crossbar, for each of its virtual channels.
        receive_buffer: Bytes = Bytes(4096), within Bytes(512)..=Bytes(1 << 20), from "our choice: one block RAM of a Virtex-6";
        /// Cycles of a load, a store or an answer from PCI Express to the crossbar, and from the crossbar to PCI Express.
        window_cycles: u32 = 7, within 0..=1000, from "our choice: as long as the engine needs for a packet";
        /// Most outstanding loads of this processor from other processors.
        loads: u32 = 32, within 1..=256, from "our choice: as many as tags";
        /// Traffic class of reads of descriptors and of buffer addresses, and of writes of events.
        descriptor_traffic_class: u32 = 0, within 0..=7, from "our choice: the class that every path carries";
    }
}
