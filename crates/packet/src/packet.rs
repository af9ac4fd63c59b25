//! Packets and the store that holds their bytes.

use std::collections::BTreeSet;
use std::mem::offset_of;
use std::ops::{Index, IndexMut, Range};

use kernel::{Arena, Id, Time, prefetch};
use protocol::{
    Class, Content, Envelope, Header, Kind, Pasid, Status, TLP_FRAMING, TrafficClass, ecrc,
};

use crate::{Carried, Route};

/// The identifier of a packet in the store.
pub type PacketId = Id<Packet>;

/// The position of the header byte that contains the bit TD, and the mask of this bit.
const TD: (usize, u8) = (2, 0x80);

/// The number of slots from which on the next slots are loaded early: so many slots with their bytes do not fit into a cache of a quarter
/// of a MiB.
const PREFETCHED: usize = 1024;

/// The store of all packets in the fabric.
#[derive(Debug, Default)]
pub struct Packets {
    slots: Arena<Packet>,
    /// The number of packets created so far.
    made: u64,
}

impl Packets {
    /// Returns a slot for a new packet, with one holder. The caller must [write](Packet::write) the packet.
    #[inline]
    pub fn claim(&mut self) -> PacketId {
        let id = self.slots.claim();
        if self.are_many() {
            self.prefetch_next();
        }
        self.slots[id].number = self.made;
        self.made += 1;
        id
    }

    /// Makes a packet with one holder. `bytes` is its data, beginning with the first enabled byte of the request or the first byte of the
    /// completion.
    pub fn make(&mut self, header: Header, stamp: Stamp, bytes: &[u8]) -> PacketId {
        let first = match &header.kind {
            Kind::MemoryWrite(request) => request.first_byte(),
            Kind::Completion(completion) if !bytes.is_empty() => completion.lower_address.into(),
            _ => 0,
        };
        let lead = (first % 4) as usize;
        let packet = self.claim();
        self[packet].write(header, stamp)[lead..lead + bytes.len()].copy_from_slice(bytes);
        packet
    }

    /// Whether there are so many slots that they do not fit into the cache, so that the next slots are loaded early.
    pub fn are_many(&self) -> bool {
        self.slots.slot_count() >= PREFETCHED
    }

    /// Begins to load the slots that are claimed next. In a large fabric these slots are outside the cache, and several slots are often
    /// claimed one after the other.
    #[inline(never)]
    fn prefetch_next(&self) {
        if let Some(next) = self.slots.next_free(0) {
            prefetch(next.bytes.as_slice(), 0..next.bytes.len());
        }
        if let Some(second) = self.slots.next_free(1) {
            prefetch(second, 0..size_of::<Packet>());
        }
    }

    /// An empty store whose packets are numbered from `first` on.
    pub fn numbered_from(first: u64) -> Self {
        Packets {
            slots: Arena::default(),
            made: first,
        }
    }

    /// Adds a packet from another store, with one holder. The packet keeps its number. `packet` then contains an old packet, whose buffer
    /// can be reused.
    pub fn admit(&mut self, packet: &mut Packet) -> PacketId {
        let id = self.slots.claim();
        std::mem::swap(&mut self.slots[id], packet);
        id
    }

    /// Returns the number of packets created so far, counted from the number of the first packet.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// Copies the packet at `id`, with another header, into a new slot, and releases the caller's hold of the old slot. The sender may
    /// still hold the old slot for a replay. Both slots count as one packet. The TLP digest is computed for the new header, but keeps the
    /// bit errors of the old digest, so that an earlier error can still be detected.
    pub fn rewritten(&mut self, id: PacketId, header: Header) -> PacketId {
        let old = &self.slots[id];
        let (number, stamp, payload) = (old.number, old.stamp, old.payload().to_vec());
        let error = old.digest_error();
        self.slots.release(id);
        let new = self.slots.claim();
        self.slots[new].number = number;
        self.slots[new]
            .write(header, stamp)
            .copy_from_slice(&payload);
        if let Some(error) = error {
            self.slots[new].append_digest(error);
        }
        new
    }

    /// Sets the status [`Status::Poisoned`] in a completion with poisoned data, at its requester. The sender may still hold the old packet.
    pub fn as_poisoned(&mut self, id: PacketId) -> PacketId {
        let mut header = *self.slots[id].header();
        if let Kind::Completion(completion) = &mut header.kind {
            completion.status = Status::Poisoned;
        }
        self.rewritten(id, header)
    }

    /// Gives the packet at `id` the serial number of an earlier packet, if it carries the data of the earlier packet.
    pub fn renumber(&mut self, id: PacketId, number: u64) {
        self.slots[id].number = number;
    }

