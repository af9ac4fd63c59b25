//! What an optical port can be set to, and what its end is told when the fabric is built.

use kernel::{BitRate, Bytes, Span};
use protocol::aurora::BLOCK_BITS;

use crate::BitErrors;

/// What keeps a sender from sending more than there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowControl {
    /// Credits for the buffer of each virtual channel.
    Credits,
    /// Aurora's native flow control: the receiver pauses the whole channel.
    Native,
}

impl FlowControl {
    const NAMES: [(&str, Self); 2] = [("credits", Self::Credits), ("native", Self::Native)];
}

kernel::choices!(FlowControl);

/// Virtual channels of a fibre at most.
pub(super) const MOST_CHANNELS: u32 = 8;

kernel::parameters! {
    /// The optical ports of a router: what both ends of a fibre must agree on.
    pub struct OpticalParameters {
        /// Serial lanes of a port.
        optical_lanes: u32 = 4, within 1..=16, from "QSFP+: four lanes";
        /// Bits a second on a lane.
        lane_rate: BitRate = BitRate(10_312_500_000), within BitRate::mbit(500)..=BitRate::mbit(32_750), from "40 Gbit/s QSFP+: 10.3125 Gbit/s a lane";
        /// Virtual channels of a port.
        virtual_channels: u32 = 2, within 1..=MOST_CHANNELS, from "what a torus needs for a dateline";
        /// Room for arriving packets in each virtual channel, or, with native flow control, in all of them together.
        channel_buffer: Bytes = Bytes::kib(8), within Bytes(64)..=Bytes::mib(1), from "our choice: two block RAMs a channel, several times what a round trip brings";
        /// What keeps a sender from sending too much: "credits" of each channel, or "native" flow control that pauses the port.
        flow_control: FlowControl = FlowControl::Credits, from "a network needs it for each channel; Aurora itself has the native one";
        /// Largest payload of one packet.
        packet_size: Bytes = Bytes(1536), within Bytes(8)..=Bytes(4096), from "the published packets of the system tsukuba";
        /// Whether frames are numbered, acknowledged, and sent again when they were lost or damaged.
        reliable: bool = false, from "Aurora has no retransmission";
        /// Room for frames that are not acknowledged yet.
        retransmission_buffer: Bytes = Bytes::kib(16), within Bytes::kib(1)..=Bytes::kib(512), from "our choice: several times what a round trip takes";
        /// Time through both cores and transceivers, from the user logic of one end to that of the other.
        core_latency: Span = Span::from_ns(292), from "PG074: 46 cycles of user_clk and 1 of the gearbox, at 10.3125 Gbit/s / 64";
        /// Whether the channel stops for clock compensation: 8 cycles in each 4,992.
        clock_compensation: bool = true, from "PG074";
        /// Cycles that a block of credit takes of an idle wire; 0 where it has a wire of its own. On a busy wire it rides in the next header.
        credit_cycles: u32 = 1, within 0..=1, from "a user K-block takes all lanes for a cycle";
        /// Time until an end knows that its fibre is dark.
        loss_detection: Span = Span::from_us(1), from "our choice: some hundred blocks without synchronisation";
    }
}

impl OpticalParameters {
    /// Time of a block on a lane: 66 bits.
    pub fn cycle(&self) -> Span {
        self.lane_rate.time_of(BLOCK_BITS)
    }

    /// Cycles that `bytes` of a buffer hold.
    pub fn cycles_of(&self, bytes: Bytes) -> u32 {
        (bytes.0 / u64::from(protocol::aurora::BLOCK_BYTES * self.optical_lanes)) as u32
    }
}

/// What an optical end is told when the fabric is built.
#[derive(Clone, Debug)]
pub struct OpticalConfig {
    /// What both ends are set to.
    pub parameters: OpticalParameters,
    /// From one end to the other: cores, transceivers and fibre.
    pub flight: Span,
    /// What a frame passes at this end before anything is done with it here.
    pub near_pipeline: Span,
    /// What a frame passes at the far end before anything is done with it there.
    pub far_pipeline: Span,
    /// When clock compensation begins for the first time.
    pub phase: Span,
    /// The errors of the direction that arrives here.
    pub errors: Option<BitErrors>,
}
