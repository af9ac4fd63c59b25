//! What a lock table promises, whoever comes between whose operations, and whoever dies.

mod any_interleaving;
mod every_interleaving;
mod linearizability;
mod specification;
mod threads;
mod world;
