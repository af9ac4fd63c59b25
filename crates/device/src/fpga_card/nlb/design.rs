//! The designs with the registers of the native loopback.

use super::Nlb;
use crate::fpga_card::AfuId;

/// A design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Design {
    /// The native loopback that only copies.
    Mode0,
    /// The native loopback that reads, writes, or does both; it copies, too.
    Mode3,
    /// The native loopback that exchanges data with software.
    Mode7,
    /// The host exerciser for loopback, HE-LB.
    HostExerciser,
    /// The host exerciser with local memory, HE-MEM.
    MemoryExerciser,
}

impl Design {
    pub(super) fn id(self) -> AfuId {
        match self {
            Design::Mode0 => Nlb::MODE_0,
            Design::Mode3 => Nlb::MODE_3,
            Design::Mode7 => Nlb::MODE_7,
            Design::HostExerciser => Nlb::HOST_EXERCISER,
            Design::MemoryExerciser => Nlb::MEMORY_EXERCISER,
        }
    }

    pub(super) fn is_exerciser(self) -> bool {
        matches!(self, Design::HostExerciser | Design::MemoryExerciser)
    }
}
