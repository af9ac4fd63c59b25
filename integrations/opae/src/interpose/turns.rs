//! Turns: when simulated time passes for threads that wait.
//!
//! The threads of a program share one clock, and what they compute takes none of it. So it goes on only when none of them has
//! anything to do, and then to where the first of those that wait wants it: they wait at the same time, as on a machine. Whether a
//! thread has something to do the system knows, as it runs or would run if a processor were free. One that computes for long without
//! any call is not waited for: it may itself wait for another, by looking at its memory.

#![expect(
    unsafe_code,
    reason = "the system is asked about threads, and slept, through C"
)]

use std::fs::{metadata, read_dir, read_to_string};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use session::{Until, Why};

use super::with_state;
use crate::lock::{futex, futex_for};
use crate::state::{State, is_wanted, told};
use crate::valgrind;
use crate::watch::{is_watch, ticks, work, work_of_program};

/// A thread that waits.
#[derive(Debug)]
pub struct Waiter {
    thread: i32,
    until: Until,
    limit: u64,
    /// Whether nothing but time ends it.
    sleeps: bool,
    /// When it was first seen that its time had come.
    due: Option<i64>,
}

/// How a wait is over.
pub enum Over {
    /// A rest has brought what is waited for.
    Found,
    /// Time has passed.
    Passed(Why),
}

/// Processor time of others without a call that is waited for at most, and real time with calls, in nanoseconds.
const PATIENCE: i64 = 20_000_000;
const LONGEST: i64 = 20_000_000_000;
/// How long a thread has to go on whose time has come.
const STUCK: i64 = 20_000_000;
/// Where each instruction takes a hundred, it is all as much longer.
const VALGRIND: i64 = 50;
/// A rest of who sleeps, if it is the next to go on and if not.
const REST: i64 = 50_000;
const LONG_REST: i64 = 2_000_000;
/// Processor time that is nobody's work, but that of looking.
const NOISE: i64 = 200_000;

/// What a thread does between two looks at whether time may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// It waits for what may end the wait.
    Waits,
    /// The same, and before the first look, too: only then others get what they need.
    WaitsFirst,
    /// Nothing: time alone ends the wait.
    Sleeps,
}

/// How often time has passed for who waits, or one of them has gone on: others look again.
static CHANGES: AtomicU32 = AtomicU32::new(0);

/// The first limit of any who waits.
static FIRST: AtomicU64 = AtomicU64::new(u64::MAX);

fn tell_change() {
    CHANGES.fetch_add(1, Ordering::Relaxed);
    futex(&CHANGES, libc::FUTEX_WAKE, u32::MAX >> 1);
}

/// Waits until `limit` at most. `rest` takes a moment of real time, and says whether that has brought what is waited for.
pub fn wait_in_turn(
    (until, limit): (Until, u64),
    kind: Rest,
    mut rest: impl FnMut() -> bool,
) -> Over {
    if is_alone() {
        if kind == Rest::WaitsFirst && rest() {
            return Over::Found;
        }
        let why = with_state(|state| state.wait(until, limit));
        return Over::Passed(why.unwrap_or(Why::Quiet));
    }
    // SAFETY: it takes nothing.
    let thread = unsafe { libc::gettid() };
    let waiter = Waiter {
        thread,
        until,
        limit,
        sleeps: kind == Rest::Sleeps,
        due: None,
    };
    with_state(|state| {
        state.waiters.push(waiter);
        state.tell_first();
    });
    let mut patience = Patience::new();
    let mut is_found = kind == Rest::WaitsFirst && rest();
    // Whoever is the next to go on may be held up: another lets time pass for it.
    let mut is_deputy = kind != Rest::Sleeps;
    // What another has done last, and what it needs of this thread, is found by a rest that begins after it was seen to be idle.
    let mut is_sure = kind == Rest::Sleeps;
    let over = loop {
        if is_found {
            break Over::Found;
        }
        let changes = CHANGES.load(Ordering::Relaxed);
        let may = May { is_deputy, is_sure };
        let turn = with_state(|state| state.turn((until, limit), may, &mut patience));
        is_sure = kind == Rest::Sleeps || matches!(turn, Some(Turn::Idle));
        match turn {
            // A signal has come in while its thread was here: nothing can be waited for.
            None => break Over::Passed(Why::Quiet),
            Some(Turn::Over(why)) => break Over::Passed(why),
            Some(Turn::Passed) => {
                tell_change();
                is_found = rest();
            }
            Some(_) if kind != Rest::Sleeps => is_found = rest(),
            Some(Turn::Next | Turn::Idle) => _ = nap(changes, REST),
            Some(Turn::Other) => is_deputy = nap(changes, LONG_REST),
        }
    };
    with_state(|state| {
        let own = |waiter: &Waiter| waiter.thread == thread;
        // The last one, if a handler waits while its thread does.
        if let Some(place) = state.waiters.iter().rposition(own) {
            state.waiters.remove(place);
        }
        state.tell_first();
    });
    tell_change();
    over
}

/// Lets those go on first whose time has come. Whoever lets time pass otherwise than by a wait calls this, without the lock.
pub fn give_way() {
    while told() >= FIRST.load(Ordering::Relaxed) {
        let changes = CHANGES.load(Ordering::Relaxed);
        // SAFETY: it takes nothing.
        let own = unsafe { libc::gettid() };
        let goes_on = with_state(|state| state.is_any_due(own)).unwrap_or(false);
        if !goes_on {
            return;
        }
        nap(changes, REST);
    }
}

