//! A switch: a link end for each port, a non-blocking core between them, and the routing of its bridges.

use kernel::{Bytes, Component, Effects, Label, Port, Span, Time};
use link::{Arrival, At, Delivery, Finished, LinkEnd, LinkTimer, Waiting};
use packet::{Charge, Frame, PacketId, Pcie, Refusal};
use protocol::{Class, ConfigRequest, Header, Kind};
use transaction::{FunctionPlace, Functions, Reach, retype};

use crate::output_queues::OutputQueues;
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
        /// Whether requests from one downstream port to another are redirected to the root: P2P Request Redirect in ACS Control of the
        /// downstream ports. A switch above needs acs_upstream_forwarding for redirected requests between ports of this one.
        acs_redirect: bool = false, from "PCIe Base 6.12: off after reset";
        /// Whether requests from below that are routed back to the downstream port that they came in by go upstream: Upstream
        /// Forwarding in ACS Control of the downstream ports. Such requests were redirected by a switch below; without it they end in
        /// Unsupported Request.
        acs_upstream_forwarding: bool = false, from "PCIe Base 6.12: off after reset";
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
    /// Its parameters.
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
    /// None where packets wait in the receive buffers; boxed, because few switches have them.
    output_queues: Option<Box<OutputQueues>>,
}

#[derive(Clone, Debug)]
struct SwitchPort {
    link: LinkEnd,
    /// `Max_Payload_Size` of the port, from its registers.
    max_payload: u32,
    /// Whether requests that arrive here may be blocked or redirected.
    restricts: bool,
}

/// A timer of a port's link.
#[derive(Clone, Copy, Debug)]
pub struct PortTimer(Port, LinkTimer);

impl Label for PortTimer {
    fn number(self) -> u32 {
        u32::from(self.0.0) * LinkTimer::COUNT + self.1 as u32
    }
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
const UPSTREAM: Port = Port(0);

impl Component for Switch {
    type Traffic = Pcie;
    type Port = Port;
    type Timer = PortTimer;

    fn start(&mut self, fx: &mut Effects<'_, Self>) {
        for port in 0..self.ports.len() as u16 {
            let port = Port(port);
            let finished = self.link(port).start(&mut At::new(fx, port));
            self.settle(port, finished, fx);
        }
    }

    fn receive(&mut self, port: Port, frame: Frame, fx: &mut Effects<'_, Self>) {
        let (arrival, finished) = self.link(port).receive(frame, &mut At::new(fx, port));
        self.settle(port, finished, fx);
        match arrival {
            Some(Arrival::Packet(delivery)) => self.forward(port, delivery, false, fx),
            Some(Arrival::Corrupt(delivery)) => self.forward(port, delivery, true, fx),
            None => {}
        }
    }

    fn expire(&mut self, PortTimer(port, timer): PortTimer, fx: &mut Effects<'_, Self>) {
        let finished = self.link(port).expire(timer, &mut At::new(fx, port));
        self.settle(port, finished, fx);
    }
}

impl Switch {
    /// Number of sources of each port's wire besides the downstream ports: the upstream port, and the switch itself.
    pub const SOURCES: usize = 2;

    /// A switch in its initial state.
    pub fn new(config: SwitchConfig) -> Self {
        let port = |link| SwitchPort {
            link,
            max_payload: 0,
            restricts: false,
        };
        let mut switch = Switch {
            functions: config.functions,
            latency: config.parameters.latency - config.parameters.port_latency() * 2,
            stores_for_faster_links: config.parameters.store_for_faster_links,
            output_queues: OutputQueues::new(config.parameters.output_queue).map(Box::new),
            routes: Routes::default(),
            ports: config.links.into_iter().map(port).collect(),
        };
        switch.apply_registers();
        switch
    }

    /// The functions of the switch's ports at `now`, with what their links have recorded. The failure of its upstream link resets a
    /// switch (PCIe Base 2.9.1).
    pub fn functions(&self, now: Time) -> Functions {
        let mut functions = self.functions.clone();
        for (index, port) in self.ports.iter().enumerate() {
            let place = place(Port(index as u16));
            functions.record_correctable(place, port.link.repaired());
            if self.fails_alone(port, now) {
                functions.record_surprise_down(place);
            }
        }
        if self.ports[UPSTREAM.index()].link.has_failed(now) {
            functions.hot_reset();
        }
        functions
    }

    /// Whether the link of a downstream port has failed by `now`, and was not taken down by a reset of the switch.
    fn fails_alone(&self, port: &SwitchPort, now: Time) -> bool {
        let reset_at = self.ports[UPSTREAM.index()].link.fails_at();
        port.link.has_failed(now) && port.link.fails_at() < reset_at
    }

