//! The translation of an accelerator's address to a target in memory.

use kernel::Time;
use transaction::Rights;

use super::translations::{Target, Translations};

/// The target of an address; none while its translation is not available.
pub(super) fn target(
    translations: &mut Option<Box<Translations>>,
    address: u64,
    now: Time,
) -> Option<Target> {
    match translations {
        Some(translations) => translations.find(address, now),
        None => Some(Target::Memory(address, Rights::ReadWrite)),
    }
}
