//! The translation agent in its host: what devices ask it, what its walks read, and the pages that software brings in when
//! a device asks for them.

use std::collections::VecDeque;
use std::ops::{Range, RangeInclusive};

use kernel::{Effects, Port, Span, Time};
use packet::{PacketId, Refusal, Stamp};
use protocol::{
    Access, FunctionId, Header, InvalidateTag, InvalidateTags, Invalidation, Kind, Message,
    PageRange, PageRequest, PageResponse, Translation,
};
use transaction::{Mapping, Rights};

use crate::iommu::{Answer, Ask, DescriptorReads, Iommu, PageTable, Purpose};
use crate::memory_controller::MemoryController;
use crate::untranslated::Untranslated;
use crate::{Cpu, IommuParameters, RootComplex, RootTimer, Route};

/// Bytes of the smallest page.
const PAGE: u64 = 4096;

/// How the translation agent of a host is built, and what software tells it.
#[derive(Clone, Debug)]
pub struct TranslationConfig {
    /// Its parameters, whose cache can be built.
    pub parameters: IommuParameters,
    /// The functions whose addresses are virtual and that ask for translations themselves (ATS).
    pub asking: Vec<FunctionId>,
    /// Those that leave it to the host. All of both share an address space.
    pub others: Vec<FunctionId>,
    /// Where in memory the page tables are.
    pub tables: Range<u64>,
    /// The pages that are there.
    pub present: Vec<Mapping>,
    /// Those that are there once somebody has asked for them.
    pub absent: Vec<Mapping>,
}

/// What software does to the page tables.
#[derive(Clone, Debug)]
pub struct TranslationOrder {
    /// Who does it, as it is told when it is done.
    pub ticket: u32,
    /// What.
    pub what: TableChange,
}

/// A change of the page tables.
#[derive(Clone, Debug)]
pub enum TableChange {
    /// The pages of these addresses lead nowhere for now: all devices forget them. Who asks for one waits.
    Withdraw(RangeInclusive<u64>),
    /// These pages are there again.
    Install(Vec<Mapping>),
}

/// A translation agent, and the software that serves it.
#[derive(Debug)]
pub(crate) struct TranslationAgent {
    iommu: Iommu,
    table: PageTable,
    absent: Vec<Mapping>,
    /// Requests that wait for an answer, by ticket: for a translation, or with an address that is to be translated.
    asked: Vec<Option<(Port, PacketId)>>,
    /// Page requests that software works on, in order.
    wanted: VecDeque<(Time, Port, FunctionId, PageRequest)>,
    /// Addresses that lead nowhere for now, and the page requests for them.
    withdrawn: Vec<RangeInclusive<u64>>,
    held: Vec<(Port, FunctionId, PageRequest)>,
    asking: Vec<FunctionId>,
    others: Vec<FunctionId>,
    pub(crate) untranslated: Untranslated,
    /// Withdrawals by tag, with the functions that have not said that they have forgotten.
    forgetting: Vec<Option<(u32, Vec<FunctionId>)>>,
    page_latency: Span,
    wake: Time,
}

struct Descriptors<'m>(&'m mut MemoryController);

impl DescriptorReads for Descriptors<'_> {
    fn read(&mut self, physical: u64, at: Time) -> (u64, Time) {
        let Some(offset) = physical.checked_sub(self.0.base()) else {
            return (0, at);
        };
        if !self.0.bytes().holds(offset, 8) {
            return (0, at);
        }
        let mut bytes = [0; 8];
        self.0.bytes().read(offset, &mut bytes);
        (u64::from_le_bytes(bytes), self.0.fetch(physical, at))
    }
}

