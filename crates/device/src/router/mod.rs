//! A router: a PCI Express endpoint on one side, optical ports on the other, and user logic of its own.
//!
//! What is written to its window (BAR 2), or sent by the user logic, goes through the network to the node that the address
//! names; there it is written to the memory of the user logic (BAR 0), or goes out by PCI Express to where the driver of that
//! node has directed it. Packets wait where they came in, in the buffer of their virtual channel, until the crossbar can pass
//! them on: cut through, a packet at a time from each input and to each output.

mod crossbar;
mod local;
pub mod program;
pub mod routing;
mod window;

use kernel::{Bytes, Component, Effects, Frequency, Label, Port, Span, Time};
use link::optical::{Heard, Incoming, OpticalConfig, OpticalEnd, OpticalParameters, Outgoing};
use link::{At, Frame, LinkTimer, PacketId, Pcie, Refusal};
use protocol::Bar;

use crate::{Endpoint, EndpointConfig, EndpointTimer};
use crossbar::{Asks, Entry, Input, Output};

pub use crossbar::Arbitration;
use local::Local;
use routing::Routing;

pub use window::{PORTS, USER, Window};

kernel::parameters! {
    /// What a router can be told besides its optical ports.
    pub struct RouterParameters {
        /// Optical ports.
        fibre_ports: u32 = 4, within 1..=7, from "two directions in each of two dimensions";
        /// Clock of the router's logic.
        router_clock: Frequency = Frequency::mhz(250), within Frequency::mhz(1)..=Frequency::mhz(2000), from "that of a PCI Express core";
        /// Cycles from a packet's arrival to its way out by a fibre or by PCI Express.
        forward_cycles: u32 = 13, within 0..=10_000, from "system tsukuba: 52 ns by the depth of the pipeline";
        /// Cycles from a packet's arrival by a fibre to the router's own user logic.
        deliver_cycles: u32 = 13, within 0..=10_000, from "as many as to go on";
        /// Cycles after a packet has left its queue in which the next one is routed and given a virtual channel; 0 where that is done while the one before leaves.
        queue_gap_cycles: u32 = 0, within 0..=10_000, from "our choice: each header is looked at as it comes in";
        /// Packets of the node itself that the crossbar takes, or hands out, in the time in which a fibre takes one.
        local_width: u32 = 2, within 1..=8, from "256 bits at 250 MHz are 8 GB/s";
        /// Queues in which the node's packets wait, by their destination. With a local_width of 1 they share one way into the crossbar; otherwise each has its own.
        injection_queues: u32 = 2, within 1..=8, from "our choice: as many as the crossbar takes";
        /// Whose turn it is where several packets wait: "transit-first" lets those in the network go before those of the node itself, which keeps the throughput of a full network; "round-robin" serves one queue after the other; "oldest-first" is fairest.
        arbitration: Arbitration = Arbitration::TransitFirst, from "our choice: with round robin a full 8x8 torus falls to two thirds of what it carried before";
        /// Room for packets that wait for their way into the network: what PCI Express is held back by.
        injection_buffer: Bytes = Bytes::kib(8), within Bytes(64)..=Bytes::mib(1), from "our choice: as a channel of a fibre";
        /// Bytes of each node's memory that the window shows, a power of two.
        aperture: Bytes = Bytes::mib(1), within Bytes::kib(4)..=Bytes::gib(1), from "our choice";
    }
}

impl RouterParameters {
    fn pipeline(&self, cycles: u32) -> Span {
        self.router_clock.period() * u64::from(cycles)
    }

    /// What every packet passes at least.
    pub fn shorter_pipeline(&self) -> Span {
        self.pipeline(self.forward_cycles.min(self.deliver_cycles))
    }
}

