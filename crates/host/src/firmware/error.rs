//! Why a tree cannot be enumerated.

use protocol::FunctionId;
use thiserror::Error;

/// What firmware runs out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FirmwareError {
    /// All 256 buses have been given out before this bridge got one.
    #[error("no bus number is left for what is below bridge {0}")]
    NoBus(FunctionId),
    /// The BARs of one width are more than their part of the address space holds.
    #[error("the BARs have no room in {room:#x} bytes; the largest is that of {function}")]
    NoRoom {
        /// The function with the largest BAR.
        function: FunctionId,
        /// Whether the 64-bit BARs are meant.
        wide: bool,
        /// Bytes that there are.
        room: u64,
    },
}
