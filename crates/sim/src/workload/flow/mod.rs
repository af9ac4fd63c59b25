//! Flows: requests from one end to another.

mod blocks;
mod load;
mod passage;
mod place;
mod plan;
mod result;
pub(crate) mod section;
mod shared;
mod transfer;

use device::sg_dma::registers::Unit;
use kernel::{Span, Time};

use crate::model::Model;
use crate::observe::meter::Meter;
use crate::plan::FabricPlan;
use crate::scenario::{Clock, Direction};

use super::{Kind, Loading, Own, PATIENCE, Progress, Seen, WorkloadResult};

pub use blocks::BlocksPlan;
pub use result::FlowResult;
pub(super) use result::of as result_of;

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
    pub pattern: u32,
    /// How a driver moves it, if one does.
    pub transfer: Option<TransferPlan>,
    /// How the driver of an NVM Express drive moves it, if one does.
    pub blocks: Option<BlocksPlan>,
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
    pub after: Option<u32>,
}

impl FlowPlan {
    /// Whether a driver moves it, by a system call.
    pub fn is_driven(&self) -> bool {
        self.transfer.is_some() || self.blocks.is_some()
    }

    /// How far a flow is that has these parts.
    pub(super) fn progress_of(&self, own: &Own, meter: &Meter, now: Time) -> Progress {
        let delivered: u64 = own.meters(meter).map(|part| part.delivered).sum();
        let of = |each: u64| delivered as f64 / each.saturating_mul(own.parts.len() as u64) as f64;
        let done = match self.amount {
            Amount::Bytes(size) => of(size),
            Amount::Requests(count) => of(count.saturating_mul(self.write_size)),
            Amount::Lasting(span) => now.since(self.start).as_ns() / span.as_ns(),
        };
        Progress {
            done: Some(done),
            patient_until: self.start.max(meter.progress()) + self.interval + PATIENCE,
        }
    }
}

impl Kind for FlowPlan {
    fn id(&self) -> &str {
        &self.id
    }

    fn parts(&self) -> usize {
        if self.direction == Direction::Both {
            2
        } else {
            1
        }
    }

    fn is_measured_together(&self) -> bool {
        false
    }

    fn pattern(&self, _number: u32) -> Option<u32> {
        Some(self.pattern)
    }

    fn prepare(&self, own: &Own, plan: &FabricPlan, models: &mut [Model]) {
        if let Some(blocks) = &self.blocks
            && self.pattern == own.number
        {
            blocks.fill(self, plan, models);
        }
        if self.direction.reads() {
            load::fill(self, plan, models);
        }
    }

    fn load(&self, own: &Own, to: &mut Loading<'_>) {
        match (&self.transfer, &self.blocks) {
            (Some(transfer), _) => load::spawn_call(self, transfer, own, to),
            (None, Some(blocks)) => blocks.spawn_call(self, own, to),
            (None, None) => load::add_flows(self, own, to),
        }
    }

    fn progress(&self, own: &Own, meter: &Meter, now: Time) -> Progress {
        self.progress_of(own, meter, now)
    }

    fn result(&self, own: &Own, seen: &Seen<'_>) -> WorkloadResult {
        let direction = match self.direction {
            Direction::Write => "write",
            Direction::Read => "read",
            Direction::Both => "both",
            Direction::RoundTrip => "round-trip",
        };
        WorkloadResult::Flow(result::of(self, direction, own, seen))
    }
}
