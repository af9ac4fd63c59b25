//! The registers of the native loopback.

use kernel::Span;

use super::Mode;
use super::design::Design;

/// The registers that software writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registers {
    design: Design,
    scratch: [u64; 2],
    status_memory: u64,
    source: u64,
    destination: u64,
    lines: u32,
    pub(super) control: Control,
    configuration: u32,
    inactivity: u32,
    interrupt: u32,
    message: u64,
    stride: u32,
}

/// The control register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Control(u32);

/// Counters, in lines.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) reads: u32,
    pub(super) writes: u32,
    pub(super) pending_reads: u32,
    pub(super) pending_writes: u32,
}

const SCRATCH: u64 = 0x100;
const STATUS_MEMORY: u64 = 0x110;
const SOURCE: u64 = 0x120;
const DESTINATION: u64 = 0x128;
const LINES: u64 = 0x130;
pub(super) const CONTROL: u64 = 0x138;
const CONFIGURATION: u64 = 0x140;
const INACTIVITY: u64 = 0x148;
const INTERRUPT: u64 = 0x150;
const MESSAGE: u64 = 0x158;
const COUNTS: u64 = 0x160;
const PENDING: u64 = 0x168;
const STRIDE: u64 = 0x178;
const INFORMATION: u64 = 0x180;

/// The version of the exercisers' registers, and the bit that atomic requests are not supported.
const VERSION: u64 = 1;
const NO_ATOMICS: u64 = 1 << 24;

/// Offset of the status line in the status memory.
const STATUS_LINE: u64 = 0x40;

impl Control {
    pub(super) fn is_out_of_reset(self) -> bool {
        self.0 & 1 != 0
    }

    pub(super) fn starts(self) -> bool {
        self.0 & 3 == 3
    }

    pub(super) fn forces_completion(self) -> bool {
        self.0 & 4 != 0
    }
}

impl Registers {
    pub(super) fn new(design: Design) -> Self {
        Registers {
            design,
            scratch: [0; 2],
            status_memory: 0,
            source: 0,
            destination: 0,
            lines: 0,
            control: Control::default(),
            configuration: 0,
            inactivity: 0,
            interrupt: 0,
            message: 0,
            stride: 0,
        }
    }

    pub(super) fn load(&self, offset: u64, counts: Counts, cycle: Span) -> u32 {
        let is_exerciser = self.design.is_exerciser();
        let half = |value: u64| (value >> (8 * (offset & 4))) as u32;
        let pair = |low: u32, high: u32| half(u64::from(high) << 32 | u64::from(low));
        match offset & !7 {
            SCRATCH => half(self.scratch[0]),
            0x108 => half(self.scratch[1]),
            STATUS_MEMORY => half(self.status_memory),
            SOURCE => half(self.source),
            DESTINATION => half(self.destination),
            LINES => half(self.lines.into()),
            CONTROL => half(self.control.0.into()),
            CONFIGURATION => half(self.configuration.into()),
            INACTIVITY => half(self.inactivity.into()),
            INTERRUPT => half(self.interrupt.into()),
            COUNTS => pair(counts.writes, counts.reads),
            MESSAGE if is_exerciser => half(self.message),
            STRIDE if is_exerciser => half(self.stride.into()),
            INFORMATION if is_exerciser => half(information(cycle)),
            PENDING if is_exerciser => {
                half(u64::from(counts.pending_reads) << 16 | u64::from(counts.pending_writes))
            }
            PENDING => pair(counts.pending_writes, counts.pending_reads),
            _ => 0,
        }
    }

    pub(super) fn store(&mut self, offset: u64, value: u32) {
        let shift = 8 * (offset & 4);
        let put = |register: &mut u64| {
            *register = *register & !(0xffff_ffff << shift) | u64::from(value) << shift;
        };
        match offset & !7 {
            SCRATCH => put(&mut self.scratch[0]),
            0x108 => put(&mut self.scratch[1]),
            STATUS_MEMORY => put(&mut self.status_memory),
            SOURCE => put(&mut self.source),
            DESTINATION => put(&mut self.destination),
            MESSAGE => put(&mut self.message),
            // The upper halves of 32-bit registers are reserved.
            _ if shift > 0 => {}
            LINES => self.lines = value,
            CONTROL => self.control = Control(value & 7),
            CONFIGURATION => self.configuration = value,
            INACTIVITY => self.inactivity = value,
            INTERRUPT => self.interrupt = value,
            STRIDE => self.stride = value,
            _ => {}
        }
    }

    /// The source address of line `line`.
    pub(super) fn source(&self, line: u32) -> u64 {
        address(self.source, line)
    }

    /// The destination address of line `line`.
    pub(super) fn destination(&self, line: u32) -> u64 {
        address(self.destination, line)
    }

    pub(super) fn design(&self) -> Design {
        self.design
    }

    /// Number of lines of the test. The register of the exercisers has 20 bits and the number of the last line.
    pub(super) fn lines(&self) -> u32 {
        if self.design.is_exerciser() {
            (self.lines & 0xf_ffff) + 1
        } else {
            self.lines
        }
    }

    /// Whether reads and writes that are no copy are of the card's memory.
    pub(super) fn has_memory(&self) -> bool {
        self.design == Design::MemoryExerciser
    }

    /// Whether the test is of atomic requests.
    pub(super) fn is_atomic(&self) -> bool {
        self.design.is_exerciser() && self.configuration >> 7 & 1 != 0
    }

    /// The address of the status line. The register of the exercisers is in lines.
    pub(super) fn status_line(&self) -> u64 {
        if self.design.is_exerciser() {
            return self.status_memory << 6;
        }
        (self.status_memory & !63).wrapping_add(STATUS_LINE)
    }

    pub(super) fn is_continuous(&self) -> bool {
        self.configuration & 2 != 0
    }

    pub(super) fn mode(&self) -> Mode {
        match self.configuration >> 2 & 7 {
            _ if self.design == Design::Mode0 => Mode::Copy,
            1 => Mode::Read,
            2 => Mode::Write,
            3 => Mode::Throughput,
            _ => Mode::Copy,
        }
    }

    /// Most lines in a request.
    pub(super) fn lines_of_request(&self) -> u32 {
        let high = if self.design.is_exerciser() {
            self.configuration >> 30 & 3
        } else {
            0
        };
        match self.configuration >> 5 & 3 | high << 2 {
            0 => 1,
            1 => 2,
            _ => 4,
        }
    }

    /// The interrupt at the end of the test, if it is enabled.
    pub(super) fn interrupt(&self) -> Option<u8> {
        let vector = if self.design.is_exerciser() {
            (self.interrupt >> 16).min(0xff)
        } else {
            self.interrupt & 3
        };
        (self.configuration >> 29 & 1 != 0).then_some(vector as u8)
    }
}

/// The frequency of the clock in MHz, the version, and what is not supported.
fn information(cycle: Span) -> u64 {
    const MHZ: u64 = 1_000_000_000;
    (MHZ / cycle.as_fs().max(1)).min(0xffff) | VERSION << 16 | NO_ATOMICS
}

/// The address of `line`, counted from `base`; `base` is in lines, too.
fn address(base: u64, line: u32) -> u64 {
    base.wrapping_add(u64::from(line)) << 6
}
