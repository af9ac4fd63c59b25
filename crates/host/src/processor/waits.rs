//! Threads that wait for an event, with no known time at which they continue.

use kernel::Time;

use super::{Processor, State};
use crate::ThreadId;

/// The wait of a thread that does not continue at a known time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The event that the thread waits for, directly or through the threads that hold its locks.
    pub what: String,
    /// The time from which the thread, and all threads for which it waits, have waited.
    pub since: Time,
}

/// The state of a program whose end a run waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Course {
    /// The program has ended.
    Ended,
    /// The program continues without an event from outside, at this time at the latest.
    Continues(Time),
    /// The program waits for an event.
    Waits(Wait),
}

impl Processor {
    /// The state of the program of `thread` at `now`.
    pub fn course(&self, thread: ThreadId, now: Time) -> Course {
        let (mut at, mut since) = (thread, Time::ZERO);
        for _ in 0..self.threads.len() {
            let one = &self.threads[at.0];
            since = since.max(one.ran_at);
            let what = match one.state {
                State::Ended => return Course::Ended,
                State::Asleep | State::Working => {
                    let mut timed = self.timed.iter().map(|entry| entry.0);
                    let due = timed.find(|(_, other)| *other == at);
                    match due {
                        Some((due, _)) if due >= now => return Course::Continues(due),
                        // The requests of the thread wait for credit at a root port, and the thread cannot run before they leave.
                        _ => "credit for requests of the host".to_owned(),
                    }
                }
                State::Locked => match self.holder_before(at) {
                    Some(holder) => {
                        at = holder;
                        continue;
                    }
                    None => "a lock".to_owned(),
                },
                State::Joining(other) => {
                    at = other;
                    continue;
                }
                State::Paused => "a host thread".to_owned(),
                State::Runnable => "a free core".to_owned(),
                State::Interrupt(message) | State::InterruptOrReset(message) => {
                    format!("interrupt {message:#x}")
                }
                State::Preparing(message) => {
                    format!("the calls that use the device with interrupt {message:#x}")
                }
                State::Ready(message) => {
                    format!("the end of a reset of the device with interrupt {message:#x}")
                }
                State::Configuring(function) => {
                    format!("the completion of a configuration request to {function}")
                }
                State::Loading => "the end of an access".to_owned(),
                State::Written(address) => format!("a write to {address:#x}"),
                State::EitherWritten([first, second]) => {
                    format!("a write to {first:#x} or {second:#x}")
                }
            };
            return Course::Waits(Wait { what, since });
        }
        let what = "locks that wait for each other".to_owned();
        Course::Waits(Wait { what, since })
    }

    /// The number of times that `thread` has run so far.
    pub fn steps(&self, thread: ThreadId) -> u32 {
        self.threads[thread.0].steps
    }

    /// The threads that wait for an event of the fabric, except services that wait for their next interrupt, and host threads.
    pub fn waits(&self, now: Time) -> impl Iterator<Item = (ThreadId, Wait)> {
        let idle = |state| {
            matches!(
                state,
                State::Ended | State::Paused | State::Interrupt(_) | State::Written(_)
            )
        };
        let busy = (0..self.threads.len()).filter(move |number| !idle(self.threads[*number].state));
        busy.filter_map(move |number| match self.course(ThreadId(number), now) {
            Course::Waits(wait) => Some((ThreadId(number), wait)),
            _ => None,
        })
    }

    /// The thread that holds the lock for which `thread` waits.
    fn holder_before(&self, thread: ThreadId) -> Option<ThreadId> {
        let mut lines = self.locks.values();
        let line = lines.find(|line| line.iter().skip(1).any(|one| *one == thread))?;
        line.front().copied()
    }
}
