//! The outstanding non-posted requests of one function, each with a tag.

use std::collections::VecDeque;
use std::ops::Range;

use kernel::{Span, Time};
use packet::{PacketId, Packets, Stamp};
use protocol::{Completion, CompletionTimeout, FunctionId, Header, Status, Tag, TrafficClass};

use crate::CompletionBuffer;
use crate::completion_buffer::Space;

/// The limits of a function's outstanding requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutstandingLimits {
    /// The maximum number of outstanding requests.
    pub tags: u16,
    /// The function's own completion timeout (PCIe Base 2.8) for each request. Software may select another range.
    pub completion_timeout: Span,
    /// The time after a timeout during which the tag of the request is not used again. A late completion that arrives in this time is
    /// unexpected, and does not answer another request.
    pub tag_quarantine: Span,
    /// The buffer for the completions.
    pub completion_buffer: CompletionBuffer,
}

/// The limits that the registers of a function set for its non-posted requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestControl {
    /// The number of tags.
    pub tags: u16,
    /// The completion timeout of requests that are sent from now on.
    pub completion_timeout: CompletionTimeout,
}

/// The outstanding requests by tag. `T` is the requester's data about each request. The first fields are read even if there is no request.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Outstanding<T> {
    /// The deadline of each request, earliest first. Requests that have completed may still be listed.
    deadlines: VecDeque<(Time, u16)>,
    /// The tags in quarantine, each with the end of its quarantine, in the order of these ends.
    quarantined: VecDeque<(Time, u16)>,
    /// The free tags. The last tag in the list is used next.
    free: Vec<u16>,
    slots: Vec<Slot<T>>,
    /// The limits that the function supports.
    limits: OutstandingLimits,
    /// The tags in use by the current configuration.
    tags: Range<u16>,
    /// The space of the completion buffer that outstanding requests, and late completions of tags in quarantine, may need.
    used: Space,
    /// The completion timeout of new requests. `None` if new requests have no timeout.
    timeout: Option<Span>,
}

/// The state of a tag.
#[derive(Clone, Copy, Debug)]
enum Slot<T> {
    Free,
    Waiting(Waiting<T>),
    Quarantined(Space),
}

#[derive(Clone, Copy, Debug)]
struct Waiting<T> {
    what: T,
    len: u32,
    received: u32,
    deadline: Time,
    /// The space that is reserved for completions that have not arrived yet.
    space: Space,
}

/// The part of a request that a completion answers, or that is lost by a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnsweredPart<T> {
    /// The requester's data about the request.
    pub what: T,
    /// The offset of this part in the request, in bytes.
    pub offset: u32,
    /// The number of bytes that have arrived or are lost.
    pub len: u32,
    /// Whether the request is complete with this part.
    pub last: bool,
}

impl<T: Copy> AnsweredPart<T> {
    /// This part, with the requester's data replaced by the result of `of`.
    pub fn map<U>(&self, of: impl FnOnce(T) -> U) -> AnsweredPart<U> {
        AnsweredPart {
            what: of(self.what),
            offset: self.offset,
            len: self.len,
            last: self.last,
        }
    }

    /// The bytes of this part in the payload of its completion. The error is the status of a completion without data.
    pub fn data<'p>(&self, completion: &Completion, payload: &'p [u8]) -> Result<&'p [u8], Status> {
        if completion.status != Status::Successful {
            return Err(completion.status);
        }
        completed(completion, payload, self.len).ok_or(Status::CompleterAbort)
    }
}

/// The `len` bytes of data in the payload of a completion; none if the payload is shorter.
pub fn completed<'p>(completion: &Completion, payload: &'p [u8], len: u32) -> Option<&'p [u8]> {
    let lead = usize::from(completion.lower_address) % 4;
    payload.get(lead..lead + len as usize)
}

