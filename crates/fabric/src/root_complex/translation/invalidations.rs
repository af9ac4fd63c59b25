//! Invalidations by the host's software while devices run, as its driver for the IOMMU makes them.
//!
//! The mappings do not change: software unmaps a buffer that a device has used, and maps the next one to the same pages before the
//! device uses them. Only the copies of the mapping in the caches go.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::RangeInclusive;

use kernel::{Span, Time};
use protocol::FunctionId;
use transaction::Mapping;

use super::iommu::{InvalidationScope, Iommu, IommuParameters};

/// The invalidations that software has ordered, and those that it will order.
#[derive(Debug)]
pub(super) struct Invalidations {
    /// Bytes of a function's requests after which software invalidates.
    after: Option<u64>,
    scope: InvalidationScope,
    interval: Option<Span>,
    latency: Span,
    used: BTreeMap<FunctionId, Used>,
    /// The time of the next flush, if translations were used since the last one.
    flush: Option<Time>,
    /// Ordered invalidations with the times of their ends, in order.
    queue: VecDeque<(Time, Invalidation)>,
    done: u64,
}

/// Translations that a function has used since the last invalidation.
#[derive(Debug, Default)]
struct Used {
    bytes: u64,
    /// The first address and the last address of each page.
    pages: BTreeSet<(u64, u64)>,
}

/// A command to the IOMMU.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Invalidation {
    /// Pages of a function; the tables above them are unchanged.
    Pages(FunctionId, RangeInclusive<u64>),
    /// Everything of a function.
    Function(FunctionId),
    /// Everything of all functions.
    All,
}

impl Invalidations {
    pub(super) fn new(parameters: &IommuParameters) -> Self {
        Invalidations {
            after: parameters.invalidate_after.map(|bytes| bytes.0),
            scope: parameters.invalidation_scope,
            interval: parameters.invalidation_interval,
            latency: parameters.invalidation_latency,
            used: BTreeMap::new(),
            flush: None,
            queue: VecDeque::new(),
            done: 0,
        }
    }

    /// Number of invalidations that have ended.
    pub(super) fn done(&self) -> u64 {
        self.done
    }

    /// Takes note of a request of `bytes` of a function that was translated by `mapping` and goes on at `now`. After enough bytes
    /// software has no more use for the buffer, and invalidates.
    pub(super) fn record(&mut self, who: FunctionId, mapping: &Mapping, bytes: u64, now: Time) {
        if let (Some(interval), None) = (self.interval, self.flush) {
            self.flush = Some(now + interval);
        }
        let Some(after) = self.after else { return };
        let used = self.used.entry(who).or_default();
        used.bytes += bytes;
        if self.scope == InvalidationScope::Pages {
            let range = mapping.range();
            used.pages.insert((*range.start(), *range.end()));
        }
        if used.bytes < after {
            return;
        }
        let used = std::mem::take(used);
        match self.scope {
            InvalidationScope::Pages => {
                for range in runs(used.pages) {
                    self.order(Invalidation::Pages(who, range), now);
                }
            }
            InvalidationScope::Function => self.order(Invalidation::Function(who), now),
        }
    }

    /// The time of the next event.
    pub(super) fn next_time(&self) -> Time {
        let done = self.queue.front().map(|(done, _)| *done);
        let next = done.into_iter().chain(self.flush).min();
        next.unwrap_or(Time::NEVER)
    }

    /// Handles all events until `now`.
    pub(super) fn advance(&mut self, iommu: &mut Iommu, now: Time) {
        if let Some(flush) = self.flush.filter(|flush| *flush <= now) {
            self.flush = None;
            self.used.clear();
            self.order(Invalidation::All, flush);
        }
        while let Some((_, invalidation)) = self.queue.pop_front_if(|(done, _)| *done <= now) {
            self.done += 1;
            match invalidation {
                Invalidation::Pages(who, range) => iommu.invalidate_pages(who, &range),
                Invalidation::Function(who) => iommu.invalidate(who, &(0..=u64::MAX)),
                Invalidation::All => iommu.invalidate_all(),
            }
        }
    }

