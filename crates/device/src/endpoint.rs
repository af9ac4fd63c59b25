//! The PCI Express core of a device: a link end, the datapath between the link end and the engine, and BAR 0.
//!
//! The engine receives packets through the receive path, and sends packets through the send path.

mod faults;
mod interrupts;
mod poison;
mod resets;
mod send_path;
mod service;
mod timer;
mod vectors;
mod virtual_functions;
mod why;
#[cfg(test)]
pub(crate) use virtual_functions::tests as fixture;

use std::collections::VecDeque;
use std::mem::offset_of;
use std::ops::Range;
use std::sync::Arc;

use kernel::{Action, Component, Effects, Port, Span, Time};
use link::{Arrival, At, Balance, LinkEnd, LinkTimer, Side, Waiting};
use packet::{Charge, Frame, Packet, PacketId, Packets, Pcie};
use protocol::{Bar, Class, FunctionId, Header, Kind, MemoryRequest, Status, TrafficClass};
use transaction::{
    Datapath, FunctionPlace, Functions, Marking, Marks, Memory, Pattern, RequestControl,
    RequesterLimits, Staging,
};

use crate::EndpointParameters;
use faults::Faults;
use interrupts::Tables;
pub(crate) use interrupts::is_enabled;
use resets::Resets;
use send_path::SendPath;
pub use timer::EndpointTimer;
pub use vectors::VectorCounts;
use virtual_functions::VirtualMemory;

/// The configuration of an endpoint.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// The parameters of the endpoint.
    pub parameters: EndpointParameters,
    /// The functions of the endpoint.
    pub functions: Functions,
    /// The link end of the endpoint.
    pub link: LinkEnd,
    /// The pattern of each flow, by number, to check arriving payloads.
    pub patterns: Arc<[Pattern]>,
    /// The traffic class and the attributes of the requests of each flow, by number.
    pub marks: Marks,
}

/// The PCI Express core of a device. The first fields are the ones that every packet needs; together they occupy as few cache lines as possible.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Endpoint {
    /// The datapath from the engine to the wire.
    sending: Datapath,
    /// Boxed, because few endpoints have MSI-X.
    tables: Option<Box<Tables>>,
    /// Boxed, because few endpoints are reset.
    resets: Option<Box<Resets>>,

    /// Packets in the receive path, each with the time at which it reaches the engine.
    inbound: VecDeque<(Time, PacketId)>,
    /// Completions that wait for the datapath, each with the time at which its data is available.
    answers: VecDeque<(Time, PacketId)>,

    /// The packets in the send path: requests of the engine, and all packets of a circuit. None if the path has no latency. Boxed, because few
    /// endpoints have a latency there.
    send_path: Option<Box<SendPath>>,
    engine_wake: Time,
    /// The time at which a background timer wakes the engine for a deadline, such as a completion timeout.
    engine_deadline: Time,
    /// Copies of the parameters `send_latency` and `send_queue`.
    send_latency: Span,
    send_queue: u16,
    /// The balance between bytes of requests and bytes of completions on the datapath.
    balance: Balance,
    /// Whether packets are changed before they are sent: by marking, ECRC or faults.
    changes_packets: bool,
    /// Whether the ECRC of packets that arrive is checked.
    checks_ecrc: bool,

    /// Boxed, because few packets need the functions.
    functions: Box<Functions>,
    generates_ecrc: bool,
    /// `Max_Payload_Size`, from the registers.
    max_payload: u32,
    /// The largest read request in bytes, as the registers and the completion buffer allow.
    max_read_request: u32,
    /// The payload size from which a packet is checked in detail: the max payload size plus 1, or 0 if a traffic class is mapped to no channel.
    checked_from: u32,
    bars: [u64; Bar::COUNT],
    /// The size of BAR 0, which software can reduce if it is resizable.
    bar_size: u64,
    bus_master: bool,
    bar: Memory,
    /// Boxed, because few endpoints have virtual functions.
    virtual_memory: Option<Box<VirtualMemory>>,
    patterns: Arc<[Pattern]>,
    marking: Marking,
    parameters: EndpointParameters,
    /// Faults of the endpoint. Boxed, because nearly no endpoint has any.
    faults: Option<Box<Faults>>,
    /// The datapath from the wire to the engine.
    receiving: Datapath,

    link: LinkEnd,
}

