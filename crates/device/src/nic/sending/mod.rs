//! The sending engine. It handles doorbells, reads descriptors, begins messages and makes packets.

mod fetches;
mod job;
mod messages;
mod stream;

use std::collections::VecDeque;

use kernel::Time;
use packet::{Fault, Stamp};
use protocol::{NetworkHeader, PacketType, QueuePairId, TrafficClass};

use super::descriptor::{Body, Descriptor, DescriptorError, Head, Item};
use super::doorbells::{Bell, Doorbells};
use super::event::{Event, EventKind};
use super::parameters::Sharing;
use super::reads::Purpose;
use super::registers::Doorbell;
use super::shared::{Context, Lost, Shared};
use super::{NicParameters, bus};
use fetches::{Fetch, Fetches};
use job::{Job, Transfer};
use messages::Messages;
use stream::Stream;

pub(super) use job::Address;

#[derive(Clone, Debug)]
pub(super) struct Sender {
    fetches: Fetches,
    messages: Messages,
    /// The messages that answer GETs of other processors, and that have not begun.
    gets: VecDeque<Job>,
    /// Most waiting GETs: of all functions together or, if functions do not wait for each other, of each function.
    most_gets: usize,
    sharing: Sharing,
    /// Largest data of a packet that fits into every buffer on the path of the packet, in bytes.
    largest: u32,
    /// Whether a waiting GET of another processor begins before a message of this processor.
    others_turn: bool,
    /// The time from which the engine can make the next packet of a NAP.
    nap_free_at: Time,
    /// Number of descriptors and messages that have begun. It is also the number of the last one, by which arriving data is assigned to it.
    begun: u64,
}

/// A read request of the sending engine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub(super) owner: QueuePairId,
    pub(super) range: Item,
    pub(super) purpose: Purpose,
}

impl Sender {
    pub(super) fn new(parameters: &NicParameters, largest: u32) -> Self {
        Self {
            fetches: Fetches::new(parameters.sharing, parameters.descriptors),
            messages: Messages::new(parameters),
            gets: VecDeque::new(),
            most_gets: parameters.get_queue as usize,
            sharing: parameters.sharing,
            largest,
            others_turn: false,
            nap_free_at: Time::ZERO,
            begun: 0,
        }
    }

    /// Whether the engine has no descriptor and no message.
    pub(super) fn is_idle(&self) -> bool {
        self.fetches.is_empty() && self.messages.is_empty() && self.gets.is_empty()
    }

    /// Whether the engine has a message of a flow with bytes that were not sent yet.
    pub(super) fn sends_flows(&self) -> bool {
        self.messages.are_of_flows()
    }

    /// Begins to read the next descriptors.
    pub(super) fn serve_doorbells(
        &mut self,
        doorbells: &mut Doorbells,
        cx: &mut Context<'_>,
    ) -> bool {
        if doorbells.is_empty() {
            return false;
        }
        let now = cx.fx.now();
        let mut any = false;
        loop {
            let under_way = self.fetches.under_way();
            let may = |function: u8, bell: &Bell| {
                cx.shared.is_master(function)
                    && under_way.has_room(function)
                    && has_room(cx.shared, function, bell)
            };
            let Some((function, bell)) = doorbells.next(now, may) else {
                break;
            };
            any = true;
            self.fetch(function, &bell, cx.shared);
        }
        // If a function must wait until software takes events from a ring, this is counted as a fault.
        let waits = |shared: &Shared, function, bell: &Bell| !has_room(shared, function, bell);
        while let Some(function) =
            doorbells.next_waiting(now, |one, bell| waits(cx.shared, one, bell))
        {
            cx.stop(function, Fault::RingFull, None);
        }
        any
    }

    fn fetch(&mut self, function: u8, bell: &Bell, shared: &mut Shared) {
        let owner = QueuePairId::new(shared.processor, function, bell.pair);
        let pair = shared.pairs.get_mut(owner);
        if pair.sent.exists() {
            pair.sent.keep();
        }
        self.begun += 1;
        let Doorbell { address, len } = bell.doorbell;
        let stream = match &bell.pushed {
            Some(bytes) => Stream::arrived(bytes),
            None => Stream::new((len > 0).then_some(Item { address, len })),
        };
        self.fetches.push(Fetch {
            number: self.begun,
            owner,
            epoch: pair.epoch(),
            born: bell.born,
            len: len as usize,
            stream,
            due: Time::ZERO,
        });
    }

