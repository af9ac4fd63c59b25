//! The local side of a router: packets of its own node that enter the network, and packets that leave the network at this node.

use std::collections::VecDeque;
use std::sync::Arc;

use kernel::{Effects, Span, Time};
use link::optical::OpticalParameters;
use packet::{Carried, Observation, PacketId, Packets, Refusal, Route};
use protocol::{Header, Kind, aurora};
use transaction::{
    CallNote, CompletionBuffer, Flow, FunctionPlace, Next, OutstandingLimits, Pattern, Requester,
    RequesterLimits, Staging, arrived, deliver, writes, written,
};

use crate::reflector::reflected;
use crate::{Endpoint, Leaf, leaf};

use super::crossbar::{Arbitration, Entry};
use super::program::{Program, Running, Wish, add};
use super::{OWN, Router, RouterParameters, TO_PCIE, TO_USER, USER, Window, key, lose};

/// The parts between the crossbar, the user logic and PCI Express.
#[derive(Debug)]
pub(super) struct Local {
    window: Window,
    targets: Vec<u64>,
    patterns: Arc<[Pattern]>,
    /// The requester that has the flows of the user logic. The addresses of the flows are network addresses.
    pub(super) source: Requester,
    /// The time before which the flows have no packet to send.
    source_due: Time,
    /// The programs of the node in collective operations.
    programs: Vec<Running>,
    /// A packet of a flow or a program, and its queue, which was full when the packet was made.
    held: Option<(usize, Entry)>,
    /// Number of packets that the crossbar transfers from the node, or to the node, in the time of one packet of a fibre.
    width: u32,
    /// Number of queues into the crossbar, and the size of each in cycles.
    queues: usize,
    room: u32,
    cycle: Span,
    lanes: u32,
    packet_size: u32,
    /// Packets that leave by PCI Express. For each, the time at which its last part has arrived.
    leaving: VecDeque<(Time, PacketId)>,
    /// The TLPs that were made from packets that leave by PCI Express.
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
            outstanding: OutstandingLimits {
                tags: 0,
                completion_timeout: Span::from_us(1),
                tag_quarantine: Span::ZERO,
                completion_buffer: CompletionBuffer::default(),
            },
            staging: Staging::default(),
        };
        Local {
            window,
            targets,
            patterns: endpoint.patterns(),
            source: Requester::new(endpoint.id(), limits),
            source_due: Time::ZERO,
            programs: Vec::new(),
            packet_size: optical.packet_size.0 as u32,
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

    /// The network address, the node and the port to which a write to the window is sent. The window begins at `base`.
    fn in_window(&self, header: &Header, base: u64) -> Option<(u64, u16, u8)> {
        let Kind::MemoryWrite(request) = &header.kind else {
            return None;
        };
        let address = request.first_byte().checked_sub(base)?;
        let (node, port) = self.window.locate(address)?;
        Some((address, node, port))
    }
}

leaf::has_endpoint!(Router);

impl Leaf for Router {
    /// The requester of the user logic. The addresses of its flows are network addresses.
    fn requester(&self, function: u8) -> Option<&Requester> {
        (function == 0).then_some(&self.local.source)
    }

    fn requester_mut(&mut self, function: u8) -> Option<&mut Requester> {
        (function == 0).then_some(&mut self.local.source)
    }

    fn add_flow(&mut self, _function: u8, flow: Flow) -> bool {
        self.local.source.add(flow);
        self.local.source_due = Time::ZERO;
        true
    }

    /// Drops the packets that leave by PCI Express. The user logic, the queues and the fibres of the network do not belong to the function, so
    /// they continue.
    fn reset(&mut self, place: FunctionPlace, fx: &mut Effects<'_, Self>) {
        if place != FunctionPlace::Own {
            return;
        }
        let leaving = self.local.leaving.drain(..).map(|(_, packet)| packet);
        let lost: Vec<PacketId> = leaving.chain(self.local.tlps.drain(..)).collect();
        for packet in lost {
            lose(packet, Refusal::InReset, fx);
        }
    }

    /// Handles packets from PCI Express, makes packets of the user logic, and sends packets that leave the network.
    fn run(&mut self, fx: &mut Effects<'_, Self>) {
        self.take_in(fx);
        self.make(fx);
        self.hand_out(fx);
    }
}

impl Router {
    /// Adds the node's program in a collective operation.
    pub fn add_program(&mut self, program: Program) {
        self.local.programs.push(Running::new(program));
    }

