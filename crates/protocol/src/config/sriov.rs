//! Single Root I/O Virtualization (PCIe Base 9.3.3): how many virtual functions (VFs) a physical function (PF) has, whether they
//! are enabled, and their addresses.

use super::bar::FLAGS;
use super::{Bar, ConfigSpace, MsixTable};
use crate::FunctionId;

/// The register of the capability's header.
pub const SRIOV: u16 = SRIOV_BYTES / 4;
/// SR-IOV Status and SR-IOV Control.
pub const SRIOV_CONTROL: u16 = SRIOV + 2;
/// `TotalVFs` and `InitialVFs`.
pub const TOTAL_VFS: u16 = SRIOV + 3;
/// Function Dependency Link and `NumVFs`.
pub const NUM_VFS: u16 = SRIOV + 4;
/// VF Stride and First VF Offset.
pub const VF_OFFSET_AND_STRIDE: u16 = SRIOV + 5;
/// System Page Size: bit n means 4 KiB times two to the power of n.
pub const SYSTEM_PAGE_SIZE: u16 = SRIOV + 8;
/// VF BAR0.
pub const VF_BARS: u16 = SRIOV + 9;

/// VF Enable in SR-IOV Control.
pub const VF_ENABLE: u32 = 1;
/// VF MSE, Memory Space Enable of all VFs.
pub const VF_MEMORY_SPACE: u32 = 1 << 3;
/// ARI Capable Hierarchy in SR-IOV Control: the port above passes on requests for all 256 functions of the device (PCIe Base 9.3.3.3.5).
pub const ARI_CAPABLE_HIERARCHY: u32 = 1 << 4;

/// Byte offset of the capability, after error reporting.
pub(super) const SRIOV_BYTES: u16 = 0x160;
/// ID of the capability.
pub const SRIOV_ID: u16 = 0x0010;

const VF_DEVICE_ID: u16 = SRIOV + 6;
const SUPPORTED_PAGE_SIZES: u16 = SRIOV + 7;
/// Supported page sizes, required of every PF: 4, 8, 64 and 256 KiB, 1 and 4 MiB (PCIe Base 9.3.3.12).
const PAGE_SIZES: u32 = 0x553;
const PAGE_4_KIB: u32 = 1;
/// First VF Offset if all VFs fit on the bus of the PF: the VFs are functions 1, 2, 3... of its device.
const BEHIND: u32 = 1;
/// First VF Offset if the VFs do not fit on the bus of the PF: the first VF is the first function of the next bus.
const NEXT_BUS: u32 = 1 << 8;
const VF_STRIDE: u32 = 1;
/// Functions besides function 0 of a device without ARI.
const FUNCTIONS_WITHOUT_ARI: u32 = 7;

/// The virtual functions of an endpoint; all have the same properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SrIov {
    /// `TotalVFs`, 1 to 255.
    pub total: u8,
    /// VF Device ID.
    pub device: u16,
    /// The BARs of one VF, 4 KiB or larger. The BARs of all VFs are contiguous.
    pub bars: Vec<Bar>,
    /// Number of MSI vectors that each VF requests, 1 to 32.
    pub msi_vectors: u8,
    /// The MSI-X table of each VF, in a BAR of the VF, if the VFs have one.
    pub msix: Option<MsixTable>,
}

impl SrIov {
    /// The ID of the virtual function with this `number`, counted from 0. `own` is the ID of its PF. `places` is the value of the register
    /// [`VF_OFFSET_AND_STRIDE`] (PCIe Base 9.2.1.2).
    pub fn virtual_id(own: FunctionId, places: u32, number: u16) -> FunctionId {
        let (offset, stride) = (places as u16, (places >> 16) as u16);
        let distance = stride.wrapping_mul(number).wrapping_add(offset);
        FunctionId(own.0.wrapping_add(distance))
    }
}

/// Location of one BAR of all virtual functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualBar {
    /// Address of the first VF's BAR.
    pub base: u64,
    /// Bytes from one VF's BAR to the next: the larger of BAR size and system page size.
    pub share: u64,
}

impl ConfigSpace {
    pub(super) fn declare_sriov(&mut self, sriov: &SrIov) {
        self.append_extended(SRIOV_BYTES, SRIOV_ID, 1);
        let total = u32::from(sriov.total.max(1));
        let control = VF_ENABLE | VF_MEMORY_SPACE | ARI_CAPABLE_HIERARCHY;
        self.declare(SRIOV_CONTROL, 0, control, 0);
        // Without VF migration, InitialVFs equals TotalVFs.
        self.declare(TOTAL_VFS, total << 16 | total, 0, 0);
        self.declare(NUM_VFS, 0, 0xffff, 0);
        self.declare(VF_OFFSET_AND_STRIDE, VF_STRIDE << 16, 0, 0);
        self.place_virtual_functions();
        self.declare(VF_DEVICE_ID, u32::from(sriov.device) << 16, 0, 0);
        self.declare(SUPPORTED_PAGE_SIZES, PAGE_SIZES, 0, 0);
        self.declare(SYSTEM_PAGE_SIZE, PAGE_4_KIB, PAGE_SIZES, 0);
        for bar in &sriov.bars {
            self.declare_bar_at(VF_BARS + u16::from(bar.index), *bar);
        }
    }

