//! The parts of the controller that both engines use: the PCI Express core, the functions with their queue pairs and faults, and the paths to
//! memory and to the crossbar.

use kernel::{Effects, Span, Time};
use packet::{
    BusFrame, Fault, FlowId, Frame, Observation, Packet, PacketId, Refusal, ReturnedSpace,
};
use protocol::{FunctionId, NetworkHeader, QueuePairId};
use transaction::BridgeSide;

use super::bus::Bus;
use super::descriptor::Probe;
use super::event::Event;
use super::pairs::Pairs;
use super::refusal::refusal;
use super::registers::{FAULTS, FUNCTIONS};
use super::uploads::{Uploaded, Uploads};
use super::{BUS, Nic, NicParameters};
use crate::Endpoint;
use crate::endpoint_parameters::class;
use crate::place::place_of;

/// The parts of the controller that both engines use.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) endpoint: Endpoint,
    pub(super) parameters: NicParameters,
    pub(super) processor: u8,
    cycle: Span,
    functions: [Function; FUNCTIONS],
    pub(super) faults: Box<[[u64; Fault::ALL.len()]; FUNCTIONS]>,
    pub(super) pairs: Pairs,
    pub(super) uploads: Uploads,
    /// The interface to the crossbar for packets of messages.
    pub(super) bus: Bus,
}

/// A function, as its configuration registers define it.
#[derive(Clone, Copy, Debug, Default)]
struct Function {
    id: FunctionId,
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

    /// `bytes` bytes of a message from its byte `first` on, if the message belongs to a flow.
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

    /// The ID of the function that sends the requests of a queue pair.
    pub(super) fn requester(&self, owner: QueuePairId) -> FunctionId {
        self.functions[usize::from(owner.function())].id
    }

    /// The properties of this side that the bridge needs. The physical function sends the requests of other processors.
    pub(super) fn side(&self) -> BridgeSide {
        BridgeSide {
            id: self.functions[0].id,
            max_payload: self.endpoint.max_payload(),
        }
    }

    /// The size of the largest read request in bytes.
    pub(super) fn largest_read(&self) -> u32 {
        let wanted = self.parameters.read_request.0 as u32;
        wanted.min(self.endpoint.max_read_request())
    }

    /// Returns an error unless a packet is for an open queue pair of this processor and has its key.
    pub(super) fn admits(&self, header: &NetworkHeader) -> Result<(), Fault> {
        if header.destination.processor() != self.processor {
            return Err(Fault::NoDestination);
        }
        if !self.is_master(header.destination.function()) {
            return Err(Fault::ClosedPair);
        }
        self.pairs.get(header.destination).admits(header.magic)
    }

    /// The time of the next event after `now`.
    pub(super) fn due_after(&self, now: Time) -> Time {
        self.bus.due_after(now).min(self.uploads.due_after(now))
    }
}

/// The parts of the controller that both engines use, and the effects of the current event.
pub(super) struct Context<'c> {
    pub(super) shared: &'c mut Shared,
    pub(super) fx: Effects<'c, Nic>,
}

impl<'c> Context<'c> {
    pub(super) fn new(shared: &'c mut Shared, fx: &'c mut Effects<'_, Nic>) -> Self {
        Context {
            shared,
            fx: fx.reborrow(),
        }
    }

    /// The time `cycles` cycles from now.
    pub(super) fn after(&self, cycles: u32) -> Time {
        self.fx.now() + self.shared.cycles(cycles)
    }

    /// Returns buffer space to the crossbar, if there is any to return.
    pub(super) fn return_space(&mut self, space: impl Into<Option<ReturnedSpace>>) {
        if let Some(space) = space.into() {
            self.fx.send(BUS, Frame::ReturnedSpace(space), Span::ZERO);
        }
    }

    /// Releases a packet whose data is not used, and reports the loss of the data. The fault was counted before.
    pub(super) fn forget(&mut self, frame: BusFrame) {
        if let Some(Lost {
            flow,
            bytes,
            offset,
        }) = Lost::of(&self.fx.store()[frame.packet])
        {
            let lost = Observation::failed(flow, bytes, Some(offset));
            self.fx.observe(lost);
        }
        self.fx.store().release(frame.packet);
        self.return_space(frame.space());
    }

