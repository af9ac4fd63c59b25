//! What a translation agent is asked, and what it answers.

use protocol::FunctionId;
use transaction::Mapping;

/// A question: where does this address lead?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The function that uses the address.
    pub who: FunctionId,
    /// The address, of which no more than the rest of its page of 4 KiB is used (PCIe Base 2.2.7).
    pub address: u64,
    /// What for.
    pub purpose: Purpose,
    /// What the answer is known by.
    pub ticket: u32,
}

/// What an address is translated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To read what is there.
    Read,
    /// To write there, which the page must allow.
    Write,
    /// To tell the device (ATS), which keeps to what the page allows.
    Translation,
}

/// The answer to an [`Ask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// That of the question.
    pub ticket: u32,
    /// The page of the address, or why it cannot be used.
    pub outcome: Result<Mapping, TranslationFault>,
}

/// Why an address cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TranslationFault {
    /// No page is there.
    NotPresent,
    /// The page is not to be written.
    NoRights,
    /// Nobody has said how the addresses of this function are translated.
    NoContext,
    /// The address has more bits than page tables translate.
    BeyondRange,
}
