//! Flows of messages: from the queue pair of one network interface controller to that of another.

mod load;
pub(crate) mod plan;

use host::message::{Message, Primitive};

use crate::plan::NodePlan;

use super::FlowPlan;

pub(crate) use load::open;
pub(super) use load::{load, prepare};

/// The messages of a flow.
#[derive(Clone, Debug)]
pub struct MessagePlan {
    /// Description of each message.
    pub message: Message,
    /// Least bytes of a message, where sizes are drawn.
    pub smallest: Option<u64>,
}

impl MessagePlan {
    /// The hosts that the bytes of `flow` come from and go to.
    pub(super) fn hosts(&self, flow: &FlowPlan, nodes: &[NodePlan]) -> (usize, usize) {
        let asking = nodes[flow.from].root;
        let asked = flow.to.map_or(asking, |to| nodes[to].root);
        match self.message.primitive {
            Primitive::Get => (asked, asking),
            _ => (asking, asked),
        }
    }
}
