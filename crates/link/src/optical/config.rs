//! Parameters of optical ports, and the configuration of an optical end.

use kernel::{BitRate, Bytes, Span};
use protocol::aurora::BLOCK_BITS;

use crate::BitErrors;

kernel::choices! {
    /// The flow control of a fibre, which keeps the sender from overflowing the receiver's buffers.
    pub enum FlowControl {
        /// Credits for the buffer of each virtual channel.
        Credits = "credits",
        /// Aurora's native flow control: the receiver pauses the whole channel.
        Native = "native",
    }
}

/// The largest number of virtual channels of a fibre.
pub(super) const MOST_CHANNELS: u32 = 8;

kernel::parameters! {
    /// The optical ports of a router. Both ends of a fibre must have equal values.
    pub struct OpticalParameters {
        /// Serial lanes of a port.
        optical_lanes: u32 = 4, within 1..=16, from "QSFP+: four lanes";
        /// Bit rate of one lane.
        lane_rate: BitRate = BitRate(10_312_500_000), within BitRate::mbit(500)..=BitRate::mbit(32_750), lifts "wire" times [2, 3], from "40 Gbit/s QSFP+: 10.3125 Gbit/s a lane";
        /// Virtual channels of a port.
        virtual_channels: u32 = 2, within 1..=MOST_CHANNELS, from "what a torus needs for a dateline";
        /// Size of the receive buffer of each virtual channel; with native flow control, of one buffer for all channels.
        channel_buffer: Bytes = Bytes::kib(8), within Bytes(64)..=Bytes::mib(1), lifts "credit" times [2, 16], from "our choice: two block RAMs a channel, several times what a round trip brings";
        /// Flow control of the fibre: "credits" for each virtual channel, or "native" flow control that pauses the whole port.
        flow_control: FlowControl = FlowControl::Credits, from "a network needs it for each channel; Aurora itself has the native one";
        /// Largest payload of a packet.
        packet_size: Bytes = Bytes(1536), within Bytes(8)..=Bytes(4096), from "the published packets of the system tsukuba";
        /// Whether frames are numbered, acknowledged, and sent again after loss or damage.
        reliable: bool = false, from "Aurora has no retransmission";
        /// Size of the buffer for frames that are not acknowledged yet.
        retransmission_buffer: Bytes = Bytes::kib(16), within Bytes::kib(1)..=Bytes::kib(512), from "our choice: several times what a round trip takes";
        /// Latency of both cores and transceivers, from the user logic of one end to that of the other.
        core_latency: Span = Span::from_ns(292), from "PG074: 46 cycles of user_clk and 1 of the gearbox, at 10.3125 Gbit/s / 64";
        /// Whether the channel stops for clock compensation: 8 cycles in every 4,992.
        clock_compensation: bool = true, from "PG074";
        /// Cycles that a credit block takes on an idle wire; 0 if credit has a wire of its own. On a busy wire, credit is part of
        /// the next header.
        credit_cycles: u32 = 1, within 0..=1, from "a user K-block takes all lanes for a cycle";
        /// Time after which an end detects that its fibre is dark.
        loss_detection: Span = Span::from_us(1), from "our choice: some hundred blocks without synchronisation";
    }
}

impl OpticalParameters {
    /// The time of one block on a lane, which has 66 bits.
    pub fn cycle(&self) -> Span {
        self.lane_rate.time_of(BLOCK_BITS)
    }

    /// The number of cycles of data that fit in `bytes` bytes.
    pub fn cycles_of(&self, bytes: Bytes) -> u32 {
        (bytes.0 / u64::from(protocol::aurora::BLOCK_BYTES * self.optical_lanes)) as u32
    }
}

/// The configuration of an optical end, fixed when the fabric is built.
#[derive(Clone, Debug)]
pub struct OpticalConfig {
    /// The parameters that both ends share.
    pub parameters: OpticalParameters,
    /// The latency from one end to the other: cores, transceivers and fibre.
    pub flight: Span,
    /// The latency of the pipeline that each frame passes at this end before it is handled.
    pub near_pipeline: Span,
    /// The latency of the pipeline that each frame passes at the far end before it is handled.
    pub far_pipeline: Span,
    /// The time of the first clock compensation.
    pub phase: Span,
    /// The bit errors of the direction that arrives at this end.
    pub errors: Option<BitErrors>,
}
