//! Flows: requests from one end to another.

pub(crate) mod attributes;
mod blocks;
pub(crate) mod classes;
mod load;
pub mod message;
mod overlap;
pub(crate) mod pasid;
mod passage;
mod place;
pub(crate) mod places;
mod plan;
pub(crate) mod recording;
mod result;
pub(crate) mod section;
mod shared;
mod transfer;

use device::sg_dma::registers::Unit;
use kernel::{Span, Time};
use protocol::QueuePairId;
use transaction::{Disguise, Mark};

use crate::model::Model;
use crate::plan::FabricPlan;
use crate::scenario::NodeKind;

use super::{Kind, Loading, Own, PATIENCE, Patience, Seen, WorkloadResults};
use message::MessagePlan;

use recording::Recording;
use section::{Direction, FlowParameters};

pub use blocks::BlocksPlan;
pub(super) use places::{HAS_DRIVER, PLACE_KEYS};
pub use result::{DirectionResult, FlowResult};

/// Amount that a flow moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Bytes each way.
    Bytes(u64),
    /// Requests each way.
    Requests(u64),
    /// Requests for a duration.
    Lasting(Span),
}

/// Places of the requests of a flow in its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Places {
    /// Each request begins where the previous one ended.
    Sequential,
    /// The number of bytes from the beginning of one request to the beginning of the next.
    Strided(u64),
    /// Each request begins at a random multiple of this number of bytes.
    Random(u64),
    /// Each request begins where the recording of the flow says. The last byte of all requests is before this offset.
    Recorded(u64),
}

/// A warning about a flow: the key that it is about, and the text that follows the flow's name.
type Warning = (&'static str, String);

/// Plan of one flow.
#[derive(Clone, Debug)]
pub struct FlowPlan {
    /// Unique name.
    pub id: String,
    /// The host or device that makes the requests.
    pub from: usize,
    /// The host or device that answers the requests; `None` for a bare address.
    pub to: Option<usize>,
    /// The address of the first byte.
    pub address: u64,
    /// The function that makes the requests, and the function of the target that answers them; 0 for a physical function and for a host.
    pub functions: [u8; 2],
    /// Wrong header fields of the requests, for a flow of a faulty or malicious device.
    pub disguise: Option<Disguise>,
    /// Offset of the first byte in the addresses of the target.
    pub offset: u64,
    /// Bytes of the target that are used. Each byte is used once, or requests use the window repeatedly.
    pub window: u64,
    /// For a round trip: the address at the requester to which the reflector writes its answers. The area is one request long.
    pub reply: Option<u64>,
    /// Direction of the data.
    pub direction: Direction,
    /// Places of the requests in the window.
    pub places: Places,
    /// Amount of data.
    pub amount: Amount,
    /// Whether each request has its full size at any address. Otherwise each request is one packet, which is shortened at page boundaries.
    pub sized: bool,
    /// Bytes of one write request.
    pub write_size: u64,
    /// Bytes of one read request.
    pub read_size: u64,
    /// All other parameters, as written.
    pub parameters: FlowParameters,
    /// The number of the flow whose data pattern this flow carries: its own number, or the number of an earlier flow.
    pub pattern: u32,
    /// Whether read data is not compared, because another flow may have changed it or because the region does not store written data.
    pub is_disturbed: bool,
    /// The component that makes the requests of the flow.
    pub mover: Mover,
}

/// The component that makes the requests of a flow.
#[derive(Clone, Debug)]
pub enum Mover {
    /// The requester makes the requests itself, without a driver.
    Requester,
    /// The driver of a scatter/gather engine.
    Engine(TransferPlan),
    /// The driver of an NVM Express drive.
    Drive(BlocksPlan),
    /// Programs at both ends exchange messages.
    Messages(MessagePlan),
}

/// Plan of a flow that the driver of an engine moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferPlan {
    /// The unit of the engine that moves the flow.
    pub unit: Unit,
    /// Maximum payload of a packet in bytes; 0 if the engine chooses it.
    pub payload: u32,
    /// Address of the list in the host's memory, if the engine fetches it.
    pub list: Option<u64>,
    /// The flow whose system call must return before this flow begins.
    pub after: Option<u32>,
}

impl FlowPlan {
    /// Whether a driver moves the flow by a system call.
    pub fn is_driven(&self) -> bool {
        matches!(self.mover, Mover::Engine(_) | Mover::Drive(_))
    }

    /// The transfer plan, if the driver of a scatter/gather engine moves the flow.
    pub fn transfer(&self) -> Option<&TransferPlan> {
        match &self.mover {
            Mover::Engine(transfer) => Some(transfer),
            _ => None,
        }
    }

    /// The plan of blocks, if the driver of an NVM Express drive moves the flow.
    pub fn blocks(&self) -> Option<&BlocksPlan> {
        match &self.mover {
            Mover::Drive(blocks) => Some(blocks),
            _ => None,
        }
    }

