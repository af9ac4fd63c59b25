//! Programs on hosts as ranks of one job, which send each other messages: what a runtime of message passing makes of NAP, PUT
//! and GET.
//!
//! Each rank has one queue pair, which talks to those of all others: a descriptor names its destination, and all have one key.
//! A message up to the eager limit goes as one NAP, and is copied out of its buffer where it arrives. A longer one is announced
//! by a NAP; when it has found its receive, either the receiver answers by a NAP and the sender PUTs, with a NAP behind it, or the
//! receiver GETs, and says so by a NAP. What arrives before it is wanted waits in a queue. Messages from one rank are matched in the order in which they
//! were sent. No NAP ever finds no buffer: see [`credit`].
//!
//! A rank has one thread, its program. All that the layer does, it does within the calls of the program: while a program
//! computes, nothing that has arrived is looked at, no longer message begins to move, and no credit goes back. What the
//! controllers have begun goes on. A program that waits sleeps until its controller writes an event.

mod collectives;
mod credit;
mod header;
mod matching;
mod one_sided;
mod parameters;
mod progress;
mod reduction;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use device::nic::descriptor::Item;
use kernel::{Span, Time};
use packet::Fault;
use protocol::QueuePairId;

use crate::queue_pair::{GIVEN_AT_ONCE, Place, QueuePair, REQUESTS};
use crate::{DriverParameters, System, driver};
use credit::Credit;
use header::Kind;
use matching::{Content, Context, Envelope, Matching, Posted};
use one_sided::Fetch;

pub use parameters::{Eager, RankParameters, Rendezvous};
pub use reduction::{Combine, Number, Operator};

/// The place of a program among the ranks of a job.
#[derive(Clone, Debug)]
pub struct Seat {
    /// Its number.
    pub rank: usize,
    /// Its queue pair, open, with [`entries`] buffers.
    pub place: Place,
    /// The queue pairs of all ranks, in order.
    pub all: Arc<[QueuePairId]>,
    /// [`SCRATCH`] bytes of its host's memory, for the layer.
    pub scratch: u64,
    /// What the software of its host costs.
    pub costs: DriverParameters,
    /// What the layer was told.
    pub parameters: RankParameters,
}

/// Bytes of memory that the layer takes beside the queue pair.
pub const SCRATCH: u64 = HEADERS + 60 * 1024;

/// Headers of messages that the controller reads there, 16 bytes each.
const HEADERS: u64 = 4096;

/// Buffers of the queue pair of one of `size` ranks, so that whatever the others may send has room, though the pair tells its
/// controller of some of them later.
pub fn entries(size: usize, parameters: &RankParameters) -> u64 {
    let others = size.saturating_sub(1) as u64 * u64::from(parameters.unread());
    (others + u64::from(REQUESTS) + GIVEN_AT_ONCE).next_multiple_of(GIVEN_AT_ONCE)
}

/// What a rank has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// From whom.
    pub from: usize,
    /// With which tag.
    pub tag: u32,
    /// Bytes of the message; those that the receive had no room for are lost.
    pub len: u32,
}

/// A message on its way: [`Rank::end_send`] waits until its bytes may change.
#[derive(Debug)]
#[must_use = "its bytes may not change before its end"]
pub struct Sending(u32);

/// A receive that waits for its message: [`Rank::end_receive`] waits until it is there.
#[derive(Debug)]
#[must_use = "its bytes are there at its end"]
pub struct Receiving(u32);

/// A program's hold on the job that it is a rank of.
pub struct Rank {
    system: System,
    seat: Seat,
    pair: QueuePair,
    peers: Vec<Peer>,
    matching: Matching,
    /// Sends, PUTs and GETs that are not at their end, by number.
    open: BTreeSet<u32>,
    /// Sends of which the other side has not everything it needs.
    outgoing: BTreeMap<u32, Outgoing>,
    /// Receives whose message is there.
    received: BTreeMap<u32, Status>,
    /// Messages that will be PUT here, by number of their receive.
    awaited: BTreeMap<u32, Status>,
    /// GETs under way, and those that wait for their turn.
    fetching: Vec<Fetch>,
    fetches: VecDeque<Fetch>,
    /// What is to be said and waits for credit, to all peers together.
    unsaid: usize,
    /// Why the controller has refused a request that nobody was told of.
    refused: Option<Fault>,
    /// Numbers and headers that were given out.
    numbers: u32,
    headers: u64,
}

/// What a rank knows of another.
#[derive(Debug)]
struct Peer {
    id: QueuePairId,
    credit: Credit,
    /// What waits for credit, the oldest first: what is said about messages, and before them; and messages, by number.
    words: VecDeque<Word>,
    queue: VecDeque<u32>,
}

/// What is said about a message.
#[derive(Clone, Copy, Debug)]
struct Word {
    kind: Kind,
    len: u32,
    number: u32,
}

/// A send that is not on its way.
#[derive(Clone, Copy, Debug)]
struct Outgoing {
    to: usize,
    context: Context,
    tag: u32,
    source: Item,
}

