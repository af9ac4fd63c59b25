//! The receiver of a link end: LCRC checks, sequence numbers, acknowledgement and buffers.

mod returned;

use std::collections::VecDeque;
use std::mem::offset_of;

use kernel::{Span, Time};
use protocol::{Class, Credit, Generation, PerClass, lcrc};

use crate::channels::{Ledger, PerChannel, number_of};
use crate::credit::ClassBuffers;
use crate::parameters::PortParameters;
use crate::policy::UpdateRule;
use crate::transmitter::SEQUENCES;
use crate::{BitErrors, LinkConfig, WireTiming};
use packet::{Charge, PacketId, Packets, TlpFrame, Verdict};

pub(crate) use returned::PendingUpdate;

/// A received TLP, as the link end passes it to the component.
#[derive(Clone, Copy, Debug)]
pub enum Arrival {
    /// A valid packet in sequence. It stays in the buffer until the component frees it.
    Packet(Delivery),
    /// The header of a packet that is corrupt or out of sequence. Only a cut-through port receives it. The component must release
    /// the packet.
    Corrupt(Delivery),
}

/// A packet that the link delivers. The component receives a reference to it, which must be released.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// The packet.
    pub packet: PacketId,
    /// The time at which the last bit arrives: now, or later at a cut-through port.
    pub complete: Time,
}

/// The receiver of a link end. The buffers are the first fields, so that the buffers for posted packets are in one cache line. The other
/// fields that each packet needs are the last ones, beside the fields of the link end.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    pub(crate) channels: PerChannel<PerClass<ClassBuffers>>,

    /// The initial buffers of a channel that software can enable. Boxed, because few links have these channels.
    unopened: Option<Box<PerClass<ClassBuffers>>>,
    /// The time without frames after which the far end's transmitter is in L0s and the wire carries no bits. None if L0s is not enabled.
    silent_after: Option<Span>,
    rule: UpdateRule,
    /// Whether scaled flow control is used. None until the limits are fixed.
    is_scaled: Option<bool>,
    /// Whether packets begin with tokens that have their own error protection: Gen3 and later.
    has_tokens: bool,
    /// The time at which the last frame was complete.
    received_until: Time,
    /// The packets in the buffers, recorded only if software maps traffic classes to channels.
    ledger: Option<Box<Ledger>>,
    /// Packets that are scheduled to leave the buffer, earliest first.
    leaving: VecDeque<Leaving>,

    /// The bit errors of the arriving direction. Boxed, because few links have bit errors.
    errors: Option<Box<BitErrors>>,
    newest_complete: Time,
    /// Classes with a pending UpdateFC, as bits by their [number](number_of).
    pending_updates: u32,
    expected: u16,
    nak_scheduled: bool,
    /// Whether the receiver has stopped processing the data stream, because of a framing error in it (PCIe Base 4.2.2.3.3).
    is_stream_stopped: bool,
}

impl Receiver {
    /// The offset of a byte of the cache line with the buffers of posted packets.
    pub(crate) const POSTED: usize = offset_of!(Receiver, channels)
        + PerChannel::<PerClass<ClassBuffers>>::FIRST
        + size_of::<ClassBuffers>() / 2;
    /// The offset of the fields that each packet needs besides its buffers.
    pub(crate) const PACKETS: usize = offset_of!(Receiver, errors);

