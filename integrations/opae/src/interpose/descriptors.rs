//! Waiting for descriptors: `poll`, `select`, `epoll_wait` and similar functions.
//!
//! If a descriptor is ready, the functions return at once. Otherwise simulated time passes, up to the next interrupt if a descriptor belongs to an
//! event, and at most up to the time limit. A wait without a time limit and without a descriptor of an event is a wait in real time.

use std::ffi::{c_int, c_ulong};
use std::ptr;

use libc::{epoll_event, fd_set, nfds_t, pollfd, sigset_t, size_t, timespec, timeval};
use session::{Until, WaitEnd};

use super::signals::with_open;
use super::threads::{MILLISECOND, MOMENT};
use super::time::{SECOND, from_timespec, to_timespec};
use super::{NANOSECOND, charge_system_call, fail, real, virtually, with_state};
use crate::abi::user_pointer;
use crate::state::{State, reported_time};
use crate::turns::{Rest, WaitOutcome, give_way, wait_in_turn};

/// Length of each wait in real time while the simulation has no scheduled event, in milliseconds.
const SLICE: c_int = 10;

/// The length of a wait in real time.
#[derive(Clone, Copy)]
enum Real {
    /// The time limit that the program gave, because the session has no virtual time.
    Given,
    Now,
    Moment,
    Slice,
    Forever,
}

impl Real {
    /// The length in milliseconds, or -1 for a wait without a limit. `given` is the limit of the program.
    fn milliseconds(self, given: c_int) -> c_int {
        match self {
            Real::Given => given,
            Real::Now => 0,
            Real::Moment => MOMENT,
            Real::Slice => SLICE,
            Real::Forever => -1,
        }
    }

    /// Calls `wait` with the length as a `timespec`, or with a null pointer for a wait without a limit. `given` is the limit of the program.
    fn with_timespec(
        self,
        given: *const timespec,
        wait: impl FnOnce(*const timespec) -> c_int,
    ) -> c_int {
        match self {
            Real::Given => wait(given),
            Real::Forever => wait(ptr::null()),
            _ => {
                let span = to_timespec(self.milliseconds(0) as u64 * MILLISECOND);
                wait(&raw const span)
            }
        }
    }
}

/// Waits until `look` finds a ready descriptor, for at most `span` nanoseconds of simulated time. If `span` is an error number, the wait fails
/// with this error.
fn wait(
    has_event: impl FnOnce() -> bool,
    span: impl FnOnce() -> Result<Option<u64>, c_int>,
    mut look: impl FnMut(Real) -> c_int,
) -> c_int {
    if !virtually() {
        return look(Real::Given);
    }
    let span = match span() {
        Ok(span) => span,
        Err(error) => return fail(error),
    };
    let has_event = has_event();
    let now = with_state(charge_system_call).unwrap_or_else(reported_time);
    let limit = span.map(|span| now.saturating_add(span.saturating_mul(NANOSECOND)));
    let ready = look(Real::Now);
    if ready != 0 || span == Some(0) {
        give_way();
        return ready;
    }
    if !has_event && limit.is_none() {
        return look(Real::Forever);
    }
    let until = if has_event {
        Until::Interrupt
    } else {
        Until::Limit
    };
    loop {
        let mut ready = 0;
        let limit_or_none = limit.unwrap_or(u64::MAX);
        let over = wait_in_turn((until, limit_or_none), Rest::Waits, || {
            ready = look(Real::Moment);
            ready != 0
        });
        let WaitOutcome::Passed(why) = over else {
            return ready;
        };
        let ready = look(Real::Now);
        if ready != 0 {
            return ready;
        }
        match (why, limit) {
            (WaitEnd::Happened | WaitEnd::Interrupted, _) => {}
            // The simulation has no event before the limit, but other processes may cause an event.
            (WaitEnd::Quiet, Some(limit)) if reported_time() < limit => {}
            (_, Some(_)) => return 0,
            (_, None) => {
                let ready = look(Real::Slice);
                if ready != 0 {
                    with_state(|state| state.wait(Until::Limit, 0));
                    return ready;
                }
            }
        }
    }
}

/// Charges a system call that checks a descriptor without waiting.
pub fn charge_check() {
    with_state(|state| {
        charge_system_call(state);
        state.wait(Until::Limit, 0);
    });
    give_way();
}

