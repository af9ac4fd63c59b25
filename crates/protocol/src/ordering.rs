//! The ordering table: whether a packet may, must or must not pass an older packet.

use crate::enumerated::enumerated;
use crate::{Attributes, Class, Header, Kind};

/// An entry of the ordering table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Passing {
    /// The packet must be able to pass, or the fabric can deadlock.
    Yes,
    /// The packet must not pass.
    No,
    /// The packet may pass or wait.
    Either,
}

enumerated! {
    /// A row or a column of the ordering table.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Row {
        /// A: posted request.
        Posted,
        /// B: read request.
        Read,
        /// C: non-posted request with data.
        NonPostedWithData,
        /// D: completion.
        Completion,
    }
}

/// The entry of the ordering table for a packet of class `later` behind a packet of class `earlier`.
///
/// `same_id` is true if both packets have the same Requester ID or, for two completions, if both completions answer the same request. A
/// non-posted request is treated as a read. Relaxed ordering never allows a read to pass a posted request.
pub const fn may_pass(
    later: Class,
    attributes: Attributes,
    earlier: Class,
    same_id: bool,
) -> Passing {
    Row::of_class(later).may_pass(attributes, Row::of_class(earlier), same_id)
}

impl Header {
    /// The entry of the ordering table for this packet behind `earlier`. Packets of different traffic classes have no order.
    pub fn may_pass(&self, earlier: &Self) -> Passing {
        if self.traffic_class != earlier.traffic_class {
            return Passing::Either;
        }
        let same_id = match (&self.kind, &earlier.kind) {
            (Kind::Completion(one), Kind::Completion(other)) => {
                (one.requester, one.tag) == (other.requester, other.tag)
            }
            // D2b compares the Completer ID with the Requester ID of the posted request.
            (Kind::Completion(one), _) => one.completer == earlier.requester(),
            _ => self.requester() == earlier.requester() && !self.has_other_pasid(earlier),
        };
        self.row().may_pass(self.attributes, earlier.row(), same_id)
    }

    /// Whether both packets have a PASID prefix and the prefixes have different address spaces. ID-based ordering then treats the packets
    /// as packets of different requesters (PCIe Base 2.4.1, A2b, B2b and C2b).
    fn has_other_pasid(&self, earlier: &Self) -> bool {
        match (self.pasid, earlier.pasid) {
            (Some(own), Some(other)) => own.number() != other.number(),
            _ => false,
        }
    }

    /// The packet's row in the ordering table.
    pub const fn row(&self) -> Row {
        match self.kind {
            Kind::MemoryWrite(_) | Kind::Message(_) | Kind::Network(_) | Kind::Coherence(_) => {
                Row::Posted
            }
            Kind::MemoryRead(_) | Kind::ConfigRead(_) => Row::Read,
            Kind::ConfigWrite(_) | Kind::Atomic(_) => Row::NonPostedWithData,
            Kind::Completion(_) => Row::Completion,
        }
    }
}

impl Row {
    /// The row of a class. A non-posted request counts as a read.
    pub const fn of_class(class: Class) -> Self {
        match class {
            Class::Posted => Self::Posted,
            Class::NonPosted => Self::Read,
            Class::Completion => Self::Completion,
        }
    }

    /// The entry of the ordering table in this row and the column `earlier`; [`may_pass`] explains `same_id`.
    pub const fn may_pass(self, attributes: Attributes, earlier: Self, same_id: bool) -> Passing {
        match TABLE[self as usize][earlier as usize] {
            Entry::Always(passing) => passing,
            Entry::Relaxed if attributes.relaxed_ordering => Passing::Either,
            Entry::Relaxed | Entry::OtherId if attributes.id_ordering && !same_id => {
                Passing::Either
            }
            Entry::OtherTransaction if !same_id => Passing::Either,
            Entry::Relaxed | Entry::OtherId | Entry::OtherTransaction => Passing::No,
        }
    }
}

/// An entry of the ordering table, with its condition.
#[derive(Clone, Copy)]
enum Entry {
    /// The result is the same in all cases.
    Always(Passing),
    /// The packet may pass with relaxed ordering, or with ID-based ordering and a different ID. Otherwise it must not pass.
    Relaxed,
    /// The packet may pass with ID-based ordering and a different ID. Otherwise it must not pass.
    OtherId,
    /// The packet may pass if both packets are completions of different requests. Otherwise it must not pass.
    OtherTransaction,
}

