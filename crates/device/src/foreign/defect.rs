//! Completions with defects that a model makes on purpose.

use packet::{PacketId, Packets};
use peerlane_device::Defect;
use protocol::{FunctionId, Header, Kind, Status, Tag};

/// The most bytes of a request, and the most dwords of data.
const MOST_BYTES: u16 = 4096;
const MOST_DWORDS: u16 = 1024;

/// Makes a completion with the defect from `packet`, which it replaces.
pub(super) fn with_defect(packet: PacketId, defect: Defect, packets: &mut Packets) -> PacketId {
    let content = &packets[packet];
    let header = defective(*content.header(), defect);
    let (number, stamp, data) = (content.number(), content.stamp, content.payload().to_vec());
    packets.release(packet);
    let packet = packets.claim();
    let payload = packets[packet].write(header, stamp);
    payload.fill(0);
    let both = payload.len().min(data.len());
    payload[..both].copy_from_slice(&data[..both]);
    packets.renumber(packet, number);
    packet
}

fn defective(mut header: Header, defect: Defect) -> Header {
    let Kind::Completion(completion) = &mut header.kind else {
        return header;
    };
    match defect {
        Defect::ByteCount if completion.byte_count + 4 > MOST_BYTES => completion.byte_count -= 4,
        Defect::ByteCount => completion.byte_count += 4,
        Defect::LowerAddress => completion.lower_address ^= 1,
        Defect::Tag => completion.tag = Tag(completion.tag.0 ^ 1),
        Defect::Requester => completion.requester = FunctionId(completion.requester.0 ^ 1),
        Defect::Poisoned => header.poisoned = true,
        Defect::RetryStatus => {
            completion.status = Status::ConfigurationRetry;
            completion.dwords = 0;
        }
        Defect::TooMuchData => completion.dwords = MOST_DWORDS.min(completion.dwords + 1),
        Defect::TooLittleData => completion.dwords -= 1,
    }
    header
}
