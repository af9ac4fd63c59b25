//! The path of packets from one root port to another: its latency, its rate for each pair of ports in each direction, its rate to each port
//! from other sockets, and the payload size at which it splits packets.

use std::collections::BTreeMap;

use kernel::{Bandwidth, Port, Span, Time};
use packet::{PacketId, Packets, Stamp};
use protocol::{Header, Kind};

use super::RootComplexParameters;

/// The path between the root ports.
#[derive(Debug)]
pub(super) struct PeerPath {
    latency: Span,
    /// The rate of the path. None if it is unlimited.
    rate: Option<Bandwidth>,
    /// If there is a rate: the earliest time at which the next packet of each pair of ports may begin.
    free: BTreeMap<(Port, Port), Time>,
    /// The limit of packets from other sockets, if there is one.
    remote: Option<Remote>,
    /// The sizes at which a packet is split. A smaller max payload size of the egress port replaces them.
    split: Split,
}

/// The limit of the rate at which each root port receives packets from the root ports of all other sockets together.
#[derive(Debug)]
struct Remote {
    rate: Bandwidth,
    /// The socket of each root port.
    sockets: Vec<u32>,
    /// The earliest time at which the next packet to each root port may begin.
    free: Vec<Time>,
}

/// The rules by which the path splits packets (PCIe Base 1.3.1). The parts follow the rules for packets of a root complex.
#[derive(Clone, Copy, Debug)]
struct Split {
    /// The largest payload that is not split.
    largest: usize,
    /// The Read Completion Boundary.
    boundary: usize,
}

impl PeerPath {
    /// The path between root ports. `sockets` has the socket of each root port.
    pub(super) fn new(parameters: &RootComplexParameters, sockets: &[u32]) -> Self {
        PeerPath {
            latency: parameters.peer_latency,
            rate: parameters.peer_bandwidth,
            free: BTreeMap::new(),
            remote: Remote::new(parameters, sockets),
            split: Split {
                largest: parameters.largest_peer_payload.0 as usize,
                boundary: parameters.read_completion_boundary.0 as usize,
            },
        }
    }

    /// Transfers a packet of `bytes` on this `way`, from `ready` on. Returns the time at which the other root port may send the packet.
    pub(super) fn pass(&mut self, way: (Port, Port), ready: Time, bytes: usize) -> Time {
        let remote = self.remote.as_mut();
        let ready = remote.map_or(ready, |remote| remote.pass(way, ready, bytes));
        let Some(rate) = self.rate else {
            return ready + self.latency;
        };
        let free = self.free.entry(way).or_insert(Time::ZERO);
        let begun = ready.max(*free);
        *free = begun + rate.time_of(bytes as u64);
        begun + self.latency
    }

    /// Whether the path on this `way` is busy at `now` for longer than a packet of `bytes` needs.
    pub(super) fn is_late(&self, way: (Port, Port), bytes: u64, now: Time) -> bool {
        let limit = self.rate.as_ref().zip(self.free.get(&way));
        let remote = self.remote.as_ref();
        limit.is_some_and(|(rate, free)| *free > now + rate.time_of(bytes))
            || remote.is_some_and(|remote| remote.is_late(way, bytes, now))
    }

    /// Whether a packet with `header` is split before it leaves by a port with this max payload size.
    pub(super) fn splits(&self, header: &Header, max_payload: u32) -> bool {
        let split = self.split(max_payload);
        header.payload_len() > split.largest && split.applies_to(header)
    }

    /// Splits a packet, and transfers its parts one after the other. Returns each part with the time at which the other root port may send
    /// it.
    pub(super) fn pass_parts(
        &mut self,
        way: (Port, Port),
        whole: PacketId,
        max_payload: u32,
        ready: Time,
        packets: &mut Packets,
    ) -> Vec<(PacketId, Time)> {
        let parts = self.split(max_payload).parts(whole, packets);
        packets.release(whole);
        let pass = |part: PacketId| (part, self.pass(way, ready, packets[part].bytes().len()));
        parts.into_iter().map(pass).collect()
    }

