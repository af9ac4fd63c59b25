//! The inner part of a controller: crossbars between the network interface controllers on its chip, and PCI Express links to other
//! controllers.
//!
//! One crossbar transfers the packets of messages, the other one transfers the loads and stores of the global address space. Packets wait at
//! their input port, in the queue of their virtual channel. They pass to their output cut-through, one at a time from each input and to each
//! output, and only when the buffer behind the output has space for the whole packet. An output serves in turn (round robin) the queues
//! whose first packet is for it. It never waits for a better match of inputs and outputs.

mod cable;

use std::sync::Arc;

use kernel::{Bytes, Component, Effects, Frequency, Label, Port, Span, Time};
use link::{At, Finished, LinkEnd, LinkTimer};
use packet::{BusFrame, Frame, Incident, Observation, Pcie, Site, Stamp};
use protocol::{Class, FunctionId, Header, Kind, PacketType, Status};

use super::{Crossbar, Entry, Next, Order};
use cable::CableEnd;

kernel::parameters! {
    /// The parameters of a controller.
    pub struct ControllerParameters {
        /// Number of ports, each for one network interface controller.
        ports: u32 = 4, within 1..=64, from "the authors of chpp simulate 4, 8 and 16";
        /// Virtual channels of each port for data. A packet waits in the channel with its output's number modulo this.
        virtual_channels: u32 = 2, within 1..=64, from "the authors of chpp: enough for 4 ports";
        /// Whether GETs have an additional virtual channel. Without it, GETs and PUTs can wait for each other.
        get_channel: bool = true, from "the authors of chpp";
        /// Size of the packet buffer at each port, for each virtual channel.
        channel_buffer: Bytes = Bytes(4096), within Bytes(512)..=Bytes(1 << 20), from "our choice: one block RAM of a Virtex-6";
        /// Clock of the crossbar, which transfers 16 bytes per cycle at each port.
        crossbar_clock: Frequency = Frequency(250_000_000), within Frequency(1_000_000)..=Frequency(10_000_000_000), lifts "datapath" times [2, 4], from "the authors of chpp";
        /// Size of each processor's part of the global address space: others can access its memory and I/O below this address.
        processor_space: Bytes = Bytes(128 << 30), within Bytes(1 << 20)..=Bytes(1 << 44), from "our choice: enough for the largest memory of a host";
        /// Size of the buffer for loads and stores at each port, for each of posted requests, non-posted requests and completions.
        io_buffer: Bytes = Bytes(8192), within Bytes(512)..=Bytes(1 << 20), from "our choice: two block RAMs of a Virtex-6, which hold a packet of any max payload size";
        /// Time from the crossbar to the first bit on a cable.
        cable_send_latency: Span = Span::ZERO, from "our choice: none";
        /// Time from a packet's last bit on a cable to the crossbar.
        cable_receive_latency: Span = Span::ZERO, from "our choice: none";
        /// Cycles from a packet's header at one port to its header at another port.
        crossbar_cycles: u32 = 7, within 0..=1000, from "a fifth of the 35 cycles of a NAP that the authors of chpp give";
    }
}

/// The configuration of a controller.
#[derive(Clone, Debug)]
pub struct ControllerConfig {
    /// The parameters of the controller.
    pub parameters: ControllerParameters,
    /// The port to each processor. None for a processor that does not exist.
    pub routes: Arc<[Option<u8>]>,
    /// Size of the buffers behind each port without a cable, in words of 16 bytes, for each virtual channel.
    pub buffer_words: Vec<u32>,
    /// The link ends at the ports with cables. The numbers of these ports follow the numbers of the other ports.
    pub cables: Vec<LinkEnd>,
}

/// A controller.
#[derive(Clone, Debug)]
pub struct Controller {
    routes: Arc<[Option<u8>]>,
    processor_space: u64,
    get_channel: bool,
    data_channels: u8,
    latency: Span,
    /// The crossbars, by [`Plane`].
    crossbars: [Crossbar; 2],
    /// The cables. The numbers of their ports follow the numbers of the other ports, which are `own`.
    cables: Vec<CableEnd>,
    own: usize,
}

