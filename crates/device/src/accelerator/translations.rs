//! The address translation cache of an accelerator, and its requests to the host (PCIe Base chapter 10).

use std::collections::VecDeque;

use kernel::{Effects, Span, Time};
use packet::{PacketId, Packets, Stamp};
use protocol::{
    Access, Completion, CompletionCount, FunctionId, Header, InvalidateTag, Message, Page,
    PageGroup, PageRange, PageRequest, PageResponse, Status, Translation,
};
use transaction::{FunctionPlace, Mapping, PageSize, Rights, TranslationCache};

use super::AcceleratorParameters;
use crate::Endpoint;
use crate::endpoint::Device;
use crate::requests::Tags;

/// The translation cache, and the pages whose translations are missing.
#[derive(Debug)]
pub(super) struct Translations {
    id: FunctionId,
    cache: TranslationCache,
    tags: Tags<Page>,
    /// Missing pages, in order of the misses.
    missing: Vec<(Page, Stage)>,
    /// Half of the additional latency of a miss in the translation cache (`translation_latency`).
    half: Span,
    pub(super) round_trips: RoundTrips,
    /// The invalidations to confirm, each with its tag, its requester, and the number of parts that had begun before it.
    invalidated: VecDeque<(InvalidateTag, FunctionId, u64)>,
    /// Whether translation requests are enabled (ATS Control).
    enabled: bool,
    /// Whether the host has answered a translation request with Unsupported Request since translation requests were enabled. If so, no more are
    /// sent.
    refused: bool,
    /// Errors of translation requests that were not reported yet.
    pub(super) errors: VecDeque<&'static str>,
    /// Most outstanding page requests (Outstanding Page Request Allocation).
    page_requests: u32,
}

/// The state of a missing page.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// A request may be sent from this time on.
    Missed(Time),
    /// A request was sent at this time; the flag is false if the page was invalidated since, so that the answer must not be used.
    Requested(Time, bool),
    /// The answer may be used from this time on.
    Answered(Time, Mapping),
    /// The page is not present, and no page request was sent yet.
    Absent,
    /// A page request was sent. Each page request has a page request group of its own.
    PageRequested(PageGroup),
    /// The page cannot be accessed.
    Unmapped,
}

/// The log entries for failed translation requests. `REFUSED`: the host does not translate for the function, which sends no more requests (PCIe
/// Base 10.2.3.6). `FAILED`: the host's page tables have an error, or the answer is poisoned, or no answer has arrived.
const REFUSED: &str = "the host translates no addresses for the function";
const FAILED: &str = "a translation has failed";

/// Round-trip times of translation requests: the time from the request of the PCI Express core to the answer at the core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrips {
    /// Number of round trips.
    pub count: u64,
    /// Sum of the round-trip times.
    pub sum: Span,
}

/// The target of a virtual address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The physical address, with the rights of the page.
    Memory(u64, Rights),
    /// The host has no mapping for the address.
    Unmapped,
}

impl Target {
    /// The physical address; none if `writes` is set but the page must not be written.
    pub(super) fn address(self, writes: bool) -> Option<u64> {
        match self {
            Target::Memory(address, rights) => {
                (rights == Rights::ReadWrite || !writes).then_some(address)
            }
            Target::Unmapped => None,
        }
    }
}

impl Translations {
    pub(super) fn new(
        id: FunctionId,
        parameters: &AcceleratorParameters,
        tags: Tags<Page>,
    ) -> Self {
        let cache = parameters.translation_cache();
        Translations {
            id,
            cache: cache.expect("a plan has valid cache geometries"),
            tags,
            missing: Vec::new(),
            half: Span::from_fs(parameters.translation_latency.as_fs() / 2),
            round_trips: RoundTrips::default(),
            invalidated: VecDeque::new(),
            enabled: false,
            refused: false,
            errors: VecDeque::new(),
            page_requests: 0,
        }
    }

    /// Discards all translations and requests, because the function was reset. Invalidations are still confirmed.
    pub(super) fn reset(&mut self) {
        self.tags.forget(|_| true);
        self.cache.invalidate_all();
        self.missing.clear();
        self.refused = false;
    }

    /// Adds a translation to the cache without a translation request.
    pub(super) fn warm(&mut self, mapping: Mapping) {
        self.cache.fill(self.id, mapping);
    }

    /// The target of `address`; none while its translation is not available. If the translation is missing, it will be requested.
    pub(super) fn find(&mut self, address: u64, now: Time) -> Option<Target> {
        let target =
            |mapping: Mapping| Some(Target::Memory(mapping.translate(address), mapping.rights()));
        if let Some(mapping) = self.cache.lookup(self.id, address) {
            return target(mapping);
        }
        if self.refused {
            return Some(Target::Unmapped);
        }
        let page = Page::of(address);
        let Some(place) = self.missing.iter().position(|(there, _)| *there == page) else {
            self.missing.push((page, Stage::Missed(now + self.half)));
            return None;
        };
        match self.missing[place].1 {
            Stage::Answered(due, mapping) if due <= now => {
                self.missing.remove(place);
                self.cache.fill(self.id, mapping);
                target(mapping)
            }
            Stage::Unmapped => {
                self.missing.remove(place);
                Some(Target::Unmapped)
            }
            _ => None,
        }
    }

