//! A non-transparent bridge between the address space of one processor and the global address space of all processors.
//!
//! An outgoing request receives a global address, the requester ID of its processor, and a tag of the bridge. An incoming request is sent
//! again with the requester ID of a local function and a local tag. Therefore, packets between bridges do not depend on the state of other
//! bridges, and tags never conflict.

mod outgoing;

use std::collections::{BTreeMap, VecDeque};

use kernel::{Span, Time};
use packet::{BusFrame, Charge, PacketId, Packets, Refusal, ReturnedSpace, Stamp};
use protocol::{Class, Completion, FunctionId, Header, Kind, MemoryRequest, Passing, Status, Tag};

use crate::{AnsweredPart, Completions, Outstanding, OutstandingLimits, writes, written};
use outgoing::{Outgoing, Waiting, words};

/// A non-transparent bridge.
#[derive(Clone, Debug)]
pub struct Bridge {
    config: BridgeConfig,
    outgoing: Outgoing,
    /// Outstanding loads of this side.
    asked: Outstanding<Asked>,
    /// Write requests of incoming stores, each with the arrival number of its store.
    stores: VecDeque<(u64, BridgedStore)>,
    /// Incoming loads by arrival number.
    loads: BTreeMap<u64, Load>,
    turns: VecDeque<(Time, u64)>,
    /// Incoming completions, each with its arrival number and the time from which it may be sent.
    answers: VecDeque<(u64, Time, PacketId)>,
    came: u64,
}

/// The configuration of a bridge.
#[derive(Clone, Copy, Debug)]
pub struct BridgeConfig {
    /// The number of this side's processor.
    pub processor: u8,
    /// The size of each processor's address range in the global address space.
    pub space: u64,
    /// The size of the far side's buffer for each class, in words of 16 bytes.
    pub words: u32,
    /// The transmission time of one word.
    pub cycle: Span,
    /// The limits of outstanding loads of this side.
    pub loads: OutstandingLimits,
}

/// The requester of the requests that a bridge makes on its side, and their size limit.
#[derive(Clone, Copy, Debug)]
pub struct BridgeSide {
    /// The ID of the requester.
    pub id: FunctionId,
    /// Max payload size, in bytes.
    pub max_payload: u32,
}

/// A write request of an incoming store.
#[derive(Clone, Copy, Debug)]
pub struct BridgedStore {
    /// The earliest time at which the request may be sent.
    pub due: Time,
    /// The write request.
    pub packet: PacketId,
    /// The buffer space to return, set on the last request of a store.
    pub space: Option<ReturnedSpace>,
}

/// A part of an incoming load. Its read request needs a tag.
#[derive(Clone, Copy, Debug)]
pub struct BridgedLoad {
    /// The arrival number of the load.
    pub number: u64,
    /// The address of the part.
    pub address: u64,
    /// The number of bytes.
    pub len: u32,
    /// The buffer space to return, set on the last part of a load.
    pub space: Option<ReturnedSpace>,
    header: Header,
    stamp: Stamp,
}

/// An outstanding load of this side.
#[derive(Clone, Copy, Debug)]
struct Asked {
    request: Header,
    stamp: Stamp,
}

#[derive(Clone, Copy, Debug)]
struct Load {
    request: MemoryRequest,
    header: Header,
    stamp: Stamp,
    /// The number of bytes that this side has requested, and the number of bytes that were completed.
    asked: u32,
    answered: u32,
    /// The buffer space that the load occupies until all its bytes are requested.
    space: ReturnedSpace,
}

/// The read completion boundary of the bridge's completions (PCIe Base 2.3.1.1).
const BOUNDARY: u32 = 128;

impl Bridge {
    /// Creates an idle bridge.
    pub fn new(config: BridgeConfig) -> Self {
        Self {
            outgoing: Outgoing::new(config.words),
            asked: Outstanding::new(config.loads),
            stores: VecDeque::new(),
            loads: BTreeMap::new(),
            turns: VecDeque::new(),
            answers: VecDeque::new(),
            came: 0,
            config,
        }
    }

