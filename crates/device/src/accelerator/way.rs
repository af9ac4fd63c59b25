//! The way from an address as an accelerator knows it to memory.

use kernel::Time;
use transaction::Rights;

use super::translations::{Found, Translations};

/// Where an address leads, once that is known.
pub(super) fn way(translations: &mut Option<Translations>, address: u64, now: Time) -> Option<Way> {
    let Some(translations) = translations else {
        return Some(Way::To(address, Rights::ReadWrite));
    };
    match translations.find(address, now) {
        Found::At(physical, rights) => Some(Way::To(physical, rights)),
        Found::Later => None,
        Found::Nowhere => Some(Way::Nowhere),
    }
}

/// Where a virtual address leads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    /// There, with what may be done.
    To(u64, Rights),
    /// Nowhere: the host says so.
    Nowhere,
}

impl Way {
    /// The physical address, if it may be written as well, where that `writes`.
    pub(super) fn of(self, writes: bool) -> Option<u64> {
        match self {
            Way::To(address, rights) => (rights == Rights::ReadWrite || !writes).then_some(address),
            Way::Nowhere => None,
        }
    }
}
