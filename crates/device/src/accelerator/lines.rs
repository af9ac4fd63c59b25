//! The cache of an accelerator in time: what accesses to its lines take, and its messages.

use coherence::{Access, Agent, Answer, Event, Need, SetAssociative};
use kernel::{Span, Time};
use protocol::coherence::{
    AgentId, LINE_BYTES, Line, LineAtomic, LineData, Message, Request, TransactionId, WriteRange,
};
use transaction::{Outbox, Packing};

use super::AcceleratorParameters;

/// The cache and the messages that wait for the link.
#[derive(Debug)]
pub(super) struct Lines {
    agent: Agent<LineData>,
    /// The lines that are in the first of two levels, as far as the cache has them at all.
    first: Option<SetAssociative<()>>,
    pub(super) outbox: Outbox,
    latencies: Latencies,
    /// When the port takes the next line.
    free: Time,
    /// The parts that wait for their lines, by transaction.
    asked: Vec<Option<(u64, Part)>>,
    /// Parts that have asked.
    begun: u64,
    out: Vec<Message<LineData>>,
    counters: CacheCounters,
}

#[derive(Clone, Copy, Debug)]
struct Latencies {
    cache: Span,
    second: Span,
    read: Span,
    miss: Span,
    snoop: Span,
    send: Span,
    interval: Span,
    /// Requests at the port that an atomic operation is.
    atomic: u64,
}

/// What a cache has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounters {
    /// Accesses to lines that it could serve by itself.
    pub hits: u64,
    /// Accesses that it had to ask the home agent for.
    pub misses: u64,
    /// Times that the home agent asked for a line.
    pub snoops: u64,
}

/// A part of an access: some bytes of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Whose access it is.
    pub(super) maker: Maker,
    /// What is done.
    pub(super) deed: Deed,
    /// The physical address.
    pub(super) address: u64,
    /// How many bytes.
    pub(super) len: usize,
    /// Where they stand in the region.
    pub(super) offset: u64,
}

/// Who makes an access, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Maker {
    /// Accesses one after the other.
    Work(usize),
    /// A lock engine.
    Engine(usize),
}

/// What is done to some bytes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// They are read.
    Read,
    /// They are written.
    Write,
    /// They are a value that is changed with nothing in between.
    Atomic(LineAtomic),
}

/// How a part begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begun {
    /// It can be done now, and ends then.
    Hit(Time),
    /// It ends when the home agent has answered.
    Asked,
    /// It must be tried again.
    Wait,
}