    /// Whether no packet waits in the bridge, and no load is outstanding or in quarantine.
    pub fn is_idle(&self) -> bool {
        let waits = !self.stores.is_empty() || !self.turns.is_empty() || !self.answers.is_empty();
        !waits && self.outgoing.is_empty() && self.loads.is_empty() && self.asked.is_idle()
    }

    /// Adds buffer space of `class` that the far side has returned.
    pub fn free(&mut self, class: usize, space: ReturnedSpace) {
        self.outgoing.free(class, space);
    }

    /// Removes loads whose timeout has expired. Their requesters time out separately.
    pub fn give_up(&mut self, now: Time) {
        while self.asked.give_up(now).is_some() {}
    }

    /// The next time after `now` at which the bridge can send a packet, or a load times out.
    pub fn due_after(&mut self, now: Time, packets: &Packets) -> Time {
        let stores = self.stores.front().map(|(_, store)| store.due);
        let loads = self.turns.front().map(|(due, _)| *due);
        let answers = self.answers.front().map(|(_, due, _)| *due);
        let coming = stores.into_iter().chain(loads).chain(answers);
        let all = coming.chain(self.outgoing.due(packets));
        let later = all.filter(|due| *due > now).min().unwrap_or(Time::NEVER);
        later.min(self.asked.next_change(now))
    }

    /// The bridge's requester and completer ID in the global address space.
    pub fn global_id(&self) -> FunctionId {
        FunctionId::new(self.config.processor, 0, 0)
    }

    /// Queues a memory request of this side for the global `address`, with `requester` as its requester on the crossbar. It may be sent from
    /// `ready` on, and occupies `charge` in the receive buffer until it is sent.
    pub fn forward_request(
        &mut self,
        (packet, charge): (PacketId, Charge),
        (requester, address): (FunctionId, u64),
        ready: Time,
        packets: &mut Packets,
    ) {
        let header = *packets[packet].header();
        let packet = match &header.kind {
            Kind::MemoryWrite(request) => {
                let global = request_at(requester, Tag(0), address, request.byte_len());
                let kind = Kind::MemoryWrite(global);
                beyond_the_tree(packet, Header { kind, ..header }, packets)
            }
            _ => packet,
        };
        let waiting = Waiting {
            ready,
            requester,
            address,
            charge: Some(charge),
            ..Waiting::of(packet)
        };
        self.outgoing.push(header.class(), waiting);
    }

    /// Returns the packet to send at `now`, and the receive-buffer credits that it frees.
    pub fn next_packet(
        &mut self,
        now: Time,
        packets: &mut Packets,
    ) -> Option<(BusFrame, Option<Charge>)> {
        let asked = &self.asked;
        let may = |class| class != Class::NonPosted || asked.is_open(now);
        let class = self.outgoing.next(now, packets, may)?;
        let waiting = self.outgoing.take(class)?;
        let packet = if class == Class::NonPosted {
            self.assign_tag(&waiting, now, packets)
        } else {
            waiting.packet
        };
        let cycles = words(packet, packets);
        let until = now + self.config.cycle * u64::from(cycles);
        self.outgoing.sent(class, cycles, until);
        let channel = BusFrame::IO + class as u8;
        let frame = BusFrame {
            packet,
            cycles,
            channel,
        };
        Some((frame, waiting.charge))
    }

    fn assign_tag(&mut self, waiting: &Waiting, now: Time, packets: &mut Packets) -> PacketId {
        let content = &packets[waiting.packet];
        let (request, stamp) = (*content.header(), content.stamp);
        let Kind::MemoryRead(read) = &request.kind else {
            return waiting.packet;
        };
        let len = read.byte_len();
        let asked = Asked { request, stamp };
        let tag = self.asked.begin(asked, (waiting.address, len), now);
        let read = request_at(waiting.requester, tag, waiting.address, len);
        let kind = Kind::MemoryRead(read);
        beyond_the_tree(waiting.packet, Header { kind, ..request }, packets)
    }

