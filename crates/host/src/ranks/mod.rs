//! Programs on hosts as ranks of one job that exchange messages: a message-passing layer on NAP, PUT and GET.
//!
//! Each rank has one queue pair for all other ranks: a descriptor names its destination, and all have the same key. A message up to
//! the eager limit is sent as one NAP, and the receiver copies it out of the NAP's buffer. A longer message is announced by a NAP.
//! When it has matched a receive, either the receiver answers by a NAP and the sender PUTs the data followed by a NAP, or the
//! receiver GETs the data and confirms this by a NAP. A message without a matching receive waits in a queue. Messages from one rank
//! are matched in the order in which they were sent. There is a buffer for every NAP: see [`credit`].
//!
//! A rank is one thread with one program. The layer works only during the program's calls. While a program computes, arrivals are
//! not read, long messages do not start to move, and no credit is returned, but the controllers continue with posted requests. A
//! program that waits sleeps until its controller writes an event.

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

use crate::queue_pair::{GIVEN_AT_ONCE, QueuePair, QueuePairPlace, REQUESTS};
use crate::{DriverParameters, System, driver};
use credit::Credit;
use header::Kind;
use matching::{Content, Context, Envelope, Matching, Posted};
use one_sided::Fetch;

pub use parameters::{Eager, RankParameters, Rendezvous};
pub use reduction::{Combine, Number, Operator};

/// The resources of one rank of a job.
#[derive(Clone, Debug)]
pub struct RankConfig {
    /// The number of the rank.
    pub rank: usize,
    /// The queue pair of the rank. It is open and has [`entries`] buffers.
    pub place: QueuePairPlace,
    /// The queue pairs of all ranks, in order of their numbers.
    pub all: Arc<[QueuePairId]>,
    /// The address of [`SCRATCH`] bytes of host memory for the layer.
    pub scratch: u64,
    /// The software times of the host.
    pub costs: DriverParameters,
    /// The parameters of the layer.
    pub parameters: RankParameters,
}

/// The memory that the layer needs in addition to the queue pair, in bytes.
pub const SCRATCH: u64 = HEADERS + 60 * 1024;

/// The bytes of [`SCRATCH`] for headers that the controller reads, 16 bytes each.
const HEADERS: u64 = 4096;

/// The number of buffers of a rank's queue pair in a job of `size` ranks. It is enough for all NAPs that others may send, although
/// the queue pair returns buffers to its controller in groups.
pub fn entries(size: usize, parameters: &RankParameters) -> u64 {
    let others = size.saturating_sub(1) as u64 * u64::from(parameters.unread());
    (others + u64::from(REQUESTS) + GIVEN_AT_ONCE).next_multiple_of(GIVEN_AT_ONCE)
}

/// The sender, tag and size of a received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The rank of the sender.
    pub from: usize,
    /// The tag of the message.
    pub tag: u32,
    /// The size of the message in bytes. Bytes beyond the size of the receive are lost.
    pub len: u32,
}

/// A send that may not have ended. [`Rank::end_send`] waits until the source may be changed.
#[derive(Debug)]
#[must_use = "the source may change only after `end_send`"]
pub struct Sending(u32);

/// A receive that may not have ended. [`Rank::end_receive`] waits until the message is there.
#[derive(Debug)]
#[must_use = "the message is there only after `end_receive`"]
pub struct Receiving(u32);

/// The interface of a program to its job, in which the program is one rank.
pub struct Rank {
    system: System,
    config: RankConfig,
    pair: QueuePair,
    peers: Vec<Peer>,
    matching: Matching,
    /// The numbers of sends, PUTs and GETs that have not ended.
    open: BTreeSet<u32>,
    /// Sends whose data has not been sent or posted.
    outgoing: BTreeMap<u32, Outgoing>,
    /// Receives whose message has arrived.
    received: BTreeMap<u32, Status>,
    /// Receives whose message will arrive by a PUT of the sender.
    awaited: BTreeMap<u32, Status>,
    /// The outstanding GETs, and the GETs that wait to be posted.
    fetching: Vec<Fetch>,
    fetches: VecDeque<Fetch>,
    /// The number of control words to all peers that wait for credit.
    unsent_words: usize,
    /// The fault of a refused request, until the program reads it by [`take_refusal`](Self::take_refusal).
    refused: Option<Fault>,
    /// The numbers and headers used so far.
    numbers: u32,
    headers: u64,
}