/// The two planes of traffic. Each plane has its own crossbar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plane {
    /// The packets of messages.
    Messages,
    /// Loads and stores of the global address space.
    Io,
}

impl Plane {
    /// Both planes. On the wire of a cable, each plane is a separate source.
    pub const ALL: [Plane; 2] = [Plane::Messages, Plane::Io];
}

/// A timer of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControllerTimer {
    /// An output of a crossbar may be able to send.
    Output(Plane, u8),
    /// A packet has arrived by the cable at this port.
    Arrival(u8),
    /// A timer of the link at this port.
    Link(Port, LinkTimer),
}

/// The number of timers of each port: one for each of its two outputs, one for arrivals, and the timers of its link.
const TIMERS: u32 = 3 + LinkTimer::COUNT;

impl Label for ControllerTimer {
    fn number(self) -> u32 {
        match self {
            ControllerTimer::Output(plane, port) => u32::from(port) * TIMERS + plane as u32,
            ControllerTimer::Arrival(port) => u32::from(port) * TIMERS + 2,
            ControllerTimer::Link(port, timer) => u32::from(port.0) * TIMERS + 3 + timer as u32,
        }
    }
    fn from_number(number: u32) -> Self {
        let port = number / TIMERS;
        match number % TIMERS {
            0 => ControllerTimer::Output(Plane::Messages, port as u8),
            1 => ControllerTimer::Output(Plane::Io, port as u8),
            2 => ControllerTimer::Arrival(port as u8),
            timer => ControllerTimer::Link(Port(port as u16), LinkTimer::from_number(timer - 3)),
        }
    }
}

impl From<(Port, LinkTimer)> for ControllerTimer {
    fn from((port, timer): (Port, LinkTimer)) -> Self {
        ControllerTimer::Link(port, timer)
    }
}

impl Component for Controller {
    type Traffic = Pcie;
    type Port = Port;
    type Timer = ControllerTimer;

    fn start(&mut self, fx: &mut Effects<'_, Self>) {
        for cable in 0..self.cables.len() {
            let port = Port((self.own + cable) as u16);
            let sent = self.cable(port).link.start(&mut At::new(fx, port));
            self.settle(port, sent, fx);
        }
    }

    fn receive(&mut self, port: Port, frame: Frame, fx: &mut Effects<'_, Self>) {
        debug_assert!(self.crossbars.iter().all(Crossbar::is_up_to_date));
        match frame {
            Frame::Bus(frame) => self.take((port.index(), false), frame, fx),
            Frame::ReturnedSpace(space) => {
                let (plane, channel) = match space.io() {
                    Some(channel) => (Plane::Io, channel),
                    None => (Plane::Messages, usize::from(space.channel)),
                };
                self.crossbars[plane as usize].free(port.index(), channel, space);
                self.serve(plane, port.index(), fx);
            }
            _ => {
                let sent = self.cable(port).receive(port, frame, fx);
                self.settle(port, sent, fx);
            }
        }
    }

    fn expire(&mut self, timer: ControllerTimer, fx: &mut Effects<'_, Self>) {
        debug_assert!(self.crossbars.iter().all(Crossbar::is_up_to_date));
        match timer {
            ControllerTimer::Output(plane, output) => {
                let output = usize::from(output);
                if self.crossbars[plane as usize].outputs[output]
                    .wake
                    .expire(fx.now())
                {
                    self.serve(plane, output, fx);
                }
            }
            ControllerTimer::Arrival(port) => self.take_from_cable(Port(port.into()), fx),
            ControllerTimer::Link(port, timer) => {
                let link = &mut self.cable(port).link;
                let sent = link.expire(timer, &mut At::new(fx, port));
                self.settle(port, sent, fx);
                if timer == LinkTimer::Errors {
                    self.handle_failure(port, fx);
                }
            }
        }
    }
}

impl ControllerParameters {
    /// The number of virtual channels of a port, including the channel of GETs.
    pub fn channels(&self) -> u32 {
        self.virtual_channels + u32::from(self.get_channel)
    }
}

