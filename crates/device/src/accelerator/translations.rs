//! The address translation cache of an accelerator, and what it asks the host for (PCIe Base chapter 10).

use std::collections::VecDeque;

use kernel::{Span, Time};
use packet::{PacketId, Packets, Stamp};
use protocol::{
    Access, Completion, CompletionCount, FunctionId, Header, InvalidateTag, Message, Page,
    PageGroup, PageRange, PageRequest, PageResponse, Status, Translation,
};
use transaction::{Mapping, Outstanding, PageSize, Rights, TranslationCache};

use super::AcceleratorParameters;

/// Translations that it has, and those that it waits for.
#[derive(Debug)]
pub(super) struct Translations {
    id: FunctionId,
    cache: TranslationCache,
    outstanding: Outstanding<Page>,
    /// Pages that are missing, in the order in which they were missed.
    missing: Vec<(Page, Stage)>,
    /// Half of what the cache itself takes for a miss.
    half: Span,
    round_trips: RoundTrips,
    /// What it has forgotten, and is to say so of: the tag, who asked, and the parts that were under way then.
    forgotten: VecDeque<(InvalidateTag, FunctionId, u64)>,
    /// Whether it may ask at all (ATS Control).
    enabled: bool,
    /// Pages that it may ask for at a time (Outstanding Page Request Allocation).
    page_requests: u32,
}

/// How far the search for a page has come.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// A request may go from then on.
    Missed(Time),
    /// It has gone. What comes may not be used if the page was to be forgotten meanwhile.
    Asked(Time, bool),
    /// The answer may be used from then on.
    Answered(Time, Mapping),
    /// The page is not there, and has not been wanted yet.
    Absent,
    /// The host was asked to bring it in, as the only page of a group.
    Wanted(PageGroup),
    /// It will never be there.
    Nowhere,
}

/// How long the host took to answer translation requests, from the request at the core to its answer there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrips {
    /// How many there were.
    pub count: u64,
    /// All together.
    pub sum: Span,
}

/// Where an address leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// There, with what may be done.
    At(u64, Rights),
    /// It is being asked for.
    Later,
    /// Nowhere: the host says so.
    Nowhere,
}

impl Translations {
    pub(super) fn new(id: FunctionId, parameters: &AcceleratorParameters) -> Self {
        let cache = parameters.translation_cache();
        let requests = parameters.translation_requests as u16;
        Translations {
            id,
            cache: cache.expect("a plan has caches that can be built"),
            outstanding: Outstanding::new(requests, parameters.completion_timeout),
            missing: Vec::new(),
            half: Span::from_fs(parameters.translation_latency.as_fs() / 2),
            round_trips: RoundTrips::default(),
            forgotten: VecDeque::new(),
            enabled: false,
            page_requests: 0,
        }
    }

    pub(super) fn round_trips(&self) -> RoundTrips {
        self.round_trips
    }

    /// Puts in a translation that nobody asked for.
    pub(super) fn warm(&mut self, mapping: Mapping) {
        self.cache.fill(self.id, mapping);
    }

    /// Where `address` leads; if that is not known, it is asked for.
    pub(super) fn find(&mut self, address: u64, now: Time) -> Found {
        if let Some(mapping) = self.cache.lookup(self.id, address) {
            return Found::At(mapping.translate(address), mapping.rights());
        }
        let page = Page::of(address);
        let Some(place) = self.missing.iter().position(|(there, _)| *there == page) else {
            self.missing.push((page, Stage::Missed(now + self.half)));
            return Found::Later;
        };
        match self.missing[place].1 {
            Stage::Answered(due, mapping) if due <= now => {
                self.missing.remove(place);
                self.cache.fill(self.id, mapping);
                Found::At(mapping.translate(address), mapping.rights())
            }
            Stage::Nowhere => {
                self.missing.remove(place);
                Found::Nowhere
            }
            _ => Found::Later,
        }
    }

    /// The next request for a page, if one may be made: one at a time for each, and as many as are allowed.
    fn next_wanted(&mut self, packets: &mut Packets) -> Option<PacketId> {
        let wanted = |stage: &Stage| matches!(stage, Stage::Wanted(_));
        let under_way = self
            .missing
            .iter()
            .filter(|(_, stage)| wanted(stage))
            .count();
        let absent = |(_, stage): &(Page, Stage)| matches!(stage, Stage::Absent);
        let place = self.missing.iter().position(absent)?;
        if self.page_requests == 0 {
            self.missing[place].1 = Stage::Nowhere;
            return None;
        }
        if under_way >= self.page_requests as usize {
            return None;
        }
        let is_free = |group: &PageGroup| {
            !self
                .missing
                .iter()
                .any(|(_, stage)| matches!(stage, Stage::Wanted(other) if other == group))
        };
        let group = (0..PageGroup::COUNT)
            .filter_map(PageGroup::new)
            .find(is_free)?;
        let (page, stage) = &mut self.missing[place];
        *stage = Stage::Wanted(group);
        let request = PageRequest {
            page: *page,
            group,
            is_last: true,
            access: Access::Read,
        };
        let packet = packets.claim();
        let header = Header::message(self.id, Message::PageRequest(request));
        packets[packet].write(header, Stamp::default());
        Some(packet)
    }

    /// The host has brought a page in, or will not.
    pub(super) fn brought_in(&mut self, group: PageGroup, response: PageResponse, now: Time) {
        let mut missing = self.missing.iter_mut();
        let wanted =
            missing.find(|(_, stage)| matches!(stage, Stage::Wanted(other) if *other == group));
        if let Some((_, stage)) = wanted {
            *stage = match response {
                PageResponse::Success => Stage::Missed(now),
                PageResponse::InvalidRequest | PageResponse::Failure => Stage::Nowhere,
            };
        }
    }

