//! Completions that are wrong on purpose, to test how requesters take them.

use crate::numbered::numbered;

numbered! {
    /// An error in the completion of a read of registers; of several completions, the first one has it.
    Defect {
        /// Byte Count is 4 too large, or 4 too small where it would be above 4096.
        ByteCount = "byte count",
        /// The lowest bit of Lower Address is inverted.
        LowerAddress = "lower address",
        /// The lowest bit of the tag is inverted.
        Tag = "tag",
        /// The lowest bit of the Requester ID is inverted, so that the completion is for another function of the requester.
        Requester = "requester",
        /// The data is poisoned (EP).
        Poisoned = "poisoned data",
        /// The status is Request Retry Status, which is for configuration requests only, and there is no data.
        RetryStatus = "retry status",
        /// The data has a dword more.
        TooMuchData = "too much data",
        /// The data has a dword less.
        TooLittleData = "too little data",
    }
}
