//! Configuration space (PCIe Base chapter 7).

/// A memory BAR as its function asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bar {
    /// Which of the six registers, 0..=5; a 64-bit BAR takes the next one, too.
    pub index: u8,
    /// Bytes, a power of two.
    pub size: u64,
    /// Whether it is 64 bits wide and prefetchable.
    pub wide: bool,
}

impl Bar {
    /// BARs of a type 0 header.
    pub const COUNT: usize = 6;
}
