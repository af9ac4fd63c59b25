//! Memory that devices share with the program: pages that are accessible or protected, and the detection of polling by accesses to protected pages.

pub mod faults;
pub mod guard;

/// The kind of the first access to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    Read,
    Write,
}
