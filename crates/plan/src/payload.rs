//! Checks of payload sizes, read request sizes, buffers and memory.

use kernel::{Bytes, Quantity};
use protocol::MAX_TLP_OVERHEAD;

use crate::scenario::{FabricScenario, Node, NodeKind, ScenarioError, Wrong};

use super::network::router;

/// PCIe Base 7.5.3.4: sizes are powers of two from 128 B to 4 KiB.
const SIZES: std::ops::RangeInclusive<u64> = 128..=4096;

/// Checks that the max payload sizes written for `node` are valid and supported.
pub(crate) fn check_sizes(node: &Node) -> Result<(), Wrong> {
    let supported = node.port.max_payload_supported;
    checked("max_payload_supported", supported)?;
    let Some(wanted) = node.settings.max_payload else {
        return Ok(());
    };
    checked("max_payload", wanted)?;
    if wanted > supported {
        let message = format!(
            "{} is above what {} supports; write {} at most, or a larger max_payload_supported",
            wanted.show(),
            node.name.value,
            supported.show()
        );
        return Err(("max_payload", message));
    }
    Ok(())
}

/// Checks that the nodes at the upper and the lower end of a link have the same max payload size, unless the scenario permits a mismatch.
/// `chosen` is the size that firmware has chosen for both.
pub(crate) fn check_ends(
    scenario: &FabricScenario,
    ends: [usize; 2],
    sizes: [u32; 2],
    chosen: u32,
) -> Result<(), ScenarioError> {
    let [above, below] = ends.map(|node| &scenario.nodes[node]);
    let is_wanted = |node: &Node| node.settings.max_payload_mismatch;
    if sizes[0] == sizes[1] || is_wanted(above) || is_wanted(below) {
        return Ok(());
    }
    let bytes = |size: u32| Bytes(size.into()).show();
    let [(node, own), (other, far)] = if below.lines.has("max_payload") {
        [(below, sizes[1]), (above, sizes[0])]
    } else {
        [(above, sizes[0]), (below, sizes[1])]
    };
    let message = format!(
        "{}, but {} at the other end of the link {}-{} has {}, and larger packets are malformed; leave out max_payload, and firmware gives both {}, or write one value for all nodes below the root port; write max_payload_mismatch = true for {name} if the mismatch is on purpose",
        bytes(own),
        other.name.value,
        above.name.value,
        below.name.value,
        bytes(far),
        bytes(chosen),
        name = node.name.value,
    );
    Err(node.error(scenario, ("max_payload", message)))
}

/// Checks that the buffers of a port hold one packet of the max payload size (PCIe Base 2.6.1, minimum initial credit; 3.6.2, the replay
/// buffer).
pub(crate) fn check_buffers(node: &Node, max_payload: u32) -> Result<(), Wrong> {
    let data = Bytes(u64::from(max_payload));
    let buffers = [
        ("posted_data", node.port.posted_data, data),
        ("completion_data", node.port.completion_data, data),
        ("replay_buffer", node.port.replay_buffer, kept(data)),
    ];
    for (key, size, least) in buffers {
        let Some(size) = size else { continue };
        if size < least && (size.0 > 0 || key == "replay_buffer") {
            let message = format!(
                "{} does not hold one packet of the max payload size; write {} at least",
                size.show(),
                least.show()
            );
            return Err((key, message));
        }
    }
    check_operands(node)
}

/// The minimum size of a replay buffer that holds one packet with this much data.
pub(crate) fn kept(data: Bytes) -> Bytes {
    Bytes(data.0 + u64::from(MAX_TLP_OVERHEAD))
}

/// Checks that a port that routes or completes atomic operations holds the largest operands, the two of a compare and swap of 16 bytes
/// (PCIe Base 2.6.1, minimum initial credit).
fn check_operands(node: &Node) -> Result<(), Wrong> {
    let Some(size) = node.port.nonposted_data else {
        return Ok(());
    };
    let has_atomics = matches!(node.kind, NodeKind::Host(..) | NodeKind::Switch(_));
    if !has_atomics || size.0 == 0 || size >= LARGEST_OPERANDS {
        return Ok(());
    }
    let message = format!(
        "{} does not hold the operands of an atomic operation; write {} at least",
        size.show(),
        LARGEST_OPERANDS.show()
    );
    Err(("nonposted_data", message))
}

const LARGEST_OPERANDS: Bytes = Bytes(32);

/// Checks that a router's packet size is at least the max payload size of PCI Express, because each payload is sent into the network as one packet.
pub(crate) fn check_packet(node: &Node, max_payload: u32) -> Result<(), Wrong> {
    let Bytes(packet) = node.optical.packet_size;
    if router(node).is_none() || packet >= u64::from(max_payload) {
        return Ok(());
    }
    let message = format!(
        "{} are less than its max payload size of {max_payload} B, which comes by PCI Express; write {max_payload} B at least, or a smaller max_payload",
        node.optical.packet_size.show()
    );
    Err(("packet_size", message))
}

/// Checks that 32-bit memory, which starts at address 0, ends where the addresses of BARs begin.
pub(crate) fn check_memory(node: &Node) -> Result<(), Wrong> {
    let NodeKind::Host(host, _) = &node.kind else {
        return Ok(());
    };
    if host.memory_address_bits == 32 && host.memory > LOW_MEMORY {
        let message = format!(
            "{} does not fit below 4 GiB; write {} at most, or memory_address_bits = 64",
            host.memory.show(),
            LOW_MEMORY.show()
        );
        return Err(("memory", message));
    }
    Ok(())
}

const LOW_MEMORY: Bytes = Bytes(3 << 30);

/// Checks the max read request size of a device. The size of a host is not checked, because no register limits it.
pub(crate) fn check_read_request(node: &Node) -> Result<(), Wrong> {
    match &node.kind {
        NodeKind::Host(..) | NodeKind::IoPort(_) | NodeKind::Switch(_) => Ok(()),
        NodeKind::Device(endpoint, _) => {
            let size = endpoint.max_read_request;
            checked("max_read_request", size)
        }
    }
}

/// Checks the settings of a device's core against each other.
pub(crate) fn check_core(node: &Node) -> Result<(), Wrong> {
    let NodeKind::Device(endpoint, device) = &node.kind else {
        return Ok(());
    };
    if let Some(Err(wrong)) = device.circuit(endpoint) {
        return Err(wrong);
    }
    let settings = [
        ("pasid_enable", node.settings.pasid_enable == Some(true)),
        ("pasid_execute", endpoint.pasid_execute),
        ("pasid_privileged", endpoint.pasid_privileged),
    ];
    let is_vain = |(key, is_on): &(&str, bool)| *is_on && node.lines.has(key);
    if endpoint.pasid_width.is_none()
        && let Some((key, _)) = settings.into_iter().find(is_vain)
    {
        let message = "there is no PASID capability; write pasid_width = 20, or leave it out";
        return Err((key, message.to_owned()));
    }
    endpoint.contradiction().map_or(Ok(()), Err)
}

fn checked(key: &'static str, size: Bytes) -> Result<(), Wrong> {
    if SIZES.contains(&size.0) && size.0.is_power_of_two() {
        return Ok(());
    }
    let message = format!(
        "{} is not a size that there is; write 128, 256 or 512 B, or 1, 2 or 4 KiB",
        size.show()
    );
    Err((key, message))
}
