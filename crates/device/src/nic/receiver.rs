//! The receiving engine. It converts packets into write requests, and writes events.

use std::collections::{BTreeMap, VecDeque};

use kernel::Time;
use packet::{BusFrame, Fault};
use protocol::{Kind, NetworkHeader, PacketType, QueuePairId};

use super::Sharing;
use super::descriptor::{Body, Descriptor};
use super::event::{Event, EventKind};
use super::pairs::Buffer;
use super::refusal::refusal_of;
use super::registers::NAP_BUFFER;
use super::sending::{Address, Sender};
use super::shared::{Context, Shared};

/// The receiving engine, with packets from the crossbar, and incomplete NAPs, whose packets have no memory address.
#[derive(Clone, Debug, Default)]
pub(super) struct Receiver {
    /// The packets that have arrived from the crossbar, for each virtual channel: data, and GETs if they have a channel of their own.
    arrived: [VecDeque<(Time, BusFrame)>; 2],
    /// Incomplete NAPs, by their source queue pair.
    messages: BTreeMap<u16, Message>,
}

/// An incomplete NAP.
#[derive(Clone, Copy, Debug)]
struct Message {
    owner: QueuePairId,
    epoch: u32,
    buffer: u64,
    /// Bytes that have arrived.
    received: u64,
}

/// The result of handling a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handled {
    /// The packet has left the buffer.
    Done,
    /// The packet must wait.
    Wait,
}

impl Receiver {
    /// Accepts a packet. A packet with data can be handled before all of it has arrived; a GET is handled when it has arrived completely.
    pub(super) fn accept(&mut self, frame: BusFrame, cx: &mut Context<'_>) {
        let is_get = matches!(
            &cx.fx.store()[frame.packet].header().kind,
            Kind::Network(header) if header.packet_type == PacketType::Get
        );
        let cycles = if is_get {
            frame.cycles.into()
        } else {
            cx.shared.parameters.receive_cycles
        };
        let due = cx.after(cycles);
        self.arrived[usize::from(frame.channel)].push_back((due, frame));
    }

    /// Handles the packets in the buffers as long as there is space for their write requests. GETs become messages of `sender`.
    pub(super) fn receive_packets(&mut self, sender: &mut Sender, cx: &mut Context<'_>) -> bool {
        let mut any = false;
        for channel in 0..self.arrived.len() {
            while let Some(index) = self.next_arrived(channel, sender, cx) {
                let (_, frame) = self.arrived[channel][index];
                if self.receive_packet(frame, sender, cx) == Handled::Wait {
                    break;
                }
                self.arrived[channel].remove(index);
                any = true;
            }
        }
        any
    }

    /// The index of the next packet to handle in a virtual channel. It is the first packet. If functions do not wait for each other, it is, in
    /// the channel of GETs, the first packet whose function can accept another GET.
    fn next_arrived(&self, channel: usize, sender: &Sender, cx: &mut Context<'_>) -> Option<usize> {
        let now = cx.fx.now();
        let mut arrived = self.arrived[channel].iter();
        if channel == 0 || cx.shared.parameters.sharing == Sharing::Message {
            return arrived
                .next()
                .is_some_and(|(due, _)| *due <= now)
                .then_some(0);
        }
        arrived.position(|(due, frame)| {
            let header = &cx.fx.store()[frame.packet].header().kind;
            let is_taken = match header {
                Kind::Network(header) => sender.takes_get(header.destination.function()),
                _ => true,
            };
            *due <= now && is_taken
        })
    }

    fn receive_packet(
        &mut self,
        frame: BusFrame,
        sender: &mut Sender,
        cx: &mut Context<'_>,
    ) -> Handled {
        let packet = frame.packet;
        let Kind::Network(header) = cx.fx.store()[packet].header().kind else {
            cx.fx.store().release(packet);
            return Handled::Done;
        };
        if header.packet_type == PacketType::Get {
            return receive_get(frame, &header, sender, cx);
        }
        if cx.shared.uploads.is_full() {
            return Handled::Wait;
        }
        let is_put = header.packet_type == PacketType::Put;
        let handled = match cx.shared.admits(&header) {
            Err(fault) => {
                if !is_put {
                    self.abandon(header.source, cx.shared);
                }
                Err(fault)
            }
            Ok(()) if is_put && header.poisoned => receive_refusal(frame, &header, cx),
            Ok(()) if is_put => receive_put(frame, &header, cx),
            Ok(()) => self.receive_nap(frame, &header, cx),
        };
        handled.unwrap_or_else(|fault| {
            cx.drop_packet(header.destination.function(), fault, packet);
            cx.return_space(frame.space());
            Handled::Done
        })
    }

    /// Handles a packet of a NAP. The first packet of a NAP also takes a buffer and reserves an entry for the event.
    fn receive_nap(
        &mut self,
        frame: BusFrame,
        header: &NetworkHeader,
        cx: &mut Context<'_>,
    ) -> Result<Handled, Fault> {
        if header.address() == 0 {
            self.abandon(header.source, cx.shared);
            let owner = header.destination;
            if !cx.shared.pairs.get(owner).arrived.has_room() {
                return Err(Fault::RingFull);
            }
            let buffer = match cx.shared.pairs.take_buffer(owner) {
                Buffer::Later => return Ok(Handled::Wait),
                Buffer::None(fault) => return Err(fault),
                Buffer::At(address) => address,
            };
            let pair = cx.shared.pairs.get_mut(owner);
            pair.arrived.keep();
            let message = Message {
                owner,
                epoch: pair.epoch(),
                buffer,
                received: 0,
            };
            self.upload_nap(frame, header, message, cx);
            return Ok(Handled::Done);
        }
        let message = self.messages.remove(&header.source.number());
        let goes_on = |message: &Message| {
            let there = (header.destination, header.address());
            (message.owner, message.received) == there
        };
        match message {
            Some(message) if goes_on(&message) && message.is_own(cx.shared) => {
                self.upload_nap(frame, header, message, cx);
            }
            // The fault of this packet or of an earlier packet of the NAP was counted before.
            message => {
                if let Some(message) = message {
                    message.give_back(cx.shared);
                }
                cx.forget(frame);
            }
        }
        Ok(Handled::Done)
    }

