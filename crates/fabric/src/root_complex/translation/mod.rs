//! The translation agent in its host: the requests of devices, the reads of page tables, and the software that makes pages resident after
//! page requests.

mod identity;
mod invalidations;
mod iommu;
mod slots;
mod untranslated;

use std::collections::VecDeque;
use std::ops::{Range, RangeInclusive};

use kernel::{Port, Span, Time, WakeUp};
use packet::{PacketId, Packets};
use protocol::{
    Access, FunctionId, Header, InvalidateTag, InvalidateTags, Invalidation, Message, PageRange,
    PageRequest, PageResponse, Pasid, Translation,
};
use transaction::{AddressSpace, Mapping, Rights};

use crate::root_complex::memory::MemoryController;
use invalidations::Invalidations;
use slots::{Question, Slots};
use untranslated::{Progress, Untranslated, Waiting};

pub use identity::IdentityMapping;
pub use iommu::{
    DescriptorReads, InvalidationScope, Iommu, IommuAnswer, IommuCounters, IommuParameters,
    IommuRequest, PageTable, PageTableError, Processes, Purpose, Step, TranslationFault,
    TranslationTable,
};
pub(super) use untranslated::Released;

/// The size of the smallest page, in bytes.
const PAGE: u64 = 4096;

/// The configuration of a host's translation agent.
#[derive(Clone, Debug)]
pub struct TranslationConfig {
    /// The parameters of the agent. The cache geometry in them is valid.
    pub parameters: IommuParameters,
    /// The functions with virtual addresses that send translation requests themselves (ATS).
    pub asking: Vec<FunctionId>,
    /// The functions with virtual addresses whose requests the host translates. The functions of both lists share one address space.
    pub others: Vec<FunctionId>,
    /// The memory addresses of the page tables of these functions, if there are any.
    pub tables: Option<Range<u64>>,
    /// The pages that are mapped at the start.
    pub present: Vec<Mapping>,
    /// The pages that become mapped by a page request.
    pub absent: Vec<Mapping>,
    /// The mapping of the addresses of all other functions. None if these addresses are not translated.
    pub identity: Option<IdentityMapping>,
    /// The mappings of the addresses of processes.
    pub processes: Vec<(Pasid, IdentityMapping)>,
}

/// A change of the page tables by software.
#[derive(Clone, Debug)]
pub struct TranslationOrder {
    /// The number under which the completion of the change is reported.
    pub ticket: u32,
    /// The change.
    pub what: TableChange,
}

/// A change of the page tables.
#[derive(Clone, Debug)]
pub enum TableChange {
    /// Unmaps the pages of these addresses temporarily. All devices must remove their translations of them, and page requests for them wait.
    Unmap(RangeInclusive<u64>),
    /// Maps these pages again.
    Map(Vec<Mapping>),
}

/// Counters of a host's translation agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TranslationCounters {
    /// Counters of the IOMMU itself.
    pub iommu: IommuCounters,
    /// The number of requests from below that have waited for a translation. The result may be a fault.
    pub requests: u64,
    /// The sum of the waits of all these requests from their root ports to the memory system, for their translations and for earlier
    /// packets.
    pub waited: Span,
    /// The longest wait of a request.
    pub longest_wait: Span,
    /// The number of invalidations by software while devices run. Invalidations for buffers that move are not included.
    pub invalidations: u64,
}

