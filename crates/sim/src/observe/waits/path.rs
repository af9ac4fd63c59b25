//! The stations of a flow's packets: the transmitters and the other places where the packets may wait, in the order in which the packets reach them.

use std::collections::BTreeMap;

use fabric::{RootEnd, RootWay};
use kernel::Port;

use crate::plan::FabricPlan;
use crate::plan::ports::{self, Medium};
use crate::workload::flow::section::Direction;
use crate::workload::flow::{FlowPlan, sockets_of};

/// The number of a component and of its port.
pub(super) type End = (usize, usize);

pub(super) fn number_of((component, port): ports::End) -> End {
    (component.0 as usize, port as usize)
}

/// One direction of a link, from its transmitter to its receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire {
    /// The transmitter.
    pub(super) end: End,
    /// The receiver.
    pub(super) far: End,
}

/// A place where the packets of a flow may wait.
#[derive(Clone, Copy, Debug)]
pub(super) enum Station {
    /// A transmitter.
    Wire(Wire),
    /// The receive path of a device.
    ReceivePath(usize),
    /// The engine of a device that answers reads.
    Answers(usize),
    /// The crossbar of a router.
    Router(usize),
    /// The parts of a host on this path through the host.
    Root(usize, RootWay),
}

/// For each root port, the paths through its host of all flows that enter by this port.
pub(super) type RootEntries = BTreeMap<End, Vec<RootWay>>;

/// All directions of all links, by their transmitters, and the nodes where packets leave a tree.
#[derive(Clone, Debug)]
pub(super) struct Wires {
    by_transmitter: BTreeMap<End, Wire>,
    /// The first router in each tree, for each network.
    routers: Vec<BTreeMap<usize, usize>>,
    /// The first network interface controller in each tree.
    nics: BTreeMap<usize, usize>,
}

impl Wires {
    pub(super) fn of(plan: &FabricPlan) -> Self {
        let wires = ports::wires(plan).filter(|wire| !matches!(wire.medium, Medium::Fibre(_)));
        let both = wires.flat_map(|wire| {
            let [one, other] = wire.ends.map(number_of);
            let wire = |end, far| (end, Wire { end, far });
            [wire(one, other), wire(other, one)]
        });
        let first = |nodes: &mut dyn Iterator<Item = usize>| {
            let mut first = BTreeMap::new();
            for node in nodes {
                first.entry(plan.nodes[node].root).or_insert(node);
            }
            first
        };
        let is_nic = |node: &usize| plan.nodes[*node].attachment.is_some();
        let routers = plan.networks.iter();
        Wires {
            by_transmitter: both.collect(),
            routers: routers
                .map(|network| first(&mut network.routers.iter().copied()))
                .collect(),
            nics: first(&mut (0..plan.nodes.len()).filter(is_nic)),
        }
    }

    /// The direction of a link whose transmitter is `end`.
    pub(super) fn at(&self, end: End) -> Option<Wire> {
        self.by_transmitter.get(&end).copied()
    }

    pub(super) fn from(&self, component: usize) -> impl Iterator<Item = Wire> {
        let all = self
            .by_transmitter
            .range((component, 0)..=(component, usize::MAX));
        all.map(|(_, wire)| *wire)
    }

    /// The wires from `node` up to the root of its tree.
    fn up(&self, plan: &FabricPlan, mut node: usize) -> Vec<Wire> {
        let mut all = Vec::new();
        while let Some(link) = plan.nodes[node].upstream {
            let [above, below] = ports::ends(plan, &plan.links[link]).map(number_of);
            all.extend(self.at(below));
            node = above.0;
        }
        all
    }

    /// The wires from the root of the tree of `node` down to `node`.
    fn down(&self, plan: &FabricPlan, node: usize) -> Vec<Wire> {
        let up = self.up(plan, node).into_iter().rev();
        up.filter_map(|wire| self.at(wire.far)).collect()
    }
}

