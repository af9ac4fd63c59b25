//! The caches of a host's cores, and the accesses of programs to cache lines.

use std::collections::VecDeque;

use coherence::{Access, Agent, Event, Geometry, HomeAnswer, Need, SetAssociative};
use kernel::{Span, Time};
use protocol::coherence::{
    AgentId, LINE_BYTES, Line, LineAtomic, LineData, Message, Request, TransactionId, WriteRange,
};

use super::{CoherenceParameters, CoreAtomics};

/// An access of a program to a part of a cache line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreAccess {
    /// The number under which the completion of the access is reported.
    pub ticket: u32,
    /// The core.
    pub core: usize,
    /// Address of the first byte.
    pub address: u64,
    /// The operation.
    pub operation: CoreOperation,
}

/// An operation on a part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoreOperation {
    /// Reads this number of bytes.
    Load(usize),
    /// Writes these bytes.
    Store(Vec<u8>),
    /// Executes an atomic operation.
    Atomic(LineAtomic),
}

/// The completion of a core's access: its time, its ticket, and the bytes that were read, or none if they are poisoned.
pub(super) type Done = (Time, u32, Option<Vec<u8>>);

/// A core with its cache.
#[derive(Debug)]
pub(super) struct Core {
    agent: Agent<LineData>,
    /// The first-level cache. It contains only lines that are also in the core's cache.
    first: SetAssociative<()>,
    outstanding: Vec<(TransactionId, CoreAccess)>,
    /// Accesses that have not been able to send a request yet.
    waiting: VecDeque<CoreAccess>,
    atomics: CoreAtomics,
    latency: Latency,
}

#[derive(Clone, Copy, Debug)]
struct Latency {
    first: Span,
    second: Span,
    atomic: Span,
    snoop: Span,
}

impl Core {
    pub(super) fn new(
        id: AgentId,
        parameters: &CoherenceParameters,
        [cache, first]: [Geometry; 2],
    ) -> Self {
        Core {
            agent: Agent::new(id, cache, parameters.core_requests as usize),
            first: SetAssociative::new(first),
            outstanding: Vec::new(),
            waiting: VecDeque::new(),
            atomics: parameters.core_atomics,
            latency: Latency {
                first: parameters.first_cache_latency,
                second: parameters.core_cache_latency,
                atomic: parameters.atomic_latency,
                snoop: parameters.core_snoop_latency,
            },
        }
    }

    pub(super) fn agent(&self) -> &Agent<LineData> {
        &self.agent
    }

    /// The time from an access that misses until its request is sent.
    pub(super) fn lookup(&self) -> Span {
        self.latency.second
    }

    /// Begins an access. If it hits, returns its completion.
    pub(super) fn begin(
        &mut self,
        access: CoreAccess,
        now: Time,
        out: &mut Vec<Message<LineData>>,
    ) -> Option<Done> {
        let line = Line::of(access.address);
        let far = self.atomics == CoreAtomics::Far && !self.agent.state(line).may_write();
        let begun = match &access.operation {
            CoreOperation::Atomic(atomic) if far => {
                self.agent.at_home(line, Request::Atomic(*atomic), out)
            }
            operation => self.agent.access(line, operation.need(), out),
        };
        match begun {
            Access::Hit => {
                let near = self.first.get(line).is_some();
                self.first.admit(line, ());
                let latency = if near {
                    self.latency.first
                } else {
                    self.latency.second
                };
                Some(self.perform(&access, now + latency))
            }
            Access::Begun(transaction) => {
                self.outstanding.push((transaction, access));
                None
            }
            Access::Wait => {
                self.waiting.push_back(access);
                None
            }
        }
    }

    /// Handles a message. Returns the accesses that are complete.
    pub(super) fn receive(
        &mut self,
        message: Message<LineData>,
        now: Time,
        out: &mut Vec<Message<LineData>>,
    ) -> Vec<Done> {
        let mut done = Vec::new();
        match self.agent.receive(message, out) {
            Event::Ready(transaction, line) => {
                let access = self.asker(transaction);
                self.first.admit(line, ());
                done.push(self.perform(&access, now));
            }
            Event::Done(transaction, answer) => {
                let access = self.asker(transaction);
                let bytes = match (answer, &access.operation) {
                    (HomeAnswer::Old(old), CoreOperation::Atomic(atomic)) => {
                        old.map(|old| old.to_le_bytes()[..atomic.width()].to_vec())
                    }
                    _ => Some(Vec::new()),
                };
                done.push((now, access.ticket, bytes));
            }
            Event::Freed => {}
        }
        // Every waiting access tries again, in order.
        for access in std::mem::take(&mut self.waiting) {
            done.extend(self.begin(access, now, out));
        }
        done
    }

    fn asker(&mut self, transaction: TransactionId) -> CoreAccess {
        let index = self
            .outstanding
            .iter()
            .position(|(id, _)| *id == transaction);
        let index = index.expect("a transaction belongs to an access");
        self.outstanding.swap_remove(index).1
    }

    /// Time from a snoop to its response.
    pub(super) fn snoop(&self) -> Span {
        self.latency.snoop
    }

    fn perform(&mut self, access: &CoreAccess, at: Time) -> Done {
        let line = Line::of(access.address);
        let offset = access.address as usize % LINE_BYTES;
        let mut at = at;
        let bytes = match &access.operation {
            CoreOperation::Load(len) => {
                let data = self.agent.data(line).expect("a readable line has data");
                let is_poisoned = data.is_poisoned(offset, *len);
                (!is_poisoned).then(|| data.bytes[offset..offset + len].to_vec())
            }
            CoreOperation::Store(bytes) => {
                let range = WriteRange::new(offset, bytes.len());
                let range = range.expect("a core stores some bytes of a line");
                let data = LineData::part(offset, bytes);
                self.agent.write(line, range, &data);
                Some(Vec::new())
            }
            CoreOperation::Atomic(atomic) => {
                at += self.latency.atomic;
                let old = self.agent.change(line, atomic);
                old.map(|old| old.to_le_bytes()[..atomic.width()].to_vec())
            }
        };
        (at, access.ticket, bytes)
    }
}

impl CoreOperation {
    fn need(&self) -> Need {
        match self {
            CoreOperation::Load(_) => Need::Read,
            CoreOperation::Store(bytes) if bytes.len() == LINE_BYTES => Need::WriteAll,
            CoreOperation::Store(_) | CoreOperation::Atomic(_) => Need::Write,
        }
    }
}
