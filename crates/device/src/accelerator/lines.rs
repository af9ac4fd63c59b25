//! The cache of an accelerator: the latencies of accesses to its lines, and its messages.

use coherence::{Access, Agent, Event, HomeAnswer, Need, SetAssociative};
use kernel::{Span, Time};
use protocol::coherence::{
    AgentId, LINE_BYTES, Line, LineAtomic, LineData, Message, Request, TransactionId, WriteRange,
};
use transaction::{Outbox, Packing};

use super::parameters::{AcceleratorParameters, WholeLineRequest};

/// The cache, and the coherence messages that wait for the link.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) agent: Agent<LineData>,
    /// The lines in the first level, if the cache has two levels.
    first: Option<SetAssociative<()>>,
    pub(super) outbox: Outbox,
    parameters: Box<AcceleratorParameters>,
    /// The latency of messages to the link.
    send_latency: Span,
    /// The permission that a write of a whole line needs.
    whole: Need,
    /// The time at which the port can accept the next line.
    free: Time,
    /// The parts that wait for their lines, by transaction, each with its number in the order of all parts that have sent requests.
    asked: Vec<Option<(u64, LineAccess)>>,
    /// Number of parts that have sent requests.
    pub(super) begun: u64,
    out: Vec<Message<LineData>>,
    pub(super) counters: CacheCounters,
}

/// Counters of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounters {
    /// Accesses that hit.
    pub hits: u64,
    /// Accesses that sent a request to the home agent.
    pub misses: u64,
    /// Snoops of the home agent.
    pub snoops: u64,
}

/// A part of an access: some bytes of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineAccess {
    /// The origin of the access.
    pub(super) initiator: Initiator,
    pub(super) operation: Operation,
    /// The physical address.
    pub(super) address: u64,
    /// Number of bytes.
    pub(super) len: usize,
    pub(super) offset: u64,
}

/// The origin of an access, with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Initiator {
    /// A sequence of accesses.
    Work(usize),
    /// A lock engine.
    Engine(usize),
}

/// An operation on some bytes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// A read.
    Read,
    /// A write.
    Write,
    /// An atomic operation.
    Atomic(LineAtomic),
}

/// The result of an attempt to begin a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begun {
    /// The part can be performed now, and ends at this time.
    Hit(Time),
    /// The part ends after the home agent's answer.
    Requested,
    /// The part could not begin and must be tried again.
    Wait,
}

/// The result of a coherence message that the accelerator has received.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    /// The part can be performed now, before the next message, and ends at this time.
    Ready(LineAccess, Time),
    /// The home agent has executed the part: the part, its end, and the previous value, which is 0 if the operation returns none. There is no
    /// value if the data is poisoned; the part was not executed then.
    Done(LineAccess, Time, Option<u128>),
    /// No part has ended.
    Nothing,
}

impl Lines {
    pub(super) fn new(
        id: AgentId,
        packing: Packing,
        send_latency: Span,
        parameters: &AcceleratorParameters,
    ) -> Self {
        let geometries = parameters.geometries();
        let (cache, first) = geometries.expect("a plan has valid cache geometries");
        Lines {
            agent: Agent::new(id, cache, parameters.outstanding as usize),
            first: first.map(SetAssociative::new),
            outbox: Outbox::new(packing),
            send_latency,
            whole: match parameters.whole_line_request {
                WholeLineRequest::MakeUnique => Need::WriteAll,
                WholeLineRequest::ReadUnique => Need::Write,
            },
            free: Time::ZERO,
            // Write-backs have numbers, too, and there are as many of them at most.
            asked: vec![None; 2 * parameters.outstanding as usize],
            begun: 0,
            out: Vec::new(),
            counters: CacheCounters::default(),
            parameters: Box::new(parameters.clone()),
        }
    }

    /// Whether another line may be requested now.
    pub(super) fn is_open(&self) -> bool {
        self.agent.is_open()
    }

    /// Whether the parts with the numbers below `first` have ended. The numbers count the parts that have sent requests.
    pub(super) fn have_ended(&self, first: u64) -> bool {
        self.asked
            .iter()
            .flatten()
            .all(|(number, _)| *number >= first)
    }

