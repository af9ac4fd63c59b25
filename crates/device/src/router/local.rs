//! The node's own side of a router: what goes into the network here, and what leaves it.

use std::collections::VecDeque;
use std::sync::Arc;

use kernel::{Effects, Span, Time};
use link::optical::OpticalParameters;
use packet::{Carried, Observation, PacketId, Packets, Refusal, Route};
use protocol::{Header, Kind, aurora};
use transaction::{
    CallNote, Flow, Next, Pattern, Requester, RequesterLimits, arrived, deliver, writes, written,
};

use crate::Endpoint;
use crate::reflector::reflected;

use super::crossbar::{Arbitration, Entry};
use super::program::{Program, Running, Wish, add};
use super::{OWN, Router, RouterParameters, TO_PCIE, TO_USER, USER, Window, key, lose};

/// What is between the crossbar, the user logic and PCI Express.
#[derive(Debug)]
pub(super) struct Local {
    window: Window,
    targets: Vec<u64>,
    patterns: Arc<[Pattern]>,
    /// The flows of the user logic; their addresses are those of the network.
    pub(super) source: Requester,
    /// Before then they have nothing to send.
    source_due: Time,
    /// Its parts in collectives.
    programs: Vec<Running>,
    /// A packet of theirs whose queue is full.
    held: Option<(usize, Entry)>,
    /// Packets that the crossbar takes, or hands out, while a fibre takes one.
    width: u32,
    /// Queues into the crossbar, and the cycles that each has room for.
    queues: usize,
    room: u32,
    cycle: Span,
    lanes: u32,
    packet_size: u64,
    /// Packets on their way out by PCI Express, and when the last of each is here.
    leaving: VecDeque<(Time, PacketId)>,
    /// TLPs made of such packets.
    tlps: VecDeque<PacketId>,
}

impl Local {
    pub(super) fn new(
        endpoint: &Endpoint,
        parameters: &RouterParameters,
        optical: &OpticalParameters,
        window: Window,
        targets: Vec<u64>,
    ) -> Self {
        let limits = RequesterLimits {
            max_payload: optical.packet_size.0 as u32,
            max_read_request: 0,
            tags: 0,
            completion_timeout: Span::from_us(1),
        };
        Local {
            window,
            targets,
            patterns: endpoint.patterns(),
            source: Requester::new(endpoint.id(), limits),
            source_due: Time::ZERO,
            programs: Vec::new(),
            packet_size: optical.packet_size.0,
            held: None,
            width: parameters.local_width,
            queues: parameters.injection_queues as usize,
            room: optical.cycles_of(parameters.injection_buffer),
            cycle: optical.cycle(),
            lanes: optical.optical_lanes,
            leaving: VecDeque::new(),
            tlps: VecDeque::new(),
        }
    }

    fn cycles(&self, packet: PacketId, packets: &Packets) -> u32 {
        aurora::cycles(packets[packet].route().frame_len.into(), self.lanes)
    }

    /// What is to be written where, if a packet of PCI Express is for the window, which begins at `base`.
    fn in_window(&self, header: &Header, base: u64) -> Option<(u64, u16, u8)> {
        let Kind::MemoryWrite(request) = &header.kind else {
            return None;
        };
        let address = request.first_byte().checked_sub(base)?;
        let (node, port) = self.window.locate(address)?;
        Some((address, node, port))
    }
}

impl Router {
    /// Its user logic's requests.
    pub fn requester(&self) -> &Requester {
        &self.local.source
    }

    /// The same, to take what it did.
    pub fn requester_mut(&mut self) -> &mut Requester {
        &mut self.local.source
    }

    /// One more flow of the user logic, to an address of the network.
    pub fn add_flow(&mut self, flow: Flow) {
        self.local.source.add(flow);
        self.local.source_due = Time::ZERO;
    }

    /// One more part in a collective.
    pub fn add_program(&mut self, program: Program) {
        self.local.programs.push(Running::new(program));
    }

    /// Takes in what has come by PCI Express and what the user logic sends, and hands out what leaves.
    pub fn run(&mut self, fx: &mut Effects<'_, Self>) {
        self.take_in(fx);
        self.make(fx);
        self.hand_out(fx);
    }

    /// The same after something in the network that concerns the node only if one of its own packets has gone on.
    pub(super) fn run_on(&mut self, fx: &mut Effects<'_, Self>) {
        if std::mem::take(&mut self.has_room) {
            self.run(fx);
        }
    }

