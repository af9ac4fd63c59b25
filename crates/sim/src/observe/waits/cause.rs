//! The cause for which a flow waits at one time, sought from the far end of its way back to its engine.

use std::ops::Range;

use device::{Engine, Gate, Nic, Router, RouterHold};
use fabric::{RootEnd, RootHold, RootWay, UPSTREAM};
use kernel::Time;
use link::{Concern, Hold, LinkEnd};
use packet::FlowId;
use protocol::Class;
use transaction::Standing;

use crate::build;
use crate::model::Model;

use super::super::stores::Stores;
use super::path::{End, RootEntries, Station, Wire, Wires};

/// A cause for which a flow waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cause {
    /// A wire that its own packets keep busy, by its transmitter.
    Wire(End),
    /// A wire that the packets of another flow keep busy.
    Arbitration(End, FlowId),
    /// A link that has failed, or is not up.
    FailedLink(End),
    /// A link in Recovery.
    Recovery(End),
    /// Credit of a class, which no packet holds that waits for anything else.
    Credit(End, u8, bool),
    /// Space behind a fibre.
    FibreCredit(End),
    /// Space in a replay buffer.
    ReplayBuffer(End),
    /// Tags of a node.
    Tags(usize),
    /// Bytes that a node may have outstanding.
    Outstanding(usize),
    /// The datapath, or the pace, of a node.
    Datapath(usize),
    /// The least time between the requests of the flow, which a node makes.
    Interval(usize),
    /// The engine of a node, which keeps packets in its receive buffer.
    Holder(usize),
    /// The memory of a host, or the answer of a device.
    Memory(usize),
    /// The page walks of a host.
    Translation(usize),
    /// A connection between sockets of a host.
    Socket(usize, usize, usize),
    /// The software of a host.
    Software(usize),
    /// Anything else.
    Other,
}

/// A fabric between two events.
#[derive(Clone, Copy)]
pub(super) struct Moment<'a> {
    pub(super) wires: &'a Wires,
    pub(super) entries: &'a RootEntries,
    pub(super) models: &'a [Model],
    pub(super) stores: &'a Stores<'a>,
    pub(super) now: Time,
}

/// A flow, or one way of it, as its packets go.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) part: FlowId,
    /// The node that makes the requests.
    pub(super) from: usize,
    /// The node that they are made to.
    pub(super) to: usize,
    /// The bytes of its largest request.
    pub(super) request: u64,
    /// The host above that node, or the node itself.
    pub(super) host: usize,
    pub(super) stations: Vec<Station>,
    /// The numbers of all parts of its workload.
    pub(super) own: Range<u32>,
    /// The transmitter of the slowest wire on the way of the data.
    pub(super) slowest: Option<Wire>,
}

impl Route {
    /// Whether packets of `flow` are those of another workload.
    fn gives_way_to(&self, flow: FlowId) -> bool {
        !self.own.contains(&flow.0)
    }

    /// The port by which all packets of the flow come to the station at this place, a wire upwards from a switch: that of the wire
    /// below. A wire downwards also gets those that turn at the switch.
    fn source(&self, place: usize) -> Option<u16> {
        let (below, above) = (
            self.stations.get(place.checked_sub(1)?)?,
            &self.stations[place],
        );
        let (Station::Wire(below), Station::Wire(above)) = (below, above) else {
            return None;
        };
        let upstream = UPSTREAM.index();
        let is_upwards = above.end == (below.far.0, upstream) && below.far.1 != upstream;
        is_upwards.then_some(below.far.1 as u16)
    }
}

/// Most receive buffers that one wait is followed through.
const DEPTH: u32 = 32;

