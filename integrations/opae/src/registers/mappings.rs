//! Mapped registers: addresses at which the program finds registers of its open handles.

#![expect(unsafe_code, reason = "mappings are removed through raw pointers")]

use rustix::mm::munmap;

use crate::abi::Code;
use crate::registry::reserve;
use crate::valgrind;

const PAGE: u64 = 4096;

/// The mapped registers. No memory is mapped there; accesses fault.
#[derive(Debug)]
pub struct Windows(Vec<Window>);

#[derive(Clone, Copy, Debug)]
struct Window {
    base: usize,
    /// Size of the registers in bytes.
    size: u64,
    /// The program's name of the handle.
    name: usize,
    /// The handle in the session.
    handle: u64,
}

impl Window {
    fn mapped(&self) -> usize {
        self.size.next_multiple_of(PAGE) as usize
    }
}

/// A register of an open handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// The handle.
    pub handle: u64,
    /// Offset from the first register.
    pub offset: u64,
}

impl Windows {
    /// No windows.
    pub const fn new() -> Self {
        Windows(Vec::new())
    }

    /// The register at `address`, if `len` bytes there are registers.
    pub fn register(&self, address: usize, len: usize) -> Option<Register> {
        self.0.iter().find_map(|window| {
            let offset = address.checked_sub(window.base)? as u64;
            let within = offset.checked_add(len as u64)? <= window.size;
            within.then_some(Register {
                handle: window.handle,
                offset,
            })
        })
    }

    /// Whether `address` is in registers, and the number of bytes to the end of these registers or to the next ones.
    pub fn stretch(&self, address: usize) -> (bool, usize) {
        let mut until = usize::MAX;
        for window in &self.0 {
            let end = window.base + window.size as usize;
            if (window.base..end).contains(&address) {
                return (true, end - address);
            }
            if window.base > address {
                until = until.min(window.base - address);
            }
        }
        (false, until)
    }

    /// The first address of the registers of a handle, if they are mapped.
    pub fn base(&self, name: usize) -> Option<usize> {
        let mut windows = self.0.iter();
        let found = windows.find(|window| window.name == name);
        found.map(|window| window.base)
    }

    /// Maps `size` bytes of registers for the program's name of a handle; returns their first address.
    pub fn map(&mut self, name: usize, handle: u64, size: u64) -> Result<usize, Code> {
        let mut window = Window {
            base: 0,
            size,
            name,
            handle,
        };
        window.base = reserve(window.mapped()).ok_or(Code::NoMemory)?;
        valgrind::make_defined(window.base, window.mapped());
        self.0.push(window);
        Ok(window.base)
    }

    /// Unmaps the registers of a handle, if they are mapped.
    pub fn forget(&mut self, name: usize) {
        let Some(place) = self.0.iter().position(|window| window.name == name) else {
            return;
        };
        let window = self.0.swap_remove(place);
        // SAFETY: the range was reserved for this window, and the library has nothing else in it.
        let _ = unsafe { munmap(window.base as *mut _, window.mapped()) };
    }
}