/// A translation agent, with the software that serves it.
#[derive(Debug)]
pub(super) struct TranslationAgent {
    iommu: Iommu,
    /// The page table of functions with virtual addresses.
    table: Option<PageTable>,
    /// Whether the addresses of all other functions are also translated.
    translates_all: bool,
    absent: Vec<Mapping>,
    /// The packets that wait for an answer of the IOMMU, by ticket: translation requests, and requests with untranslated addresses.
    outstanding: Vec<Option<Outstanding>>,
    slots: Slots,
    /// Page requests that software is serving, in order.
    page_requests: VecDeque<(Time, Port, FunctionId, PageRequest)>,
    /// The addresses that are unmapped temporarily. `held` contains the page requests for them.
    withdrawn: Vec<RangeInclusive<u64>>,
    held: Vec<(Port, FunctionId, PageRequest)>,
    asking: Vec<FunctionId>,
    others: Vec<FunctionId>,
    untranslated: Untranslated,
    /// The counters of the waits of requests from below.
    waits: TranslationCounters,
    /// The unmappings that are not complete, by invalidation tag: the ticket, and the functions that have not confirmed the invalidation
    /// yet.
    invalidations: Vec<Option<(u32, Vec<FunctionId>)>>,
    /// The invalidations that are not part of temporary unmappings.
    routine: Invalidations,
    page_latency: Span,
    reads: DescriptorWay,
    wake: WakeUp,
}

/// A packet that waits for an answer of the IOMMU.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    port: Port,
    packet: PacketId,
    /// Whether the packet occupies a slot for requests from below.
    has_slot: bool,
}

/// The answer of the IOMMU: the page of the address, or the fault.
pub(super) type Outcome = Result<Mapping, TranslationFault>;

/// The effects of events of the translation agent, in order.
#[derive(Debug, Default)]
pub(super) struct Advanced {
    /// The packets for which the IOMMU has an answer, with the root ports at which they arrived.
    pub(super) answers: Vec<(Port, PacketId, Outcome)>,
    /// Responses to page requests, with the root ports by which they must be sent.
    pub(super) responses: Vec<(Port, Message)>,
}

/// Invalidate Requests to the functions that may have translations of the same addresses.
#[derive(Debug)]
pub(super) struct InvalidateRequests {
    pub(super) targets: Vec<FunctionId>,
    pub(super) tag: InvalidateTag,
    pub(super) invalidation: Invalidation,
}

#[derive(Clone, Copy, Debug)]
struct DescriptorWay {
    /// The time from the agent to the memory. The way back takes the same time.
    latency: Span,
    /// The time that requests from below still need to reach the memory when the memory reserves their lines.
    lead: Span,
}

/// The memory as the agent reads descriptors of page tables from it, with the latency between agent and memory.
struct Descriptors<'m> {
    memory: &'m mut MemoryController,
    way: DescriptorWay,
}

impl DescriptorReads for Descriptors<'_> {
    fn read(&mut self, physical: u64, at: Time) -> (Option<u64>, Time) {
        let Some(offset) = physical.checked_sub(self.memory.base()) else {
            return (Some(0), at);
        };
        if !self.memory.bytes().holds(offset, 8) {
            return (Some(0), at);
        }
        let mut bytes = [0; 8];
        self.memory.bytes().read(offset, &mut bytes);
        let is_poisoned = self.memory.bytes().is_poisoned(offset, 8);
        let DescriptorWay { latency, lead } = self.way;
        let read = self.memory.fetch_descriptor(physical, at + latency, lead);
        let descriptor = (!is_poisoned).then(|| u64::from_le_bytes(bytes));
        (descriptor, read + latency)
    }
}

impl TranslationAgent {
    /// Whether at least two packets from `port` wait for an answer of the IOMMU.
    pub(super) fn is_late(&self, port: Port) -> bool {
        let waiting = self.outstanding.iter().flatten();
        waiting.filter(|one| one.port == port).nth(1).is_some()
    }

