//! The walkers of a translation agent, and the pages that wait for a walker.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use transaction::{AddressSpace, Mapping, PageSize};

use super::descriptor::{Step, TranslationTable};
use super::{IommuRequest, overlap};

/// The walkers of a translation agent. Each walker walks for one page at a time.
#[derive(Clone, Debug)]
pub(super) struct Walkers {
    walks: Vec<Option<Walk>>,
    /// Pages that wait for a free walker, in order of their requests.
    waiting: VecDeque<Miss>,
}

/// A page that must be found, and the requests that wait for it. A walk ahead has no requests.
#[derive(Clone, Debug)]
pub(super) struct Miss {
    pub(super) who: AddressSpace,
    /// The first requested address. The size of its page is determined by the walk.
    pub(super) address: u64,
    pub(super) asks: Vec<IommuRequest>,
}

/// A walk that waits for its next descriptor.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    pub(super) miss: Miss,
    pub(super) table: TranslationTable,
    /// The meaning of the descriptor. None if the descriptor is poisoned.
    pub(super) step: Option<Step>,
    /// The number of requests that joined before the descriptor was read.
    pub(super) before: usize,
    /// Whether the descriptor was invalidated after it was read.
    pub(super) is_stale: bool,
}

impl Walkers {
    pub(super) fn new(count: usize) -> Self {
        Self {
            walks: vec![None; count],
            waiting: VecDeque::new(),
        }
    }

    /// Adds a request to the walk for its page, or starts a new one.
    pub(super) fn join(&mut self, ask: IommuRequest) {
        match self.miss_mut(ask.who, ask.address) {
            Some(miss) => miss.asks.push(ask),
            None => self.waiting.push_back(Miss {
                who: ask.who,
                address: ask.address,
                asks: vec![ask],
            }),
        }
    }

    /// Queues a walk ahead for a page that no request has needed yet, unless there is already a walk for it.
    pub(super) fn walk_ahead(&mut self, who: AddressSpace, address: u64) {
        if self.miss_mut(who, address).is_none() {
            let asks = Vec::new();
            self.waiting.push_back(Miss { who, address, asks });
        }
    }

    /// Whether a walker is free and no page waits for one.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.free().is_some()
    }

    /// The next page that waits for a walker, and a free walker for it.
    pub(super) fn next(&mut self) -> Option<(usize, Miss)> {
        let walker = self.free()?;
        self.waiting.pop_front().map(|miss| (walker, miss))
    }

    pub(super) fn begin(&mut self, walker: usize, walk: Walk) {
        let before = self.walks[walker].replace(walk);
        assert!(before.is_none(), "a walker walks for one page at a time");
    }

    pub(super) fn end(&mut self, walker: usize) -> Walk {
        self.walks[walker]
            .take()
            .expect("a descriptor is read for a walk")
    }

    /// Removes the waiting pages that the mapping `found` covers. Returns their requests.
    pub(super) fn take_found(&mut self, who: AddressSpace, found: &Mapping) -> Vec<IommuRequest> {
        let mut asks = Vec::new();
        self.waiting.retain_mut(|miss| {
            let is_found = miss.who == who && found.covers(miss.address);
            if is_found {
                asks.append(&mut miss.asks);
            }
            !is_found
        });
        asks
    }

    /// Marks walks of a function as stale if their current descriptor applies to any of these addresses.
    pub(super) fn invalidate(&mut self, who: AddressSpace, range: &RangeInclusive<u64>) {
        let walks = self.walks.iter_mut().flatten();
        for walk in walks.filter(|walk| walk.miss.who == who) {
            walk.is_stale |= overlap(&walk.affected(), range);
        }
    }

    /// Marks walks of a function as stale if their current descriptor is not a table and applies to any of these addresses.
    pub(super) fn invalidate_pages(&mut self, who: AddressSpace, range: &RangeInclusive<u64>) {
        let walks = self.walks.iter_mut().flatten();
        for walk in walks.filter(|walk| walk.miss.who == who) {
            if !matches!(walk.step, Some(Step::Table(_))) {
                walk.is_stale |= overlap(&walk.affected(), range);
            }
        }
    }

    fn free(&self) -> Option<usize> {
        self.walks.iter().position(Option::is_none)
    }

    /// The walk for an address. Before the walk ends, two addresses certainly share a page only if they are in the same page of the smallest
    /// size.
    fn miss_mut(&mut self, who: AddressSpace, address: u64) -> Option<&mut Miss> {
        let page = PageSize::Kib4.base_of(address);
        let walked = self.walks.iter_mut().flatten().map(|walk| &mut walk.miss);
        walked
            .chain(&mut self.waiting)
            .find(|miss| miss.who == who && PageSize::Kib4.base_of(miss.address) == page)
    }
}

impl Walk {
    /// The addresses to which the current descriptor applies.
    fn affected(&self) -> RangeInclusive<u64> {
        match self.step {
            Some(Step::Leaf(mapping)) => mapping.range(),
            Some(Step::Table(_) | Step::Absent) | None => self.table.reach(self.miss.address),
        }
    }
}
