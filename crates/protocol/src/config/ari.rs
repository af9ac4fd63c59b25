//! Alternative Routing-ID Interpretation (PCIe Base 6.13, 7.8.8): a device whose function numbers have 8 bits, in place of a device
//! number of 5 bits and a function number of 3 bits.
//!
//! All registers of the capability are 0: the virtual functions of a device are found by its SR-IOV capability, so Next Function Number
//! ends the list at function 0, and there are no function groups.

use super::ConfigSpace;

/// Byte offset of the capability, between error reporting and SR-IOV.
const ARI_BYTES: u16 = 0x150;
/// ID of the capability.
pub const ARI_ID: u16 = 0x000e;

impl ConfigSpace {
    /// Declares the capability: every function of a device with SR-IOV has it (PCIe Base 9.3.7).
    pub(super) fn declare_ari(&mut self) {
        self.append_extended(ARI_BYTES, ARI_ID, 1);
    }
}