    /// A translation agent with its page tables in `memory`. Requests from below arrive at the memory `lead` after they have arrived at
    /// their root ports.
    pub(super) fn new(
        config: TranslationConfig,
        memory: &mut MemoryController,
        lead: Span,
    ) -> Box<Self> {
        let (base, bytes) = (memory.base(), memory.bytes_mut());
        let iommu = Iommu::new(&config.parameters);
        let mut iommu = iommu.expect("a plan has valid cache geometries");
        let mut table = config.tables.map(|tables| {
            let table = PageTable::new(tables, base, bytes);
            table.expect("a plan reserves memory for page tables")
        });
        if let Some(table) = &mut table {
            for mapping in &config.present {
                table
                    .map(mapping, bytes)
                    .expect("a plan reserves page tables for every page");
            }
            for function in config.asking.iter().chain(&config.others) {
                iommu.attach(*function, table.root());
            }
        }
        let translates_all = config.identity.is_some();
        if let Some(identity) = config.identity {
            iommu.attach_others(identity.build(base, bytes).root());
        }
        for (pasid, mapping) in config.processes {
            iommu.attach_process(pasid, mapping.build(base, bytes).root());
        }
        Box::new(TranslationAgent {
            iommu,
            table,
            translates_all,
            absent: config.absent,
            outstanding: Vec::new(),
            slots: Slots::new(config.parameters.iommu_requests),
            page_requests: VecDeque::new(),
            withdrawn: Vec::new(),
            held: Vec::new(),
            asking: config.asking,
            others: config.others,
            untranslated: Untranslated::default(),
            waits: TranslationCounters::default(),
            invalidations: vec![None; usize::from(InvalidateTag::COUNT)],
            routine: Invalidations::new(&config.parameters),
            page_latency: config.parameters.page_latency,
            reads: DescriptorWay {
                latency: config.parameters.walk_latency.unwrap_or(lead),
                lead,
            },
            wake: WakeUp::default(),
        })
    }

    /// The counters so far.
    pub(super) fn counters(&self) -> TranslationCounters {
        TranslationCounters {
            iommu: self.iommu.counters(),
            invalidations: self.routine.done(),
            ..self.waits
        }
    }

    /// Returns whether a packet may pass that arrived at `port` and has passed its datapath at `passed`. If not, the packet waits for the
    /// translation of its own address or of an earlier packet's address.
    pub(super) fn admit(
        &mut self,
        port: Port,
        packet: PacketId,
        passed: Time,
        packets: &Packets,
    ) -> bool {
        let header = packets[packet].header();
        let needed = untranslated::needed_translation(header);
        let progress = match needed.filter(|(who, ..)| self.translates(*who)) {
            None if self.untranslated.may_pass(port, header, packets) => return true,
            None => Progress::Behind,
            Some(needed) => {
                let question = Question {
                    port,
                    packet,
                    needed,
                    from: passed,
                };
                if self.slots.take(question) {
                    self.ask(question);
                }
                Progress::Asked
            }
        };
        let waiting = Waiting {
            packet,
            progress,
            passed,
        };
        self.untranslated.push(port, waiting);
        false
    }

    fn translates(&self, who: AddressSpace) -> bool {
        let function = who.function;
        self.translates_all
            || who.pasid.is_some()
            || self.asking.contains(&function)
            || self.others.contains(&function)
    }

    /// Accepts a translation request that arrived at `port` and reaches the agent at `due`.
    pub(super) fn translate(
        &mut self,
        port: Port,
        packet: PacketId,
        (who, address): (AddressSpace, u64),
        due: Time,
    ) {
        self.ask(Question {
            port,
            packet,
            needed: (who, address, Purpose::Translation),
            from: due,
        });
    }

    /// Accepts a page request that arrived at `port` and reaches the agent at `due`.
    pub(super) fn request_page(
        &mut self,
        port: Port,
        who: FunctionId,
        request: PageRequest,
        due: Time,
    ) {
        let due = due + self.page_latency;
        self.page_requests.push_back((due, port, who, request));
    }