impl Controller {
    /// A controller without packets.
    pub fn new(config: ControllerConfig) -> Self {
        let parameters = config.parameters;
        let cycle = parameters.crossbar_clock.period();
        let channels = parameters.channels() as usize;
        let beyond = config.cables.iter().map(|_| u32::MAX);
        let buffer_words: Vec<u32> = config.buffer_words.into_iter().chain(beyond).collect();
        let crossbar =
            |order, channels| Crossbar::new(order, channels, buffer_words.iter().copied(), cycle);
        Controller {
            crossbars: [
                crossbar(Order::None, channels),
                crossbar(Order::BehindPosted, Class::ALL.len()),
            ],
            routes: config.routes,
            processor_space: parameters.processor_space.0,
            get_channel: parameters.get_channel,
            latency: cycle * u64::from(parameters.crossbar_cycles),
            own: buffer_words.len() - config.cables.len(),
            cables: (config.cables.into_iter())
                .map(|link| CableEnd::new(link, &parameters))
                .collect(),
            data_channels: parameters.virtual_channels as u8,
        }
    }

    /// The link end at a port; none if the port has no cable.
    pub fn link(&self, port: usize) -> Option<&LinkEnd> {
        let cable = self.cables.get(port.checked_sub(self.own)?)?;
        Some(&cable.link)
    }

    /// The ports with cables, and their link ends.
    pub fn links(&self) -> impl Iterator<Item = (usize, &LinkEnd)> {
        (self.own..).zip(self.cables.iter().map(|cable| &cable.link))
    }

    fn cable(&mut self, port: Port) -> &mut CableEnd {
        &mut self.cables[port.index() - self.own]
    }

    /// If the cable at `port` fails now, records this in the log, and answers the loads that are lost. A controller has no registers, so that
    /// the failure is not reported in another way.
    fn handle_failure(&mut self, port: Port, fx: &mut Effects<'_, Self>) {
        if self.cable(port).link.fails_at() != fx.now() {
            return;
        }
        fx.observe(Observation::Incident {
            site: Site::Port(port.0),
            what: Incident::Event("link down"),
        });
        for (load, stamp) in self.cable(port).take_loads() {
            self.answer_lost_load(port, &load, stamp, fx);
        }
        // Loads that wait for the cable are answered, too.
        self.serve(Plane::Io, port.index(), fx);
    }

    /// Answers a load that the failed cable at `port` has lost or cannot carry. Without an answer, the load would keep a tag of its requester,
    /// which loads over other cables need.
    fn answer_lost_load(
        &mut self,
        port: Port,
        load: &Header,
        stamp: Stamp,
        fx: &mut Effects<'_, Self>,
    ) {
        let own = FunctionId::default();
        let answer = Header::completion(load, own, Status::UnsupportedRequest)
            .expect("a load is a non-posted request");
        let packet = fx.store().make(answer, stamp, &[]);
        let frame = cable::frame_of(packet, fx.store());
        self.take((port.index(), true), frame, fx);
    }

    /// Checks whether the crossbars can send more, after a cable has sent a packet.
    fn settle(&mut self, port: Port, sent: Option<Finished>, fx: &mut Effects<'_, Self>) {
        if sent.is_some() {
            self.serve(Plane::Messages, port.index(), fx);
            self.serve(Plane::Io, port.index(), fx);
        }
    }

    /// Moves packets that have arrived by the cable at `port` into the queues of the crossbars.
    fn take_from_cable(&mut self, port: Port, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        while let Some(frame) = self.cable(port).next_arrived(now, fx.store()) {
            self.take((port.index(), false), frame, fx);
        }
    }

