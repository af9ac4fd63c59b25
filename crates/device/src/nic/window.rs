//! The window: loads and stores between processors in one global address space.
//!
//! BAR 2 shows the addresses of all processors, one after the other. A request to it goes to the crossbar for loads and stores,
//! and out of the controller of the processor that has the address, as that one's own: with its function and its tag, as a
//! non-transparent bridge has it. Answers come back the same way.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use kernel::{Effects, Span, Time};
use link::{BusFrame, Charge, Fault, Frame, PacketId, Packets, Refusal, Room, Stamp};
use protocol::{Bar, Class, Completion, FunctionId, Header, Kind, MemoryRequest, Status, Tag};
use transaction::{Completions, Outstanding, Part, writes, written};

use super::receive::Upload;
use super::{BUS, Nic, Purpose};

/// Loads and stores on their way.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// Addresses of each processor, and of all.
    space: u64,
    size: u64,
    /// The port of each processor beside this one.
    neighbours: Arc<[Option<u8>]>,
    outgoing: Outgoing,
    /// What software here has asked others for.
    asked: Outstanding<Asked>,
    /// What others store here.
    pub(super) stores: VecDeque<Upload>,
    /// What others ask for here, by number, and those of which a part is to be asked for.
    loads: BTreeMap<u64, Load>,
    turns: VecDeque<(Time, u64)>,
    begun: u64,
}

/// A load of software here.
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

/// What waits for the crossbar, by class: nothing passes an older posted request (PCIe Base 2.4.1).
#[derive(Clone, Debug)]
struct Outgoing {
    queues: [VecDeque<Waiting>; Class::ALL.len()],
    /// Words that have room there.
    room: [u32; Class::ALL.len()],
    came: u64,
    free_at: Time,
    turn: usize,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    number: u64,
    ready: Time,
    packet: PacketId,
    /// What it takes of the receive buffer until it has gone.
    charge: Option<Charge>,
}

/// The BAR of the window.
const WINDOW: usize = 2;

/// Completions end at multiples of this (PCIe Base 2.3.1.1).
const BOUNDARY: u32 = 128;

impl Window {
    /// A window with `space` addresses for each processor, to those in `neighbours`; each class has room for `words` words at
    /// the crossbar.
    pub(super) fn new(
        space: u64,
        neighbours: Arc<[Option<u8>]>,
        words: u32,
        (tags, timeout): (u32, Span),
    ) -> Self {
        Self {
            space,
            size: Nic::window(space, neighbours.len()).size,
            neighbours,
            outgoing: Outgoing {
                queues: Default::default(),
                room: [words; Class::ALL.len()],
                came: 0,
                free_at: Time::ZERO,
                turn: 0,
            },
            asked: Outstanding::new(tags as u16, timeout),
            stores: VecDeque::new(),
            loads: BTreeMap::new(),
            turns: VecDeque::new(),
            begun: 0,
        }
    }

    /// The crossbar has room again.
    pub(super) fn free(&mut self, class: usize, room: Room) {
        self.outgoing.room[class] += u32::from(room.words);
    }

    /// Whether somebody is at a global address.
    fn reaches(&self, address: u64) -> bool {
        let there = usize::try_from(address / self.space).unwrap_or(usize::MAX);
        self.neighbours.get(there).is_some_and(Option::is_some)
    }

    /// Forgets the loads that were not answered in time: whoever made them has given them up, too.
    pub(super) fn give_up(&mut self, now: Time) {
        while self.asked.give_up(now).is_some() {}
    }

    /// When something is due that is not at `now`.
    pub(super) fn due_after(&mut self, now: Time, packets: &Packets) -> Time {
        let stores = self.stores.front().map(|upload| upload.due);
        let loads = self.turns.front().map(|(due, _)| *due);
        let leaving = self.outgoing.due(packets);
        let all = stores.into_iter().chain(loads).chain(leaving);
        let later = all.filter(|due| *due > now).min().unwrap_or(Time::NEVER);
        later.min(self.asked.oldest_deadline())
    }
}

