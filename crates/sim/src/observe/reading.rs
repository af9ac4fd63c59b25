//! Readings of the counters of all wires, at one time.

use device::Router;
use kernel::{Span, Time};
use link::optical::{OpticalCounters, OpticalEnd};
use link::{ChannelCounters, Counters, LinkEnd};

use crate::model::Model;
use crate::plan::ports::Medium;
use crate::plan::{FabricPlan, FibrePlan, ports};

/// The counters of all wires at one time, in the order of [`link_ends`] and [`fibre_ends`].
#[derive(Clone, Debug)]
pub struct Reading {
    pub at: Time,
    /// Counters of both directions of all links and cables.
    pub links: Vec<Counters>,
    /// Counters of the virtual channels of both directions of all links and cables, by VC ID; empty for a link without the Virtual Channel
    /// capability.
    pub channels: Vec<Vec<(u8, ChannelCounters)>>,
    /// Counters of both directions of all links between sockets.
    pub sockets: Vec<Counters>,
    /// Counters of both directions of all fibres.
    pub fibres: Vec<OpticalCounters>,
}

impl Reading {
    /// Reads all counters at the time `at`. All events before `at` must have been handled.
    pub fn take(plan: &FabricPlan, models: &[Model], at: Time) -> Self {
        Reading {
            at,
            links: link_ends(plan, models)
                .map(|one| one.end.counters(at))
                .collect(),
            channels: link_ends(plan, models)
                .map(|one| one.end.channel_counters(at).collect())
                .collect(),
            sockets: socket_links(plan, models, at)
                .map(|one| one.counters)
                .collect(),
            fibres: fibre_ends(plan, models)
                .map(|one| one.end.counters(at))
                .collect(),
        }
    }
}

/// The sending end of one direction of a link or cable.
#[derive(Clone, Copy, Debug)]
pub struct SendingEnd<'a> {
    /// The link's name.
    pub id: &'a str,
    /// Direction: "down" (from the root) or "up"; for a cable between controllers, "forth" or "back".
    pub direction: &'static str,
    pub end: &'a LinkEnd,
}

/// The sending ends of both directions of all links, then of all cables.
pub fn link_ends<'a>(
    plan: &'a FabricPlan,
    models: &'a [Model],
) -> impl Iterator<Item = SendingEnd<'a>> {
    let wires = ports::wires(plan).filter(|wire| !matches!(wire.medium, Medium::Fibre(_)));
    wires.flat_map(move |wire| {
        let both = wire.ends.into_iter().zip(wire.medium.directions());
        both.map(move |((node, port), direction)| SendingEnd {
            id: wire.id,
            direction,
            end: (models[node.0 as usize].link(port as usize))
                .expect("a link hangs between two ports"),
        })
    })
}

/// One direction of a link between two sockets of a host.
#[derive(Clone, Debug)]
pub struct SocketLink {
    /// The name of the host, and the numbers of the sockets, the lower one first.
    pub id: String,
    /// Direction: "forth" (from the lower number) or "back".
    pub direction: &'static str,
    pub counters: Counters,
}

/// Both directions of all links between sockets, with their counters at `at`.
pub fn socket_links(
    plan: &FabricPlan,
    models: &[Model],
    at: Time,
) -> impl Iterator<Item = SocketLink> {
    let hosts = plan.nodes.iter().zip(models);
    let hosts = hosts.filter_map(|(node, model)| Some((node, model.host()?)));
    hosts.flat_map(move |(node, host)| {
        host.socket_links(at).map(|((from, to), counters)| {
            let (id, direction) = socket_link(&node.name, from, to);
            SocketLink {
                id,
                direction,
                counters,
            }
        })
    })
}

/// The name of the link between two sockets of `host`, and the direction from the socket `from` to the socket `to`.
pub fn socket_link(host: &str, from: usize, to: usize) -> (String, &'static str) {
    let id = format!("{host}.{}-{}", from.min(to), from.max(to));
    (id, if from < to { "forth" } else { "back" })
}

#[derive(Clone, Copy, Debug)]
pub struct HostMemory<'a> {
    /// The name of the host.
    pub host: &'a str,
    pub socket: usize,
    /// Time in which the memory was busy.
    pub busy: Span,
}

pub fn memories<'a>(
    plan: &'a FabricPlan,
    models: &'a [Model],
    at: Time,
) -> impl Iterator<Item = HostMemory<'a>> {
    let hosts = plan.nodes.iter().zip(models);
    let hosts = hosts.filter_map(|(node, model)| Some((node, model.host()?)));
    hosts.flat_map(move |(node, host)| {
        let sockets = host.memories(at).enumerate();
        sockets.map(|(socket, busy)| HostMemory {
            host: &node.name,
            socket,
            busy,
        })
    })
}

/// The sending end of one direction of a fibre.
#[derive(Clone, Copy, Debug)]
pub struct SendingFibre<'a> {
    /// The fibre's name.
    pub id: &'a str,
    /// The node that sends.
    pub from: usize,
    /// The node that receives.
    pub to: usize,
    pub end: &'a OpticalEnd,
}

/// The sending ends of both directions of all fibres.
pub fn fibre_ends<'a>(
    plan: &'a FabricPlan,
    models: &'a [Model],
) -> impl Iterator<Item = SendingFibre<'a>> {
    let both = plan.fibres.iter().flat_map(|fibre| {
        let [one, other] = fibre.ends;
        [(fibre, one, other), (fibre, other, one)]
    });
    both.filter_map(
        |(fibre, from, to): (&FibrePlan, (usize, u8), (usize, u8))| {
            let router = models[from.0].device::<Router>()?;
            Some(SendingFibre {
                id: &fibre.id,
                from: from.0,
                to: to.0,
                end: router.fibre(usize::from(from.1))?,
            })
        },
    )
}