/// The state of another rank.
#[derive(Debug)]
struct Peer {
    id: QueuePairId,
    credit: Credit,
    /// The control words and messages (by number) that wait for credit, oldest first. Control words are sent first.
    words: VecDeque<ControlWord>,
    queue: VecDeque<u32>,
}

/// A control word about a message.
#[derive(Clone, Copy, Debug)]
struct ControlWord {
    kind: Kind,
    len: u32,
    number: u32,
}

/// A send whose data has not been sent or posted.
#[derive(Clone, Copy, Debug)]
struct Outgoing {
    to: usize,
    context: Context,
    tag: u32,
    source: Item,
}

impl Rank {
    /// Creates a rank with `config` for the program of `system`.
    pub fn new(system: System, config: RankConfig) -> Self {
        let peer = |id: &QueuePairId| Peer {
            id: *id,
            credit: Credit::new(config.parameters.share),
            words: VecDeque::new(),
            queue: VecDeque::new(),
        };
        Self {
            peers: config.all.iter().map(peer).collect(),
            pair: QueuePair::new(system.clone(), config.costs.clone(), config.place),
            system,
            config,
            matching: Matching::default(),
            open: BTreeSet::new(),
            outgoing: BTreeMap::new(),
            received: BTreeMap::new(),
            awaited: BTreeMap::new(),
            fetching: Vec::new(),
            fetches: VecDeque::new(),
            unsent_words: 0,
            refused: None,
            numbers: 0,
            headers: 0,
        }
    }

    /// The number of the rank, from 0.
    pub fn rank(&self) -> usize {
        self.config.rank
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.peers.len()
    }

    /// The system of the program, which gives access to its memory.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Returns and clears the fault of a refused request, if there was one. For example, a range of the request is not memory. The request has
    /// ended, and its data is lost.
    pub fn take_refusal(&mut self) -> Option<Fault> {
        self.refused.take()
    }

    /// The current simulated time.
    pub async fn now(&self) -> Time {
        self.system.now().await
    }

    /// Computes for `span`. The layer does nothing in this time.
    pub async fn compute(&self, span: Span) {
        self.system.work(span).await;
    }

    /// Sends the bytes of `source`. When this returns, `source` may be changed, but the message may not have arrived.
    pub async fn send(&mut self, to: usize, tag: u32, source: Item) {
        let sending = self.begin_send(to, tag, source).await;
        self.end_send(sending).await;
    }

    /// Receives the next message from `from` (or any rank) with `tag` (or any tag) into `target`.
    pub async fn receive(&mut self, from: Option<usize>, tag: Option<u32>, target: Item) -> Status {
        let receiving = self.begin_receive(from, tag, target).await;
        self.end_receive(receiving).await
    }

    /// Sends a message and receives one, both at the same time.
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

    /// Starts to send the bytes of `source`.
    pub async fn begin_send(&mut self, to: usize, tag: u32, source: Item) -> Sending {
        self.start_send(to, (Context::Program, tag), source).await
    }

    /// Starts to receive a message.
    pub async fn begin_receive(
        &mut self,
        from: Option<usize>,
        tag: Option<u32>,
        target: Item,
    ) -> Receiving {
        self.start_receive(Context::Program, (from, tag), target)
            .await
    }

    /// Waits until the source of a send may be changed.
    pub async fn end_send(&mut self, sending: Sending) {
        self.end(sending.0).await;
    }

    /// Waits until a message has arrived.
    pub async fn end_receive(&mut self, receiving: Receiving) -> Status {
        loop {
            if self.unsent_words == 0
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
        if to == self.config.rank {
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

    /// Waits for the end of a send, PUT or GET. Also waits until all control words are sent, because this may be the last call.
    async fn end(&mut self, number: u32) {
        while self.open.contains(&number) || self.unsent_words > 0 {
            self.wait().await;
        }
    }

    /// A new number. Numbers are never 0.
    fn number(&mut self) -> u32 {
        self.numbers = self.numbers % u32::MAX + 1;
        self.numbers
    }

    async fn load(&self, range: Item) -> Vec<u8> {
        self.system.load(range.address, range.len as usize).await
    }

    /// Copies `bytes` to `address`, at the copy rate.
    async fn copy(&self, address: u64, bytes: &[u8]) {
        let len = bytes.len() as u64;
        let span = self.config.parameters.copy_rate.time_of(len);
        self.system.work(span).await;
        self.store(address, bytes).await;
    }

    /// Stores `bytes` at `address`, in one store for each page.
    async fn store(&self, address: u64, bytes: &[u8]) {
        for (address, part) in driver::in_pages(address, bytes) {
            self.system.store(address, part).await;
        }
    }
}
