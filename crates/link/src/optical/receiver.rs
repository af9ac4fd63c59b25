//! What one end of a fibre has received: the order of frames, the room that is left, and what bit errors do.

use kernel::Time;

use crate::BitErrors;
use packet::{PacketId, Packets};

use super::timing::Timing;
use packet::LightFrame;

/// A packet that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    /// The packet, held for the caller.
    pub packet: PacketId,
    /// The virtual channel whose buffer it takes.
    pub channel: u8,
    /// Cycles of that buffer.
    pub cycles: u32,
    /// When the last of it is here.
    pub complete: Time,
    /// Whether its payload is damaged.
    pub damaged: bool,
}

/// The receiving half of a virtual channel, in cycles that only grow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Intake {
    /// What has been sent on it, as far as is known here.
    pub(super) heard: u16,
    /// What has left its buffer, or never came.
    pub(super) freed: u16,
}

impl Intake {
    /// The far end had sent `before` when it began what is heard of now: whether something in between was lost, which
    /// takes no room.
    pub(super) fn catch_up(&mut self, before: u16) -> bool {
        let lost = before.wrapping_sub(self.heard);
        self.heard = before;
        self.freed = self.freed.wrapping_add(lost);
        lost > 0
    }
}

/// What bit errors do to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    /// Nothing that anybody sees.
    None,
    /// Its CRC is wrong, and its header is as it was.
    Payload,
    /// It can't be told where it goes, or that it is there.
    Header,
}

/// Bits of a block before its data.
const SYNCHRONISATION: u64 = 2;

pub(super) fn strike(
    errors: &mut BitErrors,
    frame: &LightFrame,
    cycles: u32,
    timing: &Timing,
    packets: &Packets,
) -> Damage {
    let wrong = errors.strike(timing.bits(cycles));
    if wrong.is_empty() {
        return Damage::None;
    }
    let mut image = packets[frame.packet].light_image(frame.channel, frame.sequence);
    let block_bits = u64::from(protocol::aurora::BLOCK_BITS);
    for bit in wrong {
        let (block, within) = (bit / block_bits, bit % block_bits);
        let Some(within) = within.checked_sub(SYNCHRONISATION) else {
            // The block is no longer one of data, and the frame ends there.
            return Damage::Header;
        };
        let byte = block * u64::from(protocol::aurora::BLOCK_BYTES) + within / 8;
        match image.get_mut(byte as usize) {
            Some(byte) => *byte ^= 1 << (within % 8),
            // In the separator block or the idle ones beside it.
            None => return Damage::Header,
        }
    }
    let header = protocol::Envelope::HEADER_BYTES as usize;
    let intact = packets[frame.packet].light_image(frame.channel, frame.sequence);
    if image[..header] != intact[..header] {
        Damage::Header
    } else if protocol::Envelope::parse(&image).is_err() {
        Damage::Payload
    } else {
        Damage::None
    }
}
