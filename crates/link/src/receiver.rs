//! The receiver of a link end: LCRC checks, sequence numbers, acknowledgement and buffers.

use std::collections::VecDeque;

use kernel::Time;
use protocol::{Class, Credit, Dllp, lcrc};

use crate::credit::{ClassBuffers, ReceiveBuffer};
use crate::parameters::PortParameters;
use crate::transmitter::SEQUENCES;
use crate::{BitErrors, LinkConfig};
use packet::{Charge, PacketId, Packets, TlpFrame};

/// A received TLP, as the component sees it.
#[derive(Clone, Copy, Debug)]
pub enum Arrival {
    /// A valid packet in sequence. It stays in the buffer until the component frees it.
    Packet(Delivery),
    /// The header of a packet that is corrupt or out of sequence. Only a cut-through port receives it. The component must release
    /// the packet.
    Corrupt(Delivery),
}

/// A packet that the link delivers. The component becomes one of its holders.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// The packet.
    pub packet: PacketId,
    /// The time at which the last bit arrives: now, or later at a cut-through port.
    pub complete: Time,
}

/// The data-link layer's decision on a TLP (PCIe Base 3.6.3.1).
pub(crate) enum Verdict {
    Accept,
    /// A duplicate: send an Ack again.
    Duplicate,
    /// A bad TLP: send a Nak.
    Bad,
    /// Nullified by the sender: discard it without a Nak.
    Nullified,
    /// A bad TLP after a Nak was already sent: discard it.
    Ignore,
}

#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    errors: Option<BitErrors>,
    expected: u16,
    /// The time at which the last bit of the newest accepted packet arrives.
    newest_complete: Time,
    nak_scheduled: bool,
    channels: Vec<[ClassBuffers; 3]>,
    /// Packets that are scheduled to leave the buffer, earliest first.
    leaving: VecDeque<Leaving>,
    /// Classes with a pending UpdateFC, as bits `channel * 3 + class`.
    pending_updates: u32,
}

impl Receiver {
    pub(crate) fn new(parameters: &PortParameters, config: LinkConfig) -> Self {
        let LinkConfig {
            infinite_completions,
            channels,
            errors,
            ..
        } = config;
        let share = parameters.update_fc_share;
        let largest = config.max_payload.div_ceil(16);
        let data_credits = |bytes: u64| {
            bytes
                .div_ceil(16)
                .min(u64::from(ReceiveBuffer::<12>::LARGEST)) as u16
        };
        let buffer = |headers: u32, data: u64, packet: u16| ClassBuffers {
            headers: ReceiveBuffer::new(
                headers.min(u32::from(ReceiveBuffer::<8>::LARGEST)) as u16,
                share,
                1,
            ),
            data: ReceiveBuffer::new(data_credits(data), share, packet),
        };
        let completions = if infinite_completions {
            buffer(0, 0, largest)
        } else {
            buffer(
                parameters.completion_headers,
                parameters.completion_data.0,
                largest,
            )
        };
        let buffers = [
            buffer(parameters.posted_headers, parameters.posted_data.0, largest),
            buffer(parameters.nonposted_headers, parameters.nonposted_data.0, 1),
            completions,
        ];
        Receiver {
            errors,
            expected: 0,
            newest_complete: Time::ZERO,
            nak_scheduled: false,
            channels: vec![buffers; channels],
            leaving: VecDeque::new(),
            pending_updates: 0,
        }
    }

    pub(crate) fn channels(&self) -> usize {
        self.channels.len()
    }

    /// The initial limits of a class.
    pub(crate) fn grant(&self, channel: usize, class: Class) -> Credit {
        let buffer = &self.channels[channel][class.index()];
        Credit {
            channel: channel as u8,
            class,
            headers: buffer.headers.size() as u8,
            data: buffer.data.size(),
        }
    }

