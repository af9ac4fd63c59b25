//! Requests of devices without caches to a coherent memory: they wait until the home agent has made the necessary snoops.

use std::collections::VecDeque;

use coherence::Home;
use kernel::Port;
use packet::{Packet, PacketId, Packets};
use protocol::coherence::{
    AgentId, Content, LINE_BYTES, Line, LineData, Message, Request, TransactionId, Word, WriteRange,
};
use protocol::{Header, Kind, MemoryRequest, Passing};
use transaction::written;

use crate::root_complex::memory::MemoryController;

/// The packets from below that wait, in order of arrival. A packet that needs no snoops passes them if it has relaxed or ID-based ordering
/// and the ordering table permits it.
#[derive(Debug, Default)]
pub(super) struct Io {
    waiting: VecDeque<(Port, PacketId)>,
    /// The lines that were requested from the home agent for the first packet. `done` is the number of completed requests.
    requested: Option<Vec<Line>>,
    done: usize,
    /// The previous value that an atomic operation returned.
    old: Option<OldValue>,
}

/// A packet whose wait for caches has ended.
#[derive(Debug)]
pub(in crate::root_complex) struct Released {
    pub(in crate::root_complex) port: Port,
    pub(in crate::root_complex) packet: PacketId,
    /// The lines on which the home agent has executed the packet's request.
    pub(in crate::root_complex) lines: Vec<Line>,
    /// The previous value, if the request was an atomic operation.
    pub(in crate::root_complex) old: Option<OldValue>,
}

/// The previous value that an atomic operation of a device returned at the home agent.
#[derive(Clone, Copy, Debug)]
pub(in crate::root_complex) enum OldValue {
    /// The operation was executed.
    Known(u128),
    /// The value is poisoned: the operation was not executed.
    Poisoned,
}

/// The agent ID of devices without caches: the highest one.
pub(super) const IO: AgentId = match AgentId::new(AgentId::COUNT as u8 - 1) {
    Some(agent) => agent,
    None => AgentId::HOME,
};

impl Io {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether a packet may pass all waiting packets. By default it stays behind them, even if they arrived at other ports.
    pub(super) fn may_be_passed_by(&self, header: &Header, packets: &Packets) -> bool {
        let attributes = header.attributes;
        let mut waiting = self.waiting.iter();
        (attributes.relaxed_ordering || attributes.id_ordering)
            && waiting.all(|(_, packet)| header.may_pass(packets[*packet].header()) != Passing::No)
    }

    pub(super) fn push(&mut self, port: Port, packet: PacketId) {
        self.waiting.push_back((port, packet));
    }

    /// The first packet, if its requests have not been sent to the home agent yet.
    pub(super) fn unasked(&self) -> Option<PacketId> {
        let (_, packet) = self.waiting.front()?;
        self.requested.is_none().then_some(*packet)
    }

    /// The messages to the home agent with the requests of the first packet.
    pub(super) fn ask(
        &mut self,
        requests: Vec<(Line, Request<LineData>)>,
    ) -> impl Iterator<Item = Message<LineData>> + use<> {
        self.requested = Some(requests.iter().map(|(line, _)| *line).collect());
        let requests = requests.into_iter().enumerate();
        requests.map(|(number, (line, request))| Message {
            source: IO,
            target: AgentId::HOME,
            transaction: TransactionId(number as u16),
            content: Content::Request(line, request),
        })
    }

    /// Handles a completion of the home agent for the first packet.
    pub(super) fn complete(&mut self, message: &Message<LineData>) {
        self.done += 1;
        if let Content::CompAtomic(_, old) = message.content {
            let old = old.map(Word::number);
            self.old = Some(old.map_or(OldValue::Poisoned, OldValue::Known));
        }
    }

    /// Removes the first packet, if the home agent has completed its requests.
    pub(super) fn release(&mut self) -> Option<Released> {
        let lines = self.requested.take_if(|lines| lines.len() == self.done)?;
        self.done = 0;
        let (port, packet) = self.waiting.pop_front()?;
        Some(Released {
            port,
            packet,
            lines,
            old: self.old.take(),
        })
    }
}

/// The requests that a packet for memory needs from the home agent.
pub(super) fn requests(
    packet: &Packet,
    home: &Home<LineData>,
    memory: &MemoryController,
) -> Vec<(Line, Request<LineData>)> {
    match &packet.header().kind {
        Kind::MemoryRead(_) | Kind::MemoryWrite(_) if packet.header().attributes.no_snoop => {
            Vec::new()
        }
        Kind::MemoryRead(request) => {
            let held = lines(request).filter(|line| home.is_held(*line));
            held.map(|line| (line, Request::ReadOnce)).collect()
        }
        // If any line is held, all lines are requested, because a line that is not held may be held when the other requests are complete.
        Kind::MemoryWrite(request)
            if memory.holds(request) && lines(request).any(|line| home.is_held(line)) =>
        {
            writes(request, written(packet, request), packet.header().poisoned)
        }
        Kind::Atomic(request) => {
            let atomic = request.on_line(packet.payload());
            vec![(Line::of(request.address()), Request::Atomic(atomic))]
        }
        _ => Vec::new(),
    }
}

pub(super) fn lines(request: &MemoryRequest) -> impl Iterator<Item = Line> + use<> {
    let first = request.first_byte();
    let last = first + u64::from(request.byte_len()).max(1) - 1;
    (Line::of(first).number()..=Line::of(last).number()).map(Line::numbered)
}

fn writes(
    request: &MemoryRequest,
    bytes: &[u8],
    is_poisoned: bool,
) -> Vec<(Line, Request<LineData>)> {
    let (first, end) = (
        request.first_byte(),
        request.first_byte() + bytes.len() as u64,
    );
    let ask = |line: Line| {
        let from = first.max(line.address());
        let until = end.min(line.address() + LINE_BYTES as u64);
        let place = (from - line.address()) as usize;
        let range = WriteRange::new(place, until.saturating_sub(from) as usize)?;
        let part = &bytes[(from - first) as usize..(until - first) as usize];
        let mut data = LineData::part(place, part);
        if is_poisoned {
            data.spoil(place, part.len());
        }
        Some((line, Request::WriteUnique(range, data)))
    };
    lines(request).filter_map(ask).collect()
}