impl TranslationAgent {
    /// Its page tables are made in `memory`.
    pub(crate) fn new(config: TranslationConfig, memory: &mut MemoryController) -> Box<Self> {
        let base = memory.base();
        let bytes = memory.bytes_mut();
        let table = PageTable::new(config.tables, base, bytes);
        let mut table = table.expect("a plan has room for page tables");
        for mapping in &config.present {
            table
                .map(mapping, bytes)
                .expect("a plan has room for every page");
        }
        let iommu = Iommu::new(&config.parameters);
        let mut iommu = iommu.expect("a plan has caches that can be built");
        for function in config.asking.iter().chain(&config.others) {
            iommu.attach(*function, table.root());
        }
        Box::new(TranslationAgent {
            iommu,
            table,
            absent: config.absent,
            asked: Vec::new(),
            wanted: VecDeque::new(),
            withdrawn: Vec::new(),
            held: Vec::new(),
            asking: config.asking,
            others: config.others,
            untranslated: Untranslated::default(),
            forgetting: vec![None; usize::from(InvalidateTag::COUNT)],
            page_latency: config.parameters.page_latency,
            wake: Time::NEVER,
        })
    }

    /// Whether the addresses of a function are translated here.
    pub(crate) fn translates_for(&self, who: FunctionId) -> bool {
        self.asking.contains(&who) || self.others.contains(&who)
    }

    /// A packet that came in at a port has an address of that function, which is translated for that purpose.
    pub(crate) fn ask(
        &mut self,
        packet: (Port, PacketId),
        (who, address, purpose): (FunctionId, u64, Purpose),
        now: Time,
    ) {
        let free = self.asked.iter().position(Option::is_none);
        let ticket = free.unwrap_or_else(|| {
            self.asked.push(None);
            self.asked.len() - 1
        });
        self.asked[ticket] = Some(packet);
        let ask = Ask {
            who,
            address,
            purpose,
            ticket: ticket as u32,
        };
        self.iommu.ask(ask, now);
    }

    fn next_time(&self) -> Time {
        let wanted = self.wanted.front().map_or(Time::NEVER, |(due, ..)| *due);
        self.iommu.next_time().min(wanted)
    }

    /// Whether a page leads nowhere for now.
    fn is_withdrawn(&self, address: u64) -> bool {
        self.withdrawn.iter().any(|range| range.contains(&address))
    }

    /// The pages of these addresses lead nowhere from now on, and nobody knows them but devices: the tag by which those are to
    /// be told.
    fn withdraw(
        &mut self,
        ticket: u32,
        range: &RangeInclusive<u64>,
        memory: &mut MemoryController,
    ) -> InvalidateTag {
        let mut address = *range.start();
        while address <= *range.end() {
            let step = match self.table.unmap(address, memory.bytes_mut()) {
                Ok(mapping) => mapping.size().bytes(),
                Err(_) => PAGE,
            };
            address = (address & !(step - 1)) + step;
        }
        for function in self.asking.iter().chain(&self.others) {
            self.iommu.invalidate(*function, range);
        }
        self.withdrawn.push(range.clone());
        let place = self.forgetting.iter().position(Option::is_none);
        let place = place.expect("software has few withdrawals under way");
        self.forgetting[place] = Some((ticket, self.asking.clone()));
        InvalidateTag::new(place as u8).expect("there are as many places as tags")
    }

    /// A function has forgotten what it was told to: the tickets of withdrawals that are done.
    fn forgotten(&mut self, who: FunctionId, tags: InvalidateTags) -> Vec<u32> {
        let mut done = Vec::new();
        for (place, forgetting) in self.forgetting.iter_mut().enumerate() {
            let tag = InvalidateTag::new(place as u8);
            if let Some((ticket, left)) = forgetting
                && tag.is_some_and(|tag| tags.contains(tag))
            {
                left.retain(|function| *function != who);
                if left.is_empty() {
                    done.push(*ticket);
                    *forgetting = None;
                }
            }
        }
        done
    }