    /// Splits a write of the CPU for a port with this max payload size, and returns the parts.
    pub(super) fn cut(
        &self,
        whole: PacketId,
        max_payload: u32,
        packets: &mut Packets,
    ) -> Vec<PacketId> {
        let largest = max_payload as usize;
        let split = Split {
            largest,
            ..self.split
        };
        let parts = split.parts(whole, packets);
        packets.release(whole);
        parts
    }

    fn split(&self, max_payload: u32) -> Split {
        let largest = self.split.largest.min(max_payload as usize);
        Split {
            largest,
            ..self.split
        }
    }
}

impl Remote {
    fn new(parameters: &RootComplexParameters, sockets: &[u32]) -> Option<Self> {
        parameters.socket_peer_bandwidth.map(|rate| Remote {
            rate,
            sockets: sockets.to_vec(),
            free: vec![Time::ZERO; sockets.len()],
        })
    }

    /// The time, from `ready` on, at which a packet of `bytes` may begin on this `way`.
    fn pass(&mut self, (from, to): (Port, Port), ready: Time, bytes: usize) -> Time {
        if self.sockets[from.index()] == self.sockets[to.index()] {
            return ready;
        }
        let free = &mut self.free[to.index()];
        let begun = ready.max(*free);
        *free = begun + self.rate.time_of(bytes as u64);
        begun
    }

    fn is_late(&self, (from, to): (Port, Port), bytes: u64, now: Time) -> bool {
        let is_remote = self.sockets[from.index()] != self.sockets[to.index()];
        is_remote && self.free[to.index()] > now + self.rate.time_of(bytes)
    }
}

impl Split {
    /// Whether a packet with `header` and a large payload may be split: a memory write, or a completion that is larger than the Read
    /// Completion Boundary. Other packets with data must not be divided.
    fn applies_to(&self, header: &Header) -> bool {
        match header.kind {
            Kind::MemoryWrite(_) => true,
            Kind::Completion(_) => header.payload_len() > self.boundary,
            _ => false,
        }
    }

    /// The parts of `whole`, in order of their bytes.
    fn parts(&self, whole: PacketId, packets: &mut Packets) -> Vec<PacketId> {
        let (header, stamp) = (*packets[whole].header(), packets[whole].stamp);
        let digest_error = packets[whole].digest_error();
        let payload = packets[whole].payload().to_vec();
        let headers = self.headers(&header);
        let count = headers.len();
        let mut rest = payload.as_slice();
        let mut part = |(number, (header, offset)): (usize, (Header, u32))| {
            let packet = packets.claim();
            let stamp = match header.kind {
                Kind::MemoryWrite(_) => Stamp {
                    offset: stamp.offset + u64::from(offset),
                    last: stamp.last && number + 1 == count,
                    ..stamp
                },
                _ => stamp,
            };
            let content = packets[packet].write(header, stamp);
            let (bytes, later) = rest.split_at(content.len());
            content.copy_from_slice(bytes);
            rest = later;
            if let Some(error) = digest_error {
                packets[packet].append_digest(error);
            }
            packet
        };
        headers.into_iter().enumerate().map(&mut part).collect()
    }