    /// Handles a packet. Messages and answers to loads are routed by their target, loads and stores by their address. A packet from a cable
    /// occupies the receive buffer of the cable until it passes the crossbar; a packet that the controller makes itself (`is_own`) does not.
    fn take(
        &mut self,
        (input, is_own): (usize, bool),
        frame: BusFrame,
        fx: &mut Effects<'_, Self>,
    ) {
        let content = &fx.store()[frame.packet];
        let (header, charge) = (content.header(), content.charge());
        let (there, is_get) = match &header.kind {
            Kind::Network(header) => (
                header.destination.processor().into(),
                header.packet_type == PacketType::Get && self.get_channel,
            ),
            Kind::MemoryRead(request) | Kind::MemoryWrite(request) => {
                (request.address() / self.processor_space, false)
            }
            Kind::Completion(completion) => (completion.requester.bus().into(), false),
            _ => return fx.store().release(frame.packet),
        };
        let output = self.routes.get(there as usize).copied().flatten();
        let output =
            output.expect("a network interface controller sends to existing processors only");
        let (plane, queue, channel) = match frame.io() {
            Some(class) => (Plane::Io, class, class),
            None if input < self.own => {
                (Plane::Messages, frame.channel.into(), usize::from(is_get))
            }
            None if is_get => (Plane::Messages, self.data_channels.into(), 1),
            None => (Plane::Messages, usize::from(output % self.data_channels), 0),
        };
        let entry = Entry {
            frame,
            output: output.into(),
            channel,
            ready: fx.now() + self.latency,
            charge,
            is_own,
        };
        if let Some(output) = self.crossbars[plane as usize].take(input, queue, entry) {
            self.serve(plane, output, fx);
        }
    }

    /// Serves an output of a crossbar, as far as it can send now.
    fn serve(&mut self, plane: Plane, output: usize, fx: &mut Effects<'_, Self>) {
        let crossbar = &mut self.crossbars[plane as usize];
        let cable = output
            .checked_sub(self.own)
            .map(|cable| &self.cables[cable]);
        let now = fx.now();
        let takes = |entry: &Entry| {
            cable.is_none_or(|end| end.answers_itself(entry, now) || end.takes(plane, entry, now))
        };
        match crossbar.next(output, now, takes) {
            Next::Pass(queue) => self.pass(plane, queue, fx),
            Next::At(time) => self.wake(plane, output, time, fx),
            Next::Nothing => {}
        }
    }

    /// Sends the first packet of a queue through the crossbar.
    fn pass(&mut self, plane: Plane, queue: usize, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let (input, entry, length) = self.crossbars[plane as usize].pass(queue, now);
        let free_at = now + length;
        if entry.output < self.own {
            self.crossbars[plane as usize].fill(&entry);
            let channel = match plane {
                Plane::Messages => entry.channel as u8,
                Plane::Io => entry.frame.channel,
            };
            let frame = BusFrame {
                channel,
                ..entry.frame
            };
            fx.send(Port(entry.output as u16), Frame::Bus(frame), Span::ZERO);
        } else {
            let port = Port(entry.output as u16);
            if self.cable(port).answers_itself(&entry, now) {
                let content = &fx.store()[entry.frame.packet];
                let (load, stamp) = (*content.header(), content.stamp);
                fx.store().release(entry.frame.packet);
                self.answer_lost_load(port, &load, stamp, fx);
            } else {
                let sent = self.cable(port).send(port, plane, &entry, fx);
                self.settle(port, sent, fx);
            }
        }
        if entry.is_own {
            // The packet has occupied no buffer.
        } else if input >= self.own {
            let port = Port(input as u16);
            let link = &mut self.cable(port).link;
            link.free_later(entry.charge, free_at, &mut At::new(fx, port));
        } else {
            let space = entry.frame.space();
            fx.send(Port(input as u16), Frame::ReturnedSpace(space), length);
        }
        if let Some(output) = self.crossbars[plane as usize].ask_again(queue) {
            self.serve(plane, output, fx);
        }
        if self.crossbars[plane as usize].is_asked(entry.output) {
            self.wake(plane, entry.output, free_at, fx);
        }
        self.wake_others(plane, input, free_at, fx);
    }

    /// Schedules a wake-up of the outputs for which the input has other packets, at the time when the input is free.
    fn wake_others(
        &mut self,
        plane: Plane,
        input: usize,
        free_at: Time,
        fx: &mut Effects<'_, Self>,
    ) {
        for queue in self.crossbars[plane as usize].queues_of(input) {
            if let Some(output) = self.crossbars[plane as usize].wanted(queue) {
                self.wake(plane, output, free_at, fx);
            }
        }
    }

    fn wake(&mut self, plane: Plane, output: usize, time: Time, fx: &mut Effects<'_, Self>) {
        if self.crossbars[plane as usize].outputs[output]
            .wake
            .schedule(time)
        {
            let timer = ControllerTimer::Output(plane, output as u8);
            fx.wake(timer, time.since(fx.now()));
        }
    }
}
