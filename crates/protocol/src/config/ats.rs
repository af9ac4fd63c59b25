//! Address Translation Services (PCIe Base 7.8.9 and 10.5.1): whether a function may request translations and cache them.

use super::ConfigSpace;
use super::space::bits_if;

/// The register with ATS Control in the upper half and ATS Capability in the lower half.
pub const ATS: u16 = ATS_BYTES / 4 + 1;
/// Enable, in ATS Control.
pub const ATS_ENABLE: u32 = 1 << 31;
/// Position of Smallest Translation Unit in ATS Control: the logarithm of the number of 4 KiB pages, in five bits.
pub const ATS_UNIT_SHIFT: u32 = 16;

/// Byte offset of the capability, after SR-IOV.
pub(super) const ATS_BYTES: u16 = 0x1a0;
/// ID of the capability.
pub const ATS_ID: u16 = 0x000f;

const QUEUE_DEPTH: u32 = 0x1f;
/// Page Aligned Request: the untranslated addresses in translation requests are page-aligned, because the header has no bits for the offset
/// in a page.
const PAGE_ALIGNED_REQUEST: u32 = 1 << 5;
const GLOBAL_INVALIDATE_SUPPORTED: u32 = 1 << 6;
const UNIT: u32 = 0x1f << ATS_UNIT_SHIFT;
const SMALLEST_UNIT: u64 = 4096;

/// The properties of a function's address translation cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ats {
    /// The number of Invalidate Requests that the function accepts before it applies backpressure to the link, 1 to 32.
    pub invalidate_queue_depth: u8,
    /// Whether the function supports Global Invalidate, for all address spaces at once.
    pub global_invalidate: bool,
}

impl ConfigSpace {
    pub(super) fn declare_ats(&mut self, ats: &Ats) {
        self.append_extended(ATS_BYTES, ATS_ID, 1);
        // 0 stands for 32 (PCIe Base 10.5.1.2).
        let depth = u32::from(ats.invalidate_queue_depth.clamp(1, 32)) & QUEUE_DEPTH;
        let global = bits_if(ats.global_invalidate, GLOBAL_INVALIDATE_SUPPORTED);
        let capability = depth | PAGE_ALIGNED_REQUEST | global;
        self.declare(ATS, capability, ATS_ENABLE | UNIT, 0);
    }

    /// Declares the capability of a virtual function. Invalidate Queue Depth and Smallest Translation Unit of the physical function apply
    /// to it (PCIe Base 10.5.1).
    pub(super) fn declare_virtual_ats(&mut self, ats: &Ats) {
        self.append_extended(ATS_BYTES, ATS_ID, 1);
        let mut physical = Self::empty();
        physical.declare_ats(ats);
        let capability = physical.read(ATS) & !QUEUE_DEPTH;
        self.declare(ATS, capability, ATS_ENABLE, 0);
    }

    /// Whether the function may request translations and cache them.
    pub fn ats_enabled(&self) -> bool {
        self.read(ATS) & ATS_ENABLE != 0
    }

    /// Smallest size of a translation or an invalidation in bytes, 4 KiB to 8 TiB. The value of a physical function applies to its
    /// virtual functions.
    pub fn smallest_translation_unit(&self) -> u64 {
        SMALLEST_UNIT << (self.read(ATS) >> ATS_UNIT_SHIFT & 0x1f)
    }

    /// The number of Invalidate Requests that the function accepts before it applies backpressure to the link.
    pub fn invalidate_queue_depth(&self) -> u8 {
        match (self.read(ATS) & QUEUE_DEPTH) as u8 {
            0 => 32,
            depth => depth,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(invalidate_queue_depth: u8) -> ConfigSpace {
        let mut space = ConfigSpace::empty();
        space.declare_ats(&Ats {
            invalidate_queue_depth,
            global_invalidate: true,
        });
        space
    }

    #[test]
    fn a_function_tells_how_many_invalidations_it_takes() {
        for (depth, field) in [(1, 1), (31, 31), (32, 0)] {
            let space = space(depth);
            assert_eq!(space.read(ATS), 0x60 | field);
            assert_eq!(space.invalidate_queue_depth(), depth);
        }
    }

    #[test]
    fn software_enables_translation_and_says_its_smallest_unit() {
        let mut space = space(8);
        assert!(!space.ats_enabled());
        assert_eq!(space.smallest_translation_unit(), 4096);
        space.write(ATS, u32::MAX, 0xf);
        assert_eq!(space.read(ATS), 0x801f_0068);
        assert!(space.ats_enabled());
        assert_eq!(space.smallest_translation_unit(), 8 << 40);
        space.write(ATS, 9 << ATS_UNIT_SHIFT, 0xf);
        assert_eq!(space.smallest_translation_unit(), 2 << 20);
    }

    #[test]
    fn a_function_without_the_capability_translates_nothing() {
        let mut space = ConfigSpace::empty();
        space.write(ATS, u32::MAX, 0xf);
        assert!(!space.ats_enabled());
    }
}
