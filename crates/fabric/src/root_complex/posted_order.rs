//! The posted requests of each source that are not complete, and the time until which a later packet has to stay behind them (PCIe Base
//! 2.4.1).

use kernel::Time;
use protocol::{Class, FunctionId, Header, Kind, Passing, Row, TrafficClass};

/// The last posted requests of each source. A source is for example a root port.
#[derive(Debug, Default)]
pub(super) struct PostedOrder {
    sources: Vec<Vec<UnderWay>>,
}

/// The posted requests of one requester and traffic class, and the time at which the last of them is complete.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    requester: FunctionId,
    traffic_class: TrafficClass,
    until: Time,
}

impl PostedOrder {
    /// The time until which a packet of `source` has to stay behind posted requests that it must not pass.
    pub(super) fn until(&self, source: usize, header: &Header) -> Time {
        let under_way = self.sources.get(source).into_iter().flatten();
        let stays = under_way.filter(|earlier| !earlier.is_passed_by(header));
        stays.fold(Time::ZERO, |until, earlier| until.max(earlier.until))
    }

    /// The time at which the last posted request of `source` is complete.
    pub(super) fn until_all(&self, source: usize) -> Time {
        let under_way = self.sources.get(source).into_iter().flatten();
        under_way.fold(Time::ZERO, |until, earlier| until.max(earlier.until))
    }

    /// Records that a packet of `source` is complete at `until`, if it is a posted request.
    pub(super) fn record(&mut self, source: usize, header: &Header, until: Time, now: Time) {
        if header.class() != Class::Posted {
            return;
        }
        if self.sources.len() <= source {
            self.sources.resize(source + 1, Vec::new());
        }
        let all = &mut self.sources[source];
        let (requester, traffic_class) = (header.requester(), header.traffic_class);
        let is_like =
            |one: &&mut UnderWay| one.requester == requester && one.traffic_class == traffic_class;
        if let Some(one) = all.iter_mut().find(is_like) {
            one.until = one.until.max(until);
            return;
        }
        all.retain(|one| one.until >= now);
        all.push(UnderWay {
            requester,
            traffic_class,
            until,
        });
    }
}

impl UnderWay {
    /// Whether a later packet may pass these requests. It may pass if the ordering table permits or requires it.
    fn is_passed_by(&self, later: &Header) -> bool {
        let attributes = later.attributes;
        if later.traffic_class != self.traffic_class {
            return true;
        }
        if !attributes.relaxed_ordering && !attributes.id_ordering {
            return false;
        }
        // D2b compares the Completer ID of the completion with the Requester ID of the posted request.
        let own = match &later.kind {
            Kind::Completion(completion) => completion.completer,
            _ => later.requester(),
        };
        let passing = later
            .row()
            .may_pass(attributes, Row::Posted, own == self.requester);
        passing != Passing::No
    }
}

#[cfg(test)]
mod tests {
    use kernel::Span;
    use protocol::{Attributes, Tag};

    use super::*;

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    fn header(requester: u16, class: u8, bits: u8, is_read: bool) -> Header {
        let function = FunctionId(requester);
        let header = if is_read {
            Header::memory_read(function, Tag(0), 0x1000, 4)
        } else {
            Header::memory_write(function, 0x1000, 4)
        };
        Header {
            traffic_class: TrafficClass::new(class).expect("a class"),
            attributes: Attributes::from_bits(bits),
            ..header.expect("a legal request")
        }
    }

    #[test]
    fn a_packet_stays_behind_what_the_table_forbids_it_to_pass() {
        for earlier in [
            header(1, 0, 0, false),
            header(2, 0, 0, false),
            header(1, 3, 2, false),
        ] {
            let mut order = PostedOrder::default();
            order.record(0, &earlier, at(50), at(0));
            for bits in 0..8 {
                for is_read in [false, true] {
                    let later = header(1, 0, bits, is_read);
                    let may = later.may_pass(&earlier) != Passing::No;
                    let expected = if may { Time::ZERO } else { at(50) };
                    assert_eq!(order.until(0, &later), expected, "{later:?} {earlier:?}");
                    assert_eq!(order.until(1, &later), Time::ZERO);
                }
            }
        }
    }

    #[test]
    fn reads_are_not_passed_and_what_is_over_is_forgotten() {
        let mut order = PostedOrder::default();
        order.record(0, &header(1, 0, 0, true), at(50), at(0));
        assert_eq!(order.until(0, &header(1, 0, 0, false)), Time::ZERO);
        for requester in 0..200 {
            let now = u64::from(requester) * 10;
            order.record(0, &header(requester, 0, 0, false), at(now + 5), at(now));
        }
        assert!(order.sources[0].len() <= 2);
    }
}
