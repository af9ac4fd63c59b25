//! Checks that the largest packets fit into every buffer of controllers: a packet that does not fit would wait for ever.

use kernel::{Bytes, Quantity};
use link::PortParameters;
use protocol::NetworkHeader;

use crate::scenario::{FabricScenario, Node, ScenarioError};

use super::NodePlan;
use super::address::show;
use super::controllers::{Attachment, ControllerPlan, Controllers, nic};
use super::payload::kept;

/// A buffer that packets between controllers pass.
struct RouteBuffer {
    /// The name of the owner, a dot, and the name of the parameter that sets the buffer size.
    name: String,
    size: Bytes,
    /// The header bytes of each packet, which the buffer must hold as well.
    header: u64,
}

impl RouteBuffer {
    fn new(owner: &str, key: &str, size: Bytes, header: u64) -> Self {
        RouteBuffer {
            name: format!("{owner}.{key}"),
            size,
            header,
        }
    }

    /// The maximum number of data bytes in one packet that fits into the buffer. If the size is 0, credit is infinite, and there is no limit.
    fn holds(&self) -> u64 {
        match self.size {
            Bytes(0) => u64::MAX,
            Bytes(size) => size.saturating_sub(self.header),
        }
    }
}

/// The largest header of a packet of the crossbars, in bytes.
const HEADER: u64 = 16;

/// Sets `largest` of each controller: the maximum number of data bytes in a message packet that fits into all buffers.
pub(crate) fn measure(scenario: &FabricScenario, controllers: &mut Controllers) {
    for number in 0..controllers.all.len() {
        let narrowest = narrowest_for_messages(scenario, controllers, number);
        let largest = narrowest.holds().min(NetworkHeader::MAX_DATA.into());
        controllers.all[number].largest = largest as u32;
    }
}

/// Checks the buffers for messages. A packet carries at most `network_payload` bytes, or the descriptor of a GET.
pub(crate) fn for_messages(
    scenario: &FabricScenario,
    controllers: &Controllers,
) -> Result<(), ScenarioError> {
    for number in 0..controllers.all.len() {
        let narrowest = narrowest_for_messages(scenario, controllers, number);
        for node in members(&controllers.attachments, number) {
            let node = &scenario.nodes[node];
            if let Some(nic) = nic(node) {
                check(
                    scenario,
                    node,
                    "network_payload",
                    nic.network_payload,
                    &narrowest,
                )?;
            }
        }
    }
    Ok(())
}

/// The smallest buffer for messages of a controller and of all controllers that cables join to it.
fn narrowest_for_messages(
    scenario: &FabricScenario,
    controllers: &Controllers,
    number: usize,
) -> RouteBuffer {
    narrowest(&controllers.all, number, |index, controller| {
        let ControllerPlan {
            name,
            port,
            parameters,
            cables,
            ..
        } = controller;
        let crossbar = RouteBuffer::new(name, "channel_buffer", parameters.channel_buffer, HEADER);
        let cable = RouteBuffer::new(name, "posted_data", cable_data(port)[0], 0);
        let nics = members(&controllers.attachments, index);
        let nics = nics.filter_map(|node| receive_buffer(&scenario.nodes[node]));
        let cable = (!cables.is_empty()).then_some(cable);
        [crossbar].into_iter().chain(cable).chain(nics).collect()
    })
}

/// The smallest data buffers that a port has with any cable: posted, non-posted and completions.
fn cable_data(port: &PortParameters) -> [Bytes; 3] {
    port.least_buffers().data
}

