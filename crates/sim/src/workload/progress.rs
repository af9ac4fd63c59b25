//! The progress of workloads, and how long they may make no progress.

use kernel::{Span, Time};

use super::PlannedWorkload;
use crate::meters::meter::Meter;

/// If no payload has arrived for this time, no more will arrive. `PATIENCE` is for workloads whose reads may time out, `NETWORK_PATIENCE` for
/// networks.
pub(super) const PATIENCE: Span = Span::from_us(100_000);
pub(super) const NETWORK_PATIENCE: Span = Span::from_us(10_000);

/// How long workloads may make no progress before this counts as a standstill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Patience {
    /// Until this time, a workload without arrivals is no failure.
    until: Time,
    /// The longest permitted time from one arrival to the next.
    between: Span,
}

impl Patience {
    /// Allows a time of `span` without arrivals, after `begin` and after each arrival.
    pub(super) fn new(begin: Time, span: Span) -> Self {
        Patience {
            until: begin + span,
            between: span,
        }
    }

    pub(crate) fn of(workloads: &[PlannedWorkload]) -> Option<Self> {
        let all = workloads.iter().map(|one| one.workload.kind().patience());
        all.reduce(|one, other| Patience {
            until: one.until.max(other.until),
            between: one.between.max(other.between),
        })
    }

    /// Returns the time until which the workload may continue without arrivals, if the last arrival was at `last`.
    pub(crate) fn after(self, last: Time) -> Time {
        self.until.max(last + self.between)
    }
}

impl PlannedWorkload {
    /// The amount of work that all parts of the workload have done, and the amount that is left, in the unit of the meters. If the total amount of a
    /// part is not known yet, nothing is counted as left for it.
    pub(crate) fn done_and_left(&self, meter: &Meter) -> (u64, u64) {
        let kind = self.workload.kind();
        let meters = self.own.meters(meter).enumerate();
        meters.fold((0, 0), |(done, left), (number, part)| {
            let more = part.left_of(kind.amount(number));
            (done + part.delivered, left + more)
        })
    }

    /// The share of the amount, or of the duration, that is done at time `now`: 0 to 1; `None` if the share is not known.
    pub(crate) fn share_done(&self, meter: &Meter, now: Time) -> Option<f64> {
        let kind = self.workload.kind();
        if kind.amount(0).is_none()
            && let Some(end) = kind.lasts_until()
        {
            let duration = end.since(kind.start()).as_ns();
            return Some((now.since(kind.start()).as_ns() / duration).min(1.0));
        }
        let (done, left) = self.done_and_left(meter);
        (done + left > 0).then(|| done as f64 / (done + left) as f64)
    }
}
