//! Waiting doorbells, and the order in which they are served.

use std::collections::VecDeque;

use kernel::Time;

use super::registers::{Doorbell, FUNCTIONS};

kernel::choices! {
    /// The arbitration between functions.
    pub enum Arbiter {
        /// The functions are served in turn.
        RoundRobin = "round-robin",
        /// The function with the lowest number first: the physical function.
        Priority = "priority",
    }
}

/// A doorbell that software has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bell {
    pub(super) pair: u8,
    pub(super) doorbell: Doorbell,
    /// The descriptor, if software has stored it in the controller.
    pub(super) pushed: Option<Box<[u8]>>,
    /// The time at which software has written the doorbell.
    pub(super) born: Time,
    /// The time from which the doorbell may be served.
    pub(super) due: Time,
}

/// The waiting doorbells, with a queue for each function.
#[derive(Clone, Debug)]
pub(super) struct Doorbells {
    fifos: [VecDeque<Bell>; FUNCTIONS],
    depth: usize,
    arbiter: Arbiter,
    /// The function that is served first: the one after the function that was served last.
    turn: usize,
    waiting: usize,
    /// For each function, whether a full ring of events was reported since its last doorbell was served.
    told_full: [bool; FUNCTIONS],
}

impl Doorbells {
    pub(super) fn new(arbiter: Arbiter, depth: u32) -> Self {
        Self {
            fifos: Default::default(),
            depth: depth as usize,
            arbiter,
            turn: 0,
            waiting: 0,
            told_full: [false; FUNCTIONS],
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Adds a doorbell of `function`. Returns false if the function's queue is full.
    pub(super) fn ring(&mut self, function: u8, bell: Bell) -> bool {
        let fifo = &mut self.fifos[usize::from(function)];
        let has_room = fifo.len() < self.depth;
        if has_room {
            fifo.push_back(bell);
            self.waiting += 1;
        }
        has_room
    }

    /// Removes the doorbells of a queue pair.
    pub(super) fn forget(&mut self, function: u8, pair: u8) {
        let fifo = &mut self.fifos[usize::from(function)];
        self.waiting -= fifo.len();
        fifo.retain(|bell| bell.pair != pair);
        self.waiting += fifo.len();
    }

    /// Removes the doorbell to serve at `now`, and returns it with its function. `may` returns whether the function can continue with this
    /// doorbell.
    pub(super) fn next(
        &mut self,
        now: Time,
        mut may: impl FnMut(u8, &Bell) -> bool,
    ) -> Option<(u8, Bell)> {
        if self.is_empty() {
            return None;
        }
        let first = match self.arbiter {
            Arbiter::RoundRobin => self.turn,
            Arbiter::Priority => 0,
        };
        for step in 0..FUNCTIONS {
            let function = (first + step) % FUNCTIONS;
            let fifo = &mut self.fifos[function];
            let open = |bell: &mut Bell| bell.due <= now && may(function as u8, bell);
            if let Some(bell) = fifo.pop_front_if(open) {
                self.turn = (function + 1) % FUNCTIONS;
                self.waiting -= 1;
                self.told_full[function] = false;
                return Some((function as u8, bell));
            }
        }
        None
    }

    /// The next function whose first doorbell, due at `now`, must wait. `waits` returns whether it must. A function is returned only once until
    /// one of its doorbells is served.
    pub(super) fn next_waiting(
        &mut self,
        now: Time,
        waits: impl Fn(u8, &Bell) -> bool,
    ) -> Option<u8> {
        let firsts = (0..).zip(&self.fifos).zip(&mut self.told_full);
        let (function, told) = firsts
            .filter_map(|((function, fifo), told)| Some((function, fifo.front()?, told)))
            .find(|(function, bell, told)| !**told && bell.due <= now && waits(*function, bell))
            .map(|(function, _, told)| (function, told))?;
        *told = true;
        Some(function)
    }

    /// The time of the next doorbell after `now`.
    pub(super) fn due_after(&self, now: Time) -> Time {
        if self.is_empty() {
            return Time::NEVER;
        }
        let firsts = self.fifos.iter().filter_map(VecDeque::front);
        let later = firsts.map(|bell| bell.due).filter(|due| *due > now);
        later.min().unwrap_or(Time::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bell(address: u64) -> Bell {
        Bell {
            pair: 0,
            doorbell: Doorbell { address, len: 64 },
            pushed: None,
            born: Time::ZERO,
            due: Time::ZERO,
        }
    }

    /// The functions in the order in which they are served, if three of them have three doorbells each.
    fn served(arbiter: Arbiter) -> Vec<u8> {
        let mut bells = Doorbells::new(arbiter, 32);
        for function in [5, 0, 2] {
            for address in 0..3 {
                assert!(bells.ring(function, bell(address)));
            }
        }
        std::iter::from_fn(|| bells.next(Time::ZERO, |_, _| true))
            .map(|(function, _)| function)
            .collect()
    }

    #[test]
    fn functions_are_served_in_turn_or_by_priority() {
        assert_eq!(served(Arbiter::RoundRobin), [0, 2, 5, 0, 2, 5, 0, 2, 5]);
        assert_eq!(served(Arbiter::Priority), [0, 0, 0, 2, 2, 2, 5, 5, 5]);
    }

    #[test]
    fn the_doorbell_after_the_last_that_has_room_is_refused() {
        let mut bells = Doorbells::new(Arbiter::RoundRobin, 2);
        assert!(bells.ring(1, bell(0)) && bells.ring(1, bell(16)));
        assert!(!bells.ring(1, bell(32)));
        assert!(bells.ring(2, bell(0)));
    }

    #[test]
    fn a_function_that_may_not_go_on_keeps_nobody_else() {
        let mut bells = Doorbells::new(Arbiter::RoundRobin, 2);
        bells.ring(0, bell(0));
        bells.ring(1, bell(16));
        let next = bells.next(Time::ZERO, |function, _| function != 0);
        assert_eq!(next, Some((1, bell(16))));
        assert_eq!(bells.next(Time::ZERO, |function, _| function != 0), None);
    }
}