    /// Pages are there again: who waits for one is served.
    fn install(&mut self, mappings: &[Mapping], memory: &mut MemoryController, now: Time) {
        for mapping in mappings {
            let mapped = self.table.map(mapping, memory.bytes_mut());
            mapped.expect("a plan has room for every page");
        }
        let is_back = |range: &RangeInclusive<u64>| mappings.iter().any(|one| one.overlaps(range));
        self.withdrawn.retain(|range| !is_back(range));
        for (port, who, request) in std::mem::take(&mut self.held) {
            self.wanted
                .push_back((now + self.page_latency, port, who, request));
        }
    }

    /// Software looks at a page request: what it answers.
    fn bring_in(&mut self, request: &PageRequest, memory: &mut MemoryController) -> PageResponse {
        let address = request.page.address();
        let bytes = memory.bytes_mut();
        let found = self.table.find(address, bytes).ok();
        let place = self
            .absent
            .iter()
            .position(|mapping| mapping.covers(address));
        let mapping = match (found, place) {
            (Some(mapping), _) => mapping,
            (None, Some(place)) => {
                let mapping = self.absent.swap_remove(place);
                self.table
                    .map(&mapping, bytes)
                    .expect("a plan has room for every page");
                mapping
            }
            (None, None) => return PageResponse::InvalidRequest,
        };
        if request.access.writes() && mapping.rights() == Rights::Read {
            return PageResponse::InvalidRequest;
        }
        PageResponse::Success
    }
}

impl<C: Cpu> RootComplex<C> {
    /// What the translation agent has done, if there is one.
    pub fn iommu(&self) -> Option<crate::IommuCounters> {
        self.translation
            .as_ref()
            .map(|agent| agent.iommu.counters())
    }

    /// A translation request that has come in at `port`.
    pub(crate) fn translate(
        &mut self,
        port: Port,
        packet: PacketId,
        header: &Header,
        fx: &mut Effects<'_, Self>,
    ) {
        let due = fx.now() + self.parameters.latency;
        match (&mut self.translation, &header.kind) {
            (Some(agent), Kind::MemoryRead(request)) => {
                let wanted = (request.requester, request.address(), Purpose::Translation);
                agent.ask((port, packet), wanted, due);
                self.go_on_translating(fx);
            }
            _ => self.refuse(port, packet, header, Refusal::UnsupportedRequest, fx),
        }
    }

    /// Carries out what software does to the page tables.
    pub(crate) fn begin_orders(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some(TranslationOrder { ticket, what }) = self.cpu.next_order() {
            let now = fx.now();
            let Some(agent) = &mut self.translation else {
                self.cpu.ordered(ticket, now);
                continue;
            };
            match what {
                TableChange::Withdraw(range) => {
                    let tag = agent.withdraw(ticket, &range, &mut self.memory);
                    let functions = agent.asking.clone();
                    self.tell_to_forget(&functions, tag, &range, fx);
                }
                TableChange::Install(mappings) => {
                    agent.install(&mappings, &mut self.memory, now);
                    self.cpu.ordered(ticket, now);
                    self.go_on_translating(fx);
                }
            }
        }
    }

    fn tell_to_forget(
        &mut self,
        functions: &[FunctionId],
        tag: InvalidateTag,
        range: &RangeInclusive<u64>,
        fx: &mut Effects<'_, Self>,
    ) {
        let size = (range.end() - range.start() + 1).next_power_of_two();
        let invalidation = Invalidation {
            range: PageRange::new(*range.start(), size.max(PAGE)).unwrap_or(PageRange::ALL),
            global: false,
        };
        for target in functions {
            let target = *target;
            let message = Message::InvalidateRequest { target, tag };
            let header = Header::message(self.functions.id(), message);
            if let Route::Down(port) = self.routes.of(&header) {
                let packet = fx.store().claim();
                fx.store()[packet]
                    .write(header, Stamp::default())
                    .copy_from_slice(&invalidation.emit());
                self.send_down(port, packet, fx);
            }
        }
    }