    /// Handles all events that are due. Returns the answers of the IOMMU and the responses to page requests.
    pub(super) fn advance(&mut self, memory: &mut MemoryController, now: Time) -> Advanced {
        let mut advanced = Advanced::default();
        self.routine.advance(&mut self.iommu, now);
        while self.iommu.next_time() <= now {
            self.take_answers(memory, now, &mut advanced);
        }
        while let Some((_, port, who, request)) =
            self.page_requests.pop_front_if(|(due, ..)| *due <= now)
        {
            if self
                .withdrawn
                .iter()
                .any(|range| range.contains(&request.page.address()))
            {
                self.held.push((port, who, request));
                continue;
            }
            let response = self.serve_page_request(&request, memory);
            if request.is_last {
                let message = Message::PageGroupResponse {
                    target: who,
                    group: request.group,
                    response,
                };
                advanced.responses.push((port, message));
            }
        }
        advanced
    }

    /// Handles the answers of the IOMMU. The slots that they free are used to request translations for packets that waited for a slot.
    fn take_answers(&mut self, memory: &mut MemoryController, now: Time, advanced: &mut Advanced) {
        let mut freed = Vec::new();
        let way = self.reads;
        let mut reads = Descriptors { memory, way };
        for IommuAnswer { ticket, outcome } in self.iommu.advance(now, &mut reads) {
            let asked = self.outstanding[ticket as usize].take();
            let asked = asked.expect("the IOMMU answers each request once");
            advanced.answers.push((asked.port, asked.packet, outcome));
            if asked.has_slot {
                freed.extend(self.slots.free());
            }
        }
        for question in freed {
            let from = question.from.max(now);
            self.ask(Question { from, ..question });
        }
    }

    /// Records the answer of the IOMMU for a packet with an untranslated address.
    pub(super) fn resolve(&mut self, port: Port, packet: PacketId, outcome: Outcome) {
        self.untranslated.answer(port, packet, outcome);
    }

    /// The next packet of a port that no longer has to wait.
    pub(super) fn release(
        &mut self,
        port: Port,
        packets: &mut Packets,
        now: Time,
    ) -> Option<Released> {
        let waiting = self.untranslated.release(port, packets)?;
        if let Progress::Answered(_) = waiting.progress {
            let wait = now.since(waiting.passed.min(now));
            self.waits.requests += 1;
            self.waits.waited += wait;
            self.waits.longest_wait = self.waits.longest_wait.max(wait);
        }
        if let Progress::Answered(Ok(mapping)) = &waiting.progress {
            let header = packets[waiting.packet].header();
            if let Some((who, ..)) = untranslated::needed_translation(header) {
                let bytes = untranslated::accessed_bytes(header);
                self.routine.record(who, mapping, bytes, now);
            }
        }
        Some(waiting.into_released(packets))
    }

    /// The time from `now` until the next event, if a timer must be set for it.
    pub(super) fn wake_after(&mut self, now: Time) -> Option<Span> {
        self.wake.expire(now);
        let next = self.next_time();
        self.wake.schedule(next).then(|| next.since(now))
    }

    /// Requests the translation of a packet's address from the IOMMU.
    fn ask(&mut self, question: Question) {
        let (who, address, purpose) = question.needed;
        let free = self.outstanding.iter().position(Option::is_none);
        let ticket = free.unwrap_or_else(|| {
            self.outstanding.push(None);
            self.outstanding.len() - 1
        });
        self.outstanding[ticket] = Some(Outstanding {
            port: question.port,
            packet: question.packet,
            has_slot: purpose != Purpose::Translation,
        });
        let ask = IommuRequest {
            who,
            address,
            purpose,
            ticket: ticket as u32,
        };
        self.iommu.ask(ask, question.from);
    }

    fn next_time(&self) -> Time {
        let wanted = self
            .page_requests
            .front()
            .map_or(Time::NEVER, |(due, ..)| *due);
        let routine = self.routine.next_time();
        self.iommu.next_time().min(wanted).min(routine)
    }

