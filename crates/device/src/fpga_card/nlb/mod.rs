//! The native loopback (NLB). It copies, reads or writes host memory, counts its accesses, and writes its status to memory.
//!
//! It follows the published designs: mode 0 copies; mode 3 reads, writes, or does both at the same time, once or until software stops it; mode 7
//! exchanges data with software. At the end of a test it writes a status line to the device status memory (DSM), after all data of the test.
//! Each direction transfers one line in a cycle of the unit's clock. Read types and virtual channels have no effect, because the card has no
//! cache and only one link. The mixed read type is therefore like the other types.
//!
//! The host exercisers of the later cards (HE-LB and HE-MEM) have nearly the same registers, and the tests of modes 0 and 3. HE-MEM copies
//! through the card's memory. In its other tests, reads and writes access the card's memory. Its status line is in host memory. In a copy with
//! atomic functions, each read is an atomic request for the value at the beginning of a line; in other tests with reads, every second request is
//! atomic. A request of more than 4 lines is divided into requests of 4 lines.
//!
//! The model does not have random delays between requests, other orders of reads and writes, notices by `UMsg`, and modes that a design does not
//! have. If a test that uses one of these is started, the card records it.

mod design;
mod exchange;
mod registers;
mod run;

use peerlane_device::Failure;

use super::words::{dwords, load_dwords};
use super::{Afu, AfuId, Shell};
pub(super) use design::Design;
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
    /// The data exchange with software.
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
    pub(super) fn new(design: Design) -> Self {
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
        let was = self.registers.control();
        self.registers.store(offset, value);
        if offset == registers::MESSAGE {
            self.run.notice(&self.registers);
            return self.go_on(shell);
        }
        if offset != registers::CONTROL {
            return;
        }
        let control = self.registers.control();
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
            counts: self.run.counts,
            failures: self.run.failures,
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

    fn read_done(&mut self, tag: u32, data: Result<&[u8], Failure>, shell: &mut Shell<'_>) {
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
