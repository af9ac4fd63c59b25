//! A router: a PCI Express endpoint on one side, optical ports on the other, and user logic of its own.
//!
//! A write to the router's window (BAR 2), or a write of the user logic, is sent through the network to the node of its address. This node
//! writes the data to the memory of its user logic (BAR 0), or sends it by PCI Express to the address that its driver has set. Packets wait at
//! their input, in the buffer of their virtual channel, until the crossbar forwards them: cut-through, one packet at a time from each input and
//! to each output.

mod claims;
mod crossbar;
mod local;
mod parameters;
mod passing;
pub mod program;
pub mod routing;
mod timer;
mod why;
mod window;

use std::mem::offset_of;

use kernel::{Action, Component, Effects, Label, Port, Span, Time, members};
use link::At;
use link::optical::{Incoming, OpticalConfig, OpticalEnd, OpticalEvent, OpticalParameters};
use packet::{Frame, Observation, PacketId, Packets, Pcie, Refusal};
use protocol::Bar;

use crate::{Endpoint, EndpointConfig, Leaf, LeafParameters, Properties, leaf};
use crossbar::{Entry, Exits, Input, Output, Queue};

pub use crossbar::Arbitration;
use local::Local;
pub use parameters::RouterParameters;
use routing::Routing;
pub use timer::RouterTimer;

pub use window::{PORTS, USER, Window};

/// The configuration of a router.
#[derive(Clone, Debug)]
pub struct RouterConfig {
    /// The configuration of the PCI Express core.
    pub endpoint: EndpointConfig,
    /// The parameters of the router.
    pub parameters: RouterParameters,
    /// The configuration of each optical port; none if no fibre is connected.
    pub fibres: Vec<Option<OpticalConfig>>,
    /// The node number of the router.
    pub node: u16,
    /// The address space of the network.
    pub window: Window,
    /// The routing of the router.
    pub routing: Routing,
    /// The PCI Express addresses behind the ports of the node, without the port of the user logic.
    pub targets: Vec<u64>,
    /// The parameters of every optical port.
    pub optical: OpticalParameters,
}

/// A router.
///
/// The first fields are the ones that a forwarded packet needs, as in [`OpticalEnd`].
#[derive(Debug)]
#[repr(C)]
pub struct Router {
    fibres: Box<[Option<OpticalEnd>]>,
    /// The input of the node itself, then one input for each fibre. Each input has [`stride`](Self::stride) queues.
    inputs: Box<[Input]>,
    queues: Box<[Queue]>,
    /// The outputs to the user logic and to PCI Express, then one output for each fibre.
    outputs: Box<[Output]>,
    stride: usize,
    node: u16,
    arbitration: Arbitration,
    /// Whether each queue of the node itself has its own path into the crossbar.
    is_wide: bool,
    /// Whether the node itself may continue, because one of its packets has left its queue.
    has_room: bool,
    routing: Routing,
    /// Three latencies: from the arrival of a packet to the crossbar, then in addition to a fibre or to PCI Express, or in addition to the user
    /// logic.
    pipeline: Span,
    to_forward: Span,
    to_deliver: Span,
    queue_gap: Span,
    local: Local,
    endpoint: Endpoint,
}

/// The input of the node itself.
const OWN: usize = 0;
/// The outputs that are not to fibres.
const TO_USER: usize = 0;
const TO_PCIE: usize = 1;
const FIRST_FIBRE: usize = 2;

fn port(fibre: usize) -> Port {
    Port(fibre as u16 + 1)
}

impl Component for Router {
    type Traffic = Pcie;
    type Port = Port;
    type Timer = RouterTimer;

    fn start(&mut self, fx: &mut Effects<'_, Self>) {
        self.endpoint.start(fx);
        for (index, end) in self.fibres.iter_mut().enumerate() {
            if let Some(end) = end {
                end.start(&mut At::new(fx, port(index)));
            }
        }
        self.run(fx);
    }

