//! An accelerator with a coherent cache: accesses to the host's memory by virtual addresses, as its own logic would make them.
//!
//! Its agent speaks to the home agent in coherence messages, on a virtual channel of their own; translations are asked for
//! beside them, as PCI Express asks.

mod engine;
mod lines;
mod parameters;
mod translations;
mod way;

use coherence::Agent;
use kernel::{Component, Effects, Port, Time};
use packet::{Frame, Observation, PacketId, Pcie, Refusal};
use protocol::coherence::{AgentId, LINE_BYTES, LineData};
use protocol::{Invalidation, Kind, Message, PageRange};
use transaction::{
    AccessKind, AccessLoop, Accesses, LockedWork, Mapping, OneAccess, Packing, Place, messages,
};

use crate::{Endpoint, EndpointConfig, EndpointTimer};
use engine::Engine;
pub use lines::CacheCounters;
use lines::{Begun, Brought, Deed, Lines, Maker, Part};
pub use parameters::AcceleratorParameters;
pub use translations::RoundTrips;
use translations::Translations;
use way::way;

/// How an accelerator is built.
#[derive(Clone, Debug)]
pub struct AcceleratorConfig {
    /// Its core, and how long that takes to send.
    pub endpoint: EndpointConfig,
    /// Its parameters, whose caches can be built.
    pub parameters: AcceleratorParameters,
    /// What the host calls its agent.
    pub agent: AgentId,
    /// How the host wants messages packed.
    pub packing: Packing,
}

/// An accelerator.
#[derive(Debug)]
pub struct Accelerator {
    endpoint: Endpoint,
    lines: Lines,
    /// None where addresses are physical.
    translations: Option<Translations>,
    works: Vec<Work>,
    engines: Vec<Engine>,
}

/// Accesses one after the other, and the one that has begun.
#[derive(Debug)]
struct Work {
    accesses: AccessLoop,
    /// Whether the probes know how many there will be.
    announced: bool,
    current: Option<Current>,
}

#[derive(Clone, Copy, Debug)]
struct Current {
    one: OneAccess,
    /// Bytes of which the lines were looked at.
    issued: u64,
    /// Lines that are awaited.
    open: u32,
    /// When the last of those that came are there.
    finish: Time,
    intact: bool,
    /// Whether it goes no further: an address leads nowhere, or may not be written.
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
            self.run(fx);
        }
    }

    fn expire(&mut self, timer: EndpointTimer, fx: &mut Effects<'_, Self>) {
        self.endpoint.expire(timer, fx);
        self.run(fx);
    }
}

impl Accelerator {
    /// An accelerator with nothing to do.
    pub fn new(config: AcceleratorConfig) -> Self {
        let AcceleratorConfig {
            endpoint,
            parameters,
            agent,
            packing,
        } = config;
        let send_latency = endpoint.parameters.send_latency;
        let endpoint = Endpoint::new(endpoint);
        let virtual_addresses = parameters.virtual_addresses;
        let mut accelerator = Accelerator {
            lines: Lines::new(agent, packing, send_latency, &parameters),
            translations: virtual_addresses.then(|| Translations::new(endpoint.id(), &parameters)),
            endpoint,
            works: Vec::new(),
            engines: Vec::new(),
        };
        accelerator.obey();
        accelerator
    }