    /// Records what the links of the ports have detected.
    fn record_links(&mut self, now: Time) {
        for index in 0..self.ports.len() {
            let place = place(Port(index as u16));
            let repaired = self.ports[index].link.take_repaired();
            self.functions.record_correctable(place, repaired);
            if self.fails_alone(&self.ports[index], now) {
                self.functions.record_surprise_down(place);
            }
        }
    }

    /// Applies the registers.
    fn apply_registers(&mut self) {
        self.routes = Routes::of_switch(&self.functions);
        let up = self.functions.space(FunctionPlace::Own).bus_master_enable();
        for (index, port) in self.ports.iter_mut().enumerate() {
            let place = place(Port(index as u16));
            let space = self.functions.space(place);
            port.max_payload = space.max_payload();
            let has_services = space.redirects_peer_requests() || space.forwards_upstream();
            let holds = !up || !space.bus_master_enable() || has_services;
            port.restricts = place != FunctionPlace::Own && holds;
        }
    }

    /// The link ends of the ports.
    pub fn links(&self) -> impl Iterator<Item = &LinkEnd> {
        self.ports.iter().map(|port| &port.link)
    }

    fn link(&mut self, port: Port) -> &mut LinkEnd {
        &mut self.ports[port.index()].link
    }

    /// Frees the space of a packet that has left the switch by `egress`.
    #[inline(always)]
    fn settle(&mut self, egress: Port, finished: Option<Finished>, fx: &mut Effects<'_, Self>) {
        if let Some(finished) = finished {
            self.release(egress, finished, fx);
        }
    }

    fn release(&mut self, egress: Port, finished: Finished, fx: &mut Effects<'_, Self>) {
        let Finished { source, charge } = finished;
        // Packets of the switch itself were in no receive buffer.
        if usize::from(source) >= self.ports.len() {
            return;
        }
        let ingress = Port(source);
        let Some(queues) = &mut self.output_queues else {
            return self.free(ingress, charge, fx);
        };
        let mut freed = queues.leave((ingress, egress), charge);
        while let Some(charge) = freed {
            self.free(ingress, charge, fx);
            let queues = self.output_queues.as_mut();
            freed = queues.and_then(|queues| queues.move_next((ingress, egress), charge));
        }
    }

    /// Frees the receive buffer of a packet that came in at `ingress`.
    #[inline]
    fn free(&mut self, ingress: Port, charge: Charge, fx: &mut Effects<'_, Self>) {
        let finished = self.link(ingress).free(charge, &mut At::new(fx, ingress));
        self.settle(ingress, finished, fx);
    }

    /// Passes a packet from `from` to the wire of `to`.
    #[inline(always)]
    fn pass_on(
        &mut self,
        (from, to): (Port, Port),
        waiting: Waiting,
        complete: Time,
        fx: &mut Effects<'_, Self>,
    ) {
        if let Some(queues) = &mut self.output_queues
            && !waiting.corrupt
            && queues.enter((from, to), waiting.charge)
        {
            self.link(from)
                .free_later(waiting.charge, complete, &mut At::new(fx, from));
        }
        let finished = self.link(to).enqueue(from.0, waiting, &mut At::new(fx, to));
        self.settle(to, finished, fx);
    }

    fn forward(
        &mut self,
        from: Port,
        delivery: Delivery,
        corrupt: bool,
        fx: &mut Effects<'_, Self>,
    ) {
        let packet = &fx.store()[delivery.packet];
        let (header, wire_len) = (packet.header(), packet.wire_len());
        if !corrupt && header.payload_len() as u32 > self.ports[from.index()].max_payload {
            return self.refuse(from, delivery, Refusal::MalformedTlp, fx);
        }
        let Some(to) = self.egress(from, header) else {
            let header = *header;
            if corrupt {
                return fx.store().release(delivery.packet);
            }
            if let Kind::ConfigRead(request) | Kind::ConfigWrite(request) = &header.kind {
                return self.configure(from, delivery, request, fx);
            }
            let why = if header.class() == Class::Completion {
                Refusal::UnexpectedCompletion
            } else {
                Refusal::UnsupportedRequest
            };
            return self.refuse(from, delivery, why, fx);
        };
        if self.link(to).has_failed(fx.now()) {
            return self.end_at_failed_link((from, to), delivery, corrupt, fx);
        }
        let Delivery { packet, complete } = delivery;
        let ready = self.ready((from, to), complete, wire_len, fx.now());
        let waiting = Waiting {
            corrupt,
            complete,
            ..Waiting::new(packet, fx.store(), ready)
        };
        self.pass_on((from, to), waiting, complete, fx);
    }

