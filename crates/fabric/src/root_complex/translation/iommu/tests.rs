use protocol::FunctionId;
use transaction::{Memory, PageSize};

use super::*;

const DEVICE: FunctionId = FunctionId::new(1, 0, 0);
const OTHER: FunctionId = FunctionId::new(2, 0, 0);
const BASE: u64 = 1 << 32;
const READ: Span = Span::from_ns(80);
const LOOKUP: Span = Span::from_ns(3);

/// A memory with a fixed read latency and unlimited parallel reads, a page table in this memory, and a translation agent.
struct World {
    memory: Memory,
    table: PageTable,
    iommu: Iommu,
    now: Time,
    tickets: u32,
}

struct Reads<'a>(&'a Memory);

impl DescriptorReads for Reads<'_> {
    fn read(&mut self, physical: u64, at: Time) -> (Option<u64>, Time) {
        let mut bytes = [0; 8];
        self.0.read(physical - BASE, &mut bytes);
        let is_good = !self.0.is_poisoned(physical - BASE, 8);
        (is_good.then(|| u64::from_le_bytes(bytes)), at + READ)
    }
}

impl World {
    fn new(change: impl FnOnce(&mut IommuParameters)) -> Self {
        // Every walk begins at the root, unless the test sets another walk cache.
        let mut parameters = IommuParameters {
            walk_cache_entries: 0,
            ..IommuParameters::default()
        };
        change(&mut parameters);
        let mut memory = Memory::new(1 << 20);
        let table = PageTable::new(BASE..BASE + (1 << 20), BASE, &mut memory).expect("room");
        let mut iommu = Iommu::new(&parameters).expect("a legal geometry");
        iommu.attach(DEVICE, table.root());
        Self {
            memory,
            table,
            iommu,
            now: Time::ZERO,
            tickets: 0,
        }
    }

    fn map(&mut self, base: u64, size: PageSize, rights: Rights) -> Mapping {
        let mapping = Mapping::around(base, base + (1 << 40), size, rights);
        let mapped = self.table.map(&mapping, &mut self.memory);
        mapped.expect("nothing is there");
        mapping
    }

    fn map_pages(&mut self, count: u64) {
        for number in 0..count {
            self.map(number << 12, PageSize::Kib4, Rights::ReadWrite);
        }
    }

    fn unmap(&mut self, address: u64) {
        let gone = self.table.unmap(address, &mut self.memory);
        let gone = gone.expect("it is mapped");
        self.iommu.invalidate(DEVICE, &gone.range());
    }

    fn ask(&mut self, address: u64, purpose: Purpose) {
        self.ask_as(DEVICE, address, purpose);
    }

    fn ask_as(&mut self, who: impl Into<AddressSpace>, address: u64, purpose: Purpose) {
        let ticket = self.tickets;
        self.tickets += 1;
        let ask = IommuRequest {
            who: who.into(),
            address,
            purpose,
            ticket,
        };
        self.iommu.ask(ask, self.now);
    }

    /// Advances the time by `span`. Returns the tickets of the answers, with their times and results.
    fn pass(&mut self, span: Span) -> Vec<(u32, Span, Result<Mapping, TranslationFault>)> {
        let (begin, end) = (self.now, self.now + span);
        let mut answers = Vec::new();
        while self.iommu.next_time() <= end && self.iommu.next_time() < Time::NEVER {
            self.now = self.iommu.next_time();
            let now = self.now;
            let drained = self.iommu.advance(now, &mut Reads(&self.memory));
            answers.extend(drained.map(|one| (one.ticket, now.since(begin), one.outcome)));
        }
        self.now = end;
        answers
    }

    /// The answer to one request, and its latency.
    fn answer(
        &mut self,
        address: u64,
        purpose: Purpose,
    ) -> (Span, Result<Mapping, TranslationFault>) {
        self.ask(address, purpose);
        let answers = self.pass(Span::from_us(10));
        assert_eq!(answers.len(), 1, "one question has one answer");
        (answers[0].1, answers[0].2)
    }
}