    /// Ends an incomplete NAP from queue pair `from`.
    fn abandon(&mut self, from: QueuePairId, shared: &mut Shared) {
        if let Some(message) = self.messages.remove(&from.number()) {
            message.give_back(shared);
        }
    }

    /// Writes the data of a NAP's packet to its buffer.
    fn upload_nap(
        &mut self,
        frame: BusFrame,
        header: &NetworkHeader,
        mut message: Message,
        cx: &mut Context<'_>,
    ) {
        let end = header.address() + u64::from(header.len());
        if header.poisoned || end > NAP_BUFFER {
            message.give_back(cx.shared);
            return cx.forget(frame);
        }
        let (owner, buffer) = (header.destination, message.buffer);
        cx.upload(frame, (owner, buffer + header.address(), header.len()));
        message.received = end;
        if header.event {
            cx.shared.pairs.get_mut(owner).arrived.give_back();
            let event = Event {
                kind: EventKind::Nap,
                fault: None,
                peer: header.source,
                len: end as u32,
                word: buffer,
            };
            cx.tell_receiver(owner, &event);
        } else {
            self.messages.insert(header.source.number(), message);
        }
    }

    /// The time of the next event after `now`.
    pub(super) fn due_after(&self, now: Time) -> Time {
        let later = self.arrived.iter().filter_map(|packets| {
            let mut due = packets.iter().map(|(due, _)| *due);
            due.find(|due| *due > now)
        });
        later.min().unwrap_or(Time::NEVER)
    }
}

impl Message {
    /// Whether the queue pair has the same owner as at the begin of the NAP.
    fn is_own(&self, shared: &Shared) -> bool {
        shared.pairs.get(self.owner).epoch() == self.epoch
    }

    /// Returns the buffer and the entry for the event, if the queue pair has the same owner.
    fn give_back(&self, shared: &mut Shared) {
        if self.is_own(shared) {
            let pair = shared.pairs.get_mut(self.owner);
            pair.arrived.give_back();
            pair.buffers.put_back(self.buffer);
        }
    }
}

fn receive_put(
    frame: BusFrame,
    header: &NetworkHeader,
    cx: &mut Context<'_>,
) -> Result<Handled, Fault> {
    let owner = header.destination;
    if header.event && !cx.shared.pairs.get(owner).arrived.has_room() {
        return Err(Fault::RingFull);
    }
    cx.upload(frame, (owner, header.address(), header.len()));
    if header.event {
        let event = Event {
            kind: EventKind::Put,
            fault: None,
            peer: header.source,
            len: header.len(),
            word: header.address() + u64::from(header.len()),
        };
        cx.tell_receiver(owner, &event);
    }
    Ok(Handled::Done)
}

/// Handles a refusal of data that a GET of this side has requested, and reports it to the owner of the queue pair.
fn receive_refusal(
    frame: BusFrame,
    header: &NetworkHeader,
    cx: &mut Context<'_>,
) -> Result<Handled, Fault> {
    let owner = header.destination;
    let (label, fault) = refusal_of(header.address());
    if !cx.shared.pairs.get(owner).arrived.has_room() {
        return Err(Fault::RingFull);
    }
    let event = Event {
        kind: EventKind::Put,
        fault: Some(fault),
        peer: header.source,
        len: 0,
        word: label.into(),
    };
    cx.stop(owner.function(), fault, None);
    cx.tell_receiver(owner, &event);
    cx.forget(frame);
    Ok(Handled::Done)
}

/// Converts a GET into a message of this side, which answers it.
fn receive_get(
    frame: BusFrame,
    header: &NetworkHeader,
    sender: &mut Sender,
    cx: &mut Context<'_>,
) -> Handled {
    let (from, to) = (header.destination, header.source);
    if !sender.takes_get(from.function()) {
        return Handled::Wait;
    }
    let content = &cx.fx.store()[frame.packet];
    let descriptor = Descriptor::parse(&content.payload()[..header.len() as usize]);
    let descriptor = descriptor.map_err(Fault::from);
    let label = descriptor.as_ref().map_or(0, |descriptor| descriptor.label);
    let born = content.stamp.born;
    match cx.shared.admits(header).and(descriptor) {
        Ok(Descriptor {
            body: Body::Get { sources, targets },
            tell_sender,
            label,
            probe,
            ..
        }) => {
            let address = Address {
                source: from,
                epoch: cx.shared.pairs.get(from).epoch(),
                destination: to,
                key: header.magic,
                tell_sender: false,
                tell_receiver: tell_sender,
                is_answer: true,
                label,
                probe,
                born,
            };
            sender.take_get(address, sources, targets);
            cx.fx.store().release(frame.packet);
        }
        refused => {
            let fault = refused.err().unwrap_or(Fault::Descriptor);
            cx.drop_packet(from.function(), fault, frame.packet);
            cx.refuse_get((from, to), header.magic, (label, fault));
        }
    }
    cx.return_space(frame.space());
    Handled::Done
}
