//! Invalidations by the host's software while devices run, as the driver of the IOMMU issues them.
//!
//! The mappings do not change: software unmaps a buffer that a device has used, and maps the next buffer to the same pages before the device
//! uses them. Only the cached copies of the mapping are removed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::RangeInclusive;

use kernel::{Span, Time};
use transaction::{AddressSpace, Mapping};

use super::iommu::{InvalidationScope, Iommu, IommuParameters};

/// The invalidations that software has issued, and the state that determines the next ones.
#[derive(Debug)]
pub(super) struct Invalidations {
    /// The number of bytes of a function's requests after which software issues an invalidation.
    after: Option<u64>,
    scope: InvalidationScope,
    interval: Option<Span>,
    latency: Span,
    used: BTreeMap<AddressSpace, Used>,
    flush: Flush,
    /// The invalidations that were issued, in order, with the time at which each is complete.
    queue: VecDeque<(Time, Invalidation)>,
    done: u64,
}

/// The translations that a function has used since software last issued an invalidation for it.
#[derive(Debug, Default)]
struct Used {
    bytes: u64,
    /// The first address and the last address of each page.
    pages: BTreeSet<(u64, u64)>,
    /// The number of invalidations for the function that are not complete. Software waits for them before it issues the next ones.
    outstanding: usize,
}

/// The state of the periodic invalidation of all translations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flush {
    /// No translation has been used since the last invalidation of all translations.
    Idle,
    /// The invalidation of all translations is issued at this time.
    At(Time),
    /// The invalidation of all translations is not complete yet.
    Outstanding,
}

/// A command to the IOMMU.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Invalidation {
    /// Removes pages of a function. The tables above the pages are unchanged.
    Pages(AddressSpace, RangeInclusive<u64>),
    /// Removes all translations and tables of a function.
    Function(AddressSpace),
    /// Removes all translations and tables of all functions.
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
            flush: Flush::Idle,
            queue: VecDeque::new(),
            done: 0,
        }
    }

    pub(super) fn done(&self) -> u64 {
        self.done
    }

    /// Records that a request of `bytes` of a function was translated by `mapping` and continues at `now`. After enough bytes, software no
    /// longer needs the buffer and issues an invalidation.
    pub(super) fn record(&mut self, who: AddressSpace, mapping: &Mapping, bytes: u64, now: Time) {
        if let (Some(interval), Flush::Idle) = (self.interval, self.flush) {
            self.flush = Flush::At(now + interval);
        }
        if self.after.is_none() {
            return;
        }
        let used = self.used.entry(who).or_default();
        used.bytes += bytes;
        if self.scope == InvalidationScope::Pages {
            let range = mapping.range();
            used.pages.insert((*range.start(), *range.end()));
        }
        self.order_used(who, now);
    }

    pub(super) fn next_time(&self) -> Time {
        let done = self.queue.front().map_or(Time::NEVER, |(done, _)| *done);
        match self.flush {
            Flush::At(flush) => done.min(flush),
            Flush::Idle | Flush::Outstanding => done,
        }
    }

    /// Handles all events until `now`.
    pub(super) fn advance(&mut self, iommu: &mut Iommu, now: Time) {
        if let Flush::At(flush) = self.flush
            && flush <= now
        {
            self.flush = Flush::Outstanding;
            for used in self.used.values_mut() {
                used.bytes = 0;
                used.pages.clear();
            }
            self.order(Invalidation::All, flush);
        }
        while let Some((_, invalidation)) = self.queue.pop_front_if(|(done, _)| *done <= now) {
            self.done += 1;
            match invalidation {
                Invalidation::Pages(who, range) => {
                    iommu.invalidate_pages(who, &range);
                    self.end(who, now);
                }
                Invalidation::Function(who) => {
                    iommu.invalidate(who, &(0..=u64::MAX));
                    self.end(who, now);
                }
                Invalidation::All => {
                    iommu.invalidate_all();
                    self.flush = Flush::Idle;
                }
            }
        }
    }

    /// Completes an invalidation for a function. Software may then issue the next one.
    fn end(&mut self, who: AddressSpace, now: Time) {
        if let Some(used) = self.used.get_mut(&who) {
            used.outstanding -= 1;
            self.order_used(who, now);
        }
    }

    /// Issues the invalidations of the translations that a function has used, if the function has requested enough bytes.
    fn order_used(&mut self, who: AddressSpace, now: Time) {
        let (Some(after), Some(used)) = (self.after, self.used.get_mut(&who)) else {
            return;
        };
        if used.outstanding > 0 || used.bytes < after {
            return;
        }
        used.bytes = 0;
        let invalidations: Vec<Invalidation> = match self.scope {
            InvalidationScope::Pages => {
                let ranges = runs(std::mem::take(&mut used.pages)).into_iter();
                ranges
                    .map(|range| Invalidation::Pages(who, range))
                    .collect()
            }
            InvalidationScope::Function => vec![Invalidation::Function(who)],
        };
        used.outstanding = invalidations.len();
        for invalidation in invalidations {
            self.order(invalidation, now);
        }
    }

    /// Issues an invalidation. The IOMMU executes it after the previous invalidations.
    fn order(&mut self, invalidation: Invalidation, now: Time) {
        let begin = self.queue.back().map_or(now, |(done, _)| now.max(*done));
        self.queue.push_back((begin + self.latency, invalidation));
    }
}

/// The ranges of adjacent pages.
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
    use protocol::FunctionId;
    use transaction::{PageSize, Rights};

    use super::*;

    const DEVICE: AddressSpace = AddressSpace {
        function: FunctionId::new(1, 0, 0),
        pasid: None,
    };
    const OTHER: AddressSpace = AddressSpace {
        function: FunctionId::new(2, 0, 0),
        pasid: None,
    };
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
    fn software_waits_for_the_end_of_an_invalidation_before_it_orders_the_next() {
        let mut all = invalidations(|all| all.invalidate_after = Some(Bytes(4 << 10)));
        let mut iommu = Iommu::new(&IommuParameters::default()).expect("a legal geometry");
        for number in 0..3 {
            all.record(DEVICE, &page(number), 4 << 10, at(10 * number));
        }
        let first = (at(200), Invalidation::Pages(DEVICE, 0..=0xfff));
        assert_eq!(ordered(&all), [first]);
        all.advance(&mut iommu, at(200));
        let rest = (at(400), Invalidation::Pages(DEVICE, 0x1000..=0x2fff));
        assert_eq!(ordered(&all), [rest]);
        all.advance(&mut iommu, at(400));
        assert_eq!((all.done(), all.next_time()), (2, Time::NEVER));
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
