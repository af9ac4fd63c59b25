//! The incidents of a run: each happens at its time, before the events of this time.

use kernel::{Span, Time};

use crate::build;
use crate::incident::{Presence, Scene, Started};
use crate::model::Model;
use crate::result::{IncidentResult, noticeable};
use crate::run::simulation::Simulation;

/// What has happened of the incidents of a run.
#[derive(Debug, Default)]
pub(super) struct Happened {
    /// The time at which all links were up, from which the times of incidents count; none before.
    up: Option<Span>,
    /// The number of incidents that have happened.
    count: usize,
    /// The time of the last incident, and the numbers of events and packets until then.
    last: Time,
    counts: (u64, u64),
    /// The programs that incidents have started.
    programs: Vec<Started>,
}

impl Happened {
    /// The time at which all links were up, or zero before.
    pub(super) fn up(&self) -> Span {
        self.up.unwrap_or(Span::ZERO)
    }

    /// The time of the last incident, or zero before the first.
    pub(super) fn last(&self) -> Time {
        self.last
    }

    /// The numbers of events and packets until the last incident.
    pub(super) fn counts(&self) -> (u64, u64) {
        self.counts
    }

    /// The programs that incidents have started.
    pub(super) fn programs(&self) -> &[Started] {
        &self.programs
    }
}

impl Simulation {
    /// The incidents so far that software may notice: all but those that links repair by themselves.
    pub fn noticeable_incidents(&self) -> Vec<IncidentResult> {
        noticeable(&self.plan.fabric, &self.log)
    }

    /// Lets the times of incidents count from `up` on.
    pub(super) fn expect_incidents(&mut self, up: Span) {
        self.happened.up = Some(up);
        self.expect_cuts(Time::ZERO + up);
    }

    /// Tells cut-through ports of the incidents that take the signal from their links.
    fn expect_cuts(&mut self, up: Time) {
        let all = self.plan.incidents.iter();
        for one in all.filter(|one| one.kind.presence() == Some(Presence::Absent)) {
            let Some(link) = self.plan.nodes[one.node].upstream else {
                continue;
            };
            let link = &self.plan.links[link];
            let ((upper, port), (lower, _)) = build::ends(&self.plan, link);
            let [_, upwards] = build::delays(&self.plan, link);
            let cut = up + one.at;
            self.models[lower.0 as usize].expect_cut(0, cut);
            self.models[upper.0 as usize].expect_cut(port as u16, cut + upwards);
        }
    }

    /// The time of the next incident, or [`Time::NEVER`].
    #[cold]
    #[inline(never)]
    pub(super) fn next_incident(&self) -> Time {
        let next = self.plan.incidents.get(self.happened.count);
        let (Some(one), Some(up)) = (next, self.happened.up) else {
            return Time::NEVER;
        };
        Time::ZERO + up + one.at
    }

    /// Whether an incident has not happened yet, or a program that one has started has not ended. A run asks only while no workload is
    /// open.
    #[cold]
    #[inline(never)]
    pub(super) fn has_incidents(&self) -> bool {
        self.has_programs() || self.next_incident() < Time::NEVER
    }

    /// Whether a program that an incident has started has not ended.
    pub(super) fn has_programs(&self) -> bool {
        let mut programs = self.happened.programs.iter();
        programs.any(|one| {
            let host = self.models[one.host].host();
            host.is_some_and(|host| !host.cpu().has_ended(one.thread))
        })
    }

    /// Whether a host resets devices whose drivers wait for the end of that.
    pub(super) fn is_resetting(&self) -> bool {
        let mut hosts = self.models.iter().filter_map(Model::host);
        hosts.any(|host| host.cpu().is_resetting())
    }

    /// Moves time to the next incident, before which no event is due, and lets it happen.
    #[cold]
    pub(super) fn bring_about(&mut self) {
        let time = self.next_incident();
        self.read_until(time);
        self.world.pass_to(time);
        let number = self.happened.count;
        self.happened.count += 1;
        self.happened.last = time;
        self.happened.counts = (self.world.events(), self.world.store.made());
        let one = &self.plan.incidents[number];
        let mut scene = Scene {
            plan: &self.plan.fabric,
            models: &mut self.models,
            world: &mut self.world,
            number,
            programs: &mut self.happened.programs,
        };
        one.kind.happen(one.node, &mut scene);
        self.halt();
        self.listen();
    }
}
