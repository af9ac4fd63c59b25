//! Tests of an MSI-X table alone: its reads and writes by software, and its interrupts under any sequence of masks.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const OPEN: Signalling = Signalling::Msix { is_masked: false };
const CLOSED: Signalling = Signalling::Msix { is_masked: true };
const TABLE: u64 = 0x1000;
const PENDING: u64 = 0x1800;

fn table(vectors: u16) -> VectorTable {
    let mut table = VectorTable::new(MsixTable {
        vectors,
        bar: 0,
        table: TABLE as u32,
        pending: PENDING as u32,
    });
    table.apply_registers(OPEN, true);
    table
}

fn write(table: &mut VectorTable, offset: u64, bytes: &[u8]) {
    for (at, byte) in (offset..).zip(bytes) {
        table.write(at, *byte);
    }
}

fn read(table: &VectorTable, offset: u64) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|at| table.read(offset + at as u64)))
}

/// Writes an entry with two quadwords.
fn set(table: &mut VectorTable, vector: u64, address: u64, data: u32, mask: u32) {
    write(table, TABLE + 16 * vector, &address.to_le_bytes());
    let rest = u64::from(mask) << 32 | u64::from(data);
    write(table, TABLE + 16 * vector + 8, &rest.to_le_bytes());
}

#[test]
fn every_vector_is_masked_after_reset_and_nothing_else_is_set() {
    let table = table(65);
    for vector in 0..65 {
        assert_eq!(read(&table, TABLE + 16 * vector), 0);
        assert_eq!(read(&table, TABLE + 16 * vector + 8), 1 << 32);
    }
    assert_eq!(read(&table, PENDING), 0);
    assert_eq!(read(&table, PENDING + 8), 0);
}

#[test]
fn software_writes_all_but_the_reserved_bits_and_the_pending_bits() {
    let mut table = table(2);
    write(&mut table, TABLE + 16, &[0xff; 16]);
    assert_eq!(read(&table, TABLE + 16), !3);
    assert_eq!(read(&table, TABLE + 24), 0x1_ffff_ffff);
    assert_eq!(read(&table, TABLE), 0);
    write(&mut table, PENDING, &[0xff; 8]);
    assert_eq!(read(&table, PENDING), 0);
}

#[test]
fn only_whole_accesses_to_the_table_or_the_pending_bits_are_for_it() {
    let table = table(2);
    for (offset, len, expected) in [
        (TABLE - 4, 4, false),
        (TABLE, 8, true),
        (TABLE + 28, 4, true),
        (TABLE + 28, 8, false),
        (TABLE + 32, 4, false),
        (PENDING, 8, true),
        (PENDING + 8, 4, false),
    ] {
        assert_eq!(table.holds(offset, len), expected, "{offset:#x}");
    }
}

#[test]
fn an_interrupt_under_a_mask_is_sent_once_when_the_mask_goes() {
    let mut table = table(3);
    set(&mut table, 1, 0x12_fee0_0000, 77, 1);
    assert_eq!(table.raise(1), Raised::Held);
    assert_eq!(table.raise(1), Raised::Held);
    assert_eq!(read(&table, PENDING), 0b10);
    assert_eq!(table.release(), None);
    write(&mut table, TABLE + 16 + 12, &0_u32.to_le_bytes());
    assert_eq!(table.release(), Some((0x12_fee0_0000, 77)));
    assert_eq!(table.release(), None);
    assert_eq!(read(&table, PENDING), 0);
    assert_eq!(table.raise(1), Raised::Sent((0x12_fee0_0000, 77)));
    let counts = table.counts()[1];
    assert_eq!((counts.sent, counts.held), (2, 2));
}

#[test]
fn function_mask_holds_every_vector_back_and_leaves_their_masks_alone() {
    let mut table = table(2);
    set(&mut table, 0, 0x1000, 5, 0);
    table.apply_registers(CLOSED, true);
    assert_eq!(table.raise(0), Raised::Held);
    assert_eq!(table.raise(1), Raised::Held);
    table.apply_registers(OPEN, true);
    assert_eq!(table.release(), Some((0x1000, 5)));
    assert_eq!(table.release(), None);
    assert_eq!(read(&table, PENDING), 0b10);
}

#[test]
fn a_disabled_table_drops_interrupts_and_keeps_what_is_pending() {
    let mut table = table(1);
    assert_eq!(table.raise(0), Raised::Held);
    table.apply_registers(Signalling::None, true);
    assert_eq!(table.raise(0), Raised::Dropped);
    set(&mut table, 0, 0x1000, 5, 0);
    assert_eq!(table.release(), None);
    table.apply_registers(OPEN, true);
    assert_eq!(table.release(), Some((0x1000, 5)));
    assert_eq!(table.counts()[0].dropped, 1);
}

#[test]
fn a_function_that_may_not_send_requests_holds_its_interrupts_back() {
    let mut table = table(1);
    set(&mut table, 0, 0x1000, 5, 0);
    table.apply_registers(OPEN, false);
    assert_eq!(table.raise(0), Raised::Held);
    assert_eq!(table.release(), None);
    table.apply_registers(OPEN, true);
    assert_eq!(table.release(), Some((0x1000, 5)));
}

