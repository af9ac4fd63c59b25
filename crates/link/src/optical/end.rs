//! [`OpticalEnd`]: sender, receiver and timers of one end of a fibre.

use kernel::{Span, Time};
use protocol::Envelope;
use protocol::aurora::COMPENSATION_CYCLES;

use crate::alarm::{Alarm, Ring};
use crate::{BitErrors, LinkContext, LinkTimer};
use packet::{Frame, Observation, PacketId};

use super::config::{MOST_CHANNELS, still_coming};
use super::receiver::Intake;
use super::resend::Resend;
use super::sender::Lane;
use super::timing::Timing;
use super::{FlowControl, Incoming, OpticalConfig, OpticalCounters, Outgoing};
use packet::{Block, FibreFrame};

/// The effect of an input on the component of an optical end.
#[derive(Clone, Debug)]
pub enum OpticalEvent {
    /// A packet has arrived.
    Packet(Incoming),
    /// The end may be able to send a packet that it could not send before.
    Ready,
    /// The fibre is dark and stays dark. These packets were sent but not acknowledged, so they may have arrived. The caller now holds the
    /// references to the packets.
    Dark(Vec<PacketId>),
    /// The event does not concern the component.
    Nothing,
}

/// One end of a fibre.
///
/// A large network has thousands of ends, and for most events the end is not in the cache. Therefore the fields that most events use are
/// stored first, in one cache line for each group.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct OpticalEnd {
    pub(super) timing: Timing,
    /// The time at which the fibre is cut, or [`Time::NEVER`].
    pub(super) severed: Time,
    pub(super) errors: Option<Box<BitErrors>>,
    pub(super) resend: Option<Box<Resend>>,
    credit_cycles: u32,
    pub(super) flow_control: FlowControl,
    dark: bool,
    /// Whether the far end has paused this end, and whether this end has paused the far end.
    pub(super) paused: bool,
    pub(super) pausing: bool,

    pub(super) lanes: [Lane; MOST_CHANNELS as usize],
    pub(super) intakes: [Intake; MOST_CHANNELS as usize],

    busy_until: Time,
    far_pipeline: Span,
    /// The time since which a packet waits only for credit.
    stalled: Option<Time>,
    /// The size in cycles of each channel's buffer. With native flow control, all channels share a buffer of this size.
    pub(super) room: u32,
    /// The number of cycles in the buffer, and the fill levels at which the far end is paused and resumed. Used with native flow control
    /// only.
    pub(super) occupied: u32,
    pub(super) marks: (u32, u32),
    /// The number of times that all counts were sent again since a count last changed.
    unchanged_rounds: u32,
    channels: u8,

    counters: OpticalCounters,

    /// The timer for sending all counts again. It is used only if bit errors can destroy control blocks.
    count_alarm: Alarm,
    pub(super) again: Alarm,
    wire: Alarm,
    resend_after: Span,
    loss_detection: Span,
}

/// The first interval after which all counts are sent again, if bit errors can destroy control blocks. The interval doubles after each round
/// without a change, up to `MOST_DOUBLINGS` times.
const COUNT_INTERVAL: Span = Span::from_us(10);
const MOST_DOUBLINGS: u32 = 7;

/// The number of consecutive timeouts after which the fibre counts as dark.
const TIMEOUTS: u32 = 16;

impl OpticalEnd {
    /// Creates an end that has not started.
    pub fn new(config: OpticalConfig) -> Self {
        let parameters = &config.parameters;
        let timing = Timing::new(&config);
        let room = config.buffer_cycles();
        let largest = timing.cycles(parameters.packet_size.0 as u32 + Envelope::MOST_OVERHEAD);
        let coming = still_coming(parameters, config.flight * 2 + config.near_pipeline);
        let resend = parameters
            .reliable
            .then(|| Resend::new(config.retransmission_cycles()))
            .map(Box::new);
        let lane = Lane {
            sent: 0,
            limit: room as u16,
        };
        OpticalEnd {
            severed: Time::NEVER,
            errors: config.errors.map(Box::new),
            resend,
            credit_cycles: parameters.credit_cycles,
            flow_control: parameters.flow_control,
            dark: false,
            paused: false,
            pausing: false,
            lanes: [lane; MOST_CHANNELS as usize],
            intakes: [Intake::default(); MOST_CHANNELS as usize],
            busy_until: Time::ZERO,
            far_pipeline: config.far_pipeline,
            stalled: None,
            room,
            occupied: 0,
            marks: (room.saturating_sub(coming), room.saturating_sub(coming) / 2),
            unchanged_rounds: 0,
            channels: parameters.virtual_channels as u8,
            counters: OpticalCounters::default(),
            count_alarm: Alarm::IDLE,
            again: Alarm::IDLE,
            wire: Alarm::IDLE,
            // Three times the sum of the latency to the far end, the largest frame and a clock compensation: more than a round trip.
            resend_after: (config.flight
                + config.far_pipeline
                + timing.cycle * (u64::from(largest) + COMPENSATION_CYCLES))
                * 3,
            loss_detection: parameters.loss_detection,
            timing,
        }
    }

