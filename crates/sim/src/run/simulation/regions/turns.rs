//! The choice whether all threads of a run share the next window or one thread runs all of its regions, by the time that windows took so far.
//!
//! On a machine with other work, a thread that has lost its processor stops the others. The clock decides who does the work of a window,
//! and never what is done in it.

use std::time::Duration;

use super::rehearsal::Rehearsal;

/// The fewest events of a window that is timed to compare. Our choice.
const FEWEST_COMPARED: u64 = 2048;

/// The most by which the time of a window changes what an event is taken to cost on one thread, as a multiple, and the weight of a window
/// in it. Our choice: a window in which the thread has lost its processor counts little.
const MOST_COMPARED: f64 = 1.25;
const WEIGHT: f64 = 0.25;

/// The time for which one thread works alone after threads have lost time, as a multiple of that. Our choice: threads then lose one part in
/// twenty at most.
const ALONE_FOR: f64 = 20.0;

/// The most time gained that is set against time lost later. Our choice: some time slices of a scheduler, so that threads that gain outlast
/// an interruption.
const MOST_GAINED: f64 = 10e6;

/// Windows of one thread that are timed to compare, after as many shared ones; the first has its data in the caches of other processors.
/// Our choice: these cost threads less than half a percent.
const COMPARED: u32 = 2;
const COMPARED_AFTER: u32 = 256;

/// The least time for which a thread waits for another one before it works alone. Our choice.
const LEAST_PATIENCE: Duration = Duration::from_micros(200);

/// The threads that run a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// All threads, as long as none waits longer than this.
    Together(Duration),
    Alone,
}

/// The times that windows took, in nanoseconds.
#[derive(Debug)]
pub(super) struct Turns {
    /// The time of an event on one thread, once known.
    alone: Option<f64>,
    /// The time that threads have gained since they last lost any.
    gained: f64,
    /// The time for which one thread works alone.
    owed: f64,
    /// Whether threads share no window before a rehearsal, and one that goes on.
    is_to_rehearse: bool,
    rehearsal: Option<Rehearsal>,
    /// Windows of one thread to come, to compare, and shared ones since the last of these.
    to_compare: u32,
    shared: u32,
    last: Turn,
    /// The events of the last window.
    events: u64,
    /// The windows so far of a test, in which the clock decides nothing.
    tested: Option<usize>,
}

/// The turns of a test: threads that wait for each other, one that does not and goes on alone, one alone from the beginning.
const TESTED: [Turn; 4] = [
    Turn::Together(Duration::from_millis(2)),
    Turn::Together(Duration::ZERO),
    Turn::Alone,
    Turn::Together(Duration::ZERO),
];

impl Default for Turns {
    fn default() -> Self {
        Turns {
            alone: None,
            gained: 0.0,
            owed: 0.0,
            is_to_rehearse: false,
            rehearsal: None,
            to_compare: COMPARED,
            shared: 0,
            last: Turn::Together(Duration::ZERO),
            events: 0,
            tested: None,
        }
    }
}

impl Turns {
    /// Turns of every kind, one after the other, whatever they take.
    pub(super) fn tested() -> Self {
        Turns {
            tested: Some(0),
            ..Turns::default()
        }
    }

    /// Returns whether all threads run the next window, or the first one alone.
    pub(super) fn next(&self) -> Turn {
        if let Some(windows) = self.tested {
            return TESTED[windows % TESTED.len()];
        }
        match self.alone {
            Some(alone) if !self.is_one_alone() => {
                let expected = Duration::from_nanos((alone * self.events as f64) as u64);
                Turn::Together(expected.max(LEAST_PATIENCE))
            }
            _ => Turn::Alone,
        }
    }

    fn is_one_alone(&self) -> bool {
        self.to_compare > 0 || self.owed > 0.0 || self.is_to_rehearse
    }

    /// Begins or ends a rehearsal of `others` threads, if it is time for that.
    pub(super) fn rehearse(&mut self, others: usize) {
        if !self.is_to_rehearse || self.owed > 0.0 {
            return;
        }
        let rehearsal = self
            .rehearsal
            .get_or_insert_with(|| Rehearsal::begin(others));
        if let Some(are_processors) = rehearsal.outcome() {
            let elapsed = rehearsal.elapsed();
            self.rehearsal = None;
            self.end_rehearsal(are_processors, elapsed);
        }
    }

