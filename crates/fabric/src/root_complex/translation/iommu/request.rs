//! Requests to a translation agent, and the agent's answers.

use transaction::{AddressSpace, Mapping};

/// A request for the translation of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IommuRequest {
    /// The address space to which the address belongs.
    pub who: AddressSpace,
    /// The address. The access stays within the 4 KiB page of this address (PCIe Base 2.2.7).
    pub address: u64,
    /// The purpose of the translation.
    pub purpose: Purpose,
    /// The number that identifies the answer to this request.
    pub ticket: u32,
}

/// The purpose of a translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A read.
    Read,
    /// A write, for which the page must have write permission.
    Write,
    /// A translation completion for the device (ATS). The device itself must respect the access rights of the page.
    Translation,
}

/// The answer to an [`IommuRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IommuAnswer {
    /// The ticket of the [`IommuRequest`].
    pub ticket: u32,
    /// The page of the address, or the fault.
    pub outcome: Result<Mapping, TranslationFault>,
}

/// The reason why an address cannot be translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TranslationFault {
    /// The page is not present.
    NotPresent,
    /// The page does not permit writes.
    NoRights,
    /// No page table is attached to the function, or to the process whose addresses it uses.
    NoContext,
    /// The address has more bits than page tables can translate.
    BeyondRange,
    /// A descriptor of the page tables is poisoned (`F_WALK_EABT` of Arm's System MMU).
    Poisoned,
}
