//! Simulated time: the connection through which the library reads it, and the threads that wait for it.

pub mod link;
pub mod waiters;