    /// Takes in whether a rehearsal that took `time` has shown that there are processors for all threads.
    fn end_rehearsal(&mut self, are_processors: bool, time: Duration) {
        if are_processors {
            self.is_to_rehearse = false;
        } else {
            self.owe(time.as_nanos() as f64);
        }
    }

    /// Lets one thread work alone, because threads have lost this time.
    fn owe(&mut self, lost: f64) {
        self.owed = lost * ALONE_FOR;
        self.gained = 0.0;
        self.to_compare = COMPARED;
        self.is_to_rehearse = true;
    }

    /// Takes in that a window with this number of events took `time`.
    pub(super) fn took(&mut self, turn: Turn, events: u64, time: Duration) {
        let time = time.as_nanos() as f64;
        self.tested = self.tested.map(|windows| windows + 1);
        match turn {
            Turn::Alone => {
                self.owed -= time;
                let is_first = self.last != Turn::Alone;
                if is_first || events >= FEWEST_COMPARED {
                    self.to_compare = self.to_compare.saturating_sub(1);
                }
                if !is_first && events >= FEWEST_COMPARED {
                    self.compare(time / events as f64);
                }
            }
            Turn::Together(_) => {
                let alone = self.alone.unwrap_or(0.0) * events as f64;
                self.gained = (self.gained + alone - time).min(MOST_GAINED);
                self.shared += 1;
                if self.gained < 0.0 {
                    self.owe(-self.gained);
                } else if self.shared.is_multiple_of(COMPARED_AFTER) {
                    self.to_compare = COMPARED;
                }
            }
        }
        self.last = turn;
        self.events = events;
    }

    /// Takes in what an event has taken in a window of one thread.
    fn compare(&mut self, each: f64) {
        self.alone = Some(match self.alone {
            None => each,
            Some(alone) => alone + WEIGHT * (each.min(alone * MOST_COMPARED) - alone),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: u64 = 8192;

    /// The number of windows of `count` that threads share, if shared ones take `together` microseconds and others `alone`.
    fn shared(turns: &mut Turns, count: u32, together: u64, alone: u64) -> u32 {
        let mut shared = 0;
        for _ in 0..count {
            if turns.is_to_rehearse && turns.owed <= 0.0 {
                turns.end_rehearsal(true, Duration::from_millis(5));
            }
            let turn = turns.next();
            let is_alone = turn == Turn::Alone;
            shared += u32::from(!is_alone);
            let time = if is_alone { alone } else { together };
            turns.took(turn, EVENTS, Duration::from_micros(time));
        }
        shared
    }

    #[test]
    fn threads_that_gain_time_share_nearly_all_windows() {
        assert!(shared(&mut Turns::default(), 1000, 700, 1000) > 985);
    }

    #[test]
    fn threads_that_lose_time_lose_a_twentieth_at_most() {
        let count = 10_000;
        for together in [1100, 2000, 10_000, 50_000] {
            let shared = shared(&mut Turns::default(), count, together, 1000);
            let lost = u64::from(shared) * (together - 1000);
            assert!(shared > 0 && lost <= u64::from(count) * 50 + together);
        }
    }

    #[test]
    fn threads_share_again_once_the_machine_is_quiet_and_not_for_long_once_it_is_not() {
        let mut turns = Turns::default();
        shared(&mut turns, 100, 700, 1000);
        assert!(shared(&mut turns, 100, 20_000, 1000) < 5);
        shared(&mut turns, 400, 700, 1000);
        assert!(shared(&mut turns, 100, 700, 1000) > 95);
    }

    #[test]
    fn threads_share_nothing_while_a_rehearsal_shows_no_processor() {
        let mut turns = Turns::default();
        shared(&mut turns, 100, 700, 1000);
        shared(&mut turns, 1, 50_000, 1000);
        shared(&mut turns, 1000, 700, 1000);
        turns.is_to_rehearse = true;
        turns.end_rehearsal(false, Duration::from_millis(5));
        assert_eq!(shared(&mut turns, 95, 700, 1000), 0);
        assert!(shared(&mut turns, 100, 700, 1000) > 90);
    }

    #[test]
    fn one_interruption_changes_nothing() {
        let mut turns = Turns::default();
        shared(&mut turns, 100, 700, 1000);
        shared(&mut turns, 1, 5000, 1000);
        assert_eq!(shared(&mut turns, 100, 700, 1000), 100);
    }
}
