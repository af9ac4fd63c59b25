//! What a router can be told besides its optical ports.

use kernel::{Bytes, Frequency, Span};

use super::crossbar::Arbitration;

kernel::parameters! {
    /// What a router can be told besides its optical ports.
    pub struct RouterParameters {
        /// Optical ports.
        fibre_ports: u32 = 4, within 1..=7, from "two directions in each of two dimensions";
        /// Clock of the router's logic.
        router_clock: Frequency = Frequency::mhz(250), within Frequency::mhz(1)..=Frequency::mhz(2000), from "that of a PCI Express core";
        /// Cycles from a packet's arrival to its way out by a fibre or by PCI Express.
        forward_cycles: u32 = 13, within 0..=10_000, from "system tsukuba: 52 ns by the depth of the pipeline";
        /// Cycles from a packet's arrival by a fibre to the router's own user logic.
        deliver_cycles: u32 = 13, within 0..=10_000, from "as many as to go on";
        /// Cycles after a packet has left its queue in which the next one is routed and given a virtual channel; 0 where that is done while the one before leaves.
        queue_gap_cycles: u32 = 0, within 0..=10_000, from "our choice: each header is looked at as it comes in";
        /// Packets of the node itself that the crossbar takes, or hands out, in the time in which a fibre takes one.
        local_width: u32 = 2, within 1..=8, from "256 bits at 250 MHz are 8 GB/s";
        /// Queues in which the node's packets wait, by the fibre that they take first. With a local_width of 1 they share one way into the crossbar; otherwise each has its own.
        injection_queues: u32 = 2, within 1..=8, from "our choice: as many as the crossbar takes";
        /// Whose turn it is where several packets wait: "transit-first" lets those in the network go before those of the node itself, which keeps the throughput of a full network; "round-robin" serves one queue after the other; "oldest-first" is fairest.
        arbitration: Arbitration = Arbitration::TransitFirst, from "our choice: with round robin a torus that is offered too much carries less, in unequal shares";
        /// Room for packets that wait for their way into the network: what PCI Express is held back by.
        injection_buffer: Bytes = Bytes::kib(8), within Bytes(64)..=Bytes::mib(1), from "our choice: as a channel of a fibre";
        /// Bytes of each node's memory that the window shows, a power of two.
        aperture: Bytes = Bytes::mib(1), within Bytes::kib(4)..=Self::LARGEST_APERTURE, from "our choice";
    }
}

impl RouterParameters {
    /// What the window shows of a node at most.
    pub const LARGEST_APERTURE: Bytes = Bytes::gib(1);

    pub(super) fn pipeline(&self, cycles: u32) -> Span {
        self.router_clock.period() * u64::from(cycles)
    }

    /// What every packet passes at least.
    pub fn shorter_pipeline(&self) -> Span {
        self.pipeline(self.forward_cycles.min(self.deliver_cycles))
    }
}