/// How a router is built.
#[derive(Clone, Debug)]
pub struct RouterConfig {
    /// Its core.
    pub endpoint: EndpointConfig,
    /// Its parameters.
    pub parameters: RouterParameters,
    /// Its optical ports; none where no fibre is.
    pub fibres: Vec<Option<OpticalConfig>>,
    /// Its number in the network.
    pub node: u16,
    /// Addresses of the network.
    pub window: Window,
    /// How it knows the way.
    pub routing: Routing,
    /// Where the ports beyond that of the user logic begin in the address space of PCI Express.
    pub targets: Vec<u64>,
    /// What every optical port is set to.
    pub optical: OpticalParameters,
}

/// A router.
#[derive(Debug)]
pub struct Router {
    endpoint: Endpoint,
    node: u16,
    routing: Routing,
    /// From the arrival of a packet to the crossbar; what it takes longer to a fibre or PCI Express than to the user logic; and
    /// what it takes longer to that, behind the crossbar.
    pipeline: Span,
    to_forward: Span,
    to_deliver: Span,
    queue_gap: Span,
    fibres: Vec<Option<OpticalEnd>>,
    /// The node's own, and then one for each fibre.
    inputs: Vec<Input>,
    /// The user logic, PCI Express, and then one for each fibre.
    outputs: Vec<Output>,
    /// Queues of an input at most, and so the step between two inputs in the numbers of queues.
    stride: usize,
    arbitration: Arbitration,
    local: Local,
}

/// The input of the node itself.
const OWN: usize = 0;
/// The outputs that are no fibres.
const TO_USER: usize = 0;
const TO_PCIE: usize = 1;
const FIRST_FIBRE: usize = 2;

/// What a router asks to be woken for.
#[derive(Clone, Copy, Debug)]
pub enum RouterTimer {
    /// A timer of its core.
    Endpoint(EndpointTimer),
    /// A timer of a fibre's end.
    Fibre(u8, LinkTimer),
    /// An input may go on.
    Input(u8),
    /// An output may go on.
    Output(u8),
}

/// Numbers of the core's timers.
const ENDPOINT_TIMERS: u32 = 8;
/// More than there are inputs or outputs.
const PLACES: u32 = 16;

impl Label for RouterTimer {
    fn number(self) -> u32 {
        match self {
            RouterTimer::Endpoint(timer) => timer.number(),
            RouterTimer::Input(input) => ENDPOINT_TIMERS + u32::from(input),
            RouterTimer::Output(output) => ENDPOINT_TIMERS + PLACES + u32::from(output),
            RouterTimer::Fibre(fibre, timer) => {
                ENDPOINT_TIMERS + 2 * PLACES + u32::from(fibre) * LinkTimer::COUNT + timer as u32
            }
        }
    }
    fn from_number(number: u32) -> Self {
        let Some(number) = number.checked_sub(ENDPOINT_TIMERS) else {
            return RouterTimer::Endpoint(EndpointTimer::from_number(number));
        };
        match number / PLACES {
            0 => RouterTimer::Input(number as u8),
            1 => RouterTimer::Output((number - PLACES) as u8),
            _ => {
                let of_fibres = number - 2 * PLACES;
                RouterTimer::Fibre(
                    (of_fibres / LinkTimer::COUNT) as u8,
                    LinkTimer::from_number(of_fibres % LinkTimer::COUNT),
                )
            }
        }
    }
}

impl From<EndpointTimer> for RouterTimer {
    fn from(timer: EndpointTimer) -> Self {
        RouterTimer::Endpoint(timer)
    }
}

impl From<(Port, LinkTimer)> for RouterTimer {
    fn from((port, timer): (Port, LinkTimer)) -> Self {
        match port.index().checked_sub(1) {
            None => RouterTimer::Endpoint((port, timer).into()),
            Some(fibre) => RouterTimer::Fibre(fibre as u8, timer),
        }
    }
}

