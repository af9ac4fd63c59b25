//! The cause for which a flow waits at one time. The search begins at the far end of the path of the flow's packets, and ends at the engine that
//! makes the requests.

use std::ops::Range;

use device::{Nic, Router};
use fabric::{RootEnd, RootWay, UPSTREAM};
use kernel::Time;
use link::{Concern, LinkEnd};
use packet::{FlowId, Why};
use protocol::Class;

use crate::model::Model;
use crate::plan::ports;

use super::super::stores::Stores;
use super::path::{End, RootEntries, Station, Wire, Wires};

/// A cause for which a flow waits: a reason and its place. A link is named by its transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cause {
    pub(super) why: Why,
    pub(super) node: usize,
    pub(super) port: Option<usize>,
}

impl Cause {
    fn at(node: usize, why: Why) -> Self {
        let port = None;
        Cause { why, node, port }
    }

    fn on((node, port): End, why: Why) -> Self {
        let port = Some(port);
        Cause { why, node, port }
    }
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

/// The path of the packets of one part of a flow.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) part: FlowId,
    /// The node that makes the requests.
    pub(super) from: usize,
    /// The node to which the requests are made.
    pub(super) to: usize,
    /// The size of the largest request, in bytes.
    pub(super) request: u64,
    /// The host above the node `from`, or this node itself if it is a host.
    pub(super) host: usize,
    pub(super) stations: Vec<Station>,
    /// The numbers of all parts of the workload.
    pub(super) own: Range<u32>,
    /// The slowest wire on the path of the data.
    pub(super) slowest: Option<Wire>,
}

impl Route {
    /// The reason `why`. If a flow of the same workload occupies a wire, this flow is left out of the reason.
    fn own_wire(&self, why: Why) -> Why {
        match why {
            Why::Wire(Some(flow)) if self.own.contains(&flow.0) => Why::Wire(None),
            other => other,
        }
    }

    /// The ingress port by which all packets of the flow arrive, if the station at this place is the upstream wire of a switch and the station before
    /// it is the wire to one of the switch's downstream ports. `None` for any other station. Packets for a downstream wire may also arrive by other
    /// downstream ports.
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

/// The largest number of receive buffers through which the search for one cause proceeds.
const DEPTH: u32 = 32;

impl Moment<'_> {
    fn link(&self, (component, port): End) -> Option<&LinkEnd> {
        self.models[component].link(port)
    }

    fn why_at(&self, wire: Wire, concern: Concern) -> Option<Why> {
        let packets = self.stores.of(wire.end.0);
        self.link(wire.end)?.why(concern, self.now, packets)
    }

    fn is_on(&self, wire: Wire, flow: FlowId) -> bool {
        let packets = self.stores.of(wire.end.0);
        let link = self.link(wire.end);
        link.is_some_and(|link| link.is_sending(flow, self.now, packets))
    }

