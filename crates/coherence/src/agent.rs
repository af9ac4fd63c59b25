//! A requesting agent: the lines in its cache, and its requests to the home agent.

use std::collections::BTreeMap;
use std::mem;

use protocol::coherence::{
    AgentId, Content, Data, Grant, Line, LineAtomic, Message, Request, Snoop, State, TransactionId,
    Word, WriteRange,
};

use crate::numbered::Numbered;
use crate::{Geometry, SetAssociative};

/// A requesting agent with a cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Agent<D> {
    id: AgentId,
    lines: SetAssociative<CachedLine<D>>,
    /// Outstanding requests to the home agent, by transaction number.
    transactions: Numbered<Transaction<D>>,
    /// Most requests that may be outstanding, and most write-backs besides them.
    limit: usize,
    /// The write-backs among the outstanding transactions.
    write_backs: usize,
    /// The transactions for lines without an entry in the cache, by line.
    uncached: BTreeMap<Line, TransactionId>,
}

/// The cache's entry for a line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CachedLine<D> {
    state: State,
    /// `None` until the first data of the line arrives.
    data: Option<D>,
    /// Whether a request for the line is outstanding.
    pending: bool,
}

/// An outstanding request to the home agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Transaction<D> {
    /// A request for a line, whose cache entry is reserved.
    Fill(Line),
    /// A write-back. The data is `None` after a snoop has transferred it.
    WriteBack(Line, Option<D>),
    /// A request that the home agent executes; this agent does not cache the line.
    AtHome(Line),
}

impl<D> Transaction<D> {
    /// The transaction's line, if it has no entry in the cache.
    fn uncached(&self) -> Option<Line> {
        match self {
            Transaction::Fill(_) => None,
            Transaction::WriteBack(line, _) | Transaction::AtHome(line) => Some(*line),
        }
    }
}

/// The access that a user of the agent needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// A read of a part of the line.
    Read,
    /// A write of a part of the line.
    Write,
    /// A write of the whole line.
    WriteAll,
}

/// The result of a request for access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The access is allowed now.
    Hit,
    /// A request was sent; the access is allowed when this transaction ends.
    Begun(TransactionId),
    /// No request could be sent: a transaction of the line is outstanding, or no cache entry or no transaction is free. The caller may try
    /// again after the end of a transaction.
    Wait,
}

/// The result of a received message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<D> {
    /// The access of this transaction is allowed now, but only until the agent receives the next message.
    Ready(TransactionId, Line),
    /// The home agent has executed the request.
    Done(TransactionId, HomeAnswer<D>),
    /// A write-back has ended or a snoop was answered: no access has ended, but there may be a free entry now.
    Freed,
}

/// The answer to a request that the home agent executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HomeAnswer<D> {
    /// No data.
    Nothing,
    /// The line.
    Data(D),
    /// The previous value of an atomic operation; `None` if the value is poisoned and the operation was not executed.
    Old(Option<u128>),
}

impl<D: Data> Agent<D> {
    /// An agent with an empty cache, and at most `transactions` outstanding requests and as many write-backs (1 to 2048).
    pub fn new(id: AgentId, geometry: Geometry, transactions: usize) -> Self {
        Agent {
            id,
            lines: SetAssociative::new(geometry),
            transactions: Numbered::default(),
            limit: transactions,
            write_backs: 0,
            uncached: BTreeMap::new(),
        }
    }

    /// The agent's ID.
    pub fn id(&self) -> AgentId {
        self.id
    }

    /// The state of a line in this cache.
    pub fn state(&self, line: Line) -> State {
        self.lines
            .get(line)
            .map_or(State::Invalid, |held| held.state)
    }

    /// The cached lines with their states.
    pub fn lines(&self) -> impl Iterator<Item = (Line, State)> {
        self.lines.iter().map(|(line, held)| (line, held.state))
    }

    /// The data that is newer than memory: of dirty lines, and of lines that are being written back.
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

    /// The data of a line that may be read.
    pub fn data(&self, line: Line) -> Option<&D> {
        self.lines.get(line)?.data.as_ref()
    }

    /// Whether another request may begin.
    pub fn is_open(&self) -> bool {
        self.transactions.len() - self.write_backs < self.limit
    }