    /// Handles a packet from the far bridge. The bridge translates the packet into packets of this side, which may be sent from `due` on.
    /// Returns whether the buffer space of the received packet is free. An error contains the reason to refuse the packet. A refused packet
    /// is not released.
    pub fn receive(
        &mut self,
        frame: BusFrame,
        (side, due): (BridgeSide, Time),
        packets: &mut Packets,
    ) -> Result<bool, Refusal> {
        match packets[frame.packet].header().kind {
            Kind::MemoryWrite(request) => {
                Ok(self.receive_store(frame, &request, (side, due), packets))
            }
            Kind::MemoryRead(request) => {
                self.receive_load(frame, request, due, packets);
                Ok(false)
            }
            Kind::Completion(completion) => {
                self.receive_completion(frame.packet, &completion, (side, due), packets)
            }
            _ => {
                packets.release(frame.packet);
                Ok(true)
            }
        }
    }

    /// Splits an incoming store into write requests. Returns true if there are none.
    fn receive_store(
        &mut self,
        frame: BusFrame,
        request: &MemoryRequest,
        (side, due): (BridgeSide, Time),
        packets: &mut Packets,
    ) -> bool {
        let content = &packets[frame.packet];
        let (bytes, stamp) = (written(content, request).to_vec(), content.stamp);
        let store = *content.header();
        let to = (side.id, request.first_byte() % self.config.space);
        let mut all = writes(&bytes, stamp, to, side.max_payload, packets);
        for packet in &mut all {
            let header = Header {
                traffic_class: store.traffic_class,
                attributes: store.attributes,
                ..*packets[*packet].header()
            };
            if header != *packets[*packet].header() {
                *packet = packets.rewritten(*packet, header);
            }
        }
        packets.release(frame.packet);
        let count = all.len();
        self.came += 1;
        for (index, packet) in all.into_iter().enumerate() {
            let store = BridgedStore {
                due,
                packet,
                space: (index + 1 == count).then_some(frame.space()),
            };
            self.stores.push_back((self.came, store));
        }
        count == 0
    }

    fn receive_load(
        &mut self,
        frame: BusFrame,
        request: MemoryRequest,
        due: Time,
        packets: &mut Packets,
    ) {
        let content = &packets[frame.packet];
        let (header, stamp) = (*content.header(), content.stamp);
        packets.release(frame.packet);
        self.came += 1;
        let load = Load {
            request,
            header,
            stamp,
            asked: 0,
            answered: 0,
            space: frame.space(),
        };
        self.loads.insert(self.came, load);
        self.turns.push_back((due, self.came));
    }

    /// Returns the next write request that may be sent at `now`.
    pub fn next_store(&mut self, now: Time) -> Option<BridgedStore> {
        let store = self.stores.pop_front_if(|(_, store)| store.due <= now);
        store.map(|(_, store)| store)
    }

    /// Whether no store that arrived before `number` is waiting. A load may not pass an older store (PCIe Base 2.4.1, B2a).
    fn is_first(&self, number: u64) -> bool {
        let oldest = self.stores.front();
        oldest.is_none_or(|(store, _)| *store > number)
    }

    /// Returns the next completion that may be sent at `now`. A completion with relaxed ordering may pass older stores (PCIe Base 2.4.1,
    /// D2b).
    pub fn next_completion(&mut self, now: Time, packets: &Packets) -> Option<PacketId> {
        let (number, due, packet) = *self.answers.front()?;
        let header = packets[packet].header();
        let mut older = self.stores.iter().take_while(|(store, _)| *store < number);
        let may =
            older.all(|(_, store)| header.may_pass(packets[store.packet].header()) != Passing::No);
        if due > now || !may {
            return None;
        }
        self.answers.pop_front();
        Some(packet)
    }

