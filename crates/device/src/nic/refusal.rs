//! The packet that refuses a GET.

use packet::{Fault, PacketId, Packets, Stamp};
use protocol::{NetworkHeader, PacketType, QueuePairId};

use protocol::FunctionId;

/// The packet that informs the requester of a GET that its data will not follow.
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
    packets.make(header.into(), Stamp::default(), &[])
}

/// The label and the fault in the address of a refusal packet.
pub(super) fn refusal_of(address: u64) -> (u32, Fault) {
    let reason = Fault::ALL.get((address >> FAULT) as usize);
    (address as u32, reason.copied().unwrap_or(Fault::Source))
}

/// The lowest bit of the fault in the address. The bits below have the label.
const FAULT: u32 = 32;