    /// The counters of this end's transmitter at `now`, including a credit stall that has not ended. For a frame that is on the fibre at
    /// `now`, the bytes are counted completely, and the time is counted up to `now`.
    pub fn counters(&self, now: Time) -> OpticalCounters {
        let mut counters = self.counters;
        if let Some(since) = self.stalled {
            counters.credit_stall += now.since(since);
        }
        if now < self.busy_until {
            let remaining = self.busy_until.since(now);
            counters.busy = counters.busy.saturating_sub(remaining);
        }
        counters
    }

    pub(super) fn cycles_of(&self, packet: PacketId, cx: &mut impl LinkContext) -> u32 {
        let route = cx.packets()[packet].route();
        self.timing.cycles(route.frame_len.into())
    }

    /// The time of one cycle.
    pub fn cycle(&self) -> Span {
        self.timing.cycle
    }

    /// Whether this end has detected that the fibre is dark.
    pub fn is_dark(&self) -> bool {
        self.dark
    }

    /// The time at which the wire is free.
    pub fn free_at(&self) -> Time {
        self.busy_until
    }

    /// The number of cycles that flow control permits this end to send on a channel.
    pub fn room(&self, channel: u8) -> u32 {
        match self.flow_control {
            FlowControl::Credits => self.lanes[usize::from(channel)].room(),
            FlowControl::Native if self.paused => 0,
            FlowControl::Native => u32::MAX,
        }
    }

    /// The free cycles and the size of a buffer. With credits, it is the far end's buffer for the channel, as far as this end can count.
    /// With native flow control, it is this end's own buffer.
    pub fn spare(&self, channel: u8) -> (u32, u32) {
        let free = match self.flow_control {
            FlowControl::Credits => self.lanes[usize::from(channel)].room(),
            FlowControl::Native => self.room - self.occupied,
        };
        (free, self.room)
    }

    /// Whether flow control and the retransmission buffer permit a packet of `cycles` cycles on a channel.
    pub fn may_send(&self, channel: u8, cycles: u32) -> bool {
        let kept = self
            .resend
            .as_ref()
            .is_none_or(|resend| resend.has_room(cycles));
        kept && self.room(channel) >= cycles
    }

    /// Records that a packet waits on a free wire only for credit.
    pub fn stall(&mut self, now: Time) {
        self.stalled.get_or_insert(now);
    }

    /// Cuts the fibre at `time`.
    pub fn sever(&mut self, time: Time, cx: &mut impl LinkContext) {
        self.severed = time;
        let known = time + self.loss_detection;
        cx.wake(LinkTimer::Acknowledge, known.since(cx.now()));
    }

    /// Starts the periodic repetition of counts, if bit errors make it necessary.
    pub fn start(&mut self, cx: &mut impl LinkContext) {
        self.schedule_counts(cx);
    }

    /// Schedules the next repetition of all counts, if control blocks can be lost.
    pub(super) fn schedule_counts(&mut self, cx: &mut impl LinkContext) {
        if self.errors.is_none() || self.dark {
            return;
        }
        let deadline = cx.now() + COUNT_INTERVAL * (1 << self.unchanged_rounds.min(MOST_DOUBLINGS));
        if let Some(time) = self.count_alarm.set(deadline) {
            cx.wake_at(LinkTimer::UpdateCredit, time);
        }
    }

    /// Restarts the repetition of counts at its shortest interval, because a count has changed.
    pub(super) fn counts_changed(&mut self, cx: &mut impl LinkContext) {
        if std::mem::take(&mut self.unchanged_rounds) > 0 {
            self.schedule_counts(cx);
        }
    }

