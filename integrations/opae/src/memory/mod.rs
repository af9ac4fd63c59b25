//! Memory that devices share with the program: pages that are open or closed, and what the accesses to closed pages say of a thread.

pub mod faults;
pub mod guard;

/// The first access to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    Read,
    Write,
}