    /// The start and the end of a flow with a duration, of a run whose links are up at `up`.
    pub(crate) fn lasts(&self, up: Span) -> Option<(Time, Time)> {
        let Amount::Lasting(span) = self.amount else {
            return None;
        };
        let start = self.start() + up;
        Some((start, start + span))
    }

    /// The sockets whose memory the flow goes to, if its target is a host with several.
    pub(crate) fn sockets(&self, plan: &FabricPlan) -> Vec<usize> {
        let several = |host: &usize| match &plan.nodes[*host].kind {
            NodeKind::Host(parameters, _) => parameters.sockets > 1,
            _ => false,
        };
        let host = self.to.filter(several);
        let found = host.and_then(|host| sockets_of(plan, host, (self.offset, self.window)));
        found.map_or_else(Vec::new, |(first, last)| (first..=last).collect())
    }

    /// Whether the part with this number reads. A flow with direction "both" has two parts: part 0 writes, part 1 reads.
    pub(crate) fn is_read(&self, part: u32) -> bool {
        match self.direction {
            Direction::Both => part == 1,
            direction => direction.reads(),
        }
    }
}

/// The first and the last socket of `host` whose memory has the bytes at an offset; none if it is no host.
pub(crate) fn sockets_of(
    plan: &FabricPlan,
    host: usize,
    (offset, bytes): (u64, u64),
) -> Option<(usize, usize)> {
    let NodeKind::Host(parameters, _) = &plan.nodes[host].kind else {
        return None;
    };
    let last_socket = u64::from(parameters.sockets) - 1;
    let socket = |offset: u64| (offset / parameters.memory_share()).min(last_socket) as usize;
    Some((socket(offset), socket(offset + bytes.max(1) - 1)))
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

    fn mark(&self) -> Mark {
        attributes::mark(&self.parameters)
    }

    fn prepare(&self, own: &Own, plan: &FabricPlan, models: &mut [Model]) {
        match &self.mover {
            Mover::Messages(messages) => return message::prepare(self, messages, plan, models),
            Mover::Drive(blocks) if self.pattern == own.number => blocks.fill(self, plan, models),
            _ => {}
        }
        // If each read follows the write of its place, no data is filled in beforehand: the read data must be the data that the flow wrote.
        if self.direction.reads() && !self.parameters.read_after_write {
            load::fill(self, plan, models);
        }
    }

    fn load(&self, own: &Own, to: &mut Loading<'_>) {
        match &self.mover {
            Mover::Requester => load::add_flows(self, own, to),
            Mover::Engine(transfer) => load::spawn_call(self, transfer, own, to),
            Mover::Drive(blocks) => blocks.spawn_call(self, own, to),
            Mover::Messages(messages) => message::load(self, messages, own, to),
        }
    }

    fn start(&self) -> Time {
        Time::ZERO + self.parameters.start
    }

    fn lasts_until(&self) -> Option<Time> {
        let is_of_messages = matches!(self.mover, Mover::Messages(_));
        let lasts = self.lasts(Span::ZERO).filter(|_| !is_of_messages);
        lasts.map(|(_, end)| end)
    }

    fn enders(&self, _part: usize, plan: &FabricPlan) -> Vec<usize> {
        match self.mover {
            Mover::Requester => return vec![self.from],
            Mover::Messages(_) => return vec![plan.nodes[self.from].root],
            Mover::Engine(_) | Mover::Drive(_) => {}
        }
        let ends = [Some(self.from), self.to].into_iter().flatten();
        ends.flat_map(|node| [node, plan.nodes[node].driver.host])
            .collect()
    }

    fn amount(&self, _part: usize) -> Option<u64> {
        match self.amount {
            Amount::Bytes(size) => Some(size),
            Amount::Requests(count) => Some(count.saturating_mul(self.write_size)),
            Amount::Lasting(_) => None,
        }
    }

    fn is_random(&self) -> bool {
        let draws_sizes = match &self.mover {
            Mover::Messages(messages) => messages.smallest.is_some(),
            _ => false,
        };
        draws_sizes || matches!(self.places, Places::Random(_))
    }

    fn request(&self) -> Option<u64> {
        Some(match &self.mover {
            Mover::Drive(blocks) => blocks.command,
            _ if self.direction.writes() => self.write_size,
            _ => self.read_size,
        })
    }

    fn patience(&self) -> Patience {
        let recorded = self.parameters.requests.as_ref();
        let gap = recorded.map_or(self.parameters.interval, Recording::longest_gap);
        Patience::new(self.start(), gap + PATIENCE)
    }

    fn reply(&self) -> Option<(usize, u64)> {
        self.to.zip(self.reply)
    }

    fn directions(&self) -> &'static [&'static str] {
        match self.direction {
            Direction::Both => &["write", "read"],
            _ => &[],
        }
    }

    fn queue_pairs(&self) -> Vec<QueuePairId> {
        match &self.mover {
            Mover::Messages(messages) => vec![messages.message.from.id, messages.message.to.id],
            _ => Vec::new(),
        }
    }

    fn result(&self, own: &Own, seen: &Seen<'_>, to: &mut WorkloadResults) {
        to.flows.push(result::of(self, own, seen));
    }
}