impl<T: Copy> Outstanding<T> {
    /// Creates an empty set of requests.
    pub fn new(limits: OutstandingLimits) -> Self {
        let mut outstanding = Outstanding {
            limits,
            tags: 0..0,
            free: Vec::new(),
            slots: Vec::new(),
            deadlines: VecDeque::new(),
            quarantined: VecDeque::new(),
            used: Space::default(),
            timeout: Some(limits.completion_timeout),
        };
        outstanding.use_tags(limits.tags);
        outstanding
    }

    /// Applies the registers to new requests. Outstanding requests keep their tags and deadlines.
    pub fn allow(&mut self, control: RequestControl) {
        self.use_tags(control.tags);
        self.time_out_after(control.completion_timeout);
    }

    /// Selects the completion timeout of new requests.
    pub fn time_out_after(&mut self, timeout: CompletionTimeout) {
        let own = self.limits.completion_timeout.as_fs();
        self.timeout = timeout.nearest_fs(own).map(Span::from_fs);
    }

    fn use_tags(&mut self, tags: u16) {
        let tags = tags.min(self.limits.tags);
        // A 10-bit tag has nonzero upper bits, so that it is never mistaken for an 8-bit tag (PCIe Base 2.2.6.2).
        let first = if tags > 256 { 256 } else { 0 };
        let tags = first..first + tags;
        if self.tags == tags {
            return;
        }
        let known = self.slots.len().max(usize::from(tags.end));
        self.slots.resize(known, Slot::Free);
        let is_free = |tag: &u16| matches!(self.slots[usize::from(*tag)], Slot::Free);
        self.free = tags.clone().rev().filter(is_free).collect();
        self.tags = tags;
    }

    /// Whether no request is outstanding and no tag is in quarantine.
    pub fn is_idle(&self) -> bool {
        self.deadlines.is_empty() && self.quarantined.is_empty()
    }

    /// Whether a tag is free at `now`.
    pub fn is_open(&self, now: Time) -> bool {
        let mut released = self.quarantined.iter().take_while(|(end, _)| *end <= now);
        !self.free.is_empty() || released.any(|(_, tag)| self.tags.contains(tag))
    }

    /// Whether a tag is free at `now`, and the completion buffer has space for a request for `len` bytes at `address`.
    pub fn fits(&self, address: u64, len: u32, now: Time) -> bool {
        self.is_open(now) && self.has_space(Space::of(address, len), now)
    }

    /// Whether a tag is free at `now`, and the completion buffer has space for a request for `len` bytes at any address.
    pub fn fits_anywhere(&self, len: u32, now: Time) -> bool {
        self.is_open(now) && self.has_space(Space::anywhere(len), now)
    }

    fn has_space(&self, more: Space, now: Time) -> bool {
        let buffer = &self.limits.completion_buffer;
        if !buffer.is_limited() {
            return true;
        }
        let mut used = self.used;
        for (_, tag) in self.quarantined.iter().take_while(|(end, _)| *end <= now) {
            if let Slot::Quarantined(space) = self.slots[usize::from(*tag)] {
                used.remove(space);
            }
        }
        buffer.fits(used, more)
    }

    /// Adds a request for `len` bytes at `address` and returns its tag. A tag must be free.
    pub fn begin(&mut self, what: T, (address, len): (u64, u32), now: Time) -> Tag {
        self.release(now);
        let space = Space::of(address, len);
        self.used.add(space);
        let tag = self.free.pop().expect("a request needs a free tag");
        let deadline = self.timeout.map_or(Time::NEVER, |timeout| now + timeout);
        self.slots[usize::from(tag)] = Slot::Waiting(Waiting {
            what,
            len,
            received: 0,
            deadline,
            space,
        });
        let is_latest = self.deadlines.back().is_none_or(|last| last.0 <= deadline);
        if is_latest && self.timeout.is_some() {
            self.deadlines.push_back((deadline, tag));
        } else {
            self.insert_deadline(deadline, tag);
        }
        Tag(tag)
    }

    /// Inserts a deadline in order, if it is before earlier deadlines because software has shortened the completion timeout, or if it is
    /// never reached.
    fn insert_deadline(&mut self, deadline: Time, tag: u16) {
        // An earlier request with this tag is complete. If its deadline is never reached, its entry would stay in the list for ever.
        self.deadlines.retain(|listed| *listed != (deadline, tag));
        let place = self.deadlines.partition_point(|other| other.0 <= deadline);
        self.deadlines.insert(place, (deadline, tag));
    }

