//! Messages: from the queue pair of one network interface controller to that of another.

mod load;
pub(crate) mod plan;

use host::message::{Message, Primitive};
use kernel::Time;
use protocol::QueuePairId;
use transaction::Mark;

use crate::model::Model;
use crate::plan::{FabricPlan, NodePlan};

use super::flow::FlowPlan;
use super::{Kind, Loading, Own, Patience, Seen, WorkloadResults, flow};

pub(crate) use load::open;

/// A flow of messages.
#[derive(Clone, Debug)]
pub struct MessagePlan {
    /// Ends, amount and times of the flow.
    pub flow: FlowPlan,
    /// Description of each message.
    pub message: Message,
    /// Least bytes of a message, where sizes are drawn.
    pub smallest: Option<u64>,
}

impl MessagePlan {
    /// The hosts that the bytes come from and go to.
    pub(super) fn hosts(&self, nodes: &[NodePlan]) -> (usize, usize) {
        let asking = nodes[self.flow.from].root;
        let asked = self.flow.to.map_or(asking, |to| nodes[to].root);
        match self.message.primitive {
            Primitive::Get => (asked, asking),
            _ => (asking, asked),
        }
    }
}

impl Kind for MessagePlan {
    fn id(&self) -> &str {
        &self.flow.id
    }

    fn parts(&self) -> usize {
        1
    }

    fn is_measured_together(&self) -> bool {
        false
    }

    fn pattern(&self, _number: u32) -> Option<u32> {
        Some(self.flow.pattern)
    }

    fn mark(&self) -> Mark {
        self.flow.mark
    }

    fn prepare(&self, _own: &Own, plan: &FabricPlan, models: &mut [Model]) {
        load::prepare(self, plan, models);
    }

    fn load(&self, own: &Own, to: &mut Loading<'_>) {
        load::load(self, own, to);
    }

    fn start(&self) -> Time {
        self.flow.start
    }

    fn enders(&self, _part: usize, plan: &FabricPlan) -> Vec<usize> {
        vec![plan.nodes[self.flow.from].root]
    }

    fn amount(&self, part: usize) -> Option<u64> {
        self.flow.amount(part)
    }

    fn patience(&self) -> Patience {
        self.flow.patience()
    }

    fn queue_pairs(&self) -> Vec<QueuePairId> {
        vec![self.message.from.id, self.message.to.id]
    }

    fn result(&self, own: &Own, seen: &Seen<'_>, to: &mut WorkloadResults) {
        let primitive = self.message.primitive.name();
        to.flows
            .push(flow::result_of(&self.flow, primitive, own, seen));
    }
}
