//! Names of objects for programs: addresses of unmapped memory, which are never reused.
//!
//! So a token, handle or other object that was destroyed, or was never made, is always recognised.

use std::collections::BTreeMap;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use crate::abi::Code;

/// Size of the address space for names, in bytes.
const SPACE: usize = 1 << 28;
/// Distance of names in bytes, as from `malloc`.
const STEP: usize = 16;

/// The living objects of one kind, by name.
#[derive(Debug)]
pub struct Registry<T>(BTreeMap<usize, T>);

impl<T> Registry<T> {
    /// No objects.
    pub const fn new() -> Self {
        Registry(BTreeMap::new())
    }

    /// The object with the name `name`.
    pub fn find(&self, name: usize) -> Result<&T, Code> {
        self.0.get(&name).ok_or(Code::InvalidParam)
    }

    /// The object with the name `name`, mutable.
    pub fn find_mut(&mut self, name: usize) -> Result<&mut T, Code> {
        self.0.get_mut(&name).ok_or(Code::InvalidParam)
    }

    /// Adds an object; returns its name.
    pub fn insert(&mut self, names: &mut Names, object: T) -> Result<usize, Code> {
        let name = names.next()?;
        self.0.insert(name, object);
        Ok(name)
    }

    /// Removes an object.
    pub fn remove(&mut self, name: usize) -> Result<T, Code> {
        self.0.remove(&name).ok_or(Code::InvalidParam)
    }

    /// All objects, with their names.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut T)> {
        self.0.iter_mut().map(|(&name, object)| (name, object))
    }
}

/// The names that are still unused.
#[derive(Debug)]
pub struct Names {
    next: usize,
    end: usize,
}

impl Names {
    /// No names used yet.
    pub const fn new() -> Self {
        Names { next: 0, end: 0 }
    }

    fn next(&mut self) -> Result<usize, Code> {
        if self.end == 0 {
            self.next = reserve(SPACE).ok_or(Code::NoMemory)?;
            self.end = self.next + SPACE;
        }
        if self.next == self.end {
            return Err(Code::NoMemory);
        }
        self.next += STEP;
        Ok(self.next - STEP)
    }
}

/// Reserves unmapped address space.
#[expect(unsafe_code, reason = "mappings are made through raw pointers")]
pub fn reserve(size: usize) -> Option<usize> {
    let none = ProtFlags::empty();
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a new mapping at an address that the system chooses does not replace another one.
    let base = unsafe { mmap_anonymous(std::ptr::null_mut(), size, none, flags) };
    base.ok().map(|base| base as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_not_given_twice() {
        let (mut names, mut registry) = (Names::new(), Registry::new());
        let first = registry.insert(&mut names, 1).unwrap();
        registry.remove(first).unwrap();
        let second = registry.insert(&mut names, 2).unwrap();
        assert_ne!(first, second);
        assert_eq!(registry.find(first), Err(Code::InvalidParam));
        assert_eq!(registry.find(second), Ok(&2));
    }
}