#[test]
fn a_walk_reads_fewer_descriptors_for_larger_pages() {
    for (size, reads) in [
        (PageSize::Kib4, 4),
        (PageSize::Kib64, 4),
        (PageSize::Mib2, 3),
        (PageSize::Mib32, 3),
        (PageSize::Gib1, 2),
    ] {
        let mut world = World::new(|_| ());
        let mapping = world.map(1 << 30, size, Rights::ReadWrite);
        let last = *mapping.range().end();
        assert_eq!(
            world.answer(last, Purpose::Write),
            (LOOKUP + READ * reads, Ok(mapping))
        );
        assert_eq!(world.iommu.counters().descriptor_reads, reads);
        assert_eq!(world.answer(1 << 30, Purpose::Read), (LOOKUP, Ok(mapping)));
        let counters = world.iommu.counters();
        assert_eq!((counters.lookups, counters.hits, counters.walks), (2, 1, 1));
        assert_eq!(counters.descriptor_reads, reads);
    }
}

#[test]
fn two_that_ask_for_a_page_share_its_walk() {
    let mut world = World::new(|_| ());
    let mapping = world.map(0, PageSize::Kib4, Rights::ReadWrite);
    world.ask(0x100, Purpose::Read);
    assert!(world.pass(LOOKUP + READ).is_empty());
    world.ask(0x200, Purpose::Write);
    let answers = world.pass(READ * 3);
    assert_eq!(
        answers,
        [(0, READ * 3, Ok(mapping)), (1, READ * 3, Ok(mapping))]
    );
    assert_eq!(world.iommu.counters().walks, 1);
}

#[test]
fn those_without_a_walker_wait_in_order() {
    let mut world = World::new(|parameters| parameters.walkers = 2);
    world.map_pages(4);
    for page in [3, 1, 2, 0] {
        world.ask(page << 12, Purpose::Read);
    }
    let answers: Vec<(u32, Span)> = world
        .pass(Span::from_us(10))
        .into_iter()
        .map(|(ticket, at, _)| (ticket, at))
        .collect();
    let (first, second) = (LOOKUP + READ * 4, LOOKUP + READ * 8);
    assert_eq!(answers, [(0, first), (1, first), (2, second), (3, second)]);
}

#[test]
fn whoever_waits_for_a_huge_page_needs_no_walker_once_it_is_found() {
    let mut world = World::new(|parameters| parameters.walkers = 1);
    let mapping = world.map(0, PageSize::Mib2, Rights::ReadWrite);
    for page in [0, 0x1_0000, 0x2_0000] {
        world.ask(page, Purpose::Read);
    }
    let found = LOOKUP + READ * 3;
    let answers = world.pass(Span::from_us(10));
    assert_eq!(
        answers,
        [0, 1, 2].map(|ticket| (ticket, found, Ok(mapping)))
    );
    assert_eq!(world.iommu.counters().descriptor_reads, 3);
}

#[test]
fn each_fault_is_told_and_counted() {
    let mut world = World::new(|_| ());
    world.map(0, PageSize::Kib4, Rights::Read);
    let fault = |world: &mut World, address, purpose| world.answer(address, purpose).1.err();
    assert_eq!(
        fault(&mut world, 0x1000, Purpose::Read),
        Some(TranslationFault::NotPresent)
    );
    assert_eq!(
        fault(&mut world, 0, Purpose::Write),
        Some(TranslationFault::NoRights)
    );
    assert_eq!(
        fault(&mut world, 0, Purpose::Write),
        Some(TranslationFault::NoRights)
    );
    assert_eq!(
        fault(&mut world, 1 << 48, Purpose::Read),
        Some(TranslationFault::BeyondRange)
    );
    world.ask_as(OTHER, 0, Purpose::Read);
    let answers = world.pass(Span::from_us(1));
    assert_eq!(answers, [(4, LOOKUP, Err(TranslationFault::NoContext))]);
    assert_eq!(world.iommu.counters().faults, 5);
    assert_eq!(world.iommu.counters().hits, 1);
}

#[test]
fn a_walk_that_reads_a_poisoned_descriptor_is_a_fault_of_its_own_until_software_writes_it() {
    let mut world = World::new(|_| ());
    let mapping = Mapping::around(0, 0x7000, PageSize::Kib4, Rights::ReadWrite);
    let mapped = world.table.map(&mapping, &mut world.memory);
    mapped.expect("there is room");
    let slot = world.table.root().slot(0) - BASE;
    let mut descriptor = [0; 8];
    world.memory.read(slot, &mut descriptor);
    world.memory.poison(slot + 5, 1);
    let (latency, outcome) = world.answer(0, Purpose::Read);
    assert_eq!(
        (latency, outcome),
        (LOOKUP + READ, Err(TranslationFault::Poisoned))
    );
    world.memory.write(slot, &descriptor);
    assert_eq!(world.answer(0, Purpose::Write).1, Ok(mapping));
}

