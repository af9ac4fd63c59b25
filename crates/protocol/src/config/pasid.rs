//! The PASID extended capability (PCIe Base 6.20): whether a function may send requests in the address spaces of processes.

use super::ConfigSpace;
use crate::{Header, Kind, Pasid};

/// The register with PASID Control in the upper half and PASID Capability in the lower half.
pub const PASID: u16 = PASID_BYTES / 4 + 1;
/// PASID Enable, in PASID Control.
pub const PASID_ENABLE: u32 = 1 << 16;
/// Execute Permission Enable, in PASID Control.
pub const PASID_EXECUTE_ENABLE: u32 = 1 << 17;
/// Privileged Mode Enable, in PASID Control.
pub const PASID_PRIVILEGED_ENABLE: u32 = 1 << 18;
/// The enables in PASID Control that a function with this PASID Capability has, in the same register.
pub const fn pasid_enables(capability: u32) -> u32 {
    PASID_ENABLE | (capability & (EXECUTE | PRIVILEGED)) << 16
}

/// Byte offset of the capability, after the data link features.
pub(super) const PASID_BYTES: u16 = 0x1d0;
/// ID of the capability.
pub const ID: u16 = 0x001b;

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

/// The PASID prefixes that a function may send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PasidControl {
    /// PASID Enable.
    pub is_enabled: bool,
    /// Execute Permission Enable.
    pub may_execute: bool,
    /// Privileged Mode Enable.
    pub is_privileged: bool,
}

impl PasidControl {
    /// The prefix that `header` gets of the wanted one. Execute Requested is for reads and translation requests (PCIe Base 6.20.2.2).
    pub fn allow(self, wanted: Option<Pasid>, header: &Header) -> Option<Pasid> {
        let wanted = wanted.filter(|_| self.is_enabled && header.may_have_pasid())?;
        let is_read = matches!(header.kind, Kind::MemoryRead(_));
        let execute = wanted.is_execute_requested() && self.may_execute && is_read;
        Some(wanted.requesting(execute, wanted.is_privileged() && self.is_privileged))
    }
}

impl ConfigSpace {
    pub(super) fn declare_pasid(&mut self, spaces: AddressSpaces) {
        let mut capability = u32::from(spaces.width.min(Pasid::MAX_WIDTH)) << WIDTH;
        if spaces.execute {
            capability |= EXECUTE;
        }
        if spaces.privileged {
            capability |= PRIVILEGED;
        }
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
    use crate::{FunctionId, Tag};

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

    #[test]
    fn a_prefix_has_the_permissions_that_are_enabled_and_fit_the_request() {
        let (requester, address) = (FunctionId::new(1, 0, 0), 0x1000);
        let read = Header::memory_read(requester, Tag(0), address, 4).expect("a legal read");
        let write = Header::memory_write(requester, address, 4).expect("a legal write");
        let wanted = Pasid::new(9).map(|pasid| pasid.requesting(true, true));
        let mut control = PasidControl::default();
        assert_eq!(control.allow(wanted, &read), None);
        control.is_enabled = true;
        assert_eq!(control.allow(None, &read), None);
        assert_eq!(control.allow(wanted, &read), Pasid::new(9));
        control.may_execute = true;
        control.is_privileged = true;
        assert_eq!(control.allow(wanted, &read), wanted);
        let without = wanted.map(|pasid| pasid.requesting(false, true));
        assert_eq!(control.allow(wanted, &write), without);
        assert_eq!(control.allow(wanted, &write.translated()), None);
    }
}
