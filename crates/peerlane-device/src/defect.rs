//! Completions that are wrong on purpose, to test how requesters take them.

use std::fmt;

/// An error in the completion of a read of registers; of several completions, the first one has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Byte Count is 4 too large, or 4 too small where it would be above 4096.
    ByteCount,
    /// The lowest bit of Lower Address is inverted.
    LowerAddress,
    /// The lowest bit of the tag is inverted.
    Tag,
    /// The lowest bit of the Requester ID is inverted, so that the completion is for another function of the requester.
    Requester,
    /// The data is poisoned (EP).
    Poisoned,
    /// The status is Request Retry Status, which is for configuration requests only, and there is no data.
    RetryStatus,
    /// The data has a dword more.
    TooMuchData,
    /// The data has a dword less.
    TooLittleData,
}

impl Defect {
    /// All defects, in the order of their numbers in the C interface, from 0 on.
    pub const ALL: [Self; 8] = [
        Self::ByteCount,
        Self::LowerAddress,
        Self::Tag,
        Self::Requester,
        Self::Poisoned,
        Self::RetryStatus,
        Self::TooMuchData,
        Self::TooLittleData,
    ];
}

impl fmt::Display for Defect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Defect::ByteCount => "byte count",
            Defect::LowerAddress => "lower address",
            Defect::Tag => "tag",
            Defect::Requester => "requester",
            Defect::Poisoned => "poisoned data",
            Defect::RetryStatus => "retry status",
            Defect::TooMuchData => "too much data",
            Defect::TooLittleData => "too little data",
        })
    }
}
