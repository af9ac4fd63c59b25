//! The translation agent in its host: requests of devices, reads of page tables, and the software that makes pages resident for
//! page requests.

mod iommu;
mod untranslated;

use std::collections::VecDeque;
use std::ops::{Range, RangeInclusive};

use kernel::{Effects, Port, Span, Time};
use packet::{PacketId, Refusal, Stamp};
use protocol::{
    Access, FunctionId, Header, InvalidateTag, InvalidateTags, Invalidation, Kind, Message,
    PageRange, PageRequest, PageResponse, Translation,
};
use transaction::{Mapping, Rights};

use crate::root_complex::memory::MemoryController;
use crate::root_complex::timer::WakeUp;
use crate::{Cpu, RootComplex, RootTimer, Route};
use untranslated::Untranslated;

pub use iommu::{
    DescriptorReads, Iommu, IommuAnswer, IommuCounters, IommuParameters, IommuRequest, PageTable,
    PageTableError, Purpose, Step, TranslationFault, TranslationTable,
};

/// Bytes of the smallest page.
const PAGE: u64 = 4096;

/// The configuration of a host's translation agent.
#[derive(Clone, Debug)]
pub struct TranslationConfig {
    /// Its parameters, with a valid cache geometry.
    pub parameters: IommuParameters,
    /// The functions with virtual addresses that send translation requests themselves (ATS).
    pub asking: Vec<FunctionId>,
    /// The functions with virtual addresses whose requests the host translates. All functions of both lists share an address space.
    pub others: Vec<FunctionId>,
    /// The memory addresses of the page tables.
    pub tables: Range<u64>,
    /// The pages that are mapped at the start.
    pub present: Vec<Mapping>,
    /// The pages that become mapped by a page request.
    pub absent: Vec<Mapping>,
}

/// A change of the page tables by software.
#[derive(Clone, Debug)]
pub struct TranslationOrder {
    /// Number under which the end of the change is reported.
    pub ticket: u32,
    /// The change.
    pub what: TableChange,
}

/// A change of the page tables.
#[derive(Clone, Debug)]
pub enum TableChange {
    /// Unmaps the pages of these addresses temporarily: all devices must remove their translations, and page requests for them
    /// wait.
    Withdraw(RangeInclusive<u64>),
    /// Maps these pages again.
    Install(Vec<Mapping>),
}

/// A translation agent, with the software that serves it.
#[derive(Debug)]
pub(super) struct TranslationAgent {
    iommu: Iommu,
    table: PageTable,
    absent: Vec<Mapping>,
    /// Packets that wait for an answer of the IOMMU, by ticket: translation requests, and requests with untranslated addresses.
    outstanding: Vec<Option<(Port, PacketId)>>,
    /// Page requests in service by software, in order.
    page_requests: VecDeque<(Time, Port, FunctionId, PageRequest)>,
    /// Addresses that are unmapped temporarily; `held` has the page requests for them.
    withdrawn: Vec<RangeInclusive<u64>>,
    held: Vec<(Port, FunctionId, PageRequest)>,
    asking: Vec<FunctionId>,
    others: Vec<FunctionId>,
    pub(super) untranslated: Untranslated,
    /// Unmappings by invalidation tag: the ticket, and the functions that have not confirmed yet.
    invalidations: Vec<Option<(u32, Vec<FunctionId>)>>,
    page_latency: Span,
    wake: WakeUp,
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
    /// A translation agent with its page tables in `memory`.
    pub(super) fn new(config: TranslationConfig, memory: &mut MemoryController) -> Box<Self> {
        let base = memory.base();
        let bytes = memory.bytes_mut();
        let table = PageTable::new(config.tables, base, bytes);
        let mut table = table.expect("a plan reserves memory for page tables");
        for mapping in &config.present {
            table
                .map(mapping, bytes)
                .expect("a plan reserves page tables for every page");
        }
        let iommu = Iommu::new(&config.parameters);
        let mut iommu = iommu.expect("a plan has valid cache geometries");
        for function in config.asking.iter().chain(&config.others) {
            iommu.attach(*function, table.root());
        }
        Box::new(TranslationAgent {
            iommu,
            table,
            absent: config.absent,
            outstanding: Vec::new(),
            page_requests: VecDeque::new(),
            withdrawn: Vec::new(),
            held: Vec::new(),
            asking: config.asking,
            others: config.others,
            untranslated: Untranslated::default(),
            invalidations: vec![None; usize::from(InvalidateTag::COUNT)],
            page_latency: config.parameters.page_latency,
            wake: WakeUp::default(),
        })
    }

    /// Whether the host translates addresses of this function.
    pub(super) fn translates_for(&self, who: FunctionId) -> bool {
        self.asking.contains(&who) || self.others.contains(&who)
    }

    /// Asks the IOMMU for the translation of a packet's address; the packet came in at a port.
    pub(super) fn ask(
        &mut self,
        packet: (Port, PacketId),
        (who, address, purpose): (FunctionId, u64, Purpose),
        now: Time,
    ) {
        let free = self.outstanding.iter().position(Option::is_none);
        let ticket = free.unwrap_or_else(|| {
            self.outstanding.push(None);
            self.outstanding.len() - 1
        });
        self.outstanding[ticket] = Some(packet);
        let ask = IommuRequest {
            who,
            address,
            purpose,
            ticket: ticket as u32,
        };
        self.iommu.ask(ask, now);
    }

    fn next_time(&self) -> Time {
        let wanted = self
            .page_requests
            .front()
            .map_or(Time::NEVER, |(due, ..)| *due);
        self.iommu.next_time().min(wanted)
    }

