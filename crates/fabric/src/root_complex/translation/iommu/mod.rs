//! The translation agent of a host (PCIe Base 10.1), which translates addresses of functions by its cache or by page tables.
//!
//! The owner of the agent provides the time and the descriptors. The memory determines the time at which each descriptor is read, and a walk
//! reads a descriptor only after the previous one. Therefore, large pages, which end a walk at a higher level, need less time.

mod descriptor;
mod page_table;
mod parameters;
mod processes;
mod request;
mod walk_cache;
mod walkers;

use std::collections::{BTreeMap, VecDeque, vec_deque};
use std::ops::RangeInclusive;

use kernel::{Agenda, Span, Time};
use protocol::Pasid;
use transaction::{AddressSpace, GeometryError, Mapping, Rights, TranslationCache};

pub use descriptor::{Step, TranslationTable};
pub use page_table::{PageTable, PageTableError};
pub use parameters::{InvalidationScope, IommuParameters};
pub use processes::Processes;
pub use request::{IommuAnswer, IommuRequest, Purpose, TranslationFault};

use descriptor::ADDRESS_BITS;
use walk_cache::WalkCache;
use walkers::{Miss, Walk, Walkers};

/// A translation agent.
#[derive(Clone, Debug)]
pub struct Iommu {
    lookup_latency: Span,
    request_latency: Span,
    pretranslates: bool,
    contexts: BTreeMap<AddressSpace, Context>,
    /// The page table of all functions that have no page table of their own.
    of_others: Option<TranslationTable>,
    /// The page tables of processes. A process has the same page table for every function that accesses its addresses.
    of_processes: BTreeMap<Pasid, TranslationTable>,
    iotlb: TranslationCache,
    walk_cache: WalkCache,
    walkers: Walkers,
    /// Future events.
    agenda: Agenda<Event>,
    answers: VecDeque<IommuAnswer>,
    counters: IommuCounters,
}

/// The translation state of an address space.
#[derive(Clone, Copy, Debug)]
struct Context {
    root: TranslationTable,
    /// The first address of the last page after which the agent started a walk ahead for the next page.
    ahead_of: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Lookup(IommuRequest),
    /// A walker has received a descriptor.
    Descriptor(usize),
}

/// Counters of a translation agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IommuCounters {
    /// The number of lookups in the IOTLB.
    pub lookups: u64,
    /// The number of lookups that hit in the IOTLB.
    pub hits: u64,
    /// The number of walks, including walks ahead and repeated walks.
    pub walks: u64,
    /// The number of descriptors read.
    pub descriptor_reads: u64,
    /// The number of faults: answers without a page.
    pub faults: u64,
    /// The number of pages that walks ahead found before any request needed them.
    pub pretranslated: u64,
}

/// The memory that contains the descriptors, with its latency.
pub trait DescriptorReads {
    /// Returns the eight bytes at the address `physical`, which is a multiple of eight, and the time at which a request that is sent at `at`
    /// receives them. The bytes are none if they are poisoned. Outside the memory they are zero, which maps nothing.
    fn read(&mut self, physical: u64, at: Time) -> (Option<u64>, Time);
}

impl Iommu {
    /// A translation agent without functions.
    pub fn new(parameters: &IommuParameters) -> Result<Self, GeometryError> {
        Ok(Self {
            lookup_latency: parameters.lookup_latency,
            request_latency: parameters.request_latency,
            pretranslates: parameters.pretranslate,
            contexts: BTreeMap::new(),
            of_others: None,
            of_processes: BTreeMap::new(),
            iotlb: parameters.iotlb()?,
            walk_cache: WalkCache::new(parameters.walk_cache_entries as usize),
            walkers: Walkers::new(parameters.walkers as usize),
            agenda: Agenda::default(),
            answers: VecDeque::new(),
            counters: IommuCounters::default(),
        })
    }

    /// Translates the addresses of a function by the page table with this root.
    pub fn attach(&mut self, who: impl Into<AddressSpace>, root: TranslationTable) {
        let who = who.into();
        self.contexts.insert(who, Context::of(root));
        self.invalidate(who, &(0..=u64::MAX));
    }