    /// Counts a fault of a function in a counter that the owner of the function can read, and reports the bytes of a flow that are lost because
    /// of the fault.
    pub(super) fn stop(&mut self, function: u8, fault: Fault, lost: Option<Lost>) {
        let count = &mut self.shared.faults[usize::from(function)][fault.index()];
        *count += 1;
        let at = FAULTS + 8 * fault.index() as u64;
        let bytes_of_count = count.to_le_bytes();
        self.shared
            .endpoint
            .store(place_of(function.into()), at, &bytes_of_count);
        self.fx.observe(Observation::Refused {
            why: Refusal::Nic(fault),
            flow: lost.map(|lost| lost.flow),
            bytes: lost.map_or(0, |lost| lost.bytes),
            offset: lost.map(|lost| lost.offset),
        });
    }

    pub(super) fn drop_packet(&mut self, function: u8, fault: Fault, packet: PacketId) {
        let content = &self.fx.store()[packet];
        let lost = Lost::of(content);
        self.fx.store().release(packet);
        self.stop(function, fault, lost);
    }

    /// Reports to the owner of a queue pair that a message was sent. The ring must have space for the event.
    pub(super) fn tell_sender(&mut self, owner: QueuePairId, event: &Event) {
        let next = self.shared.pairs.get_mut(owner).sent.next();
        self.tell(owner, next, event);
    }

    /// Reports to the owner of a queue pair that data has arrived. The ring must have space for the event.
    pub(super) fn tell_receiver(&mut self, owner: QueuePairId, event: &Event) {
        let next = self.shared.pairs.get_mut(owner).arrived.next();
        self.tell(owner, next, event);
        if let Some(vector) = self.shared.pairs.get(owner).interrupt() {
            let due = self.after(self.shared.parameters.event_cycles);
            let from = (owner.function(), vector);
            self.shared.uploads.add_interrupt(from, due);
        }
    }

    /// Writes an event, after all earlier writes to memory.
    fn tell(&mut self, owner: QueuePairId, (address, phase): (u64, bool), event: &Event) {
        let to = (
            self.shared.requester(owner),
            address,
            self.shared.endpoint.write_payload(),
        );
        let due = self.after(self.shared.parameters.event_cycles);
        let class = class(self.shared.parameters.descriptor_traffic_class);
        let bytes = event.emit(phase);
        self.shared
            .uploads
            .add_event(&bytes, to, (due, class), self.fx.store());
    }

    /// Writes the data of a packet from the crossbar to memory. The function of queue pair `owner` sends the write requests.
    pub(super) fn upload(
        &mut self,
        frame: BusFrame,
        (owner, address, len): (QueuePairId, u64, u32),
    ) {
        let to = (
            self.shared.requester(owner),
            address,
            self.shared.endpoint.write_payload(),
        );
        let now = self.fx.now();
        let content = &self.fx.store()[frame.packet];
        let (stamp, bytes) = (content.stamp, content.payload()[..len as usize].to_vec());
        let any = self
            .shared
            .uploads
            .add(&bytes, stamp, to, (now, Some(frame)), self.fx.store());
        self.fx.store().release(frame.packet);
        if !any {
            self.return_space(frame.space());
        }
    }

    /// The next write request or interrupt message for PCI Express.
    pub(super) fn next_upload(&mut self) -> Option<PacketId> {
        loop {
            match self.shared.uploads.next(self.fx.now())? {
                Uploaded::Write { packet, space } => {
                    self.return_space(space);
                    return Some(packet);
                }
                Uploaded::Interrupt { function, vector } => {
                    let message = self.shared.endpoint.interrupt(
                        place_of(function.into()),
                        vector,
                        &mut self.fx,
                    );
                    if message.is_some() {
                        return message;
                    }
                }
            }
        }
    }

    /// Informs the other side, in the channel for data, why the data that it has requested will not follow.
    pub(super) fn refuse_get(
        &mut self,
        (from, to): (QueuePairId, QueuePairId),
        key: u16,
        reason: (u32, Fault),
    ) {
        let Some(channel) = self.shared.bus.channel_to(to) else {
            return;
        };
        let requester = self.shared.requester(from);
        let packet = refusal((from, to), key, reason, requester, self.fx.store());
        self.shared
            .bus
            .push(channel, packet, self.fx.now(), self.fx.store());
    }
}
