//! How far a workload is, and how long it may stand still.

use kernel::{Span, Time};

use super::PlannedWorkload;
use crate::meters::meter::Meter;

/// Time without payload after which none will arrive: for workloads whose reads may time out, and for networks.
pub(super) const PATIENCE: Span = Span::from_us(100_000);
pub(super) const NETWORK_PATIENCE: Span = Span::from_us(10_000);

/// How long workloads may stand still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Patience {
    /// The time before which it is no failure that nothing arrives.
    until: Time,
    /// The longest time from one arrival to the next.
    between: Span,
}

impl Patience {
    /// Patience of `span` from `begin` and from each arrival after it.
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

    /// The time until which it is no failure that nothing has arrived since `last`.
    pub(crate) fn after(self, last: Time) -> Time {
        self.until.max(last + self.between)
    }
}

impl PlannedWorkload {
    /// The amount of work that all parts of the workload have done, and the amount that is left, in the unit of its meters. The part of the
    /// latter that nobody knows yet counts as none.
    pub(crate) fn done_and_left(&self, meter: &Meter) -> (u64, u64) {
        let kind = self.workload.kind();
        let meters = self.own.meters(meter).enumerate();
        meters.fold((0, 0), |(done, left), (number, part)| {
            let more = part.left_of(kind.amount(number));
            (done + part.delivered, left + more)
        })
    }

    /// The share that is done at `now`, 0 to 1, if that is known: of the amount, or of the duration.
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