    fn receive(&mut self, at: Port, frame: Frame, fx: &mut Effects<'_, Self>) {
        match at.index().checked_sub(1) {
            None => {
                self.endpoint.receive(frame, fx);
                leaf::run(self, fx);
            }
            Some(fibre) => {
                let end = self.fibres[fibre].as_mut().expect(WIRED);
                let received = end.receive(frame, &mut At::new(fx, at));
                self.handle_received(fibre, received, fx);
                self.run_on(fx);
            }
        }
    }

    fn expire(&mut self, timer: RouterTimer, fx: &mut Effects<'_, Self>) {
        match timer {
            RouterTimer::Endpoint(timer) => {
                self.endpoint.expire(timer, fx);
                return leaf::run(self, fx);
            }
            RouterTimer::Fibre(fibre, timer) => {
                let fibre = usize::from(fibre);
                let end = self.fibres[fibre].as_mut().expect(WIRED);
                let received = end.expire(timer, &mut At::new(fx, port(fibre)));
                self.handle_received(fibre, received, fx);
            }
            RouterTimer::Input(input) => {
                let input = usize::from(input);
                if self.inputs[input].wake.expire(fx.now()) {
                    self.go_on(input, fx);
                }
            }
            RouterTimer::Output(output) => {
                let output = usize::from(output);
                if self.outputs[output].wake.expire(fx.now()) {
                    self.serve(output, fx);
                }
            }
        }
        self.run_on(fx);
    }

    fn prefetch(&self, _: &Action<Frame>) {
        kernel::prefetch(self, 0..offset_of!(Router, local));
    }

    fn prefetch_rest(&self, action: &Action<Frame>, _: &Packets) {
        let fibre = match action {
            Action::Receive(port, _) => port.checked_sub(1).map(|fibre| fibre as usize),
            Action::Expire(timer) => match RouterTimer::from_number(*timer) {
                RouterTimer::Fibre(fibre, _) => Some(fibre.into()),
                RouterTimer::Input(input) => usize::from(input).checked_sub(1),
                RouterTimer::Output(output) => usize::from(output).checked_sub(FIRST_FIBRE),
                RouterTimer::Endpoint(_) => None,
            },
        };
        let Some(fibre) = fibre else {
            return;
        };
        kernel::prefetch(&*self.inputs, 0..size_of_val(&*self.inputs));
        kernel::prefetch(&*self.outputs, 0..size_of_val(&*self.outputs));
        if let Some(queue) = self.queues.get((fibre + 1) * self.stride) {
            kernel::prefetch(queue, 0..self.stride * size_of::<Queue>());
        }
        if let Some(end) = self.fibres.get(fibre) {
            kernel::prefetch(end, 0..256);
        }
    }
}

impl LeafParameters for RouterParameters {
    fn properties(&self) -> Properties {
        Properties {
            joins_hosts: true,
            begins_flows: true,
            ..Properties::default()
        }
    }
}

const WIRED: &str = "a frame arrives only at a port with a fibre";

impl Router {
    /// The BAR with the window of a router, BAR 2, in a network of `nodes` nodes.
    pub fn bar(parameters: &RouterParameters, nodes: u16) -> Bar {
        Bar {
            index: 2,
            size: Window::new(parameters.aperture, nodes).size(),
            wide: true,
        }
    }

