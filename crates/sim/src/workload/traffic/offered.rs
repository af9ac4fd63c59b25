//! Offered loads: messages at a rate that does not depend on what arrives.

use kernel::{Quantity, Span, Time};
use transaction::Arrivals;

use super::section::TrafficPattern;
use super::tree::TreeTraffic;
use crate::workload::{NETWORK_PATIENCE, Patience};

/// The load that each node of a network, or each processor at a controller, offers.
#[derive(Clone, Debug)]
pub struct Offered {
    /// Unique name of the workload.
    pub id: String,
    /// Traffic pattern, such as "uniform".
    pub pattern: TrafficPattern,
    /// Payload bytes that each of them offers per second.
    pub load: u64,
    /// Payload bytes of one message.
    pub message: u64,
    /// Arrival process of messages.
    pub arrivals: Arrivals,
    /// Time of the first offers.
    pub start: Time,
    /// Duration of the offers.
    pub duration: Span,
}

impl Offered {
    /// The end of the offers.
    pub(in crate::workload) fn until(&self) -> Time {
        self.start + self.duration
    }

    /// The bytes that each source offers on average.
    pub(in crate::workload) fn bytes(&self) -> u64 {
        (self.load as f64 * self.duration.as_ns() * 1e-9) as u64
    }

    /// How long the workload may stand still.
    pub(in crate::workload) fn patience(&self) -> Patience {
        Patience::new(self.until(), NETWORK_PATIENCE)
    }

    /// The workload as a tree shows it, through `network` from and to these ends.
    pub(in crate::workload) fn tree(
        &self,
        network: &str,
        [from, to]: [&'static str; 2],
        (hot_node, hot_share): (Option<u16>, Option<f64>),
    ) -> TreeTraffic {
        TreeTraffic {
            id: self.id.clone(),
            network: network.to_owned(),
            pattern: self.pattern.show(),
            load: self.load,
            message: self.message,
            from,
            to,
            hot_node,
            hot_share,
            start_ns: self.start.as_ns(),
            duration_ns: self.duration.as_ns(),
        }
    }
}
