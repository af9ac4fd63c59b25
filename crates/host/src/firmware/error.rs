//! The errors of enumeration.

use protocol::FunctionId;
use thiserror::Error;

/// A resource that firmware has used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FirmwareError {
    /// All 256 bus numbers are in use, and this bridge needs another one.
    #[error("no bus number is left for bridge {0}; use at most 256 buses")]
    NoBus(FunctionId),
    /// The virtual functions of this function need a bus number above 255.
    #[error(
        "no bus number is left for the virtual functions of {0}; enable ARI Forwarding above it, or use fewer buses"
    )]
    NoBusForVirtual(FunctionId),
    /// Earlier functions have used all interrupt vectors whose numbers fit in the Message Data of this function's MSI.
    #[error("no interrupt vector is left for {0}; let functions before it request fewer")]
    NoVector(FunctionId),
    /// The BARs of one width do not fit in their part of the address space.
    #[error(
        "the BARs do not fit in {room:#x} bytes; make BARs smaller, first the largest, of {function}"
    )]
    NoRoom {
        /// The function with the largest BAR.
        function: FunctionId,
        /// True if the 64-bit BARs do not fit, false if the 32-bit BARs do not fit.
        wide: bool,
        /// The size of the part of the address space in bytes.
        room: u64,
    },
}
