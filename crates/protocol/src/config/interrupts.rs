//! Message signalled interrupts: MSI (PCIe Base 7.7.1) and MSI-X (PCIe Base 7.7.2).

use super::ConfigSpace;

/// The register with Message Control of MSI in the upper half, and the capability's header in the lower half.
pub const MSI: u16 = MSI_BYTES / 4;
/// MSI Enable, in that register.
pub const MSI_ENABLE: u32 = 1 << 16;

/// Position of Multiple Message Capable: the logarithm of the number of vectors that the function requests.
pub const MSI_CAPABLE_SHIFT: u32 = 17;
/// Position of Multiple Message Enable: the logarithm of the number of vectors that software has allocated.
pub const MSI_COUNT_SHIFT: u32 = 20;

/// Byte offsets of the capabilities.
pub(super) const MSI_BYTES: u16 = 0x48;
pub(super) const MSIX_BYTES: u16 = 0x58;
/// ID of the MSI capability.
pub const MSI_ID: u8 = 0x05;
pub(super) const MSIX_ID: u8 = 0x11;

const ADDRESS_64: u32 = 1 << 23;
const MSIX_ENABLE: u32 = 1 << 31;
const MSIX_MASK_ALL: u32 = 1 << 30;

/// Location of a function's MSI-X table and pending bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MsixTable {
    /// Number of entries, 1 to 2048.
    pub vectors: u16,
    /// The BAR that contains table and pending bits.
    pub bar: u8,
    /// Offset of the table in the BAR, a multiple of 8.
    pub table: u32,
    /// Offset of the pending bits in the BAR, a multiple of 8.
    pub pending: u32,
}

impl ConfigSpace {
    /// Declares MSI with 64-bit addresses and `vectors` vectors, 1 to 32, rounded up to a power of two.
    pub(super) fn declare_msi(&mut self, vectors: u8) {
        let capable = u32::from(vectors.clamp(1, 32)).next_power_of_two().ilog2();
        let control = capable << MSI_CAPABLE_SHIFT | ADDRESS_64;
        self.declare(MSI, control, MSI_ENABLE | 7 << MSI_COUNT_SHIFT, 0);
        self.declare(MSI + 1, 0, !3, 0);
        self.declare(MSI + 2, 0, u32::MAX, 0);
        self.declare(MSI + 3, 0, 0xffff, 0);
    }

    pub(super) fn declare_msix(&mut self, place: &MsixTable) {
        let register = MSIX_BYTES / 4;
        let size = u32::from(place.vectors.clamp(1, 2048) - 1) << 16;
        self.declare(register, size, MSIX_ENABLE | MSIX_MASK_ALL, 0);
        let bar = u32::from(place.bar);
        self.declare(register + 1, place.table & !7 | bar, 0, 0);
        self.declare(register + 2, place.pending & !7 | bar, 0, 0);
    }

    /// Address and data of the memory write that signals interrupt `vector`; none while MSI is disabled or has fewer vectors.
    ///
    /// A function with several vectors changes the low bits of Message Data (PCIe Base 7.7.1.6).
    pub fn msi(&self, vector: u8) -> Option<(u64, u32)> {
        let control = self.read(MSI);
        let count = 1 << (control >> MSI_COUNT_SHIFT & 7);
        if control & MSI_ENABLE == 0 || u32::from(vector) >= count {
            return None;
        }
        let address = u64::from(self.read(MSI + 2)) << 32 | u64::from(self.read(MSI + 1));
        let data = self.read(MSI + 3) & !(count - 1) | u32::from(vector);
        Some((address, data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_changes_the_low_bits_of_the_data() {
        let mut space = ConfigSpace::empty();
        space.declare_msi(4);
        assert_eq!(space.msi(0), None);
        space.write(MSI + 1, 0xfee0_0000, 0xf);
        space.write(MSI + 3, 0x24, 0xf);
        space.write(MSI, MSI_ENABLE | 2 << MSI_COUNT_SHIFT, 0xf);
        assert_eq!(space.msi(0), Some((0xfee0_0000, 0x24)));
        assert_eq!(space.msi(3), Some((0xfee0_0000, 0x27)));
        assert_eq!(space.msi(4), None);
    }

    #[test]
    fn a_function_asks_for_a_power_of_two_of_vectors() {
        for (vectors, field) in [(1, 0), (2, 1), (3, 2), (32, 5)] {
            let mut space = ConfigSpace::empty();
            space.declare_msi(vectors);
            assert_eq!(space.read(MSI) >> MSI_CAPABLE_SHIFT & 7, field);
        }
    }
}
