//! Construction of accelerators, coherence and address translation from a plan.

use device::{Accelerator, AcceleratorParameters, EndpointConfig};
use fabric::{CoherenceConfig, TranslationConfig};

use crate::plan::{BufferPlan, FabricPlan, LinkPlan, NodePlan};

/// Configures the coherent agents of a host: its cores, and the accelerators below its root ports.
pub fn coherence(plan: &FabricPlan, host: &NodePlan) -> Option<CoherenceConfig> {
    let costs = host.kind.costs()?;
    let below = host.downstream.iter().map(|link| &plan.links[*link]);
    let is_cached =
        |buffer: &&BufferPlan| buffer.in_system_cache && plan.nodes[buffer.host].id == host.id;
    let cached = plan.buffers.iter().filter(is_cached);
    host.coherence.coherent.then(|| CoherenceConfig {
        parameters: host.coherence.clone(),
        cores: costs.cores as usize,
        agents: below.clone().map(|link| is_shared(plan, link)).collect(),
        fails_at: below.map(|link| link.fails_at).collect(),
        cached: cached
            .map(|buffer| buffer.address..buffer.address + buffer.size)
            .collect(),
    })
}

/// Configures the IOMMU of the host `index`; none if it translates no addresses.
pub fn translation(plan: &FabricPlan, index: usize) -> Option<TranslationConfig> {
    let (tables, maps) = (plan.page_tables[index], plan.identities[index].clone());
    if tables.is_none() && maps.is_empty() {
        return None;
    }
    let below = plan
        .nodes
        .iter()
        .filter(|node| node.root == index && node.has_virtual_addresses());
    let (asking, others): (Vec<_>, Vec<_>) = below.partition(|node| node.asks_for_translations());
    let here = plan.buffers.iter().filter(|buffer| buffer.host == index);
    let (present, absent): (Vec<_>, Vec<_>) = here.partition(|buffer| buffer.present);
    let mappings =
        |buffers: Vec<&BufferPlan>| buffers.into_iter().flat_map(BufferPlan::mappings).collect();
    Some(TranslationConfig {
        parameters: plan.nodes[index].iommu.clone(),
        asking: asking.iter().map(|node| node.id).collect(),
        others: others.iter().map(|node| node.id).collect(),
        tables: tables.map(|tables| tables.base..tables.end()),
        present: mappings(present),
        absent: mappings(absent),
        identity: maps.of_functions,
        processes: maps.of_processes,
    })
}

/// Whether a link carries coherence messages, on a virtual channel of their own.
pub fn is_shared(plan: &FabricPlan, link: &LinkPlan) -> bool {
    plan.nodes[link.downstream.0].kind.properties().is_coherent
}

/// Builds the accelerator at node `index`.
pub fn accelerator(
    plan: &FabricPlan,
    index: usize,
    endpoint: EndpointConfig,
    parameters: &AcceleratorParameters,
) -> Accelerator {
    let host = &plan.nodes[plan.nodes[index].root];
    let below = |link: &usize| plan.links[*link].downstream.0 == index;
    let port = host.downstream.iter().position(below);
    let costs = host.kind.costs();
    let costs = costs.expect("a host is at the root of every tree");
    let port = port.expect("an accelerator is below its host");
    let agent = CoherenceConfig::agent_below(costs.cores as usize, port);
    Accelerator::new(endpoint, parameters, (agent, host.coherence.packing()))
}
