//! Messages in progress in the sending engine, from the begin of their reads to their last packet.

use std::collections::VecDeque;

use kernel::Time;
use packet::{PacketId, Packets, Stamp};
use protocol::{FunctionId, NetworkHeader, PacketType, QueuePairId};

use super::stream::Stream;
use crate::nic::descriptor::{Item, Probe};

/// The source and the destination of a message.
#[derive(Clone, Copy, Debug)]
pub(in crate::nic) struct Address {
    pub(in crate::nic) source: QueuePairId,
    /// The epoch of the source queue pair at the begin.
    pub(in crate::nic) epoch: u32,
    pub(in crate::nic) destination: QueuePairId,
    pub(in crate::nic) key: u16,
    /// Whether the sender receives an event; false for answers to GETs of other processors.
    pub(in crate::nic) tell_sender: bool,
    pub(in crate::nic) tell_receiver: bool,
    pub(in crate::nic) is_answer: bool,
    pub(in crate::nic) label: u32,
    pub(in crate::nic) probe: Probe,
    pub(in crate::nic) born: Time,
}

/// A message with data that is being read and packed.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) number: u64,
    pub(super) address: Address,
    pub(super) stream: Stream,
    pub(super) transfer: Transfer,
    /// Number of bytes that are packed, and number of bytes that are left.
    pub(super) packed: u64,
    pub(super) left: u64,
}

/// The destination of a message's data.
#[derive(Clone, Debug)]
pub(super) enum Transfer {
    /// The data is for these ranges of addresses.
    Put(VecDeque<Item>),
    /// The data is for a buffer that the receiver chooses.
    Nap {
        /// Whether the data is in the descriptor.
        is_immediate: bool,
    },
}

impl Job {
    /// The function that sends the message.
    pub(super) fn function(&self) -> usize {
        self.address.source.function().into()
    }

    /// Whether the receiver chooses the buffer.
    pub(super) fn is_nap(&self) -> bool {
        matches!(self.transfer, Transfer::Nap { .. })
    }

    /// Number of bytes of the next packet: at most `largest`, and only for one range.
    pub(super) fn next_len(&self, largest: u32) -> u32 {
        let room = match &self.transfer {
            Transfer::Put(targets) => targets.front().map_or(0, |target| target.len),
            Transfer::Nap { .. } => u32::MAX,
        };
        (self.left.min(u64::from(largest)) as u32).min(room)
    }

    /// Whether the data of a packet of `len` bytes has arrived.
    pub(super) fn has(&self, len: u32) -> bool {
        self.stream.ready() >= len as usize
    }

    /// Whether some data of the message cannot be read.
    pub(super) fn is_lost(&self) -> bool {
        self.stream.is_broken() && self.stream.is_quiet()
    }

    /// Makes the next packet, with `len` bytes. `requester` is the ID of the sending function.
    pub(super) fn pack(
        &mut self,
        len: u32,
        requester: FunctionId,
        packets: &mut Packets,
    ) -> PacketId {
        let is_last = u64::from(len) == self.left;
        let (kind, address, event) = match &mut self.transfer {
            Transfer::Nap { .. } => (PacketType::Nap, self.packed, is_last),
            Transfer::Put(targets) => {
                let event = is_last && self.address.tell_receiver;
                (PacketType::Put, take_target(targets, len), event)
            }
        };
        let mut header = self.header(kind, address, len);
        header.event = event;
        header.requester = requester;
        let stamp = self.address.stamp(self.packed, is_last);
        let packet = packets.claim();
        let payload = packets[packet].write(header.into(), stamp);
        self.stream.take(&mut payload[..len as usize]);
        self.packed += u64::from(len);
        self.left -= u64::from(len);
        packet
    }

    /// The packet that aborts a NAP. It informs the receiver that the other packets will not follow.
    pub(super) fn abort(&self, requester: FunctionId, packets: &mut Packets) -> PacketId {
        let mut header = self.header(PacketType::Nap, self.packed, 0);
        header.event = true;
        header.poisoned = true;
        header.requester = requester;
        packets.make(header.into(), Stamp::default(), &[])
    }

    fn header(&self, kind: PacketType, address: u64, len: u32) -> NetworkHeader {
        let Address {
            source,
            destination,
            key,
            ..
        } = self.address;
        let mut header = NetworkHeader::new(kind, source, destination, address, len)
            .expect("a descriptor's ranges are within the fields of a packet");
        header.magic = key;
        header
    }
}

impl Address {
    pub(in crate::nic) fn stamp(&self, offset: u64, is_last: bool) -> Stamp {
        Stamp {
            flow: self.probe.flow,
            offset: self.probe.offset + offset,
            born: self.born,
            last: is_last && self.probe.is_timed,
        }
    }
}

/// Removes `len` bytes from the first target range, which must have as many, and returns the address of the first one.
fn take_target(targets: &mut VecDeque<Item>, len: u32) -> u64 {
    let target = targets
        .front_mut()
        .expect("a PUT has as many targets as data");
    let address = target.address;
    target.address += u64::from(len);
    target.len -= len;
    if target.len == 0 {
        targets.pop_front();
    }
    address
}
