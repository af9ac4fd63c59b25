//! Threads that wait for simulated time, and the choice of the next action of a waiting thread.

use session::Until;

/// A waiting thread.
#[derive(Debug)]
pub struct Waiter {
    /// The thread ID of the thread.
    pub thread: i32,
    /// The event that the thread waits for.
    pub until: Until,
    /// The time limit of the wait, in femtoseconds.
    pub limit: u64,
    /// Whether only time ends the wait.
    pub sleeps: bool,
    /// The real time at which the limit was first found to have passed.
    pub due: Option<i64>,
}

/// The permissions of a waiting thread.
#[derive(Clone, Copy)]
pub struct May {
    /// The thread may let time pass although the limit of another thread is earlier.
    pub is_deputy: bool,
    /// The thread may let time pass at once, without a second check.
    pub is_sure: bool,
}

/// The next action of a waiting thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The limit of the thread has passed.
    Over,
    /// The thread lets time pass until the event `until`, and at most to `limit`. `is_next` is true if `limit` is the thread's own limit.
    Pass {
        until: Until,
        limit: u64,
        is_next: bool,
    },
    /// No thread has work. If this is still true at the next check, the thread lets time pass.
    Idle,
    /// The limit of the thread is the earliest, but the thread must wait until other threads have no work.
    Next,
    /// The limit of another thread is the earliest.
    Other,
}

/// The waiting threads of a program.
#[derive(Debug)]
pub struct Waiters(pub Vec<Waiter>);

impl Waiters {
    /// No threads.
    pub const fn new() -> Self {
        Waiters(Vec::new())
    }

    /// Removes the last entry of a thread. A thread may have several entries, because a signal handler may wait while the thread itself waits.
    pub fn remove(&mut self, thread: i32) {
        let own = |waiter: &Waiter| waiter.thread == thread;
        if let Some(place) = self.0.iter().rposition(own) {
            self.0.remove(place);
        }
    }

    /// The earliest limit of a waiting thread after `time`.
    pub fn limit_after(&self, time: u64) -> u64 {
        let limits = self.0.iter().map(|waiter| waiter.limit);
        limits
            .filter(|limit| *limit > time)
            .min()
            .unwrap_or(u64::MAX)
    }

    /// Whether there is a thread that waits only for time.
    pub fn sleeps(&self, thread: i32) -> bool {
        let mut waiters = self.0.iter();
        waiters.any(|waiter| waiter.thread == thread && waiter.sleeps)
    }

    /// Whether a thread other than `own` has reached its limit, and fulfils `goes_on`.
    pub fn is_any_due(
        &mut self,
        (own, now): (i32, u64),
        goes_on: impl Fn(&mut Waiter) -> bool,
    ) -> bool {
        let others = self.0.iter_mut();
        let mut due = others.filter(|waiter| waiter.thread != own && waiter.limit <= now);
        due.any(goes_on)
    }

    /// The next action of a thread that waits until `limit`. `goes_on` states whether a thread that has reached its limit will still continue.
    /// `work` states whether a thread that does not wait has work.
    pub fn choose(
        &mut self,
        (now, limit): (u64, u64),
        may: May,
        goes_on: impl Fn(&mut Waiter) -> bool,
        work: impl FnOnce(&Self) -> bool,
    ) -> Choice {
        if now >= limit {
            return Choice::Over;
        }
        let first = self.limit_after(now);
        let is_next = first == limit;
        let may_act = (is_next || may.is_deputy) && !self.is_any_due((0, now), goes_on);
        if !may_act || work(self) {
            return if is_next { Choice::Next } else { Choice::Other };
        }
        if !may.is_sure {
            return Choice::Idle;
        }
        let waits_for_interrupt = |waiter: &Waiter| waiter.until == Until::Interrupt;
        let until = if self.0.iter().any(waits_for_interrupt) {
            Until::Interrupt
        } else {
            Until::Limit
        };
        Choice::Pass {
            until,
            limit: first,
            is_next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SURE: May = May {
        is_deputy: false,
        is_sure: true,
    };

    fn waiters(limits: &[u64], until: Until) -> Waiters {
        let numbered = limits.iter().zip(1..);
        let waiter = |(limit, thread): (&u64, i32)| Waiter {
            thread,
            until,
            limit: *limit,
            sleeps: false,
            due: None,
        };
        Waiters(numbered.map(waiter).collect())
    }

    fn choice(waiters: &mut Waiters, limit: u64, may: May) -> Choice {
        waiters.choose((10, limit), may, |_| true, |_| false)
    }

    #[test]
    fn time_passes_to_the_first_limit_by_the_thread_whose_limit_it_is() {
        let mut two = waiters(&[20, 30], Until::Limit);
        let pass = |is_next| Choice::Pass {
            until: Until::Limit,
            limit: 20,
            is_next,
        };
        assert_eq!(choice(&mut two, 20, SURE), pass(true));
        assert_eq!(choice(&mut two, 30, SURE), Choice::Other);
        let deputy = May {
            is_deputy: true,
            ..SURE
        };
        assert_eq!(choice(&mut two, 30, deputy), pass(false));
        assert_eq!(choice(&mut two, 10, SURE), Choice::Over);
    }

    #[test]
    fn time_passes_only_after_a_second_check_and_without_work_of_other_threads() {
        let mut one = waiters(&[20], Until::Limit);
        let unsure = May {
            is_sure: false,
            ..SURE
        };
        assert_eq!(choice(&mut one, 20, unsure), Choice::Idle);
        let busy = one.choose((10, 20), SURE, |_| true, |_| true);
        assert_eq!(busy, Choice::Next);
    }

    #[test]
    fn a_thread_whose_limit_has_come_continues_before_time_passes_unless_it_is_stuck() {
        let mut two = waiters(&[5, 20], Until::Limit);
        assert_eq!(choice(&mut two, 20, SURE), Choice::Next);
        let stuck = two.choose((10, 20), SURE, |_| false, |_| false);
        assert!(matches!(stuck, Choice::Pass { .. }));
    }

    #[test]
    fn time_passes_to_the_next_interrupt_if_any_thread_waits_for_one() {
        let mut two = waiters(&[20, 30], Until::Limit);
        two.0[1].until = Until::Interrupt;
        let found = choice(&mut two, 20, SURE);
        assert!(matches!(
            found,
            Choice::Pass {
                until: Until::Interrupt,
                ..
            }
        ));
    }
}
