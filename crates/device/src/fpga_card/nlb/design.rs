//! The designs that have the registers of the native loopback.

use crate::fpga_card::AfuId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Design {
    /// The native loopback in mode 0, which only copies.
    Mode0,
    /// The native loopback in mode 3, which reads, writes, does both, or copies.
    Mode3,
    /// The native loopback in mode 7, which exchanges data with software.
    Mode7,
    /// The host exerciser for loopback, HE-LB.
    HostExerciser,
    /// The host exerciser with local memory, HE-MEM.
    MemoryExerciser,
}

impl Design {
    pub(super) fn id(self) -> AfuId {
        match self {
            Design::Mode0 => AfuId(0xd842_4dc4_a4a3_c413_f89e_4336_83f9_040b),
            Design::Mode3 => AfuId(0xf7df_405c_bd7a_cf72_22f1_44b0_b93a_cd18),
            Design::Mode7 => AfuId(0x7baf_4dea_a57c_e91e_168a_455d_9bda_88a3),
            Design::HostExerciser => AfuId(0x56e2_03e9_864f_49a7_b94b_1228_4c31_e02b),
            Design::MemoryExerciser => AfuId(0x8568_ab4e_6ba5_4616_bb65_2a57_8330_a8eb),
        }
    }

    pub(super) fn is_exerciser(self) -> bool {
        matches!(self, Design::HostExerciser | Design::MemoryExerciser)
    }
}
