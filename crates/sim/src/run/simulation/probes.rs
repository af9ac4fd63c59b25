//! Probes that a simulation is given for a run: what flows wait for, and coherence.

use std::num::NonZeroU64;

use super::Simulation;
use crate::meters::coherence::{self, Incoherence, Watch};
use crate::model::Model;
use crate::observe::waits::Waits;

impl Simulation {
    /// Finds out from now on what flows wait for.
    pub fn watch_waits(&mut self) {
        self.unite();
        self.waits = Some(Box::new(Waits::new(&self.plan, &self.models)));
        self.halt();
    }

    /// The reason for which a probe needs one order of all events, if one does.
    pub(super) fn probe_of_one_thread(&self) -> Option<&'static str> {
        if self.watch.is_some() {
            Some("coherence is checked between events of the whole fabric")
        } else if self
            .captures
            .as_ref()
            .is_some_and(|all| all.need_one_thread())
        {
            Some("--perfetto, --vcd, --pcap and --address need one thread")
        } else {
            None
        }
    }

    /// Gives a simulation of the same plan the probes of this one, but for its captures.
    pub(super) fn renew_probes(&self, again: &mut Simulation) {
        if let Some(interval) = self.sampled_each {
            again.sample(interval);
        }
        if self.waits.is_some() {
            again.watch_waits();
        }
    }

    /// Checks the coherence of every line in caches of coherent hosts and the accelerators below them, and counts the lines.
    pub fn check_coherence(&self) -> Result<usize, Incoherence> {
        coherence::check((&self.plan, &self.models, self.world.now()))
    }

    /// Checks coherence after every `every` events from now on. The result holds the first violation. Returns false if no host is
    /// coherent, because there is nothing to check.
    pub fn watch_coherence(&mut self, every: NonZeroU64) -> bool {
        self.unite();
        let mut hosts = self.models.iter().filter_map(Model::host);
        let is_coherent = hosts.any(|host| host.cores().next().is_some());
        self.watch = is_coherent.then(|| Box::new(Watch::new(every)));
        is_coherent
    }
}