    /// A router in its initial state.
    pub fn new(config: RouterConfig) -> Self {
        let (parameters, optical) = (config.parameters, config.optical);
        let stride = optical.virtual_channels.max(parameters.injection_queues) as usize;
        let ends = config.fibres.into_iter();
        let fibres: Box<[_]> = ends.map(|end| end.map(OpticalEnd::new)).collect();
        let endpoint = Endpoint::new(config.endpoint);
        let pipeline = parameters.shorter_pipeline();
        let (window, targets) = (config.window, config.targets);
        let local = Local::new(&endpoint, &parameters, &optical, window, targets);
        Router {
            node: config.node,
            routing: config.routing,
            pipeline,
            to_forward: parameters
                .pipeline(parameters.forward_cycles)
                .saturating_sub(pipeline),
            to_deliver: parameters
                .pipeline(parameters.deliver_cycles)
                .saturating_sub(pipeline),
            queue_gap: parameters.pipeline(parameters.queue_gap_cycles),
            inputs: vec![Input::default(); 1 + fibres.len()].into(),
            queues: vec![Queue::default(); (1 + fibres.len()) * stride].into(),
            outputs: vec![Output::default(); FIRST_FIBRE + fibres.len()].into(),
            stride,
            arbitration: parameters.arbitration,
            is_wide: parameters.local_width > 1,
            has_room: false,
            fibres,
            local,
            endpoint,
        }
    }

    /// The optical end of a port, if it has a fibre.
    pub fn fibre(&self, index: usize) -> Option<&OpticalEnd> {
        self.fibres.get(index)?.as_ref()
    }

    /// Schedules the cut of a fibre at `time`.
    pub fn sever(&mut self, fibre: usize, time: Time, fx: &mut Effects<'_, Self>) {
        if let Some(end) = &mut self.fibres[fibre] {
            end.sever(time, &mut At::new(fx, port(fibre)));
        }
    }

    fn handle_received(
        &mut self,
        fibre: usize,
        received: OpticalEvent,
        fx: &mut Effects<'_, Self>,
    ) {
        match received {
            OpticalEvent::Packet(incoming) => self.arrive(fibre, incoming, fx),
            OpticalEvent::Ready => self.serve(FIRST_FIBRE + fibre, fx),
            OpticalEvent::Dark(unsure) => self.handle_failed_fibre(fibre, unsure, fx),
            OpticalEvent::Nothing => {}
        }
    }

    /// Handles a packet from a fibre. The packet has passed the shorter of the two pipelines.
    fn arrive(&mut self, fibre: usize, incoming: Incoming, fx: &mut Effects<'_, Self>) {
        let route = fx.store()[incoming.packet].route();
        let stays = route.destination == self.node && route.port == USER;
        let rest = if stays { Span::ZERO } else { self.to_forward };
        let entry = Entry {
            packet: incoming.packet,
            cycles: incoming.cycles,
            ready: fx.now() + rest,
            complete: incoming.complete + rest,
            born: self.born(incoming.packet, fx),
            damaged: incoming.damaged,
        };
        self.queue_up(fibre + 1, usize::from(incoming.channel), entry, fx);
    }

    fn queue_up(&mut self, input: usize, queue: usize, entry: Entry, fx: &mut Effects<'_, Self>) {
        let place = &mut self.queues[self.number(input, queue)];
        place.cycles += entry.cycles;
        place.entries.push_back(entry);
        if place.entries.len() == 1 {
            self.ask(input, queue, fx);
            self.try_outputs(input, queue, fx);
        }
    }

    /// The time from which a queue's path into the crossbar is free. The queues of a fibre share one path; so do the queues of the node itself
    /// if `local_width` is 1.
    fn input_free_at(&mut self, input: usize, queue: usize) -> &mut Time {
        if self.has_own_path(input) {
            &mut self.queues[queue].free_at
        } else {
            &mut self.inputs[input].free_at
        }
    }