/// What a message brought.
#[derive(Clone, Copy, Debug)]
pub(super) enum Brought {
    /// A part can be done now, before anything else, and ends then.
    Ready(Part, Time),
    /// The home agent has done a part, where this value was before, if it is told.
    Done(Part, Time, u128),
    /// Nothing that a part waits for.
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
        let (cache, first) = geometries.expect("a plan has caches that can be built");
        Lines {
            agent: Agent::new(id, cache, parameters.outstanding as usize),
            first: first.map(SetAssociative::new),
            outbox: Outbox::new(packing),
            latencies: Latencies {
                cache: parameters.cache_latency,
                second: parameters.second_latency,
                read: parameters.data_latency,
                miss: parameters.miss_latency,
                snoop: parameters.snoop_latency,
                send: send_latency,
                interval: parameters.line_interval(),
                atomic: parameters.atomic_accesses.into(),
            },
            free: Time::ZERO,
            asked: vec![None; parameters.outstanding as usize],
            begun: 0,
            out: Vec::new(),
            counters: CacheCounters::default(),
        }
    }

    pub(super) fn agent(&self) -> &Agent<LineData> {
        &self.agent
    }

    pub(super) fn counters(&self) -> CacheCounters {
        self.counters
    }

    /// Whether it may ask for a line now.
    pub(super) fn is_open(&self) -> bool {
        self.agent.is_open()
    }

    /// How many parts have asked for their lines until now.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// Whether all of the first so many have them.
    pub(super) fn have_come(&self, first: u64) -> bool {
        self.asked
            .iter()
            .flatten()
            .all(|(number, _)| *number >= first)
    }

    /// When the port takes a line that is there `now`.
    fn slot(&self, now: Time) -> Time {
        self.free.max(now)
    }

    /// Begins a part.
    pub(super) fn begin(&mut self, part: Part, now: Time) -> Begun {
        let line = Line::of(part.address);
        let at = self.slot(now);
        let access = match part.deed {
            Deed::Read => self.agent.access(line, Need::Read, &mut self.out),
            Deed::Write if part.len == LINE_BYTES => {
                self.agent.access(line, Need::WriteAll, &mut self.out)
            }
            Deed::Write => self.agent.access(line, Need::Write, &mut self.out),
            // Near, if the line is held alone; otherwise at home.
            Deed::Atomic(_) if self.agent.state(line).may_write() => {
                self.agent.access(line, Need::Write, &mut self.out)
            }
            Deed::Atomic(atomic) => {
                self.agent
                    .at_home(line, Request::Atomic(atomic), &mut self.out)
            }
        };
        let requests = match part.deed {
            Deed::Read | Deed::Write => 1,
            Deed::Atomic(_) => self.latencies.atomic,
        };
        let lookup = self.latencies.cache * requests + self.second_level(line);
        let ready = at + lookup + self.latencies.miss + self.latencies.send;
        for message in self.out.drain(..) {
            self.outbox.push(ready, message);
        }
        match access {
            Access::Wait => return Begun::Wait,
            Access::Hit => self.counters.hits += 1,
            Access::Begun(_) => self.counters.misses += 1,
        }
        self.free = at + self.latencies.interval * requests;
        if let Some(first) = &mut self.first {
            first.admit(line, ());
        }
        match access {
            Access::Begun(transaction) => {
                self.asked[usize::from(transaction.0)] = Some((self.begun, part));
                self.begun += 1;
                Begun::Asked
            }
            _ => Begun::Hit(at + lookup + self.behind(part.deed)),
        }
    }

    /// How much longer it takes to find a line that the first level does not have.
    fn second_level(&self, line: Line) -> Span {
        match &self.first {
            Some(first) if first.get(line).is_none() => self.latencies.second,
            _ => Span::ZERO,
        }
    }

    /// How much longer what brings data takes.
    fn behind(&self, deed: Deed) -> Span {
        match deed {
            Deed::Write => Span::ZERO,
            Deed::Atomic(atomic) if !atomic.returns() => Span::ZERO,
            Deed::Read | Deed::Atomic(_) => self.latencies.read,
        }
    }

    /// A message arrives.
    pub(super) fn receive(&mut self, message: Message<LineData>, now: Time) -> Brought {
        let snoops = matches!(message.content, protocol::coherence::Content::Snoop(..));
        let event = self.agent.receive(message, &mut self.out);
        let mut ready = now + self.latencies.send;
        if snoops {
            self.counters.snoops += 1;
            ready += self.latencies.snoop;
        }
        for message in self.out.drain(..) {
            self.outbox.push(ready, message);
        }
        match event {
            Event::Ready(transaction, _) => {
                let part = self.asker(transaction);
                Brought::Ready(part, now + self.behind(part.deed))
            }
            Event::Done(transaction, answer) => {
                let part = self.asker(transaction);
                let old = match answer {
                    Answer::Old(old) => old,
                    Answer::Nothing | Answer::Data(_) => 0,
                };
                Brought::Done(part, now + self.behind(part.deed), old)
            }
            Event::Room => Brought::Nothing,
        }
    }

    fn asker(&mut self, transaction: TransactionId) -> Part {
        let asked = self.asked[usize::from(transaction.0)].take();
        asked.expect("a line comes to whoever asked for it").1
    }

    /// The bytes of a part that may be read.
    pub(super) fn read(&self, part: Part) -> &[u8] {
        let data = self.agent.data(Line::of(part.address));
        let data = data.expect("what may be read is there");
        &data.0[part.address as usize % LINE_BYTES..][..part.len]
    }

    /// Writes those of a part that may be written.
    pub(super) fn write(&mut self, part: Part, bytes: &[u8]) {
        let offset = part.address as usize % LINE_BYTES;
        let range = WriteRange::new(offset, part.len).expect("a part is some bytes of a line");
        let mut data = LineData([0; LINE_BYTES]);
        data.0[offset..offset + part.len].copy_from_slice(bytes);
        self.agent.write(Line::of(part.address), range, &data);
    }

    /// Carries out an atomic operation on a value that may be written: what was there before.
    pub(super) fn change(&mut self, atomic: &LineAtomic, part: Part) -> u128 {
        self.agent.change(Line::of(part.address), atomic)
    }
}