#[test]
fn a_translation_request_goes_a_longer_way_and_is_told_what_the_page_allows() {
    let mut world = World::new(|parameters| parameters.request_latency = Span::from_ns(50));
    let mapping = world.map(0, PageSize::Kib4, Rights::Read);
    let latency = Span::from_ns(50) + LOOKUP + READ * 4;
    assert_eq!(
        world.answer(0, Purpose::Translation),
        (latency, Ok(mapping))
    );
}

#[test]
fn a_walk_begins_at_the_lowest_table_that_is_remembered() {
    let mut world = World::new(|parameters| parameters.walk_cache_entries = 4);
    world.map_pages(2);
    world.map(2 << 20, PageSize::Mib2, Rights::Read);
    assert_eq!(world.answer(0, Purpose::Read).0, LOOKUP + READ * 4);
    assert_eq!(world.answer(1 << 12, Purpose::Read).0, LOOKUP + READ);
    assert_eq!(world.answer(2 << 20, Purpose::Read).0, LOOKUP + READ);
    world.unmap(1 << 12);
    assert_eq!(world.answer(2 << 20, Purpose::Read).0, LOOKUP);
    world.iommu.invalidate(DEVICE, &(0..=u64::MAX));
    assert_eq!(world.answer(2 << 20, Purpose::Read).0, LOOKUP + READ * 3);
}

#[test]
fn sequential_accesses_find_the_next_page_walked_ahead() {
    let mut world = World::new(|parameters| parameters.pretranslate = true);
    world.map_pages(8);
    assert_eq!(world.answer(0, Purpose::Read).0, LOOKUP + READ * 4);
    for page in 1..8 {
        assert_eq!(world.answer(page << 12, Purpose::Read).0, LOOKUP);
        assert_eq!(world.answer((page << 12) + 0x800, Purpose::Read).0, LOOKUP);
    }
    let counters = world.iommu.counters();
    assert_eq!(counters.pretranslated, 7);
    // The page after the last mapped page was walked once. It is not mapped, but a walk ahead does not count as a fault.
    assert_eq!((counters.walks, counters.faults), (9, 0));
}

#[test]
fn nothing_is_walked_ahead_while_somebody_waits_for_a_walker() {
    let mut world = World::new(|parameters| {
        parameters.pretranslate = true;
        parameters.walkers = 1;
    });
    world.map_pages(16);
    world.ask(0, Purpose::Read);
    world.ask(8 << 12, Purpose::Read);
    let answers = world.pass(Span::from_us(10));
    assert_eq!(answers[1].1, LOOKUP + READ * 8);
    assert_eq!(world.iommu.counters().pretranslated, 1);
    assert_eq!(world.answer(9 << 12, Purpose::Read).0, LOOKUP);
}

#[test]
fn a_walk_that_is_invalidated_begins_again() {
    let mut world = World::new(|_| ());
    let old = world.map(0, PageSize::Kib4, Rights::ReadWrite);
    world.ask(0, Purpose::Read);
    assert!(world.pass(LOOKUP + READ * 3).is_empty());
    world.unmap(0);
    let new = Mapping::around(0, 0x5000, PageSize::Kib4, Rights::ReadWrite);
    world
        .table
        .map(&new, &mut world.memory)
        .expect("it is free");
    assert_ne!(old, new);
    assert_eq!(world.pass(Span::from_us(10)), [(0, READ * 5, Ok(new))]);
    assert_eq!(world.iommu.counters().descriptor_reads, 8);
}

#[test]
fn a_walk_that_has_found_a_page_begins_again_when_any_part_of_that_is_invalidated() {
    let mut world = World::new(|_| ());
    world.map(0, PageSize::Kib64, Rights::ReadWrite);
    world.ask(0, Purpose::Read);
    assert!(world.pass(LOOKUP + READ * 3).is_empty());
    world.iommu.invalidate(DEVICE, &(0xf000..=0xffff));
    assert_eq!(world.pass(Span::from_us(10))[0].1, READ * 5);
}

