//! Requests of devices without caches to a coherent memory: they wait until the home agent has made the necessary snoops.

use std::collections::VecDeque;

use kernel::{Effects, Port};
use packet::PacketId;
use protocol::coherence::{
    AgentId, Content, LINE_BYTES, Line, LineData, Message, Request, TransactionId, WriteRange,
};
use protocol::{AtomicRequest, Header, Kind, MemoryRequest};
use transaction::written;

use super::{Coherent, Event};
use crate::{Cpu, RootComplex, Route};

/// Waiting packets from below, in order of arrival; none passes another.
#[derive(Debug, Default)]
pub(super) struct Io {
    waiting: VecDeque<(Port, PacketId)>,
    /// The lines that were requested from the home agent for the first packet; `done` counts the completed ones.
    requested: Option<Vec<Line>>,
    done: usize,
    /// Event an atomic operation found.
    old: Option<u128>,
}

/// The agent ID of devices without caches: the highest one.
pub(super) const IO: AgentId = match AgentId::new(AgentId::COUNT as u8 - 1) {
    Some(agent) => agent,
    None => AgentId::HOME,
};

impl Coherent {
    /// Whether a packet must wait, for earlier packets or for caches.
    fn holds_up(&self, header: &Header) -> bool {
        if !self.io.waiting.is_empty() {
            return true;
        }
        match &header.kind {
            Kind::MemoryRead(request) | Kind::MemoryWrite(request) => {
                lines(request).any(|line| self.home.is_held(line))
            }
            Kind::Atomic(_) => true,
            _ => false,
        }
    }
}

impl<C: Cpu> RootComplex<C> {
    /// Whether a packet from below must wait for caches; if so, it is kept here.
    pub(crate) fn waits_for_caches(
        &mut self,
        port: Port,
        packet: PacketId,
        header: &Header,
        fx: &mut Effects<'_, Self>,
    ) -> bool {
        let for_memory = match &header.kind {
            Kind::MemoryRead(request) | Kind::MemoryWrite(request) => self.memory.holds(request),
            Kind::Atomic(request) => self.memory.holds(&request.range()),
            _ => false,
        };
        let Some(coherent) = &mut self.coherent else {
            return false;
        };
        let nothing_waits = coherent.io.waiting.is_empty();
        if nothing_waits && !(for_memory && coherent.holds_up(header)) {
            return false;
        }
        coherent.io.waiting.push_back((port, packet));
        if nothing_waits {
            self.advance_io(fx);
            self.advance_coherence(fx);
        }
        true
    }

    /// Handles a completion of the home agent for the first waiting packet.
    pub(super) fn complete_for_io(
        &mut self,
        message: &Message<LineData>,
        fx: &mut Effects<'_, Self>,
    ) {
        let Some(coherent) = &mut self.coherent else {
            return;
        };
        let io = &mut coherent.io;
        io.done += 1;
        if let Content::CompAtomic(_, old) = message.content {
            io.old = Some(old.number());
        }
        self.advance_io(fx);
    }

    /// Continues with the waiting packets as far as possible.
    fn advance_io(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some(coherent) = &self.coherent
            && let Some((port, packet)) = coherent.io.waiting.front().copied()
        {
            let header = *fx.store()[packet].header();
            if coherent.io.requested.is_none() {
                self.send_io_requests(packet, &header, fx);
            }
            let Some(coherent) = &mut self.coherent else {
                return;
            };
            let io = &mut coherent.io;
            let Some(lines) = io.requested.take_if(|lines| lines.len() == io.done) else {
                return;
            };
            io.done = 0;
            io.waiting.pop_front();
            let old = io.old.take();
            match (&header.kind, old) {
                (Kind::Atomic(request), Some(old)) => {
                    self.answer_atomic(port, packet, request, old, fx);
                }
                (Kind::MemoryWrite(_), _) => {
                    // The home agent has written these lines, and another agent may have written them since: their bytes are kept.
                    let base = self.memory.base();
                    let offsets = lines.iter().map(|line| line.address() - base);
                    let keep = |offset| {
                        let mut bytes = [0; LINE_BYTES];
                        self.memory.bytes().read(offset, &mut bytes);
                        (offset, bytes)
                    };
                    let kept: Vec<(u64, [u8; LINE_BYTES])> = offsets.map(keep).collect();
                    self.route_now(port, packet, &header, fx);
                    for (offset, bytes) in kept {
                        self.memory.bytes_mut().write(offset, &bytes);
                    }
                }
                _ => self.route_now(port, packet, &header, fx),
            }
        }
    }