    pub(super) fn begin(&mut self, part: LineAccess, now: Time) -> Begun {
        let line = Line::of(part.address);
        let at = self.free.max(now);
        let access = match part.operation {
            Operation::Read => self.agent.access(line, Need::Read, &mut self.out),
            Operation::Write if part.len == LINE_BYTES => {
                self.agent.access(line, self.whole, &mut self.out)
            }
            Operation::Write => self.agent.access(line, Need::Write, &mut self.out),
            // The operation is executed in this cache if the cache is the only holder of the line, and otherwise at the home agent.
            Operation::Atomic(_) if self.agent.state(line).may_write() => {
                self.agent.access(line, Need::Write, &mut self.out)
            }
            Operation::Atomic(atomic) => {
                self.agent
                    .at_home(line, Request::Atomic(atomic), &mut self.out)
            }
        };
        let requests = match part.operation {
            Operation::Atomic(atomic) if atomic.returns() => self.parameters.atomic_accesses.into(),
            Operation::Read | Operation::Write | Operation::Atomic(_) => 1,
        };
        let lookup = self.parameters.cache_latency * requests + self.second_level(line);
        let ready = at + lookup + self.parameters.miss_latency + self.send_latency;
        for message in self.out.drain(..) {
            self.outbox.push(ready, message);
        }
        match access {
            Access::Wait => return Begun::Wait,
            Access::Hit => self.counters.hits += 1,
            Access::Begun(_) => self.counters.misses += 1,
        }
        self.free = at + self.parameters.line_interval() * requests;
        if let Some(first) = &mut self.first {
            first.admit(line, ());
        }
        match access {
            Access::Begun(transaction) => {
                self.asked[usize::from(transaction.0)] = Some((self.begun, part));
                self.begun += 1;
                Begun::Requested
            }
            _ => Begun::Hit(at + lookup + self.behind(part.operation)),
        }
    }

    /// Additional latency of a line that is not in the first level. The first level keeps entries of lines that the cache has lost to a snoop or
    /// an eviction: these count as absent.
    fn second_level(&self, line: Line) -> Span {
        let is_in_first = |first: &SetAssociative<()>| {
            first.get(line).is_some() && self.agent.state(line).may_read()
        };
        match &self.first {
            Some(first) if !is_in_first(first) => self.parameters.second_latency,
            _ => Span::ZERO,
        }
    }

    /// Additional latency of an operation that returns data.
    fn behind(&self, operation: Operation) -> Span {
        match operation {
            Operation::Write => Span::ZERO,
            Operation::Atomic(atomic) if !atomic.returns() => Span::ZERO,
            Operation::Read | Operation::Atomic(_) => self.parameters.data_latency,
        }
    }

    pub(super) fn receive(&mut self, message: Message<LineData>, now: Time) -> Outcome {
        let snoops = matches!(message.content, protocol::coherence::Content::Snoop(..));
        let event = self.agent.receive(message, &mut self.out);
        let mut ready = now + self.send_latency;
        if snoops {
            self.counters.snoops += 1;
            ready += self.parameters.snoop_latency;
        }
        for message in self.out.drain(..) {
            self.outbox.push(ready, message);
        }
        match event {
            Event::Ready(transaction, _) => {
                let part = self.asker(transaction);
                Outcome::Ready(part, now + self.behind(part.operation))
            }
            Event::Done(transaction, answer) => {
                let part = self.asker(transaction);
                let old = match answer {
                    HomeAnswer::Old(old) => old,
                    HomeAnswer::Nothing | HomeAnswer::Data(_) => Some(0),
                };
                Outcome::Done(part, now + self.behind(part.operation), old)
            }
            Event::Freed => Outcome::Nothing,
        }
    }

    fn asker(&mut self, transaction: TransactionId) -> LineAccess {
        let asked = self.asked[usize::from(transaction.0)].take();
        asked.expect("a transaction belongs to a part").1
    }

    /// The data of a part for which the cache has read permission; none if the data is poisoned.
    pub(super) fn read(&self, part: LineAccess) -> Option<&[u8]> {
        let data = self.agent.data(Line::of(part.address));
        let data = data.expect("a readable line has data");
        let offset = part.address as usize % LINE_BYTES;
        (!data.is_poisoned(offset, part.len)).then(|| &data.bytes[offset..][..part.len])
    }

    /// Writes the data of a part for which the cache has write permission.
    pub(super) fn write(&mut self, part: LineAccess, bytes: &[u8]) {
        let offset = part.address as usize % LINE_BYTES;
        let range = WriteRange::new(offset, part.len).expect("a part is some bytes of a line");
        let data = LineData::part(offset, bytes);
        self.agent.write(Line::of(part.address), range, &data);
    }

    /// Executes an atomic operation on a value for which the cache has write permission, and returns the previous value. If the value is
    /// poisoned, the operation is not executed, and there is no result.
    pub(super) fn change(&mut self, atomic: &LineAtomic, part: LineAccess) -> Option<u128> {
        self.agent.change(Line::of(part.address), atomic)
    }
}
