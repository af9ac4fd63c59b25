//! Readings of the measured interval, samples of the series, and looks at what flows wait for: what is taken while time passes.

use kernel::{Span, Time};

use super::Simulation;
use crate::observe::reading::Reading;
use crate::observe::series::{Sample, Sampled, Series};
use crate::observe::stores::Stores;

impl Simulation {
    /// Takes the readings and samples that are due by `time`, and looks at what flows wait for, before the events of these times.
    pub(super) fn read_until(&mut self, time: Time) {
        self.hear_waiting();
        while self.next_reading() <= time && time < Time::NEVER {
            let due = self.next_reading();
            if self.interval.next() == due {
                let reading = Reading::take(&self.plan, &self.models, due);
                self.interval.record(reading);
            }
            let mut series = self.series.iter();
            let is_sampled = series.any(|series| series.next() == due);
            let sample = is_sampled.then(|| Sample::take(self.sampled(), due));
            if let (Some(series), Some(sample)) = (&mut self.series, sample) {
                series.record(sample);
            }
            if let Some(waits) = &mut self.waits
                && waits.next() == due
            {
                let mut look = |stores: &Stores<'_>| waits.look(&self.models, stores, &self.meter);
                match &self.regions {
                    None => look(&Stores::one(&self.world.store)),
                    Some(regions) => regions.with_stores(look),
                }
            }
        }
        self.halt();
    }

    /// Lets time halt before the next reading, sample, look or incident.
    pub(super) fn halt(&mut self) {
        self.world.halt_before(self.next_halt());
    }

    /// The time of the next reading, sample, look or incident, or [`Time::NEVER`].
    pub(in crate::run) fn next_halt(&self) -> Time {
        self.next_reading().min(self.next_incident())
    }

    /// The time from which the flows that begin at once count.
    pub(in crate::run) fn flows_since(&self) -> Time {
        Time::ZERO + self.happened.up()
    }

    /// The time of the next reading, sample or look, or [`Time::NEVER`].
    fn next_reading(&self) -> Time {
        let sample = self.series.as_ref().map_or(Time::NEVER, Series::next);
        let look = self
            .waits
            .as_ref()
            .map_or(Time::NEVER, |waits| waits.next());
        self.interval.next().min(sample).min(look)
    }

    pub(super) fn sampled(&self) -> Sampled<'_> {
        Sampled {
            plan: &self.plan.fabric,
            workloads: &self.plan.workloads,
            models: &self.models,
            meter: &self.meter,
        }
    }

    /// Samples rates and queue lengths at the multiples of `interval` from now on. The interval doubles when there are too many samples.
    pub fn sample(&mut self, interval: Span) {
        self.unite();
        let now = Sample::take(self.sampled(), self.now());
        self.series = Some(Series::new(interval, now));
        self.sampled_each = Some(interval);
        self.halt();
    }

    /// Ends the measured interval with the last workload, which may be foreseen.
    #[cold]
    pub(super) fn end_interval(&mut self) {
        self.interval.end(self.meter.progress().max(self.now()));
        self.read_until(self.now());
    }
}