    /// Sends the requests that the first waiting packet needs to the home agent.
    fn send_io_requests(&mut self, packet: PacketId, header: &Header, fx: &mut Effects<'_, Self>) {
        let Some(coherent) = &mut self.coherent else {
            return;
        };
        let now = fx.now();
        let content = &fx.store()[packet];
        let for_memory = self.routes.of(header) == Route::Elsewhere;
        let asks = match &header.kind {
            Kind::MemoryRead(request) if for_memory => reads(&coherent.home_held(request)),
            // Either all lines or none: a line that is free now may be held when the others are complete.
            Kind::MemoryWrite(request)
                if for_memory
                    && self.memory.holds(request)
                    && !coherent.home_held(request).is_empty() =>
            {
                writes(request, written(content, request))
            }
            Kind::Atomic(request) if for_memory => {
                let atomic = request.on_line(content.payload());
                vec![(Line::of(request.address()), Request::Atomic(atomic))]
            }
            _ => Vec::new(),
        };
        coherent.io.requested = Some(asks.iter().map(|(line, _)| *line).collect());
        for (number, (line, request)) in asks.into_iter().enumerate() {
            let message = Message {
                source: IO,
                target: AgentId::HOME,
                transaction: TransactionId(number as u16),
                content: Content::Request(line, request),
            };
            coherent.under_way.push(now, Event::Home(message));
        }
    }

    /// Completes an atomic operation that the home agent has executed.
    fn answer_atomic(
        &mut self,
        port: Port,
        packet: PacketId,
        request: &AtomicRequest,
        old: u128,
        fx: &mut Effects<'_, Self>,
    ) {
        let header = *fx.store()[packet].header();
        let completion = self.atomic_completion(packet, request, old, fx);
        fx.store().release(packet);
        self.free(port, &header, fx);
        self.put_down(port, completion, fx);
    }
}

impl Coherent {
    /// The lines of a request that an agent may hold.
    fn home_held(&self, request: &MemoryRequest) -> Vec<Line> {
        lines(request)
            .filter(|line| self.home.is_held(*line))
            .collect()
    }
}

fn lines(request: &MemoryRequest) -> impl Iterator<Item = Line> + use<> {
    let first = request.first_byte();
    let last = first + u64::from(request.byte_len()).max(1) - 1;
    (Line::of(first).number()..=Line::of(last).number()).map(Line::numbered)
}

fn reads(held: &[Line]) -> Vec<(Line, Request<LineData>)> {
    held.iter().map(|line| (*line, Request::ReadOnce)).collect()
}

fn writes(request: &MemoryRequest, bytes: &[u8]) -> Vec<(Line, Request<LineData>)> {
    let (first, end) = (
        request.first_byte(),
        request.first_byte() + bytes.len() as u64,
    );
    let ask = |line: Line| {
        let from = first.max(line.address());
        let until = end.min(line.address() + LINE_BYTES as u64);
        let place = (from - line.address()) as usize;
        let range = WriteRange::new(place, until.saturating_sub(from) as usize)?;
        let mut data = LineData([0; LINE_BYTES]);
        let part = &bytes[(from - first) as usize..(until - first) as usize];
        data.0[place..place + part.len()].copy_from_slice(part);
        Some((line, Request::WriteUnique(range, data)))
    };
    lines(request).filter_map(ask).collect()
}
