//! The translation agent of a host (PCIe Base 10.1): it finds where the addresses of functions lead, in its cache or in the
//! page tables.
//!
//! Time comes from outside, and so do the descriptors: the memory says when each has been read, and a walk asks for one only
//! when it knows the one before. Thus large pages, which end a walk at a higher level, cost less.

mod ask;
mod descriptor;
mod page_table;
mod parameters;
mod walk_cache;
mod walkers;

use std::collections::{BTreeMap, VecDeque, vec_deque};
use std::ops::RangeInclusive;

use kernel::{Agenda, Span, Time};
use protocol::FunctionId;
use transaction::{GeometryError, Mapping, PageSize, Rights, TranslationCache};

pub use ask::{Answer, Ask, Purpose, TranslationFault};
pub use descriptor::{Step, TranslationTable};
pub use page_table::{PageTable, PageTableError};
pub use parameters::IommuParameters;

use descriptor::ADDRESS_BITS;
use walk_cache::WalkCache;
use walkers::{Miss, Walk, Walkers};

/// A translation agent.
#[derive(Clone, Debug)]
pub struct Iommu {
    lookup_latency: Span,
    request_latency: Span,
    pretranslates: bool,
    contexts: BTreeMap<FunctionId, Context>,
    iotlb: TranslationCache,
    walk_cache: WalkCache,
    walkers: Walkers,
    /// What happens next.
    agenda: Agenda<Event>,
    answers: VecDeque<Answer>,
    counters: IommuCounters,
}

/// How the addresses of a function are translated.
#[derive(Clone, Copy, Debug)]
enum Context {
    Bypass,
    Table {
        root: TranslationTable,
        /// The first address of the page after which one was walked ahead.
        ahead_of: Option<u64>,
    },
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Lookup(Ask),
    /// The descriptor that a walker waits for is there.
    Descriptor(usize),
}

/// What a translation agent has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IommuCounters {
    /// Lookups in the IOTLB.
    pub lookups: u64,
    /// Those that found their page there.
    pub hits: u64,
    /// Walks that were begun, those ahead and those that began again included.
    pub walks: u64,
    /// Descriptors that were read.
    pub descriptor_reads: u64,
    /// Answers without a page.
    pub faults: u64,
    /// Pages that were found before anybody asked for them.
    pub pretranslated: u64,
}

/// Who reads descriptors: the memory, with what that takes.
pub trait DescriptorReads {
    /// The eight bytes at a `physical` address, a multiple of eight, and when whoever asks for them at `at` has them. Where no
    /// memory is they are zero, which maps nothing.
    fn read(&mut self, physical: u64, at: Time) -> (u64, Time);
}

impl Iommu {
    /// A translation agent that knows no function.
    pub fn new(parameters: &IommuParameters) -> Result<Self, GeometryError> {
        Ok(Self {
            lookup_latency: parameters.lookup_latency,
            request_latency: parameters.request_latency,
            pretranslates: parameters.pretranslate,
            contexts: BTreeMap::new(),
            iotlb: parameters.iotlb()?,
            walk_cache: WalkCache::new(parameters.walk_cache_entries as usize),
            walkers: Walkers::new(parameters.walkers as usize),
            agenda: Agenda::default(),
            answers: VecDeque::new(),
            counters: IommuCounters::default(),
        })
    }

    /// The addresses of a function are translated by the page table with this root.
    pub fn attach(&mut self, who: FunctionId, root: TranslationTable) {
        let ahead_of = None;
        self.change(who, Some(Context::Table { root, ahead_of }));
    }

    /// The addresses of a function are physical.
    pub fn bypass(&mut self, who: FunctionId) {
        self.change(who, Some(Context::Bypass));
    }

    /// The addresses of a function lead nowhere.
    pub fn detach(&mut self, who: FunctionId) {
        self.change(who, None);
    }

    fn change(&mut self, who: FunctionId, context: Option<Context>) {
        match context {
            Some(context) => self.contexts.insert(who, context),
            None => self.contexts.remove(&who),
        };
        self.invalidate(who, &(0..=u64::MAX));
    }

    /// Forgets what it has read of these addresses of a function. Walks that are under way there begin again, and no answer
    /// from now on uses what they have read.
    pub fn invalidate(&mut self, who: FunctionId, range: &RangeInclusive<u64>) {
        self.iotlb.invalidate(who, range);
        self.walk_cache.invalidate(who, range);
        self.walkers.invalidate(who, range);
    }