    /// Takes over what the registers say of translations.
    fn obey(&mut self) {
        let space = self.endpoint.functions().space(Place::Own);
        if let Some(translations) = &mut self.translations {
            let pages = if space.page_requests_enabled() {
                space.page_request_allocation()
            } else {
                0
            };
            translations.allow(space.ats_enabled(), pages);
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

    /// Its agent.
    pub fn agent(&self) -> &Agent<LineData> {
        self.lines.agent()
    }

    /// What its cache has done.
    pub fn cache(&self) -> CacheCounters {
        self.lines.counters()
    }

    /// How long the host took to translate addresses for it.
    pub fn round_trips(&self) -> RoundTrips {
        let translations = self.translations.as_ref();
        translations.map_or(RoundTrips::default(), Translations::round_trips)
    }

    /// Gives it accesses to make, one after the other.
    pub fn add_accesses(&mut self, accesses: Accesses) {
        self.works.push(Work {
            accesses: AccessLoop::new(accesses),
            announced: false,
            current: None,
        });
    }

    /// Gives it work under locks, one piece after the other.
    pub fn add_locked(&mut self, work: LockedWork) {
        self.engines.push(Engine::new(work));
    }

    /// Gives it a translation that it need not ask for.
    pub fn warm(&mut self, mapping: Mapping) {
        if let Some(translations) = &mut self.translations {
            translations.warm(mapping);
        }
    }

    /// Takes in what has arrived, goes on with the accesses and sends what may go.
    pub fn run(&mut self, fx: &mut Effects<'_, Self>) {
        if self.endpoint.link().has_failed(fx.now()) {
            return self.give_up(fx);
        }
        while let Some(packet) = self.endpoint.take(fx) {
            self.take(packet, fx);
        }
        if let Some(translations) = &mut self.translations {
            for _ in 0..translations.give_up(fx.now()) {
                self.endpoint.record_timeout(Place::Own);
            }
        }
        for work in 0..self.works.len() {
            while self.go_on(work, fx) {}
        }
        self.go_on_with_engines(fx);
        self.send(fx);
        self.wake(fx);
    }

    /// The link has failed: no access ends any more, whatever came before.
    fn give_up(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some(packet) = self.endpoint.take(fx) {
            fx.store().release(packet);
        }
        for work in &mut self.works {
            work.current = None;
            let what = &work.accesses.what;
            let (flow, size) = (what.flow, what.size);
            for _ in 0..work.accesses.abandon() {
                let bytes = size as u32;
                fx.observe(Observation::Failed { flow, bytes });
            }
        }
        for engine in &mut self.engines {
            engine.give_up(fx);
        }
    }

    fn take(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let content = &fx.store()[packet];
        let header = *content.header();
        match &header.kind {
            Kind::Coherence(_) => {
                for message in messages(content.payload()) {
                    match self.lines.receive(message, now) {
                        Brought::Ready(part, end) => self.perform(part, end),
                        Brought::Done(part, end, old) => match part.maker {
                            Maker::Work(work) => self.end_part(work, end, true),
                            Maker::Engine(engine) => self.engines[engine].answer(end, old),
                        },
                        Brought::Nothing => {}
                    }
                }
                fx.store().release(packet);
            }
            Kind::Completion(completion) => {
                let payload = content.payload();
                let translations = self.translations.as_mut();
                if translations.is_none_or(|all| !all.take(completion, payload, now)) {
                    let why = Refusal::UnexpectedCompletion;
                    return self.endpoint.refuse(packet, why, fx);
                }
                fx.store().release(packet);
            }
            Kind::Message(request) => {
                let payload = content.payload().first_chunk().copied();
                let Some(translations) = &mut self.translations else {
                    return self.endpoint.serve(packet, fx);
                };
                match request.message {
                    Message::PageGroupResponse {
                        group, response, ..
                    } => translations.brought_in(group, response, now),
                    Message::InvalidateRequest { tag, .. } => {
                        let what = payload.and_then(|bytes| Invalidation::parse(bytes).ok());
                        let range = what.map_or(PageRange::ALL, |what| what.range);
                        let begun = self.lines.begun();
                        translations.forget(request.requester, tag, &range, begun);
                    }
                    _ => return self.endpoint.serve(packet, fx),
                }
                fx.store().release(packet);
            }
            _ => {
                self.endpoint.serve(packet, fx);
                if matches!(header.kind, Kind::ConfigWrite(_)) {
                    self.obey();
                }
            }
        }
    }

    /// Goes on with the accesses of a work. True if it may go on at once.
    fn go_on(&mut self, number: usize, fx: &mut Effects<'_, Self>) -> bool {
        let now = fx.now();
        let work = &mut self.works[number];
        if !std::mem::replace(&mut work.announced, true) {
            fx.observe(work.accesses.announced());
        }
        let Some(current) = &work.current else {
            let accesses = &mut work.accesses;
            if accesses.is_over() || accesses.next_start() > now || !self.endpoint.is_bus_master() {
                return false;
            }
            let one = accesses.begin(now);
            if let Some(translations) = &mut self.translations {
                // All its pages are looked up as the bursts of an access come, whatever becomes of the first.
                let first = accesses.what.address + one.offset;
                for page in pages(first, accesses.what.size) {
                    translations.find(page, now);
                }
            }
            work.current = Some(Current {
                one,
                issued: 0,
                open: 0,
                finish: now,
                intact: true,
                failed: false,
            });
            return true;
        };
        let all = current.failed || current.issued == work.accesses.what.size;
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
        work.current = None;
        let told = if failed {
            work.accesses.fail(one, finish)
        } else {
            work.accesses.end(one, finish, intact)
        };
        if let Some(told) = told {
            fx.foresee(finish, told);
        }
        true
    }

    /// Looks at the next line of the access that has begun. False if it must wait.
    fn issue(&mut self, number: usize, fx: &mut Effects<'_, Self>) -> bool {
        if !self.lines.is_open() {
            return false;
        }
        let now = fx.now();
        let Work {
            accesses, current, ..
        } = &mut self.works[number];
        let Some(current) = current else {
            return false;
        };
        let what = &accesses.what;
        let offset = current.one.offset + current.issued;
        let Some(way) = way(&mut self.translations, what.address + offset, now) else {
            return false;
        };
        let Some(address) = way.of(what.kind != AccessKind::Read) else {
            current.failed = true;
            return true;
        };
        let room = LINE_BYTES - address as usize % LINE_BYTES;
        let len = room.min((what.size - current.issued) as usize);
        let part = Part {
            maker: Maker::Work(number),
            deed: match what.kind {
                AccessKind::Read => Deed::Read,
                AccessKind::Write => Deed::Write,
                AccessKind::Atomic(atomic) => Deed::Atomic(atomic.on(address, len)),
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

    /// Does what a part is for, as its line allows it, which ends at `end`.
    fn perform(&mut self, part: Part, end: Time) {
        let Maker::Work(work) = part.maker else {
            return self.perform_locked(part, end);
        };
        let what = &self.works[work].accesses.what;
        let mut intact = true;
        match part.deed {
            Deed::Read => {
                intact = !what.check || what.pattern.matches(part.offset, self.lines.read(part));
            }
            Deed::Write => {
                let mut bytes = [0; LINE_BYTES];
                what.pattern.fill(part.offset, &mut bytes[..part.len]);
                self.lines.write(part, &bytes[..part.len]);
            }
            Deed::Atomic(atomic) => {
                self.lines.change(&atomic, part);
            }
        }
        self.end_part(work, end, intact);
    }

    fn end_part(&mut self, work: usize, end: Time, intact: bool) {
        let current = self.works[work].current.as_mut();
        let current = current.expect("a part belongs to the access that has begun");
        current.open -= 1;
        current.finish = current.finish.max(end);
        current.intact &= intact;
    }

    fn send(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        while self.endpoint.is_open(fx) {
            let lines = &self.lines;
            let next = self.translations.as_mut().and_then(|all| {
                all.next_forgotten(|begun| lines.have_come(begun), fx.store())
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
    }

    /// Asks to be woken for what is due next.
    fn wake(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let works = self
            .works
            .iter()
            .filter(|work| work.current.is_none() && !work.accesses.is_over());
        let works = works.map(|work| work.accesses.next_start());
        let outbox = self.lines.outbox.next_time();
        let translations = self.translations.as_mut();
        let translations = translations.map(|all| all.next_time(now));
        let engines = self.engines.iter().map(Engine::next_time);
        let all = works.chain(engines).chain(outbox).chain(translations);
        if let Some(next) = all.filter(|time| *time > now && *time < Time::NEVER).min() {
            self.endpoint.wake_engine(next, fx);
        }
    }
}

/// An address in each page of 4 KiB that `len` bytes at `first` are in.
fn pages(first: u64, len: u64) -> impl Iterator<Item = u64> {
    let next = (first & !(PAGE - 1)) + PAGE;
    std::iter::once(first).chain((next..first + len).step_by(PAGE as usize))
}

const PAGE: u64 = 4096;

/// Packets of coherence messages that wait for the wire: one behind the one on it, so that later messages share the next.
const AHEAD: usize = 1;