    pub(crate) fn new(parameters: &PortParameters, config: LinkConfig) -> Self {
        let sizes = parameters.buffers(&config);
        let ids = config.channel_ids();
        let LinkConfig {
            generation,
            infinite_completions,
            channels,
            has_channel_capability,
            errors,
            ..
        } = config;
        let largest = config.max_payload.div_ceil(16);
        let credits = |bytes: u64| bytes.div_ceil(16).min(u64::from(u16::MAX)) as u16;
        let buffer = |class: Class| {
            let (headers, data) = match class {
                Class::Completion if infinite_completions => (0, 0),
                _ => (sizes.headers[class], sizes.data[class].0),
            };
            let packet = if class == Class::NonPosted {
                1
            } else {
                largest
            };
            ClassBuffers::new((headers as u16, credits(data)), packet)
        };
        let mut buffers = Class::ALL.map(buffer);
        if has_channel_capability {
            buffers = buffers.map(ClassBuffers::tolerant);
        }
        let closed = Class::ALL.map(|_| ClassBuffers::new((0, 0), 0));
        let mut others = vec![buffers; channels - 1];
        others.resize(ids - 1, closed);
        Receiver {
            errors: errors.map(Box::new),
            received_until: Time::ZERO,
            has_tokens: generation.has_tokens(),
            is_stream_stopped: false,
            silent_after: None,
            expected: 0,
            newest_complete: Time::ZERO,
            nak_scheduled: false,
            channels: PerChannel::new(buffers, others),
            unopened: has_channel_capability.then(|| Box::new(buffers.map(ClassBuffers::closed))),
            ledger: has_channel_capability.then(Box::default),
            is_scaled: None,
            rule: parameters.update_rule(),
            leaving: VecDeque::new(),
            pending_updates: 0,
        }
    }

    /// Resets the state of a link that has gone down: sequence numbers and credit announcements. Packets in the buffers stay there.
    pub(crate) fn go_down(&mut self) {
        (self.expected, self.nak_scheduled) = (0, false);
        self.pending_updates = 0;
        for buffers in self.channels.iter_mut().flatten() {
            buffers.close();
        }
        if self.ledger.is_some() {
            let others = self.channels.iter_mut().skip(1);
            others
                .flatten()
                .for_each(|buffers| *buffers = buffers.closed());
        }
    }

    /// Forgets the `UpdateFC`s that are pending.
    pub(crate) fn forget_updates(&mut self) {
        self.pending_updates = 0;
    }

    pub(crate) fn are_buffers_empty(&self) -> bool {
        let mut buffers = self.channels.iter().flatten();
        buffers.all(ClassBuffers::is_empty)
    }

    /// Begins to receive a data stream, which arrives from `start` on. The link is in L0 from `now` on.
    pub(crate) fn resume(&mut self, now: Time, start: Time) {
        self.received_until = start;
        self.newest_complete = self.newest_complete.min(now);
        self.is_stream_stopped = false;
    }

    /// Changes the data rate.
    pub(crate) fn set_generation(&mut self, generation: Generation) {
        self.has_tokens = generation.has_tokens();
    }

    /// Stops processing the data stream: nothing in it is recognised until the next data stream begins.
    pub(crate) fn stop_stream(&mut self) {
        self.is_stream_stopped = true;
    }

    /// Whether the data stream is not processed.
    pub(crate) fn is_stream_stopped(&self) -> bool {
        self.is_stream_stopped
    }

    /// Sets the time without frames after which the wire carries no bits, because the far end is in L0s. None if the far end never enters
    /// L0s.
    pub(crate) fn set_silent_after(&mut self, silent_after: Option<Span>) {
        self.silent_after = silent_after;
    }

    /// The time at which the bits after the last frame end, if the next frame begins at `start`.
    fn idle_until(&self, start: Time) -> Time {
        let silent = self.silent_after.map(|after| self.received_until + after);
        silent.map_or(start, |silent| silent.min(start))
    }

    /// The time at which the next wrong bit arrives if no frame arrives before. None if the wire carries no bits at that time.
    pub(crate) fn next_wrong_bit(&self, timing: &WireTiming) -> Option<Time> {
        let errors = self.errors.as_ref()?;
        let time = timing.end_of_bits(self.received_until, errors.before_next());
        (self.idle_until(time) == time).then_some(time)
    }

