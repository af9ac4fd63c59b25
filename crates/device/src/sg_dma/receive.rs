//! The receiving state machine: completions, register accesses, and writes of peers.

use kernel::{Effects, Span, Time};
use packet::{FlowId, PacketId, Refusal};
use protocol::{Header, Kind, MemoryRequest};
use transaction::{AnsweredPart, written};

use super::list::List;
use super::reader::{Purpose, Reader};
use super::registers::{self, Descriptor, REPLY, Status, Unit, offset};
use super::sender::{Sender, Work};
use super::{ACCEPTANCE_CYCLES, REGISTERS, SgDma, UserLogic, pattern};
use crate::reflector::reflected;

impl SgDma {
    /// Runs the receiving state machine; returns whether any packet was received.
    pub(super) fn receive_all(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let mut any = false;
        while let Some(header) = self.endpoint.front(fx) {
            if let Some(deadline) = self.wait_for_space(&header, fx.now()) {
                self.endpoint.wake_engine(deadline, fx);
                break;
            }
            if let Some(packet) = self.endpoint.take(fx) {
                // `take` may have changed the header: a poisoned completion is returned as a failed one.
                let header = *fx.store()[packet].header();
                self.take(packet, &header, fx);
            }
            any = true;
        }
        any
    }

    /// The time until which a packet must stay in the receive buffer. A write of a peer that finds no space in `EP_RX_FIFO` waits there, and
    /// keeps its credit, for at most [`ACCEPTANCE_CYCLES`].
    fn wait_for_space(&mut self, header: &Header, now: Time) -> Option<Time> {
        let Kind::MemoryWrite(request) = &header.kind else {
            return None;
        };
        if !self.goes_to_fifo(header) {
            return None;
        }
        if self.has_space(request, now) {
            self.waits_since = None;
            self.is_full = false;
            return None;
        }
        let limit = self.cycle * ACCEPTANCE_CYCLES;
        let deadline = *self.waits_since.get_or_insert(now) + limit;
        self.is_full |= deadline <= now;
        let space = self.user.ep_rx.waits_for(request.byte_len() as usize, now);
        (!self.is_full).then(|| space.map_or(deadline, |space| space.min(deadline)))
    }

    fn has_space(&self, request: &MemoryRequest, now: Time) -> bool {
        let (fifo, len) = (&self.user.ep_rx, request.byte_len() as usize);
        fifo.room() >= len && fifo.waits_for(len, now).is_none()
    }

    /// Whether a packet is a write of a peer whose data goes through `EP_RX_FIFO`, to another FIFO or to a sink.
    fn goes_to_fifo(&self, header: &Header) -> bool {
        let logic = self.user.logic;
        [UserLogic::Matrix, UserLogic::SourceSink].contains(&logic) && self.endpoint.is_own(header)
    }

    /// The offset of a request in BAR 2; none if the request is not for BAR 2.
    fn register(&self, request: &MemoryRequest) -> Option<u64> {
        let endpoint = &self.endpoint;
        endpoint.offset_in(REGISTERS as u8, registers::SIZE, request)
    }