    fn has_sriov(&self) -> bool {
        self.read(SRIOV) & 0xffff == u32::from(SRIOV_ID)
    }

    /// Vendor and device ID of the VFs. The registers of the VFs do not contain these IDs (PCIe Base 9.3.3.11).
    pub fn virtual_identity(&self) -> [u8; 4] {
        let vendor = self.read(0) as u16;
        let device = (self.read(VF_DEVICE_ID) >> 16) as u16;
        let ([a, b], [c, d]) = (vendor.to_le_bytes(), device.to_le_bytes());
        [a, b, c, d]
    }

    /// Number of VFs: `NumVFs` while VF Enable is set, otherwise 0.
    pub fn virtual_functions(&self) -> usize {
        if !self.has_sriov() || self.read(SRIOV_CONTROL) & VF_ENABLE == 0 {
            return 0;
        }
        let total = self.read(TOTAL_VFS) >> 16;
        (self.read(NUM_VFS) & 0xffff).min(total) as usize
    }

    /// Whether VFs exist and answer memory requests.
    pub fn virtual_memory_enable(&self) -> bool {
        self.virtual_functions() > 0 && self.read(SRIOV_CONTROL) & VF_MEMORY_SPACE != 0
    }

    /// The ID of virtual function `number`, counted from 0; `own` is the ID of this PF.
    pub fn virtual_id(&self, own: FunctionId, number: usize) -> FunctionId {
        SrIov::virtual_id(own, self.read(VF_OFFSET_AND_STRIDE), number as u16)
    }

    /// The number of the virtual function whose ID is greater than the ID of the PF by `distance`, if this function exists.
    pub fn virtual_number(&self, distance: u16) -> Option<usize> {
        let places = self.read(VF_OFFSET_AND_STRIDE);
        let (offset, stride) = (places as u16, places >> 16);
        let number = u32::from(distance.checked_sub(offset)?).checked_div(stride)? as usize;
        (number < self.virtual_functions()).then_some(number)
    }

    /// The location of BAR `index` of the VFs, whether VF Enable and VF MSE are set or not; `None` if the VFs do not have this BAR.
    pub fn virtual_bar(&self, index: u8) -> Option<VirtualBar> {
        let register = VF_BARS + u16::from(index);
        let size = self.bar_size_at(register).filter(|_| self.has_sriov())?;
        Some(VirtualBar {
            base: self.bar_base_at(register),
            share: size.max(self.system_page()),
        })
    }

    /// Updates dependent registers after a write: aligns the VF BARs to the system page size (PCIe Base 9.3.3.14), and sets First VF
    /// Offset, which may depend on ARI Capable Hierarchy (9.3.3.8).
    pub fn apply_virtual_registers(&mut self) {
        if self.has_sriov() {
            self.place_virtual_functions();
            self.align_virtual_bars();
        }
    }

    /// Sets First VF Offset. Without ARI, a device has only functions 0 to 7; if the VFs do not fit, they start on the next bus.
    fn place_virtual_functions(&mut self) {
        let total = self.read(TOTAL_VFS) >> 16;
        let has_ari = self.read(SRIOV_CONTROL) & ARI_CAPABLE_HIERARCHY != 0;
        let offset = if has_ari || total <= FUNCTIONS_WITHOUT_ARI {
            BEHIND
        } else {
            NEXT_BUS
        };
        self.update(VF_OFFSET_AND_STRIDE, 0xffff, offset);
    }

    fn align_virtual_bars(&mut self) {
        let below = (self.system_page() - 1) as u32 & !FLAGS;
        let mut register = VF_BARS;
        while register < VF_BARS + Bar::COUNT as u16 {
            self.update(register, below, 0);
            register += if Bar::is_wide(self.read(register)) {
                2
            } else {
                1
            };
        }
    }

