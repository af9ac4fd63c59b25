//! Linearizability: whether a history of concurrent calls could result from the same calls in sequence.

use std::collections::HashSet;

use locktable::{Acquired, Owner, Released, Removed};

use crate::specification::{Call, Outcome, QueueLock};

/// A call with the times that its caller recorded. All times are different.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub call: Call,
    pub began: u64,
    /// `None`: the caller died before the call returned; the call may have taken effect.
    pub ended: Option<u64>,
    /// `None`: the caller did not record the outcome.
    pub outcome: Option<Outcome>,
}

/// Searches for an order of the calls on one lock in which each call takes effect between its begin and its end and has its recorded
/// outcome (Wing and Gong). `processes` contains the calls of each caller in order.
pub fn is_linearizable(lock: QueueLock, processes: &[Vec<Record>]) -> bool {
    let start = (vec![0; processes.len()], lock);
    let mut known = HashSet::from([start.clone()]);
    let mut open = vec![start];
    while let Some((made, lock)) = open.pop() {
        let next: Vec<Option<&Record>> = (0..processes.len())
            .map(|process| processes[process].get(made[process]))
            .collect();
        let ends = next.iter().flatten().filter_map(|record| record.ended);
        let Some(first_end) = ends.min() else {
            return true;
        };
        for (process, record) in (0..).zip(next) {
            let Some(record) = record.filter(|record| record.began < first_end) else {
                continue;
            };
            let mut lock = lock.clone();
            let made_now = lock.make(record.call);
            if made_now.is_none_or(|outcome| record.outcome.is_some_and(|told| told != outcome)) {
                continue;
            }
            let mut made = made.clone();
            made[process] += 1;
            let state = (made, lock);
            if known.insert(state.clone()) {
                open.push(state);
            }
        }
    }
    false
}

fn owner(id: u32) -> Owner {
    Owner::new(id).unwrap()
}

fn told(call: Call, span: (u64, u64), outcome: Outcome) -> Record {
    Record {
        call,
        began: span.0,
        ended: Some(span.1),
        outcome: Some(outcome),
    }
}

fn acquired(id: u32, span: (u64, u64), outcome: Acquired) -> Record {
    told(Call::Acquire(owner(id)), span, Outcome::Acquired(outcome))
}

fn judged(processes: &[Vec<Record>]) -> bool {
    is_linearizable(QueueLock::new(4), processes)
}

#[test]
fn calls_that_overlap_may_be_in_either_order_and_others_only_in_theirs() {
    let queued = Acquired::Queued { ahead: 1 };
    let first = |span| vec![acquired(1, span, queued)];
    let second = |span| vec![acquired(2, span, Acquired::Held)];
    assert!(judged(&[first((1, 4)), second((2, 3))]));
    assert!(judged(&[first((1, 3)), second((2, 4))]));
    assert!(!judged(&[first((1, 2)), second((3, 4))]));
}

#[test]
fn two_who_hold_a_lock_at_once_are_found() {
    let held = |id, span| vec![acquired(id, span, Acquired::Held)];
    assert!(!judged(&[held(1, (1, 4)), held(2, (2, 3))]));
}

#[test]
fn a_waiter_that_is_lost_or_overtaken_is_found() {
    let passed = |next, span| {
        let outcome = Outcome::Released(Released::Passed { next });
        told(Call::Release(owner(1)), span, outcome)
    };
    let waiter = |id, ahead, span| vec![acquired(id, span, Acquired::Queued { ahead })];
    let holder = |next| vec![acquired(1, (1, 2), Acquired::Held), passed(next, (7, 8))];
    let judged = |next| {
        let waiters = [waiter(2, 1, (3, 4)), waiter(3, 2, (5, 6))];
        judged(&[&[holder(next)], &waiters[..]].concat())
    };
    assert!(judged(Some(owner(2))));
    assert!(!judged(Some(owner(3))));
    assert!(!judged(None));
}

#[test]
fn a_call_whose_caller_died_was_made_or_not_but_not_both() {
    let died = Record {
        call: Call::Acquire(owner(1)),
        began: 1,
        ended: None,
        outcome: None,
    };
    let second = |outcome| vec![acquired(2, (2, 3), outcome)];
    assert!(judged(&[vec![died], second(Acquired::Held)]));
    let queued = second(Acquired::Queued { ahead: 1 });
    assert!(judged(&[vec![died], queued.clone()]));
    let absent = Outcome::Removed(Removed::Absent);
    let swept = vec![told(Call::Remove(owner(1)), (4, 5), absent)];
    assert!(!judged(&[vec![died], queued, swept]));
}
