//! A switch: a link end for each port, a non-blocking core between them, and the routing of its bridges.

mod ports;
mod profiles;
mod refusals;

pub use profiles::switch_profiles;

use kernel::{Action, Bytes, Component, Effects, Label, Port, Span, Time};
use link::{Arrival, At, Delivery, Finished, LinkEnd, LinkTimer, Waiting};
use packet::{Charge, Frame, PacketId, Packets, Pcie, Refusal};
use protocol::{ConfigRequest, Header, Kind, Message};
use transaction::{FunctionPlace, Functions, Reach, retype};

use crate::access_control::{PeerRoute, is_violation, peer_route};
use crate::output_queues::{Buffered, OutputQueues};
use crate::{Route, Routes};

kernel::parameters! {
    /// The parameters of a switch.
    pub struct SwitchParameters {
        /// Number of ports, with the upstream port.
        ports: u32 = 64, within 2..=64, from "the largest switch the arbiter serves";
        /// Time from a packet's header at the ingress to its header at the egress, without contention, between links of one speed. From
        /// a slower to a faster link the header leaves later, so that the faster link does not run empty within the packet. With
        /// store-and-forward the time begins with the packet's last bit.
        latency: Span = Span::from_ns(150), from "PLX Technology's figure for its Gen2 and Gen3 switches";
        /// Part of the latency in which a packet is in the core and holds its ingress buffer. The PHYs and pipelines of the two ports
        /// have equal parts of the rest; DLLPs pass these, too.
        core_latency: Option<Span> = None, from "our choice: a third of the latency";
        /// Whether a packet is forwarded as soon as its header has arrived (cut-through), or only when it is complete.
        cut_through: bool = true, from "as switches of this kind do";
        /// Whether a cut-through switch forwards a packet only when it is complete if the egress link is faster than the ingress link.
        store_for_faster_links: bool = false, from "our choice: switches differ; cut-through adds the least latency";
        /// Size of a queue for packets of one class from one port to one output, beside the receive buffers (virtual output queues);
        /// 0 is none. A packet moves there from the receive buffer as soon as it has space, so that packets for a slow output do not
        /// use up the credit of all others.
        output_queue: Bytes = Bytes(0), from "our choice: none, so that packets wait in the receive buffers";
        /// Whether downstream ports check the requesters of requests from below: Source Validation in ACS Control. A request whose
        /// requester is on none of the buses below the port is an ACS Violation.
        acs_source_validation: bool = false, from "PCIe Base 6.12: off after reset";
        /// Whether downstream ports block memory requests from below with translated addresses, and translation requests: Translation
        /// Blocking in ACS Control. A request that is blocked is an ACS Violation.
        acs_translation_blocking: bool = false, from "PCIe Base 6.12: off after reset";
        /// Whether requests from one downstream port to another are redirected to the root: P2P Request Redirect in ACS Control of the
        /// downstream ports. A switch above needs acs_upstream_forwarding for redirected requests between ports of this one.
        acs_redirect: bool = false, lifts "way", from "PCIe Base 6.12: off after reset";
        /// Whether completions from one downstream port to another go to the root, except those with Relaxed Ordering: P2P Completion
        /// Redirect in ACS Control of the downstream ports.
        acs_completion_redirect: bool = false, lifts "way", from "PCIe Base 6.12: off after reset";
        /// Whether packets from below that are routed back to the downstream port that they came in by go upstream: Upstream
        /// Forwarding in ACS Control of the downstream ports. They were redirected by a switch below; without it requests end in
        /// Unsupported Request, and completions are unexpected.
        acs_upstream_forwarding: bool = false, from "PCIe Base 6.12: off after reset";
        /// Whether requests with translated addresses go directly from one downstream port to another, whatever redirect and egress
        /// control say: Direct Translated P2P in ACS Control of the downstream ports.
        acs_direct_translated: bool = false, from "PCIe Base 6.12: off after reset";
        /// Whether downstream ports pass on configuration requests for all 256 functions of a device with ARI: ARI Forwarding Supported in
        /// Device Capabilities 2. Firmware then enables it above devices with ARI; without it, more than 7 virtual functions take a bus
        /// number of their own.
        ari_forwarding: bool = true, from "our choice; PCIe Base 6.13: optional";
        /// Whether ports pass on requests for atomic operations: AtomicOp Routing Supported in Device Capabilities 2. A switch without it
        /// takes one that it would have to pass on as an Unsupported Request, and firmware enables no AtomicOp requesters below it.
        atomic_routing: bool = true, from "our choice; PCIe Base 6.15.3.1: optional, for all ports of a switch or for none";
        /// Whether the ports block requests for atomic operations at their egress: AtomicOp Egress Blocking in Device Control 2 of each
        /// port that routes them. A blocked request ends with the error AtomicOp Egress Blocked and the status Unsupported Request.
        atomic_egress_blocking: bool = false, from "PCIe Base 7.5.3.16: off after reset";
        /// Whether ports receive packets with End-End TLP prefixes, such as PASID, and pass them on: End-End TLP Prefix Supported in Device
        /// Capabilities 2. Without it such a packet is malformed.
        tlp_prefixes: bool = false, from "our choice: off; PCIe Base 2.2.10.2: optional";
        /// Whether no port lets packets with End-End TLP prefixes out: End-End TLP Prefix Blocking in Device Control 2 of all ports. Such a
        /// packet ends with the error TLP Prefix Blocked.
        tlp_prefix_blocking: bool = false, from "PCIe Base 7.5.3.16: off after reset";
    }
}