    /// Requests the outputs for the first packet of a queue, if the packet is ready.
    fn ask(&mut self, input: usize, queue: usize, fx: &mut Effects<'_, Self>) {
        let place = &self.queues[self.number(input, queue)];
        let Some(first) = place.entries.front().filter(|_| place.exits.is_none()) else {
            return;
        };
        let ready = first.ready.max(place.rests_until);
        if ready > fx.now() {
            return self.wake_input(input, ready, fx);
        }
        let route = *fx.store()[first.packet].route();
        let exits = if route.destination == self.node {
            if route.port == USER {
                Exits::User
            } else {
                Exits::Pcie
            }
        } else {
            let arrived = (input != OWN).then(|| (input as u8 - 1, queue as u8));
            let key = key(route.source, route.destination);
            let hops = self.routing.hops(route.destination, arrived, key);
            let lit = |fibre: u8| {
                let end = self.fibres[usize::from(fibre)].as_ref();
                end.is_some_and(|end| !end.is_dark())
            };
            Exits::On(hops.filter(lit))
        };
        let number = self.number(input, queue);
        for output in exits.outputs() {
            self.outputs[output].asked |= 1 << number;
        }
        self.queues[number].exits = Some(exits);
        if exits.outputs().next().is_none() {
            self.give_up(input, queue, fx);
        }
    }

    /// Serves the outputs that the first packet of a queue has requested.
    fn try_outputs(&mut self, input: usize, queue: usize, fx: &mut Effects<'_, Self>) {
        let Some(exits) = self.queues[self.number(input, queue)].exits else {
            return;
        };
        let free_at = *self.input_free_at(input, queue);
        if free_at > fx.now() {
            return self.wake_input(input, free_at, fx);
        }
        for output in exits.outputs() {
            self.serve(output, fx);
        }
    }

    /// Continues with an input whose path is free again, or whose first packets are ready.
    fn go_on(&mut self, input: usize, fx: &mut Effects<'_, Self>) {
        let next = self.inputs[input].next;
        for queue in (next..self.stride).chain(0..next) {
            if !self.queues[self.number(input, queue)].entries.is_empty() {
                self.ask(input, queue, fx);
                self.try_outputs(input, queue, fx);
            }
        }
    }

    /// Drops the first packet of a queue, for which no route is left, and reports it.
    fn give_up(&mut self, input: usize, queue: usize, fx: &mut Effects<'_, Self>) {
        let Some(entry) = self.take_first(input, queue) else {
            return;
        };
        self.release(input, queue, &entry, Span::ZERO, fx);
        lose(entry.packet, Refusal::SeveredFibre, fx);
        // The next packet may belong to another flow and have a route.
        self.wake_input(input, fx.now(), fx);
    }

    /// Handles a failed fibre. Packets that wait for it request another route, and packets that may be lost in it are reported.
    fn handle_failed_fibre(
        &mut self,
        fibre: usize,
        unsure: Vec<PacketId>,
        fx: &mut Effects<'_, Self>,
    ) {
        for packet in unsure {
            lose(packet, Refusal::Unacknowledged, fx);
        }
        for number in members(self.outputs[FIRST_FIBRE + fibre].asked) {
            self.withdraw(number as usize);
            self.wake_input(self.place(number).0, fx.now(), fx);
        }
    }

    fn wake_input(&mut self, input: usize, at: Time, fx: &mut Effects<'_, Self>) {
        if self.inputs[input].wake.schedule(at) {
            fx.wake(RouterTimer::Input(input as u8), at.since(fx.now()));
        }
    }

    fn wake_output(&mut self, output: usize, at: Time, fx: &mut Effects<'_, Self>) {
        if self.outputs[output].wake.schedule(at) {
            fx.wake(RouterTimer::Output(output as u8), at.since(fx.now()));
        }
    }
}

/// Drops a packet and reports it.
fn lose(packet: PacketId, why: Refusal, fx: &mut Effects<'_, Router>) {
    let lost = Observation::refused(&fx.store()[packet], why);
    fx.observe(lost);
    fx.store().release(packet);
}

/// A value that is equal for all packets between the same two nodes, so that they take the same route and arrive in order.
fn key(source: u16, destination: u16) -> u16 {
    let mixed = u32::from(source).wrapping_mul(0x9e37_79b1)
        ^ u32::from(destination).wrapping_mul(0x85eb_ca6b);
    (mixed >> 12) as u16
}
