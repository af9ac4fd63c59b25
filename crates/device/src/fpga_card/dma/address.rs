//! The address space of the DMA unit: 50 bits; the upper two select the memory.

/// The meaning of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryAddress {
    /// An address of the card's memory.
    Local(u64),
    /// A memory with the same word at all addresses, which software uses to wait for the end of transfers.
    Magic,
    /// An address of host memory.
    Host(u64),
}

/// `Wrt_Sync` in ASCII.
pub(super) const MAGIC: u64 = 0x5772_745f_5379_6e63;

/// Number of address bits within a memory.
const BITS: u32 = 48;

impl MemoryAddress {
    /// The line with `address`; data is transferred in lines.
    ///
    /// Host memory has two images. Writes to the upper image stay behind all earlier writes, which posted writes do anyway.
    pub(super) fn of(address: u64) -> Self {
        let within = address & ((1 << BITS) - 1) & !63;
        match address >> BITS & 3 {
            0 => Self::Local(within),
            1 => Self::Magic,
            _ => Self::Host(within),
        }
    }

    pub(super) fn is_host(self) -> bool {
        matches!(self, Self::Host(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upper_bits_of_an_address_say_what_is_meant() {
        assert_eq!(MemoryAddress::of(0x1040), MemoryAddress::Local(0x1040));
        assert_eq!(MemoryAddress::of(1 << 48), MemoryAddress::Magic);
        assert_eq!(MemoryAddress::of(2 << 48 | 0x40), MemoryAddress::Host(0x40));
        assert_eq!(MemoryAddress::of(3 << 48 | 0x7f), MemoryAddress::Host(0x40));
    }
}
