//! The receiver of an optical end: counts of each virtual channel, and the effect of bit errors.

use kernel::Time;

use crate::BitErrors;
use packet::{PacketId, Packets};

use super::timing::Timing;
use packet::FibreFrame;

/// A packet that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    /// The packet. The caller receives a reference to it, which must be released.
    pub packet: PacketId,
    /// The virtual channel whose buffer the packet uses.
    pub channel: u8,
    /// The cycles that the packet uses in the buffer.
    pub cycles: u32,
    /// The time at which the last cycle of the packet arrives.
    pub complete: Time,
    /// Whether bit errors have damaged the payload.
    pub damaged: bool,
}

/// The receive counts of one virtual channel, in cycles modulo 65,536.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Intake {
    /// The number of cycles that the far end has sent, as far as this end can count.
    pub(super) received: u16,
    /// The number of cycles that have left the buffer or were lost on the fibre.
    pub(super) freed: u16,
}

impl Intake {
    /// Updates the counts for a frame or block. The far end had sent `before` cycles before it. Returns whether frames were lost. The cycles
    /// of lost frames count as freed.
    pub(super) fn catch_up(&mut self, before: u16) -> bool {
        let lost = before.wrapping_sub(self.received);
        self.received = before;
        self.freed = self.freed.wrapping_add(lost);
        lost > 0
    }
}

/// The effect of bit errors on a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    /// No detectable damage.
    None,
    /// The CRC is wrong but the header is intact.
    Payload,
    /// The header is damaged or the frame is not recognised, so its destination is unknown.
    Header,
}

/// Synchronisation bits at the start of a block.
const SYNCHRONISATION: u64 = 2;

pub(super) fn inject_bit_errors(
    errors: &mut BitErrors,
    frame: &FibreFrame,
    cycles: u32,
    timing: &Timing,
    packets: &Packets,
) -> Damage {
    let wrong = errors.wrong_bits(timing.bits(cycles));
    if wrong.is_empty() {
        return Damage::None;
    }
    let mut image = packets[frame.packet].fibre_image(frame.channel, frame.sequence);
    let block_bits = u64::from(protocol::aurora::BLOCK_BITS);
    for bit in wrong {
        let (block, within) = (bit / block_bits, bit % block_bits);
        let Some(within) = within.checked_sub(SYNCHRONISATION) else {
            // The block is no longer a data block, so the frame ends there.
            return Damage::Header;
        };
        let byte = block * u64::from(protocol::aurora::BLOCK_BYTES) + within / 8;
        match image.get_mut(byte as usize) {
            Some(byte) => *byte ^= 1 << (within % 8),
            // The error is in the separator block or in an idle block beside it.
            None => return Damage::Header,
        }
    }
    let header = protocol::Envelope::HEADER_BYTES as usize;
    let intact = packets[frame.packet].fibre_image(frame.channel, frame.sequence);
    if image[..header] != intact[..header] {
        Damage::Header
    } else if protocol::Envelope::parse(&image).is_err() {
        Damage::Payload
    } else {
        Damage::None
    }
}
