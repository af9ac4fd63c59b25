//! Flows that have been checked, their ends found.

use device::sg_dma::registers::Unit;
use kernel::{Span, Time};

use crate::scenario::{Clock, Direction};

use super::MessagePlan;

/// How much a flow moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// So many bytes, each way.
    Bytes(u64),
    /// So many requests, each way.
    Requests(u64),
    /// What can be requested within a time.
    Lasting(Span),
}

/// One flow.
#[derive(Clone, Debug)]
pub struct FlowPlan {
    /// Its name, the only one of it.
    pub id: String,
    /// The host or device that makes the requests.
    pub from: usize,
    /// The host or device they are made to; none where a bare address was written.
    pub to: Option<usize>,
    /// The address of the first byte.
    pub address: u64,
    /// The function that takes part in it of the device at one of its ends, if one is written.
    pub function: Option<(usize, u8)>,
    /// How far that is into what the target answers to.
    pub offset: u64,
    /// The bytes from there that are used: each once, or in whole requests again and again.
    pub window: u64,
    /// Where the answers of a round trip go: an address of the node that asks, one request long.
    pub reply: Option<u64>,
    /// Which way the data goes.
    pub direction: Direction,
    /// How much of it.
    pub amount: Amount,
    /// Whether requests have that size wherever they begin; otherwise each is one packet, cut at pages.
    pub sized: bool,
    /// Bytes of one write request.
    pub write_size: u64,
    /// Bytes of one read request.
    pub read_size: u64,
    /// When the first request is made.
    pub start: Time,
    /// Least time from one request to the next.
    pub interval: Span,
    /// Whose clock the rate is read on.
    pub clock: Clock,
    /// The flow whose bytes it carries: itself, or one above it.
    pub pattern: usize,
    /// How a driver moves it, if one does.
    pub transfer: Option<TransferPlan>,
    /// How it goes from one network interface controller to another, if it does.
    pub message: Option<MessagePlan>,
}

/// What a driver needs to know of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferPlan {
    /// The unit of the engine that moves it.
    pub unit: Unit,
    /// Bytes of a packet at most; 0 leaves it to the engine.
    pub payload: u32,
    /// Where in the host's memory the list is kept for the engine to fetch.
    pub list: Option<u64>,
    /// The flow whose call must have returned before.
    pub after: Option<usize>,
}