    /// Whether the page of `address` is unmapped temporarily.
    fn is_withdrawn(&self, address: u64) -> bool {
        self.withdrawn.iter().any(|range| range.contains(&address))
    }

    /// Unmaps the pages of these addresses, and invalidates the IOMMU's copies. Devices may still have copies: returns the tag for
    /// their Invalidate Requests.
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
        let place = self.invalidations.iter().position(Option::is_none);
        let place =
            place.expect("software has at most as many unmappings outstanding as there are tags");
        self.invalidations[place] = Some((ticket, self.asking.clone()));
        InvalidateTag::new(place as u8).expect("there are as many places as tags")
    }

    /// Takes an Invalidate Completion of a function; returns the tickets of unmappings that are complete.
    fn confirm_invalidations(&mut self, who: FunctionId, tags: InvalidateTags) -> Vec<u32> {
        let mut done = Vec::new();
        for (place, invalidations) in self.invalidations.iter_mut().enumerate() {
            let tag = InvalidateTag::new(place as u8);
            if let Some((ticket, left)) = invalidations
                && tag.is_some_and(|tag| tags.contains(tag))
            {
                left.retain(|function| *function != who);
                if left.is_empty() {
                    done.push(*ticket);
                    *invalidations = None;
                }
            }
        }
        done
    }

    /// Maps pages again, and continues the page requests that waited for them.
    fn install(&mut self, mappings: &[Mapping], memory: &mut MemoryController, now: Time) {
        for mapping in mappings {
            let mapped = self.table.map(mapping, memory.bytes_mut());
            mapped.expect("a plan reserves page tables for every page");
        }
        let is_back = |range: &RangeInclusive<u64>| mappings.iter().any(|one| one.overlaps(range));
        self.withdrawn.retain(|range| !is_back(range));
        for (port, who, request) in std::mem::take(&mut self.held) {
            self.page_requests
                .push_back((now + self.page_latency, port, who, request));
        }
    }

    /// Serves a page request as software does; returns the response.
    fn serve_page_request(
        &mut self,
        request: &PageRequest,
        memory: &mut MemoryController,
    ) -> PageResponse {
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
                    .expect("a plan reserves page tables for every page");
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
    /// The counters of the translation agent, if there is one.
    pub fn iommu(&self) -> Option<crate::IommuCounters> {
        self.translation
            .as_ref()
            .map(|agent| agent.iommu.counters())
    }

    /// Handles a translation request that came in at `port`.
    pub(super) fn translate(
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
                self.advance_translation(fx);
            }
            _ => self.refuse(port, packet, header, Refusal::UnsupportedRequest, fx),
        }
    }

    /// Performs the changes of page tables that software has ordered.
    pub(super) fn begin_orders(&mut self, fx: &mut Effects<'_, Self>) {
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
                    self.send_invalidate_requests(&functions, tag, &range, fx);
                }
                TableChange::Install(mappings) => {
                    agent.install(&mappings, &mut self.memory, now);
                    self.cpu.ordered(ticket, now);
                    self.advance_translation(fx);
                }
            }
        }
    }

    fn send_invalidate_requests(
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

    /// Handles an Invalidate Completion of a device. False if there is no translation agent.
    pub(super) fn handle_invalidate_completion(
        &mut self,
        who: FunctionId,
        tags: InvalidateTags,
        fx: &mut Effects<'_, Self>,
    ) -> bool {
        let Some(agent) = &mut self.translation else {
            return false;
        };
        for ticket in agent.confirm_invalidations(who, tags) {
            self.cpu.ordered(ticket, fx.now());
        }
        self.ask(fx);
        true
    }

    /// Handles a page request that came in at `port`. False if there is no translation agent.
    pub(super) fn queue_page_request(
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
        agent.page_requests.push_back((due, port, who, request));
        self.advance_translation(fx);
        true
    }

    pub(super) fn advance_translation(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let Some(agent) = &mut self.translation else {
            return;
        };
        let answers: Vec<IommuAnswer> = agent
            .iommu
            .advance(now, &mut Descriptors(&mut self.memory))
            .collect();
        let mut done = Vec::new();
        for IommuAnswer { ticket, outcome } in answers {
            let asked = agent.outstanding[ticket as usize].take();
            let (port, packet) = asked.expect("the IOMMU answers each request once");
            done.push((port, packet, outcome));
        }
        let mut responses = Vec::new();
        while let Some((_, port, who, request)) =
            agent.page_requests.pop_front_if(|(due, ..)| *due <= now)
        {
            if agent.is_withdrawn(request.page.address()) {
                agent.held.push((port, who, request));
                continue;
            }
            let response = agent.serve_page_request(&request, &mut self.memory);
            if request.is_last {
                responses.push((port, who, request.group, response));
            }
        }
        agent.wake.expire(now);
        let next = agent.next_time();
        if agent.wake.schedule(next) {
            fx.wake(RootTimer::Translation, next.since(now));
        }
        for (port, packet, outcome) in done {
            let asks = matches!(&fx.store()[packet].header().kind, Kind::MemoryRead(request) if request.translations() > 0);
            if asks {
                self.answer_translation(port, packet, outcome.ok(), fx);
            } else if let Some(agent) = &mut self.translation {
                agent.untranslated.answer(port, packet, outcome);
                self.release_translated(port, fx);
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
            self.requests.enter();
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
            .write(answer.expect("one translation was requested"), stamp)
            .copy_from_slice(&entry.emit());
        fx.store().release(packet);
        self.free(port, &header, fx);
        self.put_down(port, completion, fx);
    }
}