impl SwitchParameters {
    /// Latency of the core.
    pub fn core_latency(&self) -> Span {
        let third = Span::from_fs(self.latency.as_fs() / 3);
        self.core_latency.unwrap_or(third)
    }

    /// Latency of a port's PHY and pipeline in each direction.
    pub fn port_latency(&self) -> Span {
        Span::from_fs(self.latency.saturating_sub(self.core_latency()).as_fs() / 2)
    }
}

/// The configuration of a switch.
#[derive(Clone, Debug)]
pub struct SwitchConfig {
    /// The parameters of the switch.
    pub parameters: SwitchParameters,
    /// The functions of the switch's ports.
    pub functions: Functions,
    /// The link ends of the ports, upstream port first.
    pub links: Vec<LinkEnd>,
}

/// A switch.
#[derive(Clone, Debug)]
pub struct Switch {
    functions: Functions,
    /// Latency of the core.
    latency: Span,
    stores_for_faster_links: bool,
    routes: Routes,
    ports: Vec<SwitchPort>,
    /// The filter of each port. The filters are in a separate list, so that all of them occupy few cache lines.
    filters: Vec<PortFilter>,
    /// The virtual output queues. None if packets wait in the receive buffers. Boxed, because few switches have them.
    output_queues: Option<Box<OutputQueues>>,
    /// The number of packets to come whose data the switch will damage.
    damages: u32,
}

#[derive(Clone, Debug)]
struct SwitchPort {
    link: LinkEnd,
    /// `Max_Payload_Size` of the port, from its registers.
    max_payload: u32,
}

/// The conditions under which a packet that arrives at a port is checked closely.
#[derive(Clone, Copy, Debug, Default)]
struct PortFilter {
    /// The payload size from which a packet is checked closely. Normally it is above the max payload size. It is 1 while the data of packets
    /// is to be damaged. It is 0 if a traffic class maps to no channel of the switch, or if a port blocks atomic operations. Poisoned
    /// packets and packets with prefixes are always checked.
    checked_from: u32,
    /// Whether the port may block or redirect packets that arrive at it.
    restricts: bool,
}

/// A timer of a port's link.
#[derive(Clone, Copy, Debug)]
pub struct PortTimer(Port, LinkTimer);

