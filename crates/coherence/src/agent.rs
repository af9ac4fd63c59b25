//! A requesting agent: what it holds of the lines that all share, and what it asks the home agent for.

use std::collections::BTreeMap;
use std::mem;

use protocol::coherence::{
    AgentId, Content, Data, Grant, Line, LineAtomic, Message, Request, Snoop, State, TransactionId,
    WriteRange,
};

use crate::numbered::Numbered;
use crate::{Geometry, SetAssociative};

/// A requesting agent with a cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Agent<D> {
    id: AgentId,
    lines: SetAssociative<Held<D>>,
    /// What it has asked for, by number.
    transactions: Numbered<Transaction<D>>,
    /// How many of those there may be.
    limit: usize,
    /// Those for lines that have no place in the cache, by line.
    placeless: BTreeMap<Line, TransactionId>,
}

/// What it holds of a line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Held<D> {
    state: State,
    /// None while it holds nothing and waits for it.
    data: Option<D>,
    /// Whether it has asked for more of it.
    pending: bool,
}

/// What it has asked the home agent for and is not answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Transaction<D> {
    /// A line for the place that is kept free for it.
    Fill(Line),
    /// To take a line back. Its bytes are gone when a snoop has taken them meanwhile.
    WriteBack(Line, Option<D>),
    /// To do something to a line of which it holds nothing.
    AtHome(Line),
}

impl<D> Transaction<D> {
    /// Its line, if that has no place in the cache.
    fn placeless(&self) -> Option<Line> {
        match self {
            Transaction::Fill(_) => None,
            Transaction::WriteBack(line, _) | Transaction::AtHome(line) => Some(*line),
        }
    }
}

/// What somebody wants to do with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// Read some of it.
    Read,
    /// Write some of it.
    Write,
    /// Write all of it.
    WriteAll,
}

/// Whether it can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Now.
    Hit,
    /// When this transaction ends.
    Begun(TransactionId),
    /// It cannot even be asked for: the line is on its way, or there is no room. Worth trying again when something has ended.
    Wait,
}

/// What a message brought to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<D> {
    /// What was asked for can be done now, before the next message.
    Ready(TransactionId, Line),
    /// The home agent has done it.
    Done(TransactionId, Answer<D>),
    /// A line was taken back, or given up: nothing that anybody waits for, but there is room.
    Room,
}

/// What comes back of what the home agent does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<D> {
    /// Nothing.
    Nothing,
    /// The line.
    Data(D),
    /// What was there before.
    Old(u128),
}

impl<D: Data> Agent<D> {
    /// An agent that holds nothing and may have so many transactions (1 to 4096) at a time.
    pub fn new(id: AgentId, geometry: Geometry, transactions: usize) -> Self {
        Agent {
            id,
            lines: SetAssociative::new(geometry),
            transactions: Numbered::default(),
            limit: transactions,
            placeless: BTreeMap::new(),
        }
    }

    /// Its ID.
    pub fn id(&self) -> AgentId {
        self.id
    }

    /// What it may do with a line.
    #[inline]
    pub fn state(&self, line: Line) -> State {
        self.lines
            .get(line)
            .map_or(State::Invalid, |held| held.state)
    }

    /// The lines that it holds, with their states.
    pub fn lines(&self) -> impl Iterator<Item = (Line, State)> {
        self.lines.iter().map(|(line, held)| (line, held.state))
    }

    /// The bytes of lines that memory is behind of: those that it holds, and those that it is giving back.
    pub fn dirty(&self) -> impl Iterator<Item = (Line, &D)> {
        let held = self.lines.iter().filter_map(|(line, held)| {
            let dirty = held.state == State::UniqueDirty;
            held.data
                .as_ref()
                .filter(|_| dirty)
                .map(|data| (line, data))
        });
        let leaving = self
            .transactions
            .iter()
            .filter_map(|transaction| match transaction {
                Transaction::WriteBack(line, Some(data)) => Some((*line, data)),
                _ => None,
            });
        held.chain(leaving)
    }

    /// The bytes of a line that may be read.
    pub fn data(&self, line: Line) -> Option<&D> {
        self.lines.get(line)?.data.as_ref()
    }

