//! Decides when simulated time passes for threads that wait.
//!
//! The threads of a program share one clock, and their computations take no simulated time. Therefore time passes only when no thread has work. It
//! passes to the earliest limit of a waiting thread, so that all threads wait at the same time, as on a real machine. A thread has work if it runs,
//! or would run if a processor were free; the operating system provides this information. The library does not wait for a thread that computes for
//! long without any call, because this thread may be polling memory that another thread writes.

use std::fs::{metadata, read_dir, read_to_string};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

use rustix::time::Timespec;
use session::{Until, WaitEnd};

use crate::state::{State, is_wanted, reported_time, with_state};
use crate::threads::lock::{futex_wait, futex_wake};
use crate::threads::ticks::{is_watch, thread_number, ticks, work, work_of_program};
use crate::time::waiters::{Choice, May, Waiter, Waiters};
use crate::valgrind;

/// The end of a wait.
pub enum WaitOutcome {
    /// The closure `rest` has detected the event for which the thread waits.
    Found,
    /// Simulated time has passed.
    Passed(WaitEnd),
}

/// The longest processor time of other threads without a call, and the longest real time with calls, for which a thread waits, in nanoseconds.
const PATIENCE: i64 = 20_000_000;
const LONGEST: i64 = 20_000_000_000;
/// Real time in which a thread must continue after its limit has passed, in nanoseconds.
const STUCK: i64 = 20_000_000;
/// Factor for all these times under valgrind.
const VALGRIND: i64 = 50;
/// Length of one rest of a waiting thread, in nanoseconds: `REST` if its limit is the earliest, and `LONG_REST` otherwise.
const REST: i64 = 50_000;
const LONG_REST: i64 = 2_000_000;
/// Processor time that counts as noise, not as work, in nanoseconds.
const NOISE: i64 = 200_000;

/// The activity of a waiting thread between two checks that decide whether time may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// The thread waits for its event in real time.
    Waits,
    /// The thread waits for its event in real time, also before the first check, because other threads need a resource that only this wait
    /// releases.
    WaitsFirst,
    /// The thread does nothing, because only time ends the wait.
    Sleeps,
}

/// Number of times that time has passed for waiting threads, or that a waiting thread has continued. A change of this number wakes the other
/// threads.
static CHANGES: AtomicU32 = AtomicU32::new(0);

/// The earliest limit of all waiting threads.
static FIRST: AtomicU64 = AtomicU64::new(u64::MAX);

/// Real time that was spent on the simulation for a waiting thread, in nanoseconds. Other threads may be blocked during this time, so it does
/// not count as time in which they work.
static PASSING: AtomicI64 = AtomicI64::new(0);

fn announce_change() {
    CHANGES.fetch_add(1, Ordering::Relaxed);
    futex_wake(&CHANGES, u32::MAX >> 1);
}

/// Waits until `limit` at most. `rest` takes a short real time, and returns whether the thread's event has happened.
pub fn wait_in_turn(
    (until, limit): (Until, u64),
    kind: Rest,
    mut rest: impl FnMut() -> bool,
) -> WaitOutcome {
    if is_alone() {
        if kind == Rest::WaitsFirst && rest() {
            return WaitOutcome::Found;
        }
        let why = with_state(|state| state.wait(until, limit));
        return WaitOutcome::Passed(why.unwrap_or(WaitEnd::Quiet));
    }
    let thread = thread_number();
    let waiter = Waiter {
        thread,
        until,
        limit,
        sleeps: kind == Rest::Sleeps,
        due: None,
    };
    with_state(|state| {
        state.waiters.0.push(waiter);
        state.publish_first_limit();
    });
    let mut patience = Patience::new();
    let mut is_found = kind == Rest::WaitsFirst && rest();
    // The thread with the earliest limit may be blocked. In this case, another thread lets time pass.
    let mut is_deputy = kind != Rest::Sleeps;
    // Another thread may have caused the event just before it stopped working. So after the check that no thread has work, this thread must rest once
    // more.
    let mut is_sure = kind == Rest::Sleeps;
    let over = loop {
        if is_found {
            break WaitOutcome::Found;
        }
        let changes = CHANGES.load(Ordering::Relaxed);
        let may = May { is_deputy, is_sure };
        let turn = with_state(|state| state.turn((until, limit), may, &mut patience));
        is_sure = kind == Rest::Sleeps || matches!(turn, Some(Turn::Rests(Choice::Idle)));
        match turn {
            // The caller is a signal handler that has interrupted the holder of the lock, so it cannot wait.
            None => break WaitOutcome::Passed(WaitEnd::Quiet),
            Some(Turn::Over(why)) => break WaitOutcome::Passed(why),
            Some(Turn::Passed) => {
                announce_change();
                is_found = rest();
            }
            Some(_) if kind != Rest::Sleeps => is_found = rest(),
            Some(Turn::Rests(Choice::Other)) => is_deputy = nap(changes, LONG_REST),
            Some(Turn::Rests(_)) => _ = nap(changes, REST),
        }
    };
    with_state(|state| {
        state.waiters.remove(thread);
        state.publish_first_limit();
    });
    announce_change();
    over
}

/// Lets threads whose limit has passed continue first. It is called without the lock by functions that let time pass in another way than by a
/// wait.
pub fn give_way() {
    while reported_time() >= FIRST.load(Ordering::Relaxed) {
        let changes = CHANGES.load(Ordering::Relaxed);
        let own = (thread_number(), reported_time());
        let is_any_due = with_state(|state| state.waiters.is_any_due(own, goes_on));
        if !is_any_due.unwrap_or(false) {
            return;
        }
        nap(changes, REST);
    }
}

