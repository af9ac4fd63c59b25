//! The middle of a controller: a crossbar between the network interface controllers that share its chip, and PCI Express links
//! to other controllers.
//!
//! Packets wait at the port that they came in by, in the queue of their virtual channel, and go to their output cut through: one
//! at a time from each input and to each output, and only when the far side has room for all of it. An output takes the queues
//! whose first packets are for it in turn (round robin); nothing that could go waits for a better match.

mod cable;

use std::collections::VecDeque;
use std::sync::Arc;

use kernel::{Bytes, Component, Effects, Frequency, Label, Port, Span, Time};
use link::{BusFrame, Charge, Frame, LinkEnd, LinkTimer, Pcie, Room};
use protocol::{Kind, PacketType};

use cable::CableEnd;

kernel::parameters! {
    /// What a controller can be told.
    pub struct ControllerParameters {
        /// Ports, each for one network interface controller.
        ports: u32 = 4, within 1..=64, from "the authors of chpp simulate 4, 8 and 16";
        /// Virtual channels of each port for data: packets wait in that of their output's number modulo this.
        virtual_channels: u32 = 2, within 1..=64, from "the authors of chpp: enough for 4 ports";
        /// Whether GETs have one more virtual channel of their own. Without it they can wait for PUTs that wait for them.
        get_channel: bool = true, from "the authors of chpp";
        /// Room for packets at each port, of each virtual channel.
        channel_buffer: Bytes = Bytes(4096), within Bytes(512)..=Bytes(1 << 20), from "our choice: one block RAM of a Virtex-6";
        /// Clock of the crossbar, which passes 16 bytes a cycle at each port.
        crossbar_clock: Frequency = Frequency(250_000_000), within Frequency(1_000_000)..=Frequency(10_000_000_000), from "the authors of chpp";
        /// Time from the crossbar to the first bit on a cable.
        cable_send_latency: Span = Span::ZERO, from "our choice: none";
        /// Time from a packet's last bit on a cable to the crossbar.
        cable_receive_latency: Span = Span::ZERO, from "our choice: none";
        /// Cycles from a packet's header at a port to its header at another one.
        crossbar_cycles: u32 = 7, within 0..=1000, from "a fifth of the 35 cycles of a NAP that the authors of chpp give";
    }
}

/// How a controller is built.
#[derive(Clone, Debug)]
pub struct ControllerConfig {
    /// Its parameters.
    pub parameters: ControllerParameters,
    /// The port that leads to each processor; none where there is no such processor.
    pub routes: Arc<[Option<u8>]>,
    /// Words of 16 bytes that have room behind each port of a network interface controller, of each virtual channel there.
    pub rooms: Vec<u32>,
    /// The link ends at the ports behind those.
    pub cables: Vec<LinkEnd>,
}

/// A controller.
#[derive(Clone, Debug)]
pub struct Controller {
    routes: Arc<[Option<u8>]>,
    get_channel: bool,
    data_channels: u8,
    cycle: Span,
    latency: Span,
    /// Queues of an input.
    stride: usize,
    /// The queues of the first input, then of the second.
    queues: Vec<VecDeque<Entry>>,
    /// When each input is free.
    inputs: Vec<Time>,
    outputs: Vec<Output>,
    /// Behind the ports of network interface controllers, which are so many.
    cables: Vec<CableEnd>,
    nics: usize,
}

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
struct Entry {
    frame: BusFrame,
    output: u8,
    /// Its virtual channel behind the output.
    channel: u8,
    /// When its header can be there.
    ready: Time,
    /// What it takes of the buffer of the cable that it came by.
    charge: Option<Charge>,
}

#[derive(Clone, Debug)]
struct Output {
    free_at: Time,
    /// Words that have room behind it, of each virtual channel.
    room: [u32; 2],
    /// Queues whose first packet is for it.
    asked: usize,
    /// The queue after the one that was last served.
    turn: usize,
    /// When a wake-up for it is on its way.
    wake: Time,
}