    /// The header of each part, and the offset of the part's first byte in the whole packet.
    ///
    /// Each part of a write, except the last one, ends at a multiple of the largest payload. Each part of a completion, except the last one,
    /// ends at a multiple of the Read Completion Boundary. The size of a part is counted in whole dwords, from the dword that contains its
    /// first byte.
    fn headers(&self, whole: &Header) -> Vec<(Header, u32)> {
        let largest = self.largest as u64;
        let (first, len, size, boundary) = match &whole.kind {
            Kind::MemoryWrite(request) => {
                (request.first_byte(), request.byte_len(), largest, largest)
            }
            Kind::Completion(completion) => {
                let boundary = self.boundary as u64;
                let first = u64::from(completion.lower_address);
                (
                    first,
                    completion.byte_len(),
                    largest.max(boundary),
                    boundary,
                )
            }
            _ => return Vec::new(),
        };
        let end = first + u64::from(len);
        let mut headers = Vec::new();
        let mut next = first;
        while next < end {
            let reach = (next & !3) + size;
            let stop = if reach >= end {
                end
            } else {
                reach - reach % boundary
            };
            let (offset, len) = ((next - first) as u32, (stop - next) as u32);
            headers.push((part(whole, offset, len), offset));
            next = stop;
        }
        headers
    }
}

