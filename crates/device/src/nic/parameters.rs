//! What a network interface controller can be told.

use kernel::{Bytes, Span};

use super::doorbells::Arbiter;
use super::pack::Sharing;

kernel::parameters! {
    /// What a network interface controller can be told. Cycles are of its `clock`.
    pub struct NicParameters {
        /// The controller that it belongs to; needed where there are several.
        controller: Option<String> = None, from "the only one there is";
        /// Its number among all processors, which packets are addressed to; none for the next free one.
        processor: Option<u32> = None, within None..=Some(255), from "in the order in which they are written";
        /// Whose doorbell is served next: "round-robin" over the functions, or "priority", those of lower numbers first.
        arbiter: Arbiter = Arbiter::RoundRobin, from "the authors of chpp: a fair arbiter, with priorities possible";
        /// How functions share the engine once their doorbells are served: "packet", a packet of each in turn, so that none waits for another's long message, or "message", one message after the other.
        sharing: Sharing = Sharing::Packet, from "the authors of chpp: a fair arbiter of doorbells";
        /// Doorbells of one function that may wait.
        doorbell_fifo: u32 = 32, within 2..=1024, from "the authors of chpp";
        /// Descriptors that are read at the same time.
        descriptors: u32 = 4, within 1..=64, from "our choice: enough to hide a memory read behind 2 KiB of data";
        /// Messages whose data is read at the same time, of each function where they share by packets.
        messages: u32 = 8, within 1..=64, from "our choice: enough to hide a memory read behind messages of 512 B";
        /// Data that was asked for and is not packed yet.
        reorder_buffer: Bytes = Bytes(32 << 10), within Bytes(4096)..=Bytes(1 << 20), from "our choice: 256 tags of 128 B";
        /// Bytes of one read request at most, where the max read request size admits it. A PCI Express function cannot be told less than 128.
        read_request: Bytes = Bytes(128), within Bytes(16)..=Bytes(4096), from "the authors of chpp: as large as the MTU";
        /// Payload of one packet to another controller, at most.
        network_payload: Bytes = Bytes(128), within Bytes(128)..=Bytes(4096), from "the authors of chpp: an MTU of 128 B; the format has room for 4 KiB";
        /// Non-posted requests that may wait for completions, of all readers together: of descriptors, of data, and of buffers' addresses.
        tags: u32 = 32, within 1..=256, from "the authors of chpp: 32, or 256 with extended tags";
        /// Cycles from a doorbell to the read request for its descriptor.
        doorbell_cycles: u32 = 7, within 0..=1000, from "a fifth of the 35 cycles of a NAP that the authors of chpp give";
        /// Cycles from a descriptor's arrival to what it asks for.
        parse_cycles: u32 = 7, within 0..=1000, from "another fifth of the 35 cycles";
        /// Cycles from data's arrival to its place in the order.
        reorder_cycles: u32 = 13, within 0..=1000, from "the 48 cycles of a PUT that the authors of chpp give, less the 35";
        /// Cycles to make a packet.
        packetise_cycles: u32 = 7, within 0..=1000, from "another fifth of the 35 cycles";
        /// Cycles from a packet's arrival to its write requests.
        receive_cycles: u32 = 7, within 0..=1000, from "the last fifth of the 35 cycles";
        /// Cycles that the receiver of completions is busy with each beyond its header and data.
        handling_cycles: u32 = 1, within 0..=100, from "the authors of chpp: 1 cycle for the header, 8 for 128 B, 1 to handle it";
        /// Cycles from one packet of a NAP to the next: each has the engine to itself.
        nap_cycles: u32 = 35, within 0..=1000, from "the authors of chpp: 35 cycles of a NAP, which is its slope, too";
        /// Cycles that each 16 bytes of an immediate NAP's packets take longer: it leaves the descriptor at 64 bits a cycle.
        immediate_cycles: u32 = 1, within 0..=100, from "the authors of chpp: two cycles for each word of 128 bits";
        /// Cycles from the last write of a message to the write of its event.
        event_cycles: u32 = 13, within 0..=1000, from "fitted to what the authors of chpp measured of a NAP of 1 B";
        /// GETs of others that may wait, with sharing = "packet" for each function.
        get_queue: u32 = 8, within 1..=1024, from "our choice";
        /// Buffer addresses that are kept for the NAPs of a queue pair, and refilled from memory when half of them are used.
        buffer_prefetch: u32 = 16, within 8..=256, from "our choice: two reads of 64 B";
        /// Room for packets from the crossbar, of each of its virtual channels here.
        receive_buffer: Bytes = Bytes(4096), within Bytes(512)..=Bytes(1 << 20), from "our choice: one block RAM of a Virtex-6";
        /// Cycles that a load, a store or an answer takes between PCI Express and the crossbar, each way.
        window_cycles: u32 = 7, within 0..=1000, from "our choice: as long as the engine takes with a packet";
        /// Loads of this processor from others that may wait for answers.
        loads: u32 = 32, within 1..=256, from "our choice: as many as tags";
        /// How long a non-posted request waits for its completions.
        completion_timeout: Span = Span::from_us(10_000), within Span::from_us(50)..=Span::from_us(64_000_000), from "PCIe Base 2.8: 50 us to 50 ms, and 10 ms or more is recommended";
    }
}
