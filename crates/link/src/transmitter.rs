//! The transmitter of a link end: sequence numbers, the replay buffer, credits, and arbitration for the wire.

mod counting;
mod ordered_sets;
mod picking;
mod replay_buffer;

use std::mem::offset_of;

use kernel::{Span, Time};
use protocol::{
    Arbitration, ChannelsControl, Class, Credit, DLLP_BYTES, Dllp, PerClass, TLP_FRAMING,
};

use crate::balance::Side;
use crate::channels::{Arbiter, ChannelCount, ChannelCounters, ChannelMap, PerChannel};
use crate::counters::Counters;
use crate::credit::Budget;
use crate::waiting::{Pick, Queue};
use crate::wire::Skips;
use crate::{LinkConfig, LinkContext, Waiting, WireTiming};
use packet::{Charge, Frame, Observation, PacketId, Packets, TlpFrame};
use replay_buffer::{Kept, ReplayBuffer};

/// A packet whose last bit has left, so that its sender can free the packet's receive buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The source of the packet, among the sources that share the wire.
    pub source: u16,
    /// The credits of the packet.
    pub charge: Charge,
    /// The number of waiting packets of the same source, class and traffic class that this packet has passed.
    pub passed: usize,
}

/// The transmitter of a link end. The fields that packets need are the first ones. The last fields of the counters and the first fields of
/// the timing, which packets also need, share one cache line.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Transmitter {
    /// The time at which the wire is free.
    pub(crate) busy_until: Time,
    /// The number of waiting packets of each side, over the queues of all channels.
    waiting: [u32; 2],
    skips: Skips,
    /// The source of the packets that this component originates.
    own: Option<u16>,
    next_sequence: u16,
    /// Whether the far end is a cut-through port.
    cut_through: bool,
    report_finished: bool,
    /// The packet on the wire, if its end must be reported.
    pub(crate) on_wire: Option<Finished>,
    /// The delay from the data link layer to the pins.
    pipeline: Span,
    /// The time since which packets lack credit, or `NEVER` if no packet does.
    stalled_since: Time,
    /// The packet of this component that is probably sent next. This is a hint for early loads, and may be out of date.
    expected: Option<PacketId>,
    pub(crate) replay_buffer: ReplayBuffer,
    channels: PerChannel<Channel>,

    pub(crate) counters: Counters,
    timing: WireTiming,

    arbiter: Arbiter,
    /// The data credits of the largest packet.
    largest_data: u16,
    /// The parameters of entry to L0s and exit from L0s, if software has enabled L0s. Boxed, because few links have it.
    l0s: Option<Box<L0s>>,
}

/// The L0s parameters of a transmitter (PCIe Base 5.4.1.1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct L0s {
    /// The time without packets after which the transmitter enters L0s.
    pub(crate) entry: Span,
    /// The time in which the far end's receiver exits from L0s.
    pub(crate) exit: Span,
}

/// A virtual channel: its queue and its credit.
#[derive(Clone, Debug)]
#[repr(C)]
struct Channel {
    queue: Queue,
    budgets: PerClass<Budget>,
    /// The counters of the channel. They are used only if there are several channels, and are therefore boxed.
    count: Box<ChannelCount>,
}

/// The result of using a free wire.
pub(crate) enum Turn {
    Sent,
    NotBefore(Time),
    Nothing,
}

/// The largest size on the wire of a packet that the link itself creates: a message without data, with a TLP digest.
const OWN_BYTES: u16 = 16 + 4 + TLP_FRAMING as u16;

/// The number of sequence numbers, which have 12 bits.
pub(crate) const SEQUENCES: u16 = 1 << 12;

impl Transmitter {
    /// The end of the first fields, which packets need.
    pub(crate) const PACKETS_END: usize = offset_of!(Transmitter, channels)
        + PerChannel::<Channel>::FIRST
        + offset_of!(Channel, count);
    /// The offset of the timing.
    pub(crate) const TIMING: usize = offset_of!(Transmitter, timing);