    /// Orders an invalidation, which the IOMMU begins after those before it.
    fn order(&mut self, invalidation: Invalidation, now: Time) {
        let begin = self.queue.back().map_or(now, |(done, _)| now.max(*done));
        self.queue.push_back((begin + self.latency, invalidation));
    }
}

/// The ranges of pages that lie next to each other.
fn runs(pages: BTreeSet<(u64, u64)>) -> Vec<RangeInclusive<u64>> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for (first, last) in pages {
        match runs.last_mut() {
            Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
            _ => runs.push((first, last)),
        }
    }
    runs.into_iter().map(|(first, last)| first..=last).collect()
}

#[cfg(test)]
mod tests {
    use kernel::Bytes;
    use transaction::{PageSize, Rights};

    use super::*;

    const DEVICE: FunctionId = FunctionId::new(1, 0, 0);
    const OTHER: FunctionId = FunctionId::new(2, 0, 0);
    const LATENCY: Span = Span::from_ns(200);

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    fn page(number: u64) -> Mapping {
        Mapping::around(
            number << 12,
            number << 12,
            PageSize::Kib4,
            Rights::ReadWrite,
        )
    }

    fn invalidations(change: impl FnOnce(&mut IommuParameters)) -> Invalidations {
        let mut parameters = IommuParameters {
            invalidation_latency: LATENCY,
            ..IommuParameters::default()
        };
        change(&mut parameters);
        Invalidations::new(&parameters)
    }

    fn ordered(invalidations: &Invalidations) -> Vec<(Time, Invalidation)> {
        invalidations.queue.iter().cloned().collect()
    }

    #[test]
    fn by_default_software_invalidates_nothing() {
        let mut all = invalidations(|_| ());
        all.record(DEVICE, &page(1), 1 << 40, at(0));
        assert_eq!(all.next_time(), Time::NEVER);
    }

    #[test]
    fn the_pages_of_a_buffer_go_together_and_scattered_pages_one_after_the_other() {
        let mut all = invalidations(|all| all.invalidate_after = Some(Bytes(4 << 12)));
        for number in [7, 3, 4] {
            all.record(DEVICE, &page(number), 1 << 12, at(0));
        }
        all.record(OTHER, &page(9), 1 << 12, at(5));
        assert!(ordered(&all).is_empty());
        all.record(DEVICE, &page(4), 1 << 12, at(10));
        assert_eq!(
            ordered(&all),
            [
                (at(210), Invalidation::Pages(DEVICE, 0x3000..=0x4fff)),
                (at(410), Invalidation::Pages(DEVICE, 0x7000..=0x7fff)),
            ]
        );
    }

    #[test]
    fn a_function_may_lose_all_its_translations_at_once() {
        let mut all = invalidations(|all| {
            all.invalidate_after = Some(Bytes(64));
            all.invalidation_scope = InvalidationScope::Function;
        });
        all.record(DEVICE, &page(1), 64, at(0));
        all.record(OTHER, &page(1), 64, at(0));
        let expected = [(at(200), DEVICE), (at(400), OTHER)];
        let expected = expected.map(|(done, who)| (done, Invalidation::Function(who)));
        assert_eq!(ordered(&all), expected);
    }

    #[test]
    fn a_flush_comes_an_interval_after_the_first_use_since_the_last_one() {
        let mut all = invalidations(|all| all.invalidation_interval = Some(Span::from_ns(10_000)));
        let mut iommu = Iommu::new(&IommuParameters::default()).expect("a legal geometry");
        assert_eq!(all.next_time(), Time::NEVER);
        all.record(DEVICE, &page(1), 64, at(5));
        all.record(DEVICE, &page(1), 64, at(9_000));
        assert_eq!(all.next_time(), at(10_005));
        all.advance(&mut iommu, at(10_005));
        assert_eq!(all.next_time(), at(10_205));
        all.advance(&mut iommu, at(10_205));
        assert_eq!((all.done(), all.next_time()), (1, Time::NEVER));
    }
}
