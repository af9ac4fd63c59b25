//! The interval in which the results of wires are measured.

use kernel::{Span, Time};

use super::reading::Reading;

/// The measured interval, with a reading at each of its bounds: the window of the scenario, or the time in which workloads run.
///
/// Counters are read at both bounds. Links therefore need no information about the interval, and no event is scheduled for it.
#[derive(Clone, Debug)]
pub struct Interval {
    from: Time,
    until: Time,
    /// Whether the interval ends with the last workload.
    ends_with_workloads: bool,
    first: Option<Reading>,
    last: Option<Reading>,
}

impl Default for Interval {
    fn default() -> Self {
        Interval {
            from: Time::NEVER,
            until: Time::NEVER,
            ends_with_workloads: false,
            first: None,
            last: None,
        }
    }
}

impl Interval {
    pub fn window((from, until): (Time, Time)) -> Self {
        Interval {
            from,
            until,
            ..Interval::default()
        }
    }

    /// The interval from `start` until all workloads are complete.
    pub fn of_workloads(start: Time) -> Self {
        Interval {
            from: start,
            ends_with_workloads: true,
            ..Interval::default()
        }
    }

    pub fn open(start: Time) -> Self {
        Interval {
            from: start,
            ..Interval::default()
        }
    }

    /// Whether the interval ends with the last workload, and has not ended.
    pub fn awaits_workloads(&self) -> bool {
        self.ends_with_workloads && self.until == Time::NEVER
    }

    pub fn end(&mut self, until: Time) {
        self.until = until;
    }

    /// The time of the next reading, or [`Time::NEVER`].
    pub fn next(&self) -> Time {
        match (&self.first, &self.last) {
            (None, _) => self.from,
            (_, None) => self.until,
            _ => Time::NEVER,
        }
    }

    /// Stores the reading that was due.
    pub fn record(&mut self, reading: Reading) {
        if self.first.is_none() {
            self.first = Some(reading);
        } else {
            self.last = Some(reading);
        }
    }

    /// The readings at both bounds. If the interval has not ended, `now` takes the second reading. `None` if the interval has not begun or is empty.
    pub fn bounds(&self, now: impl FnOnce() -> Reading) -> Option<(Reading, Reading)> {
        let first = self.first.clone()?;
        let last = self.last.clone().unwrap_or_else(now);
        (last.at.since(first.at) > Span::ZERO).then_some((first, last))
    }
}