/// The port of a fibre.
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
            None => self.endpoint.receive(frame, fx),
            Some(fibre) => {
                let end = self.fibres[fibre].as_mut().expect(WIRED);
                let heard = end.receive(frame, &mut At::new(fx, at));
                self.hear(fibre, heard, fx);
            }
        }
        self.run(fx);
    }

    fn expire(&mut self, timer: RouterTimer, fx: &mut Effects<'_, Self>) {
        match timer {
            RouterTimer::Endpoint(timer) => self.endpoint.expire(timer, fx),
            RouterTimer::Fibre(fibre, timer) => {
                let fibre = usize::from(fibre);
                let end = self.fibres[fibre].as_mut().expect(WIRED);
                let heard = end.expire(timer, &mut At::new(fx, port(fibre)));
                self.hear(fibre, heard, fx);
            }
            RouterTimer::Input(input) => {
                let input = usize::from(input);
                if self.inputs[input].wake <= fx.now() {
                    self.inputs[input].wake = Time::NEVER;
                    self.go_on(input, fx);
                }
            }
            RouterTimer::Output(output) => {
                let output = usize::from(output);
                if self.outputs[output].wake <= fx.now() {
                    self.outputs[output].wake = Time::NEVER;
                    self.serve(output, fx);
                }
            }
        }
        self.run(fx);
    }
}

const WIRED: &str = "what comes by a fibre comes where there is one";

impl Router {
    /// The window of a router in a network of so many nodes: BAR 2.
    pub fn bar(parameters: &RouterParameters, nodes: u16) -> Bar {
        Bar {
            index: 2,
            size: Window::new(parameters.aperture, nodes).size(),
            wide: true,
        }
    }

    /// A router that has not begun.
    pub fn new(config: RouterConfig) -> Self {
        let RouterConfig {
            endpoint,
            parameters,
            fibres,
            node,
            window,
            routing,
            targets,
            optical,
        } = config;
        let stride = optical.virtual_channels.max(parameters.injection_queues) as usize;
        let fibres: Vec<_> = fibres
            .into_iter()
            .map(|end| end.map(OpticalEnd::new))
            .collect();
        let endpoint = Endpoint::new(endpoint);
        let pipeline = parameters.shorter_pipeline();
        let local = Local::new(&endpoint, &parameters, &optical, window, targets);
        Router {
            node,
            routing,
            pipeline,
            to_forward: parameters
                .pipeline(parameters.forward_cycles)
                .saturating_sub(pipeline),
            to_deliver: parameters
                .pipeline(parameters.deliver_cycles)
                .saturating_sub(pipeline),
            queue_gap: parameters.pipeline(parameters.queue_gap_cycles),
            inputs: (0..=fibres.len()).map(|_| Input::new(stride)).collect(),
            outputs: (0..FIRST_FIBRE + fibres.len())
                .map(|_| Output::new())
                .collect(),
            stride,
            arbitration: parameters.arbitration,
            fibres,
            local,
            endpoint,
        }
    }

    /// Its core.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Its core, to be filled before a run.
    pub fn endpoint_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    /// The end of a fibre.
    pub fn fibre(&self, index: usize) -> Option<&OpticalEnd> {
        self.fibres.get(index)?.as_ref()
    }

    /// A fibre will be cut at `time`.
    pub fn sever(&mut self, fibre: usize, time: Time, fx: &mut Effects<'_, Self>) {
        if let Some(end) = &mut self.fibres[fibre] {
            end.sever(time, &mut At::new(fx, port(fibre)));
        }
    }

    fn hear(&mut self, fibre: usize, heard: Heard, fx: &mut Effects<'_, Self>) {
        match heard {
            Heard::Packet(incoming) => self.arrive(fibre, incoming, fx),
            Heard::Room => self.serve(FIRST_FIBRE + fibre, fx),
            Heard::Dark(unsure) => self.darken(fibre, unsure, fx),
            Heard::Nothing => {}
        }
    }

