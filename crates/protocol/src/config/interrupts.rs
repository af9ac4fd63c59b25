//! Message signalled interrupts: MSI (PCIe Base 7.7.1) and MSI-X (PCIe Base 7.7.2).

use super::ConfigSpace;

/// The register with Message Control of MSI in the upper half, and the capability's header in the lower half.
pub const MSI: u16 = MSI_BYTES / 4;
/// MSI Enable in Message Control of MSI.
pub const MSI_ENABLE: u32 = 1 << 16;

/// Position of Multiple Message Capable: the logarithm of the number of vectors that the function requests.
pub const MSI_CAPABLE_SHIFT: u32 = 17;
/// Position of Multiple Message Enable: the logarithm of the number of vectors that software has allocated.
pub const MSI_COUNT_SHIFT: u32 = 20;

/// Byte offsets of the capabilities.
const MSI_BYTES: u16 = 0x48;
const MSIX_BYTES: u16 = 0x58;
/// ID of the MSI capability.
pub const MSI_ID: u8 = 0x05;
/// ID of the MSI-X capability.
pub const MSIX_ID: u8 = 0x11;

/// The register with Message Control of MSI-X in the upper half, and the capability's header in the lower half.
pub const MSIX: u16 = MSIX_BYTES / 4;
/// MSI-X Enable in Message Control of MSI-X.
pub const MSIX_ENABLE: u32 = 1 << 31;
/// Function Mask in Message Control of MSI-X.
pub const MSIX_FUNCTION_MASK: u32 = 1 << 30;
/// Position of Table Size in Message Control of MSI-X: the number of entries less one.
pub const MSIX_SIZE_SHIFT: u32 = 16;

const ADDRESS_64: u32 = 1 << 23;
const SIZE: u32 = 0x7ff;
/// The bits of Table Offset and of PBA Offset that contain the number of the BAR.
const BAR: u32 = 7;

/// Bytes of an entry of an MSI-X table: Message Address, Message Upper Address, Message Data and Vector Control (PCIe Base 7.7.2).
pub const MSIX_ENTRY: u64 = 16;
/// Offset of Vector Control in an entry.
pub const MSIX_VECTOR_CONTROL: u64 = 12;
/// Mask Bit, in Vector Control.
pub const MSIX_VECTOR_MASK: u32 = 1;

/// The message signalled interrupts that the registers of a function allow it to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signalling {
    /// The function may send no interrupts: neither MSI nor MSI-X is enabled, or both are. To enable both is an error of software with an
    /// undefined result (PCIe Base 7.7.1.2, 7.7.2.2: each may be enabled only while the other is disabled). In this model, the function
    /// then sends nothing.
    None,
    /// MSI.
    Msi,
    /// MSI-X, with the value of Function Mask.
    Msix {
        /// Whether all vectors are masked.
        is_masked: bool,
    },
}

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

impl MsixTable {
    /// Size of the table in bytes.
    pub fn table_bytes(&self) -> u64 {
        u64::from(self.vectors) * MSIX_ENTRY
    }

    /// Size of the pending bits in bytes: whole quadwords.
    pub fn pending_bytes(&self) -> u64 {
        u64::from(self.vectors).div_ceil(64) * 8
    }
}

impl ConfigSpace {
    /// Declares MSI with 64-bit addresses and `vectors` vectors, 1 to 32, rounded up to a power of two.
    pub(super) fn declare_msi(&mut self, vectors: u8) {
        self.append_capability(MSI_BYTES, MSI_ID);
        let capable = u32::from(vectors.clamp(1, 32)).next_power_of_two().ilog2();
        let control = capable << MSI_CAPABLE_SHIFT | ADDRESS_64;
        self.declare(MSI, control, MSI_ENABLE | 7 << MSI_COUNT_SHIFT, 0);
        self.declare(MSI + 1, 0, !3, 0);
        self.declare(MSI + 2, 0, u32::MAX, 0);
        self.declare(MSI + 3, 0, 0xffff, 0);
    }

    pub(super) fn declare_msix(&mut self, place: &MsixTable) {
        self.append_capability(MSIX_BYTES, MSIX_ID);
        let size = u32::from(place.vectors.clamp(1, 2048) - 1) << MSIX_SIZE_SHIFT;
        self.declare(MSIX, size, MSIX_ENABLE | MSIX_FUNCTION_MASK, 0);
        let bar = u32::from(place.bar);
        self.declare(MSIX + 1, place.table & !BAR | bar, 0, 0);
        self.declare(MSIX + 2, place.pending & !BAR | bar, 0, 0);
    }

    /// The location of the MSI-X table and its pending bits, if the function has MSI-X.
    pub fn msix_table(&self) -> Option<MsixTable> {
        let control = self.read(MSIX);
        if control as u8 != MSIX_ID {
            return None;
        }
        let (table, pending) = (self.read(MSIX + 1), self.read(MSIX + 2));
        Some(MsixTable {
            vectors: (control >> MSIX_SIZE_SHIFT & SIZE) as u16 + 1,
            bar: (table & BAR) as u8,
            table: table & !BAR,
            pending: pending & !BAR,
        })
    }

    /// The message signalled interrupts that the function may use.
    pub fn signalling(&self) -> Signalling {
        let control = self.read(MSIX);
        let has_msix = control as u8 == MSIX_ID && control & MSIX_ENABLE != 0;
        match (self.read(MSI) & MSI_ENABLE != 0, has_msix) {
            (true, false) => Signalling::Msi,
            (false, true) => Signalling::Msix {
                is_masked: control & MSIX_FUNCTION_MASK != 0,
            },
            _ => Signalling::None,
        }
    }

    /// Address and data of the memory write that signals interrupt `vector`; `None` if MSI is disabled or `vector` is not allocated.
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
    fn either_capability_signals_and_both_together_do_not() {
        let mut space = ConfigSpace::empty();
        space.declare_msi(1);
        let table = MsixTable {
            vectors: 2048,
            bar: 4,
            table: 0x1000,
            pending: 0x9008,
        };
        space.declare_msix(&table);
        assert_eq!(space.msix_table(), Some(table));
        assert_eq!(
            (table.table_bytes(), table.pending_bytes()),
            (32 << 10, 256)
        );
        let masked = Signalling::Msix { is_masked: true };
        let open = Signalling::Msix { is_masked: false };
        let both = MSIX_ENABLE | MSIX_FUNCTION_MASK;
        for (msi, msix, expected) in [
            (0, 0, Signalling::None),
            (0, MSIX_FUNCTION_MASK, Signalling::None),
            (0, MSIX_ENABLE, open),
            (0, both, masked),
            (MSI_ENABLE, 0, Signalling::Msi),
            (MSI_ENABLE, both, Signalling::None),
        ] {
            space.write(MSI, msi, 0xf);
            space.write(MSIX, msix, 0xf);
            assert_eq!(space.signalling(), expected, "{msi:#x} {msix:#x}");
        }
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
