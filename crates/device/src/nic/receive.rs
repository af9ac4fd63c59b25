//! The receiving engine: packets become write requests, and events tell of them.

use std::collections::{BTreeMap, VecDeque};

use kernel::{Effects, Span, Time};
use link::{BusFrame, Fault, Frame, Observation, PacketId, Room, Stamp};
use protocol::{Kind, NetworkHeader, PacketType, QueuePairId};
use transaction::writes;

use super::descriptor::{Body, Descriptor};
use super::event::{Event, EventKind};
use super::job::{Address, Job, Way};
use super::pairs::Found;
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
    /// Its buffer; none if it is not wanted.
    buffer: Option<u64>,
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
            while let Some((due, frame)) = self.receiver.arrived[channel].front().copied() {
                if due > now || !self.receive_packet(frame, fx) {
                    break;
                }
                self.receiver.arrived[channel].pop_front();
                any = true;
            }
        }
        any
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
        let taken = match self.admits(&header) {
            Err(fault) => Err(fault),
            Ok(()) if header.packet_type == PacketType::Put => self.receive_put(frame, &header, fx),
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

    /// A packet of a NAP: the first one takes a buffer and a place for the event. `Ok(false)` if it has to wait for a buffer.
    fn receive_nap(
        &mut self,
        frame: BusFrame,
        header: &NetworkHeader,
        fx: &mut Effects<'_, Self>,
    ) -> Result<bool, Fault> {
        let from = header.source.number();
        if header.address() == 0 {
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
            if !header.event {
                let buffer = buffer.ok();
                self.receiver.messages.insert(from, Message { buffer });
            }
            self.place_nap(frame, header, buffer?, fx);
            return Ok(true);
        }
        let message = self.receiver.messages.get(&from).copied();
        if header.event {
            self.receiver.messages.remove(&from);
        }
        // What belongs to a message that is not wanted was counted with its first packet.
        if let Some(buffer) = message.and_then(|message| message.buffer) {
            self.place_nap(frame, header, buffer, fx);
        } else {
            forget(frame, fx);
        }
        Ok(true)
    }

    fn place_nap(
        &mut self,
        frame: BusFrame,
        header: &NetworkHeader,
        buffer: u64,
        fx: &mut Effects<'_, Self>,
    ) {
        let pair = self.pair(header.destination);
        if header.poisoned {
            pair.arrived.give_back();
            pair.buffers.put_back(buffer);
            return forget(frame, fx);
        }
        let end = header.address() + u64::from(header.len());
        self.upload(frame, header, buffer + header.address(), fx);
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
        let room = Room {
            channel: frame.channel,
            words: frame.cycles,
        };
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
        if self.asked_for.len() >= self.parameters.get_queue as usize {
            return false;
        }
        let payload = &fx.store()[frame.packet].payload()[..header.len() as usize];
        let descriptor = Descriptor::parse(payload).map_err(Fault::from);
        let admitted = self.admits(header);
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
                    destination: header.source,
                    key: header.magic,
                    tell_sender: false,
                    tell_receiver: tell_sender,
                    has_place: false,
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
            Ok(_) => {
                let function = header.destination.function();
                self.drop_packet(function, Fault::Descriptor, frame.packet, fx);
            }
            Err(fault) => {
                let function = header.destination.function();
                self.drop_packet(function, fault, frame.packet, fx);
            }
        }
        give_room(frame, fx);
        true
    }
}

/// The crossbar may send as much again as `frame` took here.
fn give_room(frame: BusFrame, fx: &mut Effects<'_, Nic>) {
    let room = Room {
        channel: frame.channel,
        words: frame.cycles,
    };
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