impl Outgoing {
    fn push(&mut self, class: Class, ready: Time, packet: PacketId, charge: Option<Charge>) {
        self.came += 1;
        self.queues[class.index()].push_back(Waiting {
            number: self.came,
            ready,
            packet,
            charge,
        });
    }

    /// The first packet of a class, if no older posted one keeps it and there is room for it.
    fn first(&self, class: usize, packets: &Packets) -> Option<&Waiting> {
        let first = self.queues[class].front()?;
        let posted = self.queues[Class::Posted.index()].front();
        let is_free = posted.is_none_or(|posted| posted.number >= first.number);
        let fits = u32::from(super::bus::words(first.packet, packets)) <= self.room[class];
        (is_free && fits).then_some(first)
    }

    /// When the next packets may go.
    fn due(&self, packets: &Packets) -> impl Iterator<Item = Time> {
        let firsts = (0..self.queues.len()).filter_map(|class| self.first(class, packets));
        firsts.map(|first| first.ready.max(self.free_at))
    }

    /// The class whose first packet may go at `now`, of those that `may`.
    fn next(&self, now: Time, packets: &Packets, may: impl Fn(usize) -> bool) -> Option<usize> {
        let count = self.queues.len();
        let classes = (0..count).map(|step| (self.turn + step) % count);
        let is_due = |first: &Waiting| first.ready <= now;
        let mut open = classes.filter(|class| may(*class));
        open.find(|class| self.free_at <= now && self.first(*class, packets).is_some_and(is_due))
    }
}

impl Nic {
    /// The window to so many processors, each with `space` addresses.
    pub fn window(space: u64, processors: usize) -> Bar {
        Bar {
            index: WINDOW as u8,
            size: space * processors.next_power_of_two() as u64,
            wide: true,
        }
    }

    /// Who asks and answers in the global address space.
    fn global_id(&self) -> FunctionId {
        FunctionId::new(self.processor, 0, 0)
    }

    /// The global address that a request is for, if it is one to the window.
    pub(super) fn in_window(&self, header: &Header) -> Option<u64> {
        match &header.kind {
            Kind::MemoryRead(request) | Kind::MemoryWrite(request) => {
                let base = self.endpoint.base_of(WINDOW);
                let address = request.first_byte().checked_sub(base)?;
                (address < self.window.size).then_some(address)
            }
            _ => None,
        }
    }

    /// A request of this side sets out for the global `address`.
    pub(super) fn enter(
        &mut self,
        (packet, charge): (PacketId, Charge),
        address: u64,
        fx: &mut Effects<'_, Self>,
    ) {
        let header = *fx.store()[packet].header();
        if let Err(why) = self.endpoint.check_size(&header) {
            self.endpoint.refuse(packet, why, fx);
            return self.endpoint.free(charge, fx);
        }
        if !self.window.reaches(address) {
            self.stop(0, Fault::NoDestination, (None, 0), fx);
            self.endpoint
                .refuse(packet, Refusal::UnsupportedRequest, fx);
            return self.endpoint.free(charge, fx);
        }
        let ready = fx.now() + self.cycles(self.parameters.window_cycles);
        let packet = match &header.kind {
            Kind::MemoryWrite(request) => {
                let global = request_at(self.global_id(), Tag(0), address, request.byte_len());
                let kind = Kind::MemoryWrite(global);
                copied(packet, Header { kind, ..header }, fx.store())
            }
            _ => packet,
        };
        let charge = Some(charge);
        self.window
            .outgoing
            .push(header.class(), ready, packet, charge);
    }

    /// Sends loads, stores and answers to the crossbar.
    pub(super) fn put_io_on_bus(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let mut any = false;
        loop {
            let window = &self.window;
            let may = |class| class != Class::NonPosted.index() || window.asked.is_open();
            let Some(class) = window.outgoing.next(fx.now(), fx.store(), may) else {
                return any;
            };
            any = true;
            let Some(Waiting { packet, charge, .. }) =
                self.window.outgoing.queues[class].pop_front()
            else {
                return any;
            };
            let packet = if class == Class::NonPosted.index() {
                self.ask_for(packet, fx)
            } else {
                packet
            };
            let cycles = super::bus::words(packet, fx.store());
            let length = self.cycles(cycles.into());
            let outgoing = &mut self.window.outgoing;
            outgoing.room[class] -= u32::from(cycles);
            outgoing.free_at = fx.now() + length;
            outgoing.turn = (class + 1) % outgoing.queues.len();
            let frame = BusFrame {
                packet,
                cycles,
                channel: BusFrame::IO + class as u8,
            };
            fx.send(BUS, Frame::Bus(frame), Span::ZERO);
            if let Some(charge) = charge {
                self.endpoint.free(charge, fx);
            }
        }
    }