    fn system_page(&self) -> u64 {
        let smallest = self.read(SYSTEM_PAGE_SIZE) | 1 << PAGE_SIZES.ilog2();
        4096 << smallest.trailing_zeros()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(bars: Vec<Bar>) -> ConfigSpace {
        with_total(4, bars)
    }

    fn with_total(total: u8, bars: Vec<Bar>) -> ConfigSpace {
        let mut space = ConfigSpace::empty();
        space.declare_sriov(&SrIov {
            total,
            device: 0x1234,
            bars,
            msi_vectors: 1,
            msix: None,
        });
        space
    }

    fn bar(index: u8, size: u64, wide: bool) -> Bar {
        Bar { index, size, wide }
    }

    #[test]
    fn there_are_as_many_virtual_functions_as_are_asked_for_while_they_are_enabled() {
        let mut space = space(Vec::new());
        for (control, number, there) in [
            (0, 3, 0),
            (VF_ENABLE, 0, 0),
            (VF_ENABLE, 3, 3),
            (VF_ENABLE, 4, 4),
            (VF_ENABLE, 5, 4),
        ] {
            space.write(NUM_VFS, number, 0b0011);
            space.write(SRIOV_CONTROL, control, 0b0011);
            assert_eq!(space.virtual_functions(), there);
            assert!(!space.virtual_memory_enable());
        }
        space.write(SRIOV_CONTROL, VF_ENABLE | VF_MEMORY_SPACE, 0b0011);
        assert!(space.virtual_memory_enable());
        space.write(SRIOV_CONTROL, VF_MEMORY_SPACE, 0b0011);
        assert!(!space.virtual_memory_enable());
    }

    #[test]
    fn a_function_without_the_capability_has_no_virtual_functions() {
        let mut space = ConfigSpace::empty();
        assert_eq!(space.virtual_functions(), 0);
        assert_eq!(space.virtual_bar(0), None);
        space.apply_virtual_registers();
        assert_eq!(space, ConfigSpace::empty());
    }

    #[test]
    fn virtual_functions_follow_their_physical_function() {
        let own = FunctionId::new(3, 0, 0);
        let space = space(Vec::new());
        assert_eq!(space.virtual_id(own, 0), FunctionId::new(3, 0, 1));
        assert_eq!(space.virtual_id(own, 3), FunctionId::new(3, 0, 4));
    }

    #[test]
    fn more_virtual_functions_than_a_device_has_are_on_the_next_bus_or_need_ari() {
        let own = FunctionId::new(3, 0, 0);
        for (total, ari, first, last) in [
            (7, 0, (3, 0, 1), (3, 0, 7)),
            (8, 0, (4, 0, 0), (4, 0, 7)),
            (8, ARI_CAPABLE_HIERARCHY, (3, 0, 1), (3, 1, 0)),
            (255, 0, (4, 0, 0), (4, 31, 6)),
            (255, ARI_CAPABLE_HIERARCHY, (3, 0, 1), (3, 31, 7)),
        ] {
            let mut space = with_total(total, Vec::new());
            space.write(NUM_VFS, total.into(), 0b0011);
            space.write(SRIOV_CONTROL, VF_ENABLE | ari, 0b0011);
            space.apply_virtual_registers();
            let id = |(bus, device, function)| FunctionId::new(bus, device, function);
            let count = usize::from(total);
            assert_eq!(space.virtual_id(own, 0), id(first));
            assert_eq!(space.virtual_id(own, count - 1), id(last));
            for number in 0..count {
                let distance = space.virtual_id(own, number).0 - own.0;
                assert_eq!(space.virtual_number(distance), Some(number));
            }
            let beyond = id(last).0 - own.0 + 1;
            assert_eq!(space.virtual_number(beyond), None);
            assert_eq!(space.virtual_number(0), None);
        }
    }

    #[test]
    fn a_share_is_the_size_of_the_bar_or_a_system_page() {
        let mut space = space(vec![bar(0, 4096, false), bar(2, 1 << 20, true)]);
        space.write(VF_BARS, 0xc000_1000, 0xf);
        space.write(VF_BARS + 2, 0x0010_0000, 0xf);
        space.write(VF_BARS + 3, 0x0000_1001, 0xf);
        let small = VirtualBar {
            base: 0xc000_1000,
            share: 4096,
        };
        let large = VirtualBar {
            base: 0x1001_0010_0000,
            share: 1 << 20,
        };
        assert_eq!(space.virtual_bar(0), Some(small));
        assert_eq!(space.virtual_bar(1), None);
        assert_eq!(space.virtual_bar(2), Some(large));
        space.write(SYSTEM_PAGE_SIZE, 1 << 4, 0xf);
        space.apply_virtual_registers();
        let paged = VirtualBar {
            base: 0xc000_0000,
            share: 64 << 10,
        };
        assert_eq!(space.virtual_bar(0), Some(paged));
        assert_eq!(space.virtual_bar(2), Some(large));
    }

    #[test]
    fn a_virtual_bar_tells_its_share_when_all_ones_are_written() {
        for (page, share) in [(0, 16 << 10), (1, 16 << 10), (6, 256 << 10), (10, 4 << 20)] {
            let mut space = space(vec![bar(0, 16 << 10, false)]);
            space.write(SYSTEM_PAGE_SIZE, 1 << page, 0xf);
            space.write(VF_BARS, u32::MAX, 0xf);
            space.apply_virtual_registers();
            let sized = Bar::sized(0, space.read(VF_BARS), 0);
            assert_eq!(sized, Some(bar(0, share, false)));
        }
    }
}
