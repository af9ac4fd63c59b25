//! Pages, and the rights of devices to them.

/// A page of 4 KiB, identified by its address.
// Two halves, because a `u64` would be aligned to eight bytes and make a header eight bytes larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Page {
    pub(super) high: u32,
    pub(super) low: u32,
}

impl Page {
    /// The page that contains `address`.
    pub const fn of(address: u64) -> Self {
        Self {
            high: (address >> 32) as u32,
            low: address as u32 & !0xfff,
        }
    }

    /// The page's first address.
    pub const fn address(self) -> u64 {
        (self.high as u64) << 32 | self.low as u64
    }
}

/// The rights of a device to a page, or the rights that it requests: the bits W and R.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// None: the page is not resident, or the device has no rights to it.
    None,
    /// Read only.
    Read,
    /// Write only.
    Write,
    /// Read and write.
    ReadWrite,
}

impl Access {
    /// All values, in the order of their encoding.
    pub const ALL: [Self; 4] = [Self::None, Self::Read, Self::Write, Self::ReadWrite];

    /// Whether the device may read.
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadWrite)
    }

    /// Whether the device may write.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::ReadWrite)
    }

    /// The bits W and R.
    pub(crate) const fn bits(self) -> u32 {
        self as u32
    }

    /// Reads the rights from the low two bits of `bits`.
    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self::ALL[bits as usize & 3]
    }
}
