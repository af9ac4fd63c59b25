//! [`OpticalEnd`]: sender, receiver and timers of one end of a fibre.

use kernel::{Span, Time};
use protocol::Envelope;
use protocol::aurora::{COMPENSATION_CYCLES, cycles};

use crate::alarm::{Alarm, Ring};
use crate::{BitErrors, LinkContext, LinkTimer};
use packet::{Frame, Observation, PacketId};

use super::config::MOST_CHANNELS;
use super::receiver::Intake;
use super::resend::Resend;
use super::sender::Lane;
use super::timing::Timing;
use super::{FlowControl, Incoming, OpticalConfig, OpticalCounters, OpticalParameters, Outgoing};
use packet::{Block, LightFrame};

/// What an input means for whoever embeds an end.
#[derive(Clone, Debug)]
pub enum Heard {
    /// A packet is here.
    Packet(Incoming),
    /// The end may take a packet that it could not before.
    Room,
    /// The fibre is dark for good: these packets were sent, and it is not known whether they arrived. They are the caller's.
    Dark(Vec<PacketId>),
    /// Nothing.
    Nothing,
}

/// One end of a fibre.
///
/// A large network has thousands, and each event finds another one out of the cache: what most events look at comes first,
/// in this order, a cache line each paragraph.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct OpticalEnd {
    pub(super) timing: Timing,
    /// When the fibre is cut, if ever, and whether that is known here.
    pub(super) severed: Time,
    pub(super) errors: Option<Box<BitErrors>>,
    pub(super) resend: Option<Box<Resend>>,
    credit_cycles: u32,
    pub(super) flow_control: FlowControl,
    dark: bool,
    /// Whether this end is paused, and whether it has paused the other.
    pub(super) paused: bool,
    pub(super) pausing: bool,

    pub(super) lanes: [Lane; MOST_CHANNELS as usize],
    pub(super) intakes: [Intake; MOST_CHANNELS as usize],

    busy_until: Time,
    far_pipeline: Span,
    /// Since when a packet waits for nothing but room.
    stalled: Option<Time>,
    /// Cycles of each channel's buffer, or of all together with native flow control.
    pub(super) room: u32,
    /// Cycles in the buffer, where native flow control watches it; from where on it pauses the far end, and resumes it.
    pub(super) occupied: u32,
    pub(super) marks: (u32, u32),
    /// How often all numbers were told again since anything changed.
    calm: u32,
    channels: u8,

    counters: OpticalCounters,

    /// When all numbers are told again, where errors may strike control blocks.
    telling: Alarm,
    pub(super) again: Alarm,
    wire: Alarm,
    resend_after: Span,
    loss_detection: Span,
}

/// Where errors may strike control blocks, all numbers are told again after this long; after twice as long each time that
/// nothing has changed in between, up to so many times.
const TELL_AGAIN: Span = Span::from_us(10);
const CALMEST: u32 = 7;

/// As often a fibre may fail to bring anything before it is taken for dark.
const TIMEOUTS: u32 = 16;

