//! [`LinkEnd`]: transmitter, receiver and timers of one end of a link, which form its data-link layer.

mod credit;
mod errors;
mod initialization;
mod power;
mod prefetching;
mod rate;
mod readings;
mod receiving;
mod training;

use std::collections::VecDeque;
use std::mem::offset_of;

use kernel::{Span, Time};
use packet::Charge;
use protocol::{CorrectableError, Dllp, TrafficClass};

use crate::active_state::ActiveState;
use crate::alarm::{Alarm, Ring};
use crate::channels::ChannelMap;
use crate::counters::Counters;
use crate::handshake::Handshake;
use crate::ltssm::{LinkChange, LinkCommand, Ltssm, Offer, TrainingTimes};
use crate::parameters::PortParameters;
use crate::receiver::Receiver;
use crate::refresh::Refresh;
use crate::transmitter::{Finished, L0s, SEQUENCES, Transmitter, Turn};
use crate::{At, LinkConfig, LinkContext, LinkTimer, Waiting};
use rate::Rates;

/// One end of a link.
///
/// A large fabric has thousands of ends, and for most events the end is not in the cache. Therefore, the fields that packets need are in few
/// cache lines, and fields that are needed together are in the same line: [`LinkEnd::COMMON`], [`LinkEnd::RECEIPT`], and the parts of the
/// transmitter.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct LinkEnd {
    commands: VecDeque<LinkCommand>,

    receiver: Receiver,
    /// The time from which on the link is not in L0, copied from the LTSSM. It is stored here, beside the fields that packets need.
    outside_l0_from: Time,
    map: ChannelMap,
    acknowledge_now: bool,
    refuse_now: bool,
    has_channel_capability: bool,
    cut_through: bool,
    /// Whether a separate Ack is sent for each packet.
    acknowledges_each: bool,
    /// Whether packets may be cut off before their last bit, because the link may go down at a time that is set in advance.
    may_truncate: bool,
    /// `REPLAY_NUM`: the number of replays since an Ack or Nak last acknowledged a packet.
    replays: u8,
    /// The number of packets after which an Ack is sent at once, and the number of packets since the last Ack.
    acknowledge_packets: u32,
    unacknowledged: u32,
    handshake: Handshake,

    wire_alarm: Alarm,
    refresh: Refresh,

    acknowledge_alarm: Alarm,
    acknowledge_limit: Span,
    update_alarm: Alarm,
    /// The longest time from when credit is freed until its UpdateFC is sent.
    update_delay: Span,

    replay_alarm: Alarm,
    replay_limit: Span,
    transmitter: Transmitter,

    /// The time at which a bad packet that is still arriving ends. Its Nak becomes due then.
    refuse_at: Time,
    /// The timers that packets do not set. Packets set the first timers only.
    rare_alarms: [Alarm; LinkTimer::COUNT as usize - LinkTimer::OF_PACKETS],
    /// The enabled channels, except the ones that are initialised with the link, as bits by VC ID.
    enabled: u8,
    /// Whether this end supports scaled flow control.
    is_scalable: bool,
    /// The errors that this end has corrected, as bits of the Correctable Error Status register.
    repaired: u32,
    /// The times at which incidents will interrupt the reception of packets at this end.
    cuts: Vec<Time>,
    /// The parameters of entry to L0s and exit from L0s, for use when software enables L0s.
    l0s: L0s,
    /// The time without packets after which the far end's transmitter enters L0s.
    far_l0s_entry: Span,
    /// The state of entry to L1 and exit from L1. Boxed, because packets do not need it.
    power: Box<ActiveState>,
    /// Whether the far end is in electrical idle, so that there are no bits that errors can damage.
    is_far_silent: bool,
    /// The time until which the last TS2 of this end was sent.
    sent_ts2_until: Time,
    ltssm: Ltssm,
    has_been_up: bool,
    /// The remaining time of the replay timer when the link left L0.
    replay_left: Option<Span>,
    /// Whether software has requested the Recovery that is under way.
    is_asked_to_retrain: bool,
    /// The times that depend on the rate and the width. Boxed, because only training needs them.
    rates: Box<Rates>,
    /// The changes of the link that the component has not read yet.
    changes: VecDeque<LinkChange>,
    /// The channel and the credits of the newest packet.
    newest: Option<(u8, Charge)>,
}