    /// Returns the cause for which `route` waits, or `None` if it has not begun or has sent its last request. `is_open` is whether a flow that has no
    /// requester has begun and is not complete; `leader` returns the route of another flow, which this flow may follow.
    pub(super) fn cause<'r>(
        &self,
        route: &'r Route,
        is_open: bool,
        leader: &dyn Fn(FlowId) -> Option<&'r Route>,
    ) -> Option<Cause> {
        let own = self.models[route.from].why(route.part, self.now);
        match own {
            Some(Why::Start) => return None,
            Some(Why::Follows(flow)) => {
                return leader(flow).and_then(|route| self.cause(route, is_open, &|_| None));
            }
            None if !is_open || self.models[route.from].requester().is_some() => return None,
            _ => {}
        }
        let on_way = self.failed_link(route).or_else(|| self.behind(route));
        Some(on_way.unwrap_or_else(|| self.at_engine(route, own)))
    }

    /// The cause at the first link on the path of a flow that has failed or is in Recovery.
    fn failed_link(&self, route: &Route) -> Option<Cause> {
        route.stations.iter().find_map(|station| match *station {
            Station::Wire(wire) => {
                let link = self.link(wire.end)?;
                if link.has_failed(self.now) {
                    return Some(Cause::on(wire.end, Why::LinkDown));
                }
                link.is_recovering(self.now)
                    .then_some(Cause::on(wire.end, Why::Recovery))
            }
            _ => None,
        })
    }

    /// Returns the cause for which packets of a flow wait after they have left the wire of the flow's own node. The place farthest from this node is
    /// searched first.
    fn behind(&self, route: &Route) -> Option<Cause> {
        let mut stations = route.stations.iter().enumerate().rev();
        stations.find_map(|(place, station)| match *station {
            Station::Wire(wire) if wire.end.0 == route.from => None,
            Station::Wire(wire) => {
                let source = route.source(place);
                let why = self.why_at(wire, Concern::Flow(route.part, source))?;
                self.of_link(route, wire, why, 0)
            }
            Station::ReceivePath(node) => {
                self.is_late(node).then_some(Cause::at(node, Why::Datapath))
            }
            Station::Answers(node) => {
                let endpoint = self.models[node].leaf()?.endpoint();
                let is_late = endpoint.is_answering_late(self.now);
                is_late.then_some(Cause::at(node, Why::Datapath))
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
        let (fibre, why) = router.why(route.part, self.now, self.stores.of(node))?;
        let port = fibre.map(|fibre| ports::fibre_port(fibre as u8) as usize);
        let why = route.own_wire(why);
        Some(Cause { why, node, port })
    }

    fn in_root(&self, route: &Route, node: usize, way: RootWay) -> Option<Cause> {
        let host = self.models[node].host()?;
        let why = host.why(way, route.request, self.now)?;
        Some(Cause::at(node, why))
    }

    /// Returns the cause for which packets that enter a host by the root port `end` wait in the host. All paths of flows that enter there are
    /// searched. If there is none, the packets belong to other workloads and are assumed to go to memory.
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

    /// Returns the cause that underlies the reason `why` for which a link end waits. If credit is missing, this is the cause for which the receive
    /// buffer at the far end is full. `None` for a latency, which delays all packets.
    fn of_link(&self, route: &Route, wire: Wire, why: Why, depth: u32) -> Option<Cause> {
        let holder = match why {
            Why::Latency(_) => return None,
            Why::Credit(class, _) => self.holder(route, wire.far, class, depth),
            _ => None,
        };
        Some(holder.unwrap_or_else(|| Cause::on(wire.end, route.own_wire(why))))
    }

    /// Returns the cause for which packets stay in the receive buffer of a class at `end`.
    fn holder(&self, route: &Route, end: End, class: Class, depth: u32) -> Option<Cause> {
        let (node, port) = end;
        let out = self.wires.from(node).filter(|wire| wire.end != end);
        let mut waiting = out.filter_map(|wire| {
            let why = self.why_at(wire, Concern::Source(port as u16, class))?;
            Some((wire, why))
        });
        let on_wires = waiting.find_map(|(wire, why)| {
            if depth == DEPTH && matches!(why, Why::Credit(..)) {
                return None;
            }
            self.of_link(route, wire, why, depth + 1)
        });
        on_wires
            .or_else(|| self.behind_root_port(route, end))
            .or_else(|| self.is_late(node).then_some(Cause::at(node, Why::Datapath)))
            .or_else(|| {
                self.is_holding(node)
                    .then_some(Cause::at(node, Why::Holder))
            })
    }

    /// Returns the cause for which the engine of a flow makes no request, if none of the flow's packets waits after the engine. `own` is the reason
    /// of the flow's requester, if the flow has a requester.
    fn at_engine(&self, route: &Route, own: Option<Why>) -> Cause {
        let node = route.from;
        let model = &self.models[node];
        let pace = match model.host() {
            Some(host) => Cause::at(node, host.why_no_request()),
            None => Cause::at(node, Why::Datapath),
        };
        let wire = || self.first_wire(route);
        let data = || self.data_on_wire(route);
        match own {
            Some(why @ (Why::Tags | Why::Outstanding)) => data().unwrap_or(Cause::at(node, why)),
            // The flow has one round trip at a time. Its packet is on a wire, or in a port, a switch or the target.
            Some(Why::RoundTrip) => wire()
                .or_else(|| self.on_any_wire(route))
                .unwrap_or(Cause::at(route.to, Why::RoundTrip)),
            Some(Why::Interval) => wire().unwrap_or(Cause::at(node, Why::Interval)),
            Some(Why::Pacing) => wire().unwrap_or(pace),
            Some(_) => match model.leaf().map(|leaf| leaf.endpoint().why(self.now)) {
                // Packets that are still in the transmit path also occupy the queue.
                Some(Some(Why::Queue)) => wire()
                    .or_else(|| self.others_at_wire(route))
                    .unwrap_or(pace),
                Some(Some(_)) => wire().unwrap_or(pace),
                Some(None) => wire().or_else(data).unwrap_or(Cause::at(node, Why::Other)),
                None => wire().or_else(data).unwrap_or(pace),
            },
            None => wire()
                .or_else(data)
                .unwrap_or_else(|| self.of_engine(route)),
        }
    }

    /// Returns the cause for which an engine that software controls makes no request.
    fn of_engine(&self, route: &Route) -> Cause {
        let engine = |node: usize| {
            let leaf = self.models[node].leaf();
            leaf.map_or(Why::Datapath, |leaf| leaf.engine(self.now))
        };
        match engine(route.from) {
            // The network interface controller that receives a GET sends the data.
            Why::Software
                if self.models[route.to].device::<Nic>().is_some()
                    && engine(route.to) == Why::Datapath =>
            {
                Cause::at(route.to, Why::Datapath)
            }
            Why::Software => Cause::at(route.host, Why::Software),
            why => Cause::at(route.from, why),
        }
    }

    /// Returns the cause for which packets of other flows fill the queue for the wires of a flow's node.
    fn others_at_wire(&self, route: &Route) -> Option<Cause> {
        let mut wires = self.wires.from(route.from);
        wires.find_map(|wire| {
            let why = self.why_at(wire, Concern::Any)?;
            self.of_link(route, wire, why, 0)
        })
    }

    /// Returns the cause for which packets of a flow wait at the wires of its node.
    fn first_wire(&self, route: &Route) -> Option<Cause> {
        let mut wires = self.wires.from(route.from);
        wires.find_map(|wire| {
            let why = self.why_at(wire, Concern::Flow(route.part, None))?;
            self.of_link(route, wire, why, 0)
        })
    }

    /// Returns the slowest wire on the path of the data as the cause, if a packet of the flow is on this wire now.
    fn data_on_wire(&self, route: &Route) -> Option<Cause> {
        let wire = route.slowest?;
        self.is_on(wire, route.part)
            .then_some(Cause::on(wire.end, Why::Wire(None)))
    }

    /// Returns the first wire of the path that transmits a packet of the flow now, as the cause.
    fn on_any_wire(&self, route: &Route) -> Option<Cause> {
        route.stations.iter().find_map(|station| match *station {
            Station::Wire(wire) if self.is_on(wire, route.part) => {
                Some(Cause::on(wire.end, Why::Wire(None)))
            }
            _ => None,
        })
    }
}