    /// Translates the addresses of all functions that were not attached, by the page table with this root. Each of these functions has
    /// separate entries in the caches, as if it had its own domain.
    pub fn attach_others(&mut self, root: TranslationTable) {
        self.of_others = Some(root);
    }

    /// Translates the addresses of the process `pasid` by the page table with this root, for every function that uses them. Each function
    /// has separate entries in the caches.
    pub fn attach_process(&mut self, pasid: Pasid, root: TranslationTable) {
        self.of_processes.insert(pasid, root);
    }

    /// Removes the cached translations of these addresses of an address space. Walks for these addresses start again, and no later answer
    /// uses the descriptors that they have read.
    pub fn invalidate(&mut self, who: impl Into<AddressSpace>, range: &RangeInclusive<u64>) {
        let who = who.into();
        self.iotlb.invalidate(who, range);
        self.walk_cache.invalidate(who, range);
        self.walkers.invalidate(who, range);
    }

    /// Removes the cached translations of these addresses of an address space, but keeps the cached tables above them, because software has
    /// changed only pages and no tables (VT-d, Invalidation Hint).
    pub fn invalidate_pages(&mut self, who: impl Into<AddressSpace>, range: &RangeInclusive<u64>) {
        let who = who.into();
        self.iotlb.invalidate(who, range);
        self.walkers.invalidate_pages(who, range);
    }

    /// Removes all cached translations and tables of all functions.
    pub fn invalidate_all(&mut self) {
        let all: Vec<AddressSpace> = self.contexts.keys().copied().collect();
        for who in all {
            self.invalidate(who, &(0..=u64::MAX));
        }
    }

    /// Accepts a request. [`Self::advance`] returns its answer, at the same time or later.
    pub fn ask(&mut self, ask: IommuRequest, now: Time) {
        let delay = match ask.purpose {
            Purpose::Translation => self.request_latency,
            Purpose::Read | Purpose::Write => Span::ZERO,
        };
        self.agenda
            .push(now + delay + self.lookup_latency, Event::Lookup(ask));
    }

    /// The time of the next event.
    pub fn next_time(&self) -> Time {
        self.agenda.next_time().unwrap_or(Time::NEVER)
    }

