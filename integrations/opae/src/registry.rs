//! What stands for an object in the hands of a program: an address at which nothing is, and that is never given twice.
//!
//! A token, handle or other object that was destroyed, or never made, is therefore always told from one that lives.

use std::collections::BTreeMap;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use crate::abi::Code;

/// How much address space the names have.
const SPACE: usize = 1 << 28;
/// How far apart they are, as from `malloc`.
const STEP: usize = 16;

/// The objects of one kind that live.
#[derive(Debug)]
pub struct Registry<T>(BTreeMap<usize, T>);

impl<T> Registry<T> {
    /// None yet.
    pub const fn new() -> Self {
        Registry(BTreeMap::new())
    }

    /// The object of that name.
    pub fn find(&self, name: usize) -> Result<&T, Code> {
        self.0.get(&name).ok_or(Code::InvalidParam)
    }

    /// The same, to change it.
    pub fn find_mut(&mut self, name: usize) -> Result<&mut T, Code> {
        self.0.get_mut(&name).ok_or(Code::InvalidParam)
    }

    /// A new object.
    pub fn insert(&mut self, names: &mut Names, object: T) -> Result<usize, Code> {
        let name = names.next()?;
        self.0.insert(name, object);
        Ok(name)
    }

    /// Takes an object out.
    pub fn remove(&mut self, name: usize) -> Result<T, Code> {
        self.0.remove(&name).ok_or(Code::InvalidParam)
    }

    /// All of them, with their names.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut T)> {
        self.0.iter_mut().map(|(&name, object)| (name, object))
    }
}

/// The names that are left.
#[derive(Debug)]
pub struct Names {
    next: usize,
    end: usize,
}

impl Names {
    /// None given yet.
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

/// Address space at which nothing is.
#[expect(unsafe_code, reason = "a mapping is made by raw pointers")]
pub fn reserve(size: usize) -> Option<usize> {
    let none = ProtFlags::empty();
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a new mapping at an address of the system's choice takes no other's place.
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
