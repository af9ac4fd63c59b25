//! The receiving engine: packets become write requests, and events tell of them.

use std::collections::{BTreeMap, VecDeque};

use kernel::{Effects, Span, Time};
use packet::{BusFrame, Fault, Frame, Observation, PacketId, Room, Stamp};
use protocol::{Kind, NetworkHeader, PacketType, QueuePairId};
use transaction::writes;

use super::descriptor::{Body, Descriptor};
use super::event::{Event, EventKind};
use super::job::{Address, Job, Way, refusal_of};
use super::pack::Sharing;
use super::pairs::Found;
use super::registers::NAP_BUFFER;
use super::stream::Stream;
use super::{BUS, Nic};

/// What has come from the crossbar, and what goes up to memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Receiver {
    /// Packets of each virtual channel from the crossbar: data, and GETs if they have one of their own.
    arrived: [VecDeque<(Time, BusFrame)>; 2],
    /// NAPs of which not all has come, by the queue pair that they come from.
    messages: BTreeMap<u16, Message>,
    /// Write requests, with the room that the last one of a packet gives back.
    pub(super) uploads: VecDeque<Upload>,
}

/// A write request that goes up to memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Upload {
    pub(super) due: Time,
    pub(super) packet: PacketId,
    pub(super) room: Option<Room>,
}

/// A NAP of which not all has come.
#[derive(Clone, Copy, Debug)]
struct Message {
    owner: QueuePairId,
    /// That of the owner when it began.
    epoch: u32,
    buffer: u64,
    /// Bytes that have come.
    come: u64,
}

/// Write requests that wait to go up before the next packet is looked at: those of a packet, and a second one.
const UPLOADS: usize = 4;

impl Receiver {
    pub(super) fn arrive(&mut self, frame: BusFrame, due: Time) {
        self.arrived[usize::from(frame.channel)].push_back((due, frame));
    }

    /// When something is due that is not at `now`.
    pub(super) fn due_after(&self, now: Time) -> Time {
        let arrived = self.arrived.iter().filter_map(VecDeque::front);
        let arrived = arrived.map(|(due, _)| *due);
        let uploads = self.uploads.front().map(|upload| upload.due);
        let later = arrived.chain(uploads).filter(|due| *due > now);
        later.min().unwrap_or(Time::NEVER)
    }
}

impl Nic {
    /// A packet arrives: its data streams through, while a GET is put together before its descriptor is looked at.
    pub(super) fn take_from_bus(&mut self, frame: BusFrame, fx: &mut Effects<'_, Self>) {
        let is_get = matches!(
            &fx.store()[frame.packet].header().kind,
            Kind::Network(header) if header.packet_type == PacketType::Get
        );
        let cycles = if is_get {
            frame.cycles.into()
        } else {
            self.parameters.receive_cycles
        };
        let due = fx.now() + self.cycles(cycles);
        self.receiver.arrive(frame, due);
    }

    /// Takes packets out of their buffers while there is room for what they become.
    pub(super) fn receive_packets(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let now = fx.now();
        let mut any = false;
        for channel in 0..self.receiver.arrived.len() {
            while let Some(place) = self.next_arrived(channel, now, fx) {
                let (_, frame) = self.receiver.arrived[channel][place];
                if !self.receive_packet(frame, fx) {
                    break;
                }
                self.receiver.arrived[channel].remove(place);
                any = true;
            }
        }
        any
    }

    /// The packet of a virtual channel that is looked at next: the first one, or of GETs in their own channel the first one whose
    /// function has a place for it, where functions do not wait for each other.
    fn next_arrived(&self, channel: usize, now: Time, fx: &mut Effects<'_, Self>) -> Option<usize> {
        let mut arrived = self.receiver.arrived[channel].iter();
        if channel == 0 || self.parameters.sharing == Sharing::Message {
            return arrived
                .next()
                .is_some_and(|(due, _)| *due <= now)
                .then_some(0);
        }
        arrived.position(|(due, frame)| {
            let header = &fx.store()[frame.packet].header().kind;
            let has_place = match header {
                Kind::Network(header) => self.takes_get(header.destination.function()),
                _ => true,
            };
            *due <= now && has_place
        })
    }

    /// Whether one more GET of a function may wait here: there are so many places for all of them, or for each.
    fn takes_get(&self, function: u8) -> bool {
        let shares = self.parameters.sharing == Sharing::Message;
        let waiting = self
            .asked_for
            .iter()
            .filter(|job| shares || job.address.source.function() == function);
        waiting.count() < self.parameters.get_queue as usize
    }

