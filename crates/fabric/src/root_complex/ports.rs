//! The root ports: the ends of their links, and the rules of their registers for packets from below.

use kernel::{Bytes, Effects, Port, Time};
use link::{Arrival, At, Finished, LinkEnd, Waiting};
use packet::{Charge, Frame, Packet, PacketId, Refusal};
use protocol::{AccessService, Class, ConfigSpace, Header};
use transaction::{Datapath, FunctionPlace, Functions, Marking, Marks};

use super::RootComplexParameters;
use super::held::HeldBuffers;
use super::timer::RootComponent;
use crate::access_control::{PeerRoute, is_violation, peer_route};

/// The root ports of a root complex, by number.
///
/// A packet from one root port to another occupies the receive buffer of the first port until the second port has sent it. The root ports
/// free this buffer themselves. They report only the packets that the host itself has sent.
#[derive(Debug)]
pub(super) struct RootPorts {
    ports: Vec<RootPort>,
    /// The receive buffers of packets between root ports, if these packets may be split. None if each packet leaves whole and frees its own
    /// buffer.
    held: Option<Box<HeldBuffers>>,
    /// The number of packets between root ports that have not left yet.
    peers: usize,
}

#[derive(Clone, Debug)]
struct RootPort {
    link: LinkEnd,
    /// The datapath from the receive buffer, and the datapath to the link.
    incoming: Datapath,
    outgoing: Datapath,
    /// `Max_Payload_Size` of the port, from its registers.
    max_payload: u32,
    /// The payload size in bytes from which a packet must be checked. It is above the max payload size, or 0 if a traffic class maps to no
    /// channel or the ECRC of packets is checked.
    checked_from: u32,
    /// Whether the port may block packets that arrive at it.
    restricts: bool,
    /// Whether the port may block packets to other root ports.
    restricts_peers: bool,
    /// Marks the packets of the host itself with the attributes that the port's registers permit.
    marking: Marking,
    /// Whether packets of the host itself are sent with an ECRC.
    generates_ecrc: bool,
    /// Whether the ECRC of packets from below is checked.
    checks_ecrc: bool,
    /// Whether packets from below may have End-End TLP prefixes.
    supports_prefixes: bool,
}

impl RootPort {
    /// The reason to refuse a packet: its payload is above the max payload size, its traffic class maps to no channel (PCIe Base 2.5.3), it
    /// has a prefix that the port does not support (2.2.10.2), or its ECRC is wrong.
    fn finds_wrong(&self, packet: &Packet) -> Option<Refusal> {
        let header = packet.header();
        if header.payload_len() as u32 > self.max_payload
            || !self.link.maps(header.traffic_class)
            || header.pasid.is_some() && !self.supports_prefixes
        {
            Some(Refusal::MalformedTlp)
        } else if self.checks_ecrc && packet.has_wrong_digest() {
            Some(Refusal::EcrcError)
        } else {
            None
        }
    }
}

/// A packet of the host itself that a root port has sent.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(super) struct Sent {
    pub(super) port: Port,
    pub(super) charge: Charge,
}

impl RootPorts {
    pub(super) fn new(
        links: Vec<LinkEnd>,
        parameters: &RootComplexParameters,
        marks: &Marks,
    ) -> Self {
        let datapath = parameters.datapath();
        let port = |link| RootPort {
            link,
            incoming: datapath.clone(),
            outgoing: datapath.clone(),
            max_payload: 0,
            checked_from: 0,
            restricts: true,
            restricts_peers: true,
            marking: Marking::new(marks.clone()),
            generates_ecrc: false,
            checks_ecrc: false,
            supports_prefixes: false,
        };
        let splits = parameters.largest_peer_payload < LARGEST_PAYLOAD;
        RootPorts {
            ports: links.into_iter().map(port).collect(),
            held: splits.then(Box::default),
            peers: 0,
        }
    }

    /// The source number of the host's own packets, which follows the numbers of the ports.
    pub(super) const fn source(ports: usize) -> u16 {
        ports as u16
    }

