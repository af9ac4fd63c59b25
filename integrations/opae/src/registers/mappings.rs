//! Mapped registers: the addresses through which the program accesses registers of its open handles.

use rustix::mm::munmap;

use crate::abi::Code;
use crate::registry::reserve;
use crate::valgrind;

const PAGE: u64 = 4096;

/// The mapped registers. No memory is mapped at their addresses, so accesses fault.
#[derive(Debug)]
pub struct Mappings(Vec<Mapping>);

#[derive(Clone, Copy, Debug)]
struct Mapping {
    base: usize,
    /// Size of the registers in bytes.
    size: u64,
    /// The program's name for the handle.
    name: usize,
    handle: u64,
}

impl Mapping {
    fn mapped(&self) -> usize {
        self.size.next_multiple_of(PAGE) as usize
    }
}

/// A register of an open handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    pub handle: u64,
    /// Offset from the first register.
    pub offset: u64,
}

impl Mappings {
    /// No registers.
    pub const fn new() -> Self {
        Mappings(Vec::new())
    }

    /// The register at `address`, if `len` bytes there are registers.
    pub fn register(&self, address: usize, len: usize) -> Option<Register> {
        self.0.iter().find_map(|mapping| {
            let offset = address.checked_sub(mapping.base)? as u64;
            let within = offset.checked_add(len as u64)? <= mapping.size;
            within.then_some(Register {
                handle: mapping.handle,
                offset,
            })
        })
    }

    /// Whether `address` is in registers, with the number of bytes to the end of these registers; outside of registers, with the number of bytes to
    /// the next registers.
    pub fn stretch(&self, address: usize) -> (bool, usize) {
        let mut until = usize::MAX;
        for mapping in &self.0 {
            let end = mapping.base + mapping.size as usize;
            if (mapping.base..end).contains(&address) {
                return (true, end - address);
            }
            if mapping.base > address {
                until = until.min(mapping.base - address);
            }
        }
        (false, until)
    }

    /// The first address of the registers of a handle, if they are mapped.
    pub fn base(&self, name: usize) -> Option<usize> {
        let mut mappings = self.0.iter();
        let found = mappings.find(|mapping| mapping.name == name);
        found.map(|mapping| mapping.base)
    }

    /// Maps `size` bytes of registers for a handle. `name` is the program's name for the handle. Returns the first address of the registers.
    pub fn map(&mut self, name: usize, handle: u64, size: u64) -> Result<usize, Code> {
        let mut mapping = Mapping {
            base: 0,
            size,
            name,
            handle,
        };
        mapping.base = reserve(mapping.mapped()).ok_or(Code::NoMemory)?;
        valgrind::make_defined(mapping.base, mapping.mapped());
        self.0.push(mapping);
        Ok(mapping.base)
    }

    /// Unmaps the registers of a handle, if they are mapped.
    pub fn forget(&mut self, name: usize) {
        let Some(place) = self.0.iter().position(|mapping| mapping.name == name) else {
            return;
        };
        let mapping = self.0.swap_remove(place);
        // SAFETY: the range was reserved for this mapping, and contains nothing else.
        let _ = unsafe { munmap(mapping.base as *mut _, mapping.mapped()) };
    }
}
