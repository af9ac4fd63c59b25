//! The native loopback (NLB): copies, reads or writes host memory, counts, and writes its status to memory.
//!
//! It follows the published designs: mode 0 copies; mode 3 reads, writes, or does both at the same time, once or until software
//! stops it. At the end it writes a status line to the device status memory (DSM), after all its data.

mod registers;
mod run;

use super::words::{dwords, load_dwords};
use super::{Afu, AfuId, ReadError, Shell};
use registers::Registers;
use run::Run;

/// The native loopback.
#[derive(Debug)]
pub(super) struct Nlb {
    id: AfuId,
    /// Whether it only copies (mode 0).
    copies_only: bool,
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

    /// A native loopback of mode 0.
    pub(super) fn mode_0() -> Self {
        Self::new(Self::MODE_0, true)
    }

    /// A native loopback of mode 3.
    pub(super) fn mode_3() -> Self {
        Self::new(Self::MODE_3, false)
    }

    fn new(id: AfuId, copies_only: bool) -> Self {
        Nlb {
            id,
            copies_only,
            registers: Registers::default(),
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
            let mode = self.registers.mode(self.copies_only);
            self.run.start(mode, &self.registers, shell);
        }
        self.go_on(shell);
    }
}

impl Afu for Nlb {
    fn id(&self) -> AfuId {
        self.id
    }

    fn reset(&mut self) {
        *self = Self::new(self.id, self.copies_only);
    }

    fn load(&mut self, offset: u64, len: u32, _: &mut Shell<'_>) -> u64 {
        load_dwords(offset, len, |offset| {
            self.registers.load(offset, self.run.counts())
        })
    }

    fn store(&mut self, offset: u64, bytes: &[u8], shell: &mut Shell<'_>) {
        for (offset, value) in dwords(offset, bytes) {
            self.store_dword(offset, value, shell);
        }
    }

    fn read_done(&mut self, tag: u32, data: Result<&[u8], ReadError>, shell: &mut Shell<'_>) {
        self.run.answered(tag, data, shell);
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
