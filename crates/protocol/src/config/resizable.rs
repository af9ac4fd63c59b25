//! Resizable BARs (PCIe Base 7.8.6): software chooses the size of a BAR among the sizes that the function supports.

use super::bar::FLAGS;
use super::header::BARS;
use super::{Bar, ConfigSpace};

/// ID of the extended capability.
pub const RESIZABLE_BAR_ID: u16 = 0x0015;
/// The register with the supported sizes: bit 4 + n stands for 1 MiB times 2^n.
pub const RESIZABLE_BAR: u16 = RESIZABLE_BYTES / 4 + 1;
/// The register with the index of the BAR, the number of resizable BARs, and BAR Size.
pub const RESIZABLE_BAR_CONTROL: u16 = RESIZABLE_BAR + 1;
/// BAR Size in the control register: the value n stands for 1 MiB times 2^n.
pub const BAR_SIZE: u32 = 0x3f << BAR_SIZE_SHIFT;
/// Position of BAR Size.
pub const BAR_SIZE_SHIFT: u32 = 8;

/// Byte offset of the capability, after PASID.
const RESIZABLE_BYTES: u16 = 0x1e0;
/// Position of the bit of 1 MiB among the supported sizes.
const SIZES_SHIFT: u32 = 4;
/// The smallest size in units of 1 MiB, as a power of two: 64 MiB, as on GPUs of NVIDIA.
const SMALLEST: u32 = 6;
/// 1 MiB, as a power of two.
const UNIT: u32 = 20;
/// One resizable BAR, in the number of resizable BARs.
const ONE: u32 = 1 << 5;

impl ConfigSpace {
    /// Makes the declared `bar` resizable, from 64 MiB to its own size, which is its size after reset. A BAR has 1 MiB at least.
    pub(super) fn declare_resizable(&mut self, bar: Bar) {
        let own = bar.size.trailing_zeros() - UNIT;
        let sizes = (SMALLEST.min(own)..=own).fold(0, |sizes, size| sizes | 1 << size);
        self.append_extended(RESIZABLE_BYTES, RESIZABLE_BAR_ID, 1);
        self.declare(RESIZABLE_BAR, sizes << SIZES_SHIFT, 0, 0);
        let control = u32::from(bar.index) | ONE | own << BAR_SIZE_SHIFT;
        self.declare(RESIZABLE_BAR_CONTROL, control, BAR_SIZE, 0);
        // Of a BAR of 4 GiB or more, no bit of the low half is writable, but of a smaller one.
        self.declare(BARS + u16::from(bar.index), 0, !FLAGS, 0);
        self.resize();
    }

    /// Applies a write to `register`, whose value was `before`. A size that the function does not support changes nothing.
    pub(super) fn write_resizable(&mut self, register: u16, before: u32) {
        let sizes = self.read(RESIZABLE_BAR) >> SIZES_SHIFT;
        if register != RESIZABLE_BAR_CONTROL || sizes == 0 {
            return;
        }
        let size = (self.read(register) & BAR_SIZE) >> BAR_SIZE_SHIFT;
        if sizes.checked_shr(size).unwrap_or(0) & 1 == 0 {
            self.update(register, BAR_SIZE, before);
        }
        self.resize();
    }

    /// Gives the resizable BAR, if there is one, the size in its control register.
    pub(super) fn resize(&mut self) {
        let control = self.read(RESIZABLE_BAR_CONTROL);
        if self.read(RESIZABLE_BAR) == 0 {
            return;
        }
        let index = (control & 7) as u16;
        let size = 1 << (UNIT + ((control & BAR_SIZE) >> BAR_SIZE_SHIFT));
        self.set_bar_size(BARS + index, size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn space(size: u64) -> ConfigSpace {
        let bar = Bar {
            index: 0,
            size,
            wide: true,
        };
        let mut space = ConfigSpace::empty();
        space.declare_bar(bar);
        space.declare_resizable(bar);
        space
    }

    fn resized(space: &mut ConfigSpace, exponent: u32) -> Option<u64> {
        space.write(RESIZABLE_BAR_CONTROL, exponent << BAR_SIZE_SHIFT, 0xf);
        space.bar_size(0)
    }

    #[test]
    fn software_chooses_one_of_the_supported_sizes() {
        let mut space = space(16 * GIB);
        assert_eq!(space.read(RESIZABLE_BAR), 0x1ff << 10, "64 MiB to 16 GiB");
        assert_eq!(space.read(RESIZABLE_BAR_CONTROL), 14 << 8 | 1 << 5);
        assert_eq!(space.bar_size(0), Some(16 * GIB));
        assert_eq!(resized(&mut space, 8), Some(GIB / 4));
        for unsupported in [5, 15, 63] {
            assert_eq!(resized(&mut space, unsupported), Some(GIB / 4));
            assert_eq!(space.read(RESIZABLE_BAR_CONTROL) & BAR_SIZE, 8 << 8);
        }
        assert_eq!(resized(&mut space, 14), Some(16 * GIB));
    }

    #[test]
    fn an_address_keeps_only_the_bits_of_the_new_size() {
        let mut space = space(16 * GIB);
        resized(&mut space, 6);
        space.write(BARS, 0xfc00_0000, 0xf);
        space.write(BARS + 1, 0x81, 0xf);
        assert_eq!(space.bar_base(0), 0x81_fc00_0000);
        resized(&mut space, 14);
        assert_eq!(space.bar_base(0), 0x80_0000_0000);
        assert_eq!(space.read(BARS) & 0xf, 0b1100);
    }

    #[test]
    fn a_reset_returns_the_size() {
        let mut space = space(GIB);
        resized(&mut space, 6);
        space.function_level_reset();
        assert_eq!(space.bar_size(0), Some(GIB));
        resized(&mut space, 6);
        space.reset(false);
        assert_eq!(space.bar_size(0), Some(GIB));
    }

    #[test]
    fn a_small_bar_has_one_size() {
        assert_eq!(space(2 << 20).read(RESIZABLE_BAR), 1 << 5);
    }
}
