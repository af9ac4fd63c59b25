//! Parameters of a router without its optical ports.

use kernel::{Bytes, Frequency, Span};

use super::crossbar::Arbitration;

kernel::parameters! {
    /// The parameters of a router without its optical ports.
    pub struct RouterParameters {
        /// Number of optical ports.
        fibre_ports: u32 = 4, within 1..=7, from "two directions in each of two dimensions";
        /// Clock of the router's logic.
        router_clock: Frequency = Frequency::mhz(250), within Frequency::mhz(1)..=Frequency::mhz(2000), lifts "datapath", from "that of a PCI Express core";
        /// Cycles from a packet's arrival to its departure by a fibre or by PCI Express.
        forward_cycles: u32 = 13, within 0..=10_000, from "system tsukuba: 52 ns by the depth of the pipeline";
        /// Cycles from a packet's arrival by a fibre to the router's own user logic.
        deliver_cycles: u32 = 13, within 0..=10_000, from "as many as to the next router";
        /// Cycles after the departure of a packet from its queue that the next packet needs to get its route and virtual channel; 0 if it gets
        /// both while the previous packet leaves.
        queue_gap_cycles: u32 = 0, within 0..=10_000, from "our choice: each header is decoded at its arrival";
        /// Number of packets that the crossbar transfers from the node, or to the node, in the time of one packet of a fibre.
        local_width: u32 = 2, within 1..=8, from "256 bits at 250 MHz are 8 GB/s";
        /// Queues for packets of the node, selected by their first fibre. With a local_width of 1 they share a path into the
        /// crossbar; otherwise each has its own.
        injection_queues: u32 = 2, within 1..=8, from "our choice: as many as the crossbar takes";
        /// Arbitration between waiting packets: "transit-first" prefers packets in the network to packets of the node itself, which
        /// keeps the throughput of a full network; "round-robin" serves the queues in turn; "oldest-first" is fairest.
        arbitration: Arbitration = Arbitration::TransitFirst, from "our choice: with round robin an overloaded torus has less throughput, in unequal shares";
        /// Size of each buffer for packets that wait to enter the network; a full buffer holds back PCI Express.
        injection_buffer: Bytes = Bytes::kib(8), within Bytes(64)..=Bytes::mib(1), from "our choice: as a channel of a fibre";
        /// Bytes of each node's memory in the window, a power of two.
        aperture: Bytes = Bytes::mib(1), within Bytes::kib(4)..=Self::LARGEST_APERTURE, from "our choice";
    }
}

impl RouterParameters {
    /// Largest aperture.
    pub const LARGEST_APERTURE: Bytes = Bytes::gib(1);

    pub(super) fn pipeline(&self, cycles: u32) -> Span {
        self.router_clock.period() * u64::from(cycles)
    }

    /// The latency of the shorter of the two pipelines, which every packet passes.
    pub fn shorter_pipeline(&self) -> Span {
        self.pipeline(self.forward_cycles.min(self.deliver_cycles))
    }
}
