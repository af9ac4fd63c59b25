//! A datapath behind the core of a port. Packets pass it one after the other, with header and payload in whole beats.

use kernel::{Span, Time};

/// One direction of the datapath.
#[derive(Clone, Debug)]
pub struct Datapath {
    /// The time of a beat.
    cycle: Span,
    /// The number of bytes of a beat, or zero for an unlimited datapath.
    width: u64,
    /// The number of beats that stay empty between two packets.
    idle: u32,
    /// The distance between the positions within a beat at which a packet may begin. Zero means that a packet may begin only at the first
    /// byte.
    straddling: u64,
    /// The time from which on a packet may begin in a new beat.
    free: Time,
    /// The number of bytes at the end of the last beat in which another packet may begin. The last beat ends at `free`.
    rest: u64,
}

impl Datapath {
    /// A datapath with beats of `width` bytes and the duration `cycle`. There are `idle` empty beats between two packets. Within a beat,
    /// packets may begin at positions that are `straddling` bytes apart.
    pub fn new(cycle: Span, width: u64, idle: u32, straddling: u64) -> Self {
        Datapath {
            cycle,
            width,
            idle,
            straddling,
            free: Time::ZERO,
            rest: 0,
        }
    }

    /// Whether packets take no time.
    pub fn is_unlimited(&self) -> bool {
        self.width == 0
    }

    /// The earliest time at which the next packet may begin.
    pub fn opens(&self) -> Time {
        if self.rest > 0 {
            self.last_beat()
        } else {
            self.free
        }
    }

    /// The time that a packet of `bytes` takes, including the idle beats after it.
    pub fn time_of(&self, bytes: u64) -> Span {
        let beats = bytes
            .checked_div(self.width)
            .map_or(0, |_| bytes.div_ceil(self.width));
        self.cycle * (beats + u64::from(self.idle))
    }

    /// Passes a packet of `bytes` through a limited datapath, from `ready` on. Returns the time at which the last beat of the packet has
    /// passed.
    pub fn pass(&mut self, ready: Time, bytes: u64) -> Time {
        let (begin, shared) = if self.rest > 0 && ready <= self.last_beat() {
            (self.free, self.rest)
        } else {
            (ready.max(self.free), 0)
        };
        let own = bytes.saturating_sub(shared);
        let beats = own.div_ceil(self.width);
        let end = begin + self.cycle * beats;
        let used = self.width * beats;
        let left = (shared + used).saturating_sub(bytes);
        self.rest = left.checked_div(self.straddling).unwrap_or(0) * self.straddling;
        self.free = end + self.cycle * u64::from(self.idle);
        end
    }

    /// The time at which the last beat begins.
    fn last_beat(&self) -> Time {
        Time::ZERO + (self.free.since(Time::ZERO) - self.cycle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const CYCLE: Span = Span::from_ns(4);

    fn at(cycles: u64) -> Time {
        Time::ZERO + CYCLE * cycles
    }

    #[test]
    fn a_packet_takes_whole_beats_and_the_idle_ones_after_it() {
        let mut datapath = Datapath::new(CYCLE, 16, 1, 0);
        assert_eq!(datapath.pass(at(0), 140), at(9));
        assert_eq!(datapath.opens(), at(10));
        assert_eq!(datapath.pass(at(2), 12), at(11));
        assert_eq!(datapath.pass(at(50), 16), at(51));
    }

    #[test]
    fn a_packet_that_is_there_in_time_begins_in_the_last_beat_of_the_one_before() {
        // 80 bytes are two and a half beats of 32 bytes. The next packet uses the other half of the last beat.
        let mut datapath = Datapath::new(CYCLE, 32, 0, 16);
        assert_eq!(datapath.pass(at(0), 80), at(3));
        assert_eq!(datapath.opens(), at(2));
        assert_eq!(datapath.pass(at(2), 80), at(5));
        assert_eq!(datapath.opens(), at(5));
        // The last beat has 12 bytes left, but no position in them at which a packet may begin.
        assert_eq!(datapath.pass(at(0), 84), at(8));
        assert_eq!(datapath.opens(), at(8));
    }

    #[test]
    fn a_packet_that_comes_after_the_last_beat_has_begun_takes_a_beat_of_its_own() {
        let mut datapath = Datapath::new(CYCLE, 32, 0, 16);
        assert_eq!(datapath.pass(at(0), 80), at(3));
        let late = at(2) + Span::from_ns(1);
        assert_eq!(datapath.pass(late, 80), at(6));
    }

    #[test]
    fn short_packets_share_a_beat() {
        let mut datapath = Datapath::new(CYCLE, 64, 0, 16);
        for _ in 0..4 {
            assert_eq!(datapath.pass(at(0), 12), at(1));
        }
        assert_eq!(datapath.pass(at(0), 12), at(2));
    }

    proptest! {
        /// If packets wait all the time, they take as many beats as their bytes need. The size of each packet is rounded up to the next
        /// position at which a packet may begin.
        #[test]
        fn packets_without_a_pause_waste_nothing_but_the_way_to_the_next_place(
            places in prop::sample::select(&[1_u64, 2, 4][..]),
            packets in vec(12_u64..300, 1..50),
        ) {
            let width = 32;
            let place = width / places;
            let straddling = if places == 1 { 0 } else { place };
            let mut datapath = Datapath::new(CYCLE, width, 0, straddling);
            let (last, others) = packets.split_last().expect("there are packets");
            for bytes in others {
                let end = datapath.pass(Time::ZERO, *bytes);
                prop_assert!(datapath.opens() <= end);
            }
            let before: u64 = others.iter().map(|bytes| bytes.next_multiple_of(place)).sum();
            let end = datapath.pass(Time::ZERO, *last);
            prop_assert_eq!(end, at((before + last).div_ceil(width)));
        }
    }
}