/// What a controller asks to be woken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControllerTimer {
    /// An output can go on.
    Output(u8),
    /// A packet has come by the cable at this port.
    Arrival(u8),
    /// A timer of the link at this port.
    Link(Port, LinkTimer),
}

/// Timers of each port: of its output, of its arrivals, and of its link.
const TIMERS: u32 = 2 + LinkTimer::COUNT;

impl Label for ControllerTimer {
    fn number(self) -> u32 {
        match self {
            ControllerTimer::Output(port) => u32::from(port) * TIMERS,
            ControllerTimer::Arrival(port) => u32::from(port) * TIMERS + 1,
            ControllerTimer::Link(port, timer) => u32::from(port.0) * TIMERS + 2 + timer as u32,
        }
    }
    fn from_number(number: u32) -> Self {
        let port = number / TIMERS;
        match number % TIMERS {
            0 => ControllerTimer::Output(port as u8),
            1 => ControllerTimer::Arrival(port as u8),
            timer => ControllerTimer::Link(Port(port as u16), LinkTimer::from_number(timer - 2)),
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
            self.start_cable(cable, fx);
        }
    }

    fn receive(&mut self, port: Port, frame: Frame, fx: &mut Effects<'_, Self>) {
        match frame {
            Frame::Bus(frame) => self.take(port.index(), frame, None, fx),
            Frame::Room(room) => {
                self.outputs[port.index()].room[usize::from(room.channel)] += u32::from(room.words);
                self.serve(port.index(), fx);
            }
            _ => self.receive_by_cable(port, frame, fx),
        }
    }

    fn expire(&mut self, timer: ControllerTimer, fx: &mut Effects<'_, Self>) {
        match timer {
            ControllerTimer::Output(output) => {
                let output = usize::from(output);
                if self.outputs[output].wake <= fx.now() {
                    self.outputs[output].wake = Time::NEVER;
                    self.serve(output, fx);
                }
            }
            ControllerTimer::Arrival(port) => self.take_from_cable(usize::from(port), fx),
            ControllerTimer::Link(port, timer) => self.expire_of_cable(port, timer, fx),
        }
    }
}

impl ControllerParameters {
    /// Virtual channels of a port, that of GETs included.
    pub fn channels(&self) -> u32 {
        self.virtual_channels + u32::from(self.get_channel)
    }
}

impl Controller {
    /// A controller in which nothing waits.
    pub fn new(config: ControllerConfig) -> Self {
        let ControllerConfig {
            parameters,
            routes,
            rooms,
            cables,
        } = config;
        let cycle = parameters.crossbar_clock.period();
        let (nics, stride) = (rooms.len(), parameters.channels() as usize);
        let ports = nics + cables.len();
        let cable = |link| CableEnd::new(link, &parameters);
        let output = |room: u32| Output {
            free_at: Time::ZERO,
            room: [room; 2],
            asked: 0,
            turn: 0,
            wake: Time::NEVER,
        };
        Controller {
            routes,
            get_channel: parameters.get_channel,
            cycle,
            latency: cycle * u64::from(parameters.crossbar_cycles),
            stride,
            queues: vec![VecDeque::new(); ports * stride],
            inputs: vec![Time::ZERO; ports],
            outputs: rooms
                .into_iter()
                .chain(cables.iter().map(|_| u32::MAX))
                .map(output)
                .collect(),
            cables: cables.into_iter().map(cable).collect(),
            nics,
            data_channels: parameters.virtual_channels as u8,
        }
    }

