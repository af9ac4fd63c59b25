//! The outstanding non-posted requests of one function, each with a tag.

use std::collections::VecDeque;
use std::ops::Range;

use kernel::{Span, Time};
use protocol::{Completion, Status, Tag};

/// Outstanding requests by tag. `T` is the requester's data about each request.
#[derive(Clone, Debug)]
pub struct Outstanding<T> {
    timeout: Span,
    /// The largest number of outstanding requests that the function supports.
    most: u16,
    /// The tags in use by the current configuration.
    tags: Range<u16>,
    /// The free tags. The last one is used next.
    free: Vec<u16>,
    waiting: Vec<Option<Waiting<T>>>,
    /// The deadline of each request, oldest first. Requests that have completed are still listed.
    deadlines: VecDeque<(Time, u16)>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting<T> {
    what: T,
    len: u32,
    received: u32,
    deadline: Time,
}

/// The part of a request that a completion answers, or that a timeout ends.
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

impl<T: Copy> Outstanding<T> {
    /// Creates an empty set for at most `tags` requests, each with the timeout `timeout`.
    pub fn new(tags: u16, timeout: Span) -> Self {
        let mut outstanding = Outstanding {
            timeout,
            most: tags,
            tags: 0..0,
            free: Vec::new(),
            waiting: Vec::new(),
            deadlines: VecDeque::new(),
        };
        outstanding.allow(tags);
        outstanding
    }

    /// Limits the number of tags for new requests. Outstanding requests keep their tags.
    pub fn allow(&mut self, tags: u16) {
        let tags = tags.min(self.most);
        // A 10-bit tag has nonzero upper bits, so that it is never mistaken for an 8-bit tag (PCIe Base 2.2.6.2).
        let first = if tags > 256 { 256 } else { 0 };
        let tags = first..first + tags;
        if self.tags == tags {
            return;
        }
        let known = self.waiting.len().max(usize::from(tags.end));
        self.waiting.resize(known, None);
        let is_free = |tag: &u16| self.waiting[usize::from(*tag)].is_none();
        self.free = tags.clone().rev().filter(is_free).collect();
        self.tags = tags;
    }

    /// Whether a tag is free.
    pub fn is_open(&self) -> bool {
        !self.free.is_empty()
    }

    /// Adds a request for `len` bytes and returns its tag. A tag must be free.
    pub fn begin(&mut self, what: T, len: u32, now: Time) -> Tag {
        let tag = self.free.pop().expect("a request needs a free tag");
        let deadline = now + self.timeout;
        self.waiting[usize::from(tag)] = Some(Waiting {
            what,
            len,
            received: 0,
            deadline,
        });
        self.deadlines.push_back((deadline, tag));
        Tag(tag)
    }