/// The stations of the requests of `flow`, followed by the stations of the completions if it reads, or of the replies if it makes round trips.
pub(super) fn stations(
    wires: &Wires,
    plan: &FabricPlan,
    flow: &FlowPlan,
    is_read: bool,
) -> Vec<Station> {
    let target = flow.to.unwrap_or(plan.nodes[flow.from].root);
    let of_target = match flow.to {
        Some(_) => memory(plan, target, flow.offset, flow.window),
        None => RootEnd::Memory(None),
    };
    let ends = |of_source| {
        move |host| {
            if host == flow.from {
                of_source
            } else {
                of_target
            }
        }
    };
    let mut all = between(wires, plan, (flow.from, target), &ends(RootEnd::Cpu));
    if is_read {
        let answers = plan.nodes[target].memory.is_none();
        all.extend(answers.then_some(Station::Answers(target)));
        all.extend(between(
            wires,
            plan,
            (target, flow.from),
            &ends(RootEnd::Cpu),
        ));
    } else if flow.direction == Direction::RoundTrip {
        let base = plan.nodes[flow.from].memory.map_or(0, |memory| memory.base);
        let of_reply = flow.reply.map_or(RootEnd::Memory(None), |reply| {
            memory(plan, flow.from, reply - base, flow.write_size)
        });
        all.extend(between(wires, plan, (target, flow.from), &ends(of_reply)));
    }
    all
}

/// The memory of the socket that has these bytes of `host`. If several sockets have these bytes, or if `host` is not a host, the memory of any
/// socket.
fn memory(plan: &FabricPlan, host: usize, offset: u64, bytes: u64) -> RootEnd {
    let sockets = sockets_of(plan, host, (offset, bytes));
    RootEnd::Memory(sockets.and_then(|(first, last)| (first == last).then_some(first)))
}

/// The stations from one node to another, in the same tree or across a network of routers or a crossbar of controllers. `end_at` returns the end of
/// the path at a host.
fn between(
    wires: &Wires,
    plan: &FabricPlan,
    (from, to): (usize, usize),
    end_at: &dyn Fn(usize) -> RootEnd,
) -> Vec<Station> {
    let root = |node: usize| plan.nodes[node].root;
    let in_tree = |from, to| in_tree(wires, plan, (from, to), end_at);
    if root(from) == root(to) {
        return in_tree(from, to);
    }
    let networks = plan.networks.iter().zip(&wires.routers);
    let mut gates = networks.filter_map(|(network, routers)| {
        let (exit, entry) = (routers.get(&root(from))?, routers.get(&root(to))?);
        Some((*exit, *entry, &network.routers))
    });
    if let Some((exit, entry, members)) = gates.next() {
        let mut all = in_tree(from, exit);
        // In a large network, only the routers at both ends are searched, because it would take too long to search all routers.
        let asked = if members.len() <= MOST_ROUTERS {
            members.clone()
        } else {
            vec![exit, entry]
        };
        all.extend(asked.into_iter().map(Station::Router));
        all.extend(in_tree(entry, to));
        return all;
    }
    let attached = |node: usize| wires.nics.get(&root(node)).copied();
    let mut all = attached(from).map_or_else(Vec::new, |exit| in_tree(from, exit));
    all.extend(
        attached(to)
            .into_iter()
            .flat_map(|entry| in_tree(entry, to)),
    );
    all
}

/// The largest number of routers of a network that are all searched.
const MOST_ROUTERS: usize = 64;

fn in_tree(
    wires: &Wires,
    plan: &FabricPlan,
    (from, to): (usize, usize),
    end_at: &dyn Fn(usize) -> RootEnd,
) -> Vec<Station> {
    let (up, down) = (wires.up(plan, from), wires.down(plan, to));
    let (entry, exit) = (
        up.last().map(|wire| wire.far),
        down.first().map(|wire| wire.end),
    );
    let port = |end: End| RootEnd::Port(Port(end.1 as u16));
    let ends = match (entry.map(port), exit.map(port)) {
        // A device that reads data from memory, or writes it there, for other nodes.
        (Some(entry), Some(exit)) if from == to => {
            let memory = RootEnd::Memory(None);
            vec![(entry, memory), (memory, exit)]
        }
        (Some(entry), Some(exit)) => vec![(entry, exit)],
        (Some(entry), None) => vec![(entry, end_at(to))],
        (None, Some(exit)) => vec![(end_at(from), exit)],
        (None, None) => Vec::new(),
    };
    let host = plan.nodes[from].root;
    let roots = ends
        .into_iter()
        .map(|(from, to)| Station::Root(host, RootWay { from, to }));
    let receive = plan.nodes[to]
        .memory
        .is_none()
        .then_some(Station::ReceivePath(to));
    let wires = |all: Vec<Wire>| all.into_iter().map(Station::Wire);
    wires(up)
        .chain(roots)
        .chain(wires(down))
        .chain(receive)
        .collect()
}
