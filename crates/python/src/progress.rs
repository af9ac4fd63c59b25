//! Calls of a Python function with the progress of a run.

use std::time::Instant;

use pyo3::prelude::*;

use crate::Watch;

/// The time between two calls of the function, as a multiple of the time of a call. The progress of thousands of workloads takes milliseconds to
/// read. Our choice: a run spends about one part in a hundred of its time on progress.
const APART: u32 = 100;

/// A function of Python that is called with the share of a run that is done, 0 to 1.
pub struct Progress {
    function: Option<Py<PyAny>>,
    /// The time of the next call.
    next: Instant,
}

impl Progress {
    pub fn new(function: Option<Py<PyAny>>) -> Self {
        Progress {
            function,
            next: Instant::now(),
        }
    }

    /// Calls the function, if the time of its next call has passed. Returns whether the run continues.
    pub fn watch(&mut self, simulation: &sim::Simulation, watch: Watch<'_>) -> bool {
        let begin = Instant::now();
        let Some(function) = self.function.as_ref().filter(|_| self.next <= begin) else {
            return watch(&|_| Ok(()));
        };
        let share = simulation.share_done();
        let goes_on = watch(&|py| function.call1(py, (share,)).map(drop));
        let end = Instant::now();
        self.next = end + (end - begin) * APART;
        goes_on
    }
}