/// The effects that a [`LinkEnd`] can use.
pub trait EndContext: LinkContext + Sized {
    /// Makes `end` send on its wire, which is free.
    fn use_wire_of(&mut self, end: &mut LinkEnd, now: Time) {
        end.use_wire(now, self);
    }
}

impl EndContext for At<'_> {
    // This function is not generic, so that it is compiled once, and not in each crate with components. Then caches hold only one copy.
    fn use_wire_of(&mut self, end: &mut LinkEnd, now: Time) {
        end.use_wire(now, self);
    }
}

// Each of these offsets is the beginning of a cache line.
const _: () = {
    assert!(LinkEnd::COMMON.is_multiple_of(64));
    assert!(LinkEnd::RECEIPT.is_multiple_of(64));
    assert!((LinkEnd::TIMING - Counters::PACKETS).is_multiple_of(64));
};

/// The number of values of the two-bit counter `REPLAY_NUM`.
const REPLAYS: u8 = 4;

/// The interval between rounds of InitFC DLLPs (PCIe Base 3.4.1).
const INIT_FC_INTERVAL: Span = Span::from_us(34);

impl LinkEnd {
    /// The cache line with the buffers of posted packets.
    const POSTED: usize = offset_of!(LinkEnd, receiver) + Receiver::POSTED;
    /// The cache line that every packet needs when it arrives, leaves or frees a buffer.
    const COMMON: usize = offset_of!(LinkEnd, receiver) + Receiver::PACKETS;
    /// The cache line that a packet needs when it arrives or frees a buffer.
    const RECEIPT: usize = offset_of!(LinkEnd, acknowledge_alarm);
    /// The end of the cache lines that a packet needs when it leaves. They begin at [`COMMON`](Self::COMMON).
    const SENDING_END: usize = offset_of!(LinkEnd, transmitter) + Transmitter::PACKETS_END;
    /// The cache line with the timing of the wire and the counters.
    const TIMING: usize = offset_of!(LinkEnd, transmitter) + Transmitter::TIMING;

    /// Creates a link end that has not started.
    pub fn new(config: LinkConfig, parameters: &PortParameters) -> Self {
        let full = Offer {
            generation: config.generation,
            lanes: config.lanes,
        };
        let rates = Rates::new(&config, parameters);
        let ack = parameters.ack_rule();
        let timing = rates.timing(full);
        let replay_buffer = parameters.buffers(&config).replay;
        let is_scalable = parameters.offers_scaled_flow_control(config.generation);
        let times = TrainingTimes {
            training: parameters.training_time() + config.round_trip,
            recovery: parameters.recovery_time,
            speed_change: parameters.speed_change_time,
            l1_exit: parameters.l1_exit_latency.unwrap_or(Span::ZERO),
        };
        LinkEnd {
            outside_l0_from: config.fails_at,
            cuts: Vec::new(),
            may_truncate: config.cut_through && config.fails_at < Time::NEVER,
            l0s: L0s {
                entry: parameters.l0s_entry_time,
                exit: config.far_l0s_exit,
            },
            far_l0s_entry: config.far_l0s_entry,
            power: Box::new(ActiveState::new(
                config.is_upstream,
                parameters.l1_entry_time,
            )),
            is_far_silent: false,
            sent_ts2_until: Time::ZERO,
            map: ChannelMap::in_order(config.channels),
            enabled: 0,
            has_channel_capability: config.has_channel_capability,
            ltssm: Ltssm::new(full, times, config.fails_at),
            has_been_up: false,
            replay_left: None,
            is_asked_to_retrain: false,
            commands: VecDeque::new(),
            changes: VecDeque::new(),
            newest: None,
            transmitter: Transmitter::new(timing, &config, replay_buffer.0),
            handshake: Handshake::new(config.channels, is_scalable),
            acknowledge_now: false,
            refuse_now: false,
            refuse_at: Time::NEVER,
            cut_through: config.cut_through,
            acknowledge_limit: rates.acknowledge_limit(full),
            acknowledge_packets: ack.packets,
            acknowledges_each: ack.is_each,
            unacknowledged: 0,
            replay_limit: rates.replay_limit(full),
            update_delay: rates.update_delay(full),
            rates: Box::new(rates),
            refresh: Refresh::new(parameters.update_fc_refresh),
            is_scalable,
            receiver: Receiver::new(parameters, config),
            wire_alarm: Alarm::IDLE,
            acknowledge_alarm: Alarm::IDLE,
            replay_alarm: Alarm::IDLE,
            update_alarm: Alarm::IDLE,
            rare_alarms: [Alarm::IDLE; _],
            replays: 0,
            repaired: 0,
        }
    }