    pub(super) fn numbers(&self) -> impl Iterator<Item = Port> + use<> {
        (0..self.ports.len() as u16).map(Port)
    }

    pub(super) fn links(&self) -> impl Iterator<Item = &LinkEnd> {
        self.ports.iter().map(|port| &port.link)
    }

    /// Begins to load the data that is needed when a packet arrives at `port`.
    #[inline]
    pub(super) fn prefetch(&self, port: Port) {
        if let Some(port) = self.ports.get(port.index()) {
            port.link.prefetch(true);
        }
    }

    pub(super) fn apply_registers(&mut self, functions: &Functions) {
        for (index, port) in self.ports.iter_mut().enumerate() {
            let place = FunctionPlace::Port(index);
            let space = functions.space(place);
            port.max_payload = space.max_payload();
            let blocks = [
                AccessService::SourceValidation,
                AccessService::TranslationBlocking,
            ];
            let blocks = blocks.iter().any(|service| space.has_enabled(*service));
            port.restricts = !space.bus_master_enable() || blocks;
            port.restricts_peers = !space.has_enabled(AccessService::UpstreamForwarding)
                || space.has_enabled(AccessService::EgressControl);
            port.marking.apply_registers(space);
            port.generates_ecrc = space.generates_ecrc();
            let (own, adds_digest) = (functions.id_of(place), port.generates_ecrc);
            port.link.apply_registers(space, own, adds_digest);
            port.checks_ecrc = space.checks_ecrc();
            port.supports_prefixes = space.supports_prefixes();
            let looks_at_all = port.checks_ecrc || !port.link.maps_all_classes();
            port.checked_from = if looks_at_all {
                0
            } else {
                port.max_payload + 1
            };
        }
        // Counting may begin only while there is no packet between root ports, because an uncounted packet frees no buffer. Software may
        // change the sizes only under the same condition (PCIe Base 7.5.3.4).
        if self.held.is_none() && self.peers == 0 && self.are_unequal() {
            self.held = Some(Box::default());
        }
    }

    /// Whether the root ports have different max payload sizes.
    fn are_unequal(&self) -> bool {
        let sizes = self.ports.windows(2);
        sizes
            .into_iter()
            .any(|pair| pair[0].max_payload != pair[1].max_payload)
    }

    /// Whether packets between root ports may be split.
    pub(super) fn may_split(&self) -> bool {
        self.held.is_some()
    }

    /// The time at which a packet of `bytes` that arrives at `port` now has passed the datapath.
    #[inline]
    pub(super) fn pass_in(&mut self, port: Port, bytes: usize, now: Time) -> Time {
        let incoming = &mut self.ports[port.index()].incoming;
        if incoming.is_unlimited() {
            now
        } else {
            incoming.pass(now, bytes as u64)
        }
    }

    /// Whether the datapath from the receive buffer of `port` is busy at `now` for longer than a packet of `bytes` needs.
    pub(super) fn is_late_in(&self, port: Port, bytes: u64, now: Time) -> bool {
        let incoming = &self.ports[port.index()].incoming;
        incoming.opens() > now + incoming.time_of(bytes)
    }

    /// Whether the datapath to the link of `port` is busy at `now` for longer than a packet of `bytes` needs.
    pub(super) fn is_late_out(&self, port: Port, bytes: u64, now: Time) -> bool {
        let outgoing = &self.ports[port.index()].outgoing;
        outgoing.opens() > now + outgoing.time_of(bytes)
    }

    /// Whether the link of `port` has failed by `now`.
    pub(super) fn is_down(&self, port: Port, now: Time) -> bool {
        self.ports[port.index()].link.has_failed(now)
    }

    pub(super) fn max_payload(&self, port: Port) -> u32 {
        self.ports[port.index()].max_payload
    }

    pub(super) fn largest_max_payload(&self) -> Option<u32> {
        self.ports.iter().map(|port| port.max_payload).max()
    }

