//! The replay buffer: the packets that were sent and are not acknowledged yet (PCIe Base 3.6.2).

use std::collections::VecDeque;

use packet::{PacketId, TlpFrame};
use protocol::MAX_TLP_OVERHEAD;

use super::SEQUENCES;
use crate::LinkContext;

/// A packet in the replay buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) packet: PacketId,
    pub(crate) sequence: u16,
    /// The size of the packet on the wire, in bytes.
    pub(crate) wire_len: u16,
    /// The size of the packet on the wire up to the end of its header, in bytes.
    pub(crate) wire_len_to_header: u8,
    /// The channel in which the packet was charged, with the encoding of [`TlpFrame`].
    pub(crate) channel: u8,
}

/// The packets that are stored until they are acknowledged, oldest first. They have consecutive sequence numbers.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct ReplayBuffer {
    kept: VecDeque<Kept>,
    /// The sum of the sizes of all packets on the wire, in bytes.
    pub(crate) bytes: u64,
    /// The capacity of the buffer, in bytes.
    capacity: u64,
    /// The position of the next packet to replay.
    replaying: Option<usize>,
}

/// The size on the wire of the largest packet, with the largest payload that PCI Express permits.
const LARGEST: u64 = 4096 + MAX_TLP_OVERHEAD as u64;

impl ReplayBuffer {
    pub(crate) fn new(capacity: u64) -> Self {
        ReplayBuffer {
            kept: VecDeque::new(),
            bytes: 0,
            capacity,
            replaying: None,
        }
    }

    /// Begins to load the oldest packet, and the entry for the next packet.
    pub(crate) fn prefetch(&self) {
        if let (Some(oldest), Some(newest)) = (self.kept.front(), self.kept.back()) {
            kernel::prefetch(oldest, 0..1);
            kernel::prefetch(newest, size_of::<Kept>()..size_of::<Kept>() + 1);
        }
    }

    /// Whether no packet waits for an acknowledgement.
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Whether there is space for any packet.
    pub(crate) fn fits_any(&self) -> bool {
        self.bytes + LARGEST <= self.capacity && self.has_sequence()
    }

    /// Whether there is space for a packet of `wire_len` bytes. An empty buffer accepts a packet that is too large, as a malformed packet
    /// may be. Otherwise the packet would wait for ever.
    pub(crate) fn fits(&self, wire_len: u16) -> bool {
        let has_space = self.bytes + u64::from(wire_len) <= self.capacity;
        (has_space || self.is_empty()) && self.has_sequence()
    }

    /// Whether a sequence number is free. At most half of the sequence numbers may belong to unacknowledged packets.
    fn has_sequence(&self) -> bool {
        self.kept.len() < usize::from(SEQUENCES / 2 - 1)
    }

    /// Whether packets are left to replay.
    pub(crate) fn is_replaying(&self) -> bool {
        self.replaying.is_some()
    }

    pub(crate) fn last_sent(&self) -> Option<PacketId> {
        let next = self.replaying.unwrap_or(self.kept.len());
        let last = next.checked_sub(1)?;
        self.kept.get(last).map(|kept| kept.packet)
    }

    pub(crate) fn push(&mut self, kept: Kept) {
        self.kept.push_back(kept);
        self.bytes += u64::from(kept.wire_len);
    }

    /// Starts to replay all packets.
    pub(crate) fn replay(&mut self) {
        self.replaying = (!self.kept.is_empty()).then_some(0);
    }

    /// The next packet to replay, which counts as replayed.
    pub(crate) fn next_again(&mut self) -> Option<Kept> {
        let place = self.replaying?;
        self.replaying = Some(place + 1).filter(|next| *next < self.kept.len());
        Some(self.kept[place])
    }

    /// Marks the packets of a channel so that their replay no longer counts in the credit of the channel.
    pub(crate) fn uncharge(&mut self, channel: usize) {
        for kept in &mut self.kept {
            if usize::from(kept.channel) == channel {
                kept.channel = TlpFrame::UNCHARGED;
            }
        }
    }

    /// Releases the packets up to `sequence`. Returns whether there were any.
    pub(crate) fn acknowledge(&mut self, sequence: u16, cx: &mut impl LinkContext) -> bool {
        let Some(oldest) = self.kept.front() else {
            return false;
        };
        let behind = sequence.wrapping_sub(oldest.sequence) % SEQUENCES;
        if behind >= SEQUENCES / 2 {
            return false;
        }
        let released = self.kept.len().min(usize::from(behind) + 1);
        for kept in self.kept.drain(..released) {
            self.bytes -= u64::from(kept.wire_len);
            cx.packets().release(kept.packet);
        }
        self.replaying = self
            .replaying
            .map(|place| place.saturating_sub(released))
            .filter(|next| *next < self.kept.len());
        true
    }

    /// Releases all packets.
    pub(crate) fn clear(&mut self, cx: &mut impl LinkContext) {
        for kept in self.kept.drain(..) {
            cx.packets().release(kept.packet);
        }
        self.bytes = 0;
        self.replaying = None;
    }
}