    /// A device says that it has forgotten translations.
    pub(crate) fn hear_of_forgetting(
        &mut self,
        who: FunctionId,
        tags: InvalidateTags,
        fx: &mut Effects<'_, Self>,
    ) -> bool {
        let Some(agent) = &mut self.translation else {
            return false;
        };
        for ticket in agent.forgotten(who, tags) {
            self.cpu.ordered(ticket, fx.now());
        }
        self.ask(fx);
        true
    }

    /// A page request that has come in at `port`. False if nobody serves any.
    pub(crate) fn want(
        &mut self,
        port: Port,
        who: FunctionId,
        request: PageRequest,
        fx: &mut Effects<'_, Self>,
    ) -> bool {
        let Some(agent) = &mut self.translation else {
            return false;
        };
        let due = fx.now() + self.parameters.latency + agent.page_latency;
        agent.wanted.push_back((due, port, who, request));
        self.go_on_translating(fx);
        true
    }

    pub(crate) fn go_on_translating(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let Some(agent) = &mut self.translation else {
            return;
        };
        let answers: Vec<Answer> = agent
            .iommu
            .advance(now, &mut Descriptors(&mut self.memory))
            .collect();
        let mut done = Vec::new();
        for Answer { ticket, outcome } in answers {
            let asked = agent.asked[ticket as usize].take();
            let (port, packet) = asked.expect("a question is answered once");
            done.push((port, packet, outcome));
        }
        let mut responses = Vec::new();
        while let Some((_, port, who, request)) = agent.wanted.pop_front_if(|(due, ..)| *due <= now)
        {
            if agent.is_withdrawn(request.page.address()) {
                agent.held.push((port, who, request));
                continue;
            }
            let response = agent.bring_in(&request, &mut self.memory);
            if request.is_last {
                responses.push((port, who, request.group, response));
            }
        }
        if agent.wake <= now {
            agent.wake = Time::NEVER;
        }
        let next = agent.next_time();
        if next < agent.wake {
            agent.wake = next;
            fx.wake(RootTimer::Translation, next.since(now));
        }
        for (port, packet, outcome) in done {
            let asks = matches!(&fx.store()[packet].header().kind, Kind::MemoryRead(request) if request.translations() > 0);
            if asks {
                self.answer_translation(port, packet, outcome.ok(), fx);
            } else if let Some(agent) = &mut self.translation {
                agent.untranslated.answer(port, packet, outcome);
                self.let_translated_in(port, fx);
            }
        }
        for (port, target, group, response) in responses {
            let message = Message::PageGroupResponse {
                target,
                group,
                response,
            };
            let packet = fx.store().claim();
            let header = Header::message(self.functions.id(), message);
            fx.store()[packet].write(header, Stamp::default());
            self.cpu_waiting += 1;
            self.put_down(port, packet, fx);
        }
    }

    fn answer_translation(
        &mut self,
        port: Port,
        packet: PacketId,
        mapping: Option<Mapping>,
        fx: &mut Effects<'_, Self>,
    ) {
        let header = *fx.store()[packet].header();
        let entry = mapping.map_or_else(
            || Translation::absent(PAGE).expect("a page has a size"),
            |mapping| {
                let size = mapping.size().bytes();
                let range = PageRange::new(mapping.physical_base(), size);
                let access = match mapping.rights() {
                    Rights::Read => Access::Read,
                    Rights::ReadWrite => Access::ReadWrite,
                };
                Translation::new(
                    range.expect("a page begins at a multiple of its size"),
                    access,
                )
            },
        );
        let boundary = self.parameters.read_completion_boundary.0 as u16;
        let answer = Header::translation_completion(&header, self.functions.id(), 1, boundary);
        let completion = fx.store().claim();
        let stamp = fx.store()[packet].stamp;
        fx.store()[completion]
            .write(answer.expect("one translation was asked for"), stamp)
            .copy_from_slice(&entry.emit());
        fx.store().release(packet);
        self.free(port, &header, fx);
        self.put_down(port, completion, fx);
    }
}
