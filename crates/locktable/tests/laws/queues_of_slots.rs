//! Queues with a word for each slot, in place of a queue in one word: the faults for which decision 12 rejects them.
//!
//! A client joins by a compare-and-swap on the first empty slot, and holds the lock while the first slot has its number.

use std::collections::HashSet;

const CLIENTS: usize = 3;
const EMPTY: u8 = 0;
/// The mark in the first slot while a release moves the others.
const BUSY: u8 = 9;

/// The way in which a release moves the queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Release {
    /// The holder copies each slot to the slot before it, the first one first.
    Shift,
    /// The holder marks the first slot as busy, copies the other slots, and then replaces the mark by the next owner.
    MarkedShift,
    /// The holder empties the first slot. Each waiter moves itself when the slot before its own is empty.
    Advance,
}

/// The next operation of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Join(usize),
    Wait(usize),
    /// Empties the slot from which the client has moved.
    Leave(usize),
    Hold,
    /// Reads the slot behind this one. The number is the next owner.
    Read(usize, u8),
    /// Writes a value to this slot.
    Write(usize, u8, u8),
    Dead,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    slots: [u8; CLIENTS],
    clients: [Step; CLIENTS],
    /// Number of times, up to 3, that another client has got the lock while this client was in the queue.
    overtaken: [u8; CLIENTS],
}

impl State {
    fn new() -> Self {
        State {
            slots: [EMPTY; CLIENTS],
            clients: [Step::Join(0); CLIENTS],
            overtaken: [0; CLIENTS],
        }
    }

    /// The states after one operation of each client.
    fn next(&self, release: Release, may_die: bool) -> Vec<State> {
        let all = 0..CLIENTS;
        let live = all.filter(|client| self.clients[*client] != Step::Dead);
        let mut states = Vec::new();
        for client in live {
            let mut next = self.clone();
            next.go(client, release);
            states.push(next);
            if may_die && !self.clients.contains(&Step::Dead) {
                let mut next = self.clone();
                next.clients[client] = Step::Dead;
                states.push(next);
            }
        }
        states
    }

    fn go(&mut self, client: usize, release: Release) {
        let me = client as u8 + 1;
        let last = CLIENTS - 1;
        self.clients[client] = match self.clients[client] {
            Step::Join(slot) if self.slots[slot] == EMPTY => {
                self.slots[slot] = me;
                self.overtaken[client] = 0;
                self.queued(client, slot)
            }
            Step::Join(slot) => Step::Join((slot + 1) % CLIENTS),
            Step::Wait(slot) if release == Release::Advance => {
                if self.slots[slot - 1] == EMPTY {
                    self.slots[slot - 1] = me;
                    Step::Leave(slot)
                } else {
                    Step::Wait(slot)
                }
            }
            Step::Wait(slot) => self.queued(client, if self.slots[0] == me { 0 } else { slot }),
            Step::Leave(slot) => {
                self.slots[slot] = EMPTY;
                self.queued(client, slot - 1)
            }
            Step::Hold => match release {
                Release::Shift => Step::Read(0, EMPTY),
                Release::MarkedShift => {
                    self.slots[0] = BUSY;
                    Step::Read(0, EMPTY)
                }
                Release::Advance => {
                    self.slots[0] = EMPTY;
                    Step::Join(0)
                }
            },
            Step::Read(slot, owner) => {
                let behind = if slot == last {
                    EMPTY
                } else {
                    self.slots[slot + 1]
                };
                match (slot, release) {
                    (0, Release::MarkedShift) => Step::Read(1, behind),
                    _ => Step::Write(slot, behind, owner),
                }
            }
            Step::Write(slot, value, owner) => {
                self.slots[slot] = value;
                match (slot, release) {
                    (0, Release::MarkedShift) => Step::Join(0),
                    (_, Release::MarkedShift) if slot == last => Step::Write(0, owner, owner),
                    _ if slot == last => Step::Join(0),
                    _ => Step::Read(slot + 1, owner),
                }
            }
            Step::Dead => Step::Dead,
        };
    }

    /// The step of a client in this slot, which holds the lock if the slot is the first.
    fn queued(&mut self, client: usize, slot: usize) -> Step {
        if slot > 0 {
            return Step::Wait(slot);
        }
        for other in (0..CLIENTS).filter(|other| *other != client) {
            if matches!(self.clients[other], Step::Wait(_) | Step::Leave(_)) {
                self.overtaken[other] = (self.overtaken[other] + 1).min(3);
            }
        }
        Step::Hold
    }

    /// Whether a client waits that is in no slot, while no live client moves the queue.
    fn has_lost_a_waiter(&self) -> bool {
        let moving = |step: &Step| matches!(step, Step::Read(..) | Step::Write(..));
        let waits = |client: usize| matches!(self.clients[client], Step::Wait(_));
        let lost = |client: usize| !self.slots.contains(&(client as u8 + 1));
        !self.clients.iter().any(moving) && (0..CLIENTS).any(|client| waits(client) && lost(client))
    }

    fn holders(&self) -> usize {
        let holds = |step: &&Step| **step == Step::Hold;
        self.clients.iter().filter(holds).count()
    }
}

/// Whether `law` is true for all states that can be reached.
fn always(release: Release, may_die: bool, law: impl Fn(&State) -> bool) -> bool {
    let mut reached = HashSet::from([State::new()]);
    let mut open = vec![State::new()];
    while let Some(state) = open.pop() {
        if !law(&state) {
            return false;
        }
        for next in state.next(release, may_die) {
            if reached.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    true
}

#[test]
fn a_shift_of_slots_loses_a_client_that_joins() {
    assert!(!always(Release::Shift, false, |state| !state.has_lost_a_waiter()));
}

#[test]
fn a_shift_behind_a_busy_mark_loses_an_owner_if_the_holder_dies() {
    let is_lost = |state: &State| state.slots[0] == BUSY && state.has_lost_a_waiter();
    assert!(!always(Release::MarkedShift, true, |state| !is_lost(state)));
}

#[test]
fn waiters_that_move_themselves_are_safe_and_are_overtaken_again_and_again() {
    let is_safe = |state: &State| state.holders() <= 1 && !state.has_lost_a_waiter();
    assert!(always(Release::Advance, false, is_safe));
    let is_overtaken = |state: &State| state.overtaken.contains(&3);
    assert!(!always(Release::Advance, false, |state| !is_overtaken(
        state
    )));
}
