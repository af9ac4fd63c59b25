//! Laws of the lock table for all interleavings of operations and all deaths of owners.

mod any_interleaving;
mod every_interleaving;
mod linearizability;
mod specification;
mod threads;
mod words;
mod world;