    /// Whether it may ask for anything now.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.free() > 0
    }

    /// Whether it waits for anything.
    pub fn is_idle(&self) -> bool {
        self.transactions.len() == 0
    }

    /// Whether `need` of a line can be met, and if not, asks for what is missing.
    pub fn access(&mut self, line: Line, need: Need, out: &mut Vec<Message<D>>) -> Access {
        let state = match self.lines.get(line) {
            Some(held) if held.pending => return Access::Wait,
            Some(held) => held.state,
            None => State::Invalid,
        };
        let enough = match need {
            Need::Read => state.may_read(),
            Need::Write | Need::WriteAll => state.may_write(),
        };
        if enough {
            self.lines.touch(line);
            return Access::Hit;
        }
        if self.placeless.contains_key(&line) {
            return Access::Wait;
        }
        let request = match (need, state) {
            (Need::Read, _) => Request::ReadShared,
            (Need::WriteAll, _) => Request::MakeUnique,
            (Need::Write, State::SharedClean) => Request::CleanUnique,
            (Need::Write, _) => Request::ReadUnique,
        };
        if state == State::Invalid && !self.make_room(line, out) {
            return Access::Wait;
        }
        let Some(transaction) = self.begin(Transaction::Fill(line)) else {
            return Access::Wait;
        };
        if let Some(held) = self.lines.get_mut(line) {
            held.pending = true;
        } else {
            let nothing = Held {
                state: State::Invalid,
                data: None,
                pending: true,
            };
            self.lines.insert(line, nothing);
        }
        out.push(self.request(transaction, line, request));
        Access::Begun(transaction)
    }

    /// Keeps a place for a line, which it does not hold. False if there is none now.
    fn make_room(&mut self, line: Line, out: &mut Vec<Message<D>>) -> bool {
        if self.free() == 0 {
            return false;
        }
        let victim = match self.lines.victim(line, |held| !held.pending) {
            Ok(None) => return true,
            Ok(Some(victim)) => victim,
            Err(()) => return false,
        };
        // A dirty victim takes a transaction, and the line needs another.
        if self.state(victim) == State::UniqueDirty && self.free() < 2 {
            return false;
        }
        self.give_up(victim, out);
        true
    }

    /// Holds a line no more. What memory is behind of goes back.
    fn give_up(&mut self, line: Line, out: &mut Vec<Message<D>>) {
        let Some(held) = self.lines.remove(line) else {
            return;
        };
        if held.state != State::UniqueDirty {
            return;
        }
        let data = held.data.expect("what is dirty is there");
        let transaction = self.begin(Transaction::WriteBack(line, Some(data.clone())));
        let transaction = transaction.expect("a line is given up only with a free transaction");
        out.push(self.request(transaction, line, Request::WriteBackFull(data)));
    }

    /// Has the home agent do something to a line, of which this agent keeps nothing.
    pub fn at_home(
        &mut self,
        line: Line,
        request: Request<D>,
        out: &mut Vec<Message<D>>,
    ) -> Access {
        if self.is_under_way(line) || self.free() == 0 {
            return Access::Wait;
        }
        if self.state(line) == State::UniqueDirty {
            self.give_up(line, out);
            return Access::Wait;
        }
        self.give_up(line, out);
        let transaction = self.begin(Transaction::AtHome(line));
        let transaction = transaction.expect("there is a free one");
        out.push(self.request(transaction, line, request));
        Access::Begun(transaction)
    }

    /// Gives a dirty line back and keeps nothing of it, as a cache is cleaned. False if that must wait.
    pub fn clean(&mut self, line: Line, out: &mut Vec<Message<D>>) -> bool {
        if self.is_under_way(line) || self.free() == 0 {
            return false;
        }
        self.give_up(line, out);
        true
    }

    /// Writes some bytes of a line that it may write.
    pub fn write(&mut self, line: Line, range: WriteRange, data: &D) {
        let held = self.own(line);
        match &mut held.data {
            Some(there) => there.merge(data, range),
            // After MakeUnique nothing was there, and all of it is written.
            none => *none = Some(data.clone()),
        }
    }

    /// Carries out an atomic operation on a line that it may write: what was there before.
    pub fn change(&mut self, line: Line, atomic: &LineAtomic) -> u128 {
        let data = &mut self.own(line).data;
        data.as_mut()
            .expect("a line that is read is there")
            .change(atomic)
    }

    fn own(&mut self, line: Line) -> &mut Held<D> {
        let held = self.lines.get_mut(line).expect("what is written is held");
        assert!(
            held.state.may_write(),
            "only the one who holds a line alone writes it"
        );
        held.state = State::UniqueDirty;
        held
    }

    /// A message arrives.
    pub fn receive(&mut self, message: Message<D>, out: &mut Vec<Message<D>>) -> Event<D> {
        match message.content {
            Content::Snoop(line, snoop) => {
                let (state, data) = self.snoop(line, snoop);
                out.push(Message {
                    content: Content::SnoopResponse(state, data),
                    ..self.message(message.transaction)
                });
                Event::Room
            }
            Content::Comp(grant) => self.end(message.transaction, grant, None, out),
            Content::CompData(grant, data) => self.end(message.transaction, grant, Some(data), out),
            Content::CompAtomic(_, old) => {
                self.close(message.transaction);
                Event::Done(message.transaction, Answer::Old(old.number()))
            }
            Content::Request(..) | Content::SnoopResponse(..) | Content::CompAck => {
                panic!("the home agent asks no requesting agent for that")
            }
        }
    }

    fn end(
        &mut self,
        id: TransactionId,
        grant: Grant,
        data: Option<D>,
        out: &mut Vec<Message<D>>,
    ) -> Event<D> {
        match self.close(id) {
            Transaction::Fill(line) => {
                let held = self
                    .lines
                    .get_mut(line)
                    .expect("a place is kept for a line");
                held.pending = false;
                held.state = match grant {
                    Grant::Unique => State::UniqueClean,
                    _ => State::SharedClean,
                };
                held.data = data.or(held.data.take());
                self.lines.touch(line);
                out.push(Message {
                    content: Content::CompAck,
                    ..self.message(id)
                });
                Event::Ready(id, line)
            }
            Transaction::WriteBack(..) => Event::Room,
            Transaction::AtHome(_) => Event::Done(id, data.map_or(Answer::Nothing, Answer::Data)),
        }
    }

    /// Answers a snoop: what is still held, and the bytes if memory is behind.
    fn snoop(&mut self, line: Line, snoop: Snoop) -> (State, Option<D>) {
        if let Some(held) = self.lines.get_mut(line)
            && held.state != State::Invalid
        {
            let dirty = held.state == State::UniqueDirty;
            let data = if dirty { held.data.clone() } else { None };
            match snoop {
                Snoop::ToAny => {}
                Snoop::ToShared => held.state = State::SharedClean,
                Snoop::ToInvalid if held.pending => {
                    held.state = State::Invalid;
                    held.data = None;
                }
                Snoop::ToInvalid => {
                    self.lines.remove(line);
                    return (State::Invalid, data);
                }
            }
            return (held.state, data);
        }
        let leaving = self.placeless.get(&line);
        let leaving = leaving.and_then(|id| self.transactions.get_mut(usize::from(id.0)));
        let data = match (leaving, snoop) {
            (Some(Transaction::WriteBack(_, data)), Snoop::ToAny) => data.clone(),
            (Some(Transaction::WriteBack(_, data)), _) => mem::take(data),
            _ => None,
        };
        (State::Invalid, data)
    }

    /// Whether it has asked for something to do with a line that has a place in the cache, or is given back.
    fn is_under_way(&self, line: Line) -> bool {
        self.lines.get(line).is_some_and(|held| held.pending) || self.placeless.contains_key(&line)
    }

    /// Transactions that may still begin.
    fn free(&self) -> usize {
        self.limit - self.transactions.len()
    }

    /// Begins a transaction under the lowest number that is free.
    fn begin(&mut self, transaction: Transaction<D>) -> Option<TransactionId> {
        if !self.is_open() {
            return None;
        }
        let placeless = transaction.placeless();
        let id = TransactionId(self.transactions.begin(transaction) as u16);
        if let Some(line) = placeless {
            self.placeless.insert(line, id);
        }
        Some(id)
    }

    fn close(&mut self, id: TransactionId) -> Transaction<D> {
        let closed = self.transactions.end(usize::from(id.0));
        let closed = closed.expect("the home agent answers what it was asked, once");
        if let Some(line) = closed.placeless() {
            self.placeless.remove(&line);
        }
        closed
    }

    fn request(&self, id: TransactionId, line: Line, request: Request<D>) -> Message<D> {
        Message {
            content: Content::Request(line, request),
            ..self.message(id)
        }
    }

    /// A message to the home agent.
    fn message(&self, transaction: TransactionId) -> Message<D> {
        Message {
            source: self.id,
            target: AgentId::HOME,
            transaction,
            content: Content::CompAck,
        }
    }
}