    /// A load gets a tag of this controller.
    fn ask_for(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) -> PacketId {
        let content = &fx.store()[packet];
        let (request, stamp) = (*content.header(), content.stamp);
        let (Kind::MemoryRead(read), Some(address)) = (&request.kind, self.in_window(&request))
        else {
            return packet;
        };
        let asked = Asked { request, stamp };
        let tag = self.window.asked.begin(asked, read.byte_len(), fx.now());
        let kind = Kind::MemoryRead(request_at(self.global_id(), tag, address, read.byte_len()));
        copied(packet, Header { kind, ..request }, fx.store())
    }

    /// Takes in what comes from the crossbar.
    pub(super) fn take_io(&mut self, class: usize, frame: BusFrame, fx: &mut Effects<'_, Self>) {
        let due = fx.now() + self.cycles(self.parameters.window_cycles);
        let header = *fx.store()[frame.packet].header();
        let room = Room {
            channel: BusFrame::IO + class as u8,
            words: frame.cycles,
        };
        match &header.kind {
            Kind::MemoryRead(_) | Kind::MemoryWrite(_) if !self.functions[0].is_master => {
                self.turn_away(frame.packet, &header, fx);
                fx.send(BUS, Frame::Room(room), Span::ZERO);
            }
            Kind::MemoryWrite(request) => self.store_here(frame.packet, request, (due, room), fx),
            Kind::MemoryRead(request) => {
                let stamp = fx.store()[frame.packet].stamp;
                fx.store().release(frame.packet);
                self.window.begun += 1;
                let load = Load {
                    request: *request,
                    header,
                    stamp,
                    asked: 0,
                    answered: 0,
                    room,
                };
                self.window.loads.insert(self.window.begun, load);
                self.window.turns.push_back((due, self.window.begun));
            }
            Kind::Completion(completion) => {
                self.answer_here(frame.packet, completion, due, fx);
                fx.send(BUS, Frame::Room(room), Span::ZERO);
            }
            _ => fx.store().release(frame.packet),
        }
    }

    /// A request of another processor that this controller may not make.
    fn turn_away(&mut self, packet: PacketId, header: &Header, fx: &mut Effects<'_, Self>) {
        let (completer, stamp) = (self.global_id(), fx.store()[packet].stamp);
        if header.class() == Class::NonPosted {
            let answers = failed(header, completer, stamp, fx.store());
            self.send_answers(answers, fx.now());
        }
        self.drop_packet(0, Fault::NoDestination, packet, fx);
    }

    fn send_answers(&mut self, answers: Vec<PacketId>, ready: Time) {
        for packet in answers {
            self.window
                .outgoing
                .push(Class::Completion, ready, packet, None);
        }
    }

    /// A store of another processor becomes write requests.
    fn store_here(
        &mut self,
        packet: PacketId,
        request: &MemoryRequest,
        (due, room): (Time, Room),
        fx: &mut Effects<'_, Self>,
    ) {
        let content = &fx.store()[packet];
        let (bytes, stamp) = (written(content, request).to_vec(), content.stamp);
        let to = (
            self.functions[0].id,
            request.first_byte() % self.window.space,
        );
        let all = writes(&bytes, stamp, to, self.endpoint.max_payload(), fx.store());
        fx.store().release(packet);
        let count = all.len();
        let uploads = all.into_iter().enumerate().map(|(index, packet)| Upload {
            due,
            packet,
            room: (index + 1 == count).then_some(room),
        });
        self.window.stores.extend(uploads);
        if count == 0 {
            fx.send(BUS, Frame::Room(room), Span::ZERO);
        }
    }

