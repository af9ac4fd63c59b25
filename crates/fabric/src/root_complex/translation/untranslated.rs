//! Requests with untranslated addresses, which wait at their root port for the translation agent. Later packets of the port pass them as far
//! as the ordering table permits (PCIe Base 2.4.1).

use std::collections::{BTreeMap, VecDeque};

use kernel::{Port, Time};
use packet::{PacketId, Packets};
use protocol::{AddressType, Header, Kind, Passing};
use transaction::{AddressSpace, Mapping};

use super::{Outcome, Purpose};
use crate::root_complex::interrupt::is_interrupt;

/// The waiting packets of each root port, in order of arrival.
#[derive(Debug, Default)]
pub(super) struct Untranslated {
    waiting: BTreeMap<u16, VecDeque<Waiting>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) packet: PacketId,
    pub(super) progress: Progress,
    /// The time at which the packet has passed the datapath of its port.
    pub(super) passed: Time,
}

/// The state of a waiting packet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Progress {
    /// The translation agent has not answered.
    Asked,
    /// The translation agent has answered.
    Answered(Outcome),
    /// The packet needs no translation, and waits for earlier packets.
    Behind,
}

/// A packet that no longer has to wait.
#[derive(Debug)]
pub(in crate::root_complex) struct Released {
    /// The packet, with a physical address.
    pub(in crate::root_complex) packet: PacketId,
    /// Whether the address has no translation, or the function has no access. The packet then still has its untranslated address.
    pub(in crate::root_complex) is_fault: bool,
    /// The earliest time at which the packet may continue.
    pub(in crate::root_complex) passed: Time,
}

impl Untranslated {
    /// Records the translation agent's answer for a packet that arrived at `port`.
    pub(super) fn answer(&mut self, port: Port, packet: PacketId, outcome: Outcome) {
        let waiting = self.waiting.entry(port.0).or_default();
        if let Some(one) = waiting.iter_mut().find(|one| one.packet == packet) {
            one.progress = Progress::Answered(outcome);
        }
    }

    /// Adds a packet that arrived at `port`.
    pub(super) fn push(&mut self, port: Port, waiting: Waiting) {
        self.waiting.entry(port.0).or_default().push_back(waiting);
    }

    /// Removes and returns the first packet of a port that has to wait neither for its translation nor for an earlier packet.
    pub(super) fn release(&mut self, port: Port, packets: &Packets) -> Option<Waiting> {
        let waiting = self.waiting.get_mut(&port.0)?;
        let is_free = |place: &usize| {
            let one = &waiting[*place];
            let header = packets[one.packet].header();
            !matches!(one.progress, Progress::Asked)
                && passes(header, waiting.iter().take(*place), packets)
        };
        let free = (0..waiting.len()).find(is_free)?;
        waiting.remove(free)
    }

    /// Whether a packet that arrives at `port` may pass all packets that wait there.
    pub(super) fn may_pass(&self, port: Port, header: &Header, packets: &Packets) -> bool {
        let waiting = self.waiting.get(&port.0);
        waiting.is_none_or(|waiting| passes(header, waiting.iter(), packets))
    }
}

impl Waiting {
    /// The packet, with the physical address of its mapping if there is one.
    pub(super) fn into_released(self, packets: &mut Packets) -> Released {
        let packet = match self.progress {
            Progress::Answered(Ok(mapping))
                if !mapping.is_identity() || packets[self.packet].header().pasid.is_some() =>
            {
                // The packet itself must not be changed, because its sender may still replay it. Therefore, a copy is made.
                let header = translated(packets[self.packet].header(), &mapping);
                packets.rewritten(self.packet, header)
            }
            Progress::Answered(_) | Progress::Asked | Progress::Behind => self.packet,
        };
        Released {
            packet,
            is_fault: matches!(self.progress, Progress::Answered(Err(_))),
            passed: self.passed,
        }
    }
}

fn passes<'w>(
    header: &Header,
    mut earlier: impl Iterator<Item = &'w Waiting>,
    packets: &Packets,
) -> bool {
    earlier.all(|earlier| header.may_pass(packets[earlier.packet].header()) != Passing::No)
}

/// The address space, the address and the purpose of a translation.
pub(super) type Needed = (AddressSpace, u64, Purpose);

/// The translation that a request needs. Interrupts need none, because they are not memory accesses.
pub(super) fn needed_translation(header: &Header) -> Option<Needed> {
    let (address, purpose) = match &header.kind {
        Kind::MemoryRead(request) | Kind::MemoryWrite(request)
            if request.address_type() != AddressType::Untranslated =>
        {
            return None;
        }
        Kind::MemoryRead(request) => (request.address(), Purpose::Read),
        Kind::MemoryWrite(request) if is_interrupt(request) => return None,
        Kind::MemoryWrite(request) => (request.address(), Purpose::Write),
        Kind::Atomic(request) => (request.address(), Purpose::Write),
        _ => return None,
    };
    let who = AddressSpace::of(header.requester(), header);
    Some((who, address, purpose))
}

/// Bytes that a request reads or writes.
pub(super) fn accessed_bytes(header: &Header) -> u64 {
    match &header.kind {
        Kind::MemoryRead(request) | Kind::MemoryWrite(request) => request.byte_len().into(),
        Kind::Atomic(request) => request.width().into(),
        _ => 0,
    }
}

