//! Threads of the program: the lock between them, and what the system knows of their work.

pub mod lock;
pub mod ticks;