/// The bytes of an [`Endpoint`] that every packet needs, besides the link end.
const PACKETS: Range<usize> = 0..offset_of!(Endpoint, functions);
const _: () = assert!(PACKETS.end <= 192, "three lines of the cache");

/// The only port of an endpoint, and the only source of its wire.
const PORT: Port = Port(0);
const SOURCE: u16 = 0;

/// A component that contains an endpoint.
pub(crate) trait Device:
    Component<Traffic = Pcie, Port = Port, Timer: From<EndpointTimer> + From<(Port, LinkTimer)>>
{
}
impl<C> Device for C
where
    C: Component<Traffic = Pcie, Port = Port>,
    C::Timer: From<EndpointTimer> + From<(Port, LinkTimer)>,
{
}

impl Endpoint {
    /// An endpoint in its initial state.
    pub fn new(config: EndpointConfig) -> Self {
        let parameters = config.parameters;
        let mut endpoint = Endpoint {
            functions: Box::new(config.functions),
            link: config.link,
            max_payload: 0,
            max_read_request: 0,
            checked_from: 0,
            bars: [CLOSED; Bar::COUNT],
            bar_size: parameters.bar.0,
            bus_master: false,
            bar: Memory::new(parameters.bar.0),
            virtual_memory: VirtualMemory::of(&parameters),
            tables: None,
            resets: None,
            patterns: config.patterns,
            marking: Marking::new(config.marks),
            sending: Datapath::new(
                parameters.clock.period(),
                parameters.datapath.0,
                parameters.idle_cycles,
                parameters.straddling.0,
            ),
            receiving: Datapath::new(
                parameters.clock.period(),
                parameters.receive_datapath.0,
                parameters.receive_idle_cycles,
                parameters.receive_straddling.0,
            ),
            send_path: SendPath::new(parameters.send_latency),
            inbound: VecDeque::new(),
            answers: VecDeque::new(),
            balance: Balance::default(),
            changes_packets: false,
            generates_ecrc: false,
            checks_ecrc: false,
            faults: None,
            engine_wake: Time::NEVER,
            engine_deadline: Time::NEVER,
            send_latency: parameters.send_latency,
            send_queue: parameters.send_queue as u16,
            parameters,
        };
        endpoint.apply_registers();
        endpoint
    }

    /// The ID of the physical function.
    pub fn id(&self) -> FunctionId {
        self.functions.id()
    }

    /// The functions of the endpoint.
    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    /// Max payload size in Device Control, in bytes.
    pub fn max_payload(&self) -> u32 {
        self.max_payload
    }

    /// Largest payload of the engine's memory writes, in bytes.
    pub fn write_payload(&self) -> u32 {
        let own = self.parameters.write_payload;
        own.map_or(self.max_payload, |own| self.max_payload.min(own.0 as u32))
    }

    /// The limits of a requester with `tags` tags whose requests take the time `staging` in the engine.
    pub(crate) fn requester_limits(&self, tags: u32, staging: Staging) -> RequesterLimits {
        RequesterLimits {
            outstanding: self.parameters.outstanding(tags),
            staging,
            max_payload: self.write_payload(),
            max_read_request: self.max_read_request,
        }
    }

    /// Max read request size in Device Control, in bytes, or the largest request whose completions fit into the completion buffer, if that is
    /// less.
    pub fn max_read_request(&self) -> u32 {
        self.max_read_request
    }

    /// The tag count and the completion timeout that the registers allow the engine's non-posted requests.
    pub fn requests_allowed(&self) -> RequestControl {
        let space = self.functions.space(FunctionPlace::Own);
        RequestControl {
            tags: space.tags_allowed(),
            completion_timeout: space.completion_timeout(),
        }
    }

    /// Whether the engine may send memory requests; if not, it keeps its requests.
    pub fn is_bus_master(&self) -> bool {
        self.bus_master
    }