/// Waits until the descriptor of an event can be read.
pub fn wait_for(descriptor: c_int) {
    let mut one = pollfd {
        fd: descriptor,
        events: libc::POLLIN,
        revents: 0,
    };
    let forever = -1;
    wait(
        || true,
        || Ok(milliseconds(forever)),
        |real| {
            // SAFETY: the array has one element.
            unsafe { real::poll(&raw mut one, 1, real.milliseconds(forever)) }
        },
    );
}

/// Converts a time limit in milliseconds to nanoseconds. `None` for a wait without a limit.
fn milliseconds(timeout: c_int) -> Option<u64> {
    u64::try_from(timeout).ok().map(|span| span * MILLISECOND)
}

/// Converts a time limit to nanoseconds. `None` for a wait without a limit. An invalid limit is an error.
fn span(timeout: *const timespec) -> Result<Option<u64>, c_int> {
    let Ok(timeout) = user_pointer(timeout.cast_mut()) else {
        return Ok(None);
    };
    from_timespec(timeout.take()).map(Some).ok_or(libc::EINVAL)
}

/// Converts a time limit of `select` to nanoseconds. Its microseconds may be more than a second.
fn span_of_select(timeout: *mut timeval) -> Result<Option<u64>, c_int> {
    let Ok(timeout) = user_pointer(timeout) else {
        return Ok(None);
    };
    let timeout = timeout.take();
    let part = |time: i64, unit: u64| u64::try_from(time).map(|time| time.saturating_mul(unit));
    match (part(timeout.tv_sec, SECOND), part(timeout.tv_usec, 1000)) {
        (Ok(seconds), Ok(rest)) => Ok(Some(seconds.saturating_add(rest))),
        _ => Err(libc::EINVAL),
    }
}

/// Whether one of the descriptors belongs to an event.
fn any_is_event(all: *mut pollfd, count: nfds_t) -> bool {
    let Ok(first) = user_pointer(all) else {
        return false;
    };
    with_descriptors((0..count as usize).map(|index| first.at(index).take().fd))
}

