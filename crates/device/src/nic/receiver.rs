//! The receiving engine: it converts packets into write requests, and writes events.

use std::collections::{BTreeMap, VecDeque};

use kernel::{Effects, Span, Time};
use packet::{BusFrame, Fault, Frame, Observation, PacketId, Room, Stamp};
use protocol::{Kind, NetworkHeader, PacketType, QueuePairId};
use transaction::writes;

use super::descriptor::{Body, Descriptor};
use super::event::{Event, EventKind};
use super::pairs::Found;
use super::registers::NAP_BUFFER;
use super::sending::job::{Address, Job, Way, refusal_of};
use super::sending::pack::Sharing;
use super::sending::stream::Stream;
use super::{BUS, Nic};

/// Packets from the crossbar, and write requests to memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Receiver {
    /// Packets of each virtual channel from the crossbar: data, and GETs if they have their own channel.
    arrived: [VecDeque<(Time, BusFrame)>; 2],
    /// Incomplete NAPs, by their source queue pair.
    messages: BTreeMap<u16, Message>,
    /// Write requests; the last one of a packet returns the packet's buffer space.
    pub(super) uploads: VecDeque<Upload>,
}

/// A write request to memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Upload {
    pub(super) due: Time,
    pub(super) packet: PacketId,
    pub(super) room: Option<Room>,
}

/// An incomplete NAP.
#[derive(Clone, Copy, Debug)]
struct Message {
    owner: QueuePairId,
    /// The epoch of the owner at the begin.
    epoch: u32,
    buffer: u64,
    /// Bytes that have arrived.
    come: u64,
}

/// Most waiting write requests before the next packet is handled: those of one packet, and of a second one.
const UPLOADS: usize = 4;

impl Receiver {
    pub(super) fn arrive(&mut self, frame: BusFrame, due: Time) {
        self.arrived[usize::from(frame.channel)].push_back((due, frame));
    }

    /// The time of the next event after `now`.
    pub(super) fn due_after(&self, now: Time) -> Time {
        let arrived = self.arrived.iter().filter_map(VecDeque::front);
        let arrived = arrived.map(|(due, _)| *due);
        let uploads = self.uploads.front().map(|upload| upload.due);
        let later = arrived.chain(uploads).filter(|due| *due > now);
        later.min().unwrap_or(Time::NEVER)
    }
}

impl Nic {
    /// Accepts a packet: its data streams through, but a GET is handled when it is complete.
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

    /// Handles packets in the buffers, as far as there is space for their write requests.
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

    /// The next packet of a virtual channel to handle: the first one. In the channel of GETs, where functions do not wait for each
    /// other, it is the first one whose function has a free place.
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

    /// Whether another GET of a function may wait here; the places are for all functions, or for each.
    fn takes_get(&self, function: u8) -> bool {
        let shares = self.parameters.sharing == Sharing::Message;
        let waiting = self
            .asked_for
            .iter()
            .filter(|job| shares || job.address.source.function() == function);
        waiting.count() < self.parameters.get_queue as usize
    }

    /// Handles a packet. False if it must wait.
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

    /// Handles a refusal of data that this side has requested: reports it to the owner.
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

    /// Handles a packet of a NAP: the first one takes a buffer and an entry for the event. `Ok(false)` if it must wait for a
    /// buffer.
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
            // The fault of the earlier or unwanted packet was already counted.
            message => {
                if let Some(message) = message {
                    self.let_go_of(&message);
                }
                forget(frame, fx);
            }
        }
        Ok(true)
    }

    /// Ends an incomplete NAP of queue pair `from`.
    fn abandon(&mut self, from: QueuePairId) {
        if let Some(message) = self.receiver.messages.remove(&from.number()) {
            self.let_go_of(&message);
        }
    }

    /// Returns the buffer and the event's entry of a NAP, if its owner is still the same.
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

    /// Writes an event, after all earlier writes to memory.
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

    /// Converts a GET into a PUT of this side. False while there is no place for it.
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

/// Returns the buffer space of `frame` to the crossbar.
fn give_room(frame: BusFrame, fx: &mut Effects<'_, Nic>) {
    let room = frame.room();
    fx.send(BUS, Frame::Room(room), Span::ZERO);
}

/// Releases a packet that is not wanted, and reports its loss; its fault was counted before.
fn forget(frame: BusFrame, fx: &mut Effects<'_, Nic>) {
    let content = &fx.store()[frame.packet];
    if let Some(flow) = content.stamp.flow {
        let bytes = content.data_len();
        fx.observe(Observation::Failed { flow, bytes });
    }
    fx.store().release(frame.packet);
    give_room(frame, fx);
}