    /// Handles all events until `now`, and returns the answers. The times are exact only if `now` is not after [`Self::next_time`].
    pub fn advance(
        &mut self,
        now: Time,
        reads: &mut impl DescriptorReads,
    ) -> vec_deque::Drain<'_, IommuAnswer> {
        while let Some(at) = self.agenda.next_time()
            && let Some(event) = self.agenda.pop(now)
        {
            match event {
                Event::Lookup(ask) => self.look_up(ask),
                Event::Descriptor(walker) => self.step(walker, at, reads),
            }
            while let Some((walker, miss)) = self.walkers.next() {
                self.walk(walker, miss, at, reads);
            }
        }
        self.answers.drain(..)
    }

    /// The counters so far.
    pub fn counters(&self) -> IommuCounters {
        self.counters
    }

    fn look_up(&mut self, ask: IommuRequest) {
        let root = match ask.who.pasid {
            None => self.of_others,
            Some(pasid) => self.of_processes.get(&pasid).copied(),
        };
        if let Some(root) = root {
            let context = self.contexts.entry(ask.who);
            context.or_insert(Context::of(root));
        }
        if !self.contexts.contains_key(&ask.who) {
            return self.refuse(ask, TranslationFault::NoContext);
        }
        if ask.address >> ADDRESS_BITS != 0 {
            return self.refuse(ask, TranslationFault::BeyondRange);
        }
        self.counters.lookups += 1;
        match self.iotlb.lookup(ask.who, ask.address) {
            Some(mapping) => {
                self.counters.hits += 1;
                self.answer(ask, mapping);
            }
            None => self.walkers.join(ask),
        }
    }

    /// Begins a walk, at the lowest table that the walk cache contains for the address.
    fn walk(&mut self, walker: usize, miss: Miss, at: Time, reads: &mut impl DescriptorReads) {
        let lower = self.walk_cache.lookup(miss.who, miss.address);
        let table = lower.unwrap_or_else(|| self.contexts[&miss.who].root);
        self.counters.walks += 1;
        self.read(walker, miss, table, at, reads);
    }

    fn read(
        &mut self,
        walker: usize,
        miss: Miss,
        table: TranslationTable,
        at: Time,
        reads: &mut impl DescriptorReads,
    ) {
        let (descriptor, there) = reads.read(table.slot(miss.address), at);
        self.counters.descriptor_reads += 1;
        self.agenda.push(there, Event::Descriptor(walker));
        let walk = Walk {
            step: descriptor.map(|descriptor| table.step(descriptor, miss.address)),
            before: miss.asks.len(),
            is_stale: false,
            table,
            miss,
        };
        self.walkers.begin(walker, walk);
    }

    /// Handles a descriptor that a walker has received.
    fn step(&mut self, walker: usize, at: Time, reads: &mut impl DescriptorReads) {
        let walk = self.walkers.end(walker);
        let mut miss = walk.miss;
        let fault = match walk.step {
            _ if walk.is_stale => return self.walk(walker, miss, at, reads),
            Some(Step::Table(table)) => {
                let reach = walk.table.reach(miss.address);
                self.walk_cache.fill(miss.who, reach, table);
                return self.read(walker, miss, table, at, reads);
            }
            Some(Step::Leaf(mapping)) => return self.find(miss, mapping),
            Some(Step::Absent) => TranslationFault::NotPresent,
            None => TranslationFault::Poisoned,
        };
        // A page may have been mapped after the descriptor was read. Requests that joined the walk after the read need another walk.
        let later = miss.asks.split_off(walk.before);
        for ask in std::mem::replace(&mut miss.asks, later) {
            self.refuse(ask, fault);
        }
        if !miss.asks.is_empty() {
            self.walk(walker, miss, at, reads);
        }
    }

    /// Handles the page that a walk has found.
    fn find(&mut self, miss: Miss, mapping: Mapping) {
        self.iotlb.fill(miss.who, mapping);
        self.counters.pretranslated += u64::from(miss.asks.is_empty());
        let others = self.walkers.take_found(miss.who, &mapping);
        for ask in miss.asks.into_iter().chain(others) {
            self.answer(ask, mapping);
        }
    }

    fn answer(&mut self, ask: IommuRequest, mapping: Mapping) {
        if ask.purpose == Purpose::Write && mapping.rights() == Rights::Read {
            return self.refuse(ask, TranslationFault::NoRights);
        }
        self.answers.push_back(IommuAnswer {
            ticket: ask.ticket,
            outcome: Ok(mapping),
        });
        if self.pretranslates {
            self.look_ahead(ask.who, &mapping);
        }
    }

    fn refuse(&mut self, ask: IommuRequest, fault: TranslationFault) {
        self.counters.faults += 1;
        self.answers.push_back(IommuAnswer {
            ticket: ask.ticket,
            outcome: Err(fault),
        });
    }

    /// Starts a walk for the page after a used page, because sequential accesses will need it. The walk is started only once for each used
    /// page, because the next page may not be mapped.
    fn look_ahead(&mut self, who: AddressSpace, mapping: &Mapping) {
        let next = mapping.virtual_base() + mapping.size().bytes();
        let Some(Context { ahead_of, .. }) = self.contexts.get_mut(&who) else {
            return;
        };
        let page = Some(mapping.virtual_base());
        if *ahead_of == page || next >> ADDRESS_BITS != 0 || !self.walkers.is_idle() {
            return;
        }
        *ahead_of = page;
        if !self.iotlb.holds(who, next) {
            self.walkers.walk_ahead(who, next);
        }
    }
}

impl Context {
    fn of(root: TranslationTable) -> Self {
        let ahead_of = None;
        Context { root, ahead_of }
    }
}

/// Whether the two ranges have an address in common.
fn overlap(one: &RangeInclusive<u64>, other: &RangeInclusive<u64>) -> bool {
    one.start() <= other.end() && other.start() <= one.end()
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
