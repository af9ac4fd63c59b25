//! A run that pauses at a time.

use kernel::Time;

use super::Simulation;

/// The end of a run that has a time to pause at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paused {
    /// The run has come to the time.
    Reached,
    /// The run has ended before.
    Ended,
    /// The run was interrupted.
    Interrupted,
}

impl Simulation {
    /// Runs as [`run`](Self::run) does, but only until all events due by `time` are handled. The run can go on from there.
    ///
    /// A pause comes when all links are up, at the earliest.
    pub fn run_to(&mut self, time: Time, watch: &mut dyn FnMut(&Simulation) -> bool) -> Paused {
        self.pause_at = time;
        self.unite();
        let has_ended = self.run(watch);
        let is_paused = self.pause_at == Time::ZERO;
        self.pause_at = Time::NEVER;
        match (has_ended, is_paused) {
            (true, _) => Paused::Ended,
            (false, true) => Paused::Reached,
            (false, false) => Paused::Interrupted,
        }
    }
}
