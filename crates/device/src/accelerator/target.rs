//! The translation of an accelerator's address to a target in memory.

use kernel::Time;
use transaction::Rights;

use super::translations::{Resolution, Translations};

/// The target of an address, when it is known.
pub(super) fn target(
    translations: &mut Option<Box<Translations>>,
    address: u64,
    now: Time,
) -> Option<Target> {
    let Some(translations) = translations else {
        return Some(Target::Memory(address, Rights::ReadWrite));
    };
    match translations.find(address, now) {
        Resolution::At(physical, rights) => Some(Target::Memory(physical, rights)),
        Resolution::Pending => None,
        Resolution::Unmapped => Some(Target::Unmapped),
    }
}

/// The target of a virtual address.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    /// The physical address, with the rights of the page.
    Memory(u64, Rights),
    /// The host has no mapping for the address.
    Unmapped,
}

impl Target {
    /// The physical address; none if `writes` is set but the page must not be written.
    pub(super) fn address(self, writes: bool) -> Option<u64> {
        match self {
            Target::Memory(address, rights) => {
                (rights == Rights::ReadWrite || !writes).then_some(address)
            }
            Target::Unmapped => None,
        }
    }
}
