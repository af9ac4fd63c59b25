//! The software of hosts that serves the interrupts of downstream ports: for errors that root ports report, for
//! containment, for slots and for the bandwidth of links.

use host::containment::PortBelow;
use host::errors::ErrorPort;
use host::port_services::{PortService, serve};
use host::recovery::SavedState;
use kernel::{Span, Time};
use protocol::FunctionId;
use transaction::FunctionPlace;

use crate::model::Model;
use crate::plan::{FabricPlan, NodePlan};
use crate::scenario::NodeKind;

/// Starts the service of every downstream port whose host has one, from the time `up` on.
pub fn load(plan: &FabricPlan, up: Span, models: &mut [Model]) {
    for (number, node) in plan.nodes.iter().enumerate() {
        let NodeKind::Host(_, costs) = &plan.nodes[node.root].kind else {
            continue;
        };
        let serves_errors = costs.error_reporting && number == node.root;
        let serves_links = costs.bandwidth_notification;
        if !serves_errors && !costs.contains_errors() && !costs.hot_plug && !serves_links {
            continue;
        }
        let Some(host) = models[node.root].host_mut() else {
            continue;
        };
        for (index, port) in node.downstream.iter().enumerate() {
            let place = FunctionPlace::Port(index);
            let Some((_, message)) = node.functions.space(place).msi(0) else {
                continue;
            };
            let function = node.functions.id_of(place);
            let errors = serves_errors.then(|| ErrorPort {
                function,
                below: functions_below(plan, port.link),
            });
            let below = || PortBelow {
                function,
                below: saved_below(plan, plan.links[port.link].downstream.0),
            };
            let has_slot = costs.hot_plug && node.functions.space(place).has_slot();
            let service = PortService {
                message,
                errors,
                containment: costs.contains_errors().then(below),
                slot: has_slot.then(below),
                bandwidth: serves_links.then_some(function),
            };
            let costs = costs.clone();
            let start = Time::ZERO + up;
            host.cpu_mut()
                .spawn(start, |system| serve(system, costs, service));
        }
    }
}

/// What firmware has set in the registers of the functions of `node` and of all nodes below it, the upper nodes first.
pub fn saved_below(plan: &FabricPlan, node: usize) -> Vec<Vec<SavedState>> {
    let nodes = plan.nodes_below(node);
    nodes
        .into_iter()
        .map(|node| saved(&plan.nodes[node]))
        .collect()
}

/// What firmware has set in the registers of all functions of `node`: the physical function, then the virtual ones.
pub fn saved(node: &NodePlan) -> Vec<SavedState> {
    let functions = &node.functions;
    let places = functions.places();
    let saved = places.map(|place| SavedState::of(functions.id_of(place), functions.space(place)));
    saved.collect()
}

/// All functions below a link, the upper ones first.
fn functions_below(plan: &FabricPlan, link: usize) -> Vec<FunctionId> {
    let nodes = plan.nodes_below(plan.links[link].downstream.0).into_iter();
    let mut found: Vec<FunctionId> = nodes
        .flat_map(|node| {
            let functions = &plan.nodes[node].functions;
            let places = functions.places();
            places.map(|place| functions.id_of(place))
        })
        .collect();
    found.sort();
    found
}