    /// What comes by PCI Express goes on while its queue has room; then it waits in the core's buffer, without credit.
    fn take_in(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some(header) = self.endpoint.front(fx) {
            let target = self.local.in_window(&header, self.endpoint.base_of(2));
            let Some((address, destination, port)) = target else {
                let Some(packet) = self.endpoint.take(fx) else {
                    return;
                };
                self.endpoint.serve(packet, fx);
                continue;
            };
            let queue = self.queue_to(destination);
            if self.queues[queue].cycles >= self.local.room {
                return;
            }
            let Some(packet) = self.endpoint.take(fx) else {
                return;
            };
            if let Err(why) = self.endpoint.check_size(&header) {
                self.endpoint.refuse(packet, why, fx);
                continue;
            }
            let own = self.endpoint.id();
            let Some(copy) = reflected(packet, own, address, fx.store()) else {
                continue;
            };
            fx.store()[copy].send_off(Route {
                destination,
                port,
                source: self.node,
                carried: Carried::Tlp,
                ..Route::default()
            });
            let entry = self.entry(copy, fx);
            self.queue_up(OWN, queue, entry, fx);
        }
    }

    /// The queue into the crossbar of what goes to a node: by the fibre that it takes first, as far as there are queues.
    fn queue_to(&self, destination: u16) -> usize {
        if destination == self.node {
            return 0;
        }
        let key = key(self.node, destination);
        let mut ways = self.routing.ways(destination, None, key).iter();
        ways.next()
            .map_or(0, |(fibre, _)| usize::from(fibre) % self.local.queues)
    }

    fn entry(&self, packet: PacketId, fx: &mut Effects<'_, Self>) -> Entry {
        let ready = fx.now() + self.pipeline + self.to_forward;
        Entry {
            packet,
            cycles: self.local.cycles(packet, fx.store()),
            ready,
            complete: ready,
            born: self.born(packet, fx),
            damaged: false,
        }
    }

    /// The user logic makes packets while their queues have room.
    fn make(&mut self, fx: &mut Effects<'_, Self>) {
        loop {
            if let Some((queue, entry)) = self.local.held {
                if self.queues[queue].cycles >= self.local.room {
                    return;
                }
                self.local.held = None;
                self.queue_up(OWN, queue, entry, fx);
            }
            if self.work(fx) {
                continue;
            }
            let now = fx.now();
            if now < self.local.source_due {
                if self.local.source_due < Time::NEVER {
                    self.endpoint.wake_engine(self.local.source_due, fx);
                }
                return;
            }
            match self.local.source.next(now, fx.store()) {
                Next::Packet(packet) => {
                    let Some((destination, port)) = self.address(packet, fx) else {
                        lose(packet, Refusal::UnsupportedRequest, fx);
                        continue;
                    };
                    fx.store()[packet].send_off(Route {
                        destination,
                        port,
                        source: self.node,
                        carried: Carried::Message,
                        ..Route::default()
                    });
                    self.local.held = Some((self.queue_to(destination), self.entry(packet, fx)));
                }
                Next::Told(what) => fx.observe(what),
                Next::Ended(flow, bytes) => fx.observe(Observation::Ended { flow, bytes }),
                Next::TimedOut(..) | Next::Nothing => {
                    self.local.source_due = Time::NEVER;
                    return;
                }
                Next::NotBefore(time) => {
                    self.local.source_due = time;
                    return self.endpoint.wake_engine(time, fx);
                }
            }
        }
    }

    /// When the transaction of a packet began, where somebody asks.
    pub(super) fn born(&self, packet: PacketId, fx: &mut Effects<'_, Self>) -> Time {
        if self.arbitration == Arbitration::OldestFirst {
            fx.store()[packet].stamp.born
        } else {
            Time::ZERO
        }
    }

    /// Lets the programs go on until one has a packet to send, or none goes on: false.
    fn work(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let (now, largest) = (fx.now(), self.local.packet_size);
        for index in 0..self.local.programs.len() {
            loop {
                match self.local.programs[index].next(now, largest) {
                    Wish::Begin(flow) => fx.observe(Observation::own(flow, CallNote::Called)),
                    Wish::End(flow, bytes) => {
                        fx.observe(Observation::Ended { flow, bytes });
                        fx.observe(Observation::own(flow, CallNote::Returned));
                    }
                    Wish::Send(message, at, len) => {
                        let base = self.local.window.base(message.to, USER);
                        let who = (self.endpoint.id(), self.node, base);
                        let program = &mut self.local.programs[index];
                        let memory = self.endpoint.bar();
                        let packet = program.packet((message, at, len), memory, who, fx.store());
                        let queue = self.queue_to(message.to);
                        self.local.held = Some((queue, self.entry(packet, fx)));
                        return true;
                    }
                    Wish::Later(time) => {
                        self.endpoint.wake_engine(time, fx);
                        break;
                    }
                    Wish::Nothing => break,
                }
            }
        }
        false
    }

    /// Node and port that a packet of the user logic goes to.
    fn address(&self, packet: PacketId, fx: &mut Effects<'_, Self>) -> Option<(u16, u8)> {
        match &fx.store()[packet].header().kind {
            Kind::MemoryWrite(request) => self.local.window.locate(request.first_byte()),
            _ => None,
        }
    }