    fn apply_registers(&mut self) {
        let space = self.functions.space(FunctionPlace::Own);
        self.max_payload = space.max_payload();
        let completable = self.parameters.completion_buffer().largest_request();
        self.max_read_request = space.max_read_request().min(completable);
        self.link.apply_registers(space, self.functions.id(), false);
        let filters = !self.link.maps_all_classes();
        self.checked_from = if filters { 0 } else { self.max_payload + 1 };
        self.bus_master = space.bus_master_enable();
        self.marking.apply_registers(space);
        self.generates_ecrc = space.generates_ecrc();
        self.changes_packets =
            !self.marking.is_plain() || self.generates_ecrc || self.faults.is_some();
        self.checks_ecrc = space.checks_ecrc();
        self.bars = if space.memory_enable() {
            std::array::from_fn(|index| space.bar_base(index as u8))
        } else {
            [CLOSED; Bar::COUNT]
        };
        self.bar_size = space.bar_size(0).unwrap_or(0);
        if let Some(behind) = &mut self.virtual_memory {
            behind.apply_registers(space);
        }
        self.apply_to_tables();
    }

    /// The pattern of each flow.
    pub(crate) fn patterns(&self) -> Arc<[Pattern]> {
        self.patterns.clone()
    }

    /// The link end of the endpoint.
    pub fn link(&self) -> &LinkEnd {
        &self.link
    }

    /// The bytes behind BAR 0.
    pub fn bar(&self) -> &Memory {
        &self.bar
    }

    /// The bytes behind BAR 0, mutable, to be filled before a run.
    pub fn bar_mut(&mut self) -> &mut Memory {
        &mut self.bar
    }

    /// Prefetches the data that the next event needs into the processor's cache.
    #[inline]
    pub(crate) fn prefetch(&self, action: &Action<Frame>) {
        kernel::prefetch(self, PACKETS);
        self.link
            .prefetch(matches!(action, Action::Receive(_, Frame::Tlp(_))));
    }

    /// Prefetches the link's lists of packets into the processor's cache.
    #[inline]
    pub(crate) fn prefetch_rest(&self, packets: &Packets) {
        self.link.prefetch_packets(packets);
    }

    pub(crate) fn start<C: Device>(&mut self, fx: &mut Effects<'_, C>) {
        self.link.start(&mut At::new(fx, PORT));
    }

    /// Handles a frame. A packet waits until [`Endpoint::take`] takes it. Returns false if the engine has nothing to do before a later timer.
    pub(crate) fn receive<C: Device>(&mut self, frame: Frame, fx: &mut Effects<'_, C>) -> bool {
        let (arrival, _) = self.link.receive(frame, &mut At::new(fx, PORT));
        if let Some(Arrival::Packet(delivery)) = arrival {
            if self.checks_ecrc && self.drops_damaged(delivery.packet, fx) {
                return true;
            }
            let mut due = fx.now() + self.parameters.receive_latency;
            if !self.receiving.is_unlimited() {
                let bytes = fx.store()[delivery.packet].bytes().len() as u64;
                due = self.receiving.pass(due, bytes);
            }
            self.inbound.push_back((due, delivery.packet));
            if due > fx.now() {
                fx.wake(EndpointTimer::Inbound.into(), due.since(fx.now()));
                return false;
            }
        }
        true
    }

    pub(crate) fn expire<C: Device>(&mut self, timer: EndpointTimer, fx: &mut Effects<'_, C>) {
        match timer {
            EndpointTimer::Link(timer) => {
                self.link.expire(timer, &mut At::new(fx, PORT));
                if matches!(timer, LinkTimer::Errors | LinkTimer::Training) {
                    self.report_link(fx);
                }
            }
            EndpointTimer::Inbound => {}
            EndpointTimer::Engine => {
                if fx.now() >= self.engine_wake {
                    self.engine_wake = Time::NEVER;
                }
                if fx.now() >= self.engine_deadline {
                    self.engine_deadline = Time::NEVER;
                }
            }
        }
    }