    /// Handles the idle symbols until `now` as received. Returns whether any bit of them was wrong.
    pub(crate) fn is_idle_damaged(&mut self, timing: &WireTiming, now: Time) -> bool {
        let until = self.idle_until(now);
        let Some(errors) = &mut self.errors else {
            return false;
        };
        let is_damaged = errors.any_wrong(timing.line_bits(self.received_until, until));
        self.received_until = self.received_until.max(now);
        is_damaged
    }

    /// Whether the packets in the buffers of a channel hold at least the credits of a packet with `charge`.
    pub(crate) fn holds(&self, channel: usize, charge: Charge) -> bool {
        self.channels[channel][charge.class].holds(charge.data)
    }

    /// The sum of the header credits and the data credits of packets that are in the buffers and whose release is not scheduled.
    pub(crate) fn credits_held(&self) -> u32 {
        self.channels.iter().flatten().map(ClassBuffers::held).sum()
    }

    /// The time at which the last bit of the newest accepted packet arrives.
    pub(crate) fn newest_complete(&self) -> Time {
        self.newest_complete
    }

    /// Fixes the initial limits of all classes, with or without scaled flow control.
    pub(crate) fn fix_limits(&mut self, is_scaled: bool) {
        self.is_scaled = Some(is_scaled);
        self.pending_updates = 0;
        for buffers in self.channels.iter_mut().flatten() {
            buffers.fix_limits(is_scaled, self.rule);
        }
    }

    /// Provides the channel `id` with receive buffers if it is enabled, or removes the buffers.
    pub(crate) fn set_channel(&mut self, id: usize, is_enabled: bool) {
        let closed = Class::ALL.map(|_| ClassBuffers::new((0, 0), 0).closed());
        let buffers = &mut self.channels[id];
        let unopened = self.unopened.as_deref().filter(|_| is_enabled);
        *buffers = *unopened.unwrap_or(&closed);
        if let Some(is_scaled) = self.is_scaled {
            for buffer in buffers {
                buffer.fix_limits(is_scaled, self.rule);
            }
        }
        self.pending_updates &= !(0b111 << number_of(id, Class::ALL[0]));
        self.leaving
            .retain(|leaving| usize::from(leaving.channel) != id);
        if let Some(ledger) = &mut self.ledger {
            ledger.close(id as u8);
        }
    }

    /// Permits that packets arrive by the channel `id`.
    pub(crate) fn open_channel(&mut self, id: usize) {
        for buffers in &mut self.channels[id] {
            buffers.is_open = true;
        }
    }

    /// Accepts a packet that the far end has charged in `channel`, as [`accept`](Self::accept) does, at an end where software maps traffic
    /// classes to channels. If the channel is closed at this end, the packet occupies no buffer and has no credit to return.
    pub(crate) fn accept_recorded(
        &mut self,
        channel: u8,
        charge: Charge,
        complete: Time,
        now: Time,
    ) -> Option<Time> {
        let buffers = self.channels.get(usize::from(channel));
        let is_open = buffers.is_some_and(|buffers| buffers[charge.class].is_open);
        if let Some(ledger) = &mut self.ledger {
            ledger.record(charge, is_open.then_some(channel));
        }
        if is_open {
            return self.accept(channel.into(), charge, complete, now);
        }
        self.expected = (self.expected + 1) % SEQUENCES;
        self.nak_scheduled = false;
        self.newest_complete = complete;
        None
    }

    /// Removes a packet that leaves its buffer from the ledger, at an end where software maps traffic classes to channels. Returns the
    /// channel in which the packet was charged.
    pub(crate) fn charged_channel(&mut self, charge: Charge) -> Option<usize> {
        let ledger = self.ledger.as_mut()?;
        ledger.remove(charge).map(usize::from)
    }

    /// The initial limits of a class, to be sent at `at`.
    pub(crate) fn grant(&mut self, channel: usize, class: Class, at: Time) -> Credit {
        self.channels[channel][class].announce(channel as u8, class, at)
    }

    pub(crate) fn expects(&self, sequence: u16) -> bool {
        sequence == self.expected
    }

