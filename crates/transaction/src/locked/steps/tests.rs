//! Tests of work under locks, on a memory that completes accesses at once.

use super::*;
use crate::{Granularity, Update};
use kernel::Stream;
use locktable::{Table, Width};
use packet::FlowId;
use std::collections::BTreeMap;

/// A memory of words by address.
type Memory = BTreeMap<u64, u128>;

const ROWS: u64 = 0x1000;

fn work(owner: u32, under: Under) -> LockedLoop {
    LockedLoop::new(LockedWork {
        flow: FlowId(owner),
        owner: Owner::new(owner).unwrap(),
        table: Table::new(0, 1, Width::Bits64).unwrap(),
        under,
        stream: Stream::named(1, "locks"),
        count: 1,
        start: Time::ZERO,
        interval: Span::ZERO,
        random_intervals: false,
        software: Span::from_ns(50),
        poll: Span::from_ns(7),
    })
}

fn hold() -> Under {
    Under::Hold {
        span: Span::from_ns(100),
        records: 4,
    }
}

fn update() -> Under {
    Under::Update(Update {
        rows: ROWS,
        own: 2..3,
        contention: 0.0,
        lock: Granularity::Row,
        work: Span::from_ns(30),
    })
}

/// Performs and returns the next step. An access takes 10 ns.
fn step(work: &mut LockedLoop, now: &mut Time, memory: &mut Memory) -> Step {
    let step = work.next(*now);
    match step {
        Step::Work(span) => *now += span,
        Step::Sleep(until) => *now = until,
        Step::Access(access) => {
            let there = memory.entry(access.address).or_default();
            let before = *there;
            match access.operation {
                WordOperation::Load => {}
                WordOperation::Store(new) => *there = new,
                WordOperation::Change(change) => *there = change.applied(before),
            }
            *now += Span::from_ns(10);
            work.answered(before, *now);
        }
        Step::Report(_) | Step::Over => {}
    }
    step
}

/// The notes with their times, until there is no further step, or `limit` steps are done.
fn told(work: &mut LockedLoop, memory: &mut Memory, limit: usize) -> Vec<(f64, String)> {
    let (mut now, mut told) = (Time::ZERO, Vec::new());
    for _ in 0..limit {
        match step(work, &mut now, memory) {
            Step::Report(what) => told.push((now.as_ns(), shown(what))),
            Step::Over => break,
            _ => {}
        }
    }
    told
}

fn lock(note: LockNote) -> String {
    shown(Observation::own(FlowId(1), note))
}

fn shown(what: Observation) -> String {
    match what {
        Observation::Own { flow, note } => format!("{flow:?} {:?}", note.get::<LockNote>()),
        _ => format!("{what:?}"),
    }
}

fn requested(swaps: u32) -> String {
    let took = Span::from_ns(60);
    lock(LockNote::Requested { swaps, took })
}

fn acquired(ns: u64) -> String {
    let took = Span::from_ns(ns);
    lock(LockNote::Acquired { took })
}

fn placed(behind: Option<u16>) -> String {
    lock(LockNote::Placed { bucket: 0, behind })
}

#[test]
fn a_free_lock_is_placed_held_and_released() {
    let mut memory = Memory::new();
    let told = told(&mut work(1, hold()), &mut memory, 100);
    let delivered = Observation::Delivered {
        flow: FlowId(1),
        bytes: 1,
        offset: 0,
        born: Time::ZERO,
        last: true,
        intact: true,
    };
    let ended = Observation::Ended {
        flow: FlowId(1),
        bytes: 1,
    };
    assert_eq!(
        told,
        [
            (0.0, shown(ended)),
            (60.0, requested(1)),
            (60.0, placed(None)),
            (60.0, lock(LockNote::Held { bucket: 0 })),
            (60.0, acquired(60)),
            (160.0, lock(LockNote::Releasing { bucket: 0 })),
            (170.0, shown(delivered)),
        ]
    );
    assert_eq!(memory[&0], 0);
}

#[test]
fn who_finds_another_waits_behind_it_until_that_has_gone() {
    let mut memory = Memory::from([(0, 9)]);
    let mut work = work(1, hold());
    let before = told(&mut work, &mut memory, 20);
    // Two compare-and-swaps are needed. The second one enters the owner into the queue.
    let placed = [(70.0, requested(2)), (70.0, placed(Some(9)))];
    assert!(before.ends_with(&placed), "{before:?}");
    memory.insert(0, 1);
    let after = told(&mut work, &mut memory, 20);
    assert_eq!(after[0].1, lock(LockNote::Held { bucket: 0 }));
    assert!(after[1].1.contains("Acquired"), "{after:?}");
}

#[test]
fn a_full_queue_is_asked_again() {
    let mut memory = Memory::from([(0, 0x5_0004_0003_0002)]);
    let mut work = work(1, hold());
    assert_eq!(told(&mut work, &mut memory, 12).len(), 1);
    memory.insert(0, 0);
    let after = told(&mut work, &mut memory, 4);
    assert!(!after[0].1.contains("swaps: 1,"), "{after:?}");
    assert_eq!(after[1].1, placed(None));
}

#[test]
fn a_transaction_leaves_the_next_version_with_its_writer() {
    let row = ROWS + 2 * 64;
    let mut memory = Memory::from([(row, 7 << 64 | 0x29)]);
    told(&mut work(3, update()), &mut memory, 100);
    assert_eq!(memory[&row], 3 << 64 | 0x2a);
    assert_eq!(memory[&0], 0);
}

#[test]
fn whoever_finds_what_is_no_queue_or_has_lost_its_place_gives_up() {
    // The cases are a gap in the queue, this owner in the queue before its request, and another owner at this owner's position.
    for (found, later) in [(1 << 16, 0), (1, 0), (9, 8)] {
        let mut memory = Memory::from([(0, found)]);
        let mut work = work(1, hold());
        let mut all = told(&mut work, &mut memory, 8);
        memory.insert(0, later);
        all.extend(told(&mut work, &mut memory, 100));
        let failed = Observation::failed(FlowId(1), 1, None);
        let last: Vec<&str> = all
            .iter()
            .rev()
            .take(2)
            .map(|(_, told)| told.as_str())
            .collect();
        assert_eq!(
            last,
            [shown(failed), lock(LockNote::Lost { bucket: 0 })],
            "{found:#x}"
        );
    }
}

#[test]
fn the_share_of_contention_goes_to_the_first_row() {
    for (contention, least, most) in [(0.0, 0, 0), (0.5, 400, 600), (1.0, 1000, 1000)] {
        let update = Update {
            contention,
            own: 5..9,
            ..match update() {
                Under::Update(update) => update,
                Under::Hold { .. } => unreachable!("updates are updates"),
            }
        };
        let mut work = work(1, Under::Update(update)).work;
        let rows: Vec<u64> = (0..1000).map(|_| work.draw().1).collect();
        let hot = rows.iter().filter(|row| **row == 0).count();
        assert!((least..=most).contains(&hot), "{contention}: {hot}");
        assert!(rows.iter().all(|row| *row == 0 || (5..9).contains(row)));
    }
}
