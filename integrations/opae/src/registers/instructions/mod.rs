//! Executes the program's instructions that access registers of devices. Each of these instructions causes a fault, and is executed by the handler.

mod execute;
mod program;
mod strings;

pub use execute::{begin, finish, prepare};
pub use strings::restart;

/// The registers of devices, by their addresses in the program.
pub trait Bus {
    /// Whether `address` is in registers, with the number of bytes to the end of these registers; outside of registers, with the number of bytes to
    /// the next registers.
    fn stretch(&self, address: usize) -> (bool, usize);

    /// Loads bytes, which are all ones if no device answers. Returns false if not all of them are registers.
    fn load(&self, address: usize, bytes: &mut [u8]) -> bool;

    /// Stores bytes. Returns false if not all of them are registers.
    fn store(&self, address: usize, bytes: &[u8]) -> bool;
}