    /// Returns the part of the request that `completion` answers, or `None` if the completion is unexpected.
    pub fn take(&mut self, completion: &Completion) -> Option<AnsweredPart<T>> {
        let slot = self.waiting.get_mut(usize::from(completion.tag.0))?;
        let waiting = slot.as_mut()?;
        let left = waiting.len - waiting.received;
        let len = if completion.status == Status::Successful {
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
        if part.last {
            *slot = None;
            if self.tags.contains(&completion.tag.0) {
                self.free.push(completion.tag.0);
            }
        }
        Some(part)
    }

    /// The deadline of the oldest outstanding request.
    pub fn oldest_deadline(&mut self) -> Time {
        while let Some((deadline, tag)) = self.deadlines.front() {
            let waiting = &self.waiting[usize::from(*tag)];
            if waiting
                .as_ref()
                .is_some_and(|waiting| waiting.deadline == *deadline)
            {
                return *deadline;
            }
            self.deadlines.pop_front();
        }
        Time::NEVER
    }

    /// Removes the oldest request if its deadline is not after `now`, and returns its missing part (PCIe Base 2.8). Its tag is
    /// reused last, because a late completion may still arrive.
    pub fn give_up(&mut self, now: Time) -> Option<AnsweredPart<T>> {
        if self.oldest_deadline() > now {
            return None;
        }
        let (_, tag) = self.deadlines.pop_front()?;
        let waiting = self.waiting[usize::from(tag)].take()?;
        if self.tags.contains(&tag) {
            self.free.insert(0, tag);
        }
        Some(AnsweredPart {
            what: waiting.what,
            offset: waiting.received,
            len: waiting.len - waiting.received,
            last: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::FunctionId;

    const TIMEOUT: Span = Span::from_us(50);

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
        let mut outstanding = Outstanding::new(1, TIMEOUT);
        let tag = outstanding.begin('a', 96, Time::ZERO);
        assert!(!outstanding.is_open());
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
        assert!(outstanding.is_open());
        assert_eq!(
            outstanding.take(&answer(tag, 32, 32, Status::Successful)),
            None
        );
    }

    #[test]
    fn an_error_ends_the_whole_request() {
        let mut outstanding = Outstanding::new(1, TIMEOUT);
        let tag = outstanding.begin('a', 96, Time::ZERO);
        let part = outstanding.take(&answer(tag, 96, 0, Status::UnsupportedRequest));
        assert_eq!(
            part.map(|part| (part.offset, part.len, part.last)),
            Some((0, 96, true))
        );
    }

    #[test]
    fn a_request_is_given_up_when_its_time_is_over_and_not_before() {
        let mut outstanding = Outstanding::new(2, TIMEOUT);
        let answered = outstanding.begin('a', 4, Time::ZERO);
        outstanding.begin('b', 8, Time::ZERO + Span::from_ns(1));
        outstanding.take(&answer(answered, 4, 4, Status::Successful));
        assert_eq!(outstanding.give_up(Time::ZERO + TIMEOUT), None);
        let late = Time::ZERO + TIMEOUT + Span::from_ns(1);
        assert_eq!(outstanding.oldest_deadline(), late);
        assert_eq!(
            outstanding.give_up(late).map(|part| (part.what, part.len)),
            Some(('b', 8))
        );
        assert_eq!(outstanding.oldest_deadline(), Time::NEVER);
    }

    #[test]
    fn a_tag_that_was_given_up_is_used_again_after_all_others() {
        let mut outstanding = Outstanding::new(3, TIMEOUT);
        let lost = outstanding.begin((), 4, Time::ZERO);
        let late = Time::ZERO + TIMEOUT;
        assert!(outstanding.give_up(late).is_some());
        assert_ne!(outstanding.begin((), 4, late), lost);
        assert_ne!(outstanding.begin((), 4, late), lost);
        assert_eq!(outstanding.begin((), 4, late), lost);
    }

    #[test]
    fn more_than_256_requests_take_ten_bit_tags_alone() {
        let mut outstanding = Outstanding::new(768, TIMEOUT);
        for _ in 0..768 {
            assert!((256..1024).contains(&outstanding.begin((), 4, Time::ZERO).0));
        }
        assert!(!outstanding.is_open());
    }

    #[test]
    fn requests_that_wait_keep_tags_that_are_allowed_no_more() {
        let mut outstanding = Outstanding::new(300, TIMEOUT);
        let wide = outstanding.begin('a', 4, Time::ZERO);
        assert_eq!(wide, Tag(256));
        outstanding.allow(1);
        let narrow = outstanding.begin('b', 4, Time::ZERO);
        assert_eq!(narrow, Tag(0));
        assert!(!outstanding.is_open());
        let part = outstanding.take(&answer(wide, 4, 4, Status::Successful));
        assert_eq!(part.map(|part| part.what), Some('a'));
        assert!(!outstanding.is_open());
        outstanding.take(&answer(narrow, 4, 4, Status::Successful));
        assert!(outstanding.is_open());
    }
}
