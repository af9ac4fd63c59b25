//! I/O ports, and the hosts that own the functions of their endpoints.

use fabric::Owned;
use protocol::{Bar, VirtualBar};
use transaction::FunctionPlace;

use crate::scenario::{FabricScenario, Node, NodeKind, ScenarioError};

use super::fabric_plan::{Attached, window};
use super::tree::known;
use super::{ControllerPlan, DriverPlace, IoPortPlan, NodePlan};

/// Plans the I/O ports: finds the owner of each function below them.
pub(crate) fn plan(
    scenario: &FabricScenario,
    nodes: &[NodePlan],
    controllers: &[ControllerPlan],
) -> Result<Vec<IoPortPlan>, ScenarioError> {
    let ports = (0..nodes.len()).filter(|node| nodes[*node].io_port.is_some());
    ports
        .map(|port| plan_one(scenario, (nodes, controllers), port))
        .collect()
}

/// Gives each endpoint the driver of the host that owns its physical function.
pub(crate) fn place_drivers(
    io_ports: &[IoPortPlan],
    nodes: &mut [NodePlan],
    controllers: &[ControllerPlan],
) {
    let attached = Attached::of(nodes);
    for port in io_ports {
        let host = port.owners[0];
        if let Some((window, _)) = window(nodes, &attached, controllers, host, port.node) {
            nodes[port.endpoint].driver = DriverPlace { host, window };
        }
    }
}

fn plan_one(
    scenario: &FabricScenario,
    (nodes, controllers): (&[NodePlan], &[ControllerPlan]),
    port: usize,
) -> Result<IoPortPlan, ScenarioError> {
    let node = &scenario.nodes[port];
    let name = &node.name.value;
    let below = (0..nodes.len()).find(|index| nodes[*index].root == port && *index != port);
    let Some(endpoint) = below else {
        let message =
            format!("there is no device below {name}; write a device with upstream = \"{name}\"");
        return Err(scenario.error(node.name.line, message));
    };
    let functions = &nodes[endpoint].functions;
    let places: Vec<FunctionPlace> = [FunctionPlace::Own]
        .into_iter()
        .chain(functions.virtual_places())
        .collect();
    let line = node.lines.of("owners");
    if node.owners.is_empty() || node.owners.len() > places.len() {
        let count = match places.len() {
            1 => "1 function".to_owned(),
            more => format!("{more} functions"),
        };
        let hosts = vec![format!("{:?}", first_host(nodes)); places.len()];
        let message = format!(
            "{name}.owners: {} has {count}; write the host of each, such as owners = [{}]",
            nodes[endpoint].name,
            hosts.join(", ")
        );
        return Err(scenario.error(line, message));
    }
    let mut plan = IoPortPlan {
        node: port,
        endpoint,
        owners: Vec::new(),
        owned: Vec::new(),
    };
    for (owner, place) in node.owners.iter().zip(places) {
        let found = owner_of(nodes, controllers, port, &owner.value);
        let Some((host, processor)) = found else {
            if !nodes.iter().any(|node| node.name == owner.value) {
                let is_host = |node: &Node| matches!(node.kind, NodeKind::Host(..));
                let advice = known(scenario, &owner.value, is_host);
                let message = format!(
                    "{name}.owners: there is no host {:?}; {advice}",
                    owner.value
                );
                return Err(scenario.error(owner.line, message));
            }
            let message = format!(
                "{name}.owners: {:?} is not a host with a network interface controller at the same controller, or at one that cables join to it; {}",
                owner.value,
                advice_on_owners(nodes, controllers, port)
            );
            return Err(scenario.error(owner.line, message));
        };
        plan.owners.push(host);
        plan.owned.push(Owned {
            id: functions.id_of(place),
            processor,
            bars: bars(&nodes[endpoint], place),
        });
    }
    Ok(plan)
}

/// The addresses of all BARs of a function of an endpoint: base and size of each.
fn bars(endpoint: &NodePlan, place: FunctionPlace) -> Vec<(u64, u64)> {
    let FunctionPlace::Virtual(number) = place else {
        let bars = endpoint.bars.iter().flatten();
        return bars.map(|bar| (bar.base, bar.size)).collect();
    };
    let own = endpoint.functions.space(FunctionPlace::Own);
    let shares = (0..Bar::COUNT as u8).filter_map(|bar| own.virtual_bar(bar));
    let part = |bar: VirtualBar| (bar.base + bar.share * number as u64, bar.share);
    shares.map(part).collect()
}

/// Checks that the node below an I/O port is an endpoint that the owners of its functions can drive.
pub(crate) fn check_endpoint(scenario: &FabricScenario, node: &Node) -> Result<(), ScenarioError> {
    let what = match &node.kind {
        NodeKind::Device(_, device) => {
            let device = device.properties();
            if device.joins_hosts {
                "joins hosts itself"
            } else if device.serves_processes {
                "is found by real programs in the tree of their host"
            } else {
                return Ok(());
            }
        }
        _ => "is not an endpoint",
    };
    let message = format!(
        "{} {what}, and an I/O port has no host; write a device with another model below it, such as model = \"dma\", \"sg-dma\" or \"nvme\"",
        node.name.value
    );
    Err(scenario.error(node.lines.of("upstream"), message))
}

/// The host with this name, and the processor number by which the I/O port `port` reaches it.
fn owner_of(
    nodes: &[NodePlan],
    controllers: &[ControllerPlan],
    port: usize,
    name: &str,
) -> Option<(usize, u8)> {
    let controller = &controllers[nodes[port].io_port?.controller];
    let host = nodes.iter().position(|node| node.name == name)?;
    let own = nodes.iter().filter(|node| node.root == host);
    let mut places = own.filter_map(|node| node.attachment);
    let place = places.find(|place| controller.port_to(place.processor).is_some())?;
    Some((host, place.processor))
}

/// Advice that names a host which can own a function at the I/O port `port`.
fn advice_on_owners(nodes: &[NodePlan], controllers: &[ControllerPlan], port: usize) -> String {
    let reaches = |node: &NodePlan| owner_of(nodes, controllers, port, &node.name).is_some();
    match nodes.iter().find(|node| reaches(node)) {
        Some(host) => format!("write one that is, such as {:?}", host.name),
        None => "there is none; write another controller".to_owned(),
    }
}

fn first_host(nodes: &[NodePlan]) -> &str {
    let mut nics = nodes.iter().filter(|node| node.attachment.is_some());
    nics.next()
        .map_or("h0", |nic| nodes[nic.root].name.as_str())
}
