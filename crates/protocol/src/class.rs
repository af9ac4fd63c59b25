//! Flow-control classes, traffic classes and attributes of a TLP.

use std::ops::{Index, IndexMut};

/// Flow-control and ordering class of a TLP (PCIe Base 2.4, 2.6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Memory writes and messages, which have no completion.
    Posted,
    /// Requests that need a completion.
    NonPosted,
    /// Completions.
    Completion,
}

impl Class {
    /// All classes, in the order of [`Self::index`].
    pub const ALL: [Self; 3] = [Self::Posted, Self::NonPosted, Self::Completion];

    /// Index in a table of classes: 0, 1 or 2, the order of the flow-control DLLP types.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// A value for each class, indexed by the class.
pub type PerClass<T> = [T; Class::ALL.len()];

impl<T> Index<Class> for [T] {
    type Output = T;

    #[inline(always)]
    fn index(&self, class: Class) -> &T {
        &self[class.index()]
    }
}

impl<T> IndexMut<Class> for [T] {
    #[inline(always)]
    fn index_mut(&mut self, class: Class) -> &mut T {
        &mut self[class.index()]
    }
}

/// Traffic class, 0..=7 (PCIe Base 2.2.6.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrafficClass(u8);

impl TrafficClass {
    /// The traffic class of coherence messages: the first one after the default class 0.
    pub const COHERENCE: Self = Self(1);

    /// The traffic class with this `number`; `None` if `number` is above 7.
    pub const fn new(number: u8) -> Option<Self> {
        if number < 8 { Some(Self(number)) } else { None }
    }

    /// The number, 0..=7.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Reads the traffic class from the low three bits of a header field.
    pub(crate) const fn from_field(field: u32) -> Self {
        Self(field as u8 & 0x7)
    }
}

/// The attribute bits of a TLP (PCIe Base 2.2.6.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attributes {
    /// Relaxed ordering (RO): the packet may pass older posted requests.
    pub relaxed_ordering: bool,
    /// ID-based ordering (IDO): the packet may pass older posted requests of another requester.
    pub id_ordering: bool,
    /// No snoop: the requester needs no coherence action.
    pub no_snoop: bool,
}

impl Attributes {
    /// The field Attr\[2:0\]: ID-based ordering, relaxed ordering, no snoop.
    pub const fn bits(self) -> u8 {
        (self.id_ordering as u8) << 2 | (self.relaxed_ordering as u8) << 1 | self.no_snoop as u8
    }

    /// The attributes that are set in both `self` and `other`.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self::from_bits(self.bits() & other.bits())
    }

    /// Reads the attributes from the low three bits of `bits`.
    pub const fn from_bits(bits: u8) -> Self {
        Self {
            relaxed_ordering: bits & 2 != 0,
            id_ordering: bits & 4 != 0,
            no_snoop: bits & 1 != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_stands_at_its_index() {
        for (index, class) in Class::ALL.into_iter().enumerate() {
            assert_eq!(class.index(), index);
        }
    }

    #[test]
    fn there_are_eight_traffic_classes() {
        assert_eq!(TrafficClass::new(7).map(TrafficClass::number), Some(7));
        assert_eq!(TrafficClass::new(8), None);
    }

    #[test]
    fn attribute_bits_come_back() {
        for bits in 0..8 {
            assert_eq!(Attributes::from_bits(bits).bits(), bits);
        }
    }
}
