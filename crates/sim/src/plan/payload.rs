//! Max payload and max read request sizes: what enumeration chooses, then what is written over it.

use kernel::{Bytes, Quantity};

use crate::scenario::{Node, NodeKind, Scenario, ScenarioError};

use super::tree::Tree;

/// PCIe Base 7.5.3.4: powers of two from 128 B to 4 KiB.
const SIZES: std::ops::RangeInclusive<u64> = 128..=4096;

/// Max payload size of each node: the smallest supported in its tree, or its own override.
pub(super) fn sizes(scenario: &Scenario, tree: &Tree) -> Result<Vec<u32>, ScenarioError> {
    let nodes = &scenario.nodes;
    let mut smallest = vec![u32::MAX; nodes.len()];
    for (node, root) in nodes.iter().zip(&tree.roots) {
        let supported = node.port.max_payload_supported;
        let supported = checked(scenario, node, "max_payload_supported", supported)?;
        smallest[*root] = smallest[*root].min(supported);
    }
    let size = |(node, root): (&Node, &usize)| overridden(scenario, node, smallest[*root]);
    nodes.iter().zip(&tree.roots).map(size).collect()
}

/// A port's buffers hold at least one packet of the max payload size (PCIe Base 2.6.1, minimum initial credit).
pub(super) fn check_buffers(
    scenario: &Scenario,
    node: &Node,
    max_payload: u32,
) -> Result<(), ScenarioError> {
    let least = Bytes(u64::from(max_payload));
    let buffers = [
        ("posted_data", node.port.posted_data),
        ("completion_data", node.port.completion_data),
        ("replay_buffer", node.port.replay_buffer),
    ];
    for (key, size) in buffers {
        if size < least && (size.0 > 0 || key == "replay_buffer") {
            let message = format!(
                "{}.{key}: {} does not hold one packet of the max payload size; write {} at least",
                node.name.value,
                size.show(),
                least.show()
            );
            return Err(scenario.error(node.lines.of(key), message));
        }
    }
    Ok(())
}

/// Memory from address 0 on ends where BARs begin.
pub(super) fn check_memory(scenario: &Scenario, node: &Node) -> Result<(), ScenarioError> {
    let NodeKind::Host(host, _) = &node.kind else {
        return Ok(());
    };
    if host.memory_address_bits == 32 && host.memory > LOW_MEMORY {
        let message = format!(
            "{}.memory: {} does not fit below 4 GiB; write {} at most, or memory_address_bits = 64",
            node.name.value,
            host.memory.show(),
            LOW_MEMORY.show()
        );
        return Err(scenario.error(node.lines.of("memory"), message));
    }
    Ok(())
}

const LOW_MEMORY: Bytes = Bytes(3 << 30);

/// Max read request size of `node`; a host may well ask for less than a function can.
pub(super) fn max_read_request(scenario: &Scenario, node: &Node) -> Result<u32, ScenarioError> {
    match &node.kind {
        NodeKind::Host(host, _) => Ok(host.max_read_request.0 as u32),
        NodeKind::Switch(_) => Ok(0),
        NodeKind::Device(endpoint, _) => {
            let size = endpoint.max_read_request;
            checked(scenario, node, "max_read_request", size)
        }
    }
}

fn overridden(scenario: &Scenario, node: &Node, chosen: u32) -> Result<u32, ScenarioError> {
    let Some(wanted) = node.settings.max_payload else {
        return Ok(chosen);
    };
    let size = checked(scenario, node, "max_payload", wanted)?;
    let supported = node.port.max_payload_supported;
    if wanted > supported {
        let message = format!(
            "{}.max_payload: {} is above what {} supports; write {} at most, or a larger max_payload_supported",
            node.name.value,
            wanted.show(),
            node.name.value,
            supported.show()
        );
        return Err(scenario.error(node.lines.of("max_payload"), message));
    }
    Ok(size)
}

fn checked(scenario: &Scenario, node: &Node, key: &str, size: Bytes) -> Result<u32, ScenarioError> {
    if SIZES.contains(&size.0) && size.0.is_power_of_two() {
        return Ok(size.0 as u32);
    }
    let message = format!(
        "{}.{key}: {} is not a size that there is; write 128, 256 or 512 B, or 1, 2 or 4 KiB",
        node.name.value,
        size.show()
    );
    Err(scenario.error(node.lines.of(key), message))
}
