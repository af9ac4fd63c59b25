//! Laws of the lock table for all interleavings of operations and all deaths of owners.

mod any_interleaving;
mod every_interleaving;
mod linearizability;
mod queues_of_slots;
mod specification;
mod threads;
mod words;
mod world;