    /// The next read request for descriptors, with at most `largest` bytes.
    pub(super) fn next_descriptor(&mut self, largest: u32) -> Option<Read> {
        self.fetches.next_read(largest)
    }

    /// The next read request for data, with at most `largest` bytes.
    pub(super) fn next_data(&mut self, largest: u32) -> Option<Read> {
        self.messages.next_read(largest)
    }

    /// Handles `bytes` of request `slot` of the descriptor or message with this number; `lost` further bytes could not be read.
    pub(super) fn arrive(&mut self, number: u64, slot: u64, bytes: &[u8], lost: u32) {
        if !self.messages.arrive(number, slot, bytes, lost)
            && let Some(stream) = self.fetches.stream(number)
        {
            stream.arrive(slot, bytes, lost);
        }
    }

    /// Begins the messages of descriptors that have arrived, and the answers to GETs of other processors; both take turns.
    pub(super) fn begin_messages(&mut self, cx: &mut Context<'_>) -> bool {
        let mut any = false;
        loop {
            let others_first = self.others_turn && self.begin_others();
            if !(others_first || self.begin_own(cx) || self.begin_others()) {
                return any;
            }
            any = true;
        }
    }

    /// Whether another GET may wait for a function.
    pub(super) fn takes_get(&self, function: u8) -> bool {
        let shares = self.sharing == Sharing::Message;
        let gets = self.gets.iter();
        let waiting = gets.filter(|job| shares || job.function() == usize::from(function));
        waiting.count() < self.most_gets
    }

    /// Enqueues the answer to a GET of another processor: a message with data from `sources` here for `targets` at the other processor.
    pub(super) fn take_get(&mut self, address: Address, sources: Vec<Item>, targets: Vec<Item>) {
        self.begun += 1;
        self.gets.push_back(Job {
            number: self.begun,
            address,
            left: super::descriptor::total(&sources),
            stream: Stream::new(sources),
            transfer: Transfer::Put(targets.into()),
            packed: 0,
        });
    }

    fn begin_others(&mut self) -> bool {
        let mut gets = self.gets.iter();
        let first = gets.position(|job| self.messages.has_room(job.function() as u8));
        let first = match self.sharing {
            Sharing::Message => first.filter(|first| *first == 0),
            Sharing::Packet => first,
        };
        let Some(job) = first.and_then(|first| self.gets.remove(first)) else {
            return false;
        };
        self.others_turn = false;
        self.messages.push(job);
        true
    }

    /// Begins the message of the first descriptor that can begin one.
    fn begin_own(&mut self, cx: &mut Context<'_>) -> bool {
        if self.fetches.is_empty() {
            return false;
        }
        let mut in_turn = self.fetches.in_turn();
        in_turn.any(|index| self.begin_fetched(index, cx))
    }

    /// Begins the message of a descriptor, if enough bytes of the descriptor have arrived.
    fn begin_fetched(&mut self, index: usize, cx: &mut Context<'_>) -> bool {
        let now = cx.fx.now();
        let fetch = self.fetches.get_mut(index);
        let head = Head::parse(&fetch.stream.peek(Descriptor::HEAD));
        let is_streamed = matches!(&head, Ok(head) if head.immediate().is_some());
        if !fetch.is_ready(is_streamed) {
            return false;
        }
        if fetch.due == Time::ZERO {
            fetch.due = cx.after(cx.shared.parameters.parse_cycles);
        }
        if fetch.due > now {
            return false;
        }
        self.carry_out(index, head, cx)
    }

    /// Executes a descriptor. Returns false if it must wait.
    fn carry_out(
        &mut self,
        index: usize,
        head: Result<Head, DescriptorError>,
        cx: &mut Context<'_>,
    ) -> bool {
        let fetch = self.fetches.get(index);
        let parsed = match head {
            _ if fetch.stream.is_broken() => Err(Fault::Descriptor),
            Ok(head) if head.need() > fetch.len => Err(Fault::Descriptor),
            Ok(head) if head.immediate().is_some() => Ok(head.frame),
            Ok(head) => Descriptor::parse(&fetch.stream.peek(head.need())).map_err(Fault::from),
            Err(error) => Err(Fault::from(error)),
        };
        let may_begin = match parsed.as_ref().map(|descriptor| &descriptor.body) {
            Ok(Body::Get { .. }) => cx.shared.bus.is_open(channel_of_gets(cx.shared)),
            Ok(Body::NapImmediate(_) | Body::NapIndirect(_) | Body::Put { .. }) => {
                self.messages.has_room(fetch.owner.function())
            }
            Err(_) => true,
        };
        if !may_begin {
            return false;
        }
        if let Some(fetch) = self.fetches.remove(index) {
            match parsed {
                Ok(descriptor) => self.begin(fetch, descriptor, cx),
                Err(fault) => refuse_descriptor(&fetch, None, fault, cx),
            }
        }
        true
    }