    /// Records the errors and the changes of state of the links.
    pub(super) fn record_links<K: RootComponent>(
        &mut self,
        functions: &mut Functions,
        fx: &mut Effects<'_, K>,
    ) {
        let now = fx.now();
        for (index, RootPort { link, .. }) in self.ports.iter_mut().enumerate() {
            let place = FunctionPlace::Port(index);
            if link.fails_at() <= now {
                functions.record_surprise_down(place, fx);
            }
            while let Some(change) = link.take_change() {
                functions.record_change(place, link, change, fx);
            }
            functions.record_link(place, link, now);
        }
    }

    /// The reason to refuse a packet that arrived at `port`, if the registers of the port forbid it.
    #[inline]
    pub(super) fn refusal(
        &self,
        port: Port,
        packet: &Packet,
        functions: &Functions,
    ) -> Option<Refusal> {
        let header = packet.header();
        let root = &self.ports[port.index()];
        if packet.checked_size() >= root.checked_from
            && let Some(why) = root.finds_wrong(packet)
        {
            Some(why)
        } else if root.restricts {
            restriction(functions.space(FunctionPlace::Port(port.index())), header)
        } else {
            None
        }
    }

    /// The reason to refuse a packet that arrived at `from` and is routed to `to`, if Access Control Services forbid it. A redirected
    /// request passes, because the earlier stages are the validation of redirected requests (PCIe Base 6.12.1.1).
    pub(super) fn peer_refusal(
        &self,
        (from, to): (Port, Port),
        header: &Header,
        functions: &Functions,
    ) -> Option<Refusal> {
        if self.ports[from.index()].restricts_peers {
            peer_restriction((from, to), header, functions)
        } else {
            None
        }
    }

    /// Receives a frame by the fast path. Returns its packet if the frame needs no more than to be [accepted](LinkEnd::accept_next).
    #[inline(always)]
    pub(super) fn accept_next<K: RootComponent>(
        &mut self,
        port: Port,
        frame: &Frame,
        fx: &mut Effects<'_, K>,
    ) -> Option<PacketId> {
        let next = self.link(port).accept_next(frame, &mut At::new(fx, port))?;
        Some(next.packet)
    }

    /// Handles a frame from the wire. Returns the packet that has arrived, if there is one.
    pub(super) fn receive<K: RootComponent>(
        &mut self,
        port: Port,
        frame: Frame,
        fx: &mut Effects<'_, K>,
    ) -> (Option<PacketId>, Option<Sent>) {
        let (arrival, finished) = self.link(port).receive(frame, &mut At::new(fx, port));
        let sent = self.settle(port, finished, fx);
        match arrival {
            Some(Arrival::Packet(delivery)) => (Some(delivery.packet), sent),
            _ => (None, sent),
        }
    }

    /// Frees the receive buffer of a packet that arrived at `port`, at the time `due`.
    #[inline(always)]
    pub(super) fn free_later<K: RootComponent>(
        &mut self,
        port: Port,
        charge: Charge,
        due: Time,
        fx: &mut Effects<'_, K>,
    ) {
        self.link(port)
            .free_later(charge, due, &mut At::new(fx, port));
    }

    /// Sends a packet of the host itself by `port`, not before `ready`.
    pub(super) fn send<K: RootComponent>(
        &mut self,
        port: Port,
        packet: PacketId,
        ready: Time,
        fx: &mut Effects<'_, K>,
    ) -> Option<Sent> {
        let marking = &self.ports[port.index()].marking;
        let packet = if marking.is_plain() {
            packet
        } else {
            marking.mark(packet, fx.store())
        };
        if self.ports[port.index()].generates_ecrc {
            fx.store()[packet].add_digest();
        }
        self.enqueue(Self::source(self.ports.len()), port, packet, ready, fx)
    }

    /// Sends a packet with `charge` that arrived at root port `from` by root port `to`. Each of its parts is sent no earlier than its time.
    pub(super) fn forward<K: RootComponent>(
        &mut self,
        (from, to): (Port, Port),
        charge: Charge,
        parts: &[(PacketId, Time)],
        fx: &mut Effects<'_, K>,
    ) -> Vec<Sent> {
        if let Some(held) = &mut self.held {
            held.enter((from, to), charge, parts.len());
        }
        self.peers += parts.len();
        let send =
            |(packet, ready): &(PacketId, Time)| self.enqueue(from.0, to, *packet, *ready, fx);
        parts.iter().filter_map(send).collect()
    }