/// Ordering Rules Summary, PCIe Base 5.0 table 2-40, 6.3 table 2-42: rows pass columns.
///
/// Two entries are simplified. A5b for bridges to conventional PCI is left out. D2b does not let completions of I/O and
/// configuration writes pass, because a component that routes a completion cannot recognise them.
static TABLE: [[Entry; 4]; 4] = {
    use Entry::{Always, OtherId, OtherTransaction, Relaxed};
    use Passing::{Either, Yes};
    [
        [Relaxed, Always(Yes), Always(Yes), Always(Either)],
        [OtherId, Always(Either), Always(Either), Always(Either)],
        [Relaxed, Always(Either), Always(Either), Always(Either)],
        [Relaxed, Always(Yes), Always(Yes), OtherTransaction],
    ]
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FunctionId, Status, Tag, TrafficClass};

    const PLAIN: Attributes = Attributes {
        relaxed_ordering: false,
        id_ordering: false,
        no_snoop: false,
    };
    const RELAXED: Attributes = Attributes {
        relaxed_ordering: true,
        ..PLAIN
    };
    const BY_ID: Attributes = Attributes {
        id_ordering: true,
        ..PLAIN
    };

    fn write(requester: u16) -> Header {
        Header::memory_write(FunctionId(requester), 0x1000, 64).unwrap()
    }

    fn read(requester: u16, tag: u16) -> Header {
        Header::memory_read(FunctionId(requester), Tag(tag), 0x1000, 64).unwrap()
    }

    fn answer(requester: u16, tag: u16, completer: u16) -> Header {
        let status = Status::Successful;
        Header::completion(&read(requester, tag), FunctionId(completer), status).unwrap()
    }

    #[test]
    fn without_attributes_nothing_passes_a_posted_request() {
        for later in Class::ALL {
            for same_id in [false, true] {
                assert_eq!(
                    may_pass(later, PLAIN, Class::Posted, same_id),
                    Passing::No,
                    "{later:?}"
                );
            }
        }
    }

    #[test]
    fn posted_requests_and_completions_must_pass_blocked_requests() {
        for later in [Row::Posted, Row::Completion] {
            for earlier in [Row::Read, Row::NonPostedWithData] {
                assert_eq!(later.may_pass(PLAIN, earlier, true), Passing::Yes);
            }
        }
    }

    #[test]
    fn a_posted_request_may_pass_or_wait_for_a_completion() {
        let passing = may_pass(Class::Posted, PLAIN, Class::Completion, true);
        assert_eq!(passing, Passing::Either);
    }

    #[test]
    fn relaxed_ordering_lets_all_but_a_read_pass_a_posted_request() {
        for later in Row::ALL {
            let expected = match later {
                Row::Read => Passing::No,
                _ => Passing::Either,
            };
            assert_eq!(later.may_pass(RELAXED, Row::Posted, true), expected);
        }
    }

    #[test]
    fn id_ordering_lets_a_packet_pass_the_posted_request_of_another() {
        for later in Row::ALL {
            assert_eq!(later.may_pass(BY_ID, Row::Posted, true), Passing::No);
            assert_eq!(later.may_pass(BY_ID, Row::Posted, false), Passing::Either);
        }
    }

    #[test]
    fn the_completions_of_one_request_stay_in_order() {
        let first = answer(1, 7, 3);
        assert_eq!(answer(1, 7, 3).may_pass(&first), Passing::No);
        assert_eq!(answer(1, 8, 3).may_pass(&first), Passing::Either);
        assert_eq!(answer(2, 7, 3).may_pass(&first), Passing::Either);
    }

    #[test]
    fn a_completion_by_id_passes_posted_requests_that_its_completer_did_not_send() {
        let completion = Header {
            attributes: BY_ID,
            ..answer(1, 7, 3)
        };
        assert_eq!(completion.may_pass(&write(3)), Passing::No);
        assert_eq!(completion.may_pass(&write(1)), Passing::Either);
    }

    #[test]
    fn traffic_classes_are_not_ordered_with_each_other() {
        let other_class = Header {
            traffic_class: TrafficClass::new(1).unwrap(),
            ..write(1)
        };
        assert_eq!(other_class.may_pass(&write(1)), Passing::Either);
    }

    #[test]
    fn a_request_by_id_passes_posted_requests_of_other_requesters() {
        let by_id = Header {
            attributes: BY_ID,
            ..read(1, 0)
        };
        assert_eq!(by_id.may_pass(&write(1)), Passing::No);
        assert_eq!(by_id.may_pass(&write(2)), Passing::Either);
    }

    #[test]
    fn a_request_may_pass_or_wait_for_other_requests_and_completions() {
        for later in [Row::Read, Row::NonPostedWithData] {
            for earlier in [Row::Read, Row::NonPostedWithData, Row::Completion] {
                assert_eq!(later.may_pass(PLAIN, earlier, true), Passing::Either);
            }
        }
    }

    /// PCIe Base 2.4.1, A2b, B2b and C2b.
    #[test]
    fn packets_of_different_address_spaces_are_as_of_different_requesters() {
        let of = |header: Header, pasid: Option<u32>| Header {
            pasid: pasid.and_then(crate::Pasid::new),
            attributes: Attributes {
                id_ordering: true,
                ..PLAIN
            },
            ..header
        };
        let earlier = |pasid| of(write(1), pasid);
        for later in [write(1), read(1, 0)] {
            for (own, other, passing) in [
                (None, None, Passing::No),
                (Some(1), None, Passing::No),
                (None, Some(1), Passing::No),
                (Some(1), Some(1), Passing::No),
                (Some(1), Some(2), Passing::Either),
            ] {
                assert_eq!(of(later, own).may_pass(&earlier(other)), passing);
            }
        }
        // Without ID-based ordering, different address spaces make no difference.
        let plain = Header {
            attributes: PLAIN,
            ..of(write(1), Some(1))
        };
        assert_eq!(plain.may_pass(&earlier(Some(2))), Passing::No);
    }
}