    /// Whether the link is down at `now`: it has failed, or has gone down and has not come up again.
    pub fn has_failed(&self, now: Time) -> bool {
        now >= self.ltssm.down_from()
    }

    fn is_outside_l0(&self, now: Time) -> bool {
        now >= self.outside_l0_from
    }

    /// The time at which the link fails, or [`Time::NEVER`].
    pub fn fails_at(&self) -> Time {
        self.ltssm.fails_at
    }

    /// Announces that an incident will interrupt the reception of packets at this end at `time`. With this time, a cut-through port can
    /// determine which packets end before their last bit, as it does with bit errors.
    pub fn expect_cut(&mut self, time: Time) {
        self.cuts.push(time);
        self.may_truncate = self.cut_through;
    }

    /// Whether the link goes down between `now` and `complete`.
    fn is_truncated(&self, now: Time, complete: Time) -> bool {
        let mut cuts = self.cuts.iter();
        complete >= self.fails_at() || cuts.any(|cut| (now..complete).contains(cut))
    }

    /// Starts flow-control initialisation.
    pub fn start(&mut self, cx: &mut impl EndContext) -> Option<Finished> {
        if !self.is_scalable {
            self.receiver.fix_limits(false);
        }
        if self.fails_at() < Time::NEVER {
            let after = self.fails_at().since(cx.now());
            cx.wake_in_background(LinkTimer::Errors, after);
        }
        self.begin_round(cx);
        self.watch_for_damage(cx);
        self.watch_idle_time(cx);
        self.pump(cx)
    }

    /// Queues a packet of `source` for transmission. The link takes over the caller's reference to the packet.
    #[inline(always)]
    pub fn enqueue(
        &mut self,
        source: u16,
        waiting: Waiting,
        cx: &mut impl EndContext,
    ) -> Option<Finished> {
        let channel = self.channel_of(waiting.charge.traffic_class);
        self.transmitter.push(channel, source, waiting);
        self.pump(cx)
    }

    /// The virtual channel of a traffic class. The number is beyond the last channel if the class maps to none.
    fn channel_of(&self, class: TrafficClass) -> usize {
        self.map.channel_of(class)
    }

    /// Enables or disables L0s for this end's transmitter when it is idle, as ASPM Control does. The receiver expects the same setting at
    /// the far end, because firmware enables L0s at both ends of a link.
    pub fn enable_l0s(&mut self, is_enabled: bool) {
        self.transmitter.set_l0s(is_enabled.then_some(self.l0s));
        self.receiver
            .set_silent_after(is_enabled.then_some(self.far_l0s_entry));
    }

    /// Replays the packets in the replay buffer. The fourth replay without progress retrains the link first (PCIe Base 3.6.2.1).
    fn send_again(&mut self, cx: &mut impl EndContext) {
        self.transmitter.replay_buffer.replay();
        self.replays += 1;
        if self.replays == REPLAYS {
            self.record(CorrectableError::ReplayNumRollover, cx);
            self.replays = 0;
            self.retrain(cx);
        }
    }

    /// Handles a timer that has expired.
    #[inline(always)]
    pub fn expire(&mut self, timer: LinkTimer, cx: &mut impl EndContext) -> Option<Finished> {
        // Nearly all timers that expire are wire timers.
        if timer != LinkTimer::Wire || self.is_outside_l0(cx.now()) {
            return self.expire_any(timer, cx);
        }
        self.ring(LinkTimer::Wire, cx)?;
        self.pump(cx)
    }

    /// Handles a wake-up of a timer. Returns `None` if the timer has not expired.
    #[inline(always)]
    fn ring(&mut self, timer: LinkTimer, cx: &mut impl EndContext) -> Option<()> {
        match self.alarm(timer).ring(cx.now()) {
            Ring::Due => return Some(()),
            Ring::Again(time) => self.wake(timer, time, cx),
            Ring::Stale => {}
        }
        None
    }

