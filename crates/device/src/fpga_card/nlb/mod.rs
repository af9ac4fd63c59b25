//! The native loopback (NLB): copies, reads or writes host memory, counts, and writes its status to memory.
//!
//! It follows the published designs: mode 0 copies; mode 3 reads, writes, or does both at the same time, once or until software
//! stops it. At the end it writes a status line to the device status memory (DSM), after all its data.
//!
//! The host exercisers of the later cards (HE-LB and HE-MEM) have nearly the same registers and all four types of tests. HE-MEM copies
//! by way of the card's memory, and its reads and writes are of the card's memory; the status line is in host memory. Their atomic
//! requests are not modelled, and a register says so; requests of more than 4 lines are several of 4.

mod design;
mod registers;
mod run;

use super::words::{dwords, load_dwords};
use super::{Afu, AfuId, ReadError, Shell};
use design::Design;
use registers::Registers;
use run::Run;

/// The native loopback.
#[derive(Debug)]
pub(super) struct Nlb {
    design: Design,
    registers: Registers,
    run: Run,
}

/// The type of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Copy,
    Read,
    Write,
    Throughput,
}

impl Mode {
    fn reads(self) -> bool {
        self != Mode::Write
    }

    fn writes(self) -> bool {
        matches!(self, Mode::Write | Mode::Throughput)
    }
}

impl Nlb {
    /// The ID of mode 0.
    pub(super) const MODE_0: AfuId = AfuId(0xd842_4dc4_a4a3_c413_f89e_4336_83f9_040b);
    /// The ID of mode 3.
    pub(super) const MODE_3: AfuId = AfuId(0xf7df_405c_bd7a_cf72_22f1_44b0_b93a_cd18);
    /// The ID of the host exerciser for loopback.
    pub(super) const HOST_EXERCISER: AfuId = AfuId(0x56e2_03e9_864f_49a7_b94b_1228_4c31_e02b);
    /// The ID of the host exerciser with local memory.
    pub(super) const MEMORY_EXERCISER: AfuId = AfuId(0x8568_ab4e_6ba5_4616_bb65_2a57_8330_a8eb);

    /// A native loopback of mode 0.
    pub(super) fn mode_0() -> Self {
        Self::new(Design::Mode0)
    }

    /// A native loopback of mode 3.
    pub(super) fn mode_3() -> Self {
        Self::new(Design::Mode3)
    }

    /// A host exerciser for loopback.
    pub(super) fn host_exerciser() -> Self {
        Self::new(Design::HostExerciser)
    }

    /// A host exerciser with local memory.
    pub(super) fn memory_exerciser() -> Self {
        Self::new(Design::MemoryExerciser)
    }

    fn new(design: Design) -> Self {
        Nlb {
            design,
            registers: Registers::new(design),
            run: Run::default(),
        }
    }

    fn go_on(&mut self, shell: &mut Shell<'_>) {
        self.run.go_on(&self.registers, shell);
    }

    fn store_dword(&mut self, offset: u64, value: u32, shell: &mut Shell<'_>) {
        let was = self.registers.control;
        self.registers.store(offset, value);
        if offset != registers::CONTROL {
            return;
        }
        let control = self.registers.control;
        if !control.is_out_of_reset() {
            self.run.stop();
        } else if control.starts() && !was.starts() {
            let mode = self.registers.mode();
            if self.registers.is_atomic() {
                shell.say_missing("atomic requests of the host exerciser");
            }
            self.run.start(mode, &self.registers, shell);
        }
        self.go_on(shell);
    }
}

impl Afu for Nlb {
    fn id(&self) -> AfuId {
        self.design.id()
    }

    fn reset(&mut self) {
        *self = Self::new(self.design);
    }

    fn load(&mut self, offset: u64, len: u32, shell: &mut Shell<'_>) -> u64 {
        let (counts, cycle) = (self.run.counts(), shell.cycle());
        load_dwords(offset, len, |offset| {
            self.registers.load(offset, counts, cycle)
        })
    }

    fn store(&mut self, offset: u64, bytes: &[u8], shell: &mut Shell<'_>) {
        for (offset, value) in dwords(offset, bytes) {
            self.store_dword(offset, value, shell);
        }
    }

    fn read_done(&mut self, tag: u32, data: Result<&[u8], ReadError>, shell: &mut Shell<'_>) {
        self.run.answered(tag, data, &self.registers, shell);
        self.go_on(shell);
    }

    fn write_done(&mut self, tag: u32, shell: &mut Shell<'_>) {
        self.run.written(tag);
        self.go_on(shell);
    }

    fn wake(&mut self, shell: &mut Shell<'_>) {
        self.go_on(shell);
    }
}
