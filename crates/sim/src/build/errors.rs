//! The software of hosts that serves the errors which root ports report.

use host::errors::{self, ErrorPort};
use kernel::{Span, Time};
use protocol::FunctionId;
use transaction::FunctionPlace;

use crate::model::Model;
use crate::plan::FabricPlan;
use crate::scenario::NodeKind;

/// Starts the error service of every root port whose host has one, from the time `up` on.
pub fn load(plan: &FabricPlan, up: Span, models: &mut [Model]) {
    for (node, model) in plan.nodes.iter().zip(models) {
        let (NodeKind::Host(_, costs), Some(host)) = (&node.kind, model.host_mut()) else {
            continue;
        };
        if !costs.error_reporting {
            continue;
        }
        for (index, port) in node.downstream.iter().enumerate() {
            let place = FunctionPlace::Port(index);
            let Some((_, message)) = node.functions.space(place).msi(0) else {
                continue;
            };
            let service = ErrorPort {
                function: node.functions.id_of(place),
                message,
                below: below(plan, port.link),
            };
            let costs = costs.clone();
            let start = Time::ZERO + up;
            host.cpu_mut()
                .spawn(start, |system| errors::serve(system, costs, service));
        }
    }
}

/// All functions below a link, the upper ones first.
fn below(plan: &FabricPlan, link: usize) -> Vec<FunctionId> {
    let mut found = Vec::new();
    let mut open = vec![link];
    while let Some(link) = open.pop() {
        let node = &plan.nodes[plan.links[link].downstream.0];
        let functions = &node.functions;
        found.extend(functions.places().map(|place| functions.id_of(place)));
        open.extend(node.downstream.iter().map(|port| port.link));
    }
    found.sort();
    found
}
