//! The home agent of a memory: it records the holders of each line, and serves one request for a line at a time.

use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};

use protocol::coherence::{
    AgentId, Content, Data, Grant, Line, Message, Request, Snoop, State, TransactionId, Word,
};

use crate::directory::{Directory, Holders, agents, bit};
use crate::numbered::Numbered;

/// The memory behind a home agent.
pub trait Backing<D> {
    /// Reads a line.
    fn read(&mut self, line: Line) -> D;
    /// Writes a line.
    fn write(&mut self, line: Line, data: &D);
}

/// A home agent with its directory.
///
/// The home agent serves one request for a line at a time, from the first snoop to the requester's `CompAck`. Therefore, no snoop can pass
/// a grant, and every agent can answer every snoop at once. Messages may arrive in any order, with one exception: no message of an agent
/// may pass an older `CompAck` of this agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Home<D> {
    directory: Directory,
    /// Requests in service, by number.
    active: Numbered<Active<D>>,
    /// Answered requests that wait for `CompAck`, sorted by requester and transaction.
    granted: Vec<((AgentId, TransactionId), usize)>,
    /// Requests that wait for an earlier request for the same line.
    waiting: BTreeMap<Line, VecDeque<Incoming<D>>>,
    /// The lost agents, one bit each.
    lost: u64,
}

/// A request and its requester.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Incoming<D> {
    who: AgentId,
    transaction: TransactionId,
    line: Line,
    request: Request<D>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Active<D> {
    incoming: Incoming<D>,
    /// The agents whose snoop responses are outstanding, one bit each.
    snooped: u64,
    /// Whether an agent has sent the line's data.
    forwarded: bool,
}

/// A message of the home agent with its line and the origin of its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent<D> {
    /// The message.
    pub message: Message<D>,
    /// The line of the message.
    pub line: Line,
    /// The origin of the content of the message.
    pub origin: Origin,
}

/// The origin of a message's content, which determines its latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The directory; no data is read.
    Directory,
    /// The memory.
    Memory,
    /// Another agent, which has just sent its snoop response.
    Agent,
}

impl<D: Data> Home<D> {
    /// The home agent of a memory that begins with the line `first`; no agent holds a line.
    pub fn new(first: Line) -> Self {
        Home {
            directory: Directory::new(first),
            active: Numbered::default(),
            granted: Vec::new(),
            waiting: BTreeMap::new(),
            lost: 0,
        }
    }

    /// Removes a lost agent and all lines that it holds. Returns the lines that the agent may have written and did not write back. Requests
    /// that wait for a snoop response of the agent continue with the data in memory.
    pub fn lose(
        &mut self,
        agent: AgentId,
        memory: &mut impl Backing<D>,
        out: &mut Vec<Sent<D>>,
    ) -> Vec<Line> {
        self.lost |= bit(agent);
        let held: Vec<(Line, bool)> = self.held_by(agent).collect();
        for (line, _) in &held {
            let left = self.directory.of(*line).without(agent);
            self.directory.set(*line, left);
        }
        for index in self.active.numbers() {
            if let Some(active) = self.active.get_mut(index)
                && active.snooped & bit(agent) != 0
            {
                active.snooped &= !bit(agent);
                if active.snooped == 0 {
                    self.answer(index, memory, out);
                }
            }
        }
        let unacknowledged = self.granted.extract_if(.., |((who, _), _)| *who == agent);
        let unacknowledged: Vec<usize> = unacknowledged.map(|(_, index)| index).collect();
        for index in unacknowledged {
            self.finish(index, memory, out);
        }
        held.into_iter()
            .filter(|(_, alone)| *alone)
            .map(|(line, _)| line)
            .collect()
    }

    /// Whether a request for the line is in service.
    pub fn is_busy(&self, line: Line) -> bool {
        self.directory.is_busy(line)
    }

    /// Whether an agent may hold the line, or a request for it is in service.
    pub fn is_held(&self, line: Line) -> bool {
        self.directory.of(line) != Holders::Nobody || self.is_busy(line)
    }