    pub(crate) fn new(timing: WireTiming, config: &LinkConfig, replay_buffer: u64) -> Self {
        let queue = Queue::new(config.sources, &config.weights);
        let channel = Channel {
            queue,
            budgets: [Budget::CLOSED; _],
            count: Box::default(),
        };
        let others = vec![channel.clone(); config.channel_ids() - 1];
        Transmitter {
            counters: Counters::default(),
            timing,
            pipeline: config.transmit_pipeline,
            skips: Skips::new(&timing),
            cut_through: config.far_cut_through,
            busy_until: Time::ZERO,
            on_wire: None,
            own: config.own,
            report_finished: config.report_finished,
            arbiter: Arbiter::round_robin(config.channels),
            channels: PerChannel::new(channel, others),
            waiting: [0; 2],
            expected: None,
            next_sequence: 0,
            replay_buffer: ReplayBuffer::new(replay_buffer),
            largest_data: config.max_payload.div_ceil(16),
            stalled_since: Time::NEVER,
            l0s: None,
        }
    }

    /// Begins to load the oldest packet in the replay buffer, and the next packet that waits.
    #[inline]
    pub(crate) fn prefetch_packets(&self, packets: &Packets) {
        self.replay_buffer.prefetch();
        if self.has_waiting() {
            self.channels[0].queue.prefetch();
            if let Some(next) = self.expected {
                packets.prefetch_header(next);
                packets.prefetch_stamp(next);
            }
        }
    }

    /// Begins to load the queue of a source.
    #[inline]
    pub(crate) fn prefetch_source(&self, source: u16) {
        self.channels[0].queue.prefetch_source(source.into());
    }

    /// The remaining time of the current transmission at `now`.
    pub(crate) fn remaining(&self, now: Time) -> Span {
        self.busy_until.max(now).since(now)
    }

    /// Counts DLLPs that were not simulated one by one.
    pub(crate) fn count_dllps(&mut self, count: u64) {
        self.counters.add_dllps(count, &self.timing);
    }

    /// Sends a DLLP without new information that became due at `due`, if the wire was free for it before `now`. Returns whether it was sent.
    /// The DLLP occupies the next slot, even if the slot begins after `now`.
    pub(crate) fn repeat_dllp(&mut self, due: Time, now: Time, cx: &mut impl LinkContext) -> bool {
        let free = due.max(self.busy_until);
        if free >= now {
            return false;
        }
        let at = self.next_slot(free, cx);
        let is_behind_sets = at > free && at == self.busy_until;
        if is_behind_sets && at >= now {
            return false;
        }
        self.counters.dllp_bytes += u64::from(DLLP_BYTES);
        self.occupy(at, self.timing.length(DLLP_BYTES));
        true
    }

    pub(crate) fn timing(&self) -> &WireTiming {
        &self.timing
    }

    /// Changes the rate and the width. The wire must be free.
    pub(crate) fn set_timing(&mut self, timing: WireTiming) {
        self.timing = timing;
        for channel in self.channels.iter_mut() {
            channel.queue.store_completely();
        }
    }

    /// Queues a packet. If the class of the packet maps to no channel, the packet is sent by VC0, and the far end treats it as malformed.
    #[inline(always)]
    pub(crate) fn push(&mut self, channel: usize, source: u16, waiting: Waiting) {
        self.waiting[Side::of(waiting.charge.class) as usize] += 1;
        if let Some(channel) = self.channels.get_mut(channel) {
            channel.queue.push(source, waiting);
        } else {
            self.channels[0].queue.push(source, waiting);
        }
    }

    /// Applies the arbitration that control registers select, among channels and among the sources of each channel.
    pub(crate) fn arbitrate(&mut self, control: &ChannelsControl) {
        self.arbiter.configure(control);
        for (channel, control) in self.channels.iter_mut().zip(&control.channels) {
            let ports = control.as_ref().map(|control| &control.ports);
            channel
                .queue
                .arbitrate(ports.unwrap_or(&Arbitration::Fixed));
        }
    }

    /// Removes all credit from a channel that is not initialised. Packets that were already sent by the channel may be replayed, but no
    /// longer count in its credit.
    pub(crate) fn close_channel(&mut self, id: usize) {
        self.channels[id].budgets = [Budget::CLOSED; _];
        self.replay_buffer.uncharge(id);
    }

    /// Moves the waiting packets to the queues of the channels to which `map` maps their classes.
    pub(crate) fn remap(&mut self, map: &ChannelMap) {
        let count = self.channels.len();
        let channel_of = |class| {
            Some(map.channel_of(class))
                .filter(|id| *id < count)
                .unwrap_or(0)
        };
        for id in 0..count {
            let moved = self.channels[id]
                .queue
                .take_classes(|class| channel_of(class) != id);
            for (source, waiting) in moved {
                let channel = channel_of(waiting.charge.traffic_class);
                self.channels[channel].queue.push(source, waiting);
            }
        }
    }

