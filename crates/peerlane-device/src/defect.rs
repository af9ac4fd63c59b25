//! Completions that are malformed on purpose, to test how requesters handle them.

use crate::numbered::numbered;

numbered! {
    /// An error in the completion of a read of registers. If the read has several completions, the first one has the error.
    Defect {
        /// Byte Count is 4 too large, or 4 too small if it would exceed 4096 otherwise.
        ByteCount = "byte count",
        /// The lowest bit of Lower Address is inverted.
        LowerAddress = "lower address",
        /// The lowest bit of the tag is inverted.
        Tag = "tag",
        /// The lowest bit of the Requester ID is inverted, so that the completion is for another function of the requester.
        Requester = "requester",
        /// The data is poisoned (EP).
        Poisoned = "poisoned data",
        /// The status is Request Retry Status, which is valid for configuration requests only, and the completion has no data.
        RetryStatus = "retry status",
        /// The completion has one dword of data too many.
        TooMuchData = "too much data",
        /// The completion has one dword of data too few.
        TooLittleData = "too little data",
    }
}