    /// Sends a packet that [`may_send`](Self::may_send) permits. Returns the time at which its last cycle ends and the wire is
    /// free.
    pub fn send(&mut self, outgoing: Outgoing, cx: &mut impl LinkContext) -> Time {
        let route = cx.packets()[outgoing.packet].route();
        let (frame_len, payload) = (route.frame_len, route.payload_len);
        let cycles = self.timing.cycles(frame_len.into());
        let lane = &mut self.lanes[usize::from(outgoing.channel)];
        let before = lane.sent;
        lane.sent = lane.sent.wrapping_add(cycles as u16);
        let sequence = match &mut self.resend {
            None => before,
            Some(resend) => {
                cx.packets().retain(outgoing.packet);
                resend.keep(outgoing, cycles)
            }
        };
        if let Some(since) = self.stalled.take() {
            self.counters.credit_stall += cx.now().since(since);
        }
        self.counts_changed(cx);
        self.counters.frames += 1;
        self.counters.payload_bytes += u64::from(payload);
        let taken = self.put(outgoing, (sequence, false), cycles, cx);
        self.counters.overhead_bytes += taken - u64::from(payload);
        if self.resend.is_some() {
            self.await_acknowledgement(cx);
        }
        self.busy_until
    }

    /// Sends a frame on the wire. Returns the bytes of the cycles that the frame occupies.
    fn put(
        &mut self,
        outgoing: Outgoing,
        (sequence, replay): (u16, bool),
        cycles: u32,
        cx: &mut impl LinkContext,
    ) -> u64 {
        let now = cx.now();
        let (begin, mut end) = self.timing.pass(now.max(self.busy_until), cycles);
        // A packet that is still arriving can be sent only as fast as it arrives.
        end = end.max(outgoing.complete + self.timing.cycle);
        let length = self.timing.cycle * u64::from(cycles);
        let gaps = (end.since(begin).as_fs() - length.as_fs()).div_ceil(self.timing.cycle.as_fs());
        self.busy_until = end;
        self.counters.busy += end.since(begin);
        // With retransmission, the receiver handles a frame only when it is complete.
        let received = if self.resend.is_some() {
            end
        } else {
            begin + self.timing.cycle
        };
        let frame = FibreFrame {
            packet: outgoing.packet,
            sequence,
            gaps: gaps as u16,
            channel: outgoing.channel,
            damaged: outgoing.damaged,
        };
        if cx.watched() {
            let port = cx.port();
            cx.observe(Observation::Fibre {
                port,
                frame,
                replay,
                start: begin,
                length: end.since(begin),
            });
        }
        cx.send(Frame::Fibre(frame), received.since(now) + self.far_pipeline);
        self.timing.bytes(cycles + gaps as u32)
    }

    /// Returns the buffer space of a packet that has left, `after` from now.
    pub fn release(&mut self, channel: u8, cycles: u32, after: Span, cx: &mut impl LinkContext) {
        self.counts_changed(cx);
        match self.flow_control {
            FlowControl::Credits => {
                let intake = &mut self.intakes[usize::from(channel)];
                intake.freed = intake.freed.wrapping_add(cycles as u16);
                let freed = Block::Freed {
                    channel,
                    cycles: intake.freed,
                };
                self.send_block(freed, after, cx);
            }
            FlowControl::Native => {
                self.occupied = self.occupied.saturating_sub(cycles);
                if self.pausing && self.occupied <= self.marks.1 {
                    self.pausing = false;
                    self.send_block(Block::Resume, after, cx);
                }
            }
        }
    }

    /// Sends a control block `after` from now: in a cycle of its own if the wire is idle, otherwise inside the next header.
    pub(super) fn send_block(&mut self, block: Block, after: Span, cx: &mut impl LinkContext) {
        let now = cx.now();
        let cycles = u64::from(self.credit_cycles);
        let mut at = now + after;
        if cycles > 0 && self.busy_until > at {
            at = self.busy_until;
        } else if cycles > 0 && after == Span::ZERO {
            (_, self.busy_until) = self.timing.pass(at, 1);
            self.counters.busy += self.timing.cycle;
            self.counters.control_bytes += self.timing.bytes(1);
        }
        if cx.watched() {
            let port = cx.port();
            let start = at;
            cx.observe(Observation::Block { port, block, start });
        }
        let mut received = at + self.timing.cycle * cycles;
        if matches!(block, Block::Sent { .. }) {
            // The block must not overtake the frames that it counts, which pass the far end's pipeline.
            received = received.max(self.busy_until) + self.far_pipeline;
        }
        cx.send(Frame::Block(block), received.since(now));
    }

    pub(super) fn await_acknowledgement(&mut self, cx: &mut impl LinkContext) {
        let waits = self
            .resend
            .as_ref()
            .is_some_and(|resend| resend.is_waiting());
        if !waits || self.again.is_set() {
            return;
        }
        let deadline = self.busy_until.max(cx.now()) + self.resend_after;
        if let Some(time) = self.again.set(deadline) {
            cx.wake_at(LinkTimer::Replay, time);
        }
    }