    pub(crate) fn has_waiting(&self) -> bool {
        self.waiting != [0; 2]
    }

    pub(crate) fn waiting_on(&self, side: Side) -> usize {
        self.waiting[side as usize] as usize
    }

    pub(crate) fn waiting_of(&self, channel: usize, source: u16, class: Class) -> usize {
        let channel = self.channels.get(channel).unwrap_or(&self.channels[0]);
        channel.queue.waiting_of(source, class)
    }

    pub(crate) fn has_work(&self) -> bool {
        self.has_waiting() || self.replay_buffer.is_replaying()
    }

    /// Whether each of the `channels`, as bits by VC ID, has credit for the largest packet of each class.
    pub(crate) fn has_credit_for_all(&self, channels: u8) -> bool {
        let channels = self
            .channels
            .iter()
            .enumerate()
            .filter(|(id, _)| channels >> id & 1 != 0);
        let mut budgets = channels
            .flat_map(|(_, channel)| Class::ALL.map(|class| (class, &channel.budgets[class])));
        budgets.all(|(class, budget)| {
            budget.allows(match class {
                Class::NonPosted => 1,
                Class::Posted | Class::Completion => self.largest_data,
            })
        })
    }

    /// The queue of each channel, with its credit.
    pub(crate) fn queues(&self) -> impl Iterator<Item = (&Queue, &PerClass<Budget>)> {
        let channels = self.channels.iter();
        channels.map(|channel| (&channel.queue, &channel.budgets))
    }

    /// Whether the replay buffer has space for a packet of `wire_len` bytes on the wire.
    pub(crate) fn can_keep(&self, wire_len: u16) -> bool {
        self.replay_buffer.fits(wire_len)
    }

    /// Sets the initial limits of a class.
    pub(crate) fn open(&mut self, credit: &Credit) {
        if let Some(budget) = self.budget(credit) {
            budget.open(credit);
        }
    }

    /// Sets later limits of a class.
    pub(crate) fn raise(&mut self, credit: &Credit) {
        if let Some(budget) = self.budget(credit) {
            budget.raise(credit);
        }
    }

    fn budget(&mut self, credit: &Credit) -> Option<&mut Budget> {
        let channel = self.channels.get_mut(usize::from(credit.channel))?;
        Some(&mut channel.budgets[credit.class])
    }

    /// Sends a DLLP. If the DLLP carries no new information for the far end, it is sent in the background.
    pub(crate) fn send_dllp(
        &mut self,
        at: Time,
        (dllp, is_new): (Dllp, bool),
        cx: &mut impl LinkContext,
    ) {
        let bytes = dllp.emit();
        let length = self.timing.length(DLLP_BYTES);
        if cx.watched() {
            cx.observe(Observation::Dllp {
                port: cx.port(),
                bytes,
                start: at + self.pipeline,
                length,
            });
        }
        self.counters.dllp_bytes += u64::from(DLLP_BYTES);
        self.occupy(at, length);
        let after = self.busy_until.since(cx.now());
        if is_new {
            cx.send(Frame::Dllp(bytes), after);
        } else {
            cx.send_in_background(Frame::Dllp(bytes), after);
        }
    }

    /// Whether a packet that the link itself creates can be sent on the wire, which is free.
    pub(crate) fn can_send_own(&self) -> bool {
        let posted = &self.channels[0].budgets[Class::Posted];
        !self.replay_buffer.is_replaying() && self.can_keep(OWN_BYTES) && posted.allows(0)
    }

    /// Sends a posted packet without data that the link itself has created, before the waiting packets. The caller has checked
    /// [`can_send_own`](Self::can_send_own).
    pub(crate) fn send_own(&mut self, at: Time, packet: PacketId, cx: &mut impl LinkContext) {
        let waiting = Waiting::new(packet, cx.packets(), at);
        self.channels[0].budgets[Class::Posted].consume(0);
        if self.channels.len() > 1 {
            let wire_len = cx.packets()[packet].wire_len().into();
            self.channels[0].count.send(at, at, 0, wire_len);
        }
        self.send_new(at, (0, waiting), (u16::MAX, 0), cx);
        // The packet was in no receive buffer.
        self.on_wire = None;
    }

