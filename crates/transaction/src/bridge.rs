//! A non-transparent bridge between an address space and that of all processors: what goes out, and what others do here.
//!
//! A request that goes out has a global address, and is made under the number of this side's processor and a tag of this
//! bridge; one that comes in is made here under this side's function and another tag. So the packets in between are whole by
//! themselves, and no two requests have one tag.

mod outgoing;

use std::collections::{BTreeMap, VecDeque};

use kernel::{Span, Time};
use packet::{BusFrame, Charge, PacketId, Packets, Room, Stamp};
use protocol::{Class, Completion, FunctionId, Header, Kind, MemoryRequest, Status, Tag};

use crate::{Completions, Outstanding, Part, writes, written};
use outgoing::{Outgoing, Waiting, words};

/// A non-transparent bridge.
#[derive(Clone, Debug)]
pub struct Bridge {
    config: BridgeConfig,
    outgoing: Outgoing,
    /// What this side has asked others for.
    asked: Outstanding<Asked>,
    /// What others store here, with its number among what has come.
    stores: VecDeque<(u64, BridgedStore)>,
    /// What others ask for here, by number, and those of which a part is to be asked for.
    loads: BTreeMap<u64, Load>,
    turns: VecDeque<(Time, u64)>,
    /// What others have answered.
    answers: VecDeque<(u64, Time, PacketId)>,
    came: u64,
}

/// How a bridge is built.
#[derive(Clone, Copy, Debug)]
pub struct BridgeConfig {
    /// The number of this side's processor.
    pub processor: u8,
    /// Addresses of each processor.
    pub space: u64,
    /// Words of 16 bytes that have room on the other side, of each class.
    pub words: u32,
    /// Time of a word on the way there.
    pub cycle: Span,
    /// Loads of this side that may wait for answers.
    pub loads: u16,
    /// How long each of them waits.
    pub timeout: Span,
}

/// What a side of a bridge makes of requests: as which function, and how large at most.
#[derive(Clone, Copy, Debug)]
pub struct BridgeSide {
    /// Who makes them.
    pub id: FunctionId,
    /// Max payload size, in bytes.
    pub max_payload: u32,
}

/// A write request that another processor has made.
#[derive(Clone, Copy, Debug)]
pub struct BridgedStore {
    /// When it may go.
    pub due: Time,
    /// The request.
    pub packet: PacketId,
    /// The room that the last one of a store gives back.
    pub room: Option<Room>,
}

/// A part of what another processor loads: the request for it needs a tag.
#[derive(Clone, Copy, Debug)]
pub struct BridgedLoad {
    /// Which load.
    pub number: u64,
    /// Where.
    pub address: u64,
    /// Bytes.
    pub len: u32,
    /// The room that the load gives back, if all of it is asked for now.
    pub room: Option<Room>,
    header: Header,
    stamp: Stamp,
}

/// A load of this side.
#[derive(Clone, Copy, Debug)]
struct Asked {
    request: Header,
    stamp: Stamp,
}

/// A load of another processor.
#[derive(Clone, Copy, Debug)]
struct Load {
    request: MemoryRequest,
    header: Header,
    stamp: Stamp,
    /// Bytes of it that this side has asked for, and that were answered.
    asked: u32,
    answered: u32,
    /// The room that it takes here until all of it is asked for.
    room: Room,
}

/// Completions end at multiples of this (PCIe Base 2.3.1.1).
const BOUNDARY: u32 = 128;

impl Bridge {
    /// A bridge over which nothing goes.
    pub fn new(config: BridgeConfig) -> Self {
        Self {
            outgoing: Outgoing::new(config.words),
            asked: Outstanding::new(config.loads, config.timeout),
            stores: VecDeque::new(),
            loads: BTreeMap::new(),
            turns: VecDeque::new(),
            answers: VecDeque::new(),
            came: 0,
            config,
        }
    }

    /// The other side has room again.
    pub fn free(&mut self, class: usize, room: Room) {
        self.outgoing.free(class, room);
    }

    /// Forgets the loads that were not answered in time: whoever made them has given them up, too.
    pub fn give_up(&mut self, now: Time) {
        while self.asked.give_up(now).is_some() {}
    }

    /// When something is due that is not at `now`.
    pub fn due_after(&mut self, now: Time, packets: &Packets) -> Time {
        let stores = self.stores.front().map(|(_, store)| store.due);
        let loads = self.turns.front().map(|(due, _)| *due);
        let answers = self.answers.front().map(|(_, due, _)| *due);
        let coming = stores.into_iter().chain(loads).chain(answers);
        let all = coming.chain(self.outgoing.due(packets));
        let later = all.filter(|due| *due > now).min().unwrap_or(Time::NEVER);
        later.min(self.asked.oldest_deadline())
    }

