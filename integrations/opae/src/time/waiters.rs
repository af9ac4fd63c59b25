//! Threads that wait for simulated time.

use session::Until;

/// A waiting thread.
#[derive(Debug)]
pub struct Waiter {
    /// The system's number of the thread.
    pub thread: i32,
    /// The event that it waits for.
    pub until: Until,
    /// The time at which it waits no longer, in femtoseconds.
    pub limit: u64,
    /// Whether only time ends the wait.
    pub sleeps: bool,
    /// Real time at which its limit was first seen to have come.
    pub due: Option<i64>,
}