    /// TLPs leave by PCI Express, completions of the core first.
    fn hand_out(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        while let Some((_, packet)) = self.local.leaving.pop_front_if(|(due, _)| *due <= now) {
            self.unwrap(packet, fx);
        }
        if let Some((due, _)) = self.local.leaving.front() {
            // The wake-up that was under way when it began to leave may have been an earlier one.
            self.endpoint.wake_engine(*due, fx);
        }
        if self.local.tlps.is_empty() && !self.endpoint.owes() {
            return self.let_out(fx);
        }
        while self.endpoint.is_open(fx) && self.endpoint.is_bus_master() {
            let Some(tlp) = self.local.tlps.pop_front() else {
                break;
            };
            self.endpoint.hand_over(tlp, fx);
        }
        self.let_out(fx);
    }

    /// Packets that wait for PCI Express go when those before have gone.
    fn let_out(&mut self, fx: &mut Effects<'_, Self>) {
        if self.outputs[TO_PCIE].asked != 0 && self.takes_tlps() {
            self.serve(TO_PCIE, fx);
        }
    }

    /// Whether a packet may leave by PCI Express: those before are on their way.
    pub(super) fn takes_tlps(&self) -> bool {
        self.local.leaving.len() < AT_THE_EXIT && self.local.tlps.is_empty()
    }

    /// Tells that a packet of the user logic begins to leave.
    pub(super) fn tell_sent(&self, entry: &Entry, fx: &mut Effects<'_, Self>) {
        let start = fx.now();
        let end = start + self.local.cycle * u64::from(entry.cycles);
        let content = &fx.store()[entry.packet];
        if content.route().carried != Carried::Tlp
            && let Some(told) = content.sent(start, end)
        {
            fx.foresee(end, told);
        }
    }

    /// A packet leaves the network here: how long it holds its way through the crossbar.
    pub(super) fn leave(
        &mut self,
        output: usize,
        entry: Entry,
        fx: &mut Effects<'_, Self>,
    ) -> Span {
        let whole = self.local.cycle * u64::from(entry.cycles);
        let length = Span::from_fs(whole.as_fs().div_ceil(self.local.width.into()));
        let free_at = fx.now() + length;
        let done = free_at.max(entry.complete);
        self.outputs[output].free_at = free_at;
        if entry.damaged {
            lose(entry.packet, Refusal::BitErrors, fx);
        } else if output == TO_USER {
            self.deliver(entry, done + self.to_deliver, fx);
        } else {
            let done = self
                .local
                .leaving
                .back()
                .map_or(done, |(last, _)| done.max(*last));
            self.local.leaving.push_back((done, entry.packet));
            self.endpoint.wake_engine(done, fx);
        }
        length
    }

    /// Writes a packet to the memory of the user logic, all of which is there at `done`.
    fn deliver(&mut self, entry: Entry, done: Time, fx: &mut Effects<'_, Self>) {
        let base = self.local.window.base(self.node, USER);
        let content = &fx.store()[entry.packet];
        let Kind::MemoryWrite(request) = content.header().kind else {
            return lose(entry.packet, Refusal::UnsupportedRequest, fx);
        };
        let within = self.local.window.within(request.first_byte());
        let memory = self.endpoint.bar_mut();
        if !memory.holds(within, u64::from(request.byte_len())) {
            return lose(entry.packet, Refusal::UnsupportedRequest, fx);
        }
        let (source, flow) = (content.route().source, content.stamp.flow);
        let told = if content.route().carried == Carried::Sum {
            add(memory, within, written(content, &request));
            arrived(content, &request, &self.local.patterns)
        } else {
            deliver(content, &request, memory, base, &self.local.patterns)
        };
        if let Some(told) = told {
            fx.foresee(done, told);
        }
        fx.store().release(entry.packet);
        let mut programs = self.local.programs.iter_mut();
        let concerned = programs.find(|program| flow.is_some_and(|flow| program.concerns(flow)));
        if let Some(program) = concerned {
            program.arrives(source, request.byte_len().into(), done);
            self.endpoint.wake_engine(done, fx);
        }
    }

    /// Makes TLPs of a packet that leaves by PCI Express: as large as this port may send.
    fn unwrap(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let content = &fx.store()[packet];
        let port = content.route().port;
        let target = self.local.targets.get(usize::from(port) - 1).copied();
        let Kind::MemoryWrite(request) = content.header().kind else {
            return fx.store().release(packet);
        };
        let Some(target) = target else {
            return lose(packet, Refusal::UnsupportedRequest, fx);
        };
        let first = target + self.local.window.within(request.first_byte());
        let (own, largest) = (self.endpoint.id(), self.endpoint.max_payload());
        let (bytes, stamp) = (written(content, &request).to_vec(), content.stamp);
        let tlps = writes(&bytes, stamp, (own, first), largest, fx.store());
        self.local.tlps.extend(tlps);
        fx.store().release(packet);
    }
}

/// Packets that come in for PCI Express at once: from as many fibres as there usually are.
const AT_THE_EXIT: usize = 4;