impl Label for PortTimer {
    fn number(self) -> u32 {
        u32::from(self.0.0) * LinkTimer::COUNT + self.1 as u32
    }
    #[inline]
    fn from_number(number: u32) -> Self {
        PortTimer(
            Port((number / LinkTimer::COUNT) as u16),
            LinkTimer::from_number(number % LinkTimer::COUNT),
        )
    }
}

impl From<(Port, LinkTimer)> for PortTimer {
    fn from((port, timer): (Port, LinkTimer)) -> Self {
        PortTimer(port, timer)
    }
}

/// The upstream port.
pub const UPSTREAM: Port = Port(0);

impl Component for Switch {
    type Traffic = Pcie;
    type Port = Port;
    type Timer = PortTimer;

    fn start(&mut self, fx: &mut Effects<'_, Self>) {
        for port in 0..self.ports.len() as u16 {
            let port = Port(port);
            self.on_link(port, fx, |link, at| link.start(at));
        }
        self.follow_links_below(fx);
    }

    fn receive(&mut self, port: Port, frame: Frame, fx: &mut Effects<'_, Self>) {
        match self.link(port).accept_next(&frame, &mut At::new(fx, port)) {
            Some(delivery) => self.forward(port, delivery, false, fx),
            None => self.receive_any(port, frame, fx),
        }
    }

    fn expire(&mut self, PortTimer(port, timer): PortTimer, fx: &mut Effects<'_, Self>) {
        self.on_link(port, fx, |link, at| link.expire(timer, at));
        if matches!(timer, LinkTimer::Errors | LinkTimer::Training) {
            self.report_links(fx);
        }
    }

    #[inline]
    fn prefetch(&self, action: &Action<Frame>) {
        if let Some(port) = self.ports.get(port_of_event(action)) {
            let is_arrival = matches!(action, Action::Receive(_, Frame::Tlp(_)));
            port.link.prefetch(is_arrival);
        }
    }

    #[inline]
    fn prefetch_rest(&self, action: &Action<Frame>, packets: &Packets) {
        let number = port_of_event(action);
        let Some(port) = self.ports.get(number) else {
            return;
        };
        if let Action::Receive(_, Frame::Tlp(_)) = action {
            // Most packets from below are forwarded upstream.
            if let Some(up) = self.ports.first().filter(|_| number > 0) {
                up.link.prefetch(false);
                up.link.prefetch_source(number as u16);
            }
            return;
        }
        port.link.prefetch_packets(packets);
        let source = port.link.source_on_wire();
        if let Some(ingress) = source.and_then(|source| self.ports.get(usize::from(source))) {
            ingress.link.prefetch_buffers();
        }
    }
}

/// The index of the port at which an event happens.
fn port_of_event(action: &Action<Frame>) -> usize {
    match action {
        Action::Receive(port, _) => *port as usize,
        Action::Expire(timer) => PortTimer::from_number(*timer).0.index(),
    }
}

impl Switch {
    /// Handles a frame other than the next packet in sequence.
    fn receive_any(&mut self, port: Port, frame: Frame, fx: &mut Effects<'_, Self>) {
        let (arrival, finished) = self.link(port).receive(frame, &mut At::new(fx, port));
        self.settle(port, finished, fx);
        let (delivery, corrupt) = match arrival {
            Some(Arrival::Packet(delivery)) => (delivery, false),
            Some(Arrival::Corrupt(delivery)) => (delivery, true),
            None => return,
        };
        self.forward(port, delivery, corrupt, fx);
    }

    /// The number of sources of each port's wire besides the downstream ports: the upstream port, and the switch itself.
    pub const SOURCES: usize = 2;

    /// A switch in its initial state.
    pub fn new(config: SwitchConfig) -> Self {
        let port = |link| SwitchPort {
            link,
            max_payload: 0,
        };
        let mut switch = Switch {
            functions: config.functions,
            latency: config.parameters.latency - config.parameters.port_latency() * 2,
            stores_for_faster_links: config.parameters.store_for_faster_links,
            output_queues: OutputQueues::new(config.parameters.output_queue).map(Box::new),
            routes: Routes::default(),
            filters: vec![PortFilter::default(); config.links.len()],
            ports: config.links.into_iter().map(port).collect(),
            damages: 0,
        };
        switch.apply_registers();
        switch
    }