    /// The lines that an agent may hold. The flag is true if the agent may have written the line.
    pub fn held_by(&self, agent: AgentId) -> impl Iterator<Item = (Line, bool)> {
        let held = self.directory.held();
        held.filter(move |(_, holders)| holders.include(agent))
            .map(|(line, holders)| (line, matches!(holders, Holders::One(_))))
    }

    /// Handles a message from a requesting agent.
    pub fn receive(
        &mut self,
        message: Message<D>,
        memory: &mut impl Backing<D>,
        out: &mut Vec<Sent<D>>,
    ) {
        let (who, transaction) = (message.source, message.transaction);
        if self.lost & bit(who) != 0 {
            return;
        }
        match message.content {
            Content::Request(line, request) => {
                let incoming = Incoming {
                    who,
                    transaction,
                    line,
                    request,
                };
                if self.is_busy(line) {
                    self.waiting.entry(line).or_default().push_back(incoming);
                } else {
                    self.begin(incoming, memory, out);
                }
            }
            Content::SnoopResponse(kept, data) => {
                self.snooped(
                    usize::from(transaction.0),
                    who,
                    kept,
                    data.as_ref(),
                    memory,
                    out,
                );
            }
            Content::CompAck => {
                let place = self.granted_place((who, transaction));
                let place = place.expect("a CompAck follows a grant");
                let (_, index) = self.granted.remove(place);
                self.finish(index, memory, out);
            }
            Content::Snoop(..)
            | Content::Comp(_)
            | Content::CompData(..)
            | Content::CompAtomic(..) => {
                panic!("a requesting agent must not send completions or snoops to the home agent")
            }
        }
    }

    /// Starts a request for a line. No other request for the line is in service.
    fn begin(
        &mut self,
        incoming: Incoming<D>,
        memory: &mut impl Backing<D>,
        out: &mut Vec<Sent<D>>,
    ) {
        let line = incoming.line;
        let holders = self.directory.of(line);
        let snoop = match (&incoming.request, holders) {
            (Request::ReadOnce, Holders::One(_)) => Some(Snoop::ToAny),
            (Request::WriteBackFull(_) | Request::ReadOnce, _)
            | (Request::ReadShared, Holders::Readers(_)) => None,
            (Request::ReadShared, _) => Some(Snoop::ToShared),
            _ => Some(Snoop::ToInvalid),
        };
        let others = snoop.map_or(0, |_| holders.others(incoming.who));
        let index = self.active.begin(Active {
            incoming,
            snooped: others,
            forwarded: false,
        });
        self.directory.set_busy(line, true);
        for agent in agents(others) {
            let content =
                Content::Snoop(line, snoop.expect("a request that snoops has a snoop type"));
            out.push(Sent {
                message: Message {
                    source: AgentId::HOME,
                    target: agent,
                    transaction: TransactionId(index as u16),
                    content,
                },
                line,
                origin: Origin::Directory,
            });
        }
        if others == 0 {
            self.answer(index, memory, out);
        }
    }

    fn snooped(
        &mut self,
        index: usize,
        who: AgentId,
        kept: State,
        data: Option<&D>,
        memory: &mut impl Backing<D>,
        out: &mut Vec<Sent<D>>,
    ) {
        let active = self.active.get_mut(index);
        let active = active.expect("a snoop response belongs to a request in service");
        assert!(
            active.snooped & bit(who) != 0,
            "an agent answers each snoop once"
        );
        active.snooped &= !bit(who);
        let all = active.snooped == 0;
        let line = active.incoming.line;
        if let Some(data) = data {
            active.forwarded = true;
            memory.write(line, data);
        }
        let holders = match kept {
            State::Invalid => self.directory.of(line).without(who),
            State::SharedClean => match self.directory.of(line) {
                Holders::One(one) if one == who => Holders::Readers(bit(who)),
                other => other,
            },
            State::UniqueClean | State::UniqueDirty => Holders::One(who),
        };
        self.directory.set(line, holders);
        if all {
            self.answer(index, memory, out);
        }
    }