    /// Returns the bits of a frame that bit errors have damaged. The frame was on the line from `start` until `end`. Bits that belong to the
    /// coding have positions beyond the bytes of the frame. Also returns whether the idle symbols or ordered sets before the frame were
    /// damaged.
    pub(crate) fn wrong_bits(
        &mut self,
        timing: &WireTiming,
        start: Time,
        end: Time,
    ) -> (Vec<u64>, bool) {
        let until = self.idle_until(start);
        let Some(errors) = &mut self.errors else {
            return (Vec::new(), false);
        };
        let idle = timing.line_bits(self.received_until, until);
        let is_idle_damaged = errors.any_wrong(idle);
        let wrong = errors.wrong_bits(timing.line_bits(start.max(self.received_until), end));
        self.received_until = end;
        let wrong = wrong.into_iter().map(|bit| timing.damaged_bit(bit));
        (wrong.collect(), is_idle_damaged)
    }

    /// Whether the link has tokens (Gen3 and later). SDP is then a token, and a damaged framing byte of a DLLP is a framing error that the
    /// receiver reports.
    pub(crate) fn has_tokens(&self) -> bool {
        self.has_tokens
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors.is_some()
    }

    /// Checks a TLP that arrived with bit errors at the positions `wrong`.
    ///
    /// Without bit errors the LCRC is not computed, because it is certain to match.
    pub(crate) fn judge(&mut self, frame: &TlpFrame, wrong: &[u64], packets: &Packets) -> Verdict {
        if !wrong.is_empty() {
            let image = frame.image(packets);
            if self.has_tokens && damages_token(image.len(), wrong) {
                return Verdict::Unframed;
            }
            if is_seen(image, wrong) {
                return self.refuse();
            }
        }
        if frame.nullified {
            return Verdict::Nullified;
        }
        if frame.sequence == self.expected {
            return Verdict::Accepted;
        }
        if self.expected.wrapping_sub(frame.sequence) % SEQUENCES <= SEQUENCES / 2 {
            Verdict::Duplicate
        } else {
            self.refuse()
        }
    }

    fn refuse(&mut self) -> Verdict {
        if std::mem::replace(&mut self.nak_scheduled, true) {
            Verdict::Discarded
        } else {
            Verdict::Nak
        }
    }

    /// Stores an accepted packet in the buffer. Its last bit arrives at `complete`. If the far end has too little credit for another packet
    /// afterwards, returns the time at which the first packet leaves the buffer, because its release makes an UpdateFC due.
    #[inline(always)]
    pub(crate) fn accept(
        &mut self,
        channel: usize,
        charge: Charge,
        complete: Time,
        now: Time,
    ) -> Option<Time> {
        self.expected = (self.expected + 1) % SEQUENCES;
        self.nak_scheduled = false;
        self.newest_complete = complete;
        let buffer = &mut self.channels[channel][charge.class];
        if buffer.starves_without(charge.data) {
            return self.accept_last(channel, charge, now);
        }
        buffer.take(charge.data);
        None
    }

    /// Accepts a packet after which the far end has too little credit. Returns the time at which the next packet of the class leaves the
    /// buffer.
    fn accept_last(&mut self, channel: usize, charge: Charge, now: Time) -> Option<Time> {
        // Releases before the arrival of this packet did not make an UpdateFC due, so they are counted first.
        self.settle(now);
        self.channels[channel][charge.class].take(charge.data);
        let mut leaving = self.leaving.iter();
        let first = leaving.find(|leaving| {
            usize::from(leaving.channel) == channel && leaving.charge.class == charge.class
        });
        first.map(|leaving| leaving.due)
    }

    /// The sequence number of the newest packet that is complete at `time`.
    pub(crate) fn acknowledgeable(&self, time: Time) -> u16 {
        let behind = if self.newest_complete > time { 2 } else { 1 };
        self.expected.wrapping_sub(behind) % SEQUENCES
    }

