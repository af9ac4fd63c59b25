//! The fields that a function sets in the headers of the packets that it sends: traffic class, attributes, the PASID prefix, and the
//! width of tags.
//!
//! Engines create packets of traffic class 0 without attributes. The packets are marked when they leave the function, within the limits that
//! the function's registers set. In this way, no engine can ignore an enable bit.

use std::sync::Arc;

use packet::{FlowId, PacketId, Packets};
use protocol::{
    Attributes, Completion, ConfigSpace, Header, Kind, Pasid, PasidControl, Tag, TrafficClass,
};

/// The traffic class, the attributes and the PASID prefix that a scenario selects for the requests of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The traffic class.
    pub traffic_class: TrafficClass,
    /// The attributes. The requester's registers may forbid some of them.
    pub attributes: Attributes,
    /// The PASID prefix, with the permissions that it needs. The requester's registers may forbid some of them.
    pub pasid: Option<Pasid>,
}

/// The marks of all flows, by flow number. Empty if every flow has the default mark.
pub type Marks = Arc<[Mark]>;

/// The header fields that a function sets in its packets.
#[derive(Clone, Debug, Default)]
pub struct Marking {
    marks: Marks,
    allowed: Attributes,
    prefixes: PasidControl,
    /// Whether completions of the function have the attribute of ID-based ordering.
    by_id: bool,
    /// Whether completions of the function return only eight bits of a tag.
    narrow_tags: bool,
}

impl Marking {
    /// The marks of requests. The registers must be applied by [`apply_registers`](Self::apply_registers).
    pub fn new(marks: Marks) -> Self {
        Marking {
            marks,
            ..Self::default()
        }
    }

    /// Applies the registers of the function.
    pub fn apply_registers(&mut self, space: &ConfigSpace) {
        self.allowed = space.attributes_allowed();
        self.prefixes = space.pasid_control();
        self.by_id = space.completions_by_id();
        self.narrow_tags = !space.completes_ten_bit_tags();
    }

    /// Whether no packet needs to be marked.
    pub fn is_plain(&self) -> bool {
        self.marks.is_empty() && !self.by_id && !self.narrow_tags
    }

    /// Marks a packet that the function sends. Returns the same packet, or a packet that replaces it.
    pub fn mark(&self, packet: PacketId, packets: &mut Packets) -> PacketId {
        let content = &packets[packet];
        let (header, flow) = (*content.header(), content.stamp.flow);
        match self.marked(&header, flow) {
            Some(marked) if marked != header => packets.rewritten(packet, marked),
            _ => packet,
        }
    }

    fn marked(&self, header: &Header, flow: Option<FlowId>) -> Option<Header> {
        match &header.kind {
            Kind::Completion(completion) => Some(Header {
                attributes: Attributes {
                    id_ordering: self.by_id,
                    ..header.attributes
                },
                kind: Kind::Completion(Completion {
                    tag: self.repeated(completion.tag),
                    ..*completion
                }),
                ..*header
            }),
            // A translation request has no data to which relaxed ordering or no snoop can apply (PCIe Base 10.2.2).
            Kind::MemoryRead(request) if request.translations() > 0 => Some(Header {
                pasid: self.prefix(flow?, header),
                ..*header
            }),
            Kind::MemoryRead(_) | Kind::MemoryWrite(_) | Kind::Atomic(_) => {
                let mark = self.marks.get(flow?.0 as usize)?;
                let own = header.traffic_class;
                Some(Header {
                    // If the traffic class is not 0, software has set it in the engine's registers.
                    traffic_class: if own == TrafficClass::default() {
                        mark.traffic_class
                    } else {
                        own
                    },
                    attributes: mark.attributes.and(self.allowed),
                    pasid: header.allowed_prefix(mark.pasid, self.prefixes),
                    ..*header
                })
            }
            _ => None,
        }
    }

    /// The PASID prefix of a translation request for a flow.
    fn prefix(&self, flow: FlowId, header: &Header) -> Option<Pasid> {
        let mark = self.marks.get(flow.0 as usize)?;
        header.allowed_prefix(mark.pasid, self.prefixes)
    }