    /// Checks whether the access `need` to a line is allowed. If not, sends a request.
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
        if self.uncached.contains_key(&line) {
            return Access::Wait;
        }
        let request = match (need, state) {
            (Need::Read, _) => Request::ReadShared,
            (Need::WriteAll, _) => Request::MakeUnique,
            (Need::Write, State::SharedClean) => Request::CleanUnique,
            (Need::Write, _) => Request::ReadUnique,
        };
        if !self.is_open() || (state == State::Invalid && !self.make_room(line, out)) {
            return Access::Wait;
        }
        let transaction = self.begin(Transaction::Fill(line));
        if let Some(held) = self.lines.get_mut(line) {
            held.pending = true;
        } else {
            let nothing = CachedLine {
                state: State::Invalid,
                data: None,
                pending: true,
            };
            self.lines.insert(line, nothing);
        }
        out.push(self.request(transaction, line, request));
        Access::Begun(transaction)
    }

    /// Makes a cache entry free for a line that is not cached. Returns false if no entry can be made free now.
    fn make_room(&mut self, line: Line, out: &mut Vec<Message<D>>) -> bool {
        let victim = match self.lines.victim(line, |held| !held.pending) {
            Ok(None) => return true,
            Ok(Some(victim)) => victim,
            Err(()) => return false,
        };
        if self.state(victim) == State::UniqueDirty && self.write_backs == self.limit {
            return false;
        }
        self.give_up(victim, out);
        true
    }

    /// Removes a line from the cache. Dirty data is written back.
    fn give_up(&mut self, line: Line, out: &mut Vec<Message<D>>) {
        let Some(held) = self.lines.remove(line) else {
            return;
        };
        if held.state != State::UniqueDirty {
            return;
        }
        let data = held.data.expect("a dirty line has data");
        let transaction = self.begin(Transaction::WriteBack(line, Some(data.clone())));
        self.write_backs += 1;
        out.push(self.request(transaction, line, Request::WriteBackFull(data)));
    }

    /// Sends a request that the home agent executes. If this cache has a copy of the line, the agent removes it first.
    pub fn at_home(
        &mut self,
        line: Line,
        request: Request<D>,
        out: &mut Vec<Message<D>>,
    ) -> Access {
        if self.is_under_way(line) || !self.is_open() {
            return Access::Wait;
        }
        if self.state(line) == State::UniqueDirty {
            if self.write_backs < self.limit {
                self.give_up(line, out);
            }
            return Access::Wait;
        }
        self.give_up(line, out);
        let transaction = self.begin(Transaction::AtHome(line));
        out.push(self.request(transaction, line, request));
        Access::Begun(transaction)
    }

    /// Writes a part of a line, which must be in a state that allows writes.
    pub fn write(&mut self, line: Line, range: WriteRange, data: &D) {
        let held = self.own(line);
        match &mut held.data {
            Some(there) => there.merge(data, range),
            // After MakeUnique, the line has no data yet. The whole line is then written.
            none => *none = Some(data.clone()),
        }
    }

    /// Executes an atomic operation on a line, which must be in a state that allows writes, and returns the previous value. If the value is
    /// poisoned, executes nothing and returns `None`.
    pub fn change(&mut self, line: Line, atomic: &LineAtomic) -> Option<u128> {
        let data = &mut self.own(line).data;
        data.as_mut()
            .expect("a line that is changed has data")
            .change(atomic)
    }

    fn own(&mut self, line: Line) -> &mut CachedLine<D> {
        let held = self.lines.get_mut(line).expect("a written line is cached");
        assert!(
            held.state.may_write(),
            "a line is written only in a unique state"
        );
        held.state = State::UniqueDirty;
        held
    }

    /// Handles a message from the home agent.
    pub fn receive(&mut self, message: Message<D>, out: &mut Vec<Message<D>>) -> Event<D> {
        match message.content {
            Content::Snoop(line, snoop) => {
                let (state, data) = self.snoop(line, snoop);
                out.push(Message {
                    content: Content::SnoopResponse(state, data),
                    ..self.message(message.transaction)
                });
                Event::Freed
            }
            Content::Comp(grant) => self.end(message.transaction, grant, None, out),
            Content::CompData(grant, data) => self.end(message.transaction, grant, Some(data), out),
            Content::CompAtomic(_, old) => {
                self.close(message.transaction);
                Event::Done(message.transaction, HomeAnswer::Old(old.map(Word::number)))
            }
            Content::Request(..) | Content::SnoopResponse(..) | Content::CompAck => {
                panic!(
                    "a home agent must not send requests or acknowledgements to a requesting agent"
                )
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
                    .expect("a requested line has a cache entry");
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
            Transaction::WriteBack(..) => {
                self.write_backs -= 1;
                Event::Freed
            }
            Transaction::AtHome(_) => {
                Event::Done(id, data.map_or(HomeAnswer::Nothing, HomeAnswer::Data))
            }
        }
    }

    /// Applies a snoop; returns the state that remains, and the data if memory is out of date.
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
        let leaving = self.uncached.get(&line);
        let leaving = leaving.and_then(|id| self.transactions.get_mut(usize::from(id.0)));
        let data = match (leaving, snoop) {
            (Some(Transaction::WriteBack(_, data)), Snoop::ToAny) => data.clone(),
            (Some(Transaction::WriteBack(_, data)), _) => mem::take(data),
            _ => None,
        };
        (State::Invalid, data)
    }

    /// Whether a transaction of the line is outstanding.
    fn is_under_way(&self, line: Line) -> bool {
        self.lines.get(line).is_some_and(|held| held.pending) || self.uncached.contains_key(&line)
    }

    /// Begins a transaction under the lowest free number.
    fn begin(&mut self, transaction: Transaction<D>) -> TransactionId {
        let uncached = transaction.uncached();
        let id = TransactionId(self.transactions.begin(transaction) as u16);
        if let Some(line) = uncached {
            self.uncached.insert(line, id);
        }
        id
    }

    fn close(&mut self, id: TransactionId) -> Transaction<D> {
        let closed = self.transactions.end(usize::from(id.0));
        let closed = closed.expect("the home agent answers each transaction once");
        if let Some(line) = closed.uncached() {
            self.uncached.remove(&line);
        }
        closed
    }

    fn request(&self, id: TransactionId, line: Line, request: Request<D>) -> Message<D> {
        Message {
            content: Content::Request(line, request),
            ..self.message(id)
        }
    }

    fn message(&self, transaction: TransactionId) -> Message<D> {
        Message {
            source: self.id,
            target: AgentId::HOME,
            transaction,
            content: Content::CompAck,
        }
    }
}