    /// Whether a packet with this header that arrived at `from` is malformed: its payload is above the max payload size, its traffic class
    /// maps to no channel of its ingress (PCIe Base 2.5.3), or it has a prefix that the port does not support (2.2.10.2).
    fn is_malformed(&self, from: Port, header: &Header) -> bool {
        let port = &self.ports[from.index()];
        let supports = || self.functions.space(place(from)).supports_prefixes();
        header.payload_len() as u32 > port.max_payload
            || !port.link.maps(header.traffic_class)
            || header.pasid.is_some() && !supports()
    }

    /// The port to which a packet from `from` is routed, if the packet has a prefix and this port blocks prefixes.
    fn blocking_port(&self, from: Port, header: &Header) -> Option<Port> {
        header.pasid?;
        let to = self.egress(from, header)?;
        let space = self.functions.space(place(to));
        space.blocks_prefixes().then_some(to)
    }

    /// Damages a bit of the data of the next `count` packets with data. The damage happens inside the switch, after the LCRC is checked and
    /// before a new LCRC is generated.
    pub fn damage_next(&mut self, count: u32) {
        self.damages += count;
        self.apply_registers();
    }

    /// Handles a packet that must be checked closely: refuses a malformed or blocked packet, and forwards any other. The poison of a packet
    /// is recorded. While data is to be damaged, a copy of the packet with a damaged bit is forwarded, because the sender may still hold the
    /// packet itself.
    fn forward_closely(&mut self, from: Port, delivery: Delivery, fx: &mut Effects<'_, Self>) {
        let Delivery {
            mut packet,
            complete,
        } = delivery;
        let header = *fx.store()[packet].header();
        if self.is_malformed(from, &header) {
            return self.refuse(from, delivery, Refusal::MalformedTlp, fx);
        }
        if let Some(to) = self.blocking_port(from, &header) {
            return self.refuse_at(place(to), from, delivery, Refusal::PrefixBlocked, fx);
        }
        if let Kind::Atomic(_) = header.kind
            && let Some(to) = self.egress(from, &header)
        {
            let (ingress, egress) = (place(from), place(to));
            if !self.functions.space(ingress).routes_atomics() {
                return self.refuse(from, delivery, Refusal::UnsupportedRequest, fx);
            }
            if self.functions.space(egress).blocks_atomics() {
                return self.refuse_at(egress, from, delivery, Refusal::AtomicEgressBlocked, fx);
            }
        }
        if header.poisoned {
            self.record_poison(from, packet, fx);
        }
        if self.damages > 0 && header.payload_len() > 0 {
            packet = fx.store().rewritten(packet, header);
            let middle = fx.store()[packet].payload().len() * 4;
            fx.store()[packet].damage(middle);
            self.damages -= 1;
            self.apply_registers();
        }
        self.route(from, Delivery { packet, complete }, false, fx);
    }

    /// The link ends of the ports.
    pub fn links(&self) -> impl Iterator<Item = &LinkEnd> {
        self.ports.iter().map(|port| &port.link)
    }

    fn link(&mut self, port: Port) -> &mut LinkEnd {
        &mut self.ports[port.index()].link
    }