    fn begin(&mut self, fetch: Fetch, descriptor: Descriptor, cx: &mut Context<'_>) {
        let is_get = matches!(descriptor.body, Body::Get { .. });
        let fault = if cx.shared.bus.channel_to(descriptor.destination).is_none() {
            Some(Fault::NoDestination)
        } else if is_get && !cx.shared.pairs.get(fetch.owner).has_key(descriptor.key) {
            // The data that a GET requests has the same key as the GET.
            Some(Fault::Key)
        } else {
            None
        };
        if let Some(fault) = fault {
            return refuse_descriptor(&fetch, Some(&descriptor), fault, cx);
        }
        let address = Address {
            source: fetch.owner,
            epoch: fetch.epoch,
            destination: descriptor.destination,
            key: descriptor.key,
            tell_sender: descriptor.tell_sender,
            tell_receiver: descriptor.tell_receiver,
            is_answer: false,
            label: descriptor.label,
            probe: descriptor.probe,
            born: fetch.born,
        };
        if is_get {
            let data = descriptor.emit();
            if data.len() > self.largest as usize {
                // The list of ranges is longer than a packet can carry.
                let fault = Fault::Descriptor;
                return refuse_descriptor(&fetch, Some(&descriptor), fault, cx);
            }
            return send_get(&address, &data, cx);
        }
        let left = descriptor.body.len();
        let (stream, transfer) = match descriptor.body {
            Body::NapImmediate(_) => {
                let mut stream = fetch.stream;
                stream.take(&mut [0; Descriptor::HEAD]);
                (stream, Transfer::Nap { is_immediate: true })
            }
            Body::NapIndirect(sources) => {
                let is_immediate = false;
                (Stream::new(sources), Transfer::Nap { is_immediate })
            }
            Body::Put { sources, targets } | Body::Get { sources, targets } => {
                (Stream::new(sources), Transfer::Put(targets.into()))
            }
        };
        self.messages.push(Job {
            number: fetch.number,
            address,
            stream,
            transfer,
            packed: 0,
            left,
        });
        self.others_turn = true;
    }

    /// Makes packets of messages, as long as data has arrived and the interface to the crossbar accepts packets.
    pub(super) fn pack(&mut self, cx: &mut Context<'_>) -> bool {
        let largest = cx.shared.parameters.network_payload.0 as u32;
        let mut any = false;
        loop {
            let is_paced = self.nap_free_at > cx.fx.now();
            let next = self.messages.next_to_pack(|job| {
                let waits = is_paced && job.is_nap();
                cx.shared.bus.is_open(channel(job, cx.shared)) && (!waits || job.is_lost())
            });
            let Some(queue) = next else {
                return any;
            };
            any = true;
            if self.messages.oldest(queue).is_lost() {
                self.give_up_message(queue, cx);
            } else {
                self.pack_one(queue, largest, cx);
            }
        }
    }

    fn pack_one(&mut self, queue: usize, largest: u32, cx: &mut Context<'_>) {
        let packet = self.messages.begin_packet(queue, |job| {
            let requester = cx.shared.requester(job.address.source);
            job.pack(job.next_len(largest), requester, cx.fx.store())
        });
        let job = self.messages.oldest(queue);
        let channel = channel(job, cx.shared);
        let is_done = job.left == 0;
        let parameters = &cx.shared.parameters;
        if let Transfer::Nap { is_immediate } = job.transfer {
            let words = u32::from(bus::words(packet, cx.fx.store()));
            let more = if is_immediate { words } else { 0 };
            let more = more * parameters.immediate_cycles;
            self.nap_free_at = cx.after(parameters.nap_cycles + more);
        }
        let ready = cx.after(parameters.packetise_cycles);
        cx.shared.bus.push(channel, packet, ready, cx.fx.store());
        if is_done {
            self.end_message(queue, None, cx);
        }
    }