    /// The tag of a completion. A completer without support for 10-bit tags treats the upper two bits as reserved and returns zeros, so that
    /// the completion is unexpected (PCIe Base 2.2.6.2).
    fn repeated(&self, tag: Tag) -> Tag {
        if self.narrow_tags {
            Tag(tag.0 & 0xff)
        } else {
            tag
        }
    }
}

#[cfg(test)]
mod tests {
    use packet::Stamp;
    use protocol::{FunctionId, Status};

    use super::*;

    const ALL: Attributes = Attributes {
        relaxed_ordering: true,
        id_ordering: true,
        no_snoop: true,
    };

    fn marking(allowed: Attributes, by_id: bool) -> Marking {
        let mark = Mark {
            traffic_class: TrafficClass::new(3).expect("a class"),
            attributes: ALL,
            pasid: Pasid::new(5),
        };
        Marking {
            marks: [Mark::default(), mark].into(),
            allowed,
            prefixes: PasidControl::default(),
            by_id,
            narrow_tags: false,
        }
    }

    fn read() -> Header {
        Header::memory_read(FunctionId(8), Tag(1), 0x1000, 64).expect("a legal read")
    }

    fn sent(marking: &Marking, header: Header, flow: Option<u32>) -> Header {
        let mut packets = Packets::default();
        let packet = packets.claim();
        let stamp = Stamp {
            flow: flow.map(FlowId),
            ..Stamp::default()
        };
        packets[packet].write(header, stamp);
        let marked = marking.mark(packet, &mut packets);
        assert_eq!(packets.in_use(), 1);
        assert_eq!(packets[marked].stamp.flow, stamp.flow);
        *packets[marked].header()
    }

    #[test]
    fn a_request_has_the_attributes_of_its_flow_that_the_registers_allow() {
        for bits in 0..8 {
            let allowed = Attributes::from_bits(bits);
            let marked = sent(&marking(allowed, false), read(), Some(1));
            assert_eq!(marked.attributes, allowed);
            assert_eq!(marked.traffic_class.number(), 3);
            assert_eq!(marked.kind, read().kind);
        }
    }

    #[test]
    fn a_request_has_the_prefix_of_its_flow_while_it_is_enabled() {
        let page = protocol::Page::of(0x1000);
        let translation = Header::translation_request(FunctionId(8), Tag(1), page, 1, true);
        let translation = translation.expect("a legal translation request");
        for is_enabled in [false, true] {
            let mut marking = marking(ALL, false);
            marking.prefixes.is_enabled = is_enabled;
            let expected = Pasid::new(5).filter(|_| is_enabled);
            assert_eq!(sent(&marking, read(), Some(1)).pasid, expected);
            assert_eq!(sent(&marking, read().translated(), Some(1)).pasid, None);
            let marked = sent(&marking, translation, Some(1));
            assert_eq!(
                (marked.pasid, marked.attributes),
                (expected, Attributes::default())
            );
        }
    }

    #[test]
    fn requests_of_other_flows_and_of_none_are_left_alone() {
        for flow in [None, Some(0), Some(2)] {
            assert_eq!(sent(&marking(ALL, true), read(), flow), read());
        }
    }

    #[test]
    fn completions_are_ordered_by_id_where_the_completer_may() {
        let answer = Header::completion(&read(), FunctionId(0), Status::Successful);
        let answer = answer.expect("a read has a completion");
        for by_id in [false, true] {
            let marked = sent(&marking(ALL, by_id), answer, Some(1));
            assert_eq!(marked.attributes.id_ordering, by_id);
            assert_eq!(marked.traffic_class, answer.traffic_class);
        }
    }

    /// PCIe Base 2.2.6.2.
    #[test]
    fn a_completer_without_ten_bit_tags_returns_the_lower_eight_bits() {
        for (tag, narrow) in [(0x5, 0x5), (0x105, 0x5), (0x3ff, 0xff)] {
            let read = Header::memory_read(FunctionId(8), Tag(tag), 0x1000, 64);
            let read = read.expect("a legal read");
            let answer = Header::completion(&read, FunctionId(0), Status::Successful);
            let answer = answer.expect("a read has a completion");
            for (narrow_tags, expected) in [(false, tag), (true, narrow)] {
                let marking = Marking {
                    narrow_tags,
                    ..marking(ALL, false)
                };
                assert_eq!(sent(&marking, answer, None).tag(), Tag(expected));
            }
        }
    }
}
