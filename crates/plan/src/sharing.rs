//! Checks of coherent hosts: the agents that share their memory, and the sizes of the caches.

use std::fmt::Display;

use coherence::GeometryError;
use device::AcceleratorParameters;
use protocol::coherence::AgentId;

use crate::scenario::{FabricScenario, Node, NodeKind, ScenarioError, Wrong};

use super::tree::Tree;

/// Checks the caches of hosts and accelerators, and that each accelerator is directly below a coherent host.
pub(crate) fn check(scenario: &FabricScenario, tree: &Tree) -> Result<(), ScenarioError> {
    for (index, node) in scenario.nodes.iter().enumerate() {
        check_caches(node)
            .and_then(|()| check_parent(scenario, tree, index))
            .map_err(|(key, message)| {
                let message = format!("{}, {key}: {message}", node.name.value);
                scenario.error(node.lines.of(key), message)
            })?;
    }
    Ok(())
}

/// Checks the caches of an accelerator or a host, and the number of agents that share the memory of the host.
fn check_caches(node: &Node) -> Result<(), Wrong> {
    let wrong = |(key, wrong): (_, GeometryError)| (key, wrong.to_string());
    if let Some(accelerator) = node.kind.device::<AcceleratorParameters>() {
        check_translation("translations", accelerator.translation_cache())?;
        accelerator.geometries().map_err(wrong)?;
    }
    let NodeKind::Host(host, costs) = &node.kind else {
        return Ok(());
    };
    check_translation("iotlb_entries", node.iommu.iotlb())?;
    node.coherence.geometries().map_err(wrong)?;
    let agents = 1 + costs.cores + host.ports;
    if node.coherence.coherent && agents as usize >= AgentId::COUNT {
        let message = format!(
            "{} cores and {} ports are more agents than there can be besides the host itself: 62; write fewer cores or ports",
            costs.cores, host.ports
        );
        return Err(("coherent", message));
    }
    Ok(())
}

/// Checks that an accelerator is directly below a coherent host, as coherence messages cross only one link.
fn check_parent(scenario: &FabricScenario, tree: &Tree, index: usize) -> Result<(), Wrong> {
    let is_accelerator = scenario.nodes[index].kind.device::<AcceleratorParameters>();
    if is_accelerator.is_none() {
        return Ok(());
    }
    let above = tree.upstream_link(index);
    let above = above.map(|link| &scenario.nodes[tree.links[link].0]);
    let message = match above {
        Some(above) if matches!(above.kind, NodeKind::Host(..)) => {
            if above.coherence.coherent {
                return Ok(());
            }
            format!(
                "the memory of {} is not shared with caches; write coherent = true there",
                above.name.value
            )
        }
        _ => "coherence messages go no further than a link; write a host there".to_owned(),
    };
    Err(("upstream", message))
}

fn check_translation<T>(key: &'static str, cache: Result<T, impl Display>) -> Result<(), Wrong> {
    cache.map(drop).map_err(|wrong| (key, wrong.to_string()))
}