    /// Whether a packet has reached the engine, or a completion may be sent.
    pub(crate) fn has_work(&self, now: Time) -> bool {
        let has_come = |queue: &VecDeque<(Time, PacketId)>| {
            let first = queue.front();
            first.is_some_and(|(due, _)| *due <= now)
        };
        self.tables.is_some() || has_come(&self.inbound) || has_come(&self.answers)
    }

    /// The header of the next packet that has reached the engine.
    pub(crate) fn front<C: Device>(&mut self, fx: &mut Effects<'_, C>) -> Option<Header> {
        if self.tables.is_some() {
            self.serve_tables(fx);
        }
        let (due, packet) = self.inbound.front()?;
        let header = *fx.store()[*packet].header();
        if *due > fx.now() {
            return None;
        }
        if header.poisoned && header.class() != Class::Completion {
            return self.front_behind_poison(fx);
        }
        Some(header)
    }

    /// Takes the next packet that has reached the engine, and frees its receive buffer.
    pub(crate) fn take<C: Device>(&mut self, fx: &mut Effects<'_, C>) -> Option<PacketId> {
        let (packet, charge) = self.take_held(fx)?;
        self.free(charge, fx);
        Some(packet)
    }

    /// Takes the next packet that has reached the engine. It occupies the receive buffer until its charge is [freed](Self::free).
    pub(crate) fn take_held<C: Device>(
        &mut self,
        fx: &mut Effects<'_, C>,
    ) -> Option<(PacketId, Charge)> {
        if self.tables.is_some() {
            self.serve_tables(fx);
        }
        let (_, packet) = self.inbound.pop_front_if(|(due, _)| *due <= fx.now())?;
        let content = &fx.store()[packet];
        let (header, charge) = (content.header(), content.charge());
        if header.poisoned {
            return self.take_poisoned(packet, charge, fx);
        }
        if let Kind::Completion(completion) = &header.kind
            && completion.status != Status::Successful
        {
            self.functions.record_abort(completion);
        }
        Some((packet, charge))
    }

    /// Frees the receive buffer of a packet.
    pub(crate) fn free<C: Device>(&mut self, charge: Charge, fx: &mut Effects<'_, C>) {
        self.link.free(charge, &mut At::new(fx, PORT));
    }

    /// Sends a completion by the datapath, from `due` on.
    pub(crate) fn reply(&mut self, due: Time, packet: PacketId) {
        self.answers.push_back((due, packet));
    }

    pub(crate) fn base_of(&self, bar: usize) -> u64 {
        self.bars[bar]
    }

    /// The offset of a request in a BAR, if the first `size` bytes of the BAR contain the whole request.
    pub(crate) fn offset_in(&self, bar: u8, size: u64, request: &MemoryRequest) -> Option<u64> {
        let base = self.bars[usize::from(bar)];
        let at = request.first_byte().checked_sub(base)?;
        (at.checked_add(request.byte_len().into())? <= size).then_some(at)
    }

    /// Whether the send path can accept a request of the engine now. If not, the engine is run again when the send path can.
    ///
    /// The limit of the send path does not apply to completions, because the number of the requests that they answer is limited. Requests and
    /// completions share the datapath according to their byte balance, and the wire in the same way. Messages that masks have held back are sent
    /// first.
    #[inline]
    pub(crate) fn is_open<C: Device>(&mut self, fx: &mut Effects<'_, C>) -> bool {
        let now = fx.now();
        if self.balance.next() == Side::Completer
            && let Some(packet) = self.next_answer(fx)
        {
            self.hand_over(packet, fx);
        }
        loop {
            if self.waiting() >= self.limit() {
                // The next departure on the link runs the engine again.
                return false;
            }
            if self.sending.opens() > now {
                self.wake_engine(self.sending.opens(), fx);
                return false;
            }
            if self.tables.is_some()
                && let Some(packet) = self.released(fx)
            {
                self.hand_over(packet, fx);
                continue;
            }
            return true;
        }
    }

