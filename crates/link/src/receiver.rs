//! The receiving half of a link end: checks, sequence, acknowledgement and the buffer whose room it grants.

use std::collections::VecDeque;

use kernel::Time;
use protocol::{Class, Credit, Dllp, lcrc};

use crate::credit::{Buffer, Room};
use crate::parameters::PortParameters;
use crate::transmitter::SEQUENCES;
use crate::{BitErrors, Charge, LinkContext, PacketId, TlpFrame};

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
    pub(crate) fn new(
        parameters: &PortParameters,
        infinite_completions: bool,
        channels: usize,
        errors: Option<BitErrors>,
    ) -> Self {
        let share = parameters.update_fc_share;
        let data_credits =
            |bytes: u64| bytes.div_ceil(16).min(u64::from(Room::<12>::LARGEST)) as u16;
        let buffer = |headers: u32, data: u64| Buffer {
            headers: Room::new(headers.min(u32::from(Room::<8>::LARGEST)) as u16, share),
            data: Room::new(data_credits(data), share),
        };
        let completions = if infinite_completions {
            buffer(0, 0)
        } else {
            buffer(parameters.completion_headers, parameters.completion_data.0)
        };
        let buffers = [
            buffer(parameters.posted_headers, parameters.posted_data.0),
            buffer(parameters.nonposted_headers, parameters.nonposted_data.0),
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

    /// Checks a TLP whose wire image was struck at the bits `wrong`.
    ///
    /// The LCRC of an image that no bit was struck of is what its sender made of the very same bytes a moment ago, so
    /// that only debug builds make it again.
    pub(crate) fn judge(
        &mut self,
        frame: &TlpFrame,
        wrong: &[u64],
        cx: &mut impl LinkContext,
    ) -> Verdict {
        let TlpFrame {
            sequence,
            nullified,
            lcrc: carried,
            packet,
        } = *frame;
        let bytes = cx.packets()[packet].bytes();
        let expected = |computed: u32| if nullified { !computed } else { computed };
        if wrong.is_empty() {
            debug_assert_eq!(
                carried,
                expected(lcrc(sequence, bytes)),
                "a wire without errors changes nothing"
            );
        } else if residue_of_struck(sequence, bytes, carried, wrong) != 0 {
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

    /// The packet just judged is taken into the buffer; its last bit arrives at `complete`.
    pub(crate) fn accept(&mut self, channel: usize, charge: Charge, complete: Time) {
        self.expected = (self.expected + 1) % SEQUENCES;
        self.nak_scheduled = false;
        self.newest_complete = complete;
        self.channels[channel][charge.class.index()].take(charge.data);
    }

    /// The sequence number of the newest packet that was whole by `time`.
    pub(crate) fn acknowledgeable(&self, time: Time) -> u16 {
        let behind = if self.newest_complete > time { 2 } else { 1 };
        self.expected.wrapping_sub(behind) % SEQUENCES
    }

    /// The last accepted packet is still arriving at `time`: when it will be whole.
    pub(crate) fn incomplete_at(&self, time: Time) -> Option<Time> {
        (self.newest_complete > time).then_some(self.newest_complete)
    }

    /// A packet will have left the buffer at `due`, not before those promised earlier: when that makes credit worth an
    /// UpdateFC, if it does.
    pub(crate) fn free_later(&mut self, channel: usize, charge: Charge, due: Time) -> Option<Time> {
        self.leaving.push_back(Leaving {
            due,
            channel: channel as u8,
            charge,
        });
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

    pub(crate) fn has_news(&self) -> bool {
        self.news != 0
    }

    /// The next UpdateFC to send.
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

/// The LCRC check on the image that really arrived: sequence number, packet and LCRC with the struck bits flipped.
/// Never zero: a strike on framing symbols alone is an error that the physical
/// layer reports, and the one pattern in 2^32 that the LCRC misses is taken as seen.
fn residue_of_struck(sequence: u16, bytes: &[u8], carried: u32, wrong: &[u64]) -> u32 {
    let mut image = Vec::with_capacity(bytes.len() + 6);
    image.extend_from_slice(&sequence.to_be_bytes());
    image.extend_from_slice(bytes);
    image.extend_from_slice(&carried.to_be_bytes());
    for bit in wrong {
        if let Some(byte) = image.get_mut((bit / 8) as usize) {
            *byte ^= 1 << (bit % 8);
        }
    }
    let end = image.len() - 4;
    let sequence = u16::from_be_bytes([image[0], image[1]]);
    let carried = u32::from_be_bytes([image[end], image[end + 1], image[end + 2], image[end + 3]]);
    (lcrc(sequence, &image[2..end]) ^ carried).max(1)
}