    /// Adds a holder of the packet at `id`.
    pub fn retain(&mut self, id: PacketId) {
        self.slots.retain(id);
    }

    /// Removes a holder of the packet at `id`. If no holder is left, the slot is free.
    #[inline]
    pub fn release(&mut self, id: PacketId) {
        self.slots.release(id);
    }

    /// Begins to load the header of the packet at `id`, if there is one, and the fields in the same cache line.
    #[inline]
    pub fn prefetch_header(&self, id: PacketId) {
        self.slots.prefetch(id, HEADER);
    }

    /// Begins to load the stamp of the packet at `id`, if there is one, and its route between routers.
    #[inline]
    pub fn prefetch_stamp(&self, id: PacketId) {
        self.slots.prefetch(id, STAMP);
    }

    /// Begins to load the bytes of the packet at `id`. The packet itself must already be loaded.
    #[inline]
    pub fn prefetch_bytes(&self, id: PacketId) {
        let bytes = self.slots[id].bytes();
        prefetch(bytes, 0..bytes.len());
    }

    /// Returns the number of slots in use.
    pub fn in_use(&self) -> usize {
        self.slots.in_use()
    }

    /// Returns the number of packets in use. A packet counts once even if it has several slots.
    pub fn count(&self) -> usize {
        self.count_of(|_| true)
    }

    /// Returns the number of packets in use that `which` selects, as [`Self::count`] does.
    pub fn count_of(&self, which: impl Fn(&Packet) -> bool) -> usize {
        self.numbers_of(which).len()
    }

    /// Returns the numbers of the packets in use that `which` selects.
    pub fn numbers_of(&self, which: impl Fn(&Packet) -> bool) -> BTreeSet<u64> {
        let held = self.slots.held().filter(|packet| which(packet));
        held.map(|packet| packet.number).collect()
    }
}

impl Index<PacketId> for Packets {
    type Output = Packet;
    fn index(&self, id: PacketId) -> &Packet {
        &self.slots[id]
    }
}

impl IndexMut<PacketId> for Packets {
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.slots[id]
    }
}

/// The number of a flow of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// Data that the simulator keeps about a packet and that is not sent on any wire.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamp {
    /// The flow of the packet, if it has one.
    pub flow: Option<FlowId>,
    /// The offset of the packet's first byte in the flow's region.
    pub offset: u64,
    /// The time at which the transaction of the packet began.
    pub born: Time,
    /// Whether the packet is the last one of its transaction.
    pub last: bool,
}

/// A transaction-layer packet: its header as fields and as bytes, its payload, its stamp, and its route between routers.
///
/// Switches need only the first cache line of a packet. Routers need the second cache line, which contains the stamp and the route.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Packet {
    bytes: Vec<u8>,
    header: Header,
    charge: Charge,
    /// Bytes of the header and of the prefix before it.
    header_len: u8,
    /// Bytes of the TLP digest behind the payload: 4 or 0.
    digest_len: u8,

    /// Data that is not sent on any wire.
    pub stamp: Stamp,
    route: Route,
    /// The serial number of the packet, which it keeps when its header is rewritten.
    number: u64,
}

/// The cache lines of a packet, without its bytes: the line with the header, and the line with the stamp and the route.
const HEADER: Range<usize> = 0..offset_of!(Packet, stamp);
const STAMP: Range<usize> = offset_of!(Packet, stamp)..size_of::<Packet>();
const _: () = assert!(HEADER.end == 64 && STAMP.end <= 128, "two lines");

impl Default for Packet {
    fn default() -> Self {
        let header = Header::memory_write(protocol::FunctionId(0), 0, 4)
            .expect("a write of four bytes at address zero is valid");
        Packet {
            header,
            charge: Charge::of(&header),
            header_len: 0,
            digest_len: 0,
            bytes: Vec::new(),
            stamp: Stamp::default(),
            route: Route::default(),
            number: 0,
        }
    }
}

impl Packet {
    /// Rewrites the packet and returns its payload, which the caller must fill.
    #[inline]
    pub fn write(&mut self, header: Header, stamp: Stamp) -> &mut [u8] {
        if header.pasid.is_some() {
            return self.write_behind_prefix(header, stamp);
        }
        self.write_plain(header, stamp)
    }