impl OpticalEnd {
    /// An end that has not begun.
    pub fn new(config: OpticalConfig) -> Self {
        let parameters = &config.parameters;
        let timing = Timing::new(&config);
        let room = parameters.cycles_of(parameters.channel_buffer);
        let largest = timing.cycles(parameters.packet_size.0 as u32 + Envelope::MOST_OVERHEAD);
        let coming = still_coming(parameters, config.flight * 2 + config.near_pipeline);
        let resend = parameters
            .reliable
            .then(|| Resend::new(parameters.cycles_of(parameters.retransmission_buffer)))
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
            calm: 0,
            channels: parameters.virtual_channels as u8,
            counters: OpticalCounters::default(),
            telling: Alarm::IDLE,
            again: Alarm::IDLE,
            wire: Alarm::IDLE,
            // There and back, behind a frame and clock compensation on either way, and as much again.
            resend_after: (config.flight
                + config.far_pipeline
                + timing.cycle * (u64::from(largest) + COMPENSATION_CYCLES))
                * 3,
            loss_detection: parameters.loss_detection,
            timing,
        }
    }

    /// What this end has sent.
    pub fn counters(&self) -> OpticalCounters {
        self.counters
    }

    pub(super) fn cycles_of(&self, packet: PacketId, cx: &mut impl LinkContext) -> u32 {
        let route = cx.packets()[packet].route();
        self.timing.cycles(route.frame_len.into())
    }

    /// The time of a cycle.
    pub fn cycle(&self) -> Span {
        self.timing.cycle
    }

    /// Whether the fibre is known to be dark.
    pub fn is_dark(&self) -> bool {
        self.dark
    }

    /// When the wire is free.
    pub fn free_at(&self) -> Time {
        self.busy_until
    }

    /// Cycles that the far end has room for in a channel.
    #[inline]
    pub fn room(&self, channel: u8) -> u32 {
        match self.flow_control {
            FlowControl::Credits => self.lanes[usize::from(channel)].room(),
            FlowControl::Native if self.paused => 0,
            FlowControl::Native => u32::MAX,
        }
    }

    /// Cycles of buffer that the far end has said to be free in a channel, and how many there are; with native flow control,
    /// of the one buffer of this end.
    pub fn spare(&self, channel: u8) -> (u32, u32) {
        let free = match self.flow_control {
            FlowControl::Credits => self.lanes[usize::from(channel)].room(),
            FlowControl::Native => self.room - self.occupied,
        };
        (free, self.room)
    }

    /// Whether a packet of so many cycles may go on a channel as far as anything but the wire's other users is concerned.
    #[inline]
    pub fn may_send(&self, channel: u8, cycles: u32) -> bool {
        let kept = self
            .resend
            .as_ref()
            .is_none_or(|resend| resend.has_room(cycles));
        kept && self.room(channel) >= cycles
    }

    /// A packet waits on a free wire for nothing but room.
    pub fn stall(&mut self, now: Time) {
        self.stalled.get_or_insert(now);
    }

    /// The fibre is cut at `time`.
    pub fn sever(&mut self, time: Time, cx: &mut impl LinkContext) {
        self.severed = time;
        let known = time + self.loss_detection;
        cx.wake(LinkTimer::Acknowledge, known.since(cx.now()));
    }

    /// Time begins.
    pub fn start(&mut self, cx: &mut impl LinkContext) {
        self.tell_later(cx);
    }

    /// Tells all numbers again some time from now, if a block may be lost.
    pub(super) fn tell_later(&mut self, cx: &mut impl LinkContext) {
        if self.errors.is_none() || self.dark {
            return;
        }
        let deadline = cx.now() + TELL_AGAIN * (1 << self.calm.min(CALMEST));
        if let Some(after) = self.telling.set(cx.now(), deadline) {
            cx.wake(LinkTimer::UpdateCredit, after);
        }
    }

    /// Something has changed that the far end must know.
    pub(super) fn stir(&mut self, cx: &mut impl LinkContext) {
        if std::mem::take(&mut self.calm) > 0 {
            self.tell_later(cx);
        }
    }

    /// Sends a packet that [`may_send`](Self::may_send): when its last cycle ends, and the wire is free again.
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
        self.stir(cx);
        self.counters.frames += 1;
        self.counters.payload_bytes += u64::from(payload);
        let taken = self.put(outgoing, (sequence, false), cycles, cx);
        self.counters.overhead_bytes += taken - u64::from(payload);
        if self.resend.is_some() {
            self.await_acknowledgement(cx);
        }
        self.busy_until
    }

    /// Puts a frame on the wire: the bytes of the cycles that it takes.
    fn put(
        &mut self,
        outgoing: Outgoing,
        (sequence, replay): (u16, bool),
        cycles: u32,
        cx: &mut impl LinkContext,
    ) -> u64 {
        let now = cx.now();
        let (begin, mut end) = self.timing.pass(now.max(self.busy_until), cycles);
        // What is still coming in goes out no sooner.
        end = end.max(outgoing.complete + self.timing.cycle);
        let length = self.timing.cycle * u64::from(cycles);
        let gaps = (end.since(begin).as_fs() - length.as_fs()).div_ceil(self.timing.cycle.as_fs());
        self.busy_until = end;
        self.counters.busy += end.since(begin);
        // A frame that may have to come again is looked at when all of it is there.
        let heard = if self.resend.is_some() {
            end
        } else {
            begin + self.timing.cycle
        };
        let frame = LightFrame {
            packet: outgoing.packet,
            sequence,
            gaps: gaps as u16,
            channel: outgoing.channel,
            damaged: outgoing.damaged,
        };
        if cx.watched() {
            let port = cx.port();
            cx.observe(Observation::Light {
                port,
                frame,
                replay,
                start: begin,
                length: end.since(begin),
            });
        }
        cx.send(Frame::Light(frame), heard.since(now) + self.far_pipeline);
        self.timing.bytes(cycles + gaps as u32)
    }

    /// A packet leaves this end's buffer: its room is free `after` from now.
    pub fn release(&mut self, channel: u8, cycles: u32, after: Span, cx: &mut impl LinkContext) {
        self.stir(cx);
        match self.flow_control {
            FlowControl::Credits => {
                let intake = &mut self.intakes[usize::from(channel)];
                intake.freed = intake.freed.wrapping_add(cycles as u16);
                let freed = Block::Freed {
                    channel,
                    cycles: intake.freed,
                };
                self.tell(freed, after, cx);
            }
            FlowControl::Native => {
                self.occupied = self.occupied.saturating_sub(cycles);
                if self.pausing && self.occupied <= self.marks.1 {
                    self.pausing = false;
                    self.tell(Block::Resume, after, cx);
                }
            }
        }
    }

    /// Sends a control block `after` from now: in a cycle of its own where the wire is idle, or else with what it carries next.
    pub(super) fn tell(&mut self, block: Block, after: Span, cx: &mut impl LinkContext) {
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
        let mut heard = at + self.timing.cycle * cycles;
        if matches!(block, Block::Sent { .. }) {
            // It is behind the frames that it counts, and they pass a pipeline.
            heard = heard.max(self.busy_until) + self.far_pipeline;
        }
        cx.send(Frame::Block(block), heard.since(now));
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
        if let Some(after) = self.again.set(cx.now(), deadline) {
            cx.wake(LinkTimer::Replay, after);
        }
    }

    pub(super) fn send_again(&mut self, cx: &mut impl LinkContext) -> Heard {
        if let Some(resend) = &mut self.resend {
            resend.send_again();
        }
        self.again.clear();
        self.go_on(cx)
    }

    /// Sends the next of the frames that are to be sent again, as soon as the wire is free.
    pub(super) fn go_on(&mut self, cx: &mut impl LinkContext) -> Heard {
        if self.dark || self.paused {
            return Heard::Nothing;
        }
        if self.busy_until > cx.now() {
            return self.go_on_later(cx);
        }
        let Some(resend) = &mut self.resend else {
            return Heard::Nothing;
        };
        let Some((outgoing, sequence)) = resend.next_again() else {
            self.await_acknowledgement(cx);
            return Heard::Room;
        };
        cx.packets().retain(outgoing.packet);
        let cycles = self.cycles_of(outgoing.packet, cx);
        self.counters.replays += 1;
        self.counters.overhead_bytes += self.put(outgoing, (sequence, true), cycles, cx);
        self.go_on_later(cx)
    }

    fn go_on_later(&mut self, cx: &mut impl LinkContext) -> Heard {
        if let Some(after) = self.wire.set(cx.now(), self.busy_until) {
            cx.wake(LinkTimer::Wire, after);
        }
        Heard::Nothing
    }

    /// One of this end's timers runs out.
    pub fn expire(&mut self, timer: LinkTimer, cx: &mut impl LinkContext) -> Heard {
        let ring = match timer {
            LinkTimer::Wire => self.wire.ring(cx.now()),
            LinkTimer::Replay => self.again.ring(cx.now()),
            LinkTimer::UpdateCredit => self.telling.ring(cx.now()),
            LinkTimer::Acknowledge => Ring::Due,
        };
        match ring {
            Ring::Due => {}
            Ring::Again(after) => {
                cx.wake(timer, after);
                return Heard::Nothing;
            }
            Ring::Stale => return Heard::Nothing,
        }
        match timer {
            LinkTimer::Wire => self.go_on(cx),
            LinkTimer::Replay => self.time_out(cx),
            LinkTimer::UpdateCredit => {
                if !self.dark {
                    self.tell_all(cx);
                    self.calm += 1;
                    self.tell_later(cx);
                }
                Heard::Nothing
            }
            LinkTimer::Acknowledge => self.darken(),
        }
    }

    fn time_out(&mut self, cx: &mut impl LinkContext) -> Heard {
        if self.paused {
            self.await_acknowledgement(cx);
            return Heard::Nothing;
        }
        if let Some(resend) = &mut self.resend {
            resend.timeouts += 1;
            if resend.timeouts > TIMEOUTS {
                return self.darken();
            }
        }
        self.send_again(cx)
    }

    pub(super) fn darken(&mut self) -> Heard {
        if std::mem::replace(&mut self.dark, true) {
            return Heard::Nothing;
        }
        self.again.clear();
        let kept = self.resend.as_mut().map(|resend| resend.give_up());
        let kept = kept.unwrap_or_default().into_iter();
        Heard::Dark(kept.map(|outgoing| outgoing.packet).collect())
    }

    /// Tells every number again: a block may have been lost.
    fn tell_all(&mut self, cx: &mut impl LinkContext) {
        for channel in 0..self.channels {
            let (lane, intake) = (
                self.lanes[usize::from(channel)],
                self.intakes[usize::from(channel)],
            );
            if self.resend.is_none() {
                let cycles = lane.sent;
                self.tell(Block::Sent { channel, cycles }, Span::ZERO, cx);
            }
            let cycles = intake.freed;
            self.tell(Block::Freed { channel, cycles }, Span::ZERO, cx);
        }
        if self.flow_control == FlowControl::Native {
            let block = if self.pausing {
                Block::Pause
            } else {
                Block::Resume
            };
            self.tell(block, Span::ZERO, cx);
        }
    }
}

/// Cycles that may still arrive after a receiver has told its sender to pause, where it is so long until a frame comes that
/// was sent in answer: what is under way, and on either way a frame that has begun, and clock compensation.
pub fn still_coming(parameters: &OpticalParameters, round_trip: Span) -> u32 {
    let largest = cycles(
        parameters.packet_size.0 as u32 + Envelope::MOST_OVERHEAD,
        parameters.optical_lanes,
    );
    let way = round_trip.as_fs().div_ceil(parameters.cycle().as_fs()) + 2 + COMPENSATION_CYCLES;
    way as u32 + 2 * largest
}