    fn take(&mut self, packet: PacketId, header: &Header, fx: &mut Effects<'_, Self>) {
        if let Err(why) = self.endpoint.check_size(header) {
            return self.endpoint.refuse(packet, why, fx);
        }
        match &header.kind {
            Kind::Completion(completion) => {
                let taken = self.tags.take(packet, completion, &mut self.endpoint, fx);
                let Some((_, part)) = taken else {
                    return;
                };
                let data = part.data(completion, fx.store()[packet].payload());
                let bytes = data.ok().map(<[u8]>::to_vec);
                fx.store().release(packet);
                self.answered(&part, bytes.as_deref(), fx);
            }
            Kind::MemoryWrite(request) if let Some(at) = self.register(request) => {
                self.registers
                    .write(at, written(&fx.store()[packet], request));
                self.endpoint.end_write(packet, request, fx);
                for unit in registers::begun(at, request.byte_len()) {
                    self.begin(unit, fx.now());
                }
            }
            Kind::MemoryRead(request) if self.register(request).is_some() => {
                let base = self.endpoint.base_of(REGISTERS);
                self.endpoint
                    .answer(packet, self.registers.memory(), base, fx);
                fx.store().release(packet);
            }
            Kind::MemoryWrite(_)
                if self.user.logic == UserLogic::Reflector && self.endpoint.is_own(header) =>
            {
                let to = self.registers.long(REPLY);
                let back = reflected(packet, self.endpoint.id(), to, fx.store());
                self.reflections.extend(back);
            }
            Kind::MemoryWrite(_)
                if self.user.logic == UserLogic::Loopback && self.endpoint.is_own(header) =>
            {
                self.endpoint
                    .refuse(packet, Refusal::UnsupportedRequest, fx);
            }
            Kind::MemoryWrite(request)
                if self.goes_to_fifo(header) && !self.has_space(request, fx.now()) =>
            {
                self.endpoint.refuse(packet, Refusal::CompleterAbort, fx);
            }
            Kind::MemoryWrite(request)
                if self.user.logic == UserLogic::SourceSink && self.goes_to_fifo(header) =>
            {
                // The sink also stores the data in BAR 0, where it can be checked.
                self.user
                    .ep_rx
                    .give_work(request.byte_len() as usize, fx.now());
                self.endpoint.serve(packet, fx);
            }
            Kind::MemoryWrite(request) if self.goes_to_fifo(header) => {
                let written = written(&fx.store()[packet], request);
                self.user.ep_rx.push(written);
                self.endpoint.end_write(packet, request, fx);
            }
            _ => self.endpoint.serve(packet, fx),
        }
        if header.is_config() {
            self.tags.apply_registers(&self.endpoint);
        }
    }

    /// Handles a part of the data of a request that the engine has made; no bytes if the request has failed.
    pub(super) fn answered(
        &mut self,
        part: &AnsweredPart<Purpose>,
        bytes: Option<&[u8]>,
        fx: &mut Effects<'_, Self>,
    ) {
        let now = fx.now();
        match part.what {
            Purpose::Data { .. } => {
                let Some(reader) = &mut self.reader else {
                    return;
                };
                let pattern = pattern(&self.patterns, reader.work.label);
                let rx = (&mut self.user.rx, pattern, self.user.logic.never_stalls());
                if let Some(told) = reader.take(part, bytes, rx, now) {
                    fx.observe(told);
                }
            }
            Purpose::Descriptors(unit) => match (self.list(unit), bytes) {
                (Some(list), Some(bytes)) => list.fetched(bytes, now),
                (Some(list), None) => list.abandon(),
                (None, _) => {}
            },
        }
    }

    pub(super) fn list(&mut self, unit: Unit) -> Option<&mut List> {
        match unit {
            Unit::Write => self.writer.as_mut().map(|writer| &mut writer.work.list),
            Unit::Read => self.reader.as_mut().map(|reader| &mut reader.work.list),
            Unit::Peer => None,
        }
    }

    /// Handles a write to the `START` register of a unit. A unit with a transfer in progress ignores it.
    fn begin(&mut self, unit: Unit, now: Time) {
        let base = unit.base();
        let label = self.registers.word(base + offset::START);
        let label = label.checked_sub(1).map(FlowId);
        let address = self.registers.long(base + offset::ADDRESS);
        let length = self.registers.long(base + offset::LENGTH);
        let payload = match self.registers.word(base + offset::PAYLOAD) & !3 {
            0 => self.endpoint.write_payload(),
            wanted => wanted.min(self.endpoint.write_payload()),
        };
        let class = self.registers.class(unit);
        let list = match u32::try_from(length) {
            Ok(len) if unit == Unit::Peer => List::command(unit, Descriptor { address, len }, now),
            // The length of 4 GiB or more is invalid, so the transfer ends with an error.
            Err(_) if unit == Unit::Peer => List::in_memory(unit, (1, 0), Span::ZERO, now),
            _ if self.parameters.descriptor_fetch => {
                List::in_host(unit, address, length, self.lookup, now)
            }
            _ => {
                let room = u64::from(self.parameters.descriptors);
                List::in_memory(unit, (length, room), self.lookup, now)
            }
        };
        let work = Work::new(label, list, class);
        match unit {
            Unit::Write if self.writer.is_none() => {
                self.writer = Some(Box::new(Sender { work, payload }));
            }
            Unit::Read if self.reader.is_none() => {
                self.reader = Some(Box::new(Reader::new(work)));
            }
            Unit::Peer if self.peer.is_none() => {
                self.peer = Some(Box::new(Sender { work, payload }));
            }
            _ => return,
        }
        self.registers
            .set(base + offset::STATUS, Status::Running as u32);
    }
}
