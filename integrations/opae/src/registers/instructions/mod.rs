//! Executes the instructions that access registers of devices, after the fault that each of them causes.

mod execute;
mod program;
mod strings;

pub use execute::{begin, finish, prepare};
pub use strings::restart;

/// The registers of devices, by their addresses in the program.
pub trait Bus {
    /// Whether `address` is in registers, and the number of bytes to the end of these registers, or from other memory to the next registers.
    fn stretch(&self, address: usize) -> (bool, usize);

    /// Loads bytes, which are all ones if no device answers. Returns false if not all of them are registers.
    fn load(&self, address: usize, bytes: &mut [u8]) -> bool;

    /// Stores bytes. Returns false if not all of them are registers.
    fn store(&self, address: usize, bytes: &[u8]) -> bool;
}
