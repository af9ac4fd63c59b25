//! A value for each virtual channel.

use std::mem::offset_of;
use std::ops::{Index, IndexMut};

/// A value for each virtual channel, by VC ID. Every link has VC0, and nearly all links have only VC0. Therefore the value of VC0 is stored
/// directly, without a pointer.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct PerChannel<T> {
    others: Vec<T>,
    first: T,
}

impl<T> PerChannel<T> {
    /// The offset of the value of VC0.
    pub(crate) const FIRST: usize = offset_of!(Self, first);

    /// The value of VC0, and the values of the channels after it.
    pub(crate) fn new(first: T, others: Vec<T>) -> Self {
        PerChannel { others, first }
    }

    pub(crate) fn len(&self) -> usize {
        1 + self.others.len()
    }

    /// The value of VC0, if there is no other channel.
    pub(crate) fn only_mut(&mut self) -> Option<&mut T> {
        self.others.is_empty().then_some(&mut self.first)
    }

    pub(crate) fn get(&self, id: usize) -> Option<&T> {
        match id {
            0 => Some(&self.first),
            _ => self.others.get(id - 1),
        }
    }

    pub(crate) fn get_mut(&mut self, id: usize) -> Option<&mut T> {
        match id {
            0 => Some(&mut self.first),
            _ => self.others.get_mut(id - 1),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        std::iter::once(&self.first).chain(&self.others)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }
}

impl<T> Index<usize> for PerChannel<T> {
    type Output = T;
    fn index(&self, id: usize) -> &T {
        match id {
            0 => &self.first,
            _ => &self.others[id - 1],
        }
    }
}

impl<T> IndexMut<usize> for PerChannel<T> {
    fn index_mut(&mut self, id: usize) -> &mut T {
        match id {
            0 => &mut self.first,
            _ => &mut self.others[id - 1],
        }
    }
}
