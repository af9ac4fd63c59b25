//! The observations of a time go to the probes of a run: meters, watchers and what the run itself needs to know.

use packet::Observation;

use super::Simulation;

/// Observations between the one whose meter begins to load and the one that is heard.
const METERS_AHEAD: usize = 3;

/// The most observations that wait to be heard.
const MOST_UNHEARD: usize = 32;

impl Simulation {
    /// Hands observations to the probes, ordered by component, and within a component as they were made.
    pub(crate) fn listen(&mut self) {
        if self.regions.is_some() {
            self.listen_to_regions();
        } else {
            if let Some(captures) = &mut self.captures {
                captures.note(&self.world);
            }
            self.hear();
        }
        self.end_interval_of_workloads();
    }

    /// Begins or ends a time in which observations that may wait are left for a while. At its end they are heard.
    pub(crate) fn leave_observations(&mut self, leaves: bool) {
        self.may_wait = leaves;
        if !leaves {
            self.hear_waiting();
        }
        self.meter.count_later(leaves && self.prefetches());
    }

    /// Leaves the only observation of this time unheard for a while, if it may wait: that a packet was sent changes what nobody asks for
    /// within a run, and most times have no other observation. Returns whether it does.
    #[inline(always)]
    pub(super) fn leave_unheard(&mut self) -> bool {
        let all = &self.world.observations;
        let is_left = self.may_wait
            && all.len() == self.unheard + 1
            && self.unheard < MOST_UNHEARD
            && matches!(all[self.unheard].what, Observation::Sent { .. })
            && self.captures.is_none()
            && self.regions.is_none();
        if is_left && self.prefetches() {
            self.meter.prefetch(&all[self.unheard].what);
        }
        self.unheard += usize::from(is_left);
        is_left
    }

    /// Hands on the observations of this time, behind those that wait.
    #[inline(never)]
    pub(super) fn hear_time(&mut self) {
        let is_simple = match &self.world.observations[self.unheard..] {
            [only] => only.what.is_of_packet(),
            _ => false,
        };
        if !is_simple || self.captures.is_some() || self.regions.is_some() {
            return self.listen();
        }
        self.hear_packets();
        self.end_interval_of_workloads();
    }

    /// Hands on the observations that wait.
    #[inline(never)]
    pub(super) fn hear_waiting(&mut self) {
        if self.unheard > 0 {
            self.hear_packets();
        }
    }

    /// Hands on observations that [are of packets](Observation::is_of_packet), in their order.
    #[inline(always)]
    fn hear_packets(&mut self) {
        for told in &self.world.observations {
            self.meter.observe(told.at, &told.what);
            self.watchers.observe(told.at, &told.what);
        }
        self.world.observations.clear();
        self.unheard = 0;
    }

    /// Ends the measured interval, if it ends with the workloads and they are complete.
    #[inline]
    pub(super) fn end_interval_of_workloads(&mut self) {
        if self.interval.awaits_workloads() && self.meter.are_workloads_complete() {
            self.end_interval();
        }
    }

    /// Hands the observations of one time, which the captures have noted, to the other probes.
    pub(in crate::run) fn hear(&mut self) {
        if let Some(captures) = &mut self.captures {
            captures.write_noted();
            // The other probes have no use for details.
            self.world
                .observations
                .retain(|told| !told.what.is_detail());
        }
        let of_this_time = &mut self.world.observations[self.unheard..];
        of_this_time.sort_by_key(|told| told.by);
        for (place, told) in self.world.observations.iter().enumerate() {
            if let Some(later) = self.world.observations.get(place + METERS_AHEAD) {
                self.meter.prefetch(&later.what);
            }
            match told.what {
                Observation::Refused { why, .. } => {
                    *self.refusals.entry((told.by.0, why)).or_default() += 1;
                }
                // A link that trains again comes up once more.
                Observation::Up { .. } => self.ends_down = self.ends_down.saturating_sub(1),
                Observation::Incident { site, what } => {
                    self.log.add(told.by.0, (site, what), told.at);
                }
                Observation::Stopped => self.has_stopped = true,
                _ => {}
            }
            self.meter.observe(told.at, &told.what);
            self.watchers.observe(told.at, &told.what);
        }
        self.world.observations.clear();
        self.unheard = 0;
    }
}