    /// Ends a packet whose egress link is down (PCIe Base 2.9.1). The downstream port answers a non-posted request with Unsupported
    /// Request, and reports a posted request as that; completions are discarded. An upstream port whose link is down has reset the
    /// switch, which discards everything.
    #[cold]
    fn end_at_failed_link(
        &mut self,
        (from, to): (Port, Port),
        delivery: Delivery,
        corrupt: bool,
        fx: &mut Effects<'_, Self>,
    ) {
        let Delivery { packet, complete } = delivery;
        if corrupt {
            return fx.store().release(packet);
        }
        let charge = fx.store()[packet].charge();
        if to != UPSTREAM && charge.class != Class::Completion {
            self.record_links(fx.now());
            let why = Refusal::UnsupportedRequest;
            return self.refuse_at(place(to), from, delivery, why, fx);
        }
        fx.store().release(packet);
        self.link(from)
            .free_later(charge, complete, &mut At::new(fx, from));
    }

    /// The earliest time at which a packet with a complete header may leave: after the latency, and late enough that a faster
    /// egress does not run empty.
    fn ready(&self, (from, to): (Port, Port), complete: Time, wire_len: u32, now: Time) -> Time {
        let earliest = now + self.latency;
        let last_bit = complete + self.latency;
        let length = |port: Port| self.ports[port.index()].link.timing().length(wire_len);
        let length_out = length(to);
        if self.stores_for_faster_links && length_out < length(from) {
            return last_bit;
        }
        earliest.max(Time::from_fs(
            last_bit.as_fs().saturating_sub(length_out.as_fs()),
        ))
    }

    /// The egress port of a packet; none if it has none, or if it is a configuration request.
    fn egress(&self, from: Port, header: &Header) -> Option<Port> {
        let route = self.routes.of(header);
        let ingress = &self.ports[from.index()];
        if ingress.restricts && header.needs_bus_master() {
            return self.restricted(from, route);
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

    /// The egress port of a request from below, at a port that may block or redirect requests. P2P Request Redirect is for requests
    /// between two downstream ports, Upstream Forwarding for those routed to the port that they came in by (PCIe Base 6.12.1.1).
    #[cold]
    fn restricted(&self, from: Port, route: Route) -> Option<Port> {
        let space = self.functions.space(place(from));
        let up = self.functions.space(FunctionPlace::Own).bus_master_enable();
        // PCIe Base 7.5.1.1.3: without Bus Master Enable, requests are not forwarded upstream.
        match route {
            Route::Nowhere | Route::Configuration => None,
            _ if !space.bus_master_enable() => None,
            Route::Down(port) | Route::Across(port) => {
                let goes_up = if port == from {
                    space.forwards_upstream()
                } else {
                    space.redirects_peer_requests()
                };
                if goes_up {
                    up.then_some(UPSTREAM)
                } else {
                    (port != from).then_some(port)
                }
            }
            Route::Elsewhere => up.then_some(UPSTREAM),
        }
    }

    /// Serves a configuration request, or forwards it downstream. Requests from below are refused.
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
            Reach::Here(place) => {
                self.record_links(fx.now());
                let charge = fx.store()[packet].charge();
                let served = self.functions.serve(place, packet, fx.store());
                if served.written {
                    self.apply_registers();
                }
                self.link(from)
                    .free_later(charge, complete, &mut At::new(fx, from));
                self.answer(from, served.completion, complete, fx);
            }
        }
    }

    /// Refuses a packet at the port that received it.
    fn refuse(&mut self, from: Port, delivery: Delivery, why: Refusal, fx: &mut Effects<'_, Self>) {
        self.refuse_at(place(from), from, delivery, why, fx);
    }

    /// Refuses a packet from `from` at the function at `place`: frees its buffer, reports it, and answers it if it is a non-posted
    /// request.
    fn refuse_at(
        &mut self,
        place: FunctionPlace,
        from: Port,
        delivery: Delivery,
        why: Refusal,
        fx: &mut Effects<'_, Self>,
    ) {
        let Delivery { packet, complete } = delivery;
        let charge = fx.store()[packet].charge();
        let answer = self.functions.refuse(place, packet, why, fx);
        self.link(from)
            .free_later(charge, complete, &mut At::new(fx, from));
        if let Some(answer) = answer {
            self.answer(from, answer, complete, fx);
        }
    }

    /// Sends a completion of the switch itself, for a request that was complete at `complete`.
    fn answer(&mut self, to: Port, answer: PacketId, complete: Time, fx: &mut Effects<'_, Self>) {
        let waiting = Waiting::new(answer, fx.store(), complete + self.latency);
        // The answer is in no ingress buffer: the source after the last port is the switch itself.
        let own = self.ports.len() as u16;
        let finished = self.link(to).enqueue(own, waiting, &mut At::new(fx, to));
        self.settle(to, finished, fx);
    }
}

/// The function of a port.
fn place(port: Port) -> FunctionPlace {
    match port.index().checked_sub(1) {
        Some(index) => FunctionPlace::Port(index),
        None => FunctionPlace::Own,
    }
}
