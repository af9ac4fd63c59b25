//! The home agent of a memory: who holds which of its lines, and one request for each line at a time.

use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};

use protocol::coherence::{
    AgentId, Content, Data, Grant, Line, Message, Request, Snoop, State, TransactionId,
};

use crate::directory::{Directory, Holders, agents, bit};
use crate::numbered::Numbered;

/// The memory behind a home agent.
pub trait Backing<D> {
    /// The bytes of a line.
    fn read(&mut self, line: Line) -> D;
    /// They become these.
    fn write(&mut self, line: Line, data: &D);
}

/// A home agent with its directory.
///
/// It serves one request for a line at a time, from its first snoop to the requester's word that it has the line: no snoop
/// meets a grant on its way, and every agent can answer every snoop at once. Messages may arrive in any order, but nothing that
/// an agent sends passes a `CompAck` that it sent before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Home<D> {
    directory: Directory,
    /// Requests that are being served, by number.
    active: Numbered<Active<D>>,
    /// Those of them that are answered and await a `CompAck`, in the order of what that will say.
    granted: Vec<((AgentId, TransactionId), usize)>,
    /// What waits behind those for the same line.
    waiting: BTreeMap<Line, VecDeque<Asked<D>>>,
    /// The agents that are gone, as bits.
    gone: u64,
}

/// A request, and whose.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Asked<D> {
    who: AgentId,
    transaction: TransactionId,
    line: Line,
    request: Request<D>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Active<D> {
    asked: Asked<D>,
    /// The agents whose answers to snoops are awaited, as bits.
    snooped: u64,
    /// Whether an agent gave the bytes.
    forwarded: bool,
}

/// A message of the home agent, and what had to happen before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent<D> {
    /// The message.
    pub message: Message<D>,
    /// The line that it is about.
    pub line: Line,
    /// Where what it says comes from.
    pub origin: Origin,
}

/// Where what the home agent says comes from, which is what it takes time for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The directory alone.
    Directory,
    /// The memory.
    Memory,
    /// Another agent, which has answered just now.
    Agent,
}

impl<D: Data> Home<D> {
    /// The home agent of a memory that begins with `first`, of which nobody holds a line.
    pub fn new(first: Line) -> Self {
        Home {
            directory: Directory::new(first),
            active: Numbered::default(),
            granted: Vec::new(),
            waiting: BTreeMap::new(),
            gone: 0,
        }
    }

    /// An agent is gone with all that it holds: the lines that it may have written and not given back. Who waits for its
    /// answer to a snoop has what memory has.
    pub fn lose(
        &mut self,
        agent: AgentId,
        memory: &mut impl Backing<D>,
        out: &mut Vec<Sent<D>>,
    ) -> Vec<Line> {
        self.gone |= bit(agent);
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

    fn is_gone(&self, agent: AgentId) -> bool {
        self.gone & bit(agent) != 0
    }

    /// Whether it serves no request.
    pub fn is_idle(&self) -> bool {
        self.active.len() == 0
    }

    /// Whether it serves a request for a line.
    pub fn is_busy(&self, line: Line) -> bool {
        self.directory.is_busy(line)
    }

    /// Whether any agent may hold a line, or it is being asked for.
    pub fn is_held(&self, line: Line) -> bool {
        self.directory.of(line) != Holders::Nobody || self.is_busy(line)
    }

    /// The lines that an agent may hold, and whether it may have written them.
    pub fn held_by(&self, agent: AgentId) -> impl Iterator<Item = (Line, bool)> {
        let held = self.directory.held();
        held.filter(move |(_, holders)| holders.include(agent))
            .map(|(line, holders)| (line, matches!(holders, Holders::One(_))))
    }

    /// A message arrives.
    pub fn receive(
        &mut self,
        message: Message<D>,
        memory: &mut impl Backing<D>,
        out: &mut Vec<Sent<D>>,
    ) {
        let (who, transaction) = (message.source, message.transaction);
        if self.is_gone(who) {
            return;
        }
        match message.content {
            Content::Request(line, request) => {
                let asked = Asked {
                    who,
                    transaction,
                    line,
                    request,
                };
                if self.is_busy(line) {
                    self.waiting.entry(line).or_default().push_back(asked);
                } else {
                    self.begin(asked, memory, out);
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
                let place = place.expect("what is acknowledged was granted");
                let (_, index) = self.granted.remove(place);
                self.finish(index, memory, out);
            }
            Content::Snoop(..)
            | Content::Comp(_)
            | Content::CompData(..)
            | Content::CompAtomic(..) => panic!("no agent tells the home agent that"),
        }
    }

    /// Serves a request for a line for which no other is being served.
    fn begin(&mut self, asked: Asked<D>, memory: &mut impl Backing<D>, out: &mut Vec<Sent<D>>) {
        let line = asked.line;
        let holders = self.directory.of(line);
        let snoop = match (&asked.request, holders) {
            (Request::ReadOnce, Holders::One(_)) => Some(Snoop::ToAny),
            (Request::WriteBackFull(_) | Request::ReadOnce, _)
            | (Request::ReadShared, Holders::Readers(_)) => None,
            (Request::ReadShared, _) => Some(Snoop::ToShared),
            _ => Some(Snoop::ToInvalid),
        };
        let others = snoop.map_or(0, |_| holders.others(asked.who));
        let index = self.active.begin(Active {
            asked,
            snooped: others,
            forwarded: false,
        });
        self.directory.set_busy(line, true);
        for agent in agents(others) {
            let content = Content::Snoop(
                line,
                snoop.expect("who is snooped is snooped for something"),
            );
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
        let active = active.expect("an agent answers a snoop that was made");
        assert!(
            active.snooped & bit(who) != 0,
            "an agent answers a snoop once"
        );
        active.snooped &= !bit(who);
        let all = active.snooped == 0;
        let line = active.asked.line;
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

    /// All snoops are answered: so is the request.
    fn answer(&mut self, index: usize, memory: &mut impl Backing<D>, out: &mut Vec<Sent<D>>) {
        let active = self.active.get_mut(index);
        let active = active.expect("a request is served until it ends");
        let line = active.asked.line;
        let who = active.asked.who;
        let held = self.directory.of(line);
        let from = if active.forwarded {
            Origin::Agent
        } else {
            Origin::Memory
        };
        let (content, origin, holders) = match &active.asked.request {
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
                // Otherwise a snoop has taken it on its way, and somebody else may have written it since.
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
                    Content::CompAtomic(atomic.width() as u8, old.into())
                } else {
                    Content::Comp(Grant::Nothing)
                };
                (content, from, Holders::Nobody)
            }
        };
        let transaction = active.asked.transaction;
        let gone = self.gone & bit(who) != 0;
        let acknowledged = active.asked.request.is_acknowledged() && !gone;
        let holders = if gone { holders.without(who) } else { holders };
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

    /// A request has ended: the next one for its line begins.
    fn finish(&mut self, index: usize, memory: &mut impl Backing<D>, out: &mut Vec<Sent<D>>) {
        let active = self.active.end(index).expect("a request ends once");
        let line = active.asked.line;
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

    /// Where among those that await a `CompAck` it stands, or is to stand.
    fn granted_place(&self, granted: (AgentId, TransactionId)) -> Result<usize, usize> {
        self.granted.binary_search_by_key(&granted, |(key, _)| *key)
    }
}