    /// Whether `sequence` is the expected sequence number.
    pub(crate) fn expects(&self, sequence: u16) -> bool {
        sequence == self.expected
    }

    /// Returns the positions of bit errors in the next `bytes` bytes from the wire.
    #[inline]
    pub(crate) fn wrong_bits(&mut self, bytes: u32) -> Vec<u64> {
        self.errors
            .as_mut()
            .map_or_else(Vec::new, |errors| errors.wrong_bits(u64::from(bytes) * 8))
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors.is_some()
    }

    /// Decides on a TLP that arrived with bit errors at the positions `wrong`.
    ///
    /// Without bit errors the LCRC is not computed, because it is certain to match.
    #[inline]
    pub(crate) fn judge(&mut self, frame: &TlpFrame, wrong: &[u64], packets: &Packets) -> Verdict {
        let TlpFrame {
            sequence,
            nullified,
            ..
        } = *frame;
        if !wrong.is_empty() && is_seen(frame.image(packets), wrong) {
            return self.refuse();
        }
        if nullified {
            return Verdict::Nullified;
        }
        if sequence == self.expected {
            return Verdict::Accept;
        }
        if self.expected.wrapping_sub(sequence) % SEQUENCES <= SEQUENCES / 2 {
            Verdict::Duplicate
        } else {
            self.refuse()
        }
    }

    fn refuse(&mut self) -> Verdict {
        if std::mem::replace(&mut self.nak_scheduled, true) {
            Verdict::Ignore
        } else {
            Verdict::Bad
        }
    }