/// Checks the buffers for loads and stores. A packet carries at most the max payload size of the node at the controller. `between_hosts` is true if
/// hosts load from and store to each other's memory.
pub(crate) fn for_loads(
    scenario: &FabricScenario,
    nodes: &[NodePlan],
    controllers: &Controllers,
    between_hosts: bool,
) -> Result<(), ScenarioError> {
    for number in 0..controllers.all.len() {
        let takes_loads = has_loads(&controllers.all, number, between_hosts);
        let narrowest = narrowest(&controllers.all, number, |index, controller| {
            let ControllerPlan {
                name,
                port,
                parameters,
                cables,
                ..
            } = controller;
            let crossbar = RouteBuffer::new(name, "io_buffer", parameters.io_buffer, HEADER);
            let [posted, _, completions] = cable_data(port);
            let cable = [
                RouteBuffer::new(name, "posted_data", posted, 0),
                RouteBuffer::new(name, "completion_data", completions, 0),
            ];
            let cable = (!cables.is_empty()).then_some(cable);
            let nics = members(&controllers.attachments, index).filter(|_| takes_loads);
            [crossbar]
                .into_iter()
                .chain(cable.into_iter().flatten())
                .chain(nics.filter_map(|node| receive_buffer(&scenario.nodes[node])))
                .collect()
        });
        let nics = members(&controllers.attachments, number);
        for node in nics.chain(members(&controllers.io_ports, number)) {
            let payload = Bytes(nodes[node].max_payload.into());
            check(
                scenario,
                &scenario.nodes[node],
                "max_payload",
                payload,
                &narrowest,
            )?;
        }
    }
    Ok(())
}

/// Checks that the replay buffer of each controller with a cable holds its largest packet: a sender without room for it would wait for
/// ever.
pub(crate) fn for_replays(
    scenario: &FabricScenario,
    nodes: &[NodePlan],
    controllers: &Controllers,
) -> Result<(), ScenarioError> {
    for (controller, plan) in scenario.controllers.iter().zip(&controllers.all) {
        let joined = controllers.all.iter().enumerate();
        let joined = joined.filter(|(_, other)| other.group == plan.group);
        let all = joined.flat_map(|(number, _)| {
            members(&controllers.attachments, number).chain(members(&controllers.io_ports, number))
        });
        let largest = all.map(|node| {
            let packets = nic(&scenario.nodes[node]).map_or(Bytes(0), |nic| nic.network_payload);
            packets.max(Bytes(nodes[node].max_payload.into()))
        });
        let Some(largest) = largest.max().filter(|_| !plan.cables.is_empty()) else {
            continue;
        };
        let least = kept(largest);
        if let Some(size) = plan.port.replay_buffer
            && size < least
        {
            let message = format!(
                "{} does not hold the largest packet on its cables; write {} at least",
                size.show(),
                least.show()
            );
            let wrong = ("replay_buffer", message);
            return Err(scenario.error_at(&controller.name, &controller.lines, wrong));
        }
    }
    Ok(())
}

/// The buffer of a network interface controller for packets from its crossbar.
fn receive_buffer(node: &Node) -> Option<RouteBuffer> {
    let size = nic(node)?.receive_buffer;
    let name = &node.name.value;
    Some(RouteBuffer::new(name, "receive_buffer", size, HEADER))
}

/// Whether loads and stores, not only messages, cross this controller or a controller that cables join to it. Hosts make them to each other, and
/// endpoints below I/O ports make them.
fn has_loads(all: &[ControllerPlan], number: usize, between_hosts: bool) -> bool {
    let mut joined = all.iter().filter(|other| other.group == all[number].group);
    between_hosts || joined.any(|other| !other.io_ports.is_empty())
}

/// The smallest buffer of a controller and of all controllers that cables join to it.
fn narrowest(
    all: &[ControllerPlan],
    number: usize,
    places: impl Fn(usize, &ControllerPlan) -> Vec<RouteBuffer>,
) -> RouteBuffer {
    let joined = all
        .iter()
        .enumerate()
        .filter(|(_, other)| other.group == all[number].group);
    let all = joined.flat_map(|(index, controller)| places(index, controller));
    all.min_by_key(RouteBuffer::holds)
        .expect("a controller has room of its own")
}

fn members(places: &[Option<Attachment>], controller: usize) -> impl Iterator<Item = usize> {
    let all = places.iter().enumerate();
    let own = all.filter(move |(_, place)| place.is_some_and(|one| one.controller == controller));
    own.map(|(node, _)| node)
}

fn check(
    scenario: &FabricScenario,
    node: &Node,
    key: &'static str,
    payload: Bytes,
    place: &RouteBuffer,
) -> Result<(), ScenarioError> {
    if payload.0 <= place.holds() {
        return Ok(());
    }
    let header = match place.header {
        0 => String::new(),
        bytes => format!(" with {bytes} B of header"),
    };
    let message = format!(
        "{}{header} do not fit into {} ({}); write {} there at least, or a smaller {key}",
        payload.show(),
        place.name,
        place.size.show(),
        show(payload.0 + place.header)
    );
    Err(node.error(scenario, (key, message)))
}
