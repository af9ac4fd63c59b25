use proptest::prelude::*;

use super::*;

const BASE: u64 = 4 << 30;
const ROOM: u64 = 128 * TABLE;

fn empty(tables: u64) -> (PageTable, Memory) {
    let mut memory = Memory::new(1 << 20);
    let room = BASE + 0x1000..BASE + 0x1000 + tables * TABLE;
    let table = PageTable::new(room, BASE, &mut memory).expect("the memory has that room");
    (table, memory)
}

fn page(base: u64, size: PageSize) -> Mapping {
    Mapping::around(base, 0x12_3456_7890, size, Rights::ReadWrite)
}

#[test]
fn a_page_of_4_kib_hangs_below_four_tables() {
    let (mut table, mut memory) = empty(4);
    let address = 0xffff_ffff_f000;
    let mapping = page(address, PageSize::Kib4);
    table.map(&mapping, &mut memory).expect("nothing is there");
    let mut at = table.root();
    for _ in 0..3 {
        let descriptor = table.read(at.slot(address), &memory);
        match at.step(descriptor.expect("it is not poisoned"), address) {
            Step::Table(below) => at = below,
            other => panic!("a table is above a page, not {other:?}"),
        }
    }
    let mut bytes = [0; 8];
    memory.read(at.slot(address) - BASE, &mut bytes);
    assert_eq!(bytes, [0x43, 0x77, 0x56, 0x34, 0x12, 0, 0, 0]);
}

#[test]
fn the_room_for_tables_is_whole_pages_of_the_memory() {
    let mut memory = Memory::new(1 << 20);
    for (start, end) in [
        (BASE + 0x800, BASE + 0x2000),
        (BASE - 0x1000, BASE + 0x1000),
        (BASE, BASE + 0xfff),
        (BASE + 0x1000, BASE),
        (BASE, BASE + (1 << 20) + 1),
    ] {
        let refused = PageTable::new(start..end, BASE, &mut memory);
        assert_eq!(refused.err(), Some(PageTableError::Room(start, end)));
    }
}

#[test]
fn what_was_in_the_room_before_maps_nothing() {
    let mut memory = Memory::new(1 << 20);
    memory.write(0, &vec![0xff; 1 << 16]);
    let mut table = PageTable::new(BASE..BASE + (1 << 16), BASE, &mut memory).expect("room");
    assert_eq!(
        table.find(0, &memory),
        Err(PageTableError::NotMapped(0)),
        "the root is empty"
    );
    let mapping = page(0, PageSize::Kib4);
    table.map(&mapping, &mut memory).expect("nothing is there");
    assert_eq!(table.find(0xfff, &memory), Ok(mapping));
    assert!(table.find(0x1000, &memory).is_err());
}

#[test]
fn an_address_beyond_48_bits_is_neither_mapped_nor_led_to() {
    let (mut table, mut memory) = empty(8);
    let beyond = Mapping::around(1 << 48, 0, PageSize::Kib4, Rights::Read);
    let refused = table.map(&beyond, &mut memory);
    assert_eq!(refused, Err(PageTableError::BeyondRange(1 << 48)));
    let beyond = Mapping::around(0, 1 << 50, PageSize::Gib1, Rights::Read);
    let refused = table.map(&beyond, &mut memory);
    assert_eq!(refused, Err(PageTableError::BeyondRange(1 << 50)));
    let refused = table.find(1 << 48, &memory);
    assert_eq!(refused, Err(PageTableError::BeyondRange(1 << 48)));
}

#[test]
fn a_page_without_room_for_its_tables_changes_nothing() {
    let (mut table, mut memory) = empty(3);
    let before = memory.clone();
    let refused = table.map(&page(0, PageSize::Kib4), &mut memory);
    assert_eq!(refused, Err(PageTableError::OutOfRoom));
    assert_eq!(bytes(&memory), bytes(&before));
    assert_eq!(table.map(&page(0, PageSize::Mib2), &mut memory), Ok(()));
}

#[test]
fn a_huge_page_takes_the_place_of_small_ones_that_are_all_gone() {
    let (mut table, mut memory) = empty(8);
    for number in [3, 5] {
        let small = page(number << 12, PageSize::Kib4);
        table.map(&small, &mut memory).expect("nothing is there");
    }
    let huge = page(0, PageSize::Mib2);
    let overlap = Err(PageTableError::Overlap(0, PageSize::Mib2));
    assert_eq!(table.map(&huge, &mut memory), overlap);
    table.unmap(0x3000, &mut memory).expect("it is mapped");
    assert_eq!(table.map(&huge, &mut memory), overlap);
    table.unmap(0x5fff, &mut memory).expect("it is mapped");
    assert_eq!(table.map(&huge, &mut memory), Ok(()));
}

#[test]
fn software_neither_uses_nor_replaces_a_poisoned_descriptor() {
    let (mut table, mut memory) = empty(8);
    let [one, other] = [0x1_0000, 0x1_1000].map(|base| page(base, PageSize::Kib4));
    table.map(&one, &mut memory).expect("nothing is there");
    let slot = table.root().slot(0x1_0000);
    memory.poison(slot - BASE, 1);
    let poisoned = PageTableError::Poisoned(slot);
    assert_eq!(table.find(0x1_0000, &memory), Err(poisoned));
    assert_eq!(table.map(&other, &mut memory), Err(poisoned));
    assert_eq!(table.unmap(0x1_0000, &mut memory), Err(poisoned));
}

fn bytes(memory: &Memory) -> Vec<u8> {
    let mut bytes = vec![0; memory.size() as usize];
    memory.read(0, &mut bytes);
    bytes
}

