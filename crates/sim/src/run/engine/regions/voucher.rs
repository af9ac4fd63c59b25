//! The information that a run continues. Some regions have it from their own state; the other regions receive it from them.
//!
//! A run ends with its last flow, or when only events in the background are left. No region may handle an event after the end, because counters of
//! components are results. If a region has an open flow, or an event that is not in the background, it is certain that the run continues: the region
//! holds the voucher and runs ahead. The other regions follow up to the time for which it vouches. When there is no holder any more, this time is the
//! end of the window for all regions.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use kernel::Time;

/// One condition under which a run continues, on its own cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Voucher {
    holders: AtomicUsize,
    /// The time up to which events may be handled, in femtoseconds.
    until: AtomicU64,
}

impl Voucher {
    /// Begins a window with this number of holders, whose first events are at `begin`.
    pub(super) fn begin(&self, holders: usize, begin: Time) {
        self.holders.store(holders, Ordering::Relaxed);
        self.until.store(begin.as_fs(), Ordering::Relaxed);
    }

    /// Lets all regions handle the events up to `time`, for which a holder vouches.
    pub(super) fn vouch(&self, time: Time) {
        if self.until.load(Ordering::Relaxed) < time.as_fs() {
            self.until.fetch_max(time.as_fs(), Ordering::Release);
        }
    }

    /// The time up to which events may be handled. If the voucher [is over](Self::is_over) before this call, the time does not change any more.
    pub(super) fn until(&self) -> Time {
        Time::from_fs(self.until.load(Ordering::Acquire))
    }

    /// Whether the voucher has no holder any more: neither a region nor a frame between regions.
    pub(super) fn is_over(&self) -> bool {
        self.holders.load(Ordering::Acquire) == 0
    }

    /// Adds `count` holders. The voucher must already have a holder.
    pub(super) fn add(&self, count: usize) {
        self.holders.fetch_add(count, Ordering::AcqRel);
    }

    /// Adds a holder. Returns false if the voucher is over.
    pub(super) fn hold(&self) -> bool {
        let more = |holders| (holders > 0).then_some(holders + 1);
        let update = self
            .holders
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        update.is_ok()
    }

    /// Removes `count` holders.
    pub(super) fn let_go(&self, count: usize) {
        self.holders.fetch_sub(count, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_holds_a_voucher_again_that_is_over() {
        let voucher = Voucher::default();
        voucher.begin(1, Time::from_fs(5));
        assert!(voucher.hold() && !voucher.is_over());
        voucher.let_go(1);
        voucher.vouch(Time::from_fs(9));
        voucher.vouch(Time::from_fs(7));
        voucher.let_go(1);
        assert!(voucher.is_over() && !voucher.hold());
        assert_eq!(voucher.until(), Time::from_fs(9));
    }
}
