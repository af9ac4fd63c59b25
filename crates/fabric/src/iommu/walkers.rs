//! The walkers of a translation agent, and the pages that wait for one.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use protocol::FunctionId;
use transaction::{Mapping, PageSize};

use super::descriptor::{Step, TranslationTable};
use super::{Ask, overlap};

/// Walkers, each of which walks for one page at a time.
#[derive(Clone, Debug)]
pub(super) struct Walkers {
    walks: Vec<Option<Walk>>,
    /// Pages that no walker is free for, in the order in which they were asked for.
    waiting: VecDeque<Miss>,
}

/// A page that is to be found, and who waits for it: nobody, if it is walked ahead.
#[derive(Clone, Debug)]
pub(super) struct Miss {
    pub(super) who: FunctionId,
    /// The first one that was asked for. How large its page is only the walk will tell.
    pub(super) address: u64,
    pub(super) asks: Vec<Ask>,
}

/// A walk whose next descriptor has been asked for.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    pub(super) miss: Miss,
    pub(super) table: TranslationTable,
    /// What the descriptor says.
    pub(super) step: Step,
    /// How many of those who wait came before it was read.
    pub(super) before: usize,
    /// Whether it was invalidated since.
    pub(super) is_stale: bool,
}

impl Walkers {
    pub(super) fn new(count: usize) -> Self {
        Self {
            walks: vec![None; count],
            waiting: VecDeque::new(),
        }
    }

    /// Somebody waits for a page: for the walk that is under way or waits for it, or else for a new one.
    pub(super) fn join(&mut self, ask: Ask) {
        match self.miss_mut(ask.who, ask.address) {
            Some(miss) => miss.asks.push(ask),
            None => self.waiting.push_back(Miss {
                who: ask.who,
                address: ask.address,
                asks: vec![ask],
            }),
        }
    }

    /// Has a page walked ahead, if there is a walker for it and it is not walked for already.
    pub(super) fn walk_ahead(&mut self, who: FunctionId, address: u64) {
        if self.miss_mut(who, address).is_none() {
            let asks = Vec::new();
            self.waiting.push_back(Miss { who, address, asks });
        }
    }

    /// Whether a walker is free and nobody waits for one.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.free().is_some()
    }

    /// The next page that has a walker to itself, and that walker.
    pub(super) fn next(&mut self) -> Option<(usize, Miss)> {
        let walker = self.free()?;
        self.waiting.pop_front().map(|miss| (walker, miss))
    }

    pub(super) fn begin(&mut self, walker: usize, walk: Walk) {
        let before = self.walks[walker].replace(walk);
        assert!(before.is_none(), "a walker walks for one page at a time");
    }

    /// The walk of a walker whose descriptor is there.
    pub(super) fn end(&mut self, walker: usize) -> Walk {
        self.walks[walker]
            .take()
            .expect("a descriptor is read for a walk")
    }

    /// Those that wait for a walker, but need none, as their page has been found.
    pub(super) fn take_found(&mut self, who: FunctionId, found: &Mapping) -> Vec<Ask> {
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

    /// What a function's walks have read of these addresses counts no more.
    pub(super) fn invalidate(&mut self, who: FunctionId, range: &RangeInclusive<u64>) {
        let walks = self.walks.iter_mut().flatten();
        for walk in walks.filter(|walk| walk.miss.who == who) {
            walk.is_stale |= overlap(&walk.told(), range);
        }
    }

    fn free(&self) -> Option<usize> {
        self.walks.iter().position(Option::is_none)
    }

    /// The walk for an address. Only what is in the smallest page is sure to be in the same page.
    fn miss_mut(&mut self, who: FunctionId, address: u64) -> Option<&mut Miss> {
        let page = PageSize::Kib4.base_of(address);
        let walked = self.walks.iter_mut().flatten().map(|walk| &mut walk.miss);
        walked
            .chain(&mut self.waiting)
            .find(|miss| miss.who == who && PageSize::Kib4.base_of(miss.address) == page)
    }
}

impl Walk {
    /// The addresses that its descriptor tells of.
    fn told(&self) -> RangeInclusive<u64> {
        match self.step {
            Step::Leaf(mapping) => mapping.range(),
            Step::Table(_) | Step::Absent => self.table.reach(self.miss.address),
        }
    }
}