    fn enqueue<K: RootComponent>(
        &mut self,
        source: u16,
        port: Port,
        packet: PacketId,
        ready: Time,
        fx: &mut Effects<'_, K>,
    ) -> Option<Sent> {
        let outgoing = &mut self.ports[port.index()].outgoing;
        let ready = if outgoing.is_unlimited() {
            ready
        } else {
            let begins = ready.max(outgoing.opens());
            outgoing.pass(begins, fx.store()[packet].bytes().len() as u64);
            begins
        };
        let waiting = Waiting::new(packet, fx.store(), ready);
        self.on_link(port, fx, |link, at| link.enqueue(source, waiting, at))
    }

    /// Calls `act` for the link end at `port`. Returns the packet of the host itself whose transmission has ended as a result, if there is
    /// one.
    pub(super) fn on_link<K: RootComponent>(
        &mut self,
        port: Port,
        fx: &mut Effects<'_, K>,
        act: impl FnOnce(&mut LinkEnd, &mut At<'_>) -> Option<Finished>,
    ) -> Option<Sent> {
        let finished = act(self.link(port), &mut At::new(fx, port));
        self.settle(port, finished, fx)
    }

    pub(super) fn link(&mut self, port: Port) -> &mut LinkEnd {
        &mut self.ports[port.index()].link
    }

    /// Handles the end of a transmission, if a transmission has ended.
    #[inline(always)]
    fn settle<K: RootComponent>(
        &mut self,
        port: Port,
        finished: Option<Finished>,
        fx: &mut Effects<'_, K>,
    ) -> Option<Sent> {
        finished.and_then(|finished| self.end_transmission(port, finished, fx))
    }

    /// Handles the end of a transmission. A packet from another root port, or the last of its parts, frees its receive buffer at that port.
    /// This may end another transmission.
    fn end_transmission<K: RootComponent>(
        &mut self,
        mut port: Port,
        finished: Finished,
        fx: &mut Effects<'_, K>,
    ) -> Option<Sent> {
        let mut finished = Some(finished);
        while let Some(Finished {
            source,
            charge,
            passed,
        }) = finished
        {
            let Some(ingress) = self.ports.get_mut(usize::from(source)) else {
                return Some(Sent { port, charge });
            };
            self.peers = self.peers.saturating_sub(1);
            let charge = match &mut self.held {
                None => charge,
                Some(held) => held.leave((Port(source), port), charge, passed)?,
            };
            port = Port(source);
            finished = ingress.link.free(charge, &mut At::new(fx, port));
        }
        None
    }
}

/// The reason why the root port with the registers `space` refuses a packet from below with `header`, if there is one. An ACS Violation has
/// priority over an unsupported request (PCIe Base 6.2.3.2.3).
fn restriction(space: &ConfigSpace, header: &Header) -> Option<Refusal> {
    if is_violation(space, header) {
        Some(Refusal::AcsViolation)
    } else if !space.bus_master_enable() && header.needs_bus_master() {
        Some(Refusal::UnsupportedRequest)
    } else {
        None
    }
}

fn peer_restriction(
    (from, to): (Port, Port),
    header: &Header,
    functions: &Functions,
) -> Option<Refusal> {
    let space = |port: Port| functions.space(FunctionPlace::Port(port.index()));
    let peer = (to != from).then(|| space(to));
    match peer_route(space(from), peer, header) {
        PeerRoute::Direct | PeerRoute::Upstream => None,
        PeerRoute::Violation => Some(Refusal::AcsViolation),
        PeerRoute::Nowhere if header.class() == Class::Completion => {
            Some(Refusal::UnexpectedCompletion)
        }
        PeerRoute::Nowhere => Some(Refusal::UnsupportedRequest),
    }
}

/// The largest payload of a packet (PCIe Base 2.2.2).
const LARGEST_PAYLOAD: Bytes = Bytes(4096);
