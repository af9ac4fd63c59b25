//! Memory that devices share with the program: open and closed pages, and the detection of polling by the accesses to closed pages.

pub mod faults;
pub mod guard;

/// The first access to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    Read,
    Write,
}
