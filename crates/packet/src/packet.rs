//! Packets, and the store that holds their bytes.

use std::collections::BTreeSet;
use std::ops::{Index, IndexMut};

use kernel::{Arena, Id, Time};
use protocol::{Class, Content, Envelope, Header, Kind, TLP_FRAMING, TrafficClass};

use crate::{Carried, Route};

/// The name of a packet in the store.
pub type PacketId = Id<Packet>;

/// All packets that someone holds.
#[derive(Debug, Default)]
pub struct Packets {
    slots: Arena<Packet>,
    /// How many packets have been made.
    made: u64,
}

impl Packets {
    /// A slot for a new packet, with one holder, who [writes](Packet::write) it.
    #[inline]
    pub fn claim(&mut self) -> PacketId {
        let id = self.slots.claim();
        self.slots[id].number = self.made;
        self.made += 1;
        id
    }

    /// The packet at `id` with another header, in a slot of its own: its caller's hold of the old slot ends. Who sent the packet may
    /// still hold it as it was, to send it again; it is one packet all the same.
    pub fn rewritten(&mut self, id: PacketId, header: Header) -> PacketId {
        let old = &self.slots[id];
        let (number, stamp, payload) = (old.number, old.stamp, old.payload().to_vec());
        self.slots.release(id);
        let new = self.slots.claim();
        self.slots[new].number = number;
        self.slots[new]
            .write(header, stamp)
            .copy_from_slice(&payload);
        new
    }

    /// Adds a holder of the packet at `id`.
    #[inline]
    pub fn retain(&mut self, id: PacketId) {
        self.slots.retain(id);
    }

    /// Takes away a holder of the packet at `id`; with the last one its slot is free.
    #[inline]
    pub fn release(&mut self, id: PacketId) {
        self.slots.release(id);
    }

    /// How many slots are held.
    pub fn in_use(&self) -> usize {
        self.slots.in_use()
    }

    /// How many packets are held, each counted once, however many slots it has.
    pub fn count(&self) -> usize {
        let numbers: BTreeSet<u64> = self.slots.held().map(|packet| packet.number).collect();
        numbers.len()
    }
}

impl Index<PacketId> for Packets {
    type Output = Packet;
    #[inline]
    fn index(&self, id: PacketId) -> &Packet {
        &self.slots[id]
    }
}

impl IndexMut<PacketId> for Packets {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.slots[id]
    }
}

/// Which flow of the workload a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// What the simulator remembers of a packet and no wire carries.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamp {
    /// The flow it belongs to, if it belongs to one.
    pub flow: Option<FlowId>,
    /// Where its first byte stands in the flow's region.
    pub offset: u64,
    /// When its transaction began.
    pub born: Time,
    /// Whether its transaction, which may be of several packets, ends with it.
    pub last: bool,
}

/// A transaction-layer packet: its header twice (as fields and as bytes), its payload, its stamp, and its way between routers.
///
/// That comes first, beside the slot's count of holders: all that routers on the way look at is in one cache line.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Packet {
    /// Where it goes between routers.
    route: Route,
    /// What no wire carries.
    pub stamp: Stamp,
    charge: Charge,
    header_len: usize,
    bytes: Vec<u8>,
    header: Header,
    /// Its number among all that were made, which it keeps when its header changes on the way.
    number: u64,
}

impl Default for Packet {
    fn default() -> Self {
        let header = Header::memory_write(protocol::FunctionId(0), 0, 4)
            .expect("four bytes at zero are a legal write");
        Packet {
            header,
            charge: Charge::of(&header),
            header_len: 0,
            bytes: Vec::new(),
            stamp: Stamp::default(),
            route: Route::default(),
            number: 0,
        }
    }
}

impl Packet {
    /// Writes the packet anew and returns its payload, to be filled by the caller.
    #[inline]
    pub fn write(&mut self, header: Header, stamp: Stamp) -> &mut [u8] {
        let (bytes, len) = header.emit();
        self.header = header;
        self.charge = Charge::of(&header);
        self.header_len = len;
        self.stamp = stamp;
        self.route = Route::default();
        // What the last packet left in the payload is written over, but for bytes of the first and last dword.
        let size = len + header.payload_len();
        self.bytes.resize(size, 0);
        self.bytes[..len].copy_from_slice(&bytes[..len]);
        let payload = &mut self.bytes[len..];
        if let Some(dword) = payload.first_chunk_mut::<4>() {
            *dword = [0; 4];
        }
        if let Some(dword) = payload.last_chunk_mut::<4>() {
            *dword = [0; 4];
        }
        payload
    }

    /// The header's fields.
    #[inline]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What it takes of a receiver's buffer.
    #[inline]
    pub fn charge(&self) -> Charge {
        self.charge
    }

    /// Header and payload as the wire carries them.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The payload, whole dwords.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.bytes[self.header_len..]
    }

    /// Bytes of data that a write or a packet between controllers carries.
    pub fn data_len(&self) -> u32 {
        match &self.header.kind {
            Kind::MemoryWrite(request) => request.byte_len(),
            Kind::Network(network) => network.len(),
            _ => 0,
        }
    }

    /// Bytes on the wire, framing and link CRC included.
    #[inline]
    pub fn wire_len(&self) -> u32 {
        self.bytes.len() as u32 + TLP_FRAMING
    }

    /// What an envelope of it holds: all of a TLP, or the bytes of a message.
    fn inside(&self) -> &[u8] {
        match &self.header.kind {
            Kind::MemoryWrite(request) if self.route.carried != Carried::Tlp => {
                let lead = (request.first_byte() - request.address()) as usize;
                &self.payload()[lead..lead + request.byte_len() as usize]
            }
            _ => self.bytes(),
        }
    }

    /// Begins its way between routers.
    pub fn send_off(&mut self, route: Route) {
        self.route = route;
        self.route.frame_len = (self.inside().len() as u32 + Envelope::BYTES) as u16;
        self.route.payload_len = match route.carried {
            Carried::Tlp => self.payload().len(),
            Carried::Message | Carried::Sum => self.inside().len(),
        } as u16;
    }

    /// Its way between routers.
    #[inline]
    pub fn route(&self) -> &Route {
        &self.route
    }

    /// The bytes of that frame.
    pub fn light_image(&self, channel: u8, sequence: u16) -> Vec<u8> {
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

    /// Bytes on the wire until the header is complete.
    #[inline]
    pub fn wire_len_to_header(&self) -> u32 {
        self.header_len as u32 + TLP_FRAMING / 2
    }
}

/// What a packet takes of a receiver's buffer: one header credit, and data credits of 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// Which virtual channel it belongs to follows from this.
    pub traffic_class: TrafficClass,
    /// Which of the channel's three buffers.
    pub class: Class,
    /// Data credits.
    pub data: u16,
}

impl Charge {
    /// What a packet with that header takes.
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
    use protocol::FunctionId;

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
