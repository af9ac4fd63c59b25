//! The completions of a memory read, split by the completer's rules (PCIe Base 2.3.1.1).

use packet::{PacketId, Packets};
use protocol::{FunctionId, Header, Kind};

use crate::Memory;

/// An iterator over the completions of one read, in order of address.
#[derive(Clone, Debug)]
pub struct Completions {
    request: Header,
    completer: FunctionId,
    /// The byte address at which the next completion starts, and the address at which the last completion ends.
    next: u64,
    first: u64,
    end: u64,
    /// The size limit of a completion, and the boundary at which all completions except the last one end.
    largest: u64,
    boundary: u64,
}

impl Completions {
    /// Splits the completion of the memory read `request` into packets with at most `largest` payload bytes. They end at multiples of
    /// `boundary`, the read completion boundary. For a request of another kind, there are no completions.
    pub fn of(request: &Header, completer: FunctionId, largest: u32, boundary: u32) -> Self {
        let len = match &request.kind {
            Kind::MemoryRead(read) => read.byte_len(),
            _ => 0,
        };
        Self::of_part(request, completer, (0, len), largest, boundary)
    }

    /// Splits the completion of `len` bytes from `offset` within the request.
    pub fn of_part(
        request: &Header,
        completer: FunctionId,
        (offset, len): (u32, u32),
        largest: u32,
        boundary: u32,
    ) -> Self {
        let (first, len) = match &request.kind {
            Kind::MemoryRead(read) => (read.first_byte(), u64::from(len).max(1)),
            _ => (0, 0),
        };
        let next = first + u64::from(offset);
        Completions {
            request: *request,
            completer,
            next,
            first,
            end: next + len,
            largest: u64::from(largest.max(boundary)),
            boundary: u64::from(boundary),
        }
    }

    /// Creates the packets of all completions, with the stamp of the `request` and data from `memory`, which begins at address
    /// `base`.
    pub fn packets(
        mut self,
        request: PacketId,
        memory: &Memory,
        base: u64,
        packets: &mut Packets,
    ) -> impl Iterator<Item = PacketId> {
        std::iter::from_fn(move || self.next_packet(request, memory, base, packets))
    }

    fn next_packet(
        &mut self,
        request: PacketId,
        memory: &Memory,
        base: u64,
        packets: &mut Packets,
    ) -> Option<PacketId> {
        let (mut header, address, len) = self.next()?;
        header.poisoned = memory.is_poisoned(address - base, len.into());
        let stamp = packets[request].stamp;
        let packet = packets.claim();
        let lead = (address % 4) as usize;
        let payload = packets[packet].write(header, stamp);
        memory.read(address - base, &mut payload[lead..lead + len as usize]);
        Some(packet)
    }
}

impl Iterator for Completions {
    /// A header, the byte address of its data, and the number of requested bytes in it.
    type Item = (Header, u64, u32);

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.end {
            return None;
        }
        let start = self.next;
        // The payload is counted in whole dwords, from the dword with the first byte.
        let reach = (start & !3) + self.largest;
        let boundary = reach - reach % self.boundary;
        let stop = if reach >= self.end {
            self.end
        } else if boundary > start {
            boundary
        } else {
            reach
        };
        let (offset, len) = ((start - self.first) as u32, (stop - start) as u32);
        let header = Header::completion_with_data(&self.request, self.completer, offset, len)
            .expect("every part of a valid request has a valid completion");
        self.next = stop;
        Some((header, start, len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use protocol::Tag;

    fn split(address: u64, len: u32, largest: u32, boundary: u32) -> Vec<(Header, u64, u32)> {
        let header =
            Header::memory_read(FunctionId(8), Tag(3), address, len).expect("a legal read");
        Completions::of(&header, FunctionId(0), largest, boundary).collect()
    }

    #[test]
    fn a_read_off_the_boundary_is_split_at_it() {
        let pieces: Vec<(u64, u32)> = split(0x1020, 256, 128, 64)
            .into_iter()
            .map(|(_, at, len)| (at, len))
            .collect();
        assert_eq!(pieces, [(0x1020, 96), (0x1080, 128), (0x1100, 32)]);
    }

    proptest! {
        #[test]
        fn the_pieces_are_the_whole(page_offset in 0_u64..4096, len in 1_u32..4096, mps in 0_u32..3, rcb in 0_u32..2) {
            let len = len.min(4096 - page_offset as u32);
            let (largest, boundary) = (128 << mps, 64 << rcb);
            let mut expected = 0x10_0000 + page_offset;
            let mut left = len;
            for (header, at, bytes) in split(expected, len, largest, boundary) {
                prop_assert_eq!(at, expected);
                let Kind::Completion(completion) = header.kind else { panic!("a read is answered by completions") };
                prop_assert_eq!(u32::from(completion.byte_count), left);
                prop_assert!(header.payload_len() as u32 <= largest);
                expected += u64::from(bytes);
                left -= bytes;
                prop_assert!(left == 0 || expected % u64::from(boundary) == 0);
                prop_assert_eq!(completion.is_last(), left == 0);
            }
            prop_assert_eq!(left, 0);
        }
    }
}