    /// Rewrites the packet as [`write`](Self::write) does, but without a prefix. If the compiler can determine the fields of the header, it
    /// removes most of this code.
    #[inline(always)]
    pub fn write_plain(&mut self, header: Header, stamp: Stamp) -> &mut [u8] {
        let (bytes, len) = header.emit();
        self.header = header;
        self.charge = Charge::of(&header);
        self.header_len = len as u8;
        self.digest_len = 0;
        self.stamp = stamp;
        self.route = Route::default();
        // The caller overwrites the old payload. Only bytes of the first and the last dword may remain, so these dwords are cleared.
        let size = len + header.payload_len();
        // Behind a short header, the last of these 16 bytes are payload. A copy of fixed length takes less time.
        self.bytes.resize(size.max(bytes.len()), 0);
        if let Some(first) = self.bytes.first_chunk_mut() {
            *first = bytes;
        }
        self.bytes.truncate(size);
        let payload = &mut self.bytes[len..];
        if let Some(dword) = payload.first_chunk_mut::<4>() {
            *dword = [0; 4];
        }
        if let Some(dword) = payload.last_chunk_mut::<4>() {
            *dword = [0; 4];
        }
        payload
    }

    /// Rewrites the packet with a prefix before its header, and returns its payload.
    #[cold]
    #[inline(never)]
    fn write_behind_prefix(&mut self, header: Header, stamp: Stamp) -> &mut [u8] {
        let prefix = header.pasid.map(Pasid::emit).unwrap_or_default();
        self.write(
            Header {
                pasid: None,
                ..header
            },
            stamp,
        );
        self.bytes.splice(..0, prefix);
        self.header = header;
        self.header_len += prefix.len() as u8;
        &mut self.bytes[self.header_len as usize..]
    }

    /// Makes this packet a copy of `other`, in its own buffer.
    pub fn copy(&mut self, other: &Packet) {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clone_from(&other.bytes);
        *self = Packet { bytes, ..*other };
    }

    /// The header's fields.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The serial number of the packet. The packet keeps it on all its hops, including hops between routers.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The flow-control credits of the packet.
    pub fn charge(&self) -> Charge {
        self.charge
    }

    /// Prefix, header and payload as bytes on the wire.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The header as bytes on the wire, with the prefix before it.
    pub fn header_bytes(&self) -> &[u8] {
        &self.bytes[..self.header_len as usize]
    }

    /// The header as bytes on the wire, without the prefix before it.
    pub fn header_behind_prefix(&self) -> &[u8] {
        &self.header_bytes()[self.header.prefix_len()..]
    }