    /// Takes a packet in. False if it has to wait.
    fn receive_packet(&mut self, frame: BusFrame, fx: &mut Effects<'_, Self>) -> bool {
        let packet = frame.packet;
        let Kind::Network(header) = fx.store()[packet].header().kind else {
            fx.store().release(packet);
            return true;
        };
        if header.packet_type == PacketType::Get {
            return self.receive_get(frame, &header, fx);
        }
        if self.receiver.uploads.len() >= UPLOADS {
            return false;
        }
        let is_put = header.packet_type == PacketType::Put;
        let taken = match self.admits(&header) {
            Ok(()) if is_put && header.poisoned => self.receive_refusal(frame, &header, fx),
            Err(fault) => {
                if header.packet_type == PacketType::Nap {
                    self.abandon(header.source);
                }
                Err(fault)
            }
            Ok(()) if is_put => self.receive_put(frame, &header, fx),
            Ok(()) => match self.receive_nap(frame, &header, fx) {
                Ok(false) => return false,
                taken => taken,
            },
        };
        if let Err(fault) = taken {
            self.drop_packet(header.destination.function(), fault, packet, fx);
            give_room(frame, fx);
        }
        true
    }

    /// Whether a packet is for an open queue pair and has its key.
    fn admits(&mut self, header: &NetworkHeader) -> Result<(), Fault> {
        if header.destination.processor() != self.processor {
            return Err(Fault::NoDestination);
        }
        let function = usize::from(header.destination.function());
        let is_master = self.functions[function].is_master;
        let pair = self.pair(header.destination);
        if !(pair.is_open && is_master) {
            return Err(Fault::ClosedPair);
        }
        if pair.key != header.magic {
            return Err(Fault::Key);
        }
        Ok(())
    }

    fn receive_put(
        &mut self,
        frame: BusFrame,
        header: &NetworkHeader,
        fx: &mut Effects<'_, Self>,
    ) -> Result<bool, Fault> {
        let pair = self.pair(header.destination);
        if header.event && !pair.arrived.has_room() {
            return Err(Fault::RingFull);
        }
        self.upload(frame, header, header.address(), fx);
        if header.event {
            let event = Event {
                kind: EventKind::Put,
                fault: None,
                peer: header.source,
                len: header.len(),
                word: header.address() + u64::from(header.len()),
            };
            self.tell_receiver(header.destination, &event, fx);
        }
        Ok(true)
    }

    /// What this side has asked for will not come: its owner is told why.
    fn receive_refusal(
        &mut self,
        frame: BusFrame,
        header: &NetworkHeader,
        fx: &mut Effects<'_, Self>,
    ) -> Result<bool, Fault> {
        let owner = header.destination;
        let (label, fault) = refusal_of(header.address());
        if !self.pair(owner).arrived.has_room() {
            return Err(Fault::RingFull);
        }
        let event = Event {
            kind: EventKind::Put,
            fault: Some(fault),
            peer: header.source,
            len: 0,
            word: label.into(),
        };
        self.stop(owner.function(), fault, (None, 0), fx);
        self.tell_receiver(owner, &event, fx);
        forget(frame, fx);
        Ok(true)
    }

    /// A packet of a NAP: the first one takes a buffer and a place for the event. `Ok(false)` if it has to wait for a buffer.
    fn receive_nap(
        &mut self,
        frame: BusFrame,
        header: &NetworkHeader,
        fx: &mut Effects<'_, Self>,
    ) -> Result<bool, Fault> {
        if header.address() == 0 {
            self.abandon(header.source);
            let pair = self.pair(header.destination);
            let found = if pair.arrived.has_room() {
                pair.buffers.take()
            } else {
                Found::Nothing(Fault::RingFull)
            };
            let buffer = match found {
                Found::Later => return Ok(false),
                Found::Buffer(address) => {
                    pair.arrived.keep();
                    self.look_for_buffers(header.destination);
                    Ok(address)
                }
                Found::Nothing(fault) => Err(fault),
            };
            let message = Message {
                owner: header.destination,
                epoch: self.pair(header.destination).epoch,
                buffer: buffer?,
                come: 0,
            };
            self.place_nap(frame, header, message, fx);
            return Ok(true);
        }
        let message = self.receiver.messages.remove(&header.source.number());
        let goes_on = |message: &Message| {
            let there = (header.destination, header.address());
            (message.owner, message.come) == there
        };
        let is_own = |message: &Message| self.epoch_of(message.owner) == message.epoch;
        match message {
            Some(message) if goes_on(&message) && is_own(&message) => {
                self.place_nap(frame, header, message, fx);
            }
            // What went missing before, or was not wanted, was counted then.
            message => {
                if let Some(message) = message {
                    self.let_go_of(&message);
                }
                forget(frame, fx);
            }
        }
        Ok(true)
    }

    /// The rest of a NAP from that queue pair will not come, or not be taken.
    fn abandon(&mut self, from: QueuePairId) {
        if let Some(message) = self.receiver.messages.remove(&from.number()) {
            self.let_go_of(&message);
        }
    }

    /// Gives back what a NAP has taken, if its owner is still the same.
    fn let_go_of(&mut self, message: &Message) {
        let pair = self.pair(message.owner);
        if pair.epoch == message.epoch {
            pair.arrived.give_back();
            pair.buffers.put_back(message.buffer);
        }
    }