/// Rests for so many nanoseconds, or until there are more changes than so many. Whether there were none.
fn nap(changes: u32, span: i64) -> bool {
    futex_for(&CHANGES, changes, span * scale());
    CHANGES.load(Ordering::Relaxed) == changes
}

/// Lets simulated time pass to `limit`.
pub fn sleep_in_turn(limit: u64) {
    wait_in_turn((Until::Limit, limit), Rest::Sleeps, || false);
}

/// What a thread may do in its turn.
#[derive(Clone, Copy)]
struct May {
    /// Let time pass for another that is the next to go on.
    is_deputy: bool,
    /// Let time pass at once.
    is_sure: bool,
}

/// Whose turn it is.
enum Turn {
    /// This wait is over.
    Over(Why),
    /// It is not, but time has passed.
    Passed,
    /// Nobody has anything to do: time may pass if that is so once more.
    Idle,
    /// This thread's, as soon as others have nothing to do.
    Next,
    /// Another's.
    Other,
}

impl Waiter {
    /// Whether it will go on by itself now that its time has come. If not, it needs something that another has.
    fn goes_on(&mut self) -> bool {
        let now = real_time();
        now - *self.due.get_or_insert(now) < STUCK * scale() || runs(self.thread)
    }
}

impl State {
    /// When the time of the first thread comes that waits.
    pub fn horizon(&self) -> u64 {
        let limits = self.waiters.iter().map(|waiter| waiter.limit);
        let to_come = limits.filter(|limit| *limit > told());
        to_come.min().unwrap_or(u64::MAX)
    }

    fn tell_first(&self) {
        let first = self.waiters.iter().map(|waiter| waiter.limit).min();
        FIRST.store(first.unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Whether the time of another thread than `own` has come, and it will go on.
    fn is_any_due(&mut self, own: i32) -> bool {
        let now = told();
        let others = self.waiters.iter_mut();
        let mut due = others.filter(|waiter| waiter.thread != own && waiter.limit <= now);
        due.any(Waiter::goes_on)
    }

    /// Lets time pass if it is time for that, for a thread that waits `until` something, to `limit` at most.
    fn turn(&mut self, (until, limit): (Until, u64), may: May, patience: &mut Patience) -> Turn {
        let now = told();
        if now >= limit {
            return Turn::Over(Why::Limit);
        }
        let horizon = self.horizon();
        let is_next = horizon == limit;
        let may_act = (is_next || may.is_deputy) && !self.is_any_due(0);
        if !may_act || patience.has_work_to_wait_for(&self.waiters) {
            return if is_next { Turn::Next } else { Turn::Other };
        }
        if !may.is_sure {
            return Turn::Idle;
        }
        let hears = |waiter: &Waiter| waiter.until == Until::Interrupt;
        let until_any = if self.waiters.iter().any(hears) {
            Until::Interrupt
        } else {
            Until::Limit
        };
        let why = self.wait(until_any, horizon);
        *patience = Patience::new();
        match why {
            Why::Limit if is_next => Turn::Over(why),
            Why::Happened | Why::Quiet if until == Until::Interrupt => Turn::Over(why),
            _ => Turn::Passed,
        }
    }
}

/// Whether the program has no threads besides this one and that of the library, which there is with virtual time. A directory is
/// linked to by itself, by the one above it and by those in it.
fn is_alone() -> bool {
    metadata("/proc/self/task").is_ok_and(|threads| threads.nlink() <= 2 + 2)
}

/// How long others have been waited for.
struct Patience {
    began: i64,
    ticks: u64,
    /// What they had done at the last tick, and at the last look.
    work: i64,
    last_work: i64,
}

impl Patience {
    fn new() -> Self {
        let work = work_of_program();
        Patience {
            began: real_time(),
            ticks: ticks(),
            work,
            last_work: work,
        }
    }

    /// Whether another thread is at work, and has not been for long.
    fn has_work_to_wait_for(&mut self, waiters: &[Waiter]) -> bool {
        let work = work_of_program();
        let worked = work - std::mem::replace(&mut self.last_work, work);
        let ticks = ticks();
        if std::mem::replace(&mut self.ticks, ticks) != ticks {
            self.work = work;
        }
        let has_lasted = real_time() - self.began >= LONGEST;
        if work - self.work >= PATIENCE * scale() || has_lasted {
            return false;
        }
        // In this order: who runs at the first look may want the lock at the second.
        if others_run(waiters) || is_wanted() {
            return true;
        }
        // Valgrind has all threads but one wait: who has something to do is seen by what it has done.
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

/// Whether another thread of the program runs, or would if a processor were free.
fn others_run(waiters: &[Waiter]) -> bool {
    // SAFETY: it takes nothing.
    let own = unsafe { libc::gettid() };
    let sleeps = |thread| {
        let mut waiters = waiters.iter();
        waiters.any(|waiter| waiter.thread == thread && waiter.sleeps)
    };
    let Ok(threads) = read_dir("/proc/self/task") else {
        return false;
    };
    let numbers = threads.filter_map(|thread| thread.ok()?.file_name().to_str()?.parse().ok());
    let is_other = |thread: &i32| *thread != own && !is_watch(*thread) && !sleeps(*thread);
    numbers.filter(is_other).any(runs)
}

fn runs(thread: i32) -> bool {
    let status = read_to_string(format!("/proc/self/task/{thread}/stat"));
    // It is behind the name, in which any letters may be.
    let after_name = status
        .as_deref()
        .ok()
        .and_then(|status| status.rsplit(") ").next());
    after_name.is_some_and(|rest| rest.starts_with(['R', 'D']))
}