    /// The time at which the last accepted packet is complete. None if it is already complete at `time`.
    pub(crate) fn incomplete_at(&self, time: Time) -> Option<Time> {
        (self.newest_complete > time).then_some(self.newest_complete)
    }
}

/// A packet that is scheduled to leave the buffer.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    due: Time,
    channel: u8,
    charge: Charge,
}

/// Whether the receiver detects the bit errors `wrong` in `image`: by the LCRC, or at the physical layer if a framing symbol after
/// the image is damaged. An error that the LCRC misses (once in 2^32) is ignored, and the packet is delivered as sent.
fn is_seen(mut image: Vec<u8>, wrong: &[u64]) -> bool {
    let mut framing = false;
    for bit in wrong {
        match image.get_mut((bit / 8) as usize) {
            Some(byte) => *byte ^= 1 << (bit % 8),
            None => framing = true,
        }
    }
    let (covered, carried) = image.split_at(image.len() - 4);
    let sequence = u16::from_be_bytes([covered[0], covered[1]]);
    framing || sequence >= SEQUENCES || lcrc(sequence, &covered[2..]).to_le_bytes() != *carried
}

/// Whether the bit errors `wrong` damage the STP token of a packet whose image has `len` bytes. The token has 32 bits: STP, length, parity,
/// CRC and the sequence number. Only the sequence number is inside the image, and only the LCRC protects it. The other bits of the token are
/// the four bits before the sequence number and the 16 bits after the image.
fn damages_token(len: usize, wrong: &[u64]) -> bool {
    let end = len as u64 * 8;
    wrong.iter().any(|bit| (4..8).contains(bit) || *bit >= end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver(expected: u16) -> Receiver {
        let config = LinkConfig::default();
        let mut receiver = Receiver::new(&PortParameters::default(), config);
        receiver.expected = expected;
        receiver
    }

    /// PCIe Base 4.2.2.3: length, parity and CRC of the STP token are checked before a packet is recognised. The LCRC covers the rest.
    #[test]
    fn a_damaged_token_is_a_framing_error_and_other_damage_a_bad_packet() {
        let mut packets = Packets::default();
        let packet = packets.claim();
        let frame = TlpFrame {
            sequence: 0,
            nullified: false,
            channel: 0,
            packet,
        };
        let header = protocol::Header::memory_write(protocol::FunctionId(0), 0, 4);
        packets[packet].write(header.expect("a legal write"), packet::Stamp::default());
        let wire_len = u64::from(packets[packet].wire_len());
        let unframed = (0..8 * wire_len).filter(|bit| {
            let verdict = receiver(0).judge(&frame, &[*bit], &packets);
            assert!(matches!(verdict, Verdict::Unframed | Verdict::Nak), "{bit}");
            matches!(verdict, Verdict::Unframed)
        });
        // A token has 32 bits, of which 12 bits are the sequence number.
        assert_eq!(unframed.count(), 20);
    }

    /// PCIe Base 3.6.3.1: (`NEXT_RCV_SEQ` - sequence number) mod 4096 <= 2048.
    #[test]
    fn a_duplicate_is_at_most_half_of_all_sequence_numbers_behind() {
        let mut packets = Packets::default();
        let packet = packets.claim();
        for expected in [0, 1, 2047, 2048, 2049, 4095] {
            for behind in 0..4096 {
                let frame = TlpFrame {
                    sequence: (expected + 4096 - behind) % 4096,
                    nullified: false,
                    channel: 0,
                    packet,
                };
                let verdict = receiver(expected).judge(&frame, &[], &packets);
                let is_right = match behind {
                    0 => matches!(verdict, Verdict::Accepted),
                    1..=2048 => matches!(verdict, Verdict::Duplicate),
                    _ => matches!(verdict, Verdict::Nak),
                };
                assert!(is_right, "{behind} behind {expected}");
            }
        }
    }
}