    /// Takes in a question. It is answered by [`Self::advance`], perhaps at once.
    pub fn ask(&mut self, ask: Ask, now: Time) {
        let way = match ask.purpose {
            Purpose::Translation => self.request_latency,
            Purpose::Read | Purpose::Write => Span::ZERO,
        };
        self.agenda
            .push(now + way + self.lookup_latency, Event::Lookup(ask));
    }

    /// When it is to advance next.
    pub fn next_time(&self) -> Time {
        self.agenda.next_time().unwrap_or(Time::NEVER)
    }

    /// Does what is due by `now`, which is not after [`Self::next_time`] if time is to be exact: the answers.
    pub fn advance(
        &mut self,
        now: Time,
        reads: &mut impl DescriptorReads,
    ) -> vec_deque::Drain<'_, Answer> {
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

    /// What it has done until now.
    pub fn counters(&self) -> IommuCounters {
        self.counters
    }

    fn look_up(&mut self, ask: Ask) {
        match self.contexts.get(&ask.who) {
            None => return self.refuse(ask, TranslationFault::NoContext),
            Some(Context::Bypass) => {
                let same =
                    Mapping::around(ask.address, ask.address, PageSize::Gib1, Rights::ReadWrite);
                return self.answer(ask, same);
            }
            Some(Context::Table { .. }) => {}
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

    /// Begins a walk, as low as it can.
    fn walk(&mut self, walker: usize, miss: Miss, at: Time, reads: &mut impl DescriptorReads) {
        let Some(Context::Table { root, .. }) = self.contexts.get(&miss.who) else {
            return miss.asks.into_iter().for_each(|ask| self.look_up(ask));
        };
        let lower = self.walk_cache.lookup(miss.who, miss.address);
        let table = lower.unwrap_or(*root);
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
            step: table.step(descriptor, miss.address),
            before: miss.asks.len(),
            is_stale: false,
            table,
            miss,
        };
        self.walkers.begin(walker, walk);
    }

    /// The descriptor that a walker waits for is there.
    fn step(&mut self, walker: usize, at: Time, reads: &mut impl DescriptorReads) {
        let walk = self.walkers.end(walker);
        let mut miss = walk.miss;
        match walk.step {
            _ if walk.is_stale => self.walk(walker, miss, at, reads),
            Step::Table(table) => {
                let reach = walk.table.reach(miss.address);
                self.walk_cache.fill(miss.who, reach, table);
                self.read(walker, miss, table, at, reads);
            }
            Step::Leaf(mapping) => self.find(miss, mapping),
            Step::Absent => {
                // Whoever came later may know of a page that has been mapped since.
                let later = miss.asks.split_off(walk.before);
                for ask in std::mem::replace(&mut miss.asks, later) {
                    self.refuse(ask, TranslationFault::NotPresent);
                }
                if !miss.asks.is_empty() {
                    self.walk(walker, miss, at, reads);
                }
            }
        }
    }

    /// A walk has found a page.
    fn find(&mut self, miss: Miss, mapping: Mapping) {
        self.iotlb.fill(miss.who, mapping);
        self.counters.pretranslated += u64::from(miss.asks.is_empty());
        let others = self.walkers.take_found(miss.who, &mapping);
        for ask in miss.asks.into_iter().chain(others) {
            self.answer(ask, mapping);
        }
    }

    fn answer(&mut self, ask: Ask, mapping: Mapping) {
        if ask.purpose == Purpose::Write && mapping.rights() == Rights::Read {
            return self.refuse(ask, TranslationFault::NoRights);
        }
        self.answers.push_back(Answer {
            ticket: ask.ticket,
            outcome: Ok(mapping),
        });
        if self.pretranslates {
            self.look_ahead(ask.who, &mapping);
        }
    }

    fn refuse(&mut self, ask: Ask, fault: TranslationFault) {
        self.counters.faults += 1;
        self.answers.push_back(Answer {
            ticket: ask.ticket,
            outcome: Err(fault),
        });
    }

    /// A page is used: the one after it will be, if accesses are sequential. It is walked for only once, as it may not be there.
    fn look_ahead(&mut self, who: FunctionId, mapping: &Mapping) {
        let next = mapping.virtual_base() + mapping.size().bytes();
        let Some(Context::Table { ahead_of, .. }) = self.contexts.get_mut(&who) else {
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

/// Whether addresses are in both.
fn overlap(one: &RangeInclusive<u64>, other: &RangeInclusive<u64>) -> bool {
    one.start() <= other.end() && other.start() <= one.end()
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
