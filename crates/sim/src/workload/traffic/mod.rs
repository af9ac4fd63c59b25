//! Open-loop workloads of networks: each node offers messages to others at a rate that does not depend on what arrives.

pub(crate) mod plan;
pub(super) mod result;

use std::sync::Arc;

use kernel::{Span, Stream, Time};
use transaction::{Addresses, Arrivals, Content, Direction, Extent, Flow, Spread};

use crate::observe::meter::Meter;
use crate::scenario::TrafficPattern;

use super::{Kind, Loading, NETWORK_PATIENCE, Own, Progress, Seen, WorkloadResult};

pub use result::TrafficResult;

/// One open-loop workload.
#[derive(Clone, Debug)]
pub struct TrafficPlan {
    /// Unique name.
    pub id: String,
    /// The network of the workload.
    pub network: usize,
    /// Traffic pattern, such as "uniform".
    pub pattern: TrafficPattern,
    /// Payload bytes that each node offers per second.
    pub load: u64,
    /// Payload bytes of one message.
    pub message: u64,
    /// Sources, by number of the node in the network.
    pub sources: Vec<SourcePlan>,
    /// Arrival process of messages.
    pub arrivals: Arrivals,
    /// Time of the first offers.
    pub start: Time,
    /// Duration of the offers.
    pub duration: Span,
}

/// A node that sends.
#[derive(Clone, Debug)]
pub struct SourcePlan {
    /// The node that makes the requests.
    pub node: usize,
    /// First addresses of the targets, of which each request draws one.
    pub targets: Arc<[u64]>,
    /// Favoured target, which is drawn more often, and its probability.
    pub favoured: Option<(u64, f64)>,
}

impl Kind for TrafficPlan {
    fn id(&self) -> &str {
        &self.id
    }

    fn parts(&self) -> usize {
        self.sources.len()
    }

    fn pattern(&self, number: u32) -> Option<u32> {
        Some(number)
    }

    fn load(&self, own: &Own, to: &mut Loading<'_>) {
        let pattern = to.plan.pattern(own.number);
        for (source, id) in self.sources.iter().zip(own.flows()) {
            let name = format!("traffic {} {}", self.id, to.plan.nodes[source.node].name);
            let flow = Flow {
                id,
                direction: Direction::Write,
                address: source.targets[0],
                region: self.message,
                addresses: Addresses::Sequential,
                follows: None,
                extent: Extent::Lasting(self.duration),
                request_size: Some(self.message),
                start: self.start + to.up,
                interval: Span::ZERO,
                content: Content::Pattern(pattern),
                disguise: None,
                spread: Some(Box::new(Spread {
                    targets: source.targets.clone(),
                    favoured: source.favoured,
                    arrivals: self.arrivals,
                    stream: Stream::named(to.plan.seed, &name),
                })),
            };
            to.models[source.node].add_flow(0, flow);
        }
    }

    fn start(&self) -> Time {
        self.start
    }

    fn lasts_until(&self) -> Option<Time> {
        Some(self.start + self.duration)
    }

    fn progress(&self, _own: &Own, meter: &Meter, now: Time) -> Progress {
        let passed = now.as_ns() - self.start.as_ns();
        let offered_until = self.start + self.duration;
        Progress {
            done: Some(passed.max(0.0) / self.duration.as_ns()),
            patient_until: offered_until.max(meter.progress()) + NETWORK_PATIENCE,
        }
    }

    fn share_done(&self, own: &Own, meter: &Meter, now: Time) -> Option<f64> {
        let offers = (self.start, self.duration, self.load);
        Some(share_of_offers(offers, own, meter, now))
    }

    fn result(&self, own: &Own, seen: &Seen<'_>) -> WorkloadResult {
        let offered = result::Offered {
            id: &self.id,
            network: &seen.plan.networks[self.network].name,
            pattern: self.pattern,
            load: self.load,
            duration: self.duration,
        };
        WorkloadResult::Traffic(result::of(&offered, own, seen))
    }
}

/// Share done of offers that begin at a time, last for a time and are a number of bytes per second of each part. A network that carries less
/// than is offered delivers most of it after the offers have ended: half of the work are the offers, half of it the arrivals.
pub(super) fn share_of_offers(
    (start, duration, load): (Time, Span, u64),
    own: &Own,
    meter: &Meter,
    now: Time,
) -> f64 {
    let offered = (now.as_ns() - start.as_ns()).max(0.0) / duration.as_ns();
    let expected = load as f64 * duration.as_ns() * 1e-9;
    let (mut ended, mut due) = (0.0, 0.0);
    for part in own.meters(meter) {
        ended += (part.delivered + part.refused) as f64;
        due += part.asked.map_or(expected, |asked| asked as f64);
    }
    let arrived = if due > 0.0 { ended / due } else { 1.0 };
    f64::midpoint(offered.min(1.0), arrived.min(1.0))
}