#[derive(Clone, Debug)]
enum Change {
    Map(Mapping),
    Unmap(u64),
}

fn any_rights() -> impl Strategy<Value = Rights> {
    prop::sample::select(vec![Rights::Read, Rights::ReadWrite])
}

/// An address in or near pages of different sizes: adjacent pages, a page within a larger one, and both ends of the address space.
fn any_address() -> impl Strategy<Value = u64> {
    let bits = prop::sample::select(vec![12_u32, 16, 21, 25, 30, 39]);
    let low = (bits, 0..4_u64, 0..1_u64 << 13).prop_map(|(bits, n, rest)| (n << bits) + rest);
    (low, any::<bool>()).prop_map(|(low, high)| if high { (1 << 48) - 1 - low } else { low })
}

fn any_change() -> impl Strategy<Value = Change> {
    let size = prop::sample::select(&PageSize::ALL[..]);
    let mapping = (any_address(), any_address(), size, any_rights());
    let mapping = mapping.prop_map(|(at, to, size, rights)| Mapping::around(at, to, size, rights));
    prop_oneof![
        3 => mapping.prop_map(Change::Map),
        2 => any_address().prop_map(Change::Unmap),
    ]
}

proptest! {
    #[test]
    fn every_address_leads_where_a_plain_list_of_pages_says(
        changes in prop::collection::vec(any_change(), 1..80), probes in prop::collection::vec(any_address(), 20),
    ) {
        let (mut table, mut memory) = empty(ROOM / TABLE);
        let mut list: Vec<Mapping> = Vec::new();
        let left = table.pool.free_tables();
        for change in changes {
            let at = |address: u64, list: &[Mapping]| list.iter().position(|page| page.covers(address));
            match change {
                Change::Map(page) => {
                    let is_free = !list.iter().any(|old| old.overlaps(&page.range()));
                    prop_assert_eq!(table.map(&page, &mut memory).is_ok(), is_free);
                    list.extend(is_free.then_some(page));
                }
                Change::Unmap(address) => {
                    let old = at(address, &list).map(|place| list.remove(place));
                    prop_assert_eq!(table.unmap(address, &mut memory).ok(), old);
                }
            }
            let ends = list.iter().flat_map(|page| {
                let (first, last) = page.range().into_inner();
                [first.wrapping_sub(1), first, last, last + 1]
            });
            for address in ends.chain(probes.iter().copied()) {
                let expected = at(address, &list).map(|place| list[place]);
                prop_assert_eq!(table.find(address, &memory).ok(), expected);
            }
        }
        for page in list {
            prop_assert_eq!(table.unmap(page.virtual_base(), &mut memory), Ok(page));
        }
        prop_assert_eq!(table.pool.free_tables(), left, "every table but the root is given back");
    }
}

#[test]
fn an_identity_mapping_has_the_largest_pages_that_fit() {
    let (mut table, mut memory) = empty(8);
    let range = 0x1f_f000..0x8000_0000;
    let mapped = table.map_identity(&range, PageSize::Gib1, &mut memory);
    mapped.expect("nothing is there");
    for (address, size) in [
        (0x1f_f000, PageSize::Kib4),
        (0x20_0000, PageSize::Mib2),
        (0x200_0000, PageSize::Mib2),
        (0x4000_1234, PageSize::Gib1),
    ] {
        let found = table.find(address, &memory).expect("it is mapped");
        assert_eq!((found.translate(address), found.size()), (address, size));
    }
    for address in [0x1f_efff, 0x8000_0000] {
        assert!(table.find(address, &memory).is_err());
    }
}

#[test]
fn an_identity_mapping_has_contiguous_descriptors_only_where_they_are_asked_for() {
    for (largest, size) in [
        (PageSize::Kib64, PageSize::Kib64),
        (PageSize::Mib32, PageSize::Mib2),
    ] {
        let (mut table, mut memory) = empty(8);
        let mapped = table.map_identity(&(0..4 << 20), largest, &mut memory);
        mapped.expect("nothing is there");
        let found = table.find(0x1_2345, &memory).expect("it is mapped");
        assert_eq!(found.size(), size);
    }
}

#[test]
fn an_identity_mapping_beyond_the_address_bits_is_refused() {
    let (mut table, mut memory) = empty(8);
    let range = (1 << 48) - 0x1000..(1 << 48) + 0x1000;
    let refused = table.map_identity(&range, PageSize::Kib4, &mut memory);
    assert_eq!(refused, Err(PageTableError::BeyondRange(range.end)));
}

proptest! {
    #[test]
    fn an_identity_mapping_maps_its_range_alone_with_the_tables_that_were_said(
        start in 0..1_u64 << 19, pages in 1..3000_u64, largest in prop::sample::select(&PageSize::ALL[..]),
        probes in prop::collection::vec(0..1_u64 << 20, 20),
    ) {
        let range = start << 12..(start + pages) << 12;
        let tables = 1 + PageTable::identity_tables(&range, largest);
        let (mut table, mut memory) = empty(tables);
        prop_assert_eq!(table.map_identity(&range, largest, &mut memory), Ok(()));
        for page in probes.into_iter().chain([start, start + pages - 1, start + pages]) {
            let address = page << 12 | 0x123;
            match table.find(address, &memory) {
                Ok(found) => {
                    prop_assert!(range.contains(&address));
                    prop_assert!(found.size() <= largest);
                    prop_assert_eq!(found.translate(address), address);
                }
                Err(_) => prop_assert!(!range.contains(&address)),
            }
        }
    }
}