    /// The payload, in whole dwords.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.bytes[self.header_len as usize..self.bytes.len() - self.digest_len as usize]
    }

    /// The payload, mutable.
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let end = self.bytes.len() - self.digest_len as usize;
        &mut self.bytes[self.header_len as usize..end]
    }

    /// The length of the payload, in bytes.
    pub fn payload_len(&self) -> u32 {
        self.bytes.len() as u32 - u32::from(self.header_len) - u32::from(self.digest_len)
    }

    /// The number of bytes of data or, if the packet has a prefix, a number larger than the data of any packet, as in
    /// [`Header::checked_size`].
    pub fn checked_size(&self) -> u32 {
        self.header.checked_size_of(self.payload_len())
    }

    /// Adds the ECRC of the packet as its TLP digest, and sets TD (PCIe Base 2.7.1).
    pub fn add_digest(&mut self) {
        if self.digest_len == 0 {
            self.append_digest(0);
        }
    }

    /// Adds a TLP digest that differs from the ECRC of the packet by `error`. If the packet was made from another packet, `error` is the
    /// [error](Self::digest_error) of that packet, so that a wrong digest stays wrong.
    pub fn append_digest(&mut self, error: u32) {
        self.bytes[self.header.prefix_len() + TD.0] |= TD.1;
        let digest = (ecrc(&self.bytes) ^ error).to_le_bytes();
        self.bytes.extend(digest);
        self.digest_len = digest.len() as u8;
    }

    /// Removes the TLP digest, and clears TD.
    pub fn remove_digest(&mut self) {
        if self.digest_len > 0 {
            self.bytes[self.header.prefix_len() + TD.0] &= !TD.1;
            self.bytes
                .truncate(self.bytes.len() - usize::from(self.digest_len));
            self.digest_len = 0;
        }
    }

    /// The bits in which the TLP digest differs from the ECRC of the packet's bytes; `None` if the packet has no digest.
    pub fn digest_error(&self) -> Option<u32> {
        if self.digest_len == 0 {
            return None;
        }
        let (covered, digest) = self.bytes.split_last_chunk()?;
        Some(ecrc(covered) ^ u32::from_le_bytes(*digest))
    }

    /// Whether the packet has a TLP digest that does not match its bytes.
    pub fn has_wrong_digest(&self) -> bool {
        self.digest_error().is_some_and(|error| error != 0)
    }

    /// Inverts bit `bit` of the payload.
    pub fn damage(&mut self, bit: usize) {
        self.bytes[self.header_len as usize + bit / 8] ^= 1 << (bit % 8);
    }

    /// The number of data bytes of a write or of a packet between controllers; zero for other packets.
    #[inline]
    pub fn data_len(&self) -> u32 {
        match &self.header.kind {
            Kind::MemoryWrite(request) => request.byte_len(),
            Kind::Network(network) => network.len(),
            _ => 0,
        }
    }

    /// The number of bytes on the wire, including framing and LCRC.
    pub fn wire_len(&self) -> u32 {
        self.bytes.len() as u32 + TLP_FRAMING
    }

    /// The content of the packet's envelope: the whole TLP, or only the data of a message.
    fn inside(&self) -> &[u8] {
        match &self.header.kind {
            Kind::MemoryWrite(request) if self.route.carried != Carried::Tlp => {
                let lead = (request.first_byte() - request.address()) as usize;
                &self.payload()[lead..lead + request.byte_len() as usize]
            }
            _ => self.bytes(),
        }
    }

    /// Sets the route of the packet and computes the length of its frame.
    pub fn send_off(&mut self, route: Route) {
        self.route = route;
        self.route.frame_len = (self.inside().len() as u32 + Envelope::BYTES) as u16;
        self.route.payload_len = match route.carried {
            Carried::Tlp => self.payload().len(),
            Carried::Message | Carried::Sum => self.inside().len(),
        } as u16;
    }

    /// The route between routers.
    pub fn route(&self) -> &Route {
        &self.route
    }

    /// The bytes of the packet's frame on a fibre.
    pub fn fibre_image(&self, channel: u8, sequence: u16) -> Vec<u8> {
        let address = match &self.header.kind {
            Kind::MemoryWrite(request) => request.first_byte(),
            _ => 0,
        };
        let envelope = Envelope {
            content: match self.route.carried {
                Carried::Tlp => Content::Tlp,
                Carried::Message => Content::Message(address),
                Carried::Sum => Content::Sum(address),
            },
            channel,
            destination: self.route.destination,
            port: self.route.port,
            source: self.route.source,
            sequence,
        };
        envelope.emit(self.inside())
    }

    /// The number of bytes on the wire up to the end of the header.
    pub fn wire_len_to_header(&self) -> u32 {
        u32::from(self.header_len) + TLP_FRAMING / 2
    }
}

/// The flow-control credits of a packet: one header credit, and one data credit for each 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// The traffic class, which determines the virtual channel.
    pub traffic_class: TrafficClass,
    /// The flow-control class within the virtual channel.
    pub class: Class,
    /// The number of data credits.
    pub data: u16,
}