    /// The read request of a function for a range within a page. A tag must be free.
    pub fn read(
        &mut self,
        what: T,
        (requester, range): (FunctionId, (u64, u32)),
        (traffic_class, stamp): (TrafficClass, Stamp),
        (now, packets): (Time, &mut Packets),
    ) -> PacketId {
        let tag = self.begin(what, range, now);
        let read = Header::memory_read(requester, tag, range.0, range.1)
            .expect("a read request stays within its page");
        let header = Header {
            traffic_class,
            ..read
        };
        packets.make(header, stamp, &[])
    }

    /// Returns the part of the request that `completion` answers, or `None` if the completion is unexpected.
    pub fn take(&mut self, completion: &Completion) -> Option<AnsweredPart<T>> {
        let slot = self.slots.get_mut(usize::from(completion.tag.0))?;
        let Slot::Waiting(waiting) = slot else {
            return None;
        };
        let left = waiting.len - waiting.received;
        // Byte Count shows where the data is in the request. If it is too small, an earlier completion was lost (PCIe Base 2.3.1.1).
        if completion.status.has_data() && u32::from(completion.byte_count) < left {
            return None;
        }
        let len = if completion.status.has_data() {
            completion.byte_len().min(left)
        } else {
            left
        };
        let part = AnsweredPart {
            what: waiting.what,
            offset: waiting.received,
            len,
            last: len == left,
        };
        waiting.received += len;
        self.used
            .remove(waiting.space.take_completion(part.len, part.last));
        if part.last {
            *slot = Slot::Free;
            if self.tags.contains(&completion.tag.0) {
                self.free.push(completion.tag.0);
            }
        }
        Some(part)
    }

    /// The next time after `now` at which a request times out. If a request may be waiting for a tag or for space, also the next time at
    /// which a tag leaves its quarantine.
    pub fn next_change(&mut self, now: Time) -> Time {
        self.oldest_deadline().min(self.next_release(now))
    }

    /// The next time after `now` at which a request that waits for a tag, or for space in the completion buffer, may be sent because a
    /// tag leaves its quarantine.
    pub fn next_release(&mut self, now: Time) -> Time {
        self.release(now);
        let is_limited = self.limits.completion_buffer.is_limited();
        match self.quarantined.front() {
            Some((end, _)) if self.free.is_empty() || is_limited => *end,
            _ => Time::NEVER,
        }
    }

    /// The deadline of the oldest outstanding request.
    pub fn oldest_deadline(&mut self) -> Time {
        while let Some((deadline, tag)) = self.deadlines.front() {
            let slot = &self.slots[usize::from(*tag)];
            if matches!(slot, Slot::Waiting(waiting) if waiting.deadline == *deadline) {
                return *deadline;
            }
            self.deadlines.pop_front();
        }
        Time::NEVER
    }

    /// Removes the requests that `is_forgotten` selects, because their function was reset. Returns the missing part of each request. Their
    /// tags are in quarantine until the same time as if they had timed out, because their completions may still arrive.
    pub fn forget(&mut self, is_forgotten: impl Fn(&T) -> bool) -> Vec<AnsweredPart<T>> {
        let slots = &self.slots;
        let is_of_reset = |(deadline, tag): &(Time, u16)| match &slots[usize::from(*tag)] {
            Slot::Waiting(one) => one.deadline == *deadline && is_forgotten(&one.what),
            _ => false,
        };
        let all = self.deadlines.iter().copied().filter(is_of_reset);
        let all: Vec<(Time, u16)> = all.collect();
        all.into_iter()
            .filter_map(|(deadline, tag)| self.quarantine(tag, deadline))
            .collect()
    }

