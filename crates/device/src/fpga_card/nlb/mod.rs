//! The native loopback (NLB): copies, reads or writes host memory, counts, and writes its status to memory.
//!
//! It follows the published designs: mode 0 copies; mode 3 reads, writes, or does both at the same time, once or until software
//! stops it; mode 7 exchanges data with software. At the end it writes a status line to the device status memory (DSM), after all
//! its data. Each direction moves one line in a cycle of the unit's clock. Read types and virtual channels change nothing, because
//! the card has no cache and one link: the mixed read type is as the others.
//!
//! The host exercisers of the later cards (HE-LB and HE-MEM) have nearly the same registers and the tests of modes 0 and 3. HE-MEM
//! copies by way of the card's memory, and its reads and writes are of the card's memory; the status line is in host memory. With
//! atomic functions a copy is of the values that atomic requests find at the beginning of lines; in other tests with reads every
//! second request is atomic. Requests of more than 4 lines are several of 4.
//!
//! Random delays between requests, other orders of reads and writes, notices by `UMsg` and modes that a design does not have are not
//! modelled, which the card notes when a test is started.

mod design;
mod exchange;
mod registers;
mod run;

use super::words::{dwords, load_dwords};
use super::{Afu, AfuId, ReadError, Shell};
use design::Design;
use registers::{Registers, Seen};
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
    /// The exchange with software.
    Software,
}

impl Mode {
    fn reads(self) -> bool {
        matches!(self, Mode::Copy | Mode::Read | Mode::Throughput)
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
    /// The ID of mode 7.
    pub(super) const MODE_7: AfuId = AfuId(0x7baf_4dea_a57c_e91e_168a_455d_9bda_88a3);
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

    /// A native loopback of mode 7.
    pub(super) fn mode_7() -> Self {
        Self::new(Design::Mode7)
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
        if offset == registers::MESSAGE {
            self.run.notice(&self.registers);
            return self.go_on(shell);
        }
        if offset != registers::CONTROL {
            return;
        }
        let control = self.registers.control;
        if !control.is_out_of_reset() {
            self.run.stop();
        } else if control.starts() && !was.starts() {
            for what in self.registers.missing() {
                shell.say_missing(what);
            }
            self.run.start(&self.registers, shell);
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
        let seen = Seen {
            counts: self.run.counts(),
            failures: self.run.failures(),
            cycle: shell.cycle(),
            has_atomics: shell.has_atomics(),
        };
        load_dwords(offset, len, |offset| self.registers.load(offset, &seen))
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