    fn place_nap(
        &mut self,
        frame: BusFrame,
        header: &NetworkHeader,
        mut message: Message,
        fx: &mut Effects<'_, Self>,
    ) {
        let end = header.address() + u64::from(header.len());
        if header.poisoned || end > NAP_BUFFER {
            self.let_go_of(&message);
            return forget(frame, fx);
        }
        let Message { buffer, .. } = message;
        self.upload(frame, header, buffer + header.address(), fx);
        message.come = end;
        if header.event {
            self.pair(header.destination).arrived.give_back();
            let event = Event {
                kind: EventKind::Nap,
                fault: None,
                peer: header.source,
                len: end as u32,
                word: buffer,
            };
            self.tell_receiver(header.destination, &event, fx);
        } else {
            let from = header.source.number();
            self.receiver.messages.insert(from, message);
        }
    }

    /// Makes write requests of a packet's data.
    fn upload(
        &mut self,
        frame: BusFrame,
        header: &NetworkHeader,
        address: u64,
        fx: &mut Effects<'_, Self>,
    ) {
        let requester = self.requester(header.destination);
        let largest = self.endpoint.max_payload();
        let content = &fx.store()[frame.packet];
        let (stamp, bytes) = (
            content.stamp,
            content.payload()[..header.len() as usize].to_vec(),
        );
        let all = writes(&bytes, stamp, (requester, address), largest, fx.store());
        fx.store().release(frame.packet);
        if all.is_empty() {
            return give_room(frame, fx);
        }
        let (due, count) = (fx.now(), all.len());
        let room = frame.room();
        let uploads = all.into_iter().enumerate().map(|(index, packet)| Upload {
            due,
            packet,
            room: (index + 1 == count).then_some(room),
        });
        self.receiver.uploads.extend(uploads);
    }

    fn tell_receiver(&mut self, owner: QueuePairId, event: &Event, fx: &mut Effects<'_, Self>) {
        let (address, phase) = self.pair(owner).arrived.next();
        self.tell(owner, address, &event.emit(phase), fx);
    }

    /// Writes an event behind all that goes up before it.
    pub(super) fn tell(
        &mut self,
        owner: QueuePairId,
        address: u64,
        event: &[u8],
        fx: &mut Effects<'_, Self>,
    ) {
        let requester = self.requester(owner);
        let largest = self.endpoint.max_payload();
        let due = fx.now() + self.cycles(self.parameters.event_cycles);
        let stamp = Stamp::default();
        let all = writes(event, stamp, (requester, address), largest, fx.store());
        let uploads = all.into_iter().map(|packet| Upload {
            due,
            packet,
            room: None,
        });
        self.receiver.uploads.extend(uploads);
    }

    /// A GET becomes a PUT of this side. False while there is no room for it.
    fn receive_get(
        &mut self,
        frame: BusFrame,
        header: &NetworkHeader,
        fx: &mut Effects<'_, Self>,
    ) -> bool {
        if !self.takes_get(header.destination.function()) {
            return false;
        }
        let payload = &fx.store()[frame.packet].payload()[..header.len() as usize];
        let descriptor = Descriptor::parse(payload).map_err(Fault::from);
        let admitted = self.admits(header);
        let label = descriptor.as_ref().map_or(0, |descriptor| descriptor.label);
        let born = fx.store()[frame.packet].stamp.born;
        match admitted.and(descriptor) {
            Ok(Descriptor {
                body: Body::Get { sources, targets },
                tell_sender,
                label,
                probe,
                ..
            }) => {
                let left = super::descriptor::total(&sources);
                let address = Address {
                    source: header.destination,
                    epoch: self.epoch_of(header.destination),
                    destination: header.source,
                    key: header.magic,
                    tell_sender: false,
                    tell_receiver: tell_sender,
                    is_answer: true,
                    label,
                    probe,
                    born,
                };
                self.begun += 1;
                let job = Job {
                    number: self.begun,
                    address,
                    stream: Stream::new(sources),
                    way: Way::Put(targets.into()),
                    packed: 0,
                    left,
                };
                self.asked_for.push_back(job);
                fx.store().release(frame.packet);
            }
            refused => {
                let fault = refused.err().unwrap_or(Fault::Descriptor);
                let function = header.destination.function();
                self.drop_packet(function, fault, frame.packet, fx);
                let (from, to) = (header.destination, header.source);
                self.refuse_get((from, to), header.magic, (label, fault), fx);
            }
        }
        give_room(frame, fx);
        true
    }
}

/// The crossbar may send as much again as `frame` took here.
fn give_room(frame: BusFrame, fx: &mut Effects<'_, Nic>) {
    let room = frame.room();
    fx.send(BUS, Frame::Room(room), Span::ZERO);
}

/// Lets go of a packet that nobody wants and whose loss was told, or that carries nothing.
fn forget(frame: BusFrame, fx: &mut Effects<'_, Nic>) {
    let content = &fx.store()[frame.packet];
    if let Some(flow) = content.stamp.flow {
        let bytes = content.data_len();
        fx.observe(Observation::Failed { flow, bytes });
    }
    fx.store().release(frame.packet);
    give_room(frame, fx);
}