/// The header of a part of `whole` with `len` bytes, from `offset` on. Attributes, traffic class and poison do not change.
fn part(whole: &Header, offset: u32, len: u32) -> Header {
    let kind = match whole.kind {
        Kind::MemoryWrite(request) => {
            let part = request.part(offset, len);
            Kind::MemoryWrite(part.expect("a part of a request is within its page"))
        }
        Kind::Completion(completion) => Kind::Completion(completion.part(offset, len)),
        other => other,
    };
    Header { kind, ..*whole }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use protocol::{FunctionId, MemoryRequest, Status, Tag};

    use super::*;

    const REQUESTER: FunctionId = FunctionId(0x100);

    fn packet(packets: &mut Packets, header: Header, stamp: Stamp) -> PacketId {
        let packet = packets.claim();
        let payload = packets[packet].write(header, stamp);
        for (number, byte) in payload.iter_mut().enumerate() {
            *byte = number as u8;
        }
        packet
    }

    /// From the first root port to the second.
    const WAY: (Port, Port) = (Port(0), Port(1));

    fn path(largest: u64, boundary: u64) -> PeerPath {
        let parameters = RootComplexParameters {
            largest_peer_payload: kernel::Bytes(largest),
            read_completion_boundary: kernel::Bytes(boundary),
            peer_bandwidth: Some(Bandwidth(1_000_000_000)),
            peer_latency: Span::from_ns(200),
            ..RootComplexParameters::default()
        };
        PeerPath::new(&parameters, &[0, 0])
    }

    /// Address and length of each part of a write.
    fn written(largest: u64, address: u64, len: u32) -> Vec<(u64, u32)> {
        let header = Header::memory_write(REQUESTER, address, len).expect("a legal write");
        let headers = path(largest, 64).split(4096).headers(&header);
        let headers = headers.into_iter().map(|(header, _)| header.kind);
        let part = |kind: Kind| match kind {
            Kind::MemoryWrite(request) => (request.first_byte(), request.byte_len()),
            other => panic!("a part of a write is no {other:?}"),
        };
        headers.map(part).collect()
    }

    #[test]
    fn a_write_is_split_at_multiples_of_the_largest_payload() {
        let parts = [(0x1000, 64), (0x1040, 64), (0x1080, 64), (0x10c0, 64)];
        assert_eq!(written(64, 0x1000, 256), parts);
        assert_eq!(
            written(128, 0x1071, 200),
            [(0x1071, 15), (0x1080, 128), (0x1100, 57)]
        );
    }

    /// The root complex creates the parts, so that the digest of each part covers the header of the part.
    #[test]
    fn each_part_has_a_digest_that_is_as_right_as_that_of_the_whole() {
        for (has_digest, is_damaged) in [(false, false), (true, false), (true, true)] {
            let mut packets = Packets::default();
            let header = Header::memory_write(REQUESTER, 0x1000, 256).expect("a legal write");
            let whole = packet(&mut packets, header, Stamp::default());
            if has_digest {
                packets[whole].add_digest();
            }
            if is_damaged {
                packets[whole].damage(700);
            }
            let parts = path(64, 64).pass_parts(WAY, whole, 4096, Time::ZERO, &mut packets);
            assert_eq!(parts.len(), 4);
            for (part, _) in parts {
                let error = packets[part].digest_error();
                assert_eq!(error.is_some(), has_digest);
                assert_eq!(packets[part].has_wrong_digest(), is_damaged);
                assert_eq!(packets[part].payload().len(), 64);
            }
        }
    }

    #[test]
    fn only_large_writes_and_completions_are_split() {
        let path = path(64, 128);
        let write = |len| Header::memory_write(REQUESTER, 0x1000, len).expect("a legal write");
        assert!(!path.splits(&write(64), 4096));
        assert!(path.splits(&write(65), 4096));
        let read = Header::memory_read(REQUESTER, Tag(1), 0x1000, 512).expect("a legal read");
        assert!(!path.splits(&read, 4096));
        let answer = |len| {
            Header::completion_with_data(&read, FunctionId(8), 0, len).expect("a legal completion")
        };
        // Each part except the last one must end at the boundary of 128 bytes.
        assert!(!path.splits(&answer(128), 4096));
        assert!(path.splits(&answer(132), 4096));
    }

    #[test]
    fn a_packet_is_split_for_the_port_that_it_leaves_by() {
        let path = path(512, 64);
        let write = Header::memory_write(REQUESTER, 0x1000, 256).expect("a legal write");
        assert!(!path.splits(&write, 256));
        assert!(path.splits(&write, 128));
        let headers = path.split(128).headers(&write);
        assert_eq!(headers.len(), 2);
    }

    #[test]
    fn each_part_takes_its_own_time_on_the_path() {
        let mut packets = Packets::default();
        let header = Header::memory_write(REQUESTER, 0x1000, 128).expect("a legal write");
        let whole = packet(&mut packets, header, Stamp::default());
        let mut path = path(64, 64);
        let parts = path.pass_parts(WAY, whole, 4096, Time::ZERO, &mut packets);
        let times: Vec<Time> = parts.iter().map(|(_, time)| *time).collect();
        // Twelve bytes of header and 64 of payload take 76 ns at 1 GB/s.
        let [first, second] = [200, 276].map(|ns| Time::ZERO + Span::from_ns(ns));
        assert_eq!(times, [first, second]);
    }

    #[test]
    fn packets_from_other_sockets_follow_each_other_to_a_port() {
        let parameters = RootComplexParameters {
            socket_peer_bandwidth: Some(Bandwidth(1_000_000_000)),
            peer_latency: Span::from_ns(200),
            ..RootComplexParameters::default()
        };
        let mut path = PeerPath::new(&parameters, &[0, 1, 2, 2]);
        let mut pass = |from, to| path.pass((Port(from), Port(to)), Time::ZERO, 100);
        let times = [pass(0, 2), pass(1, 2), pass(3, 2), pass(0, 3)];
        let expected = [200, 300, 200, 200].map(|ns| Time::ZERO + Span::from_ns(ns));
        assert_eq!(times, expected);
        assert!(path.is_late((Port(0), Port(2)), 100, Time::ZERO));
        assert!(!path.is_late((Port(3), Port(2)), 100, Time::ZERO));
    }

    fn completion(header: &Header) -> protocol::Completion {
        match header.kind {
            Kind::Completion(completion) => completion,
            other => panic!("a part of a completion is no {other:?}"),
        }
    }

    proptest! {
        /// The parts of a write address its bytes in order, carry its payload, and keep the other fields of its header.
        #[test]
        fn parts_of_a_write_are_the_whole(
            page_offset in 0_u64..4096, len in 1_u32..4096, size in 0_u32..6, poisoned: bool, last: bool, translated: bool,
        ) {
            let largest = 64 << size;
            let address = 0x10_0000 + page_offset;
            let len = len.min(4096 - page_offset as u32);
            let request = MemoryRequest::new(REQUESTER, Tag(9), address, len).expect("a legal write");
            let request = if translated { request.translated() } else { request };
            let header = Header { poisoned, ..Kind::MemoryWrite(request).into() };
            let stamp = Stamp { offset: 7000, last, ..Stamp::default() };
            let mut packets = Packets::default();
            let whole = packet(&mut packets, header, stamp);
            let payload = packets[whole].payload().to_vec();
            prop_assume!(path(largest, 64).splits(&header, 4096));
            let parts = path(largest, 64).pass_parts(WAY, whole, 4096, Time::ZERO, &mut packets);
            prop_assert!(parts.len() > 1);
            prop_assert_eq!(packets.in_use(), parts.len());
            let (mut next, mut carried) = (address, Vec::new());
            for (number, (part, _)) in parts.iter().enumerate() {
                let content = &packets[*part];
                let Kind::MemoryWrite(part) = content.header().kind else { panic!("a write") };
                prop_assert_eq!(part.first_byte(), next);
                prop_assert_eq!(content.stamp.offset, 7000 + next - address);
                next += u64::from(part.byte_len());
                let is_last = number + 1 == parts.len();
                prop_assert!(is_last || next % largest == 0);
                prop_assert_eq!(content.stamp.last, last && is_last);
                prop_assert!(content.payload().len() as u64 <= largest);
                prop_assert_eq!((part.requester, part.tag), (REQUESTER, Tag(9)));
                prop_assert_eq!(part.address_type(), request.address_type());
                prop_assert_eq!(content.header().poisoned, poisoned);
                carried.extend_from_slice(content.payload());
            }
            prop_assert_eq!(next, address + u64::from(len));
            prop_assert_eq!(carried, payload);
        }

        /// The byte counts of the parts of a completion decrease, the parts end at multiples of the Read Completion Boundary, and they carry
        /// the completion's payload.
        #[test]
        fn parts_of_a_completion_are_the_whole(
            page_offset in 0_u64..4096, len in 1_u32..4096, share in 1_u32..=4096, size in 0_u32..6, rcb in 0_u32..2, poisoned: bool,
        ) {
            let (largest, boundary) = (64_u64 << size, 64_u64 << rcb);
            let len = len.min(4096 - page_offset as u32);
            let read = Header::memory_read(REQUESTER, Tag(9), page_offset, len).expect("a legal read");
            let share = share.min(len);
            let header = Header::completion_with_data(&read, FunctionId(8), len - share, share);
            let header = Header { poisoned, ..header.expect("the last completion of a read") };
            prop_assume!(path(largest, boundary).splits(&header, 4096));
            let mut packets = Packets::default();
            let whole = packet(&mut packets, header, Stamp::default());
            let payload = packets[whole].payload().to_vec();
            let parts = path(largest, boundary).pass_parts(WAY, whole, 4096, Time::ZERO, &mut packets);
            prop_assert!(parts.len() > 1);
            let (mut left, mut carried) = (share, Vec::new());
            for (part, _) in &parts {
                let content = &packets[*part];
                let part = completion(content.header());
                prop_assert_eq!(u32::from(part.byte_count), left);
                let address = page_offset + u64::from(len - left);
                prop_assert_eq!(u64::from(part.lower_address), address & 0x7f);
                left -= part.byte_len();
                prop_assert_eq!(part.is_last(), left == 0);
                let end = page_offset + u64::from(len - left);
                prop_assert!(left == 0 || end % boundary == 0);
                prop_assert!(content.payload().len() as u64 <= largest.max(boundary));
                prop_assert_eq!((part.tag, part.status), (Tag(9), Status::Successful));
                prop_assert_eq!((part.completer, part.requester), (FunctionId(8), REQUESTER));
                prop_assert_eq!(content.header().poisoned, poisoned);
                carried.extend_from_slice(content.payload());
            }
            prop_assert_eq!(left, 0);
            prop_assert_eq!(carried, payload);
        }
    }
}
