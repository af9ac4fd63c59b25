//! Whether the largest packets have room wherever they wait between controllers: one that has none would stand still for ever.

use kernel::{Bytes, Quantity};
use protocol::NetworkHeader;

use crate::scenario::{Node, Scenario, ScenarioError};

use super::NodePlan;
use super::address::show;
use super::controllers::{Attachment, ControllerPlan, Controllers, nic};

/// A place where packets wait.
struct RouteBuffer {
    /// Whose it is, and its key.
    name: String,
    size: Bytes,
    /// Bytes of each packet's header that it must hold, too.
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

    /// Bytes of data that it holds; without a limit if its size is 0, which is infinite credit.
    fn holds(&self) -> u64 {
        match self.size {
            Bytes(0) => u64::MAX,
            Bytes(size) => size.saturating_sub(self.header),
        }
    }
}

/// Bytes of the header of a packet of the crossbars, at most.
const HEADER: u64 = 16;

/// The room of messages. A packet carries what its `network_payload` says, or the descriptor of a GET.
pub(crate) fn for_messages(
    scenario: &Scenario,
    controllers: &mut Controllers,
) -> Result<(), ScenarioError> {
    for number in 0..controllers.all.len() {
        let narrowest = narrowest(&controllers.all, number, |index, controller| {
            let ControllerPlan {
                name,
                port,
                parameters,
                cables,
                ..
            } = controller;
            let crossbar =
                RouteBuffer::new(name, "channel_buffer", parameters.channel_buffer, HEADER);
            let cable = RouteBuffer::new(name, "posted_data", port.posted_data, 0);
            let nics = members(&controllers.attachments, index).filter_map(|node| {
                let node = &scenario.nodes[node];
                let size = nic(node)?.receive_buffer;
                Some(RouteBuffer::new(
                    &node.name.value,
                    "receive_buffer",
                    size,
                    HEADER,
                ))
            });
            let cable = (!cables.is_empty()).then_some(cable);
            [crossbar].into_iter().chain(cable).chain(nics).collect()
        });
        let largest = narrowest.holds().min(NetworkHeader::MAX_DATA.into());
        controllers.all[number].largest = largest as u32;
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

/// The room of loads and stores, which carry what the max payload size of their own host says.
pub(crate) fn for_loads(
    scenario: &Scenario,
    nodes: &[NodePlan],
    controllers: &Controllers,
) -> Result<(), ScenarioError> {
    for number in 0..controllers.all.len() {
        let narrowest = narrowest(&controllers.all, number, |_, controller| {
            let ControllerPlan {
                name,
                port,
                parameters,
                cables,
                ..
            } = controller;
            let crossbar = RouteBuffer::new(name, "io_buffer", parameters.io_buffer, HEADER);
            let cable = [
                RouteBuffer::new(name, "posted_data", port.posted_data, 0),
                RouteBuffer::new(name, "completion_data", port.completion_data, 0),
            ];
            let cable = (!cables.is_empty()).then_some(cable);
            [crossbar]
                .into_iter()
                .chain(cable.into_iter().flatten())
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

/// The place that holds least, among those of a controller and of all that cables join to it.
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

/// The nodes of a controller.
fn members(places: &[Option<Attachment>], controller: usize) -> impl Iterator<Item = usize> {
    let all = places.iter().enumerate();
    let own = all.filter(move |(_, place)| place.is_some_and(|one| one.controller == controller));
    own.map(|(node, _)| node)
}

fn check(
    scenario: &Scenario,
    node: &Node,
    key: &str,
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
        "{}.{key}: {}{header} do not fit into {} ({}); write {} there at least, or a smaller {key}",
        node.name.value,
        payload.show(),
        place.name,
        place.size.show(),
        show(payload.0 + place.header)
    );
    Err(scenario.error(node.lines.of(key), message))
}