impl Moment<'_> {
    fn link(&self, (component, port): End) -> Option<&LinkEnd> {
        self.models[component].link(port)
    }

    fn held(&self, wire: Wire, concern: Concern) -> Option<Hold> {
        let packets = self.stores.of(wire.end.0);
        self.link(wire.end)?.held(concern, self.now, packets)
    }

    fn is_on(&self, wire: Wire, flow: FlowId) -> bool {
        let link = self.link(wire.end);
        let on_wire = link.and_then(|link| link.on_wire(self.now, self.stores.of(wire.end.0)));
        on_wire.and_then(|transmission| transmission.flow) == Some(flow)
    }

    /// Returns the cause for which `route` waits, or `None` if it has not begun or has sent its last request. `is_open` tells whether a
    /// flow that has no requester has begun and is not complete; `leader` finds the route of another flow.
    pub(super) fn cause<'r>(
        &self,
        route: &'r Route,
        is_open: bool,
        leader: &dyn Fn(FlowId) -> Option<&'r Route>,
    ) -> Option<Cause> {
        let standing = self.models[route.from].standing(route.part, self.now);
        let standing = match standing {
            Some(Standing::Early) => return None,
            Some(Standing::Follows(flow)) => {
                return leader(flow).and_then(|route| self.cause(route, is_open, &|_| None));
            }
            None if !is_open || self.models[route.from].has_requester() => return None,
            standing => standing,
        };
        Some(
            self.failed_link(route)
                .or_else(|| self.behind(route))
                .unwrap_or_else(|| self.at_engine(route, standing)),
        )
    }

    /// The first link on the way of a flow that has failed, or trains again.
    fn failed_link(&self, route: &Route) -> Option<Cause> {
        route.stations.iter().find_map(|station| match *station {
            Station::Wire(wire) => {
                let link = self.link(wire.end)?;
                if link.has_failed(self.now) {
                    return Some(Cause::FailedLink(wire.end));
                }
                link.is_recovering(self.now)
                    .then_some(Cause::Recovery(wire.end))
            }
            _ => None,
        })
    }

    /// Returns the cause for which packets of a flow wait behind its own wire, the farthest one first.
    fn behind(&self, route: &Route) -> Option<Cause> {
        let mut stations = route.stations.iter().enumerate().rev();
        stations.find_map(|(place, station)| match *station {
            Station::Wire(wire) if wire.end.0 == route.from => None,
            Station::Wire(wire) => {
                let source = route.source(place);
                let held = self.held(wire, Concern::Flow(route.part, source))?;
                self.of_hold(route, wire, held, 0)
            }
            Station::ReceivePath(node) => self.is_late(node).then_some(Cause::Datapath(node)),
            Station::Answers(node) => {
                let endpoint = self.models[node].leaf()?.endpoint();
                let is_late = endpoint.is_answering_late(self.now);
                is_late.then_some(Cause::Datapath(node))
            }
            Station::Root(node, way) => self.in_root(route, node, way),
            Station::Router(node) => self.in_router(route, node),
        })
    }

    fn is_late(&self, node: usize) -> bool {
        let leaf = self.models[node].leaf();
        leaf.is_some_and(|leaf| leaf.endpoint().is_receiving_late(self.now))
    }

    /// Whether a device or an I/O port keeps packets in its receive buffer.
    fn is_holding(&self, node: usize) -> bool {
        match &self.models[node] {
            Model::IoPort(port) => port.link().credits_held() > 0,
            model => model
                .leaf()
                .is_some_and(|leaf| leaf.endpoint().is_holding(self.stores.of(node))),
        }
    }

    fn in_router(&self, route: &Route, node: usize) -> Option<Cause> {
        let router: &Router = self.models[node].device()?;
        let fibre = |fibre: usize| (node, build::fibre_port(fibre as u8) as usize);
        Some(
            match router.holds(route.part, self.now, self.stores.of(node))? {
                RouterHold::Fibre(number, Some(flow)) if route.gives_way_to(flow) => {
                    Cause::Arbitration(fibre(number), flow)
                }
                RouterHold::Fibre(number, _) => Cause::Wire(fibre(number)),
                RouterHold::Credit(number) => Cause::FibreCredit(fibre(number)),
                RouterHold::Crossbar => Cause::Datapath(node),
            },
        )
    }

    fn in_root(&self, route: &Route, node: usize, way: RootWay) -> Option<Cause> {
        let host = self.models[node].host()?;
        Some(match host.standing(way, route.request, self.now)? {
            RootHold::Memory => Cause::Memory(node),
            RootHold::Socket(from, to) => Cause::Socket(node, from, to),
            RootHold::Datapath => Cause::Datapath(node),
            RootHold::Translation => Cause::Translation(node),
        })
    }

    /// Returns the cause for which packets that come in by the root port `end` wait in its host, on the ways of all flows that come in
    /// there. Packets of other workloads go to memory.
    fn behind_root_port(&self, route: &Route, (node, port): End) -> Option<Cause> {
        let known = self
            .entries
            .get(&(node, port))
            .map_or(&[][..], Vec::as_slice);
        let to_memory = RootWay {
            from: RootEnd::Port(kernel::Port(port as u16)),
            to: RootEnd::Memory(None),
        };
        let ways = if known.is_empty() {
            &[to_memory]
        } else {
            known
        };
        ways.iter().find_map(|way| self.in_root(route, node, *way))
    }

    /// Returns the cause behind a link end's reason to wait; `None` for a latency, which all packets pass.
    fn of_hold(&self, route: &Route, wire: Wire, hold: Hold, depth: u32) -> Option<Cause> {
        match hold {
            Hold::Wire(Some(flow)) if route.gives_way_to(flow) => {
                Some(Cause::Arbitration(wire.end, flow))
            }
            Hold::LinkDown => Some(Cause::FailedLink(wire.end)),
            Hold::Recovery => Some(Cause::Recovery(wire.end)),
            Hold::Wire(_) => Some(Cause::Wire(wire.end)),
            Hold::ReplayBuffer => Some(Cause::ReplayBuffer(wire.end)),
            Hold::NotBefore(_) => None,
            Hold::Credit { class, headers, .. } => Some(
                self.holder(route, wire.far, class, depth)
                    .unwrap_or(Cause::Credit(wire.end, class.index() as u8, headers)),
            ),
        }
    }

    /// Returns the cause for which packets stay in the receive buffer of a class at `end`.
    fn holder(&self, route: &Route, end: End, class: Class, depth: u32) -> Option<Cause> {
        let (node, port) = end;
        let out = self.wires.from(node).filter(|wire| wire.end != end);
        let mut waiting = out.filter_map(|wire| {
            let held = self.held(wire, Concern::Source(port as u16, class))?;
            Some((wire, held))
        });
        let on_wires = waiting.find_map(|(wire, hold)| {
            let goes_on = depth < DEPTH || !matches!(hold, Hold::Credit { .. });
            goes_on
                .then(|| self.of_hold(route, wire, hold, depth + 1))
                .flatten()
        });
        on_wires
            .or_else(|| self.behind_root_port(route, end))
            .or_else(|| self.is_late(node).then_some(Cause::Datapath(node)))
            .or_else(|| self.is_holding(node).then_some(Cause::Holder(node)))
    }

    /// Returns the cause for which the engine of a flow waits, while none of its packets waits farther down.
    fn at_engine(&self, route: &Route, standing: Option<Standing>) -> Cause {
        let node = route.from;
        let pace = match self.models[node].host() {
            Some(_) => Cause::Software(node),
            None => Cause::Datapath(node),
        };
        match standing {
            Some(Standing::Tags) => self.data_on_wire(route).unwrap_or(Cause::Tags(node)),
            Some(Standing::CompletionBuffer) => {
                self.data_on_wire(route).unwrap_or(Cause::Outstanding(node))
            }
            // One round trip at a time: its packet is on one of the wires, or with the target.
            Some(Standing::Away) => self
                .first_wire(route)
                .or_else(|| self.on_any_wire(route))
                .unwrap_or(Cause::Memory(route.to)),
            Some(Standing::Interval) => self.first_wire(route).unwrap_or(Cause::Interval(node)),
            Some(Standing::Pacing(_)) => self.first_wire(route).unwrap_or(pace),
            Some(_) => {
                let leaf = self.models[node].leaf();
                let wire = self.first_wire(route);
                match leaf.map(|leaf| leaf.endpoint().gate(self.now)) {
                    Some(Gate::Datapath(_)) => wire.unwrap_or(pace),
                    // Packets that are in the send path still fill the queue, too.
                    Some(Gate::Full) => wire.or_else(|| self.others_at_wire(route)).unwrap_or(pace),
                    Some(Gate::Open) => wire
                        .or_else(|| self.data_on_wire(route))
                        .unwrap_or(Cause::Other),
                    None => wire.or_else(|| self.data_on_wire(route)).unwrap_or(pace),
                }
            }
            None => {
                let wire = self.first_wire(route);
                wire.or_else(|| self.data_on_wire(route))
                    .unwrap_or_else(|| self.of_engine(route))
            }
        }
    }

    /// Returns the cause that the state of an engine stands for, if software drives it.
    fn of_engine(&self, route: &Route) -> Cause {
        let node = route.from;
        let engine = |node: usize| self.models[node].leaf().map(|leaf| leaf.engine(self.now));
        match engine(node) {
            // The controller that a GET asks sends the data.
            Some(Engine::Idle) if self.is_controller(route.to) => match engine(route.to) {
                Some(Engine::Busy) => Cause::Datapath(route.to),
                _ => Cause::Software(route.host),
            },
            Some(Engine::Idle) => Cause::Software(route.host),
            Some(Engine::Tags) => Cause::Tags(node),
            Some(Engine::Media) => Cause::Memory(node),
            Some(Engine::Busy) | None => Cause::Datapath(node),
        }
    }

    /// Returns the cause for which packets of other flows fill the queue for the wires of a flow's node.
    fn others_at_wire(&self, route: &Route) -> Option<Cause> {
        let mut wires = self.wires.from(route.from);
        wires.find_map(|wire| {
            let held = self.held(wire, Concern::Any)?;
            self.of_hold(route, wire, held, 0)
        })
    }

    fn is_controller(&self, node: usize) -> bool {
        self.models[node].device::<Nic>().is_some()
    }

    /// Returns the cause for which packets of a flow wait at the wires of its node.
    fn first_wire(&self, route: &Route) -> Option<Cause> {
        let mut wires = self.wires.from(route.from);
        wires.find_map(|wire| {
            let held = self.held(wire, Concern::Flow(route.part, None))?;
            self.of_hold(route, wire, held, 0)
        })
    }

    /// The slowest wire on the way of the data, while a packet of the flow is on it.
    fn data_on_wire(&self, route: &Route) -> Option<Cause> {
        let wire = route.slowest?;
        self.is_on(wire, route.part)
            .then_some(Cause::Wire(wire.end))
    }

    /// The wire that a packet of the flow is on.
    fn on_any_wire(&self, route: &Route) -> Option<Cause> {
        route.stations.iter().find_map(|station| match *station {
            Station::Wire(wire) if self.is_on(wire, route.part) => Some(Cause::Wire(wire.end)),
            _ => None,
        })
    }
}