    /// Takes an accepted packet into the buffer. Its last bit arrives at `complete`. If the far end then has too little credit for
    /// another packet, returns the time at which the first packet leaves, because that makes an UpdateFC due.
    #[inline]
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
        let buffer = &mut self.channels[channel][charge.class.index()];
        if buffer.starves_without(charge.data) {
            return self.accept_last(channel, charge, now);
        }
        buffer.take(charge.data);
        None
    }

    /// Takes a packet that leaves the far end with too little credit. Returns the time at which the next packet of the class
    /// leaves.
    #[cold]
    fn accept_last(&mut self, channel: usize, charge: Charge, now: Time) -> Option<Time> {
        // Releases before this packet's arrival did not make an UpdateFC due, so they are counted first.
        self.settle(now);
        self.channels[channel][charge.class.index()].take(charge.data);
        let mut leaving = self.leaving.iter();
        let first = leaving.find(|leaving| {
            usize::from(leaving.channel) == channel && leaving.charge.class == charge.class
        });
        first.map(|leaving| leaving.due)
    }

    /// The sequence number of the newest packet that is complete at `time`.
    #[inline]
    pub(crate) fn acknowledgeable(&self, time: Time) -> u16 {
        let behind = if self.newest_complete > time { 2 } else { 1 };
        self.expected.wrapping_sub(behind) % SEQUENCES
    }

    /// The time at which the last accepted packet is complete, if that is after `time`.
    #[inline]
    pub(crate) fn incomplete_at(&self, time: Time) -> Option<Time> {
        (self.newest_complete > time).then_some(self.newest_complete)
    }

    /// Schedules a packet's release at `due`. Returns `due` if the release makes an UpdateFC due.
    #[inline]
    pub(crate) fn free_later(&mut self, channel: usize, charge: Charge, due: Time) -> Option<Time> {
        let leaving = Leaving {
            due,
            channel: channel as u8,
            charge,
        };
        let before = self.leaving.iter().rposition(|other| other.due <= due);
        self.leaving
            .insert(before.map_or(0, |last| last + 1), leaving);
        let buffer = &mut self.channels[channel][charge.class.index()];
        buffer.begin_release(charge.data);
        buffer.will_update_be_due().then_some(due)
    }

    /// Frees the packets that were scheduled to leave by `now`.
    pub(crate) fn settle(&mut self, now: Time) {
        while let Some(left) = self.leaving.pop_front_if(|leaving| leaving.due <= now) {
            let Leaving {
                channel, charge, ..
            } = left;
            self.channels[usize::from(channel)][charge.class.index()].end_release(charge.data);
            let _ = self.free(usize::from(channel), charge);
        }
    }

    /// Returns the time at which a scheduled release makes an UpdateFC due, and whether any release is scheduled.
    pub(crate) fn next_due_update(&self) -> (Option<Time>, bool) {
        let mut buffers = self.channels.clone();
        for buffer in buffers.iter_mut().flatten() {
            buffer.forget_releases();
        }
        let due = self.leaving.iter().find(|leaving| {
            let buffer = &mut buffers[usize::from(leaving.channel)][leaving.charge.class.index()];
            buffer.begin_release(leaving.charge.data);
            buffer.will_update_be_due()
        });
        (due.map(|leaving| leaving.due), !self.leaving.is_empty())
    }

    /// Frees a packet's credit. Returns whether an UpdateFC is due now, later, or not at all.
    #[inline]
    pub(crate) fn free(&mut self, channel: usize, charge: Charge) -> PendingUpdate {
        let index = charge.class.index();
        let buffer = &mut self.channels[channel][index];
        buffer.free(charge.data);
        if buffer.is_update_due() {
            self.pending_updates |= 1 << (channel * 3 + index);
            PendingUpdate::Now
        } else if buffer.has_unannounced() {
            PendingUpdate::Later
        } else {
            PendingUpdate::None
        }
    }

    /// Makes an UpdateFC pending for every class with unannounced credit; with `even_old`, for every class with finite credit.
    pub(crate) fn request_updates(&mut self, even_old: bool) {
        for (channel, buffers) in self.channels.iter().enumerate() {
            for class in Class::ALL {
                let buffer = &buffers[class.index()];
                if buffer.has_unannounced() || even_old && buffer.is_limited() {
                    self.pending_updates |= 1 << (channel * 3 + class.index());
                }
            }
        }
    }

    #[inline]
    pub(crate) fn has_pending_updates(&self) -> bool {
        self.pending_updates != 0
    }

    /// Returns the next pending UpdateFC.
    #[inline]
    pub(crate) fn next_update(&mut self) -> Option<Dllp> {
        if self.pending_updates == 0 {
            return None;
        }
        let index = self.pending_updates.trailing_zeros() as usize;
        self.pending_updates &= self.pending_updates - 1;
        let (channel, class) = (index / 3, Class::ALL[index % 3]);
        let (headers, data) = self.channels[channel][class.index()].announce();
        Some(Dllp::UpdateFc(Credit {
            channel: channel as u8,
            class,
            headers,
            data,
        }))
    }
}

/// A packet that is scheduled to leave the buffer.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    due: Time,
    channel: u8,
    charge: Charge,
}

pub(crate) enum PendingUpdate {
    None,
    Later,
    Now,
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

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::Span;
    use protocol::Generation;

    fn receiver(expected: u16) -> Receiver {
        let config = LinkConfig {
            generation: Generation::Gen3,
            lanes: 4,
            max_payload: 128,
            channels: 1,
            sources: 1,
            weights: Vec::new(),
            cut_through: false,
            far_cut_through: false,
            infinite_completions: false,
            report_finished: false,
            own: None,
            flight: Span::ZERO,
            errors: None,
            fails_at: Time::NEVER,
        };
        let mut receiver = Receiver::new(&PortParameters::default(), config);
        receiver.expected = expected;
        receiver
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
                    packet,
                };
                let verdict = receiver(expected).judge(&frame, &[], &packets);
                let is_right = match behind {
                    0 => matches!(verdict, Verdict::Accept),
                    1..=2048 => matches!(verdict, Verdict::Duplicate),
                    _ => matches!(verdict, Verdict::Bad),
                };
                assert!(is_right, "{behind} behind {expected}");
            }
        }
    }
}
