//! The receiving half of a link end: checks, sequence, acknowledgement and the buffer whose room it grants.

use std::collections::VecDeque;

use kernel::Time;
use protocol::{Class, Credit, Dllp, lcrc};

use crate::credit::{Buffer, Room};
use crate::parameters::PortParameters;
use crate::transmitter::SEQUENCES;
use crate::{BitErrors, LinkConfig};
use packet::{Charge, PacketId, Packets, TlpFrame};

/// What a frame that arrived holds for the component.
#[derive(Clone, Copy, Debug)]
pub enum Arrival {
    /// A packet, in order and in the buffer until it is freed.
    Packet(Delivery),
    /// The header of a packet that will turn out corrupt. Only a cut-through component sees it, and it must let go of it.
    Corrupt(Delivery),
}

/// A packet that the link delivers. The component is now one of its holders.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// Which.
    pub packet: PacketId,
    /// When its last bit arrives: now, or later at a cut-through port.
    pub complete: Time,
}

/// What the data-link layer makes of a TLP (PCIe Base 3.6.3.1).
pub(crate) enum Verdict {
    Accept,
    /// A duplicate: acknowledge again.
    Duplicate,
    /// Bad: ask for it again.
    Bad,
    /// Nullified by the sender: nothing is missing.
    Nullified,
    /// Bad, while a good one is already asked for.
    Ignore,
}

#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    errors: Option<BitErrors>,
    expected: u16,
    /// When the last bit of the newest accepted packet is here.
    newest_complete: Time,
    nak_scheduled: bool,
    channels: Vec<[Buffer; 3]>,
    /// Packets that will have left the buffer, the first to leave in front.
    leaving: VecDeque<Leaving>,
    /// Sequence of classes with an UpdateFC to send, as bits `channel * 3 + class`.
    news: u32,
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
        let data_credits =
            |bytes: u64| bytes.div_ceil(16).min(u64::from(Room::<12>::LARGEST)) as u16;
        let buffer = |headers: u32, data: u64, packet: u16| Buffer {
            headers: Room::new(headers.min(u32::from(Room::<8>::LARGEST)) as u16, share, 1),
            data: Room::new(data_credits(data), share, packet),
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
            news: 0,
        }
    }

    pub(crate) fn channels(&self) -> usize {
        self.channels.len()
    }

    /// The limits to grant at first.
    pub(crate) fn grant(&self, channel: usize, class: Class) -> Credit {
        let buffer = &self.channels[channel][class.index()];
        Credit {
            channel: channel as u8,
            class,
            headers: buffer.headers.size() as u8,
            data: buffer.data.size(),
        }
    }

    /// Whether a packet with that sequence number is the one that is due.
    pub(crate) fn expects(&self, sequence: u16) -> bool {
        sequence == self.expected
    }

    /// Which of the next `bytes` on the wire are struck, as bit positions.
    #[inline]
    pub(crate) fn strike(&mut self, bytes: u32) -> Vec<u64> {
        self.errors
            .as_mut()
            .map_or_else(Vec::new, |errors| errors.strike(u64::from(bytes) * 8))
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors.is_some()
    }

    /// Checks a TLP whose image on the wire was struck at the bits `wrong`.
    ///
    /// An image that no bit was struck of is the one its sender made: its LCRC is that of the very same bytes.
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

    /// The packet just judged is taken into the buffer; its last bit arrives at `complete`. If that leaves the far end
    /// without credit for another one: when the first packet will leave that makes an UpdateFC worth sending.
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

    /// Takes a packet for which the far end spent its last credit: when the first will leave that has not left by `now`.
    #[cold]
    fn accept_last(&mut self, channel: usize, charge: Charge, now: Time) -> Option<Time> {
        // What left before this packet came was not worth telling for its sake.
        self.settle(now);
        self.channels[channel][charge.class.index()].take(charge.data);
        let mut leaving = self.leaving.iter();
        let first = leaving.find(|leaving| {
            usize::from(leaving.channel) == channel && leaving.charge.class == charge.class
        });
        first.map(|leaving| leaving.due)
    }

    /// The sequence number of the newest packet that was whole by `time`.
    #[inline]
    pub(crate) fn acknowledgeable(&self, time: Time) -> u16 {
        let behind = if self.newest_complete > time { 2 } else { 1 };
        self.expected.wrapping_sub(behind) % SEQUENCES
    }

    /// The last accepted packet is still arriving at `time`: when it will be whole.
    #[inline]
    pub(crate) fn incomplete_at(&self, time: Time) -> Option<Time> {
        (self.newest_complete > time).then_some(self.newest_complete)
    }

    /// A packet will have left the buffer at `due`: when that makes credit worth an UpdateFC, if it does.
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
        buffer.promise(charge.data);
        buffer.will_be_worth_telling().then_some(due)
    }

    /// Frees what was promised to have left by `now`.
    pub(crate) fn settle(&mut self, now: Time) {
        while let Some(left) = self.leaving.pop_front_if(|leaving| leaving.due <= now) {
            let Leaving {
                channel, charge, ..
            } = left;
            self.channels[usize::from(channel)][charge.class.index()].keep_promise(charge.data);
            let _ = self.free(usize::from(channel), charge);
        }
    }

    /// When a promise will make credit worth an UpdateFC, and whether any is left.
    pub(crate) fn next_worth(&self) -> (Option<Time>, bool) {
        let mut buffers = self.channels.clone();
        for buffer in buffers.iter_mut().flatten() {
            buffer.forget_promises();
        }
        let worth = self.leaving.iter().find(|leaving| {
            let buffer = &mut buffers[usize::from(leaving.channel)][leaving.charge.class.index()];
            buffer.promise(leaving.charge.data);
            buffer.will_be_worth_telling()
        });
        (worth.map(|leaving| leaving.due), !self.leaving.is_empty())
    }

    /// A packet left the buffer: whether its credit is worth an UpdateFC now, may wait, or does not matter.
    #[inline]
    pub(crate) fn free(&mut self, channel: usize, charge: Charge) -> News {
        let index = charge.class.index();
        let buffer = &mut self.channels[channel][index];
        buffer.free(charge.data);
        if buffer.is_worth_telling() {
            self.news |= 1 << (channel * 3 + index);
            News::Now
        } else if buffer.has_news() {
            News::Later
        } else {
            News::None
        }
    }

    /// Every class with credit that was never told, or every limited class at all, is worth an UpdateFC now.
    pub(crate) fn tell_all(&mut self, even_old: bool) {
        for (channel, buffers) in self.channels.iter().enumerate() {
            for class in Class::ALL {
                let buffer = &buffers[class.index()];
                if buffer.has_news() || even_old && buffer.is_limited() {
                    self.news |= 1 << (channel * 3 + class.index());
                }
            }
        }
    }

    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.news != 0
    }

    /// The next UpdateFC to send.
    #[inline]
    pub(crate) fn next_news(&mut self) -> Option<Dllp> {
        if self.news == 0 {
            return None;
        }
        let index = self.news.trailing_zeros() as usize;
        self.news &= self.news - 1;
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

/// A packet that will have left the buffer.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    due: Time,
    channel: u8,
    charge: Charge,
}

pub(crate) enum News {
    None,
    Later,
    Now,
}

/// Whether the receiver finds that the bits `wrong` of `image` were struck: by the LCRC, or, where a framing symbol behind
/// the image was, by the physical layer. What the LCRC misses, once in 2^32, is delivered as it was sent.
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