/// The header with its address translated by `mapping`. The PASID is removed, because a physical address belongs to no process.
fn translated(header: &Header, mapping: &Mapping) -> Header {
    let mut header = Header {
        pasid: None,
        ..*header
    };
    match &mut header.kind {
        Kind::MemoryRead(request) | Kind::MemoryWrite(request) => {
            *request = request.in_page(mapping.translate(request.address()));
        }
        Kind::Atomic(request) => *request = request.in_page(mapping.translate(request.address())),
        _ => {}
    }
    header
}

#[cfg(test)]
mod tests {
    use packet::Stamp;
    use protocol::{Attributes, Class, FunctionId, Tag};
    use transaction::{PageSize, Rights};

    use super::*;

    const PORT: Port = Port(0);
    const DEVICE: FunctionId = FunctionId::new(1, 0, 0);

    /// A root port at which packets wait.
    #[derive(Default)]
    struct World {
        packets: Packets,
        untranslated: Untranslated,
    }

    impl World {
        /// Adds a request for the page with this number.
        fn request(&mut self, class: Class, page: u64, attributes: Attributes) -> PacketId {
            let address = page << 12;
            let header = match class {
                Class::Posted => Header::memory_write(DEVICE, address, 4),
                _ => Header::memory_read(DEVICE, Tag(page as u16), address, 4),
            };
            let header = Header {
                attributes,
                ..header.expect("a legal request")
            };
            let packet = self.packets.claim();
            self.packets[packet].write(header, Stamp::default());
            let waiting = Waiting {
                packet,
                progress: Progress::Asked,
                passed: Time::ZERO,
            };
            self.untranslated.push(PORT, waiting);
            packet
        }

        fn answer(&mut self, packet: PacketId, outcome: Outcome) {
            self.untranslated.answer(PORT, packet, outcome);
        }

        fn release(&mut self) -> Option<PacketId> {
            let released = self.untranslated.release(PORT, &self.packets);
            released.map(|waiting| waiting.packet)
        }
    }

    fn page() -> Mapping {
        Mapping::around(0, 0, PageSize::Gib1, Rights::ReadWrite)
    }

    /// Whether a later packet that has a translation passes an earlier packet that waits for its translation.
    fn overtakes(later: Class, earlier: Class, attributes: Attributes) -> bool {
        let mut world = World::default();
        let first = world.request(earlier, 1, Attributes::default());
        let second = world.request(later, 2, attributes);
        world.answer(second, Ok(page()));
        let passed = world.release();
        world.answer(first, Ok(page()));
        let rest = [world.release(), world.release()];
        match passed {
            Some(packet) => assert_eq!((packet, rest), (second, [Some(first), None])),
            None => assert_eq!(rest, [Some(first), Some(second)]),
        }
        passed.is_some()
    }

    #[test]
    fn a_read_passes_a_read_that_waits_and_no_packet_passes_a_write_that_waits() {
        let plain = Attributes::default();
        assert!(overtakes(Class::NonPosted, Class::NonPosted, plain));
        assert!(overtakes(Class::Posted, Class::NonPosted, plain));
        assert!(!overtakes(Class::NonPosted, Class::Posted, plain));
        assert!(!overtakes(Class::Posted, Class::Posted, plain));
    }

    #[test]
    fn a_relaxed_write_passes_a_write_that_waits() {
        let relaxed = Attributes {
            relaxed_ordering: true,
            ..Attributes::default()
        };
        assert!(overtakes(Class::Posted, Class::Posted, relaxed));
    }

    #[test]
    fn a_packet_without_an_address_waits_for_the_writes_before_it_alone() {
        let mut world = World::default();
        let interrupt = Header::memory_write(DEVICE, 0xfee0_0000, 4).expect("a legal write");
        assert!(needed_translation(&interrupt).is_none());
        let may_pass = |world: &World| {
            world
                .untranslated
                .may_pass(PORT, &interrupt, &world.packets)
        };
        assert!(may_pass(&world));
        world.request(Class::NonPosted, 1, Attributes::default());
        assert!(may_pass(&world));
        world.request(Class::Posted, 2, Attributes::default());
        assert!(!may_pass(&world));
    }

    #[test]
    fn a_fault_is_released_in_its_turn_with_the_address_as_it_came() {
        let mut world = World::default();
        let first = world.request(Class::Posted, 1, Attributes::default());
        let second = world.request(Class::Posted, 2, Attributes::default());
        world.answer(second, Err(super::super::TranslationFault::NotPresent));
        assert_eq!(world.release(), None);
        world.answer(
            first,
            Ok(Mapping::around(
                1 << 12,
                7 << 12,
                PageSize::Kib4,
                Rights::ReadWrite,
            )),
        );
        let released = [(); 2].map(|()| {
            let waiting = world.untranslated.release(PORT, &world.packets);
            let released = waiting
                .expect("both have answers")
                .into_released(&mut world.packets);
            let Kind::MemoryWrite(write) = world.packets[released.packet].header().kind else {
                panic!("it is a write");
            };
            (write.address(), released.is_fault)
        });
        assert_eq!(released, [(7 << 12, false), (2 << 12, true)]);
    }
}