    /// Calls `act` for the link end at `port`. If this completes the transmission of a packet, frees the packet's buffer space.
    #[inline(always)]
    fn on_link(
        &mut self,
        port: Port,
        fx: &mut Effects<'_, Self>,
        act: impl FnOnce(&mut LinkEnd, &mut At<'_>) -> Option<Finished>,
    ) {
        let finished = act(self.link(port), &mut At::new(fx, port));
        self.settle(port, finished, fx);
    }

    /// Frees the buffer space of a packet whose transmission by `egress` has ended.
    #[inline(always)]
    fn settle(&mut self, egress: Port, finished: Option<Finished>, fx: &mut Effects<'_, Self>) {
        if let Some(finished) = finished {
            self.release(egress, finished, fx);
        }
    }

    #[inline(always)]
    fn release(&mut self, egress: Port, finished: Finished, fx: &mut Effects<'_, Self>) {
        let Finished {
            source,
            charge,
            passed,
        } = finished;
        // Packets of the switch itself were in no receive buffer.
        if usize::from(source) >= self.ports.len() {
            return;
        }
        let ingress = Port(source);
        let Some(queues) = &mut self.output_queues else {
            return self.free(ingress, charge, fx);
        };
        let mut freed = queues.leave((ingress, egress), charge, passed);
        while let Some(Buffered { charge, complete }) = freed {
            if complete > fx.now() {
                self.free_later(ingress, charge, complete, fx);
            } else {
                self.free(ingress, charge, fx);
            }
            let queues = self.output_queues.as_mut();
            freed = queues.and_then(|queues| queues.move_next((ingress, egress), charge));
        }
    }

    /// Frees the receive buffer of a packet that arrived at `ingress`, at the time `due`.
    #[inline(always)]
    fn free_later(&mut self, ingress: Port, charge: Charge, due: Time, fx: &mut Effects<'_, Self>) {
        self.link(ingress)
            .free_later(charge, due, &mut At::new(fx, ingress));
    }

    /// Frees the receive buffer of a packet that arrived at `ingress`.
    #[inline(always)]
    fn free(&mut self, ingress: Port, charge: Charge, fx: &mut Effects<'_, Self>) {
        let finished = self.link(ingress).free(charge, &mut At::new(fx, ingress));
        if let Some(finished) = finished {
            self.release_behind(ingress, finished, fx);
        }
    }

    /// Frees the buffer space of a packet whose transmission by `egress` has ended, as [`release`](Self::release) does. This function is not
    /// inlined, for callers that rarely find the end of a transmission.
    fn release_behind(&mut self, egress: Port, finished: Finished, fx: &mut Effects<'_, Self>) {
        self.release(egress, finished, fx);
    }

    /// Forwards a packet from `from` to the wire of `to`.
    #[inline(always)]
    fn pass_on(
        &mut self,
        (from, to): (Port, Port),
        waiting: Waiting,
        complete: Time,
        fx: &mut Effects<'_, Self>,
    ) {
        let charge = waiting.charge;
        if let Some(queues) = &mut self.output_queues
            && !waiting.corrupt
            && queues.enter((from, to), Buffered { charge, complete })
        {
            self.free_later(from, charge, complete, fx);
        }
        let finished = self.link(to).enqueue(from.0, waiting, &mut At::new(fx, to));
        if let Some(finished) = finished {
            self.release_behind(to, finished, fx);
        }
    }

    // This function is inlined at both of its calls. At the frequent call, `corrupt` is the constant false.
    #[inline(always)]
    fn forward(
        &mut self,
        from: Port,
        delivery: Delivery,
        corrupt: bool,
        fx: &mut Effects<'_, Self>,
    ) {
        let content = &fx.store()[delivery.packet];
        let weight = content.checked_size() | u32::from(content.header().poisoned) << 16;
        if weight >= self.filters[from.index()].checked_from && !corrupt {
            return self.forward_closely(from, delivery, fx);
        }
        self.route(from, delivery, corrupt, fx);
    }

    /// Forwards a packet that its ingress port has accepted.
    #[inline(always)]
    fn route(&mut self, from: Port, delivery: Delivery, corrupt: bool, fx: &mut Effects<'_, Self>) {
        let Delivery { packet, complete } = delivery;
        let now = fx.now();
        let content = &fx.store()[packet];
        let Some(to) = self.egress(from, content.header()) else {
            let header = *content.header();
            return self.end(from, delivery, &header, corrupt, fx);
        };
        let (ingress, egress) = (&self.ports[from.index()], &self.ports[to.index()]);
        if egress.link.has_failed(now) {
            return self.end_at_failed_link((from, to), delivery, corrupt, fx);
        }
        // A packet is forwarded only if its traffic class maps to a channel of the egress (PCIe Base 2.5.3).
        let class = content.charge().traffic_class;
        if self.filters[from.index()].checked_from == 0 && !corrupt && !egress.link.maps(class) {
            return self.refuse(from, delivery, Refusal::MalformedTlp, fx);
        }
        let ready = self.ready((ingress, egress), complete, content.wire_len(), now);
        let mut waiting = Waiting::of(packet, content, ready);
        (waiting.corrupt, waiting.complete) = (corrupt, complete);
        self.pass_on((from, to), waiting, complete, fx);
    }

    /// Ends a packet that is not forwarded to another port: executes a configuration request, forwards an error message, and refuses other
    /// packets.
    fn end(
        &mut self,
        from: Port,
        delivery: Delivery,
        header: &Header,
        corrupt: bool,
        fx: &mut Effects<'_, Self>,
    ) {
        if corrupt {
            return fx.store().release(delivery.packet);
        }
        let why = match &header.kind {
            _ if self.is_violation(from, header) => Refusal::AcsViolation,
            Kind::ConfigRead(request) | Kind::ConfigWrite(request) => {
                return self.configure(from, delivery, request, fx);
            }
            Kind::Message(request)
                if let Message::Error(severity) = request.message
                    && from != UPSTREAM =>
            {
                return self.forward_error(from, delivery, (severity, request.requester), fx);
            }
            // The link has stopped waiting for this refusal of L1.
            Kind::Message(request) if request.message == Message::ActiveStateNak => {
                return self.discard(from, delivery, fx);
            }
            Kind::Completion(_) => Refusal::UnexpectedCompletion,
            _ => Refusal::UnsupportedRequest,
        };
        self.refuse(from, delivery, why, fx);
    }

    /// The earliest time at which a packet with a complete header may leave. The packet leaves after the latency, and late enough that a
    /// faster egress link does not run empty during the packet.
    #[inline]
    fn ready(
        &self,
        (from, to): (&SwitchPort, &SwitchPort),
        complete: Time,
        wire_len: u32,
        now: Time,
    ) -> Time {
        let earliest = now + self.latency;
        let last_bit = complete + self.latency;
        let length = |port: &SwitchPort| port.link.timing().length(wire_len);
        let length_out = length(to);
        if self.stores_for_faster_links && length_out < length(from) {
            return last_bit;
        }
        earliest.max(Time::from_fs(
            last_bit.as_fs().saturating_sub(length_out.as_fs()),
        ))
    }

    /// The egress port of a packet. None if it has none, or if the packet is a configuration request.
    #[inline(always)]
    fn egress(&self, from: Port, header: &Header) -> Option<Port> {
        let route = self.routes.of(header);
        if self.filters[from.index()].restricts {
            return self.restricted(from, header, route);
        }
        match route {
            Route::Down(port) if port == from => None,
            Route::Down(port) => Some(port),
            Route::Elsewhere | Route::Across(_) if from == UPSTREAM => None,
            Route::Elsewhere => Some(UPSTREAM),
            Route::Across(port) => (port != from).then_some(port),
            Route::Nowhere | Route::Configuration => None,
        }
    }

    /// The egress port of a packet from below, at a port that may block or redirect packets. None if it has none, or if the packet is a
    /// configuration request.
    fn restricted(&self, from: Port, header: &Header, route: Route) -> Option<Port> {
        // PCIe Base 7.5.1.1.3: without Bus Master Enable, requests are not forwarded upstream.
        let may_pass = |port| {
            let space = self.functions.space(place(port));
            !header.needs_bus_master() || space.bus_master_enable()
        };
        let upstream = may_pass(UPSTREAM).then_some(UPSTREAM);
        let space = self.functions.space(place(from));
        if is_violation(space, header) || !may_pass(from) {
            return None;
        }
        match route {
            Route::Nowhere | Route::Configuration => None,
            Route::Elsewhere => upstream,
            Route::Down(port) | Route::Across(port) => match self.peer_route(from, port, header) {
                PeerRoute::Direct => Some(port),
                PeerRoute::Upstream => upstream,
                PeerRoute::Nowhere | PeerRoute::Violation => None,
            },
        }
    }

    fn peer_route(&self, from: Port, to: Port, header: &Header) -> PeerRoute {
        let space = |port| self.functions.space(place(port));
        let peer = (to != from).then(|| space(to));
        peer_route(space(from), peer, header)
    }

    /// Whether a packet from `from` is an ACS Violation, which has priority over an unsupported request (PCIe Base 6.2.3.2.3).
    fn is_violation(&self, from: Port, header: &Header) -> bool {
        if !self.filters[from.index()].restricts {
            return false;
        }
        let blocks = is_violation(self.functions.space(place(from)), header);
        blocks
            || match self.routes.of(header) {
                Route::Down(to) | Route::Across(to) => {
                    self.peer_route(from, to, header) == PeerRoute::Violation
                }
                Route::Elsewhere | Route::Nowhere | Route::Configuration => false,
            }
    }

    /// Executes a configuration request, or forwards it downstream. Requests from below are refused.
    fn configure(
        &mut self,
        from: Port,
        delivery: Delivery,
        request: &ConfigRequest,
        fx: &mut Effects<'_, Self>,
    ) {
        let reach = match from {
            UPSTREAM => self.functions.reach(request),
            _ => Reach::Nobody,
        };
        let Delivery { packet, complete } = delivery;
        match reach {
            Reach::Nobody => self.refuse(from, delivery, Refusal::UnsupportedRequest, fx),
            Reach::Below(index, kind) => {
                let to = Port(index as u16 + 1);
                if self.link(to).has_failed(fx.now()) {
                    return self.end_at_failed_link((from, to), delivery, false, fx);
                }
                let packet = retype(packet, kind, fx.store());
                let waiting = Waiting::new(packet, fx.store(), complete + self.latency);
                self.pass_on((from, to), waiting, complete, fx);
            }
            Reach::Here(place) if fx.store()[packet].header().poisoned => {
                self.refuse_at(place, from, delivery, Refusal::PoisonedTlp, fx);
            }
            Reach::Here(place) => {
                self.record_links(fx);
                let charge = fx.store()[packet].charge();
                let served = self.functions.serve(place, packet, fx.store());
                if served.written {
                    self.apply_registers();
                    self.initialize_channels(fx);
                }
                if served.retrains_link {
                    self.retrain(port_of(place), fx);
                }
                self.report_errors(fx);
                self.free_later(from, charge, complete, fx);
                self.answer(from, served.completion, complete, fx);
            }
        }
    }

    /// Sends a packet of the switch itself, for example a completion. The request for it was complete at `complete`.
    fn answer(&mut self, to: Port, answer: PacketId, complete: Time, fx: &mut Effects<'_, Self>) {
        let waiting = Waiting::new(answer, fx.store(), complete + self.latency);
        // The answer occupies no ingress buffer. Its source number, after the last port, is the number of the switch itself.
        let own = self.ports.len() as u16;
        let finished = self.link(to).enqueue(own, waiting, &mut At::new(fx, to));
        self.settle(to, finished, fx);
    }
}

fn port_of(place: FunctionPlace) -> Port {
    match place {
        FunctionPlace::Port(index) => Port(index as u16 + 1),
        FunctionPlace::Own | FunctionPlace::Virtual(_) => UPSTREAM,
    }
}

fn place(port: Port) -> FunctionPlace {
    match port.index().checked_sub(1) {
        Some(index) => FunctionPlace::Port(index),
        None => FunctionPlace::Own,
    }
}
