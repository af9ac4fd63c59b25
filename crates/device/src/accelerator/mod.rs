//! An accelerator with a coherent cache: its logic accesses the host's memory by virtual addresses.
//!
//! Its agent exchanges coherence messages with the home agent, on their own virtual channel. It sends translation requests as
//! ordinary PCI Express packets.

mod engine;
mod lines;
mod parameters;
mod target;
mod translations;

use coherence::Agent;
use kernel::{Component, Effects, Port, Time};
use packet::{Frame, Observation, PacketId, Pcie, Refusal};
use protocol::coherence::{AgentId, LINE_BYTES, LineData};
use protocol::{
    AddressTranslation, Ats, Bar, Invalidation, Kind, Message, PageRange, PageRequests,
    TrafficClass,
};
use transaction::{
    AccessKind, Accesses, FunctionPlace, LockedWork, Mapping, OneAccess, Packing, messages,
};

use crate::commands::{Abilities, Commands, REGISTERS, Served, Work, Works};
use crate::leaf::abandon;
use crate::requests::Tags;
use crate::{
    Endpoint, EndpointConfig, EndpointParameters, EndpointTimer, Leaf, LeafParameters, Properties,
    leaf,
};
use engine::Engine;
pub use lines::CacheCounters;
use lines::{Begun, Initiator, LineAccess, Lines, Operation, Outcome};
pub use parameters::AcceleratorParameters;
use target::target;
pub use translations::RoundTrips;
use translations::Translations;

/// An accelerator.
#[derive(Debug)]
pub struct Accelerator {
    endpoint: Endpoint,
    lines: Lines,
    /// The address translation; none if the accelerator uses physical addresses. It is boxed because every component of a fabric occupies as
    /// much memory as the largest component type.
    translations: Option<Box<Translations>>,
    commands: Commands,
    works: Works<Progress>,
    engines: Vec<Engine>,
    /// Number of parts that have found poisoned data since the last report.
    poisoned: u32,
}

/// The progress of a sequence of accesses.
#[derive(Debug, Default)]
struct Progress {
    /// The access that software has started, as long as it has not begun.
    commanded: Option<OneAccess>,
    current: Option<Current>,
}

#[derive(Clone, Copy, Debug)]
struct Current {
    one: OneAccess,
    /// Bytes for which a part has begun.
    issued: u64,
    /// The number of lines that are outstanding.
    open: u32,
    /// The time at which the last arrived line is available.
    finish: Time,
    intact: bool,
    /// Whether the access has failed: an address is not mapped, or must not be written.
    failed: bool,
}

impl Component for Accelerator {
    type Traffic = Pcie;
    type Port = Port;
    type Timer = EndpointTimer;

    fn start(&mut self, fx: &mut Effects<'_, Self>) {
        self.endpoint.start(fx);
        let fails_at = self.endpoint.link().fails_at();
        if fails_at < Time::NEVER {
            fx.wake(EndpointTimer::Inbound, fails_at.since(fx.now()));
        }
    }

    fn receive(&mut self, _: Port, frame: Frame, fx: &mut Effects<'_, Self>) {
        if self.endpoint.receive(frame, fx) {
            leaf::run(self, fx);
        }
    }

    fn expire(&mut self, timer: EndpointTimer, fx: &mut Effects<'_, Self>) {
        self.endpoint.expire(timer, fx);
        leaf::run(self, fx);
    }
}

impl LeafParameters for AcceleratorParameters {
    fn bars(&self, endpoint: &EndpointParameters, _: Option<Bar>) -> Vec<Bar> {
        endpoint.bar().into_iter().chain([REGISTERS]).collect()
    }

    fn properties(&self) -> Properties {
        let ats = Ats {
            invalidate_queue_depth: 32,
            global_invalidate: true,
        };
        let requests = PageRequests {
            capacity: self.page_requests,
        };
        Properties {
            tags: self.translation_requests,
            // One interrupt signals the end of an access that software has started.
            interrupts: 1,
            address_translation: self.virtual_addresses.then(|| AddressTranslation {
                ats,
                page_requests: (self.page_requests > 0).then_some(requests),
            }),
            has_virtual_addresses: self.virtual_addresses,
            is_coherent: true,
            ..Properties::default()
        }
    }
}

leaf::has_endpoint!(Accelerator);

