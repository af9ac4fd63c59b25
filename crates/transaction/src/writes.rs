//! Bytes as write requests.

use packet::{PacketId, Packets, Stamp};
use protocol::{FunctionId, Header, MemoryRequest};

/// The requests by which `requester` writes `bytes` to `address` and on: none over `largest` bytes or over the end of a page.
/// `stamp` is that of the first byte, and of the end of its transaction.
pub fn writes(
    bytes: &[u8],
    stamp: Stamp,
    (requester, address): (FunctionId, u64),
    largest: u32,
    packets: &mut Packets,
) -> Vec<PacketId> {
    let mut requests = Vec::with_capacity(1);
    let mut at = 0;
    while at < bytes.len() {
        let address = address + at as u64;
        // Off its boundary a packet is cut short, so that it carries no more dwords than an aligned one.
        let room = MemoryRequest::room_at(address).min(u64::from(largest) - address % 4);
        let len = (bytes.len() - at).min(room as usize);
        let header = Header::memory_write(requester, address, len as u32)
            .expect("a request stays within its page and the largest payload");
        let stamp = Stamp {
            offset: stamp.offset + at as u64,
            last: stamp.last && at + len == bytes.len(),
            ..stamp
        };
        let packet = packets.claim();
        let lead = (address % 4) as usize;
        packets[packet].write(header, stamp)[lead..lead + len]
            .copy_from_slice(&bytes[at..at + len]);
        requests.push(packet);
        at += len;
    }
    requests
}