impl Rank {
    /// The rank at `seat`, in the hands of the program that `system` belongs to.
    pub fn new(system: System, seat: Seat) -> Self {
        let peer = |id: &QueuePairId| Peer {
            id: *id,
            credit: Credit::new(seat.parameters.share),
            words: VecDeque::new(),
            queue: VecDeque::new(),
        };
        Self {
            peers: seat.all.iter().map(peer).collect(),
            pair: QueuePair::new(system.clone(), seat.costs.clone(), seat.place),
            system,
            seat,
            matching: Matching::default(),
            open: BTreeSet::new(),
            outgoing: BTreeMap::new(),
            received: BTreeMap::new(),
            awaited: BTreeMap::new(),
            fetching: Vec::new(),
            fetches: VecDeque::new(),
            unsaid: 0,
            refused: None,
            numbers: 0,
            headers: 0,
        }
    }

    /// Its number, from 0 on.
    pub fn rank(&self) -> usize {
        self.seat.rank
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.peers.len()
    }

    /// The system under which its program runs, to load and store its memory.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Why the controller has refused a request since this was asked, if it has: a range of it is no memory. The request has
    /// come to its end, and its bytes go nowhere.
    pub fn take_refusal(&mut self) -> Option<Fault> {
        self.refused.take()
    }

    /// The time.
    pub async fn now(&self) -> Time {
        self.system.now().await
    }

    /// Computes for `span`. Meanwhile the layer does nothing.
    pub async fn compute(&self, span: Span) {
        self.system.work(span).await;
    }

    /// Sends the bytes of `source`, which may change when this returns: the other side need not have them yet.
    pub async fn send(&mut self, to: usize, tag: u32, source: Item) {
        let sending = self.begin_send(to, tag, source).await;
        self.end_send(sending).await;
    }

    /// Waits for the next message from `from` with `tag`, or from anybody or with any, and puts its bytes to `target`.
    pub async fn receive(&mut self, from: Option<usize>, tag: Option<u32>, target: Item) -> Status {
        let receiving = self.begin_receive(from, tag, target).await;
        self.end_receive(receiving).await
    }

    /// Sends to one rank and receives from one, neither before the other.
    pub async fn send_receive(
        &mut self,
        (to, tag, source): (usize, u32, Item),
        (from, wanted, target): (Option<usize>, Option<u32>, Item),
    ) -> Status {
        let receiving = self.begin_receive(from, wanted, target).await;
        let sending = self.begin_send(to, tag, source).await;
        self.end_send(sending).await;
        self.end_receive(receiving).await
    }

    /// Begins to send the bytes of `source`.
    pub async fn begin_send(&mut self, to: usize, tag: u32, source: Item) -> Sending {
        self.start_send(to, (Context::Program, tag), source).await
    }

    /// Begins to wait for a message.
    pub async fn begin_receive(
        &mut self,
        from: Option<usize>,
        tag: Option<u32>,
        target: Item,
    ) -> Receiving {
        self.start_receive(Context::Program, (from, tag), target)
            .await
    }

    /// Waits until the bytes of a message may change.
    pub async fn end_send(&mut self, sending: Sending) {
        self.end(sending.0).await;
    }

    /// Waits until a message is there.
    pub async fn end_receive(&mut self, receiving: Receiving) -> Status {
        loop {
            if self.unsaid == 0
                && let Some(status) = self.received.remove(&receiving.0)
            {
                return status;
            }
            self.wait().await;
        }
    }

    async fn start_send(
        &mut self,
        to: usize,
        (context, tag): (Context, u32),
        source: Item,
    ) -> Sending {
        let number = self.number();
        if to == self.seat.rank {
            let envelope = Envelope {
                context,
                from: to,
                tag,
                len: source.len,
            };
            let bytes = self.load(source).await;
            self.deliver(envelope, Content::Bytes(bytes)).await;
            return Sending(number);
        }
        let send = Outgoing {
            to,
            context,
            tag,
            source,
        };
        self.open.insert(number);
        self.outgoing.insert(number, send);
        self.peers[to].queue.push_back(number);
        self.send_queued(to).await;
        Sending(number)
    }

    async fn start_receive(
        &mut self,
        context: Context,
        (from, tag): (Option<usize>, Option<u32>),
        target: Item,
    ) -> Receiving {
        let number = self.number();
        let posted = Posted {
            number,
            context,
            from,
            tag,
            target,
        };
        if let Some(message) = self.matching.post(posted) {
            self.accept(posted, message.envelope, message.content).await;
        }
        Receiving(number)
    }

    /// Waits for the end of a send, PUT or GET. Nothing ends before all is said that others may wait for: it may be the last call.
    async fn end(&mut self, number: u32) {
        while self.open.contains(&number) || self.unsaid > 0 {
            self.wait().await;
        }
    }

    /// A number that nothing else has; 0 is nothing's.
    fn number(&mut self) -> u32 {
        self.numbers = self.numbers % u32::MAX + 1;
        self.numbers
    }

    async fn load(&self, range: Item) -> Vec<u8> {
        self.system.load(range.address, range.len as usize).await
    }

    /// Copies `bytes` to `address`.
    async fn copy(&self, address: u64, bytes: &[u8]) {
        let len = bytes.len() as u64;
        let span = self.seat.parameters.copy_rate.time_of(len);
        self.system.work(span).await;
        self.store(address, bytes).await;
    }

    /// Stores `bytes` at `address`, whatever pages that is in.
    async fn store(&self, address: u64, bytes: &[u8]) {
        for part in driver::scatter(address, bytes.len() as u64) {
            let from = (part.address - address) as usize;
            let part_of_bytes = &bytes[from..from + part.len as usize];
            self.system.store(part.address, part_of_bytes).await;
        }
    }
}