    /// Unmaps the pages of these addresses, and invalidates their copies in the IOMMU. Devices may still have copies, so that the function
    /// returns Invalidate Requests for them.
    pub(super) fn withdraw(
        &mut self,
        ticket: u32,
        range: &RangeInclusive<u64>,
        memory: &mut MemoryController,
    ) -> InvalidateRequests {
        let mut address = *range.start();
        while address <= *range.end() {
            let table = self.table.as_mut();
            let gone = table.and_then(|table| table.unmap(address, memory.bytes_mut()).ok());
            let step = gone.map_or(PAGE, |mapping| mapping.size().bytes());
            address = (address & !(step - 1)) + step;
        }
        for function in self.asking.iter().chain(&self.others) {
            self.iommu.invalidate(*function, range);
        }
        self.withdrawn.push(range.clone());
        let index = self.invalidations.iter().position(Option::is_none);
        let index =
            index.expect("software has at most as many unmappings outstanding as there are tags");
        self.invalidations[index] = Some((ticket, self.asking.clone()));
        let size = (range.end() - range.start() + 1).next_power_of_two();
        InvalidateRequests {
            targets: self.asking.clone(),
            tag: InvalidateTag::new(index as u8).expect("there are as many unmappings as tags"),
            invalidation: Invalidation {
                range: PageRange::new(*range.start(), size.max(PAGE)).unwrap_or(PageRange::ALL),
                global: false,
            },
        }
    }

    /// Handles an Invalidate Completion of a function. Returns the tickets of the unmappings that are complete.
    pub(super) fn confirm_invalidations(
        &mut self,
        who: FunctionId,
        tags: InvalidateTags,
    ) -> Vec<u32> {
        let mut done = Vec::new();
        for (index, invalidations) in self.invalidations.iter_mut().enumerate() {
            let tag = InvalidateTag::new(index as u8);
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
    pub(super) fn install(
        &mut self,
        mappings: &[Mapping],
        memory: &mut MemoryController,
        now: Time,
    ) {
        for mapping in mappings {
            let table = self
                .table
                .as_mut()
                .expect("a buffer that moves has virtual addresses");
            // The plan has reserved page tables for every page. If a descriptor is poisoned, nothing can be mapped below it, and walks
            // detect the poison.
            let _ = table.map(mapping, memory.bytes_mut());
        }
        let is_back = |range: &RangeInclusive<u64>| mappings.iter().any(|one| one.overlaps(range));
        self.withdrawn.retain(|range| !is_back(range));
        for (port, who, request) in std::mem::take(&mut self.held) {
            self.page_requests
                .push_back((now + self.page_latency, port, who, request));
        }
    }

    /// Serves a page request in the role of software. Returns the response.
    fn serve_page_request(
        &mut self,
        request: &PageRequest,
        memory: &mut MemoryController,
    ) -> PageResponse {
        let address = request.page.address();
        let bytes = memory.bytes_mut();
        let Some(table) = &mut self.table else {
            return PageResponse::InvalidRequest;
        };
        let present = table.find(address, bytes).ok();
        let absent = self
            .absent
            .iter()
            .position(|mapping| mapping.covers(address));
        let mapping = match (present, absent) {
            (Some(mapping), _) => mapping,
            (None, Some(index)) => {
                let mapping = self.absent[index];
                // The plan has reserved page tables for every page, but a descriptor may be poisoned.
                if table.map(&mapping, bytes).is_err() {
                    return PageResponse::Failure;
                }
                self.absent.swap_remove(index);
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

/// The completion by `completer` of a translation request. It contains the page, or no page if the function has no access.
pub(super) fn translation_completion(
    packet: PacketId,
    mapping: Option<Mapping>,
    (completer, boundary): (FunctionId, u16),
    packets: &mut Packets,
) -> PacketId {
    let header = *packets[packet].header();
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
    let answer = Header::translation_completion(&header, completer, 1, boundary);
    let answer = answer.expect("one translation was asked for");
    let stamp = packets[packet].stamp;
    packets.make(answer, stamp, &entry.emit())
}
