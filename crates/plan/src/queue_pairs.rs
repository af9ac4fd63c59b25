//! Allocation of the queue pairs of network interface controllers to flows and workloads.

use std::collections::BTreeMap;

use device::nic::registers::{FUNCTIONS, PAIRS};
use protocol::QueuePairId;

use super::NodePlan;

/// The allocated queue pairs of each node, each with its maximum number of outstanding requests.
#[derive(Debug, Default)]
pub struct QueuePairs(BTreeMap<usize, Vec<(QueuePairId, u32)>>);

impl QueuePairs {
    /// The most outstanding requests of each allocated queue pair of a function of `node`.
    pub fn of(&self, node: usize, function: u8) -> impl Iterator<Item = u32> {
        let taken = self.0.get(&node).into_iter().flatten();
        taken
            .filter(move |(id, _)| id.function() == function)
            .map(|(_, requests)| *requests)
    }

    /// Allocates a free queue pair of `nic`, which is the node `node`, for up to `requests` outstanding requests. If `function` is given, the queue
    /// pair is in this function. `None` if no function has a free queue pair and enough requests left.
    pub fn take(
        &mut self,
        node: usize,
        nic: &NodePlan,
        (function, requests): (Option<u8>, u32),
    ) -> Option<QueuePairId> {
        let processor = nic.attachment?.processor;
        let functions = match function {
            Some(function) => function..function + 1,
            None => 0..FUNCTIONS as u8,
        };
        let has_room = |function: &u8| {
            let under_way: u32 = self.of(node, *function).sum();
            nic.doorbells(*function).is_some() && under_way + requests <= nic.requests()
        };
        let there = functions.filter(has_room);
        let pairs = there.flat_map(|function| (0..PAIRS as u8).map(move |pair| (function, pair)));
        let mut ids = pairs.map(|(function, pair)| QueuePairId::new(processor, function, pair));
        let is_free = |id: &QueuePairId| {
            let taken = self.0.get(&node).into_iter().flatten();
            taken.into_iter().all(|(other, _)| other != id)
        };
        let id = ids.find(is_free)?;
        self.0.entry(node).or_default().push((id, requests));
        Some(id)
    }
}
