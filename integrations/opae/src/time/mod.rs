//! Simulated time: the connection from which the library gets it, and the threads that wait for it.

pub mod link;
pub mod waiters;