    /// The next page request, if one may be sent. There is one for each absent page, and at most as many are outstanding as the host allows.
    fn next_page_request(&mut self, packets: &mut Packets) -> Option<PacketId> {
        let wanted = |stage: &Stage| matches!(stage, Stage::PageRequested(_));
        let under_way = self
            .missing
            .iter()
            .filter(|(_, stage)| wanted(stage))
            .count();
        let absent = |(_, stage): &(Page, Stage)| matches!(stage, Stage::Absent);
        let place = self.missing.iter().position(absent)?;
        if self.page_requests == 0 {
            self.missing[place].1 = Stage::Unmapped;
            return None;
        }
        if under_way >= self.page_requests as usize {
            return None;
        }
        let is_free = |group: &PageGroup| {
            !self
                .missing
                .iter()
                .any(|(_, stage)| matches!(stage, Stage::PageRequested(other) if other == group))
        };
        let group = (0..PageGroup::COUNT)
            .filter_map(PageGroup::new)
            .find(is_free)?;
        let (page, stage) = &mut self.missing[place];
        *stage = Stage::PageRequested(group);
        let request = PageRequest {
            page: *page,
            group,
            is_last: true,
            access: Access::Read,
        };
        let header = Header::message(self.id, Message::PageRequest(request));
        Some(packets.make(header, Stamp::default(), &[]))
    }

    /// Handles a page request group response.
    pub(super) fn take_page_response(
        &mut self,
        group: PageGroup,
        response: PageResponse,
        now: Time,
    ) {
        let mut missing = self.missing.iter_mut();
        let wanted = missing
            .find(|(_, stage)| matches!(stage, Stage::PageRequested(other) if *other == group));
        if let Some((_, stage)) = wanted {
            *stage = match response {
                PageResponse::Success if self.refused => Stage::Unmapped,
                PageResponse::Success => Stage::Missed(now),
                PageResponse::InvalidRequest | PageResponse::Failure => Stage::Unmapped,
            };
        }
    }

    /// Handles an Invalidate Request; `begun` is the number of parts that have sent requests. Outstanding translations of pages in the range
    /// will not be used.
    pub(super) fn invalidate(
        &mut self,
        who: FunctionId,
        tag: InvalidateTag,
        range: &PageRange,
        begun: u64,
    ) {
        let addresses = range.first()..=range.last();
        self.cache.invalidate(self.id, &addresses);
        for (page, stage) in &mut self.missing {
            let first = page.address();
            // The page in the answer may be larger than the missing page.
            let is_in = |mapping: &Mapping| mapping.overlaps(&addresses);
            match stage {
                Stage::Answered(due, mapping) if is_in(mapping) => *stage = Stage::Missed(*due),
                Stage::Requested(_, usable) if range.contains(first) => *usable = false,
                _ => {}
            }
        }
        self.invalidated.push_back((tag, who, begun));
    }

    /// The next Invalidate Completion, if all parts that may use the invalidated translations have ended.
    pub(super) fn next_invalidate_completion(
        &mut self,
        have_ended: impl Fn(u64) -> bool,
        packets: &mut Packets,
    ) -> Option<PacketId> {
        let (tag, target, _) = self
            .invalidated
            .pop_front_if(|(_, _, begun)| have_ended(*begun))?;
        let message = Message::InvalidateCompletion {
            target,
            count: CompletionCount::ONE,
            tags: tag.into(),
        };
        let header = Header::message(self.id, message);
        Some(packets.make(header, Stamp::default(), &[]))
    }

    pub(super) fn apply_registers(&mut self, endpoint: &Endpoint) {
        let space = endpoint.functions().space(FunctionPlace::Own);
        self.enabled = space.ats_enabled();
        self.refused &= self.enabled;
        let allowed = space.page_requests_enabled();
        self.page_requests = u32::from(allowed) * space.page_request_allocation();
        self.tags.apply_registers(endpoint);
    }

    /// The next translation request or page request, if one may be sent.
    pub(super) fn next(&mut self, now: Time, packets: &mut Packets) -> Option<PacketId> {
        if !self.enabled || self.refused {
            return None;
        }
        if let Some(packet) = self.next_page_request(packets) {
            return Some(packet);
        }
        let mut missing = self.missing.iter_mut();
        let is_due = |stage: &Stage| matches!(*stage, Stage::Missed(due) if due <= now);
        let (page, stage) = missing
            .find(|(_, stage)| is_due(stage))
            .filter(|_| self.tags.fits_anywhere(FunctionPlace::Own, BYTES, now))?;
        *stage = Stage::Requested(now, true);
        let tags = self.tags.of(FunctionPlace::Own)?;
        let tag = tags.begin(*page, (page.address(), BYTES), now);
        let header = Header::translation_request(self.id, tag, *page, 1, false);
        let header = header.expect("a request for one translation is valid");
        Some(packets.make(header, Stamp::default(), &[]))
    }

