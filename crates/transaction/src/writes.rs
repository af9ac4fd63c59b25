//! Write requests for a range of bytes.

use packet::{PacketId, Packets, Stamp};
use protocol::{FunctionId, Header, MemoryRequest};

/// Creates the write requests of `requester` for `bytes` at `address`. A request has at most `largest` bytes, and does not cross the end of
/// a page. `stamp` applies to the first byte, and its `last` flag applies to the last request.
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
        let len = MemoryRequest::first_len(address, (bytes.len() - at) as u64, largest);
        let header = Header::memory_write(requester, address, len)
            .expect("a request stays within its page and the largest payload");
        let len = len as usize;
        let stamp = Stamp {
            offset: stamp.offset + at as u64,
            last: stamp.last && at + len == bytes.len(),
            ..stamp
        };
        requests.push(packets.make(header, stamp, &bytes[at..at + len]));
        at += len;
    }
    requests
}