    /// Who asks and answers in the global address space.
    pub fn global_id(&self) -> FunctionId {
        FunctionId::new(self.config.processor, 0, 0)
    }

    /// A memory request of this side sets out for the global `address`, at `ready`; until it goes it keeps `charge`.
    pub fn set_out(
        &mut self,
        (packet, charge): (PacketId, Charge),
        address: u64,
        ready: Time,
        packets: &mut Packets,
    ) {
        let header = *packets[packet].header();
        let packet = match &header.kind {
            Kind::MemoryWrite(request) => {
                let global = request_at(self.global_id(), Tag(0), address, request.byte_len());
                let kind = Kind::MemoryWrite(global);
                packets.rewritten(packet, Header { kind, ..header })
            }
            _ => packet,
        };
        let waiting = Waiting {
            ready,
            address,
            charge: Some(charge),
            ..Waiting::of(packet)
        };
        self.outgoing.push(header.class(), waiting);
    }

    /// The packet that goes out at `now`, and what it gives back of the receive buffer.
    pub fn next_out(
        &mut self,
        now: Time,
        packets: &mut Packets,
    ) -> Option<(BusFrame, Option<Charge>)> {
        let asked = &self.asked;
        let may = |class| class != Class::NonPosted.index() || asked.is_open();
        let class = self.outgoing.next(now, packets, may)?;
        let waiting = self.outgoing.take(class)?;
        let packet = if class == Class::NonPosted.index() {
            self.ask_for(&waiting, now, packets)
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

    /// A load gets a tag of this bridge.
    fn ask_for(&mut self, waiting: &Waiting, now: Time, packets: &mut Packets) -> PacketId {
        let content = &packets[waiting.packet];
        let (request, stamp) = (*content.header(), content.stamp);
        let Kind::MemoryRead(read) = &request.kind else {
            return waiting.packet;
        };
        let len = read.byte_len();
        let tag = self.asked.begin(Asked { request, stamp }, len, now);
        let kind = Kind::MemoryRead(request_at(self.global_id(), tag, waiting.address, len));
        packets.rewritten(waiting.packet, Header { kind, ..request })
    }

    /// A store of another processor becomes write requests, which may go at `due`. True if it has become none.
    pub fn store_here(
        &mut self,
        frame: BusFrame,
        side: BridgeSide,
        due: Time,
        packets: &mut Packets,
    ) -> bool {
        let content = &packets[frame.packet];
        let Kind::MemoryWrite(request) = content.header().kind else {
            return true;
        };
        let (bytes, stamp) = (written(content, &request).to_vec(), content.stamp);
        let to = (side.id, request.first_byte() % self.config.space);
        let all = writes(&bytes, stamp, to, side.max_payload, packets);
        packets.release(frame.packet);
        let count = all.len();
        self.came += 1;
        for (index, packet) in all.into_iter().enumerate() {
            let store = BridgedStore {
                due,
                packet,
                room: (index + 1 == count).then_some(frame.room()),
            };
            self.stores.push_back((self.came, store));
        }
        count == 0
    }

    /// A load of another processor waits for its turn, from `due` on.
    pub fn load_here(&mut self, frame: BusFrame, due: Time, packets: &mut Packets) {
        let content = &packets[frame.packet];
        let (header, stamp) = (*content.header(), content.stamp);
        packets.release(frame.packet);
        let Kind::MemoryRead(request) = header.kind else {
            return;
        };
        self.came += 1;
        let load = Load {
            request,
            header,
            stamp,
            asked: 0,
            answered: 0,
            room: frame.room(),
        };
        self.loads.insert(self.came, load);
        self.turns.push_back((due, self.came));
    }

    /// The next write request that may go at `now`.
    pub fn next_store(&mut self, now: Time) -> Option<BridgedStore> {
        let store = self.stores.pop_front_if(|(_, store)| store.due <= now);
        store.map(|(_, store)| store)
    }

    /// Whether nothing that was stored before what has that number waits: nothing passes that (PCIe Base 2.4.1).
    fn is_first(&self, number: u64) -> bool {
        let oldest = self.stores.front();
        oldest.is_none_or(|(store, _)| *store > number)
    }

    /// The next completion that may go at `now`.
    pub fn next_answer(&mut self, now: Time) -> Option<PacketId> {
        let (number, due, packet) = *self.answers.front()?;
        if due > now || !self.is_first(number) {
            return None;
        }
        self.answers.pop_front();
        Some(packet)
    }

    /// The next part of a load that may be asked for at `now`, of `largest` bytes at most.
    pub fn next_load(&mut self, now: Time, largest: u32) -> Option<BridgedLoad> {
        let (due, number) = *self.turns.front()?;
        if due > now || !self.is_first(number) {
            return None;
        }
        self.turns.pop_front();
        let load = self.loads.get_mut(&number)?;
        let whole = load.request.byte_len();
        let address = load.request.first_byte() % self.config.space + u64::from(load.asked);
        // All but the last part end where requests of that size do, so that their completions are whole dwords.
        let room = largest - (address % u64::from(largest)) as u32;
        let len = (whole - load.asked).min(room);
        load.asked += len;
        Some(BridgedLoad {
            number,
            address,
            len,
            room: (load.asked == whole).then_some(load.room),
            header: load.header,
            stamp: load.stamp,
        })
    }

    /// A part of the answer to the load with that number is here: no bytes, if it could not be read.
    pub fn answer<T>(
        &mut self,
        number: u64,
        part: &Part<T>,
        bytes: &[u8],
        (now, max_payload): (Time, u32),
        packets: &mut Packets,
    ) {
        let completer = self.global_id();
        let Some(load) = self.loads.get_mut(&number) else {
            return;
        };
        let range = (load.answered, part.len);
        load.answered += part.len;
        let Load { header, stamp, .. } = *load;
        let has_failed = bytes.is_empty() && part.len > 0;
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
            self.send_answer(packet, now);
        }
    }

    /// Answers a load of another processor that is not carried out here, and lets go of it.
    pub fn turn_away(&mut self, request: PacketId, now: Time, packets: &mut Packets) {
        let content = &packets[request];
        let (header, stamp) = (*content.header(), content.stamp);
        packets.release(request);
        if header.class() == Class::NonPosted {
            let answer = failed(&header, self.global_id(), stamp, packets);
            self.send_answer(answer, now);
        }
    }

    /// An answer of this side, which has its global ID, goes out at `ready`.
    pub fn send_answer(&mut self, packet: PacketId, ready: Time) {
        let waiting = Waiting {
            ready,
            ..Waiting::of(packet)
        };
        self.outgoing.push(Class::Completion, waiting);
    }

    /// An answer from another processor becomes completions, which may go at `due`. False, if nothing here waits for it.
    pub fn answer_here(
        &mut self,
        packet: PacketId,
        completion: &Completion,
        (side, due): (BridgeSide, Time),
        packets: &mut Packets,
    ) -> bool {
        let Some(part) = self.asked.take(completion) else {
            return false;
        };
        let Asked { request, stamp } = part.what;
        let all = if completion.status == Status::Successful {
            let lead = usize::from(completion.lower_address) % 4;
            let bytes = packets[packet].payload()[lead..][..part.len as usize].to_vec();
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
        true
    }
}

impl BridgedLoad {
    /// Its read request, by `requester` under `tag`.
    pub fn request(&self, requester: FunctionId, tag: Tag, packets: &mut Packets) -> PacketId {
        let kind = Kind::MemoryRead(request_at(requester, tag, self.address, self.len));
        let packet = packets.claim();
        packets[packet].write(
            Header {
                kind,
                ..self.header
            },
            self.stamp,
        );
        packet
    }
}

/// A request for bytes that are within a page where they are now, and so are where they go.
fn request_at(requester: FunctionId, tag: Tag, address: u64, len: u32) -> MemoryRequest {
    MemoryRequest::new(requester, tag, address, len).expect("a page stays a page")
}

/// The completions with `bytes`, which are `len` bytes of a request from `offset` on, none over `largest`.
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
        .map(|(header, address, len)| {
            let (lead, len) = ((address % 4) as usize, len as usize);
            let packet = packets.claim();
            let payload = packets[packet].write(header, stamp);
            let part = bytes.get(from..from + len).unwrap_or_default();
            payload[lead..lead + part.len()].copy_from_slice(part);
            from += len;
            packet
        })
        .collect()
}

/// The completion that says that nobody answers.
fn failed(
    request: &Header,
    completer: FunctionId,
    stamp: Stamp,
    packets: &mut Packets,
) -> PacketId {
    let header = Header::completion(request, completer, Status::UnsupportedRequest)
        .expect("a load is answered");
    let packet = packets.claim();
    packets[packet].write(header, stamp);
    packet
}