    /// Puts the tag of a request into quarantine from `time` on. Returns the missing part of the request.
    fn quarantine(&mut self, tag: u16, time: Time) -> Option<AnsweredPart<T>> {
        let slot = &mut self.slots[usize::from(tag)];
        let Slot::Waiting(waiting) = *slot else {
            return None;
        };
        *slot = Slot::Quarantined(waiting.space);
        // The tags of requests that were forgotten may be in quarantine until a later time.
        let end = time + self.limits.tag_quarantine;
        let place = self.quarantined.partition_point(|(other, _)| *other <= end);
        self.quarantined.insert(place, (end, tag));
        Some(AnsweredPart {
            what: waiting.what,
            offset: waiting.received,
            len: waiting.len - waiting.received,
            last: true,
        })
    }

    /// Frees the tags whose quarantine has ended. They are used after all other free tags.
    fn release(&mut self, now: Time) {
        while let Some((_, tag)) = self.quarantined.pop_front_if(|(end, _)| *end <= now) {
            let slot = std::mem::replace(&mut self.slots[usize::from(tag)], Slot::Free);
            if let Slot::Quarantined(space) = slot {
                self.used.remove(space);
            }
            if self.tags.contains(&tag) {
                self.free.insert(0, tag);
            }
        }
    }

    /// Removes the oldest request if its deadline is not after `now`, and returns its missing part (PCIe Base 2.8). Its tag is put into
    /// quarantine, because a late completion may still arrive.
    pub fn give_up(&mut self, now: Time) -> Option<AnsweredPart<T>> {
        if self.oldest_deadline() > now {
            return None;
        }
        let (_, tag) = self.deadlines.pop_front()?;
        self.quarantine(tag, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const TIMEOUT: Span = Span::from_us(50);
    const QUARANTINE: Span = Span::from_us(20);

    fn outstanding<T: Copy>(tags: u16) -> Outstanding<T> {
        Outstanding::new(OutstandingLimits {
            tags,
            completion_timeout: TIMEOUT,
            tag_quarantine: QUARANTINE,
            completion_buffer: CompletionBuffer::default(),
        })
    }

    #[test]
    fn what_is_forgotten_is_not_answered_and_its_tag_rests_as_after_a_timeout() {
        let mut outstanding = outstanding(2);
        let kept = outstanding.begin('k', (0, 4), Time::ZERO);
        let tag = outstanding.begin('f', (0, 96), Time::ZERO);
        outstanding.take(&answer(tag, 96, 64, Status::Successful));
        let forgotten = outstanding.forget(|what| *what == 'f');
        let part = |what, offset, len| AnsweredPart {
            what,
            offset,
            len,
            last: true,
        };
        assert_eq!(forgotten, [part('f', 64, 32)]);
        let late = answer(tag, 32, 32, Status::Successful);
        assert_eq!(outstanding.take(&late), None);
        let end = Time::ZERO + TIMEOUT + QUARANTINE;
        assert!(!outstanding.is_open(Time::from_fs(end.as_fs() - 1)));
        assert!(outstanding.is_open(end));
        let answered = outstanding.take(&answer(kept, 4, 4, Status::Successful));
        assert_eq!(answered, Some(part('k', 0, 4)));
    }

    fn answer(tag: Tag, left: u16, len: u16, status: Status) -> Completion {
        Completion {
            completer: FunctionId(0),
            requester: FunctionId(8),
            tag,
            status,
            byte_count: left,
            lower_address: 0,
            dwords: len / 4,
        }
    }

    #[test]
    fn the_parts_of_an_answer_follow_each_other_and_the_last_frees_the_tag() {
        let mut outstanding = outstanding(1);
        let tag = outstanding.begin('a', (0, 96), Time::ZERO);
        assert!(!outstanding.is_open(Time::ZERO));
        let first = outstanding.take(&answer(tag, 96, 64, Status::Successful));
        let second = outstanding.take(&answer(tag, 32, 32, Status::Successful));
        let part = |offset, len, last| {
            Some(AnsweredPart {
                what: 'a',
                offset,
                len,
                last,
            })
        };
        assert_eq!((first, second), (part(0, 64, false), part(64, 32, true)));
        assert!(outstanding.is_open(Time::ZERO));
        assert_eq!(
            outstanding.take(&answer(tag, 32, 32, Status::Successful)),
            None
        );
    }

    #[test]
    fn a_completion_behind_a_lost_one_is_unexpected_and_its_request_times_out() {
        let mut outstanding = outstanding(1);
        let tag = outstanding.begin('a', (0, 96), Time::ZERO);
        assert_eq!(
            outstanding.take(&answer(tag, 32, 32, Status::Successful)),
            None
        );
        let lost = outstanding.give_up(Time::ZERO + TIMEOUT);
        assert_eq!(lost.map(|part| (part.offset, part.len)), Some((0, 96)));
    }

    #[test]
    fn an_error_ends_the_whole_request() {
        let mut outstanding = outstanding(1);
        let tag = outstanding.begin('a', (0, 96), Time::ZERO);
        let part = outstanding.take(&answer(tag, 96, 0, Status::UnsupportedRequest));
        assert_eq!(
            part.map(|part| (part.offset, part.len, part.last)),
            Some((0, 96, true))
        );
    }

    #[test]
    fn a_request_is_given_up_when_its_time_is_over_and_not_before() {
        let mut outstanding = outstanding(2);
        let answered = outstanding.begin('a', (0, 4), Time::ZERO);
        outstanding.begin('b', (0, 8), Time::ZERO + Span::from_ns(1));
        outstanding.take(&answer(answered, 4, 4, Status::Successful));
        assert_eq!(outstanding.give_up(Time::ZERO + TIMEOUT), None);
        let late = Time::ZERO + TIMEOUT + Span::from_ns(1);
        assert_eq!(outstanding.next_change(Time::ZERO), late);
        assert_eq!(
            outstanding.give_up(late).map(|part| (part.what, part.len)),
            Some(('b', 8))
        );
        assert_eq!(outstanding.next_change(late), Time::NEVER);
    }

    #[test]
    fn a_tag_that_was_given_up_is_used_again_after_its_quarantine_and_after_all_others() {
        let mut outstanding = outstanding(3);
        let lost = outstanding.begin((), (0, 4), Time::ZERO);
        let late = Time::ZERO + TIMEOUT;
        assert!(outstanding.give_up(late).is_some());
        let end = late + QUARANTINE;
        assert!(outstanding.is_open(end));
        assert_ne!(outstanding.begin((), (0, 4), end), lost);
        assert_ne!(outstanding.begin((), (0, 4), end), lost);
        assert_eq!(outstanding.begin((), (0, 4), end), lost);
    }

    #[test]
    fn a_requester_with_one_tag_waits_for_the_end_of_its_quarantine() {
        let mut outstanding = outstanding(1);
        let lost = outstanding.begin('a', (0, 4), Time::ZERO);
        let late = Time::ZERO + TIMEOUT;
        assert!(outstanding.give_up(late).is_some());
        let (end, before) = (late + QUARANTINE, late + (QUARANTINE - Span::from_fs(1)));
        assert_eq!(outstanding.next_change(late), end);
        assert!(!outstanding.is_open(before));
        assert_eq!(
            outstanding.take(&answer(lost, 4, 4, Status::Successful)),
            None
        );
        assert!(!outstanding.is_open(before) && outstanding.is_open(end));
        assert_eq!(outstanding.begin('b', (0, 4), end), lost);
    }

    #[test]
    fn a_change_of_the_tags_ends_no_quarantine() {
        let mut outstanding = outstanding(2);
        let lost = outstanding.begin((), (0, 4), Time::ZERO);
        let late = Time::ZERO + TIMEOUT;
        assert!(outstanding.give_up(late).is_some());
        outstanding.use_tags(1);
        assert_eq!(lost, Tag(0));
        assert!(!outstanding.is_open(late));
        assert_eq!(outstanding.next_change(late), late + QUARANTINE);
        outstanding.use_tags(2);
        assert_eq!(outstanding.begin((), (0, 4), late), Tag(1));
    }

    #[test]
    fn more_than_256_requests_take_ten_bit_tags_alone() {
        let mut outstanding = outstanding(768);
        for _ in 0..768 {
            assert!((256..1024).contains(&outstanding.begin((), (0, 4), Time::ZERO).0));
        }
        assert!(!outstanding.is_open(Time::ZERO));
    }

    #[test]
    fn requests_that_wait_keep_tags_that_are_allowed_no_more() {
        let mut outstanding = outstanding(300);
        let wide = outstanding.begin('a', (0, 4), Time::ZERO);
        assert_eq!(wide, Tag(256));
        outstanding.use_tags(1);
        let narrow = outstanding.begin('b', (0, 4), Time::ZERO);
        assert_eq!(narrow, Tag(0));
        assert!(!outstanding.is_open(Time::ZERO));
        let part = outstanding.take(&answer(wide, 4, 4, Status::Successful));
        assert_eq!(part.map(|part| part.what), Some('a'));
        assert!(!outstanding.is_open(Time::ZERO));
        outstanding.take(&answer(narrow, 4, 4, Status::Successful));
        assert!(outstanding.is_open(Time::ZERO));
    }

    #[test]
    fn a_request_waits_for_space_for_all_its_completions() {
        let mut outstanding = Outstanding::new(OutstandingLimits {
            tags: 8,
            completion_timeout: TIMEOUT,
            tag_quarantine: QUARANTINE,
            completion_buffer: CompletionBuffer {
                bytes: Some(1024),
                headers: Some(9),
            },
        });
        let now = Time::ZERO;
        let first = outstanding.begin('a', (0, 256), now);
        assert!(outstanding.fits(0, 256, now) && !outstanding.fits(0, 1024, now));
        let second = outstanding.begin('b', (0, 256), now);
        // One of nine headers is left, and half of the bytes.
        assert!(outstanding.fits(0, 64, now) && !outstanding.fits(32, 64, now));
        assert!(!outstanding.fits_anywhere(64, now));
        outstanding.take(&answer(first, 256, 64, Status::Successful));
        assert!(outstanding.fits_anywhere(64, now) && !outstanding.fits_anywhere(128, now));
        outstanding.take(&answer(first, 192, 192, Status::Successful));
        assert!(outstanding.fits(0, 320, now));
        // Completions of a request that has timed out may still arrive.
        let late = now + TIMEOUT;
        assert!(outstanding.give_up(late).is_some());
        assert!(!outstanding.fits(0, 512, late));
        let end = outstanding.next_change(late);
        assert_eq!(end, late + QUARANTINE);
        assert!(outstanding.fits(0, 512, end));
        assert_eq!(
            outstanding.take(&answer(second, 256, 256, Status::Successful)),
            None
        );
    }

    proptest! {
        /// Completions that arrive before the end of the quarantine of their tags answer their own requests, or no request.
        #[test]
        fn no_completion_answers_another_request(
            tags in 1_u16..4,
            requests in vec((0_u64..40, 1_u64..70), 1..60),
        ) {
            let mut outstanding = outstanding(tags);
            let mut answers: Vec<(Time, Tag, usize)> = Vec::new();
            let mut now = Time::ZERO;
            for (number, (pause, latency)) in requests.into_iter().enumerate() {
                now += Span::from_us(pause);
                loop {
                    while outstanding.give_up(now).is_some() {}
                    let open = outstanding.is_open(now);
                    let next = outstanding.next_change(now);
                    prop_assert!(next > now);
                    let due = if open { now } else { next };
                    answers.sort_by_key(|(at, ..)| std::cmp::Reverse(*at));
                    while let Some((_, tag, of)) = answers.pop_if(|(at, ..)| *at <= due) {
                        let taken = outstanding.take(&answer(tag, 4, 4, Status::Successful));
                        prop_assert!(taken.is_none_or(|part| part.what == of));
                    }
                    if open {
                        break;
                    }
                    now = due;
                }
                let tag = outstanding.begin(number, (0, 4), now);
                answers.push((now + Span::from_us(latency), tag, number));
            }
        }
    }
}