    /// Handles a translation completion; refuses an unexpected one.
    pub(super) fn take<C: Device>(
        &mut self,
        packet: PacketId,
        completion: &Completion,
        endpoint: &mut Endpoint,
        fx: &mut Effects<'_, C>,
    ) {
        let taken = self.tags.take(packet, completion, endpoint, fx);
        let Some((_, part)) = taken else {
            return;
        };
        let entry = fx.store()[packet].payload().first_chunk().copied();
        fx.store().release(packet);
        match completion.status {
            Status::Successful => self.translated(part.what, entry, fx.now()),
            status => self.fail(part.what, status == Status::UnsupportedRequest),
        }
    }

    fn translated(&mut self, page: Page, entry: Option<[u8; Translation::BYTES]>, now: Time) {
        let entry = entry.and_then(|bytes| Translation::parse(bytes).ok());
        let mapping = entry.and_then(|entry| mapping(page, &entry));
        self.answer(page, mapping, now);
    }

    /// Ends the request for the translation of a page, because it has failed. If the host has refused it, the requests for all other pages end,
    /// too.
    fn fail(&mut self, page: Page, is_refused: bool) {
        for (there, stage) in &mut self.missing {
            if is_refused || *there == page {
                *stage = Stage::Unmapped;
            }
        }
        if !is_refused {
            self.errors.push_back(FAILED);
        } else if !std::mem::replace(&mut self.refused, true) {
            self.errors.push_back(REFUSED);
        }
    }

    fn answer(&mut self, page: Page, mapping: Option<Mapping>, now: Time) {
        let mut missing = self.missing.iter_mut();
        let Some((_, stage)) = missing.find(|(there, _)| *there == page) else {
            return;
        };
        if let Stage::Requested(since, usable) = *stage {
            self.round_trips.count += 1;
            self.round_trips.sum += now.since(since);
            if !usable {
                *stage = Stage::Missed(now);
                return;
            }
        }
        *stage = mapping.map_or(Stage::Absent, |mapping| {
            Stage::Answered(now + self.half, mapping)
        });
    }

    /// Ends the requests that have timed out.
    pub(super) fn give_up<C: Device>(&mut self, endpoint: &mut Endpoint, fx: &mut Effects<'_, C>) {
        while let Some((_, part)) = self.tags.give_up(|_, _| None, endpoint, fx) {
            self.fail(part.what, false);
        }
    }

    /// Time of the next event after `now`.
    pub(super) fn next_time(&mut self, now: Time) -> Time {
        let due = |(_, stage): &(Page, Stage)| match stage {
            Stage::Missed(due) | Stage::Answered(due, _) => Some(*due),
            Stage::Requested(..) | Stage::Absent | Stage::PageRequested(_) | Stage::Unmapped => {
                None
            }
        };
        let first = self
            .missing
            .iter()
            .filter_map(due)
            .filter(|due| *due > now)
            .min();
        first.unwrap_or(Time::NEVER).min(self.tags.next_change(now))
    }
}

/// The size of a translation completion's data.
const BYTES: u32 = Translation::BYTES as u32;

/// The mapping of a page according to the entry of a translation completion. If the size of the entry's range is no supported page size, the
/// mapping has the largest supported size below it.
fn mapping(page: Page, entry: &Translation) -> Option<Mapping> {
    let rights = match entry.access {
        Access::ReadWrite => Rights::ReadWrite,
        Access::Read => Rights::Read,
        Access::None | Access::Write => return None,
    };
    let most = entry.range.size().unwrap_or(u64::MAX);
    let mut sizes = PageSize::ALL.into_iter().rev();
    let size = sizes.find(|size| size.bytes() <= most)?;
    let address = page.address();
    Some(Mapping::around(
        address,
        entry.address_of(address),
        size,
        rights,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EndpointParameters;
    use crate::endpoint::fixture::endpoint;
    use protocol::{Kind, PageRange};

    const ID: FunctionId = FunctionId::new(1, 0, 0);

    #[test]
    fn an_answer_on_its_way_while_its_page_is_to_be_forgotten_is_not_used() {
        let parameters = AcceleratorParameters::default();
        let limits = EndpointParameters::default().outstanding(16);
        let tags = Tags::new(limits, &endpoint());
        let mut translations = Translations::new(ID, &parameters, tags);
        translations.enabled = true;
        let (mut packets, now) = (Packets::default(), Time::ZERO);
        assert_eq!(translations.find(0x5000, now), None);
        assert!(translations.next(now, &mut packets).is_some());
        let range = PageRange::new(0x4000, 0x2000).expect("two pages");
        let tag = InvalidateTag::new(3).expect("a tag");
        translations.invalidate(FunctionId(0), tag, &range, 0);

        let there = PageRange::new(0x9000, 0x1000).expect("a page");
        let entry = Translation::new(there, Access::ReadWrite).emit();
        translations.translated(Page::of(0x5000), Some(entry), now);
        assert_eq!(translations.find(0x5000, now), None);
        let again = translations.next(now, &mut packets).expect("it asks again");
        let again = &packets[again].header().kind;
        assert!(matches!(again, Kind::MemoryRead(read) if read.translations() == 1));
    }
}