    pub(super) fn send_again(&mut self, cx: &mut impl LinkContext) -> OpticalEvent {
        if let Some(resend) = &mut self.resend {
            resend.send_again();
        }
        self.again.clear();
        self.resend_next(cx)
    }

    /// Sends the next frame that must be sent again, as soon as the wire is free.
    pub(super) fn resend_next(&mut self, cx: &mut impl LinkContext) -> OpticalEvent {
        if self.dark || self.paused {
            return OpticalEvent::Nothing;
        }
        if self.busy_until > cx.now() {
            return self.resend_later(cx);
        }
        let Some(resend) = &mut self.resend else {
            return OpticalEvent::Nothing;
        };
        let Some((outgoing, sequence)) = resend.next_again() else {
            self.await_acknowledgement(cx);
            return OpticalEvent::Ready;
        };
        cx.packets().retain(outgoing.packet);
        let cycles = self.cycles_of(outgoing.packet, cx);
        self.counters.replays += 1;
        let bytes = self.put(outgoing, (sequence, true), cycles, cx);
        self.counters.overhead_bytes += bytes;
        self.counters.replayed_bytes += bytes;
        self.resend_later(cx)
    }

    fn resend_later(&mut self, cx: &mut impl LinkContext) -> OpticalEvent {
        if let Some(time) = self.wire.set(self.busy_until) {
            cx.wake_at(LinkTimer::Wire, time);
        }
        OpticalEvent::Nothing
    }

    /// Handles a timer that has expired.
    pub fn expire(&mut self, timer: LinkTimer, cx: &mut impl LinkContext) -> OpticalEvent {
        let ring = match timer {
            LinkTimer::Wire => self.wire.ring(cx.now()),
            LinkTimer::Replay => self.again.ring(cx.now()),
            LinkTimer::UpdateCredit => self.count_alarm.ring(cx.now()),
            LinkTimer::Acknowledge
            | LinkTimer::RefreshCredit
            | LinkTimer::InitializeChannels
            | LinkTimer::Errors
            | LinkTimer::Training
            | LinkTimer::Framing
            | LinkTimer::Power => Ring::Due,
        };
        match ring {
            Ring::Due => {}
            Ring::Again(time) => {
                cx.wake_at(timer, time);
                return OpticalEvent::Nothing;
            }
            Ring::Stale => return OpticalEvent::Nothing,
        }
        match timer {
            LinkTimer::Wire => self.resend_next(cx),
            LinkTimer::Replay => self.time_out(cx),
            LinkTimer::UpdateCredit => {
                if !self.dark {
                    self.send_counts(cx);
                    self.unchanged_rounds += 1;
                    self.schedule_counts(cx);
                }
                OpticalEvent::Nothing
            }
            LinkTimer::Acknowledge => self.give_up_fibre(),
            // Only links of PCI Express set these timers.
            LinkTimer::RefreshCredit
            | LinkTimer::InitializeChannels
            | LinkTimer::Errors
            | LinkTimer::Training
            | LinkTimer::Framing
            | LinkTimer::Power => OpticalEvent::Nothing,
        }
    }

    fn time_out(&mut self, cx: &mut impl LinkContext) -> OpticalEvent {
        if self.paused {
            self.await_acknowledgement(cx);
            return OpticalEvent::Nothing;
        }
        if let Some(resend) = &mut self.resend {
            resend.timeouts += 1;
            if resend.timeouts > TIMEOUTS {
                return self.give_up_fibre();
            }
        }
        self.send_again(cx)
    }

    pub(super) fn give_up_fibre(&mut self) -> OpticalEvent {
        if std::mem::replace(&mut self.dark, true) {
            return OpticalEvent::Nothing;
        }
        self.again.clear();
        let kept = self.resend.as_mut().map(|resend| resend.give_up());
        let kept = kept.unwrap_or_default().into_iter();
        OpticalEvent::Dark(kept.map(|outgoing| outgoing.packet).collect())
    }

    /// Sends all counts again, because a control block may have been lost.
    fn send_counts(&mut self, cx: &mut impl LinkContext) {
        for channel in 0..self.channels {
            let (lane, intake) = (
                self.lanes[usize::from(channel)],
                self.intakes[usize::from(channel)],
            );
            if self.resend.is_none() {
                let cycles = lane.sent;
                self.send_block(Block::Sent { channel, cycles }, Span::ZERO, cx);
            }
            let cycles = intake.freed;
            self.send_block(Block::Freed { channel, cycles }, Span::ZERO, cx);
        }
        if self.flow_control == FlowControl::Native {
            let block = if self.pausing {
                Block::Pause
            } else {
                Block::Resume
            };
            self.send_block(block, Span::ZERO, cx);
        }
    }
}