    /// Returns the next part of a load that may be requested at `now`, at most `largest` bytes. `may` returns whether a load from an address
    /// may be requested: loads may pass each other (PCIe Base 2.4.1).
    pub fn next_load(
        &mut self,
        now: Time,
        largest: u32,
        may: impl Fn(u64) -> bool,
    ) -> Option<BridgedLoad> {
        let mut turns = self.turns.iter().take_while(|(due, _)| *due <= now);
        let place = turns.position(|(_, number)| {
            let load = self.loads.get(number);
            let address = load.map_or(0, |load| load.request.first_byte() % self.config.space);
            self.is_first(*number) && may(address)
        })?;
        let (_, number) = self.turns.remove(place)?;
        let load = self.loads.get_mut(&number)?;
        let whole = load.request.byte_len();
        let address = load.request.first_byte() % self.config.space + u64::from(load.asked);
        // Each part except the last one ends at a multiple of `largest`, so that completions end at whole dwords.
        let room = largest - (address % u64::from(largest)) as u32;
        let len = (whole - load.asked).min(room);
        load.asked += len;
        Some(BridgedLoad {
            number,
            address,
            len,
            space: (load.asked == whole).then_some(load.space),
            header: load.header,
            stamp: load.stamp,
        })
    }

    /// Completes a part of load `number` with `bytes`. Empty `bytes` mean that the read has failed. Returns the buffer space of a load that ends
    /// before its last part is requested.
    pub fn complete<T>(
        &mut self,
        number: u64,
        part: &AnsweredPart<T>,
        bytes: &[u8],
        (now, max_payload): (Time, u32),
        packets: &mut Packets,
    ) -> Option<ReturnedSpace> {
        let completer = self.global_id();
        let load = self.loads.get_mut(&number)?;
        let range = (load.answered, part.len);
        load.answered += part.len;
        let Load { header, stamp, .. } = *load;
        let has_failed = bytes.is_empty() && part.len > 0;
        let is_early = has_failed && load.asked < load.request.byte_len();
        let space = is_early.then_some(load.space);
        if has_failed || load.answered == load.request.byte_len() {
            self.loads.remove(&number);
        } else if part.last {
            self.turns.push_front((now, number));
        }
        let answers = if has_failed {
            vec![failed(&header, completer, stamp, packets)]
        } else {
            answers(
                &header,
                completer,
                range,
                bytes,
                (max_payload, stamp),
                packets,
            )
        };
        for packet in answers {
            self.send_completion(packet, now);
        }
        space
    }

    /// Completes an incoming load with Unsupported Request, and releases its packet.
    pub fn reject(&mut self, request: PacketId, now: Time, packets: &mut Packets) {
        let content = &packets[request];
        let (header, stamp) = (*content.header(), content.stamp);
        packets.release(request);
        if header.class() == Class::NonPosted {
            let answer = failed(&header, self.global_id(), stamp, packets);
            self.send_completion(answer, now);
        }
    }

    /// Queues a completion of this side, which has its global ID and may be sent at `ready`.
    pub fn send_completion(&mut self, packet: PacketId, ready: Time) {
        let waiting = Waiting {
            ready,
            ..Waiting::of(packet)
        };
        self.outgoing.push(Class::Completion, waiting);
    }

    /// Splits a completion from another processor into local completions.
    fn receive_completion(
        &mut self,
        packet: PacketId,
        completion: &Completion,
        (side, due): (BridgeSide, Time),
        packets: &mut Packets,
    ) -> Result<bool, Refusal> {
        let Some(part) = self.asked.take(completion) else {
            return Err(Refusal::UnexpectedCompletion);
        };
        let Asked { request, stamp } = part.what;
        let data = part.data(completion, packets[packet].payload());
        let all = if let Ok(bytes) = data.map(<[u8]>::to_vec) {
            let range = (part.offset, part.len);
            answers(
                &request,
                side.id,
                range,
                &bytes,
                (side.max_payload, stamp),
                packets,
            )
        } else {
            vec![failed(&request, side.id, stamp, packets)]
        };
        packets.release(packet);
        self.came += 1;
        let number = self.came;
        self.answers
            .extend(all.into_iter().map(|packet| (number, due, packet)));
        Ok(true)
    }
}

