//! The incidents of a run: each happens at its time, before the events of this time.

use kernel::{Span, Time};

use crate::build;
use crate::incident::{Presence, Scene, Started};
use crate::model::Model;
use crate::plan::ports;
use crate::run::engine::Engine;
use crate::setup::Plan;

/// The progress of the incidents of a run: which of them have happened.
#[derive(Debug, Default)]
pub(crate) struct Incidents {
    /// The time at which all links were up, from which the times of incidents count; none before.
    up: Option<Span>,
    count: usize,
    /// The time of the last incident, and the numbers of events and packets until then.
    pub(in crate::run) last: Time,
    pub(in crate::run) counts: (u64, u64),
    programs: Vec<Started>,
}

impl Incidents {
    pub(in crate::run) fn programs(&self) -> &[Started] {
        &self.programs
    }

    /// Whether a program that an incident has started has not ended.
    pub(in crate::run) fn has_programs(&self, models: &[Model]) -> bool {
        let mut programs = self.programs.iter();
        programs.any(|one| {
            let host = models[one.host].host();
            host.is_some_and(|host| !host.cpu().has_ended(one.thread))
        })
    }

    /// The time of the next incident, or [`Time::NEVER`].
    pub(in crate::run) fn next(&self, plan: &Plan) -> Time {
        let next = plan.incidents.get(self.count);
        let (Some(one), Some(up)) = (next, self.up) else {
            return Time::NEVER;
        };
        Time::ZERO + up + one.at
    }

    /// Counts the times of incidents from `up` on, and notifies cut-through ports of the incidents that remove the signal from their links.
    pub(in crate::run) fn expect(&mut self, up: Span, plan: &Plan, models: &mut [Model]) {
        self.up = Some(up);
        let all = plan.incidents.iter();
        for one in all.filter(|one| one.kind.presence() == Some(Presence::Absent)) {
            let Some(link) = plan.nodes[one.node].upstream else {
                continue;
            };
            let link = &plan.links[link];
            let [(upper, port), (lower, _)] = ports::ends(plan, link);
            let [_, upwards] = build::delays(plan, link);
            let cut = Time::ZERO + up + one.at;
            models[lower.0 as usize].expect_cut(0, cut);
            models[upper.0 as usize].expect_cut(port as u16, cut + upwards);
        }
    }

    /// Moves time to the next incident, before which no event is due, and lets it happen.
    pub(in crate::run) fn bring_about(&mut self, plan: &Plan, engine: &mut Engine) {
        let (time, number) = (self.next(plan), self.count);
        self.count += 1;
        let (models, world) = engine.whole();
        world.pass_to(time);
        self.last = time;
        self.counts = (world.events(), world.store.made());
        let one = &plan.incidents[number];
        let mut scene = Scene {
            plan: &plan.fabric,
            models,
            world,
            number,
            programs: &mut self.programs,
        };
        one.kind.happen(one.node, &mut scene);
    }
}