impl Leaf for Accelerator {
    /// The accesses that have begun end with an error. Work under locks waits until the function may send requests again. The cache does not
    /// belong to the function: it keeps its lines, and still answers the home agent.
    fn reset(&mut self, place: FunctionPlace, fx: &mut Effects<'_, Self>) {
        if place != FunctionPlace::Own {
            return;
        }
        self.commands.reset();
        if let Some(translations) = &mut self.translations {
            translations.reset();
        }
        self.apply_registers();
        let now = fx.now();
        let begun = |work: &&mut Work<Progress>| work.accesses.what.start <= now;
        for work in self.works.all.iter_mut().filter(begun) {
            work.state.commanded = None;
            if let Some(current) = &mut work.state.current {
                // The access stays the current one because its outstanding lines will still arrive.
                current.failed = true;
            }
            abandon(&mut work.accesses, fx);
        }
    }

    fn run(&mut self, fx: &mut Effects<'_, Self>) {
        if self.endpoint.link().has_failed(fx.now()) {
            return self.give_up(fx);
        }
        while let Some(packet) = self.endpoint.take(fx) {
            self.take(packet, fx);
        }
        if let Some(translations) = &mut self.translations {
            translations.give_up(&mut self.endpoint, fx);
            while let Some(error) = translations.errors.pop_front() {
                fx.observe(Observation::event(error));
            }
        }
        self.works.announce(fx);
        for work in 0..self.works.all.len() {
            while self.go_on(work, fx) {}
        }
        self.go_on_with_engines(fx);
        for _ in 0..std::mem::take(&mut self.poisoned) {
            fx.observe(POISON_READ);
        }
        self.send(fx);
        self.wake(fx);
    }
}

impl Accelerator {
    /// An accelerator without work. Its coherent agent has the ID `agent`, and `packing` defines how its messages are packed. Its cache
    /// geometries must be valid.
    pub fn new(
        endpoint: EndpointConfig,
        parameters: &AcceleratorParameters,
        (agent, packing): (AgentId, Packing),
    ) -> Self {
        let send_latency = endpoint.parameters.send_latency;
        let abilities = Abilities {
            card: None,
            is_bound_by_pcie: false,
        };
        let commands = Commands::new(abilities, endpoint.parameters.clock.period());
        let limits = endpoint
            .parameters
            .outstanding(parameters.translation_requests);
        let endpoint = Endpoint::new(endpoint);
        let translations = parameters.virtual_addresses.then(|| {
            let tags = Tags::new(limits, &endpoint);
            Box::new(Translations::new(endpoint.id(), parameters, tags))
        });
        let mut accelerator = Accelerator {
            lines: Lines::new(agent, packing, send_latency, parameters),
            translations,
            endpoint,
            commands,
            works: Works::default(),
            engines: Vec::new(),
            poisoned: 0,
        };
        accelerator.apply_registers();
        accelerator
    }

    /// Applies the configuration registers to the address translation.
    fn apply_registers(&mut self) {
        if let Some(translations) = &mut self.translations {
            translations.apply_registers(&self.endpoint);
        }
    }

    /// The coherent agent.
    pub fn agent(&self) -> &Agent<LineData> {
        &self.lines.agent
    }

    /// The counters of the cache.
    pub fn cache(&self) -> CacheCounters {
        self.lines.counters
    }

    /// The round-trip times of translation requests to the host.
    pub fn round_trips(&self) -> RoundTrips {
        let translations = self.translations.as_ref();
        translations.map_or(RoundTrips::default(), |all| all.round_trips)
    }

    /// Adds a sequence of accesses, and returns the number by which software can start them, from 1.
    pub fn add_accesses(&mut self, accesses: Accesses) -> u32 {
        self.works.add(accesses)
    }

    /// Adds a sequence of work under locks.
    pub fn add_locked(&mut self, work: LockedWork) {
        self.engines.push(Engine::new(work));
    }

    /// Adds a translation to the cache without a request.
    pub fn warm(&mut self, mapping: Mapping) {
        if let Some(translations) = &mut self.translations {
            translations.warm(mapping);
        }
    }

    /// Ends all accesses because the link has failed.
    fn give_up(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some(packet) = self.endpoint.take(fx) {
            fx.store().release(packet);
        }
        for work in &mut self.works.all {
            work.state = Progress::default();
            abandon(&mut work.accesses, fx);
        }
        for engine in &mut self.engines {
            engine.give_up(fx);
        }
    }

