//! Names of objects for programs: addresses of unmapped memory, which are never reused.
//!
//! Because names are never reused, the use of a token, handle or other object that was destroyed or never created is always detected.

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use crate::abi::Code;

/// Size of the address space for names, in bytes.
const SPACE: usize = 1 << 28;
/// Distance between two names in bytes, as between addresses from `malloc`.
const STEP: usize = 16;

/// The existing objects of all kinds, by name.
pub struct Registry {
    names: Names,
    objects: BTreeMap<usize, Box<dyn Any + Send>>,
}

impl Registry {
    /// No objects.
    pub const fn new() -> Self {
        Registry {
            names: Names::new(),
            objects: BTreeMap::new(),
        }
    }

    /// The object of this kind with the name `name`.
    pub fn find<T: Any>(&self, name: usize) -> Result<&T, Code> {
        let object = self.objects.get(&name);
        object
            .and_then(|object| object.downcast_ref())
            .ok_or(Code::InvalidParam)
    }

    /// The object of this kind with the name `name`, mutable.
    pub fn find_mut<T: Any>(&mut self, name: usize) -> Result<&mut T, Code> {
        let object = self.objects.get_mut(&name);
        object
            .and_then(|object| object.downcast_mut())
            .ok_or(Code::InvalidParam)
    }

    /// Adds an object; returns its name.
    pub fn insert<T: Any + Send>(&mut self, object: T) -> Result<usize, Code> {
        let name = self.names.next()?;
        self.objects.insert(name, Box::new(object));
        Ok(name)
    }

    /// Removes an object of this kind.
    pub fn remove<T: Any>(&mut self, name: usize) -> Result<T, Code> {
        self.find::<T>(name)?;
        let object = self.objects.remove(&name);
        let object = object.and_then(|object| object.downcast().ok());
        object.map(|object| *object).ok_or(Code::InvalidParam)
    }

    /// All objects of this kind.
    pub fn all<T: Any>(&mut self) -> impl Iterator<Item = &mut T> {
        let objects = self.objects.values_mut();
        objects.filter_map(|object| object.downcast_mut())
    }
}

/// The names that are still unused.
#[derive(Debug)]
struct Names {
    next: usize,
    end: usize,
}

impl Names {
    const fn new() -> Self {
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

/// Whether one of the process's mappings fulfils `is_it`, which receives the addresses and the rights, such as `r-xp`.
pub fn is_any_mapping(is_it: impl Fn(Range<usize>, &str) -> bool) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let number = |text| usize::from_str_radix(text, 16).ok();
    maps.lines().any(|line| {
        let mut words = line.split(' ');
        let range = words.next().and_then(|range| range.split_once('-'));
        let range = range.and_then(|(from, to)| Some(number(from)?..number(to)?));
        range.is_some_and(|range| is_it(range, words.next().unwrap_or_default()))
    })
}

/// Reserves unmapped address space.
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
        let mut registry = Registry::new();
        let first = registry.insert(1_u8).unwrap();
        registry.remove::<u8>(first).unwrap();
        let second = registry.insert(2_u8).unwrap();
        assert_ne!(first, second);
        assert_eq!(registry.find::<u8>(first), Err(Code::InvalidParam));
        assert_eq!(registry.find(second), Ok(&2_u8));
    }

    #[test]
    fn the_name_of_an_object_is_none_of_another_kind() {
        let mut registry = Registry::new();
        let name = registry.insert(1_u8).unwrap();
        assert_eq!(registry.find::<u16>(name), Err(Code::InvalidParam));
        assert_eq!(registry.remove::<u16>(name), Err(Code::InvalidParam));
        assert_eq!(registry.find(name), Ok(&1_u8));
    }
}
