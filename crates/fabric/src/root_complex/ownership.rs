//! Ownership of memory lines by the root ports. A write becomes visible once its root port owns each of its lines, and after the earlier
//! writes of its port that it must not pass. Until then, ownership of other lines is requested. A line is given back after a number of
//! writes, and the next write to it must acquire ownership again. Therefore, short writes to one line follow one another slowly, and writes
//! of whole lines do not wait.

use std::collections::VecDeque;

use kernel::{Port, Span, Time};
use protocol::{Header, MemoryRequest};

use super::RootComplexParameters;
use super::posted_order::PostedOrder;

/// The lines that the root ports own or have just given back, and the times of the writes of each port.
#[derive(Debug)]
pub(super) struct Ownership {
    /// The number of writes that one ownership of a line permits.
    writes: u32,
    /// The time from the last write under one ownership until the first write under the next ownership.
    time: Span,
    line_bits: u32,
    /// The lines for which a write may still have to wait. The line that has been unused for the longest time is first.
    lines: VecDeque<OwnedLine>,
    /// For each root port, the times at which its writes are visible.
    written: PostedOrder,
}

/// A line, the time at which its last write is visible, and the number of writes under the current ownership up to this write.
#[derive(Clone, Copy, Debug)]
struct OwnedLine {
    number: u64,
    visible: Time,
    writes: u32,
}

impl Ownership {
    /// The initial state without lines, or none if writes need no ownership.
    pub(super) fn new(parameters: &RootComplexParameters) -> Option<Self> {
        (parameters.writes_per_ownership > 0).then(|| Ownership {
            writes: parameters.writes_per_ownership,
            time: parameters.ownership_time(),
            line_bits: parameters.memory_line.0.trailing_zeros(),
            lines: VecDeque::new(),
            written: PostedOrder::default(),
        })
    }

    /// Handles a write by `port` at `now` whose lines are written at `done`. Returns the time at which the write is visible.
    pub(super) fn take(
        &mut self,
        port: Port,
        (header, request): (&Header, &MemoryRequest),
        now: Time,
        done: Time,
    ) -> Time {
        self.forget(now);
        let first = request.first_byte() >> self.line_bits;
        let last_byte = request.first_byte() + u64::from(request.byte_len()).max(1) - 1;
        let taken: Vec<_> = (first..=last_byte >> self.line_bits)
            .map(|number| self.own(number, done))
            .collect();
        let owned = taken.iter().map(|line| line.visible);
        let visible = owned.fold(done.max(self.after_writes(port, header)), Time::max);
        let seen = |line: &OwnedLine| OwnedLine { visible, ..*line };
        self.lines.extend(taken.iter().map(seen));
        self.written.record(port.index(), header, visible, now);
        visible
    }

    /// The time at which all writes of `port` that a packet with `header` must not pass are visible.
    pub(super) fn after_writes(&self, port: Port, header: &Header) -> Time {
        self.written.until(port.index(), header)
    }

    /// The time at which all writes of `port` so far are visible.
    pub(super) fn after_all_writes(&self, port: Port) -> Time {
        self.written.until_all(port.index())
    }

    /// Acquires ownership of a line for a write whose bytes have arrived at `done`. The entry of the line is removed, and the caller adds it
    /// again.
    fn own(&mut self, number: u64, done: Time) -> OwnedLine {
        let place = self.lines.iter().rposition(|line| line.number == number);
        let Some(earlier) = place.and_then(|place| self.lines.remove(place)) else {
            return OwnedLine {
                number,
                visible: done,
                writes: 1,
            };
        };
        // A write that already waits when the line is written can use the line before it is given back.
        if done <= earlier.visible && earlier.writes < self.writes {
            return OwnedLine {
                writes: earlier.writes + 1,
                ..earlier
            };
        }
        OwnedLine {
            number,
            visible: done.max(earlier.visible + self.time),
            writes: 1,
        }
    }