#[test]
fn an_interrupt_whose_cause_is_served_is_not_sent_any_more() {
    let mut table = table(1);
    assert_eq!(table.raise(0), Raised::Held);
    table.withdraw(0);
    table.withdraw(0);
    set(&mut table, 0, 0x1000, 5, 0);
    assert_eq!(table.release(), None);
    assert_eq!(table.counts()[0].withdrawn, 1);
}

/// An action on an MSI-X table.
#[derive(Clone, Copy, Debug)]
enum Step {
    Raise(u16),
    Mask(u16, bool),
    FunctionMask(bool),
    Enable(bool),
    BusMaster(bool),
    Withdraw(u16),
    /// The function sends all messages that it may send.
    Drain,
}

fn step(vectors: u16) -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..vectors).prop_map(Step::Raise),
        3 => (0..vectors, any::<bool>()).prop_map(|(vector, on)| Step::Mask(vector, on)),
        1 => any::<bool>().prop_map(Step::FunctionMask),
        1 => prop::bool::weighted(0.8).prop_map(Step::Enable),
        1 => prop::bool::weighted(0.8).prop_map(Step::BusMaster),
        1 => (0..vectors).prop_map(Step::Withdraw),
        3 => Just(Step::Drain),
    ]
}

/// A model of the masks, in sets: the vectors that are not masked, the vectors whose message is pending, and the number of messages that each
/// vector has sent.
#[derive(Debug, Default)]
struct Law {
    unmasked: BTreeSet<u16>,
    owed: BTreeSet<u16>,
    got: BTreeMap<u16, u64>,
    is_function_masked: bool,
    is_enabled: bool,
    is_master: bool,
}

impl Law {
    fn open(&self) -> BTreeSet<u16> {
        if self.is_function_masked || !self.is_enabled || !self.is_master {
            return BTreeSet::new();
        }
        self.unmasked.clone()
    }

    fn give(&mut self, vector: u16) {
        self.owed.remove(&vector);
        *self.got.entry(vector).or_default() += 1;
    }
}

proptest! {
    #[test]
    fn nothing_is_lost_nothing_comes_twice_and_pending_bits_are_right(
        (vectors, steps) in (1_u16..130).prop_flat_map(|vectors| (Just(vectors), vec(step(vectors), 1..200))),
    ) {
        let mut table = table(vectors);
        for vector in 0..vectors {
            set(&mut table, vector.into(), 0x1_0000_0000 + 8 * u64::from(vector), vector.into(), 1);
        }
        let mut law = Law { is_enabled: true, is_master: true, ..Law::default() };
        let mut got: BTreeMap<u16, u64> = BTreeMap::new();
        let mut raised: BTreeMap<u16, u64> = BTreeMap::new();
        for step in steps.into_iter().chain([Step::FunctionMask(false), Step::Enable(true), Step::BusMaster(true), Step::Drain]) {
            match step {
                Step::Raise(vector) => {
                    *raised.entry(vector).or_default() += 1;
                    let expected = match (law.is_enabled, law.open().contains(&vector)) {
                        (true, true) => Raised::Sent((0x1_0000_0000 + 8 * u64::from(vector), vector.into())),
                        (true, false) => Raised::Held,
                        (false, _) => Raised::Dropped,
                    };
                    if expected == Raised::Held {
                        law.owed.insert(vector);
                    }
                    let told = table.raise(vector);
                    prop_assert_eq!(told, expected);
                    if let Raised::Sent((_, data)) = told {
                        // If the vector also has a pending message, the message stays pending.
                        *law.got.entry(vector).or_default() += 1;
                        *got.entry(data as u16).or_default() += 1;
                    }
                }
                Step::Mask(vector, on) => {
                    write(&mut table, TABLE + 16 * u64::from(vector) + 12, &u32::from(on).to_le_bytes());
                    if on { law.unmasked.remove(&vector); } else { law.unmasked.insert(vector); }
                }
                Step::FunctionMask(on) => law.is_function_masked = on,
                Step::Enable(on) => law.is_enabled = on,
                Step::BusMaster(on) => law.is_master = on,
                Step::Withdraw(vector) => {
                    table.withdraw(vector);
                    law.owed.remove(&vector);
                }
                Step::Drain => {
                    let mut last = None;
                    while let Some((address, data)) = table.release() {
                        prop_assert_eq!(address, 0x1_0000_0000 + 8 * u64::from(data));
                        prop_assert!(last < Some(data), "the lowest vector goes first");
                        last = Some(data);
                        *got.entry(data as u16).or_default() += 1;
                    }
                    let due: Vec<u16> = law.owed.intersection(&law.open()).copied().collect();
                    for vector in due {
                        law.give(vector);
                    }
                }
            }
            let signalling = match (law.is_enabled, law.is_function_masked) {
                (true, is_masked) => Signalling::Msix { is_masked },
                (false, _) => Signalling::None,
            };
            table.apply_registers(signalling, law.is_master);
            for vector in 0..vectors {
                let bit = read(&table, PENDING + u64::from(vector / 64) * 8) >> (vector % 64) & 1;
                prop_assert_eq!(bit == 1, law.owed.contains(&vector), "vector {}", vector);
            }
            prop_assert_eq!(table.has_pending(), !law.owed.is_empty());
        }
        prop_assert_eq!(&got, &law.got);
        for (vector, count) in &got {
            prop_assert!(*count <= raised[vector]);
            prop_assert_eq!(table.counts()[usize::from(*vector)].sent, *count);
        }
    }
}