    fn take(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        match self.commands.serve(packet, &mut self.endpoint, fx) {
            Served::Start(command) => {
                let (number, one, _) = self.works.begin_commanded(&command, now);
                self.works.all[number].state.commanded = Some(one);
                return;
            }
            Served::Here => return,
            Served::Elsewhere => {}
        }
        let content = &fx.store()[packet];
        let header = *content.header();
        match &header.kind {
            Kind::Coherence(_) => {
                for message in messages(content.payload()) {
                    match self.lines.receive(message, now) {
                        Outcome::Ready(part, end) => self.perform(part, end),
                        Outcome::Done(part, end, old) => match part.initiator {
                            Initiator::Work(work) => {
                                let data = old.map(|_| true);
                                self.end_part(work, end, data);
                            }
                            Initiator::Engine(engine) => self.answer_locked(engine, end, old),
                        },
                        Outcome::Nothing => {}
                    }
                }
                fx.store().release(packet);
            }
            Kind::Completion(completion) => {
                if let Some(translations) = &mut self.translations {
                    translations.take(packet, completion, &mut self.endpoint, fx);
                } else {
                    let why = Refusal::UnexpectedCompletion;
                    self.endpoint.refuse(packet, why, fx);
                }
            }
            Kind::Message(request) => {
                let payload = content.payload().first_chunk().copied();
                let Some(translations) = &mut self.translations else {
                    return self.endpoint.serve(packet, fx);
                };
                match request.message {
                    Message::PageGroupResponse {
                        group, response, ..
                    } => translations.take_page_response(group, response, now),
                    Message::InvalidateRequest { tag, .. } => {
                        let what = payload.and_then(|bytes| Invalidation::parse(bytes).ok());
                        let range = what.map_or(PageRange::ALL, |what| what.range);
                        let begun = self.lines.begun;
                        translations.invalidate(request.requester, tag, &range, begun);
                    }
                    _ => return self.endpoint.serve(packet, fx),
                }
                fx.store().release(packet);
            }
            _ => {
                self.endpoint.serve(packet, fx);
                if matches!(header.kind, Kind::ConfigWrite(_)) {
                    self.apply_registers();
                }
            }
        }
    }

    /// Advances a sequence of accesses. Returns true if the sequence may advance further now.
    fn go_on(&mut self, number: usize, fx: &mut Effects<'_, Self>) -> bool {
        let now = fx.now();
        let Work {
            accesses, state, ..
        } = &mut self.works.all[number];
        let Some(current) = &state.current else {
            let is_due = !accesses.is_over() && accesses.next_start() <= now;
            if !self.endpoint.is_bus_master() || !is_due && state.commanded.is_none() {
                return false;
            }
            let commanded = state.commanded.take();
            let one = commanded.unwrap_or_else(|| accesses.begin(now));
            if let Some(translations) = &mut self.translations {
                // All pages of the access are looked up when it begins, even if the first look-up fails.
                let first = accesses.what.address + one.offset;
                for page in pages(first, one.size) {
                    translations.find(page, now);
                }
            }
            state.current = Some(Current {
                one,
                issued: 0,
                open: 0,
                finish: now,
                intact: true,
                failed: false,
            });
            return true;
        };
        let all = current.failed || current.issued == current.one.size;
        if !all {
            return self.issue(number, fx);
        }
        if current.open > 0 {
            return false;
        }
        let Current {
            one,
            finish,
            intact,
            failed,
            ..
        } = *current;
        state.current = None;
        if accesses.what.driven {
            self.commands.end(finish, failed);
        }
        let told = if failed {
            accesses.fail(one, finish)
        } else {
            accesses.end(one, finish, intact)
        };
        if let Some(told) = told {
            fx.foresee(finish, told);
        }
        true
    }

    /// Begins a part of the current access with the next line. Returns false if the part must wait.
    fn issue(&mut self, number: usize, fx: &mut Effects<'_, Self>) -> bool {
        if !self.lines.is_open() {
            return false;
        }
        let now = fx.now();
        let Work {
            accesses, state, ..
        } = &mut self.works.all[number];
        let Some(current) = &mut state.current else {
            return false;
        };
        let (what, one) = (&accesses.what, current.one);
        let offset = current.one.offset + current.issued;
        let Some(target) = target(&mut self.translations, what.address + offset, now) else {
            return false;
        };
        let Some(address) = target.address(one.kind != AccessKind::Read) else {
            current.failed = true;
            return true;
        };
        let room = LINE_BYTES - address as usize % LINE_BYTES;
        let len = room.min((one.size - current.issued) as usize);
        let part = LineAccess {
            initiator: Initiator::Work(number),
            operation: match one.kind {
                AccessKind::Read => Operation::Read,
                AccessKind::Write => Operation::Write,
                AccessKind::Atomic(atomic) => Operation::Atomic(atomic.on(address, len)),
            },
            address,
            len,
            offset,
        };
        let begun = self.lines.begin(part, now);
        if begun == Begun::Wait {
            return false;
        }
        current.issued += len as u64;
        current.open += 1;
        if let Begun::Hit(end) = begun {
            self.perform(part, end);
        }
        true
    }