impl BridgedLoad {
    /// The stamp of the load.
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Creates the read request of this part for `requester` with `tag`.
    pub fn request(&self, requester: FunctionId, tag: Tag, packets: &mut Packets) -> PacketId {
        let kind = Kind::MemoryRead(request_at(requester, tag, self.address, self.len));
        let header = Header {
            kind,
            ..self.header
        };
        packets.make(header, self.stamp, &[])
    }
}

/// Replaces the header of a packet that leaves its tree by a header for the global address space, and removes the packet's TLP digest, as
/// any completer does. The receiving port generates a new digest.
fn beyond_the_tree(packet: PacketId, header: Header, packets: &mut Packets) -> PacketId {
    let packet = packets.rewritten(packet, header);
    packets[packet].remove_digest();
    packet
}

/// A request at a new address. A valid request stays valid, because a bridge moves addresses by whole pages.
fn request_at(requester: FunctionId, tag: Tag, address: u64, len: u32) -> MemoryRequest {
    MemoryRequest::new(requester, tag, address, len)
        .expect("a bridge keeps the offset of an address in its page")
}

/// Creates the completions with `bytes`, the `len` bytes of a request from `offset` on. Each has at most `largest` bytes.
fn answers(
    request: &Header,
    completer: FunctionId,
    (offset, len): (u32, u32),
    bytes: &[u8],
    (largest, stamp): (u32, Stamp),
    packets: &mut Packets,
) -> Vec<PacketId> {
    let mut from = 0;
    let parts = Completions::of_part(request, completer, (offset, len), largest, BOUNDARY);
    parts
        .map(|(header, _, len)| {
            let first = from;
            from += len as usize;
            packets.make(header, stamp, bytes.get(first..from).unwrap_or_default())
        })
        .collect()
}

/// Creates a completion with status Unsupported Request.
fn failed(
    request: &Header,
    completer: FunctionId,
    stamp: Stamp,
    packets: &mut Packets,
) -> PacketId {
    let header = Header::completion(request, completer, Status::UnsupportedRequest)
        .expect("a load is a non-posted request");
    packets.make(header, stamp, &[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CompletionBuffer;

    #[test]
    fn a_load_uses_its_buffer_space_until_its_last_part_is_requested_or_it_fails() {
        let mut packets = Packets::default();
        let mut bridge = Bridge::new(BridgeConfig {
            processor: 1,
            space: 1 << 40,
            words: 64,
            cycle: Span::from_ns(1),
            loads: OutstandingLimits {
                tags: 32,
                completion_timeout: Span::from_us(10_000),
                tag_quarantine: Span::ZERO,
                completion_buffer: CompletionBuffer::default(),
            },
        });
        let load = Header::memory_read(FunctionId(9), Tag(3), 0x1000, 256).expect("a legal read");
        let frame = BusFrame {
            packet: packets.make(load, Stamp::default(), &[]),
            cycles: 2,
            channel: BusFrame::IO + 1,
        };
        let side = BridgeSide {
            id: FunctionId(8),
            max_payload: 128,
        };
        let due = Time::ZERO + Span::from_ns(5);
        let is_free = bridge.receive(frame, (side, due), &mut packets);
        assert_eq!(is_free, Ok(false));
        assert!(
            bridge.next_load(Time::ZERO, 128, |_| true).is_none(),
            "it is not due"
        );
        assert!(bridge.next_load(due, 128, |_| false).is_none());
        let part = bridge.next_load(due, 128, |_| true).expect("it is due");
        assert_eq!((part.address, part.len, part.space), (0x1000, 128, None));
        // The first part fails, and the second one is not requested any more.
        let failed = AnsweredPart {
            what: (),
            offset: 0,
            len: 128,
            last: true,
        };
        let space = bridge.complete(part.number, &failed, &[], (due, 128), &mut packets);
        assert_eq!(space, Some(frame.space()));
        assert!(bridge.next_load(due, 128, |_| true).is_none());
    }
}