    /// The largest number of requests that may wait for the wire.
    ///
    /// A completion does not pass older posted requests, so a deep queue of them would delay completions. While completions wait, the limit
    /// is therefore just large enough to keep the wire busy.
    fn limit(&self) -> usize {
        let completions = self.answers.len() + self.link.waiting_on(Side::Completer);
        let most = usize::from(self.send_queue);
        if completions == 0 {
            most
        } else {
            most.min(completions.max(BUSY))
        }
    }

    /// Sends completions, and messages that masks have held back, through the capacity of the send path that the engine's requests do not use.
    pub(crate) fn send_rest<C: Device>(&mut self, fx: &mut Effects<'_, C>) {
        if self.tables.is_some() {
            self.is_open(fx);
        }
        if !self.answers.is_empty() {
            self.send_answers(fx);
        }
    }

    fn send_answers<C: Device>(&mut self, fx: &mut Effects<'_, C>) {
        while let Some(packet) = self.next_answer(fx) {
            // No request can leave now, so this completion does not count in the balance.
            let balance = self.balance;
            self.hand_over(packet, fx);
            self.balance = balance;
        }
    }

    /// Takes the next completion, if the datapath can accept it now. If not, the engine is run again when the datapath can.
    fn next_answer<C: Device>(&mut self, fx: &mut Effects<'_, C>) -> Option<PacketId> {
        let (due, packet) = self.answers.front().copied()?;
        let due = due.max(self.sending.opens());
        if due > fx.now() {
            self.wake_engine(due, fx);
            return None;
        }
        self.answers.pop_front();
        Some(packet)
    }

    /// Whether the link has virtual channels besides VC0, so that the packets of some classes do not wait for packets of other classes.
    pub(crate) fn has_channels(&self) -> bool {
        self.link.has_channels()
    }

    /// Whether the datapath can take a request of `class` now although it is not [open](Self::is_open) to every request, because the
    /// requests that wait for the wire use other virtual channels.
    pub(crate) fn is_open_besides(&self, class: TrafficClass, now: Time) -> bool {
        let in_channel = |kind| {
            let charge = Charge {
                traffic_class: class,
                class: kind,
                data: 0,
            };
            self.link.waiting_like(SOURCE, &charge)
        };
        let ahead = in_channel(Class::Posted) + in_channel(Class::NonPosted);
        self.sending.opens() <= now && ahead < self.limit()
    }

    /// Number of packets of coherence messages that wait for the wire.
    pub(crate) fn coherence_waiting(&self) -> usize {
        self.posted_waiting(TrafficClass::COHERENCE)
    }

    /// The time at which the engine's last posted request is transmitted, once no posted request waits. Must be called after every event, while
    /// no other packet uses the wire.
    pub(crate) fn posted_gone(&self) -> Option<Time> {
        self.posted_gone_but(0)
    }

    /// The time at which all posted requests of the engine are transmitted, except the last `later` ones; `None` while any of them waits. Like
    /// [`posted_gone`](Self::posted_gone), this function must be called after every event.
    pub(crate) fn posted_gone_but(&self, later: u64) -> Option<Time> {
        let waiting = self.posted_waiting(TrafficClass::default());
        (waiting as u64 <= later).then(|| self.link.busy_until())
    }

    fn posted_waiting(&self, traffic_class: TrafficClass) -> usize {
        let charge = Charge {
            traffic_class,
            class: Class::Posted,
            data: 0,
        };
        self.link.waiting_like(SOURCE, &charge)
    }

    /// Adds a packet to the queue of the wire, without the datapath.
    pub(crate) fn send<C: Device>(&mut self, packet: PacketId, fx: &mut Effects<'_, C>) {
        let now = fx.now();
        if self.generates_ecrc {
            fx.store()[packet].add_digest();
        }
        let waiting = Waiting::new(packet, fx.store(), now);
        self.link.enqueue(SOURCE, waiting, &mut At::new(fx, PORT));
    }

    /// Number of requests that have left the send path and wait for the wire.
    fn waiting(&self) -> usize {
        let waiting = self.link.waiting_on(Side::Requester);
        waiting.saturating_sub(self.most_in_send_path())
    }

    /// The largest number of packets before the wire that can be in the send path, and do not wait behind it.
    fn most_in_send_path(&self) -> usize {
        self.send_path.as_ref().map_or(0, |path| path.most())
    }