    /// Uses the wire, which is free at `at`, to replay a packet or to send the next packet from the queues.
    pub(crate) fn send_packet(&mut self, at: Time, cx: &mut impl LinkContext) -> Turn {
        if let Some(kept) = self.replay_buffer.next_again() {
            self.send_again(at, kept, cx);
            return Turn::Sent;
        }
        if !self.replay_buffer.fits_any() && !self.can_keep_next(at, cx.packets()) {
            return Turn::Nothing;
        }
        let (channel, source, waiting) = match self.take_only(at) {
            Some((source, waiting)) => (0, source, waiting),
            None => match self.pick(at, cx.packets()) {
                (channel, Pick::Packet(source, class, 0)) => {
                    let queue = &mut self.channels[channel].queue;
                    (channel, source, queue.take(source, class, 0))
                }
                (channel, Pick::Packet(source, class, place)) => {
                    self.send_passing(at, channel, (source, class, place), cx);
                    return Turn::Sent;
                }
                (_, Pick::NotBefore(time)) => return Turn::NotBefore(time),
                (_, Pick::NoCredit) => {
                    self.stalled_since = self.stalled_since.min(at);
                    return Turn::Nothing;
                }
                (_, Pick::Empty) => return Turn::Nothing,
            },
        };
        self.send_taken(at, (channel, waiting), (source, 0), cx);
        Turn::Sent
    }

    /// Replays a packet of the replay buffer.
    fn send_again(&mut self, at: Time, kept: Kept, cx: &mut impl LinkContext) {
        self.counters.replays += 1;
        self.count_again(kept.packet, cx);
        self.transmit(at, kept, true, false, cx);
    }

    /// The counters of each channel at `now`, by VC ID.
    pub(crate) fn channel_counters(&self, now: Time) -> impl Iterator<Item = ChannelCounters> {
        let channels = self.channels.iter();
        channels.map(move |channel| channel.count.at(now))
    }

    /// Sends the packet at `place` of its source and class, which passes older packets. This is a separate function, because most packets
    /// pass none.
    fn send_passing(
        &mut self,
        at: Time,
        channel: usize,
        (source, class, place): (u16, Class, usize),
        cx: &mut impl LinkContext,
    ) {
        let queue = &mut self.channels[channel].queue;
        let passed = queue.ahead(source, class, place);
        let waiting = queue.take(source, class, place);
        self.send_taken(at, (channel, waiting), (source, passed), cx);
    }

    /// Sends a packet that was taken from its queue, and consumes its credit.
    #[inline(always)]
    fn send_taken(
        &mut self,
        at: Time,
        (channel, waiting): (usize, Waiting),
        sender: (u16, usize),
        cx: &mut impl LinkContext,
    ) {
        self.end_stall(at);
        self.waiting[Side::of(waiting.charge.class) as usize] -= 1;
        if self.own.is_some() && cx.packets().are_many() {
            self.expected = self.channels[0].queue.first(sender.0);
        }
        let Waiting {
            packet,
            charge,
            corrupt,
            ready,
            ..
        } = waiting;
        if !corrupt {
            self.channels[channel].budgets[charge.class].consume(charge.data);
        }
        if self.channels.len() > 1 {
            let packet = (!corrupt).then_some(packet);
            self.end_turn(channel, (at, ready), packet, cx.packets());
        }
        self.send_new(at, (channel as u8, waiting), sender, cx);
    }

    #[inline(always)]
    fn send_new(
        &mut self,
        at: Time,
        (channel, waiting): (u8, Waiting),
        (source, passed): (u16, usize),
        cx: &mut impl LinkContext,
    ) {
        let Waiting {
            packet,
            charge,
            wire_len,
            wire_len_to_header,
            payload_len,
            ..
        } = waiting;
        debug_assert_eq!(u32::from(wire_len), cx.packets()[packet].wire_len());
        let sequence = self.next_sequence;
        // A new value is created for each use. If both paths shared one value, the rare path would force it into memory on the frequent
        // path, too.
        let kept = || Kept {
            packet,
            sequence,
            wire_len,
            wire_len_to_header,
            channel,
        };
        if waiting.corrupt {
            return self.nullify(at, kept(), waiting.complete, cx);
        }
        let kept = kept();
        let (payload, wire_len) = (u64::from(payload_len), u64::from(wire_len));
        self.counters.packets += 1;
        self.counters.payload_bytes += payload;
        self.counters.overhead_bytes += wire_len - payload;
        self.next_sequence = (self.next_sequence + 1) % SEQUENCES;
        self.replay_buffer.push(kept);
        self.transmit(at, kept, false, false, cx);
        self.on_wire = self.report_finished.then_some(Finished {
            source,
            charge,
            passed,
        });
        if self.own == Some(source)
            && let Some(sent) = Observation::sent(
                &cx.packets()[packet],
                at + self.pipeline,
                self.busy_until + self.pipeline,
            )
        {
            cx.observe(sent);
        }
    }