    /// Answers a request after all snoop responses have arrived.
    fn answer(&mut self, index: usize, memory: &mut impl Backing<D>, out: &mut Vec<Sent<D>>) {
        let active = self.active.get_mut(index);
        let active = active.expect("a request stays in service until it ends");
        let line = active.incoming.line;
        let who = active.incoming.who;
        let held = self.directory.of(line);
        let from = if active.forwarded {
            Origin::Agent
        } else {
            Origin::Memory
        };
        let (content, origin, holders) = match &active.incoming.request {
            Request::ReadOnce => {
                let data = Content::CompData(Grant::Nothing, memory.read(line));
                (data, from, held.without(who))
            }
            Request::ReadShared => {
                let others = held.others(who);
                let (grant, holders) = if others == 0 {
                    (Grant::Unique, Holders::One(who))
                } else {
                    (Grant::Shared, Holders::Readers(others | bit(who)))
                };
                (Content::CompData(grant, memory.read(line)), from, holders)
            }
            Request::CleanUnique if held.include(who) => (
                Content::Comp(Grant::Unique),
                Origin::Directory,
                Holders::One(who),
            ),
            Request::ReadUnique | Request::CleanUnique => {
                let data = Content::CompData(Grant::Unique, memory.read(line));
                (data, from, Holders::One(who))
            }
            Request::MakeUnique => (
                Content::Comp(Grant::Unique),
                Origin::Directory,
                Holders::One(who),
            ),
            Request::WriteBackFull(data) => {
                // If the requester does not hold the line, a snoop has taken the data of this write-back, and another agent may have
                // written the line since then.
                if held == Holders::One(who) {
                    memory.write(line, data);
                }
                (
                    Content::Comp(Grant::Nothing),
                    Origin::Directory,
                    held.without(who),
                )
            }
            Request::WriteUnique(range, data) => {
                let mut there = if range.is_full() {
                    data.clone()
                } else {
                    memory.read(line)
                };
                there.merge(data, *range);
                memory.write(line, &there);
                (
                    Content::Comp(Grant::Nothing),
                    Origin::Directory,
                    Holders::Nobody,
                )
            }
            Request::Atomic(atomic) => {
                let mut there = memory.read(line);
                let old = there.change(atomic);
                memory.write(line, &there);
                let content = if atomic.returns() {
                    Content::CompAtomic(atomic.width() as u8, old.map(Word::from))
                } else {
                    Content::Comp(Grant::Nothing)
                };
                (content, from, Holders::Nobody)
            }
        };
        let transaction = active.incoming.transaction;
        let lost = self.lost & bit(who) != 0;
        let acknowledged = active.incoming.request.is_acknowledged() && !lost;
        let holders = if lost { holders.without(who) } else { holders };
        self.directory.set(line, holders);
        out.push(Sent {
            message: Message {
                source: AgentId::HOME,
                target: who,
                transaction,
                content,
            },
            line,
            origin,
        });
        if acknowledged {
            let granted = (who, transaction);
            let place = self.granted_place(granted).unwrap_or_else(|place| place);
            self.granted.insert(place, (granted, index));
        } else {
            self.finish(index, memory, out);
        }
    }

    /// Ends a request, and starts the next one for its line.
    fn finish(&mut self, index: usize, memory: &mut impl Backing<D>, out: &mut Vec<Sent<D>>) {
        let active = self.active.end(index).expect("a request ends once");
        let line = active.incoming.line;
        self.directory.set_busy(line, false);
        let Entry::Occupied(mut waiting) = self.waiting.entry(line) else {
            return;
        };
        let next = waiting.get_mut().pop_front();
        if waiting.get().is_empty() {
            waiting.remove();
        }
        if let Some(next) = next {
            self.begin(next, memory, out);
        }
    }

    /// The position of a request among the requests that wait for `CompAck`, or the position at which to insert it.
    fn granted_place(&self, granted: (AgentId, TransactionId)) -> Result<usize, usize> {
        self.granted.binary_search_by_key(&granted, |(key, _)| *key)
    }
}
