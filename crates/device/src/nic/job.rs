//! Messages under way in the sending engine: from their descriptor to their last packet.

use std::collections::VecDeque;

use kernel::Time;
use packet::{Fault, PacketId, Packets, Stamp};
use protocol::{FunctionId, NetworkHeader, PacketType, QueuePairId};

use super::descriptor::{Item, Probe};
use super::stream::Stream;

/// A descriptor that is being read.
#[derive(Clone, Debug)]
pub(super) struct Fetch {
    pub(super) number: u64,
    pub(super) owner: QueuePairId,
    /// That of the queue pair when it began.
    pub(super) epoch: u32,
    /// When its doorbell was rung.
    pub(super) born: Time,
    /// Bytes, as the doorbell said.
    pub(super) len: usize,
    pub(super) stream: Stream,
    /// When what has come of it was last looked at in vain may it be looked at again.
    pub(super) due: Time,
}

/// Whose a message is, and whom it is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    pub(super) source: QueuePairId,
    /// That of the source when it began.
    pub(super) epoch: u32,
    pub(super) destination: QueuePairId,
    pub(super) key: u16,
    /// Whether the sender is told; not of what others have asked for.
    pub(super) tell_sender: bool,
    pub(super) tell_receiver: bool,
    /// Whether the other side has asked for it.
    pub(super) is_answer: bool,
    pub(super) label: u32,
    pub(super) probe: Probe,
    pub(super) born: Time,
}

/// A message whose data is read and packed.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) number: u64,
    pub(super) address: Address,
    pub(super) stream: Stream,
    pub(super) way: Way,
    /// Bytes that are packed, and those that are not.
    pub(super) packed: u64,
    pub(super) left: u64,
}

/// What becomes of the data.
#[derive(Clone, Debug)]
pub(super) enum Way {
    /// It goes to these addresses.
    Put(VecDeque<Item>),
    /// It goes to a buffer of the receiver's choice.
    Nap {
        /// Whether it comes out of the descriptor.
        is_immediate: bool,
    },
}

impl Job {
    /// Bytes of the next packet: at most `largest`, to one range.
    pub(super) fn next_len(&self, largest: u32) -> u32 {
        let room = match &self.way {
            Way::Put(targets) => targets.front().map_or(0, |target| target.len),
            Way::Nap { .. } => u32::MAX,
        };
        (self.left.min(u64::from(largest)) as u32).min(room)
    }

    /// Whether the data of a packet of `len` bytes is here.
    pub(super) fn has(&self, len: u32) -> bool {
        self.stream.ready() >= len as usize
    }

    /// Whether some of its data will not come.
    pub(super) fn is_lost(&self) -> bool {
        self.stream.is_broken() && self.stream.is_quiet()
    }

    /// Makes the next packet, of `len` bytes, under the function `requester`.
    pub(super) fn pack(
        &mut self,
        len: u32,
        requester: FunctionId,
        packets: &mut Packets,
    ) -> PacketId {
        let is_last = u64::from(len) == self.left;
        let (kind, address, event) = match &mut self.way {
            Way::Nap { .. } => (PacketType::Nap, self.packed, is_last),
            Way::Put(targets) => {
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

    /// The packet that tells the receiver of a NAP that the rest of it will not come.
    pub(super) fn abort(&self, requester: FunctionId, packets: &mut Packets) -> PacketId {
        let mut header = self.header(PacketType::Nap, self.packed, 0);
        header.event = true;
        header.poisoned = true;
        header.requester = requester;
        let packet = packets.claim();
        packets[packet].write(header.into(), Stamp::default());
        packet
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
    pub(super) fn stamp(&self, offset: u64, is_last: bool) -> Stamp {
        Stamp {
            flow: self.probe.flow,
            offset: self.probe.offset + offset,
            born: self.born,
            last: is_last && self.probe.is_timed,
        }
    }
}

/// The packet that tells who has asked for data that it will not come.
pub(super) fn refusal(
    (from, to): (QueuePairId, QueuePairId),
    key: u16,
    (label, fault): (u32, Fault),
    requester: FunctionId,
    packets: &mut Packets,
) -> PacketId {
    let address = (fault.index() as u64) << FAULT | u64::from(label);
    let mut header = NetworkHeader::new(PacketType::Put, from, to, address, 0)
        .expect("label and fault are within the address");
    header.magic = key;
    header.poisoned = true;
    header.event = true;
    header.requester = requester;
    let packet = packets.claim();
    packets[packet].write(header.into(), Stamp::default());
    packet
}

/// Label and reason in the address of such a packet.
pub(super) fn refusal_of(address: u64) -> (u32, Fault) {
    let reason = Fault::ALL.get((address >> FAULT) as usize);
    (address as u32, reason.copied().unwrap_or(Fault::Source))
}

/// Where in the address the reason begins, behind the label.
const FAULT: u32 = 32;

/// Takes `len` bytes from the first target, which has them: where they go.
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