    /// Ends a message whose data cannot be read.
    fn give_up_message(&mut self, queue: usize, cx: &mut Context<'_>) {
        let job = self.messages.oldest(queue);
        let Address {
            source: owner,
            destination,
            key,
            label,
            probe,
            is_answer,
            ..
        } = job.address;
        if job.is_nap() && job.packed > 0 {
            let packet = job.abort(cx.shared.requester(owner), cx.fx.store());
            let (channel, now) = (channel(job, cx.shared), cx.fx.now());
            cx.shared.bus.push(channel, packet, now, cx.fx.store());
        }
        if is_answer {
            cx.refuse_get((owner, destination), key, (label, Fault::Source));
        }
        let lost = Lost::of_message(&probe, job.packed, job.left);
        cx.stop(owner.function(), Fault::Source, lost);
        self.end_message(queue, Some(Fault::Source), cx);
    }

    /// Ends the oldest message of a queue. The sender receives an event if the message requests one, or if there was an error.
    fn end_message(&mut self, queue: usize, fault: Option<Fault>, cx: &mut Context<'_>) {
        let Some(job) = self.messages.remove_oldest(queue) else {
            return;
        };
        let Address {
            source,
            epoch,
            destination,
            tell_sender,
            is_answer,
            label,
            ..
        } = job.address;
        if is_answer || !cx.shared.pairs.get(source).has_kept(epoch) {
            return;
        }
        cx.shared.pairs.get_mut(source).sent.give_back();
        if tell_sender || fault.is_some() {
            let event = Event {
                kind: EventKind::Sent,
                fault,
                peer: destination,
                len: job.packed as u32,
                word: label.into(),
            };
            cx.tell_sender(source, &event);
        }
    }

    /// The time of the next event after `now`.
    pub(super) fn due_after(&self, now: Time) -> Time {
        let nap = if self.nap_free_at > now {
            self.nap_free_at
        } else {
            Time::NEVER
        };
        self.fetches.due_after(now).min(nap)
    }
}

/// Sends a GET to the other side without a change. This side has no further work with the GET.
fn send_get(address: &Address, data: &[u8], cx: &mut Context<'_>) {
    let pair = cx.shared.pairs.get_mut(address.source);
    if pair.has_kept(address.epoch) {
        pair.sent.give_back();
    }
    let (from, to) = (address.source, address.destination);
    let mut header = NetworkHeader::new(PacketType::Get, from, to, 0, data.len() as u32)
        .expect("the descriptor fits in a packet");
    header.magic = address.key;
    header.requester = cx.shared.requester(from);
    if cx.shared.bus.get_channel().is_some() {
        header.traffic_class = GETS;
    }
    let stamp = Stamp {
        flow: None,
        ..address.stamp(0, false)
    };
    let packet = cx.fx.store().make(header.into(), stamp, data);
    let ready = cx.after(cx.shared.parameters.packetise_cycles);
    let channel = channel_of_gets(cx.shared);
    cx.shared.bus.push(channel, packet, ready, cx.fx.store());
}

/// Refuses a descriptor: counts the fault, and reports it to the owner.
fn refuse_descriptor(
    fetch: &Fetch,
    descriptor: Option<&Descriptor>,
    fault: Fault,
    cx: &mut Context<'_>,
) {
    let lost = descriptor
        .and_then(|descriptor| Lost::of_message(&descriptor.probe, 0, descriptor.body.len()));
    cx.stop(fetch.owner.function(), fault, lost);
    let pair = cx.shared.pairs.get_mut(fetch.owner);
    if pair.has_kept(fetch.epoch) {
        pair.sent.give_back();
        let event = Event {
            kind: EventKind::Sent,
            fault: Some(fault),
            peer: descriptor.map_or(fetch.owner, |descriptor| descriptor.destination),
            len: 0,
            word: descriptor.map_or(0, |descriptor| descriptor.label.into()),
        };
        cx.tell_sender(fetch.owner, &event);
    }
}

/// The virtual channel for the packets of a message.
fn channel(job: &Job, shared: &Shared) -> u8 {
    let channel = shared.bus.channel_to(job.address.destination);
    channel.unwrap_or(0)
}

/// The virtual channel for GETs: their own channel, or the first one if they have no channel of their own.
fn channel_of_gets(shared: &Shared) -> u8 {
    shared.bus.get_channel().unwrap_or(0)
}

/// Whether the ring of sent events of a doorbell's queue pair has space for an event.
fn has_room(shared: &Shared, function: u8, bell: &Bell) -> bool {
    let owner = QueuePairId::new(shared.processor, function, bell.pair);
    shared.pairs.get(owner).has_room_to_send()
}

/// The traffic class of GETs on links between controllers, if GETs have a virtual channel of their own.
const GETS: TrafficClass = TrafficClass::new(1).expect("there are eight classes");