    /// Performs a part whose line is available; it ends at `end`.
    fn perform(&mut self, part: LineAccess, end: Time) {
        let Initiator::Work(work) = part.initiator else {
            return self.perform_locked(part, end);
        };
        let what = &self.works.all[work].accesses.what;
        let data = match part.operation {
            Operation::Read => {
                let bytes = self.lines.read(part);
                bytes.map(|bytes| !what.check || what.pattern.matches(part.offset, bytes))
            }
            Operation::Write => {
                let mut bytes = [0; LINE_BYTES];
                what.pattern.fill(part.offset, &mut bytes[..part.len]);
                self.lines.write(part, &bytes[..part.len]);
                Some(true)
            }
            Operation::Atomic(atomic) => self.lines.change(&atomic, part).map(|_| true),
        };
        self.end_part(work, end, data);
    }

    /// Ends a part of an access. `data` is true if its data is as expected; it is none if the data is poisoned, and the access fails.
    fn end_part(&mut self, work: usize, end: Time, data: Option<bool>) {
        self.poisoned += u32::from(data.is_none());
        let current = self.works.all[work].state.current.as_mut();
        let current = current.expect("a part belongs to the current access");
        current.open -= 1;
        current.finish = current.finish.max(end);
        current.intact &= data.unwrap_or(true);
        current.failed |= data.is_none();
    }

    fn send(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        while is_open(&mut self.endpoint, fx) {
            let lines = &self.lines;
            let next = self.translations.as_mut().and_then(|all| {
                all.next_invalidate_completion(|begun| lines.have_ended(begun), fx.store())
                    .or_else(|| all.next(now, fx.store()))
            });
            let Some(packet) = next else {
                break;
            };
            self.endpoint.hand_over(packet, fx);
        }
        while self.endpoint.coherence_waiting() < AHEAD {
            let Some(packet) = self.lines.outbox.next(now, fx.store()) else {
                break;
            };
            self.endpoint.send(packet, fx);
        }
        self.commands
            .send_interrupts(&mut self.endpoint, is_open, fx);
    }

    /// Schedules a wake-up for the next event.
    fn wake(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let works = self
            .works
            .all
            .iter()
            .filter(|work| work.state.current.is_none() && !work.accesses.is_over());
        let works = works.map(|work| work.accesses.next_start());
        let outbox = self.lines.outbox.next_time();
        let translations = self.translations.as_mut();
        let translations = translations.map(|all| all.next_time(now));
        let engines = self.engines.iter().map(Engine::next_time);
        let ended = std::iter::once(self.commands.next_time());
        let all = works
            .chain(engines)
            .chain(outbox)
            .chain(translations)
            .chain(ended);
        if let Some(next) = all.filter(|time| *time > now).min() {
            self.endpoint.wake_engine(next, fx);
        }
    }
}

/// Whether the send path can take a request. Coherence messages have a channel of their own and do not block requests.
fn is_open(endpoint: &mut Endpoint, fx: &mut Effects<'_, Accelerator>) -> bool {
    endpoint.is_open(fx) || endpoint.is_open_besides(TrafficClass::default(), fx.now())
}

/// An address in each 4 KiB page of the `len` bytes at `first`.
fn pages(first: u64, len: u64) -> impl Iterator<Item = u64> {
    let next = (first & !(PAGE - 1)) + PAGE;
    std::iter::once(first).chain((next..first + len).step_by(PAGE as usize))
}

const PAGE: u64 = 4096;

/// The event: an access finds poisoned data in the cache or at the home agent, and fails.
const POISON_READ: Observation = Observation::event("an access finds poisoned data");

/// The most packets of coherence messages that wait for the wire. One packet may wait behind the packet in transmission, so that later messages
/// are packed together into the next packet.
const AHEAD: usize = 1;
