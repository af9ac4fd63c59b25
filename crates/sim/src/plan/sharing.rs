//! Checks of coherent hosts: the agents that share their memory, and the sizes of the caches.

use std::fmt::Display;

use device::AcceleratorParameters;
use protocol::coherence::AgentId;

use crate::scenario::{FabricScenario, Node, NodeKind, ScenarioError};

use super::tree::Tree;

/// Checks the caches of hosts and accelerators, and that each accelerator is directly below a coherent host.
pub(crate) fn check(scenario: &FabricScenario, tree: &Tree) -> Result<(), ScenarioError> {
    for (index, node) in scenario.nodes.iter().enumerate() {
        if let Some(accelerator) = node.kind.device::<AcceleratorParameters>() {
            check_translation(
                scenario,
                node,
                "translations",
                accelerator.translation_cache(),
            )?;
            if let Err((key, wrong)) = accelerator.geometries() {
                return Err(error(scenario, node, key, wrong));
            }
            check_parent(scenario, tree, index)?;
        }
        if let NodeKind::Host(host, costs) = &node.kind {
            check_translation(scenario, node, "iotlb_entries", node.iommu.iotlb())?;
            if let Err((key, wrong)) = node.coherence.geometries() {
                return Err(error(scenario, node, key, wrong));
            }
            let agents = 1 + costs.cores + host.ports;
            if node.coherence.coherent && agents as usize >= AgentId::COUNT {
                let message = format!(
                    "{} cores and {} ports are more agents than there can be besides the host itself: 62; write fewer cores or ports",
                    costs.cores, host.ports
                );
                return Err(error(scenario, node, "coherent", message));
            }
        }
    }
    Ok(())
}

/// Checks that an accelerator is directly below a coherent host, as coherence messages cross only one link.
fn check_parent(scenario: &FabricScenario, tree: &Tree, index: usize) -> Result<(), ScenarioError> {
    let node = &scenario.nodes[index];
    let above = tree.upstream_link(index);
    let above = above.map(|link| &scenario.nodes[tree.links[link].0]);
    match above {
        Some(above) if matches!(above.kind, NodeKind::Host(..)) => {
            if above.coherence.coherent {
                return Ok(());
            }
            let message = format!(
                "the memory of {} is not shared with caches; write coherent = true there",
                above.name.value
            );
            Err(error(scenario, node, "upstream", message))
        }
        _ => {
            let message = "coherence messages go no further than a link; write a host there";
            Err(error(scenario, node, "upstream", message))
        }
    }
}

fn check_translation<T>(
    scenario: &FabricScenario,
    node: &Node,
    key: &str,
    cache: Result<T, impl Display>,
) -> Result<(), ScenarioError> {
    cache.map_or_else(|wrong| Err(error(scenario, node, key, wrong)), |_| Ok(()))
}

fn error(
    scenario: &FabricScenario,
    node: &Node,
    key: &str,
    message: impl Display,
) -> ScenarioError {
    let message = format!("{}, {key}: {message}", node.name.value);
    scenario.error(node.lines.of(key), message)
}
