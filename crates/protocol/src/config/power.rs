//! Power Management (PCIe Base 7.5.2). Functions with this capability always stay in D0.

use super::ConfigSpace;

/// Byte offset of the capability.
const POWER: u16 = 0x40;
const ID: u8 = 0x01;
const VERSION_3: u32 = 3 << 16;
/// No Soft Reset: a function that leaves D3hot keeps its registers.
const NO_SOFT_RESET: u32 = 1 << 3;

impl ConfigSpace {
    pub(super) fn declare_power(&mut self) {
        self.append_capability(POWER, ID);
        self.declare(POWER / 4, VERSION_3, 0, 0);
        self.declare(POWER / 4 + 1, NO_SOFT_RESET, 0, 0);
    }
}
