//! The parts of the controller that both engines use: the PCI Express core, the functions with their queue pairs and faults, and the
//! ways out to memory and to the crossbar.

use kernel::{Effects, Span, Time};
use packet::{BusFrame, Fault, FlowId, Observation, Packet, PacketId, Refusal};
use protocol::{FunctionId, NetworkHeader, QueuePairId};
use transaction::BridgeSide;

use super::bus::Bus;
use super::descriptor::Probe;
use super::event::Event;
use super::pairs::Pairs;
use super::refusal::refusal;
use super::registers::{FAULTS, FUNCTIONS};
use super::uploads::{Uploaded, Uploads};
use super::{Nic, NicParameters, return_space};
use crate::Endpoint;
use crate::endpoint_parameters::class;
use crate::place::place_of;

/// The parts of the controller that both engines use.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) endpoint: Endpoint,
    pub(super) parameters: NicParameters,
    /// The number of this processor.
    pub(super) processor: u8,
    cycle: Span,
    functions: [Function; FUNCTIONS],
    pub(super) faults: Box<[[u64; Fault::ALL.len()]; FUNCTIONS]>,
    pub(super) pairs: Pairs,
    pub(super) uploads: Uploads,
    /// The interface to the crossbar for packets of messages.
    pub(super) bus: Bus,
}

/// A function, with the state of its configuration space.
#[derive(Clone, Copy, Debug, Default)]
struct Function {
    id: FunctionId,
    /// Whether it exists and may send requests.
    is_master: bool,
}

/// Bytes of a flow that will not arrive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    pub(super) flow: FlowId,
    pub(super) bytes: u32,
    /// Offset of the first byte in the flow's region.
    pub(super) offset: u64,
}

impl Lost {
    /// The data of `packet`, if it belongs to a flow.
    pub(super) fn of(packet: &Packet) -> Option<Self> {
        Some(Lost {
            flow: packet.stamp.flow?,
            bytes: packet.data_len(),
            offset: packet.stamp.offset,
        })
    }

    /// The bytes of a message from its byte `first` on, if it belongs to a flow.
    pub(super) fn of_message(probe: &Probe, first: u64, bytes: u64) -> Option<Self> {
        Some(Lost {
            flow: probe.flow?,
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            offset: probe.offset + first,
        })
    }
}

impl Shared {
    pub(super) fn new(
        endpoint: Endpoint,
        parameters: NicParameters,
        processor: u8,
        cycle: Span,
        bus: Bus,
    ) -> Self {
        Self {
            endpoint,
            parameters,
            processor,
            cycle,
            functions: [Function::default(); FUNCTIONS],
            faults: Box::default(),
            pairs: Pairs::new(processor),
            uploads: Uploads::default(),
            bus,
        }
    }

    pub(super) fn cycles(&self, count: u32) -> Span {
        self.cycle * u64::from(count)
    }

    /// Applies the registers of the functions.
    pub(super) fn apply_registers(&mut self) {
        for (function, known) in (0..).zip(&mut self.functions) {
            *known = Function {
                id: self.endpoint.id_of(place_of(function)),
                is_master: self.endpoint.is_bus_master_at(place_of(function)),
            };
        }
    }

    /// Whether a function exists and may send requests.
    pub(super) fn is_master(&self, function: u8) -> bool {
        self.functions[usize::from(function)].is_master
    }

    /// The function that sends the requests of a queue pair.
    pub(super) fn requester(&self, owner: QueuePairId) -> FunctionId {
        self.functions[usize::from(owner.function())].id
    }

    /// This side of the bridge, for requests of other processors: the physical function.
    pub(super) fn side(&self) -> BridgeSide {
        BridgeSide {
            id: self.functions[0].id,
            max_payload: self.endpoint.max_payload(),
        }
    }

    /// The size of the largest read request.
    pub(super) fn largest_read(&self) -> u32 {
        let wanted = self.parameters.read_request.0 as u32;
        wanted.min(self.endpoint.max_read_request())
    }

    /// Counts a fault of a function in a counter that the owner of the function can read, and reports the bytes of a flow that the fault
    /// has lost.
    pub(super) fn stop(
        &mut self,
        function: u8,
        fault: Fault,
        lost: Option<Lost>,
        fx: &mut Effects<'_, Nic>,
    ) {
        let count = &mut self.faults[usize::from(function)][fault.index()];
        *count += 1;
        let at = FAULTS + 8 * fault.index() as u64;
        let bytes_of_count = count.to_le_bytes();
        self.endpoint
            .store(place_of(function.into()), at, &bytes_of_count);
        fx.observe(Observation::Refused {
            why: Refusal::Nic(fault),
            flow: lost.map(|lost| lost.flow),
            bytes: lost.map_or(0, |lost| lost.bytes),
            offset: lost.map(|lost| lost.offset),
        });
    }