/// Rests for `span` nanoseconds, or until the number of changes differs from `changes`. Returns whether there was no change.
fn nap(changes: u32, span: i64) -> bool {
    let span = Timespec {
        tv_sec: 0,
        tv_nsec: span * scale(),
    };
    futex_wait(&CHANGES, changes, Some(span));
    CHANGES.load(Ordering::Relaxed) == changes
}

/// Lets simulated time pass to `limit`.
pub fn sleep_in_turn(limit: u64) {
    wait_in_turn((Until::Limit, limit), Rest::Sleeps, || false);
}

enum Turn {
    /// The wait has ended.
    Over(WaitEnd),
    /// Time has passed, but the wait has not ended.
    Passed,
    /// The thread rests.
    Rests(Choice),
}

/// Whether a thread whose limit has passed will continue. Otherwise it needs a resource that another thread holds.
fn goes_on(waiter: &mut Waiter) -> bool {
    let now = real_time();
    now - *waiter.due.get_or_insert(now) < STUCK * scale() || runs(waiter.thread)
}

impl State {
    /// The earliest limit of a waiting thread that has not passed yet.
    pub fn horizon(&self) -> u64 {
        self.waiters.limit_after(reported_time())
    }

    fn publish_first_limit(&self) {
        let limits = self.waiters.0.iter().map(|waiter| waiter.limit);
        FIRST.store(limits.min().unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Lets time pass if this is possible now, for a thread that waits `until` an event or to `limit`.
    fn turn(&mut self, (until, limit): (Until, u64), may: May, patience: &mut Patience) -> Turn {
        let work = |waiters: &Waiters| patience.has_work_to_wait_for(waiters);
        let times = (reported_time(), limit);
        let (until_any, horizon, is_next) = match self.waiters.choose(times, may, goes_on, work) {
            Choice::Over => return Turn::Over(WaitEnd::Limit),
            Choice::Pass {
                until,
                limit,
                is_next,
            } => (until, limit, is_next),
            rest => return Turn::Rests(rest),
        };
        let began = real_time();
        let why = self.wait(until_any, horizon);
        PASSING.fetch_add(real_time() - began, Ordering::Relaxed);
        *patience = Patience::new();
        match why {
            WaitEnd::Limit if is_next => Turn::Over(why),
            WaitEnd::Happened | WaitEnd::Quiet if until == Until::Interrupt => Turn::Over(why),
            _ => Turn::Passed,
        }
    }
}

/// Whether the program has no threads except this thread and the library's thread, which exists with virtual time. A directory has two links,
/// and one more link for each directory in it.
pub fn is_alone() -> bool {
    metadata("/proc/self/task").is_ok_and(|threads| threads.nlink() <= 2 + 2)
}

/// The time for which this thread has waited for other threads.
struct Patience {
    began: i64,
    /// The value of [`PASSING`] at the beginning.
    passing: i64,
    ticks: u64,
    /// The processor time of other threads at the last call, and at the last check.
    work: i64,
    last_work: i64,
}

impl Patience {
    fn new() -> Self {
        let work = work_of_program();
        Patience {
            began: real_time(),
            passing: PASSING.load(Ordering::Relaxed),
            ticks: ticks(),
            work,
            last_work: work,
        }
    }

    /// Whether this thread has already waited the longest permitted real time for other threads that make calls.
    fn has_lasted(&self) -> bool {
        let passed = PASSING.load(Ordering::Relaxed) - self.passing;
        real_time() - self.began - passed >= LONGEST
    }

    /// Whether another thread has work, and this thread has not yet waited the longest permitted time for it.
    fn has_work_to_wait_for(&mut self, waiters: &Waiters) -> bool {
        let work = work_of_program();
        let worked = work - std::mem::replace(&mut self.last_work, work);
        let ticks = ticks();
        if std::mem::replace(&mut self.ticks, ticks) != ticks {
            self.work = work;
        }
        if work - self.work >= PATIENCE * scale() || self.has_lasted() {
            return false;
        }
        // The order is important, because a thread that runs during the first check may wait for the lock during the second check.
        if others_run(waiters) || is_wanted() {
            return true;
        }
        // Under valgrind all threads except one wait, so threads with work are recognised by their processor time.
        let rest = REST * scale();
        valgrind::is_there() && (worked > NOISE || real_time() - self.began < rest)
    }
}

fn scale() -> i64 {
    if valgrind::is_there() { VALGRIND } else { 1 }
}

fn real_time() -> i64 {
    work(libc::CLOCK_MONOTONIC)
}

/// Whether another thread of the program runs, or would run if a processor were free.
fn others_run(waiters: &Waiters) -> bool {
    let own = thread_number();
    let Ok(threads) = read_dir("/proc/self/task") else {
        return false;
    };
    let numbers = threads.filter_map(|thread| thread.ok()?.file_name().to_str()?.parse().ok());
    let is_other = |thread: &i32| *thread != own && !is_watch(*thread) && !waiters.sleeps(*thread);
    numbers.filter(is_other).any(runs)
}

fn runs(thread: i32) -> bool {
    let status = read_to_string(format!("/proc/self/task/{thread}/stat"));
    // In the file, the state comes after the thread's name, which may contain any characters.
    let after_name = status
        .as_deref()
        .ok()
        .and_then(|status| status.rsplit(") ").next());
    after_name.is_some_and(|rest| rest.starts_with(['R', 'D']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_time_in_which_simulated_time_passes_is_no_time_of_other_threads() {
        let mut patience = Patience::new();
        patience.began -= 2 * LONGEST;
        assert!(patience.has_lasted());
        PASSING.fetch_add(3 * LONGEST / 2, Ordering::Relaxed);
        assert!(!patience.has_lasted());
    }
}