    /// Forgets translations, while so many parts have begun. Those that still come are not used.
    pub(super) fn forget(
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
            // A page that came may be larger than the one that was missed.
            let is_in = |mapping: &Mapping| mapping.overlaps(&addresses);
            match stage {
                Stage::Answered(due, mapping) if is_in(mapping) => *stage = Stage::Missed(*due),
                Stage::Asked(_, usable) if range.contains(first) => *usable = false,
                _ => {}
            }
        }
        self.forgotten.push_back((tag, who, begun));
    }

    /// The next word that translations are forgotten, if everything that used them has ended.
    pub(super) fn next_forgotten(
        &mut self,
        have_come: impl Fn(u64) -> bool,
        packets: &mut Packets,
    ) -> Option<PacketId> {
        let (tag, target, _) = self
            .forgotten
            .pop_front_if(|(_, _, begun)| have_come(*begun))?;
        let message = Message::InvalidateCompletion {
            target,
            count: CompletionCount::ONE,
            tags: tag.into(),
        };
        let packet = packets.claim();
        packets[packet].write(Header::message(self.id, message), Stamp::default());
        Some(packet)
    }

    /// From now on it may ask for translations, and for so many pages at a time.
    pub(super) fn allow(&mut self, translations: bool, pages: u32) {
        self.enabled = translations;
        self.page_requests = pages;
    }

    /// The next request for a translation, or for a page, if one may go.
    pub(super) fn next(&mut self, now: Time, packets: &mut Packets) -> Option<PacketId> {
        if !self.enabled {
            return None;
        }
        if let Some(packet) = self.next_wanted(packets) {
            return Some(packet);
        }
        let mut missing = self.missing.iter_mut();
        let is_due = |stage: &Stage| matches!(*stage, Stage::Missed(due) if due <= now);
        let (page, stage) = missing
            .find(|(_, stage)| is_due(stage))
            .filter(|_| self.outstanding.is_open())?;
        *stage = Stage::Asked(now, true);
        let tag = self
            .outstanding
            .begin(*page, Translation::BYTES as u32, now);
        let header = Header::translation_request(self.id, tag, *page, 1, false);
        let packet = packets.claim();
        packets[packet].write(
            header.expect("one translation can be asked for"),
            Stamp::default(),
        );
        Some(packet)
    }

    /// An answer. False if nobody waits for it.
    pub(super) fn take(&mut self, completion: &Completion, payload: &[u8], now: Time) -> bool {
        let Some(part) = self.outstanding.take(completion) else {
            return false;
        };
        let good = completion.status == Status::Successful;
        let entry = payload.first_chunk().filter(|_| good);
        let entry = entry.and_then(|bytes| Translation::parse(*bytes).ok());
        self.answer(
            part.what,
            entry.and_then(|entry| mapping(part.what, &entry)),
            now,
        );
        true
    }

    fn answer(&mut self, page: Page, mapping: Option<Mapping>, now: Time) {
        let mut missing = self.missing.iter_mut();
        let Some((_, stage)) = missing.find(|(there, _)| *there == page) else {
            return;
        };
        if let Stage::Asked(since, usable) = *stage {
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

    /// Gives up requests that were not answered in time: how many.
    pub(super) fn give_up(&mut self, now: Time) -> usize {
        let mut lost = 0;
        while let Some(part) = self.outstanding.give_up(now) {
            self.answer(part.what, None, now);
            lost += 1;
        }
        lost
    }

    /// When something is due next after `now`.
    pub(super) fn next_time(&mut self, now: Time) -> Time {
        let due = |(_, stage): &(Page, Stage)| match stage {
            Stage::Missed(due) | Stage::Answered(due, _) => Some(*due),
            Stage::Asked(..) | Stage::Absent | Stage::Wanted(_) | Stage::Nowhere => None,
        };
        let first = self
            .missing
            .iter()
            .filter_map(due)
            .filter(|due| *due > now)
            .min();
        first
            .unwrap_or(Time::NEVER)
            .min(self.outstanding.oldest_deadline())
    }
}

/// What an entry says of a page. Of a range that is no page of ours, the largest page within is known.
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
    use protocol::{Kind, PageRange};

    const ID: FunctionId = FunctionId::new(1, 0, 0);

    #[test]
    fn an_answer_on_its_way_while_its_page_is_to_be_forgotten_is_not_used() {
        let parameters = AcceleratorParameters::default();
        let mut translations = Translations::new(ID, &parameters);
        translations.allow(true, 0);
        let (mut packets, now) = (Packets::default(), Time::ZERO);
        assert_eq!(translations.find(0x5000, now), Found::Later);
        let request = translations.next(now, &mut packets).expect("it asks");
        let request = *packets[request].header();
        let range = PageRange::new(0x4000, 0x2000).expect("two pages");
        let tag = InvalidateTag::new(3).expect("a tag");
        translations.forget(FunctionId(0), tag, &range, 0);

        let answer = Header::translation_completion(&request, FunctionId(0), 1, 64);
        let Ok(Kind::Completion(completion)) = answer.map(|header| header.kind) else {
            panic!("the answer to a translation request is a completion");
        };
        let there = PageRange::new(0x9000, 0x1000).expect("a page");
        let entry = Translation::new(there, Access::ReadWrite).emit();
        assert!(translations.take(&completion, &entry, now));
        assert_eq!(translations.find(0x5000, now), Found::Later);
        let again = translations.next(now, &mut packets).expect("it asks again");
        let again = &packets[again].header().kind;
        assert!(matches!(again, Kind::MemoryRead(read) if read.translations() == 1));
    }
}