    /// Counts a packet as the newest one in the send path.
    fn enter_send_path(&mut self, packet: &Packet) {
        if let Some(path) = &mut self.send_path {
            let mut time = self.link.timing().length(packet.wire_len());
            if !self.sending.is_unlimited() {
                time = time.max(self.sending.time_of(packet.bytes().len() as u64));
            }
            path.enter(time);
        }
    }

    /// Schedules a wake-up of the engine at `time`, unless an earlier one is scheduled or `time` is never.
    pub(crate) fn wake_engine<C: Device>(&mut self, time: Time, fx: &mut Effects<'_, C>) {
        if time < self.engine_wake {
            self.engine_wake = time;
            fx.wake(EndpointTimer::Engine.into(), time.since(fx.now()));
        }
    }

    /// Wakes the engine at `time`, when an unanswered request times out. The run waits for this wake-up only if no other event is left
    /// ([`Leaf::deadline`](crate::Leaf::deadline)).
    pub(crate) fn wake_engine_in_background<C: Device>(
        &mut self,
        time: Time,
        fx: &mut Effects<'_, C>,
    ) {
        if time < self.engine_deadline && time > fx.now() {
            self.engine_deadline = time;
            fx.wake_in_background(EndpointTimer::Engine.into(), time.since(fx.now()));
        }
    }

    /// The time of the next wake-up of the engine that is scheduled.
    pub(crate) fn next_wake(&self) -> Time {
        self.engine_wake.min(self.engine_deadline)
    }

    /// Number of packets of a circuit that can enter the send path before it is full.
    pub(crate) fn openings(&self) -> u32 {
        let waiting = self.link.waiting();
        let waiting = waiting.saturating_sub(self.most_in_send_path());
        u32::from(self.send_queue).saturating_sub(waiting as u32)
    }

    /// Sends a packet whose first beat the engine's own datapath transferred at `began`, which may be earlier than now.
    pub(crate) fn hand_over_at<C: Device>(
        &mut self,
        began: Time,
        packet: PacketId,
        fx: &mut Effects<'_, C>,
    ) {
        let packet = if self.changes_packets {
            self.as_sent(packet, fx.store())
        } else {
            packet
        };
        let ready = fx.now().max(began + self.send_latency);
        self.enter_send_path(&fx.store()[packet]);
        let waiting = Waiting::new(packet, fx.store(), ready);
        self.link.enqueue(SOURCE, waiting, &mut At::new(fx, PORT));
    }

    /// Sends a packet through the datapath, which must be [open](Endpoint::is_open). Returns the time at which the last beat has passed.
    pub(crate) fn hand_over<C: Device>(
        &mut self,
        mut packet: PacketId,
        fx: &mut Effects<'_, C>,
    ) -> Time {
        let now = fx.now();
        if self.changes_packets {
            packet = self.as_sent(packet, fx.store());
        }
        let ready = now + self.send_latency;
        let waiting = Waiting::new(packet, fx.store(), ready);
        let mut passed = now;
        let side = Side::of(waiting.charge.class);
        if self.send_path.is_some() && side == Side::Requester {
            self.enter_send_path(&fx.store()[packet]);
        }
        if !self.sending.is_unlimited() {
            let bytes = fx.store()[packet].bytes().len() as u16;
            passed = self.sending.pass(now, bytes.into());
            if side == Side::Completer || self.owes(now) {
                self.balance.count(side, bytes);
            }
        }
        self.link.enqueue(SOURCE, waiting, &mut At::new(fx, PORT));
        passed
    }

    /// Whether a completion waits for the datapath.
    fn owes(&self, now: Time) -> bool {
        self.answers.front().is_some_and(|(due, _)| *due <= now)
    }
}

/// A number of packets that is enough to keep any link busy; the default of `send_queue`.
const BUSY: usize = 8;

/// The base address of a disabled BAR. No request has this address.
const CLOSED: u64 = u64::MAX;

/// Read completion boundary of a device's completions (PCIe Base 2.3.1.1).
const BOUNDARY: u32 = 128;