    /// A packet comes by a fibre. It has passed the shorter of the two pipelines.
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
        let place = &mut self.inputs[input].queues[queue];
        place.cycles += entry.cycles;
        place.entries.push_back(entry);
        if place.entries.len() == 1 {
            self.ask(input, queue, fx);
            self.try_outputs(input, queue, fx);
        }
    }

    /// When a queue's way into the crossbar is free: the queues of a fibre share one, those of the node where it is narrow.
    fn way_in(&mut self, input: usize, queue: usize) -> &mut Time {
        let input_of_node = &mut self.inputs[input];
        if input == OWN && self.local.is_wide() {
            &mut input_of_node.queues[queue].free_at
        } else {
            &mut input_of_node.free_at
        }
    }

    /// The first packet of a queue asks for its way out, if it is there yet.
    fn ask(&mut self, input: usize, queue: usize, fx: &mut Effects<'_, Self>) {
        let place = &self.inputs[input].queues[queue];
        let Some(first) = place.entries.front().filter(|_| place.asks.is_none()) else {
            return;
        };
        let ready = first.ready.max(place.rests_until);
        if ready > fx.now() {
            return self.wake_input(input, ready, fx);
        }
        let route = *fx.store()[first.packet].route();
        let asks = if route.destination == self.node {
            Asks::Out(if route.port == USER { TO_USER } else { TO_PCIE })
        } else {
            let arrived = (input != OWN).then(|| (input as u8 - 1, queue as u8));
            let key = key(route.source, route.destination);
            let ways = self.routing.ways(route.destination, arrived, key);
            let lit = |fibre: u8| {
                let end = self.fibres[usize::from(fibre)].as_ref();
                end.is_some_and(|end| !end.is_dark())
            };
            Asks::On(ways.filter(lit))
        };
        let bit = 1 << (input * self.stride + queue);
        let asked = |outputs: &mut Vec<Output>, output: usize| outputs[output].asked |= bit;
        match asks {
            Asks::Out(output) => asked(&mut self.outputs, output),
            Asks::On(ways) => ways
                .iter()
                .for_each(|(fibre, _)| asked(&mut self.outputs, FIRST_FIBRE + usize::from(fibre))),
        }
        self.inputs[input].queues[queue].asks = Some(asks);
        if matches!(asks, Asks::On(ways) if ways.iter().next().is_none()) {
            self.give_up(input, queue, fx);
        }
    }

    /// Lets the outputs that the first packet of a queue asks for look at it.
    fn try_outputs(&mut self, input: usize, queue: usize, fx: &mut Effects<'_, Self>) {
        let free_at = *self.way_in(input, queue);
        if self.inputs[input].queues[queue].asks.is_some() && free_at > fx.now() {
            return self.wake_input(input, free_at, fx);
        }
        match self.inputs[input].queues[queue].asks {
            None => {}
            Some(Asks::Out(output)) => self.serve(output, fx),
            Some(Asks::On(ways)) => {
                for (fibre, _) in ways.iter() {
                    self.serve(FIRST_FIBRE + usize::from(fibre), fx);
                }
            }
        }
    }

    /// An input is free again, or its first packets are ready.
    fn go_on(&mut self, input: usize, fx: &mut Effects<'_, Self>) {
        for queue in 0..self.stride {
            if !self.inputs[input].queues[queue].entries.is_empty() {
                self.ask(input, queue, fx);
                self.try_outputs(input, queue, fx);
            }
        }
    }

    /// Passes on what an output can take now.
    fn serve(&mut self, output: usize, fx: &mut Effects<'_, Self>) {
        while self.outputs[output].asked != 0 {
            let free_at = self.free_at(output);
            if free_at > fx.now() {
                return self.wake_output(output, free_at, fx);
            }
            if output == TO_PCIE && !self.takes_tlps() {
                // It is looked at again when the TLPs before have gone.
                return;
            }
            let Some((number, channel)) = self.choose(output, fx.now()) else {
                return;
            };
            self.outputs[output].served(number);
            self.pass(self.place(number), output, channel, fx);
        }
    }

    /// The queue whose first packet may leave by `output` now and whose turn it is, and the virtual channel that it takes.
    fn choose(&mut self, output: usize, now: Time) -> Option<(u32, u8)> {
        let arbitration = self.arbitration;
        let later = match arbitration {
            Arbitration::TransitFirst => (1 << self.stride) - 1,
            Arbitration::RoundRobin | Arbitration::OldestFirst => 0,
        };
        let waits = self.outputs[output].in_turn(later);
        let mut open =
            waits.filter_map(|number| Some((number, self.channel_for(output, number, now)?)));
        if arbitration != Arbitration::OldestFirst {
            return open.next();
        }
        let all: Vec<(u32, u8)> = open.collect();
        let age = |(number, _): &(u32, u8)| {
            let (input, queue) = self.place(*number);
            self.inputs[input].queues[queue]
                .entries
                .front()
                .map(|entry| entry.born)
        };
        all.into_iter().min_by_key(age)
    }

    /// Input and queue of a number.
    fn place(&self, number: u32) -> (usize, usize) {
        (number as usize / self.stride, number as usize % self.stride)
    }

    fn free_at(&self, output: usize) -> Time {
        let fibre = output.checked_sub(FIRST_FIBRE);
        let fibre = fibre.and_then(|fibre| self.fibres[fibre].as_ref());
        fibre.map_or(self.outputs[output].free_at, OpticalEnd::free_at)
    }

    /// The virtual channel in which the first packet of queue `number` can leave by `output` now.
    fn channel_for(&mut self, output: usize, number: u32, now: Time) -> Option<u8> {
        let (input, queue) = self.place(number);
        if *self.way_in(input, queue) > now {
            return None;
        }
        let queue = &self.inputs[input].queues[queue];
        let Some(Asks::On(ways)) = queue.asks else {
            return Some(0);
        };
        let cycles = queue.entries.front()?.cycles;
        let fibre = output - FIRST_FIBRE;
        let (_, allowed) = ways.iter().find(|(way, _)| usize::from(*way) == fibre)?;
        let end = self.fibres[fibre].as_mut()?;
        let channels = (0..self.stride as u8)
            .rev()
            .filter(|c| allowed >> c & 1 == 1);
        // The highest channels are the adaptive ones; among those with room, the one with most of it.
        let open = channels.filter(|channel| end.may_send(*channel, cycles));
        let best = open.max_by_key(|channel| (end.room(*channel), *channel));
        if best.is_none() {
            end.stall(now);
        }
        best
    }

    /// Passes the first packet of a queue to an output.
    fn pass(
        &mut self,
        (input, queue): (usize, usize),
        output: usize,
        channel: u8,
        fx: &mut Effects<'_, Self>,
    ) {
        let Some(entry) = self.take_first(input, queue) else {
            return;
        };
        let now = fx.now();
        if input == OWN {
            self.tell_sent(&entry, fx);
        }
        let length = match output.checked_sub(FIRST_FIBRE) {
            None => self.leave(output, entry, fx),
            Some(fibre) => {
                let end = self.fibres[fibre].as_mut().expect(WIRED);
                let outgoing = Outgoing {
                    packet: entry.packet,
                    channel,
                    damaged: entry.damaged,
                    complete: entry.complete,
                };
                end.send(outgoing, &mut At::new(fx, port(fibre))).since(now)
            }
        };
        *self.way_in(input, queue) = now + length;
        if self.queue_gap > Span::ZERO {
            self.inputs[input].queues[queue].rests_until = now + length + self.queue_gap;
        }
        self.release(input, queue, &entry, length, fx);
        self.ask(input, queue, fx);
        if self.inputs[input]
            .queues
            .iter()
            .any(|queue| queue.asks.is_some())
        {
            self.wake_input(input, now + length, fx);
        }
    }

    fn take_first(&mut self, input: usize, queue: usize) -> Option<Entry> {
        let place = &mut self.inputs[input].queues[queue];
        let entry = place.entries.pop_front()?;
        place.cycles -= entry.cycles;
        let bit = 1 << (input * self.stride + queue);
        match place.asks.take() {
            None => {}
            Some(Asks::Out(output)) => self.outputs[output].asked &= !bit,
            Some(Asks::On(ways)) => ways.iter().for_each(|(fibre, _)| {
                self.outputs[FIRST_FIBRE + usize::from(fibre)].asked &= !bit;
            }),
        }
        Some(entry)
    }

    /// A packet begins to leave its buffer, and will have left after `length`. As it leaves cycle by cycle, its room can be
    /// told as soon as it can't be overtaken by what will come in.
    fn release(
        &mut self,
        input: usize,
        queue: usize,
        entry: &Entry,
        length: Span,
        fx: &mut Effects<'_, Self>,
    ) {
        let Some(fibre) = input.checked_sub(1) else {
            return;
        };
        let end = self.fibres[fibre].as_mut().expect(WIRED);
        let filled_in = end.cycle() * u64::from(entry.cycles);
        let after = length.saturating_sub(filled_in);
        end.release(
            queue as u8,
            entry.cycles,
            after,
            &mut At::new(fx, port(fibre)),
        );
    }

    /// No way is left for the first packet of a queue: it is lost, and told.
    fn give_up(&mut self, input: usize, queue: usize, fx: &mut Effects<'_, Self>) {
        let Some(entry) = self.take_first(input, queue) else {
            return;
        };
        self.release(input, queue, &entry, Span::ZERO, fx);
        lose(entry.packet, Refusal::SeveredFibre, fx);
        // The next one may be another's.
        self.wake_input(input, fx.now(), fx);
    }

    /// A fibre is dark: what waits for it looks for another way, and what may have been lost in it is told.
    fn darken(&mut self, fibre: usize, unsure: Vec<PacketId>, fx: &mut Effects<'_, Self>) {
        for packet in unsure {
            lose(packet, Refusal::Unacknowledged, fx);
        }
        let asked = std::mem::take(&mut self.outputs[FIRST_FIBRE + fibre].asked);
        for number in (0..u64::BITS).filter(|number| asked >> number & 1 == 1) {
            let (input, queue) = self.place(number);
            for output in &mut self.outputs {
                output.asked &= !(1 << number);
            }
            self.inputs[input].queues[queue].asks = None;
            self.wake_input(input, fx.now(), fx);
        }
    }

    fn wake_input(&mut self, input: usize, at: Time, fx: &mut Effects<'_, Self>) {
        if at < self.inputs[input].wake {
            self.inputs[input].wake = at;
            fx.wake(RouterTimer::Input(input as u8), at.since(fx.now()));
        }
    }

    fn wake_output(&mut self, output: usize, at: Time, fx: &mut Effects<'_, Self>) {
        if at < self.outputs[output].wake {
            self.outputs[output].wake = at;
            fx.wake(RouterTimer::Output(output as u8), at.since(fx.now()));
        }
    }
}

/// A packet ends here.
fn lose(packet: PacketId, why: Refusal, fx: &mut Effects<'_, Router>) {
    let lost = fx.store()[packet].lost(why);
    fx.observe(lost);
    fx.store().release(packet);
}

/// What packets from one node to another have in common: they take the same way, and so arrive in order.
fn key(source: u16, destination: u16) -> u16 {
    let mixed = u32::from(source).wrapping_mul(0x9e37_79b1)
        ^ u32::from(destination).wrapping_mul(0x85eb_ca6b);
    (mixed >> 12) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_timers_have_one_number() {
        for number in 0..ENDPOINT_TIMERS + 2 * PLACES + 7 * LinkTimer::COUNT {
            let is_endpoint_gap = (2..4).contains(&number);
            if !is_endpoint_gap {
                assert_eq!(RouterTimer::from_number(number).number(), number);
            }
        }
    }
}
