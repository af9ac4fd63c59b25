//! Threads of the program: the lock between them, and the measurement of their work.

pub mod lock;
pub mod ticks;