    /// Ends a packet that was found corrupt while it was forwarded. If the corruption was found before the transmission starts, the packet
    /// is dropped. Otherwise it is nullified (PCIe Base 3.5.2.1).
    fn nullify(&mut self, at: Time, kept: Kept, complete: Time, cx: &mut impl LinkContext) {
        if complete > at {
            self.count_again(kept.packet, cx);
            self.transmit(at, kept, false, true, cx);
        }
        cx.packets().release(kept.packet);
    }

    /// Counts the bytes of a packet that is replayed or nullified.
    fn count_again(&mut self, packet: PacketId, cx: &mut impl LinkContext) {
        let bytes = u64::from(cx.packets()[packet].wire_len());
        self.counters.overhead_bytes += bytes;
        self.counters.replayed_bytes += bytes;
    }

    #[inline(always)]
    fn transmit(
        &mut self,
        at: Time,
        kept: Kept,
        replay: bool,
        nullified: bool,
        cx: &mut impl LinkContext,
    ) {
        let Kept {
            packet,
            sequence,
            channel,
            ..
        } = kept;
        let length = self.timing.length(kept.wire_len.into());
        if cx.watched() {
            cx.observe(Observation::Packet {
                port: cx.port(),
                sequence,
                packet,
                replay,
                nullified,
                start: at + self.pipeline,
                length,
            });
        }
        self.occupy(at, length);
        let seen = if self.cut_through {
            at + self.timing.length(kept.wire_len_to_header.into())
        } else {
            self.busy_until
        };
        // The wire and the far end also hold a reference to the packet.
        cx.packets().retain(packet);
        let frame = TlpFrame {
            sequence,
            nullified,
            channel,
            packet,
        };
        cx.send(Frame::Tlp(frame), seen.since(cx.now()));
    }

    fn occupy(&mut self, at: Time, length: Span) {
        self.busy_until = at + length;
        self.counters.busy += length;
    }

    fn end_stall(&mut self, at: Time) {
        if self.stalled_since < Time::NEVER {
            self.counters.credit_stall += at.since(self.stalled_since);
            self.stalled_since = Time::NEVER;
        }
    }

    /// Sets the final counters of a link that has failed. No ordered set is due any more.
    pub(crate) fn end(&mut self, counters: Counters) {
        self.counters = counters;
        self.stalled_since = Time::NEVER;
        self.skips = Skips::SUSPENDED;
    }

    /// Drops a waiting packet in the time that its transmission from `at` on would take, and returns its credits if they must be reported. A
    /// packet that is still arriving occupies the wire until it has arrived. A corrupt packet has no credits to report, because it was never
    /// in the receive buffer of its ingress.
    pub(crate) fn drop_next(&mut self, at: Time, cx: &mut impl LinkContext) -> Option<Finished> {
        let mut channels = self.channels.iter_mut();
        let (source, waiting) = channels.find_map(|channel| channel.queue.take_any())?;
        self.waiting[Side::of(waiting.charge.class) as usize] -= 1;
        let wire_len = cx.packets()[waiting.packet].wire_len();
        self.busy_until = at + self.timing.length(wire_len);
        cx.packets().release(waiting.packet);
        let charge = waiting.charge;
        let finished = (self.report_finished && !waiting.corrupt).then_some(Finished {
            source,
            charge,
            passed: 0,
        });
        if waiting.complete > at {
            self.busy_until = self.busy_until.max(waiting.complete);
            self.on_wire = finished;
            return None;
        }
        finished
    }

    /// Resets the state of a link that has gone down: sequence numbers, replay buffer and credit. Waiting packets are kept.
    pub(crate) fn go_down(&mut self, cx: &mut impl LinkContext) {
        self.end_stall(cx.now());
        self.replay_buffer.clear(cx);
        self.next_sequence = 0;
        for channel in self.channels.iter_mut() {
            channel.budgets = [Budget::CLOSED; _];
        }
    }
}
