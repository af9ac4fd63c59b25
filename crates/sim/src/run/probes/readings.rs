//! The readings and samples that are taken while time passes: readings of the measured interval, samples of the series, and samples of the causes for
//! which flows wait.

use kernel::Time;

use super::Probes;
use crate::model::Model;
use crate::observe::reading::Reading;
use crate::observe::series::{Sample, Sampled, Series};
use crate::observe::steady::Steady;
use crate::observe::stores::Stores;
use crate::setup::Plan;

impl Probes {
    /// The time of the next reading or sample, or [`Time::NEVER`].
    pub(in crate::run) fn next_reading(&self) -> Time {
        let sample = self.series.as_ref().map_or(Time::NEVER, Series::next);
        let usage = self.usage.as_ref().map_or(Time::NEVER, Series::next);
        let look = self.waits.as_ref();
        let look = look.map_or(Time::NEVER, |waits| waits.next());
        self.interval.next().min(sample).min(usage).min(look)
    }

    /// Takes the readings and samples that are due at `due`, before the events of this time.
    pub(in crate::run) fn read(
        &mut self,
        due: Time,
        plan: &Plan,
        (models, stores): (&[Model], &Stores<'_>),
    ) {
        if self.interval.next() == due {
            self.interval.record(Reading::take(plan, models, due));
        }
        let is_due = |series: &Option<Series>| series.as_ref().is_some_and(|all| all.next() == due);
        let is_of_usage = is_due(&self.usage);
        if is_of_usage || is_due(&self.series) {
            let sample = Sample::take(self.sampled(plan, models), due);
            if let Some(series) = self.series.as_mut().filter(|all| all.next() == due) {
                series.record(sample.clone());
            }
            if let Some(usage) = self.usage.as_mut().filter(|_| is_of_usage) {
                usage.record(sample);
                if let Some(steady) = &mut self.steady {
                    let others = self.meter.are_others_complete();
                    steady.look(usage, &plan.workloads, others);
                }
            }
        }
        if let Some(waits) = &mut self.waits
            && waits.next() == due
        {
            waits.sample(models, stores, &self.meter);
        }
    }

    /// Begins to sample the use of wires at the time `up`, when the links are up.
    pub(in crate::run) fn sample_usage(&mut self, plan: &Plan, models: &[Model], up: Time) {
        if !plan.workloads.is_empty() {
            let first = Sample::take(self.sampled(plan, models), up);
            self.usage = Some(Series::of_usage(first, plan.steady.is_some()));
            self.steady = plan.steady.map(|limit| Steady::new(up + limit));
        }
    }

    /// The data of a run from which samples are taken.
    pub(in crate::run) fn sampled<'a>(
        &'a self,
        plan: &'a Plan,
        models: &'a [Model],
    ) -> Sampled<'a> {
        Sampled {
            plan: &plan.fabric,
            workloads: &plan.workloads,
            models,
            meter: &self.meter,
        }
    }

    /// Whether the measured interval ends now, with the last workload.
    pub(in crate::run) fn ends_interval(&self) -> bool {
        self.interval.awaits_workloads() && self.meter.are_workloads_complete()
    }
}
