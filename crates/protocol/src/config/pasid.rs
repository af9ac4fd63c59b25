//! The PASID extended capability (PCIe Base 6.20): whether a function may send requests in the address spaces of processes.

use super::ConfigSpace;
use super::space::bits_if;
use crate::Pasid;

/// The register with PASID Control in the upper half and PASID Capability in the lower half.
pub const PASID: u16 = PASID_BYTES / 4 + 1;
/// PASID Enable, in PASID Control.
pub const PASID_ENABLE: u32 = 1 << 16;
/// Execute Permission Enable, in PASID Control.
pub const PASID_EXECUTE_ENABLE: u32 = 1 << 17;
/// Privileged Mode Enable, in PASID Control.
pub const PASID_PRIVILEGED_ENABLE: u32 = 1 << 18;
/// The enable bits in PASID Control of a function whose PASID Capability is `capability`. Both are in the same register.
pub const fn pasid_enables(capability: u32) -> u32 {
    PASID_ENABLE | (capability & (EXECUTE | PRIVILEGED)) << 16
}

/// Byte offset of the capability, after the data link features.
const PASID_BYTES: u16 = 0x1d0;
/// ID of the capability.
pub const PASID_ID: u16 = 0x001b;

/// Execute Permission Supported.
const EXECUTE: u32 = 1 << 1;
/// Privileged Mode Supported.
const PRIVILEGED: u32 = 1 << 2;
/// Position of Max PASID Width.
const WIDTH: u32 = 8;

/// The address spaces that a function can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressSpaces {
    /// Max PASID Width: the bits of the numbers of address spaces, 0 to 20.
    pub width: u8,
    /// Execute Permission Supported.
    pub execute: bool,
    /// Privileged Mode Supported.
    pub privileged: bool,
}

/// The settings of PASID Control: the PASID prefixes that a function may send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PasidControl {
    /// PASID Enable.
    pub is_enabled: bool,
    /// Execute Permission Enable.
    pub may_execute: bool,
    /// Privileged Mode Enable.
    pub is_privileged: bool,
}

impl ConfigSpace {
    pub(super) fn declare_pasid(&mut self, spaces: AddressSpaces) {
        self.append_extended(PASID_BYTES, PASID_ID, 1);
        let capability = u32::from(spaces.width.min(Pasid::MAX_WIDTH)) << WIDTH
            | bits_if(spaces.execute, EXECUTE)
            | bits_if(spaces.privileged, PRIVILEGED);
        self.declare(PASID, capability, pasid_enables(capability), 0);
    }

    /// The PASID prefixes that the function, or a virtual function of it, may send.
    pub fn pasid_control(&self) -> PasidControl {
        let control = self.read(PASID);
        PasidControl {
            is_enabled: control & PASID_ENABLE != 0,
            may_execute: control & PASID_EXECUTE_ENABLE != 0,
            is_privileged: control & PASID_PRIVILEGED_ENABLE != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(execute: bool, privileged: bool) -> ConfigSpace {
        let mut space = ConfigSpace::empty();
        space.declare_pasid(AddressSpaces {
            width: 20,
            execute,
            privileged,
        });
        space
    }

    #[test]
    fn only_permissions_that_the_function_supports_can_be_enabled() {
        for (execute, privileged) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut space = space(execute, privileged);
            assert_eq!(space.pasid_control(), PasidControl::default());
            space.write(PASID, u32::MAX, 0xf);
            let expected = PasidControl {
                is_enabled: true,
                may_execute: execute,
                is_privileged: privileged,
            };
            assert_eq!(space.pasid_control(), expected);
        }
    }
}
