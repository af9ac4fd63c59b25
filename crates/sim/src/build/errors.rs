//! The software of hosts that handles the interrupts of downstream ports: for errors that root ports report, for Downstream Port Containment, for
//! hot-plug slots and for changes of the bandwidth of links.

use device::{AcceleratorParameters, BlockDmaParameters};
use host::containment::PortBelow;
use host::errors::ErrorPort;
use host::port_services::{PortService, serve};
use host::recovery::{Informed, SavedState};
use kernel::{Span, Time};
use protocol::FunctionId;
use transaction::FunctionPlace;

use crate::model::Model;
use crate::plan::{FabricPlan, NodePlan};
use crate::scenario::NodeKind;

/// Starts, at the time `up`, the host software that handles the interrupts of each downstream port, if the port's host has software for them.
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
        let drivers = |node: usize| {
            let all = costs.driver_recovery.then(|| drivers_below(plan, node));
            all.unwrap_or_default()
        };
        for (index, &link) in node.downstream.iter().enumerate() {
            let place = FunctionPlace::Port(index);
            let Some((_, message)) = node.functions.space(place).msi(0) else {
                continue;
            };
            let function = node.functions.id_of(place);
            let errors = serves_errors.then(|| ErrorPort {
                function,
                below: functions_below(plan, link),
                links: recovered_links(plan, node.root, link),
            });
            let lower = plan.links[link].downstream.0;
            let below = || PortBelow {
                function,
                below: saved_below(plan, lower),
                has_link: true,
                drivers: drivers(lower),
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

/// The register values that firmware has set in the functions of `node` and of all nodes below it, upper nodes first.
pub fn saved_below(plan: &FabricPlan, node: usize) -> Vec<Vec<SavedState>> {
    let nodes = plan.nodes_below(node);
    nodes
        .into_iter()
        .map(|node| saved(&plan.nodes[node]))
        .collect()
}

/// The register values that firmware has set in all functions of `node`, virtual functions last.
pub fn saved(node: &NodePlan) -> Vec<SavedState> {
    let functions = &node.functions;
    let places = functions.places();
    let saved = places.map(|place| SavedState::of(functions.id_of(place), functions.space(place)));
    saved.collect()
}

/// The drivers of the devices at and below `node`, in the order of their interrupt messages. Devices without a driver are left out.
pub fn drivers_below(plan: &FabricPlan, node: usize) -> Vec<Informed> {
    let nodes = plan.nodes_below(node).into_iter();
    let mut drivers: Vec<Informed> = nodes.filter_map(|node| drivers_of(plan, node)).collect();
    drivers.sort_by(|one, other| one.messages.cmp(&other.messages));
    drivers
}

/// The drivers of the device `node`, which its host notifies of a reset. `None` if the host has no driver for the device.
pub fn drivers_of(plan: &FabricPlan, node: usize) -> Option<Informed> {
    let planned = &plan.nodes[node];
    let costs = plan.nodes[planned.driver.host].kind.costs()?;
    let interrupts = 0..planned.kind.properties().interrupts as u16;
    has_driver(planned).then(|| Informed {
        function: planned.functions.id_of(FunctionPlace::Own),
        messages: interrupts
            .filter_map(|vector| planned.interrupt_message(vector))
            .collect(),
        vectors: planned.vector_entries(),
        costs: costs.clone(),
    })
}

/// Whether the host has a driver for a device: a driver that moves flows or a driver that sends commands.
pub fn has_driver(node: &NodePlan) -> bool {
    let is_commanded = node.kind.device::<BlockDmaParameters>().is_some()
        || node.kind.device::<AcceleratorParameters>().is_some();
    is_commanded || node.engine().is_some() || node.drive().is_some()
}

/// The downstream ports at and below `link` whose links the host resets after fatal errors, upper ports first. Each has the functions whose errors
/// cause the reset. A link is not reset if a coherent device below it would lose cache lines of the host, or if containment takes the link down.
fn recovered_links(
    plan: &FabricPlan,
    root: usize,
    link: usize,
) -> Vec<(Vec<FunctionId>, PortBelow)> {
    let NodeKind::Host(_, costs) = &plan.nodes[root].kind else {
        return Vec::new();
    };
    if !costs.driver_recovery || costs.contains_errors() {
        return Vec::new();
    }
    let lower = plan.nodes_below(plan.links[link].downstream.0).into_iter();
    let recovered = lower.filter_map(|node| {
        let is_coherent = |node: &usize| plan.nodes[*node].kind.properties().is_coherent;
        if plan.nodes_below(node).iter().any(is_coherent) {
            return None;
        }
        let (upper, index) = plan.port_above(node)?;
        let function = upper.functions.id_of(FunctionPlace::Port(index));
        let functions = &plan.nodes[node].functions;
        let is_port = |place: &FunctionPlace| matches!(place, FunctionPlace::Port(_));
        let own = functions.places().filter(|place| !is_port(place));
        let own = own.map(|place| functions.id_of(place));
        let port = PortBelow {
            function,
            below: saved_below(plan, node),
            has_link: true,
            drivers: drivers_below(plan, node),
        };
        Some((std::iter::once(function).chain(own).collect(), port))
    });
    recovered.collect()
}

/// All functions below a link, sorted by their IDs.
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