    /// Removes the lines for which no write at `now` or later has to wait.
    fn forget(&mut self, now: Time) {
        let time = self.time;
        while self
            .lines
            .pop_front_if(|line| line.visible + time <= now)
            .is_some()
        {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use protocol::{Attributes, FunctionId, Kind, Tag};

    use super::*;

    const AGAIN: Span = Span::from_ns(100);

    fn ownership(writes: u32) -> Ownership {
        let parameters = RootComplexParameters {
            writes_per_ownership: writes,
            ownership_time: Some(AGAIN),
            ..RootComplexParameters::default()
        };
        Ownership::new(&parameters).expect("a number of writes")
    }

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    fn write(address: u64, len: u32) -> (Header, MemoryRequest) {
        let request =
            MemoryRequest::new(FunctionId(0), Tag(0), address, len).expect("a legal write");
        (Kind::MemoryWrite(request).into(), request)
    }

    /// Calls [`Ownership::take`] for a write.
    fn take(
        ownership: &mut Ownership,
        port: Port,
        (header, request): (Header, MemoryRequest),
        now: Time,
        done: Time,
    ) -> Time {
        ownership.take(port, (&header, &request), now, done)
    }

    /// The times at which consecutive writes of `len` bytes each, 10 ns apart, are visible.
    fn visible(writes: u32, len: u32, count: u64) -> Vec<u64> {
        let mut ownership = ownership(writes);
        let take = |number| {
            let request = write(number * u64::from(len), len);
            let (now, done) = (at(number * 10), at(number * 10 + 50));
            let visible = take(&mut ownership, Port(0), request, now, done);
            visible.as_fs() / 1_000_000
        };
        (0..count).map(take).collect()
    }

    #[test]
    fn there_is_none_where_writes_need_no_ownership() {
        assert!(Ownership::new(&RootComplexParameters::default()).is_none());
    }

    #[test]
    fn writes_of_whole_lines_wait_for_nothing() {
        assert_eq!(visible(1, 64, 4), [50, 60, 70, 80]);
        assert_eq!(visible(1, 128, 4), [50, 60, 70, 80]);
    }

    #[test]
    fn a_write_to_the_line_of_an_earlier_one_waits_until_it_can_be_owned_again() {
        // The third write is to another line, which is owned by then.
        assert_eq!(visible(1, 32, 5), [50, 150, 150, 250, 250]);
        assert_eq!(visible(1, 16, 5), [50, 150, 250, 350, 350]);
    }

    #[test]
    fn a_write_that_waits_for_the_line_may_share_the_ownership() {
        // The first write uses its ownership alone, because the bytes of the second write arrive after the first write is visible.
        assert_eq!(
            visible(2, 8, 9),
            [50, 150, 150, 250, 250, 350, 350, 450, 450]
        );
    }

    #[test]
    fn ports_do_not_wait_for_each_other_at_different_lines() {
        let mut ownership = ownership(1);
        for _ in 0..3 {
            take(&mut ownership, Port(0), write(0, 8), at(0), at(50));
        }
        assert_eq!(ownership.after_writes(Port(0), &write(0, 8).0), at(250));
        let other = take(&mut ownership, Port(1), write(64, 8), at(0), at(60));
        assert_eq!(other, at(60));
    }

    #[test]
    fn a_write_with_relaxed_ordering_does_not_wait_for_earlier_ones_of_its_port() {
        for (relaxed_ordering, expected) in [(false, 250), (true, 60)] {
            let mut ownership = ownership(1);
            for _ in 0..3 {
                take(&mut ownership, Port(0), write(0, 8), at(0), at(50));
            }
            let (header, request) = write(64, 8);
            let attributes = Attributes {
                relaxed_ordering,
                ..Attributes::default()
            };
            let header = Header {
                attributes,
                ..header
            };
            let visible = take(&mut ownership, Port(0), (header, request), at(0), at(60));
            assert_eq!(visible, at(expected));
            // A write without relaxed ordering stays behind all of them.
            let next = take(&mut ownership, Port(0), write(128, 8), at(0), at(60));
            assert_eq!(next, at(250));
        }
    }

    proptest! {
        /// The writes of a port become visible in order, and not before their bytes have arrived. Within the time that it takes to acquire a
        /// line again, no more writes of the line become visible than one ownership permits.
        #[test]
        fn writes_are_in_order_and_a_line_serves_no_more_than_its_writes(
            per in 1_u32..4,
            writes in vec((0_u8..3, 0_u64..6, 0_u64..64, 1_u32..200, 0_u64..150), 1..80),
        ) {
            let mut ownership = ownership(per);
            let mut now = Time::ZERO;
            let mut last = [Time::ZERO; 3];
            let mut of_line = std::collections::BTreeMap::<u64, Vec<Time>>::new();
            for (port, line, offset, len, pause) in writes {
                now += Span::from_ns(pause);
                let done = now + Span::from_ns(40);
                let request = write(line * 64 + offset, len);
                let visible = take(&mut ownership, Port(port.into()), request, now, done);
                prop_assert!(visible >= done);
                prop_assert!(visible >= last[usize::from(port)]);
                last[usize::from(port)] = visible;
                let lines = (line * 64 + offset) / 64..=(line * 64 + offset + u64::from(len) - 1) / 64;
                for line in lines {
                    of_line.entry(line).or_default().push(visible);
                }
            }
            for times in of_line.values() {
                for group in times.windows(per as usize + 1) {
                    prop_assert!(group[per as usize].since(group[0]) >= AGAIN);
                }
            }
            // The number of stored lines does not grow with the number of writes.
            ownership.forget(now + Span::from_us(100));
            prop_assert!(ownership.lines.is_empty());
        }
    }
}