    /// Runs the local side after an event of the network, if a packet of the node has left its queue and freed space.
    pub(super) fn run_on(&mut self, fx: &mut Effects<'_, Self>) {
        if std::mem::take(&mut self.has_room) {
            leaf::run(self, fx);
        }
    }

    /// Takes packets from PCI Express as long as their queues have space. Other packets occupy the receive buffer of the PCI Express core, so
    /// that their credit is not returned.
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
            let number = fx.store()[packet].number();
            let Some(copy) = reflected(packet, own, address, fx.store()) else {
                continue;
            };
            fx.store().renumber(copy, number);
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

    /// The number of the queue into the crossbar for packets to a node: the number of the first fibre on the route, modulo the number of queues.
    fn queue_to(&self, destination: u16) -> usize {
        if destination == self.node {
            return 0;
        }
        let key = key(self.node, destination);
        let mut hops = self.routing.hops(destination, None, key).iter();
        hops.next()
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

    /// Makes packets of the user logic as long as their queues have space.
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
                return self.endpoint.wake_engine(self.local.source_due, fx);
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
                Next::Report(what) => fx.observe(what),
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

    /// The time at which a packet's transaction began, if the arbitration needs it.
    pub(super) fn born(&self, packet: PacketId, fx: &mut Effects<'_, Self>) -> Time {
        if self.arbitration == Arbitration::OldestFirst {
            fx.store()[packet].stamp.born
        } else {
            Time::ZERO
        }
    }

    /// Advances the programs until one of them has a packet to send. Returns false if no program has one.
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

    /// The destination node and port of a packet of the user logic.
    fn address(&self, packet: PacketId, fx: &mut Effects<'_, Self>) -> Option<(u16, u8)> {
        match &fx.store()[packet].header().kind {
            Kind::MemoryWrite(request) => self.local.window.locate(request.first_byte()),
            _ => None,
        }
    }

    /// Sends packets that leave the network by PCI Express, as TLPs.
    fn hand_out(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        while let Some((_, packet)) = self.local.leaving.pop_front_if(|(due, _)| *due <= now) {
            self.unwrap(packet, fx);
        }
        if let Some((due, _)) = self.local.leaving.front() {
            // The wake-up that was scheduled last may be for an earlier packet.
            self.endpoint.wake_engine(*due, fx);
        }
        if self.endpoint.link().has_failed(now) {
            // While the link is down, packets for it are dropped, so that they do not block the network.
            for packet in std::mem::take(&mut self.local.tlps) {
                lose(packet, Refusal::InReset, fx);
            }
        }
        if self.local.tlps.is_empty() {
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

    /// Serves the output to PCI Express if packets wait for it and it accepts a packet.
    fn let_out(&mut self, fx: &mut Effects<'_, Self>) {
        if self.outputs[TO_PCIE].asked != 0 && self.takes_tlps() {
            self.serve(TO_PCIE, fx);
        }
    }

    /// Whether another packet may leave by PCI Express, because few earlier packets wait there.
    pub(super) fn takes_tlps(&self) -> bool {
        self.local.leaving.len() < AT_THE_EXIT && self.local.tlps.is_empty()
    }

    /// Reports that a packet of the user logic begins to leave its queue.
    pub(super) fn tell_sent(&self, entry: &Entry, fx: &mut Effects<'_, Self>) {
        let start = fx.now();
        let end = start + self.local.cycle * u64::from(entry.cycles);
        let content = &fx.store()[entry.packet];
        if content.route().carried != Carried::Tlp
            && let Some(told) = Observation::sent(content, start, end)
        {
            fx.foresee(end, told);
        }
    }

    /// Handles a packet that leaves the network at this node. Returns the time for which it occupies its path through the crossbar.
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

    /// Writes a packet to the memory of the user logic. The packet has completely arrived at `done`.
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

    /// Divides a packet that leaves by PCI Express into TLPs of the largest size that this port may send.
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
        let (own, largest) = (self.endpoint.id(), self.endpoint.write_payload());
        let (bytes, stamp) = (written(content, &request).to_vec(), content.stamp);
        let number = content.number();
        let tlps = writes(&bytes, stamp, (own, first), largest, fx.store());
        if let Some(first) = tlps.first() {
            fx.store().renumber(*first, number);
        }
        self.local.tlps.extend(tlps);
        fx.store().release(packet);
    }
}

/// Most packets that wait to leave by PCI Express: one for each fibre of a usual router.
const AT_THE_EXIT: usize = 4;
