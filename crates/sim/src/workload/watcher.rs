//! Watchers: each receives the observations that components report about the workloads of one kind.

use std::any::Any;
use std::fmt;

use kernel::Time;
use packet::Observation;

use super::PlannedWorkload;

/// Receives the observations that components report about the workloads of one kind.
pub(crate) trait Watcher: Any + fmt::Debug + Send + Sync {
    fn observe(&mut self, now: Time, what: &Observation);
}

#[derive(Debug)]
pub(crate) struct Watchers(Vec<Box<dyn Watcher>>);

impl Watchers {
    pub(crate) fn new(workloads: &[PlannedWorkload]) -> Self {
        Watchers(super::watchers(workloads))
    }

    pub(crate) fn observe(&mut self, now: Time, what: &Observation) {
        for watcher in &mut self.0 {
            watcher.observe(now, what);
        }
    }

    /// The watcher of type `W`.
    pub(crate) fn get<W: Watcher>(&self) -> &W {
        let mut all = self.0.iter();
        let found = all.find_map(|watcher| (&**watcher as &dyn Any).downcast_ref());
        found.expect("a kind of workload that is in the plan has its watcher")
    }
}
