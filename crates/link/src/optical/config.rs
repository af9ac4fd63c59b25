//! Parameters of optical ports, and the configuration of an optical end.

use kernel::{BitRate, Bytes, Span};
use protocol::Envelope;
use protocol::aurora::{BLOCK_BITS, COMPENSATION_CYCLES, cycles};

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
        channel_buffer: Option<Bytes> = None, within Some(Bytes(64))..=Some(Bytes::mib(1)), lifts "credit" times [2, 16], from "computed: what the fibre carries during the loop of its credit, or twice that with native flow control; two block RAMs of 4 KiB at least";
        /// Flow control of the fibre: "credits" for each virtual channel, or "native" flow control that pauses the whole port.
        flow_control: FlowControl = FlowControl::Credits, from "a network needs it for each channel; Aurora itself has the native one";
        /// Largest payload of a packet.
        packet_size: Bytes = Bytes(1536), within Bytes(8)..=Bytes(4096), from "the published packets of the system tsukuba";
        /// Whether frames are numbered, acknowledged, and sent again after loss or damage.
        reliable: bool = false, from "Aurora has no retransmission";
        /// Size of the buffer for frames that are not acknowledged yet.
        retransmission_buffer: Option<Bytes> = None, within Some(Bytes::kib(1))..=Some(Bytes::kib(512)), from "computed: what the fibre carries during two round trips; 16 KiB at least";
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
    /// The time of one block of 66 bits on a lane.
    pub fn cycle(&self) -> Span {
        self.lane_rate.time_of(BLOCK_BITS)
    }

    /// The size of the receive buffer of each virtual channel if it is set, or the smallest size that it has on any fibre.
    pub fn channel_buffer(&self) -> Bytes {
        self.channel_buffer.unwrap_or(Bytes::kib(8))
    }

    /// The number of cycles of data that fit in `bytes` bytes.
    pub fn cycles_of(&self, bytes: Bytes) -> u32 {
        (bytes.0 / u64::from(protocol::aurora::BLOCK_BYTES * self.optical_lanes)) as u32
    }
}

/// The largest buffer, in cycles, with which the credit counts modulo 65,536 are unambiguous.
pub const MOST_CYCLES: u32 = 32_000;

/// The configuration of an optical end, fixed when the fabric is built.
#[derive(Clone, Debug)]
pub struct OpticalConfig {
    /// The parameters that both ends share.
    pub parameters: OpticalParameters,
    /// The latency from one end to the other: cores, transceivers and fibre.
    pub flight: Span,
    /// The latency of the pipeline of this end. Each frame passes it before the end handles the frame.
    pub near_pipeline: Span,
    /// The latency of the pipeline of the far end. Each frame passes it before the far end handles the frame.
    pub far_pipeline: Span,
    /// The time of the first clock compensation.
    pub phase: Span,
    /// The bit errors of the direction that arrives at this end.
    pub errors: Option<BitErrors>,
}

impl OpticalConfig {
    /// The number of cycles that can arrive during the round trip of a credit: through the fibre and the pipelines of both ends, and back.
    fn coming(&self) -> u32 {
        let pipelines = self.near_pipeline + self.far_pipeline;
        still_coming(&self.parameters, self.flight * 2 + pipelines)
    }

    /// The size of the receive buffer of each channel, in cycles.
    pub(super) fn buffer_cycles(&self) -> u32 {
        let parameters = &self.parameters;
        let least = parameters.cycles_of(parameters.channel_buffer());
        let needed = match parameters.flow_control {
            FlowControl::Credits => self.coming(),
            FlowControl::Native => self.coming().saturating_mul(2),
        };
        match parameters.channel_buffer {
            Some(_) => least,
            None => needed.clamp(least, MOST_CYCLES.max(least)),
        }
    }

    /// The size of the buffer for frames that are not acknowledged, in cycles.
    pub(super) fn retransmission_cycles(&self) -> u32 {
        let written = self.parameters.retransmission_buffer;
        let least = self.parameters.cycles_of(written.unwrap_or(Bytes::kib(16)));
        match written {
            Some(_) => least,
            None => self.coming().saturating_mul(2).max(least),
        }
    }
}

/// The number of cycles that can still arrive after a receiver has paused its sender. `round_trip` is the time from the pause until the
/// arrival of the first frame that was sent after the pause took effect. The number includes the frames in flight, and in each direction one
/// frame that has started and one clock compensation.
pub fn still_coming(parameters: &OpticalParameters, round_trip: Span) -> u32 {
    let largest = cycles(
        parameters.packet_size.0 as u32 + Envelope::MOST_OVERHEAD,
        parameters.optical_lanes,
    );
    let way = round_trip.as_fs().div_ceil(parameters.cycle().as_fs()) + 2 + COMPENSATION_CYCLES;
    way as u32 + 2 * largest
}