    /// Takes a packet in. One that came by a cable waits in its buffer there, whatever queue it is in here.
    fn take(
        &mut self,
        input: usize,
        frame: BusFrame,
        charge: Option<Charge>,
        fx: &mut Effects<'_, Self>,
    ) {
        let Kind::Network(header) = fx.store()[frame.packet].header().kind else {
            return fx.store().release(frame.packet);
        };
        let there = usize::from(header.destination.processor());
        let output = self.routes.get(there).copied().flatten();
        let output = output.expect("a network interface controller knows who is there");
        let is_own_channel = header.packet_type == PacketType::Get && self.get_channel;
        let channel = match charge {
            None => frame.channel,
            Some(_) if is_own_channel => self.data_channels,
            Some(_) => output % self.data_channels,
        };
        let entry = Entry {
            frame: BusFrame { channel, ..frame },
            output,
            channel: u8::from(is_own_channel),
            ready: fx.now() + self.latency,
            charge,
        };
        let queue = input * self.stride + usize::from(channel);
        self.queues[queue].push_back(entry);
        if self.queues[queue].len() == 1 {
            self.ask(queue, fx);
        }
    }

    /// The first packet of a queue asks for its output.
    fn ask(&mut self, queue: usize, fx: &mut Effects<'_, Self>) {
        if let Some(entry) = self.queues[queue].front() {
            let output = usize::from(entry.output);
            self.outputs[output].asked += 1;
            self.serve(output, fx);
        }
    }

    /// Passes on what an output can take now.
    fn serve(&mut self, output: usize, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        if self.outputs[output].asked == 0 || !self.takes_more(output, fx.now()) {
            return;
        }
        if self.outputs[output].free_at > now {
            return self.wake(output, self.outputs[output].free_at, fx);
        }
        let turn = self.outputs[output].turn;
        let mut earliest = Time::NEVER;
        for queue in (turn..self.queues.len()).chain(0..turn) {
            let Some(entry) = self.queues[queue].front().copied() else {
                continue;
            };
            let room = self.outputs[output].room[usize::from(entry.channel)];
            if usize::from(entry.output) != output || u32::from(entry.frame.cycles) > room {
                continue;
            }
            let due = entry.ready.max(self.inputs[queue / self.stride]);
            if due <= now {
                return self.pass(queue, entry, fx);
            }
            earliest = earliest.min(due);
        }
        if earliest < Time::NEVER {
            self.wake(output, earliest, fx);
        }
    }

    /// Passes the first packet of a queue on.
    fn pass(&mut self, queue: usize, entry: Entry, fx: &mut Effects<'_, Self>) {
        let length = self.cycle * u64::from(entry.frame.cycles);
        let (input, free_at) = (queue / self.stride, fx.now() + length);
        let place = usize::from(entry.output);
        self.queues[queue].pop_front();
        self.inputs[input] = free_at;
        let output = &mut self.outputs[place];
        output.free_at = free_at;
        output.asked -= 1;
        output.turn = (queue + 1) % self.queues.len();
        if place < self.nics {
            output.room[usize::from(entry.channel)] -= u32::from(entry.frame.cycles);
            let frame = BusFrame {
                channel: entry.channel,
                ..entry.frame
            };
            fx.send(Port(place as u16), Frame::Bus(frame), Span::ZERO);
        } else {
            self.send_by_cable(place, entry.frame.packet, fx);
        }
        if let Some(charge) = entry.charge {
            self.free_cable(input, charge, free_at, fx);
        } else {
            let room = Room {
                channel: entry.frame.channel,
                words: entry.frame.cycles,
            };
            fx.send(Port(input as u16), Frame::Room(room), length);
        }
        self.ask(queue, fx);
        if self.outputs[place].asked > 0 {
            self.wake(place, free_at, fx);
        }
        self.wake_others(input, free_at, fx);
    }

    /// The outputs that an input's other packets are for are looked at when it is free.
    fn wake_others(&mut self, input: usize, free_at: Time, fx: &mut Effects<'_, Self>) {
        for queue in input * self.stride..(input + 1) * self.stride {
            let front = self.queues[queue].front().map(|entry| entry.output);
            if let Some(output) = front {
                self.wake(usize::from(output), free_at, fx);
            }
        }
    }

    fn wake(&mut self, output: usize, time: Time, fx: &mut Effects<'_, Self>) {
        if time < self.outputs[output].wake {
            self.outputs[output].wake = time;
            fx.wake(ControllerTimer::Output(output as u8), time.since(fx.now()));
        }
    }
}