    /// The read request of the next part of a load of another processor.
    pub(super) fn next_load(&mut self, fx: &mut Effects<'_, Self>) -> Option<PacketId> {
        if !self.outstanding.is_open() {
            return None;
        }
        let now = fx.now();
        let (_, number) = self.window.turns.pop_front_if(|(due, _)| *due <= now)?;
        let largest = self.endpoint.max_read_request();
        let load = self.window.loads.get_mut(&number)?;
        let len = (load.request.byte_len() - load.asked).min(largest);
        let address = load.request.first_byte() % self.window.space + u64::from(load.asked);
        load.asked += len;
        let (header, stamp) = (load.header, load.stamp);
        if load.asked == load.request.byte_len() {
            fx.send(BUS, Frame::Room(load.room), Span::ZERO);
        }
        let tag = self.outstanding.begin(Purpose::Load(number), len, now);
        let kind = Kind::MemoryRead(request_at(self.functions[0].id, tag, address, len));
        let packet = fx.store().claim();
        fx.store()[packet].write(Header { kind, ..header }, stamp);
        Some(packet)
    }

    /// A part of the answer to a load of another processor is here: no bytes, if it could not be read.
    pub(super) fn answer_load(
        &mut self,
        number: u64,
        part: &Part<Purpose>,
        bytes: &[u8],
        fx: &mut Effects<'_, Self>,
    ) {
        let completer = self.global_id();
        let Some(load) = self.window.loads.get_mut(&number) else {
            return;
        };
        let range = (load.answered, part.len);
        load.answered += part.len;
        let Load { header, stamp, .. } = *load;
        let has_failed = bytes.is_empty() && part.len > 0;
        let is_over = has_failed || load.answered == load.request.byte_len();
        if is_over {
            self.window.loads.remove(&number);
        } else if part.last {
            self.window.turns.push_front((fx.now(), number));
        }
        let answers = if has_failed {
            failed(&header, completer, stamp, fx.store())
        } else {
            let largest = self.endpoint.max_payload();
            answers(
                &header,
                completer,
                range,
                bytes,
                (largest, stamp),
                fx.store(),
            )
        };
        self.send_answers(answers, fx.now());
    }

    /// The answer to a load of this side goes to whoever made it.
    fn answer_here(
        &mut self,
        packet: PacketId,
        completion: &Completion,
        due: Time,
        fx: &mut Effects<'_, Self>,
    ) {
        let Some(part) = self.window.asked.take(completion) else {
            return self
                .endpoint
                .refuse(packet, Refusal::UnexpectedCompletion, fx);
        };
        let Asked { request, stamp } = part.what;
        let own = self.endpoint.id();
        let all = if completion.status == Status::Successful {
            let lead = usize::from(completion.lower_address) % 4;
            let bytes = fx.store()[packet].payload()[lead..][..part.len as usize].to_vec();
            let largest = self.endpoint.max_payload();
            let range = (part.offset, part.len);
            answers(&request, own, range, &bytes, (largest, stamp), fx.store())
        } else {
            failed(&request, own, stamp, fx.store())
        };
        fx.store().release(packet);
        for answer in all {
            self.endpoint.reply(due, answer);
        }
    }
}

/// A request for bytes that are within a page where they are now, and so are where they go.
fn request_at(requester: FunctionId, tag: Tag, address: u64, len: u32) -> MemoryRequest {
    MemoryRequest::new(requester, tag, address, len).expect("a page stays a page")
}

/// `packet` with another header, which is let go of.
fn copied(packet: PacketId, header: Header, packets: &mut Packets) -> PacketId {
    let content = &packets[packet];
    let (stamp, payload) = (content.stamp, content.payload().to_vec());
    packets.release(packet);
    let copy = packets.claim();
    packets[copy].write(header, stamp).copy_from_slice(&payload);
    copy
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
) -> Vec<PacketId> {
    let header = Header::completion(request, completer, Status::UnsupportedRequest)
        .expect("a load is answered");
    let packet = packets.claim();
    packets[packet].write(header, stamp);
    vec![packet]
}