    fn expire_any(&mut self, timer: LinkTimer, cx: &mut impl EndContext) -> Option<Finished> {
        self.ring(timer, cx)?;
        if self.is_outside_l0(cx.now()) && !self.is_linked(cx.now()) {
            return self.expire_while_down(timer, cx);
        }
        match timer {
            LinkTimer::Errors => return None,
            LinkTimer::Wire => {}
            LinkTimer::Acknowledge => {
                self.refuse_arrived(cx.now());
                self.acknowledge_now = !self.refuse_now;
            }
            LinkTimer::Replay => {
                self.record(CorrectableError::ReplayTimerTimeout, cx);
                self.send_again(cx);
            }
            LinkTimer::UpdateCredit if self.handshake.is_done() => self.update_credit(cx),
            LinkTimer::UpdateCredit => self.begin_round(cx),
            LinkTimer::RefreshCredit => self.refresh_credit(cx),
            LinkTimer::InitializeChannels => self.begin_round_of_channels(cx),
            LinkTimer::Training => self.expire_training(cx),
            LinkTimer::Framing => self.find_damage_between_frames(cx),
            LinkTimer::Power => self.ask_if_idle(cx),
        }
        self.pump(cx)
    }

    /// Uses a free wire for the most urgent transmission (PCIe Base 3.6.3.1): Nak, Ack, UpdateFC, replayed TLPs, new TLPs.
    #[inline]
    fn pump(&mut self, cx: &mut impl EndContext) -> Option<Finished> {
        let now = cx.now();
        if self.is_outside_l0(now) {
            return self.pump_outside_l0(cx);
        }
        if now < self.transmitter.busy_until {
            self.set(LinkTimer::Wire, self.transmitter.busy_until, cx);
            return None;
        }
        let finished = self.transmitter.on_wire.take();
        if self.has_work() {
            cx.use_wire_of(self, now);
        }
        finished
    }

    /// Drops the packets of a link that is down: all unacknowledged packets at once, and waiting packets at the rate of the wire. Without
    /// this delay, a sender that does not react to the failure would send an endless number of packets at the same time.
    fn drop_next(&mut self, cx: &mut impl EndContext) -> Option<Finished> {
        self.transmitter.replay_buffer.clear(cx);
        let now = cx.now();
        if now >= self.fails_at() && self.transmitter.is_streaming() {
            self.end_at_failure();
        }
        let free = self.transmitter.busy_until.max(now);
        let mut dropped = None;
        // A packet that a cut-through port forwards may still be arriving. It occupies its receive buffer until its time on this wire has
        // passed.
        if now == free {
            dropped = self.transmitter.on_wire.take();
            if dropped.is_none() {
                dropped = self.transmitter.drop_next(now, cx);
            }
        }
        let transmitter = &self.transmitter;
        if dropped.is_some() || transmitter.on_wire.is_some() || transmitter.has_waiting() {
            let free = self.transmitter.busy_until.max(now);
            self.set(LinkTimer::Wire, free, cx);
        }
        dropped
    }

    #[inline]
    fn use_wire(&mut self, now: Time, cx: &mut impl EndContext) {
        if self.refresh.is_dormant() {
            self.wake_up(cx);
            if now < self.transmitter.busy_until {
                self.set(LinkTimer::Wire, self.transmitter.busy_until, cx);
                return;
            }
        }
        let mut at = self.transmitter.next_slot(now, cx);
        if at > now && at == self.transmitter.busy_until {
            // Frames that arrive during the ordered sets may change what is sent afterwards.
            self.set(LinkTimer::Wire, at, cx);
            return;
        }
        if self.has_dllp() {
            at = self.send_dllps(at, cx);
            if self.transmitter.must_skip(at) {
                self.set(LinkTimer::Wire, at, cx);
                return;
            }
        }
        if !self.handshake.is_done() {
            return;
        }
        match self.transmitter.send_packet(at, cx) {
            Turn::Sent => {
                self.refresh.record_news(at);
                self.await_acknowledgement(cx);
                if self.transmitter.on_wire.is_some() || self.has_work() {
                    self.set(LinkTimer::Wire, self.transmitter.busy_until, cx);
                }
            }
            Turn::NotBefore(time) => {
                self.set(LinkTimer::Wire, time.max(self.transmitter.busy_until), cx);
            }
            Turn::Nothing => {}
        }
    }

    /// Sends the DLLPs that wait, from `at` on. Returns the time at which the wire is free again.
    fn send_dllps(&mut self, mut at: Time, cx: &mut impl EndContext) -> Time {
        while let Some(dllp) = self.next_dllp(at, cx) {
            if dllp.1 && !self.is_repetition(&dllp.0) {
                self.refresh.record_news(at);
            }
            self.transmitter.send_dllp(at, dllp, cx);
            at = self.transmitter.busy_until;
            if self.transmitter.must_skip(at) {
                break;
            }
        }
        at
    }