    /// Drops a packet, with a fault.
    pub(super) fn drop_packet(
        &mut self,
        function: u8,
        fault: Fault,
        packet: PacketId,
        fx: &mut Effects<'_, Nic>,
    ) {
        let content = &fx.store()[packet];
        let lost = Lost::of(content);
        fx.store().release(packet);
        self.stop(function, fault, lost, fx);
    }

    /// Whether a packet is for an open queue pair and has its key.
    pub(super) fn admits(&self, header: &NetworkHeader) -> Result<(), Fault> {
        if header.destination.processor() != self.processor {
            return Err(Fault::NoDestination);
        }
        if !self.is_master(header.destination.function()) {
            return Err(Fault::ClosedPair);
        }
        self.pairs.get(header.destination).admits(header.magic)
    }

    /// Reports to the owner of a queue pair that a message was sent; its ring has space for the event.
    pub(super) fn tell_sender(
        &mut self,
        owner: QueuePairId,
        event: &Event,
        fx: &mut Effects<'_, Nic>,
    ) {
        let next = self.pairs.get_mut(owner).sent.next();
        self.tell(owner, next, event, fx);
    }

    /// Reports to the owner of a queue pair that data has arrived; its ring has space for the event.
    pub(super) fn tell_receiver(
        &mut self,
        owner: QueuePairId,
        event: &Event,
        fx: &mut Effects<'_, Nic>,
    ) {
        let next = self.pairs.get_mut(owner).arrived.next();
        self.tell(owner, next, event, fx);
        if let Some(vector) = self.pairs.get(owner).interrupt() {
            let due = fx.now() + self.cycles(self.parameters.event_cycles);
            let from = (owner.function(), vector);
            self.uploads.add_interrupt(from, due);
        }
    }

    /// Writes an event, after all earlier writes to memory.
    fn tell(
        &mut self,
        owner: QueuePairId,
        (address, phase): (u64, bool),
        event: &Event,
        fx: &mut Effects<'_, Nic>,
    ) {
        let to = (self.requester(owner), address, self.endpoint.max_payload());
        let due = fx.now() + self.cycles(self.parameters.event_cycles);
        let class = class(self.parameters.descriptor_traffic_class);
        let bytes = event.emit(phase);
        self.uploads.add_event(&bytes, to, (due, class), fx.store());
    }

    /// Writes the data of a packet from the crossbar to memory, with the function of queue pair `owner`.
    pub(super) fn upload(
        &mut self,
        frame: BusFrame,
        (owner, address, len): (QueuePairId, u64, u32),
        fx: &mut Effects<'_, Nic>,
    ) {
        let to = (self.requester(owner), address, self.endpoint.max_payload());
        let now = fx.now();
        let content = &fx.store()[frame.packet];
        let (stamp, bytes) = (content.stamp, content.payload()[..len as usize].to_vec());
        let any = self
            .uploads
            .add(&bytes, stamp, to, (now, Some(frame)), fx.store());
        fx.store().release(frame.packet);
        if !any {
            return_space(frame.space(), fx);
        }
    }

    /// The next write request or message for PCI Express.
    pub(super) fn next_upload(&mut self, fx: &mut Effects<'_, Nic>) -> Option<PacketId> {
        loop {
            match self.uploads.next(fx.now())? {
                Uploaded::Write { packet, space } => {
                    if let Some(space) = space {
                        return_space(space, fx);
                    }
                    return Some(packet);
                }
                Uploaded::Interrupt { function, vector } => {
                    let message = self
                        .endpoint
                        .interrupt(place_of(function.into()), vector, fx);
                    if message.is_some() {
                        return message;
                    }
                }
            }
        }
    }

    /// Reports to the other side, in the channel of data, why the data that it requested will not follow.
    pub(super) fn refuse_get(
        &mut self,
        (from, to): (QueuePairId, QueuePairId),
        key: u16,
        reason: (u32, Fault),
        fx: &mut Effects<'_, Nic>,
    ) {
        let Some(channel) = self.bus.channel_to(to) else {
            return;
        };
        let requester = self.requester(from);
        let packet = refusal((from, to), key, reason, requester, fx.store());
        self.bus.push(channel, packet, fx.now(), fx.store());
    }

    /// The time of the next event after `now`.
    pub(super) fn due_after(&self, now: Time) -> Time {
        self.bus.due_after(now).min(self.uploads.due_after(now))
    }
}