impl Charge {
    /// The credits of a packet with this header.
    #[inline]
    pub fn of(header: &Header) -> Self {
        Charge {
            traffic_class: header.traffic_class,
            class: header.class(),
            data: header.data_credits(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{ConfigKind, ConfigRequest, FunctionId, Tag};

    #[test]
    fn data_begin_at_the_first_byte_and_an_error_completion_has_none() {
        let mut packets = Packets::default();
        let function = FunctionId(1);
        let write = Header::memory_write(function, 0x1003, 2).expect("a legal write");
        let made = packets.make(write, Stamp::default(), &[7, 8]);
        assert_eq!(packets[made].payload(), [0, 0, 0, 7, 8, 0, 0, 0]);
        let read = Header::memory_read(function, Tag(0), 0x1002, 4).expect("a legal read");
        let part = Header::completion_with_data(&read, function, 0, 4).expect("its completion");
        let made = packets.make(part, Stamp::default(), &[1, 2, 3, 4]);
        assert_eq!(packets[made].payload(), [0, 0, 1, 2, 3, 4, 0, 0]);
        let error = Header::completion(&read, function, Status::UnsupportedRequest);
        let made = packets.make(error.expect("its completion"), Stamp::default(), &[]);
        assert!(packets[made].payload().is_empty());
    }

    /// The digest stays correct if a bridge changes the type of a configuration request or if poison is added. The digest becomes wrong if
    /// a bit is damaged.
    #[test]
    fn a_digest_covers_all_but_the_variant_bits() {
        let request = |kind| {
            Header::from(Kind::ConfigWrite(ConfigRequest {
                requester: FunctionId(8),
                tag: Tag(3),
                target: FunctionId(0x100),
                register: 4,
                first_be: 0xf,
                kind,
            }))
        };
        let mut packets = Packets::default();
        let packet = packets.claim();
        packets[packet]
            .write(request(ConfigKind::Type1), Stamp::default())
            .copy_from_slice(&[1, 2, 3, 4]);
        let length = packets[packet].wire_len();
        packets[packet].add_digest();
        assert_eq!(packets[packet].wire_len(), length + 4);
        assert_eq!(packets[packet].payload(), [1, 2, 3, 4]);
        let poisoned = Header {
            poisoned: true,
            ..request(ConfigKind::Type0)
        };
        let packet = packets.rewritten(packet, poisoned);
        assert!(packets[packet].bytes()[2] & 0x80 != 0);
        assert!(!packets[packet].has_wrong_digest());
        for bit in 0..32 {
            packets[packet].damage(bit);
            assert!(packets[packet].has_wrong_digest());
            packets[packet].damage(bit);
        }
    }

    /// A root complex translates addresses and removes prefixes. The digest covers the packet that it sends. A bit that was damaged before
    /// can still be detected.
    #[test]
    fn the_digest_of_a_packet_with_another_header_is_right_if_it_was_right_before() {
        let write = |address, pasid| Header {
            pasid,
            ..Header::memory_write(FunctionId(8), address, 4).expect("a legal write")
        };
        let mut packets = Packets::default();
        for (old, new) in [
            (write(0x1000, None), write(0x2000, None)),
            (write(0x1000, None), write(0x1_0000_2000, None)),
            (write(0x1000, Pasid::new(3)), write(0x2000, None)),
        ] {
            for is_damaged in [false, true] {
                let packet = packets.claim();
                packets[packet]
                    .write(old, Stamp::default())
                    .copy_from_slice(&[1, 2, 3, 4]);
                packets[packet].add_digest();
                if is_damaged {
                    packets[packet].damage(5);
                }
                let packet = packets.rewritten(packet, new);
                assert_eq!(packets[packet].has_wrong_digest(), is_damaged);
                assert_eq!(packets[packet].payload_len(), 4);
                packets[packet].remove_digest();
                assert_eq!(packets[packet].digest_error(), None);
                assert_eq!(packets[packet].header_bytes()[2] & 0x80, 0);
                packets.release(packet);
            }
        }
    }

    /// PCIe Base 2.2.1, 2.7.1: the prefix is before the header, on the wire and in the digest, and consumes no credit.
    #[test]
    fn a_prefix_makes_a_packet_four_bytes_longer() {
        let write = Header::memory_write(FunctionId(8), 0x1_0000_0000, 8).expect("a legal write");
        let with = Header {
            pasid: Pasid::new(0x1_2345),
            ..write
        };
        let mut packets = Packets::default();
        let [plain, packet] = [write, with].map(|header| {
            let packet = packets.claim();
            packets[packet]
                .write(header, Stamp::default())
                .copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
            packet
        });
        let (wire, charge) = (packets[plain].wire_len(), packets[plain].charge());
        assert_eq!(packets[packet].wire_len(), wire + 4);
        assert_eq!(packets[packet].charge(), charge);
        let bytes = packets[packet].bytes().to_vec();
        assert_eq!(bytes[..4], [0x91, 0x01, 0x23, 0x45]);
        assert_eq!(bytes[4..], *packets[plain].bytes());
        packets[packet].add_digest();
        assert_eq!(packets[packet].bytes()[4 + 2], bytes[4 + 2] | 0x80);
        assert_eq!(packets[packet].payload(), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert!(!packets[packet].has_wrong_digest());
        packets[packet].bytes[3] ^= 1;
        assert!(packets[packet].has_wrong_digest());
        // The slot is reused for a packet without a prefix.
        packets[packet].write(write, Stamp::default());
        assert_eq!(packets[packet].wire_len(), wire);
        assert_eq!(
            packets[packet].header_bytes(),
            packets[packet].header_behind_prefix()
        );
    }

    #[test]
    fn a_packet_with_another_header_is_one_packet_while_its_sender_holds_the_old_one() {
        let write = |address| {
            Header::memory_write(FunctionId(0), address, 4).expect("four bytes at a dword")
        };
        let mut packets = Packets::default();
        let old = packets.claim();
        packets[old]
            .write(write(0x10), Stamp::default())
            .copy_from_slice(&[1, 2, 3, 4]);
        packets.retain(old);
        let new = packets.rewritten(old, write(0x20));
        assert_eq!(packets[new].payload(), [1, 2, 3, 4]);
        assert_eq!((packets.in_use(), packets.count()), (2, 1));
        packets.claim();
        packets.release(old);
        assert_eq!((packets.in_use(), packets.count()), (2, 2));
    }
}
