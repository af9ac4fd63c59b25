//! Accelerators and cores that share the memory of a host: how they are built, and what they do.

use device::{Accelerator, AcceleratorConfig, AcceleratorParameters, EndpointConfig};
use fabric::{CoherenceConfig, TranslationConfig};
use host::accesses as host_accesses;
use host::migration::{self, Migration};
use kernel::{Span, Stream, Time};
use packet::FlowId;
use transaction::{AccessOrder, Accesses, Pattern};

use crate::build::{Parts, fill_pattern};
use crate::model::Model;
use crate::plan::{AccessPlan, BufferPlan, LinkPlan, NodePlan, Plan};
use crate::scenario::{DeviceParameters, NodeKind, Order};

/// The agents of a host: its cores, and the accelerators below its root ports.
pub fn coherence(plan: &Plan, host: &NodePlan) -> Option<CoherenceConfig> {
    let NodeKind::Host(_, costs) = &host.kind else {
        return None;
    };
    let below = host.downstream.iter().map(|port| &plan.links[port.link]);
    host.coherence.coherent.then(|| CoherenceConfig {
        parameters: host.coherence.clone(),
        cores: costs.cores as usize,
        agents: below.clone().map(|link| is_shared(plan, link)).collect(),
        fails_at: below.map(|link| link.fails_at).collect(),
    })
}

/// What translates addresses at the host `index`, if any device below has virtual ones.
pub fn translation(plan: &Plan, index: usize) -> Option<TranslationConfig> {
    let tables = plan.page_tables[index]?;
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
        tables: tables.base..tables.base + tables.size,
        present: mappings(present),
        absent: mappings(absent),
    })
}

/// Whether coherence messages go over a link, on a virtual channel of their own.
pub fn is_shared(plan: &Plan, link: &LinkPlan) -> bool {
    let below = &plan.nodes[link.downstream.0].kind;
    matches!(below, NodeKind::Device(_, DeviceParameters::Accelerator(_)))
}

/// The accelerator at node `index`.
pub fn accelerator(
    plan: &Plan,
    index: usize,
    endpoint: EndpointConfig,
    parameters: &AcceleratorParameters,
) -> Accelerator {
    let host = &plan.nodes[plan.nodes[index].root];
    let below = |port: &crate::plan::DownstreamPort| plan.links[port.link].downstream.0 == index;
    let port = host.downstream.iter().position(below);
    let NodeKind::Host(_, costs) = &host.kind else {
        panic!("a host is at the root of every tree");
    };
    Accelerator::new(AcceleratorConfig {
        endpoint,
        parameters: parameters.clone(),
        agent: CoherenceConfig::agent_below(
            costs.cores as usize,
            port.expect("an accelerator is below its host"),
        ),
        packing: host.coherence.packing(),
    })
}

/// Fills the buffers with what reads are checked against.
pub fn fill(plan: &Plan, models: &mut [Model]) {
    for (number, buffer) in plan.buffers.iter().enumerate() {
        if plan
            .accesses
            .iter()
            .any(|access| access.buffer == number && access.check)
        {
            let base = plan.nodes[buffer.host]
                .memory
                .map_or(0, |memory| memory.base);
            let memory = models[buffer.host].memory_mut().expect("a host has memory");
            fill_pattern(
                pattern(plan, number),
                buffer.size,
                buffer.address - base,
                memory,
            );
        }
    }
}

/// What a buffer holds. Its number is that of no flow.
fn pattern(plan: &Plan, buffer: usize) -> Pattern {
    Pattern::new(plan.seed, u32::MAX - buffer as u32)
}

/// Has hosts move the buffers that move, from `up` on.
pub fn load_migrations(plan: &Plan, up: Span, models: &mut [Model]) {
    for buffer in &plan.buffers {
        if let (Some((other, moves, interval)), Model::Host(host)) =
            (buffer.moves, &mut models[buffer.host])
        {
            let migration = Migration {
                core: 0,
                pages: [
                    buffer.mappings().collect(),
                    buffer.mappings_at(other).collect(),
                ],
                moves,
                interval,
            };
            let start = Time::ZERO + up;
            host.cpu_mut()
                .spawn(start, |system| migration::run(system, migration));
        }
    }
}

/// Gives the accesses to those who make them, to begin `up` later than planned: when the links are up.
pub fn load(plan: &Plan, parts: &[Parts], up: Span, models: &mut [Model]) {
    for (access, parts) in plan.accesses.iter().zip(parts) {
        let buffer = &plan.buffers[access.buffer];
        for (core, id) in access.cores.clone().zip(&parts.0) {
            let what = accesses(plan, access, (core, *id), up);
            match &mut models[access.by] {
                Model::Accelerator(accelerator) => {
                    if access.warm_translations {
                        buffer
                            .mappings()
                            .for_each(|mapping| accelerator.warm(mapping));
                    }
                    accelerator.add_accesses(what);
                }
                Model::BlockDma(engine) => engine.add_accesses(what),
                Model::Host(host) => {
                    let NodeKind::Host(_, costs) = &plan.nodes[access.by].kind else {
                        continue;
                    };
                    let costs = costs.timed_access;
                    let start = what.start;
                    let program = move |system| host_accesses::run(system, core, costs, what);
                    host.cpu_mut().spawn(start, program);
                }
                _ => panic!("hosts, accelerators and engines for blocks make accesses"),
            }
        }
    }
}

fn accesses(plan: &Plan, access: &AccessPlan, (core, flow): (usize, FlowId), up: Span) -> Accesses {
    let buffer = &plan.buffers[access.buffer];
    let stream = || Stream::named(plan.seed, &format!("accesses {} {core}", access.id));
    Accesses {
        flow,
        kind: access.kind.0,
        address: if plan.nodes[access.by].has_virtual_addresses() {
            buffer.virtual_address
        } else {
            buffer.address
        },
        region: buffer.size,
        size: access.size,
        count: access.count,
        warm_up: access.warm_up,
        order: match access.order {
            Order::Sequential => AccessOrder::Sequential,
            Order::Random => AccessOrder::Random(stream()),
            Order::Local => AccessOrder::Local,
        },
        start: access.start + up,
        interval: access.interval,
        turnaround: access.turnaround,
        pattern: pattern(plan, access.buffer),
        check: access.check,
    }
}