    /// Whether a DLLP may repeat information that the far end already has: an UpdateFC on a wire with bit errors.
    fn is_repetition(&self, dllp: &Dllp) -> bool {
        self.receiver.has_errors() && matches!(dllp, Dllp::UpdateFc(_))
    }

    fn await_acknowledgement(&mut self, cx: &mut impl EndContext) {
        if !self.replay_alarm.is_set() && !self.transmitter.replay_buffer.is_empty() {
            self.set(
                LinkTimer::Replay,
                self.transmitter.busy_until + self.replay_limit,
                cx,
            );
        }
    }

    fn has_work(&self) -> bool {
        self.transmitter.has_work() || self.has_dllp()
    }

    fn has_dllp(&self) -> bool {
        self.handshake.has_dllp()
            || self.acknowledge_now
            || self.refuse_now
            || self.receiver.has_pending_updates()
    }

    /// The next DLLP to send at `at`, and whether it carries new information for the far end.
    fn next_dllp(&mut self, at: Time, cx: &mut impl EndContext) -> Option<(Dllp, bool)> {
        if let Some(dllp) = self
            .handshake
            .next(|channel, class| self.receiver.grant(channel, class, at))
        {
            return Some((dllp, true));
        }
        if self.refuse_now || self.acknowledge_now {
            self.refuse_arrived(cx.now());
            let sequence = self.receiver.acknowledgeable(at);
            if self.acknowledges_each
                && !self.refuse_now
                && let Some(later) = self.acks_after_next(at)
            {
                self.unacknowledged -= 1;
                let sequence = sequence.wrapping_sub(later) % SEQUENCES;
                return Some((Dllp::Ack { sequence }, true));
            }
            let nak = std::mem::replace(&mut self.refuse_now, false);
            self.acknowledge_now = false;
            self.unacknowledged = 0;
            self.acknowledge_alarm.clear();
            if self.refuse_at != Time::NEVER {
                self.set(LinkTimer::Acknowledge, self.refuse_at, cx);
            } else if let Some(complete) = self.receiver.incomplete_at(at) {
                // This Ack does not cover the packet that is still arriving. The next Ack covers it.
                self.expect_acknowledgement(complete, cx);
            }
            let dllp = if nak {
                Dllp::Nak { sequence }
            } else {
                Dllp::Ack { sequence }
            };
            return Some((dllp, true));
        }
        if !self.receiver.has_pending_updates() {
            return None;
        }
        self.next_update(at, cx.now())
    }

    /// The number of further Acks that are due after the next one, if each packet has its own Ack. None if the next Ack is the last one.
    fn acks_after_next(&self, at: Time) -> Option<u16> {
        let arriving = u32::from(self.receiver.incomplete_at(at).is_some());
        let later = self.unacknowledged.saturating_sub(arriving + 1);
        (later > 0).then_some(later as u16)
    }

    #[inline(always)]
    fn alarm(&mut self, timer: LinkTimer) -> &mut Alarm {
        match timer {
            LinkTimer::Wire => &mut self.wire_alarm,
            LinkTimer::Acknowledge => &mut self.acknowledge_alarm,
            LinkTimer::Replay => &mut self.replay_alarm,
            LinkTimer::UpdateCredit => &mut self.update_alarm,
            rare => &mut self.rare_alarms[rare as usize - LinkTimer::OF_PACKETS],
        }
    }

    #[inline(always)]
    fn set(&mut self, timer: LinkTimer, deadline: Time, cx: &mut impl EndContext) {
        if let Some(time) = self.alarm(timer).set(deadline) {
            self.wake(timer, time, cx);
        }
    }

    fn wake(&self, timer: LinkTimer, time: Time, cx: &mut impl EndContext) {
        let is_in_background = match timer {
            LinkTimer::RefreshCredit => !self.receiver.has_errors(),
            LinkTimer::Framing => true,
            LinkTimer::Power => !self.transmitter.has_waiting(),
            _ => false,
        };
        if is_in_background {
            cx.wake_in_background(timer, time.since(cx.now()));
        } else {
            cx.wake_at(timer, time);
        }
    }
}
