//! The probes of a run: meters, watchers, captures, waits, series, the log. All observations reach them by one function, [`Probes::take_in`].

mod readings;

use kernel::Observed;
use packet::Observation;

use crate::meters::coherence::Watch;
use crate::meters::meter::Meter;
use crate::observe::incidents::Log;
use crate::observe::interval::Interval;
use crate::observe::series::Series;
use crate::observe::steady::Steady;
use crate::observe::waits::Waits;
use crate::result::Refusals;
use crate::setup::Plan;
use crate::workload::Watchers;
use capture::Captures;

/// The number of observations from the prefetch of an observation's meter to the processing of this observation.
const METERS_AHEAD: usize = 3;

/// The largest number of observations that may wait to be processed.
const MOST_WAITING: usize = 32;

#[derive(Debug)]
pub(crate) struct Probes {
    pub(super) meter: Meter,
    pub(super) watchers: Watchers,
    pub(super) refusals: Refusals,
    pub(super) log: Log,
    pub(super) captures: Option<Box<Captures>>,
    pub(super) watch: Option<Box<Watch>>,
    pub(super) waits: Option<Box<Waits>>,
    pub(super) series: Option<Series>,
    /// Samples of the use of wires, from when the links are up.
    pub(super) usage: Option<Series>,
    /// The end of the run, if it continues until its workloads are measured.
    pub(super) steady: Option<Steady>,
    pub(super) interval: Interval,
    /// The number of link ends that have not come up yet.
    ends_down: usize,
    /// Whether a circuit, or a device model from outside, cannot continue.
    pub(super) has_stopped: bool,
    /// Whether observations that may wait are processed later, as during a run.
    may_wait: bool,
    /// The number of observations of earlier times that wait. They are the first ones in the world's list.
    waiting: usize,
}

impl Probes {
    /// The probes that every run of `plan` has.
    pub(super) fn new(plan: &Plan) -> Self {
        let parts = plan.workloads.iter().map(|one| {
            let is_measured_together = one.workload.kind().is_measured_together();
            (one.own.parts.len(), is_measured_together)
        });
        Probes {
            meter: Meter::new(parts),
            watchers: Watchers::new(&plan.workloads),
            refusals: Refusals::new(),
            log: Log::default(),
            captures: None,
            watch: None,
            waits: None,
            series: None,
            usage: None,
            steady: None,
            interval: Interval::default(),
            ends_down: 2 * (plan.links.len() + plan.cables.len()),
            has_stopped: false,
            may_wait: false,
            waiting: 0,
        }
    }

    /// Whether all link ends have been up.
    pub(super) fn are_links_up(&self) -> bool {
        self.ends_down == 0
    }

    /// Whether the run continues until its workloads are measured, and they have been measured.
    pub(super) fn are_flows_measured(&self) -> bool {
        self.steady.as_ref().is_some_and(Steady::is_over)
    }

    /// Begins (`leaves`) or ends a time in which observations that may wait are processed later. At its end, the waiting observations must be
    /// delivered.
    pub(super) fn leave_observations(&mut self, leaves: bool, prefetches: bool) {
        self.may_wait = leaves;
        self.meter.count_later(leaves && prefetches);
    }

    /// Whether the probes must process the observations of this time, which are the last ones of `all`. An observation that a packet was sent may
    /// wait if it is the only one of its time: it changes only measurements that are not read during a run, and most times have no other observation.
    #[inline(always)]
    pub(super) fn has_news(&mut self, all: &[Observed<Observation>], prefetches: bool) -> bool {
        if all.len() == self.waiting {
            return false;
        }
        let is_left = self.may_wait
            && all.len() == self.waiting + 1
            && self.waiting < MOST_WAITING
            && matches!(all[self.waiting].what, Observation::Sent { .. })
            && self.captures.is_none();
        if is_left && prefetches {
            self.meter.prefetch(&all[self.waiting].what);
        }
        self.waiting += usize::from(is_left);
        !is_left
    }

    pub(super) fn are_observations_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Processes the waiting observations, and then the observations of one time: ordered by component, and within a component in the order in which
    /// they were made. The captures have already noted them.
    pub(super) fn take_in(&mut self, all: &mut Vec<Observed<Observation>>) {
        if let Some(captures) = &mut self.captures {
            captures.write_noted();
            // The other probes do not use details.
            all.retain(|told| !told.what.is_detail());
        }
        let of_this_time = &mut all[self.waiting..];
        if of_this_time.len() > 1 {
            of_this_time.sort_by_key(|told| told.by);
        }
        for (place, told) in all.iter().enumerate() {
            if let Some(later) = all.get(place + METERS_AHEAD) {
                self.meter.prefetch(&later.what);
            }
            if !told.what.is_of_packet() {
                self.take_in_rare(told);
            }
            self.meter.observe(told.at, &told.what);
            self.watchers.observe(told.at, &told.what);
        }
        all.clear();
        self.waiting = 0;
    }

    fn take_in_rare(&mut self, told: &Observed<Observation>) {
        match told.what {
            Observation::Refused { why, .. } => {
                *self.refusals.entry((told.by.0, why)).or_default() += 1;
            }
            // A link that trains again reports once more that it is up.
            Observation::Up { .. } => self.ends_down = self.ends_down.saturating_sub(1),
            Observation::Incident { site, what } => {
                self.log.add(told.by.0, (site, what), told.at);
            }
            Observation::Stopped => self.has_stopped = true,
            _ => {}
        }
    }

    /// The reason why a probe needs a single order of all events, if there is one.
    pub(super) fn need_one_thread(&self) -> Option<&'static str> {
        let captures = self.captures.as_ref();
        if self.watch.is_some() {
            Some("coherence is checked between events of the whole fabric")
        } else if captures.is_some_and(|all| all.need_one_thread()) {
            Some("--perfetto, --vcd, --pcap and --address need one thread")
        } else {
            None
        }
    }
}