fn with_descriptors(descriptors: impl Iterator<Item = c_int>) -> bool {
    let may: Vec<_> = descriptors
        .filter(|&fd| crate::event::may_be_event(fd))
        .collect();
    !may.is_empty() && with_state(|state| may.iter().any(|&fd| state.is_event(fd))).unwrap_or(false)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn poll(all: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int {
    wait(
        || any_is_event(all, count),
        || Ok(milliseconds(timeout)),
        |real| {
            // SAFETY: the caller guarantees valid arguments.
            unsafe { real::poll(all, count, real.milliseconds(timeout)) }
        },
    )
}

/// The name of `poll` in programs that are compiled with checks of buffer sizes.
#[unsafe(no_mangle)]
unsafe extern "C" fn __poll_chk(
    all: *mut pollfd,
    count: nfds_t,
    timeout: c_int,
    _room: size_t,
) -> c_int {
    // SAFETY: the caller guarantees valid arguments.
    unsafe { poll(all, count, timeout) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ppoll(
    all: *mut pollfd,
    count: nfds_t,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the caller guarantees valid arguments.
    let really = |timeout, mask| unsafe { real::ppoll(all, count, timeout, mask) };
    wait(
        || any_is_event(all, count),
        || span(timeout),
        |real| {
            real.with_timespec(timeout, |timeout| {
                with_open(mask, |mask| really(timeout, mask))
            })
        },
    )
}

/// The name of `ppoll` in programs that are compiled with checks of buffer sizes.
#[unsafe(no_mangle)]
unsafe extern "C" fn __ppoll_chk(
    all: *mut pollfd,
    count: nfds_t,
    timeout: *const timespec,
    mask: *const sigset_t,
    _room: size_t,
) -> c_int {
    // SAFETY: the caller guarantees valid arguments.
    unsafe { ppoll(all, count, timeout, mask) }
}

fn descriptors(count: c_int, set: *mut fd_set) -> Vec<c_int> {
    if set.is_null() {
        return Vec::new();
    }
    // SAFETY: the set has space for all descriptors below `count`.
    (0..count)
        .filter(|&fd| unsafe { libc::FD_ISSET(fd, set) })
        .collect()
}

/// Copies of the descriptor sets. They are restored before each check, because a check that finds no ready descriptor clears the sets.
struct Sets([(*mut fd_set, Vec<c_ulong>); 3]);

impl Sets {
    fn save(count: c_int, sets: [*mut fd_set; 3]) -> Self {
        let words = (count.max(0) as usize).div_ceil(c_ulong::BITS as usize);
        Sets(sets.map(|set| {
            let first = user_pointer(set.cast::<c_ulong>());
            let saved = first.map(|first| (0..words).map(|word| first.at(word).take()).collect());
            (set, saved.unwrap_or_default())
        }))
    }

    fn restore(&self) {
        for (set, saved) in &self.0 {
            for (index, &word) in saved.iter().enumerate() {
                let _ = user_pointer(set.cast::<c_ulong>()).map(|first| first.at(index).put(word));
            }
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn select(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *mut timeval,
) -> c_int {
    if !virtually() {
        // SAFETY: the caller guarantees valid arguments.
        return unsafe { real::select(count, read, write, except, timeout) };
    }
    let began = reported_time();
    let span = span_of_select(timeout);
    let ready = select_virtually(count, [read, write, except], span, ptr::null());
    if let (Ok(timeout), Ok(Some(span))) = (user_pointer(timeout), span) {
        // As in Linux, the remaining time is written back. Programs use it to continue a wait.
        let passed = reported_time().saturating_sub(began) / NANOSECOND;
        let left = to_timespec(span.saturating_sub(passed));
        timeout.put(timeval {
            tv_sec: left.tv_sec,
            tv_usec: left.tv_nsec / 1000,
        });
    }
    ready
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pselect(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    if !virtually() {
        // SAFETY: the caller guarantees valid arguments.
        return with_open(mask, |mask| unsafe {
            real::pselect(count, read, write, except, timeout, mask)
        });
    }
    select_virtually(count, [read, write, except], span(timeout), mask)
}

fn select_virtually(
    count: c_int,
    sets: [*mut fd_set; 3],
    span: Result<Option<u64>, c_int>,
    mask: *const sigset_t,
) -> c_int {
    let has_event = || with_descriptors(descriptors(count, sets[0]).into_iter());
    let saved = Sets::save(count, sets);
    let [read, write, except] = sets;
    // SAFETY: the caller guarantees valid arguments.
    let really = |limit, mask| unsafe { real::pselect(count, read, write, except, limit, mask) };
    wait(
        has_event,
        || span,
        |real| {
            saved.restore();
            real.with_timespec(ptr::null(), |limit| {
                with_open(mask, |mask| really(limit, mask))
            })
        },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_wait(
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout: c_int,
) -> c_int {
    // SAFETY: the caller guarantees valid arguments; a null mask means no mask.
    unsafe { epoll_pwait(epoll, events, most, timeout, ptr::null()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_pwait(
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout: c_int,
    mask: *const sigset_t,
) -> c_int {
    wait(
        is_any_subscribed,
        || Ok(milliseconds(timeout)),
        |real| {
            let timeout = real.milliseconds(timeout);
            // SAFETY: the caller guarantees valid arguments.
            with_open(mask, |mask| unsafe {
                real::epoll_pwait(epoll, events, most, timeout, mask)
            })
        },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_pwait2(
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the caller guarantees valid arguments.
    let given = |mask| unsafe { real::epoll_pwait2(epoll, events, most, timeout, mask) };
    // For simulated time, a limit in milliseconds is enough. `epoll_pwait` exists also in old kernels and under Valgrind.
    // SAFETY: the caller guarantees valid arguments.
    let limited = |limit, mask| unsafe { real::epoll_pwait(epoll, events, most, limit, mask) };
    wait(
        is_any_subscribed,
        || span(timeout),
        |real| match real {
            Real::Given => with_open(mask, given),
            real => with_open(mask, |mask| limited(real.milliseconds(0), mask)),
        },
    )
}

/// Whether the descriptors of an `epoll` descriptor may contain an event. The library does not know these descriptors, so the function returns true
/// if the process has any subscription.
fn is_any_subscribed() -> bool {
    with_state(State::has_subscription).unwrap_or(false)
}