#[test]
fn an_invalidation_of_pages_alone_keeps_the_tables_above_them_and_the_walks_that_have_read_these() {
    let mut world = World::new(|parameters| parameters.walk_cache_entries = 4);
    world.map_pages(1);
    world.ask(0, Purpose::Read);
    assert!(world.pass(LOOKUP + READ).is_empty());
    world.iommu.invalidate_pages(DEVICE, &(0..=0xfff));
    assert_eq!(world.pass(Span::from_us(10))[0].1, READ * 3);
    world.iommu.invalidate_pages(DEVICE, &(0..=0xfff));
    assert_eq!(world.answer(0, Purpose::Read).0, LOOKUP + READ);
    world.ask(0x1000, Purpose::Read);
    assert!(world.pass(LOOKUP).is_empty());
    world.iommu.invalidate_pages(DEVICE, &(0x1000..=0x1fff));
    let again = world.pass(Span::from_us(10));
    let fault = Err(TranslationFault::NotPresent);
    assert_eq!(again, [(2, READ * 2, fault)]);
}

#[test]
fn functions_without_a_context_share_a_table_and_no_entries() {
    let mut world = World::new(|_| ());
    world.map_pages(1);
    world.iommu.attach_others(world.table.root());
    for who in [OTHER, FunctionId::new(3, 0, 0), OTHER] {
        world.ask_as(who, 0, Purpose::Read);
        assert!(world.pass(Span::from_us(1))[0].2.is_ok());
    }
    assert_eq!(world.iommu.counters().walks, 2);
    world.iommu.invalidate_all();
    world.ask_as(OTHER, 0, Purpose::Read);
    assert_eq!(world.pass(Span::from_us(1))[0].1, LOOKUP + READ * 4);
}

#[test]
fn a_walk_elsewhere_goes_on_through_an_invalidation() {
    let mut world = World::new(|_| ());
    world.map_pages(2);
    world.ask(0, Purpose::Read);
    assert!(world.pass(LOOKUP + READ * 3).is_empty());
    world.unmap(1 << 12);
    assert_eq!(world.pass(Span::from_us(10))[0].1, READ);
}

#[test]
fn whoever_asks_after_a_page_is_mapped_is_not_told_that_it_is_absent() {
    let mut world = World::new(|_| ());
    world.ask(0, Purpose::Read);
    assert!(world.pass(LOOKUP).is_empty());
    let mapping = world.map(0, PageSize::Kib4, Rights::ReadWrite);
    world.ask(0, Purpose::Read);
    let answers = world.pass(Span::from_us(10));
    assert_eq!(
        answers,
        [
            (0, READ, Err(TranslationFault::NotPresent)),
            (1, READ * 5, Ok(mapping))
        ]
    );
}

#[test]
fn a_cache_that_cannot_be_built_is_refused() {
    let parameters = IommuParameters {
        iotlb_ways: 3,
        ..IommuParameters::default()
    };
    assert!(Iommu::new(&parameters).is_err());
}

fn process(function: FunctionId, pasid: u32) -> AddressSpace {
    AddressSpace {
        function,
        pasid: Pasid::new(pasid),
    }
}

#[test]
fn each_process_has_a_page_table_and_each_of_its_functions_entries_of_its_own() {
    let mut world = World::new(|_| {});
    let pasid = Pasid::new(7).expect("a number of 20 bits");
    world.iommu.attach_process(pasid, world.table.root());
    world.map_pages(1);
    for (who, walks) in [
        (process(DEVICE, 7), 1),
        (process(DEVICE, 7), 1),
        (process(OTHER, 7), 2),
    ] {
        world.ask_as(who, 0x10, Purpose::Read);
        let answers = world.pass(Span::from_us(1));
        assert!(matches!(answers[..], [(_, _, Ok(_))]), "{who:?}");
        assert_eq!(world.iommu.counters().walks, walks);
    }
    // No page table is attached to another process. The cache entries of the function itself are separate from the entries of its processes.
    world.ask_as(process(DEVICE, 8), 0x10, Purpose::Read);
    let answers = world.pass(Span::from_us(1));
    assert!(matches!(
        answers[..],
        [(_, _, Err(TranslationFault::NoContext))]
    ));
    world.ask_as(DEVICE, 0x10, Purpose::Read);
    world.pass(Span::from_us(1));
    assert_eq!(world.iommu.counters().walks, 3);
    // An invalidation applies to one address space only.
    world.iommu.invalidate(process(OTHER, 7), &(0..=u64::MAX));
    for (who, walks) in [(process(DEVICE, 7), 3), (process(OTHER, 7), 4)] {
        world.ask_as(who, 0x10, Purpose::Read);
        world.pass(Span::from_us(1));
        assert_eq!(world.iommu.counters().walks, walks, "{who:?}");
    }
}
