//! The registers of the native loopback.

use kernel::Span;
use protocol::AtomicOperation;

use super::Mode;
use super::design::Design;
use crate::fpga_card::words::{half, merged};

/// The registers that software writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registers {
    pub(super) design: Design,
    /// The 64-bit registers from [`SCRATCH`] to [`STRIDE`].
    words: [u64; 16],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Control(u32);

/// The state of the unit that software can read in registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) counts: Counts,
    pub(super) failures: u32,
    /// A cycle of the unit's clock.
    pub(super) cycle: Span,
    /// Whether the host has enabled atomic requests.
    pub(super) has_atomics: bool,
}

/// An atomic function of the exercisers' tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AtomicTest {
    pub(super) operation: AtomicOperation,
    /// Size of the value in bytes.
    pub(super) width: usize,
}

impl AtomicTest {
    /// The operands for a line, as the published program expects them. The first operand is the number of the line. A compare and swap also has
    /// the inverse of the number as the new value.
    pub(super) fn operands(self, line: u32) -> ([u8; 16], usize) {
        let mut operands = [0; 16];
        let values = [u64::from(line), !u64::from(line)];
        let count = self.operation.operands();
        for (place, value) in operands.chunks_mut(self.width).zip(values).take(count) {
            place.copy_from_slice(&value.to_le_bytes()[..self.width]);
        }
        (operands, count * self.width)
    }
}

/// Counters of lines.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) reads: u32,
    pub(super) writes: u32,
    pub(super) pending_reads: u32,
    pub(super) pending_writes: u32,
}

const SCRATCH: u64 = 0x100;
const SECOND_SCRATCH: u64 = 0x108;
const STATUS_MEMORY: u64 = 0x110;
const SOURCE: u64 = 0x120;
const DESTINATION: u64 = 0x128;
const LINES: u64 = 0x130;
pub(super) const CONTROL: u64 = 0x138;
const CONFIGURATION: u64 = 0x140;
const INACTIVITY: u64 = 0x148;
const INTERRUPT: u64 = 0x150;
pub(super) const MESSAGE: u64 = 0x158;
const COUNTS: u64 = 0x160;
const PENDING: u64 = 0x168;
const ERROR: u64 = 0x170;
const STRIDE: u64 = 0x178;
const INFORMATION: u64 = 0x180;

/// The version of the exercisers' registers that allows requests of up to 16 lines, and the bit for cards without atomic requests.
const VERSION: u64 = 2;
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
        let words = [0; 16];
        Registers { design, words }
    }

    fn at(&self, register: u64) -> u64 {
        self.words[place(register)]
    }

    pub(super) fn control(&self) -> Control {
        Control(self.at(CONTROL) as u32)
    }

    fn configuration(&self) -> u32 {
        self.at(CONFIGURATION) as u32
    }

    pub(super) fn load(&self, offset: u64, seen: &Seen) -> u32 {
        let counts = seen.counts;
        let is_exerciser = self.design.is_exerciser();
        let half = |value: u64| half(value, offset);
        let pair = |low: u32, high: u32| half(u64::from(high) << 32 | u64::from(low));
        match offset & !7 {
            COUNTS => pair(counts.writes, counts.reads),
            // The native loopback also has the frequency of its clock in this register.
            ERROR if is_exerciser => half(seen.failures.into()),
            ERROR => pair(seen.failures, megahertz(seen.cycle) as u32),
            INFORMATION if is_exerciser => half(information(seen)),
            PENDING if is_exerciser => {
                half(u64::from(counts.pending_reads) << 16 | u64::from(counts.pending_writes))
            }
            PENDING => pair(counts.pending_writes, counts.pending_reads),
            MESSAGE if !is_exerciser => 0,
            register @ SCRATCH..=STRIDE => half(self.at(register)),
            _ => 0,
        }
    }

    pub(super) fn store(&mut self, offset: u64, value: u32) {
        let register = offset & !7;
        let kept = match register {
            SCRATCH | SECOND_SCRATCH | STATUS_MEMORY | SOURCE | DESTINATION | MESSAGE => u64::MAX,
            CONTROL => 7,
            // The upper halves of 32-bit registers are reserved.
            LINES | CONFIGURATION | INACTIVITY | INTERRUPT | STRIDE => u32::MAX.into(),
            _ => return,
        };
        let word = &mut self.words[place(register)];
        *word = merged(*word, offset, &value.to_le_bytes()).0 & kept;
    }

    /// The source address of line `line`.
    pub(super) fn source(&self, line: u32) -> u64 {
        address(self.at(SOURCE), self.position(line))
    }

    /// The destination address of line `line`.
    pub(super) fn destination(&self, line: u32) -> u64 {
        address(self.at(DESTINATION), self.position(line))
    }

    /// The index of a line in its buffer. In mode 3, a number of lines equal to the stride is left out after each request.
    fn position(&self, line: u32) -> u64 {
        u64::from(line) + u64::from(line / self.lines_of_request()) * u64::from(self.strides())
    }

    /// The number of lines that are left out after each request.
    pub(super) fn strides(&self) -> u32 {
        if self.design == Design::Mode3 {
            self.at(STRIDE) as u32
        } else {
            0
        }
    }

    /// Number of lines of the test. The register of the exercisers has 20 bits and contains the number of the last line.
    pub(super) fn lines(&self) -> u32 {
        if self.design.is_exerciser() {
            (self.at(LINES) as u32 & 0xf_ffff) + 1
        } else {
            self.at(LINES) as u32
        }
    }

    /// Whether tests other than a copy access the card's memory, and a copy passes through it.
    pub(super) fn has_memory(&self) -> bool {
        self.design == Design::MemoryExerciser
    }

    /// The atomic function of the test, if it has one.
    pub(super) fn atomic(&self) -> Option<AtomicTest> {
        let field = self.configuration() >> 7;
        if !self.design.is_exerciser() || field & 1 == 0 {
            return None;
        }
        let operation = match field >> 2 & 3 {
            0 => AtomicOperation::FetchAdd,
            1 => AtomicOperation::Swap,
            2 => AtomicOperation::CompareAndSwap,
            _ => return None,
        };
        let width = if field & 2 == 0 { 4 } else { 8 };
        Some(AtomicTest { operation, width })
    }

    /// The features that software requests and the model does not have.
    pub(super) fn missing(&self) -> impl Iterator<Item = &'static str> {
        let is_exerciser = self.design.is_exerciser();
        let delay = if is_exerciser { 1 } else { 1 << 8 };
        let has = |bits: u32| self.configuration() & bits != 0;
        let of_loopback = |name, is_asked| (is_asked && !is_exerciser).then_some(name);
        let of_exerciser = |name, is_asked| (is_asked && is_exerciser).then_some(name);
        let software = self.mode() == Some(Mode::Software);
        [
            self.mode().is_none().then_some(OTHER_MODE),
            has(delay).then_some("random delays between requests"),
            of_exerciser("other orders of reads and writes", has(7 << 20)),
            of_exerciser("strides of the host exerciser", self.at(STRIDE) != 0),
            of_exerciser(
                "this atomic function of the host exerciser",
                has(1 << 7) && self.atomic().is_none(),
            ),
            of_loopback("UMsg notices", software && self.notice() == Notice::Message),
        ]
        .into_iter()
        .flatten()
    }

    /// The way in which software notifies the unit in a data exchange.
    pub(super) fn notice(&self) -> Notice {
        match self.configuration() >> 26 & 3 {
            0 => Notice::Memory,
            1 => Notice::Register,
            _ => Notice::Message,
        }
    }

    /// The address of the status line. The register of the exercisers contains the number of a line.
    pub(super) fn status_line(&self) -> u64 {
        if self.design.is_exerciser() {
            return self.at(STATUS_MEMORY) << 6;
        }
        (self.at(STATUS_MEMORY) & !63).wrapping_add(STATUS_LINE)
    }

    pub(super) fn is_continuous(&self) -> bool {
        self.configuration() & 2 != 0
    }

    /// The type of the test; none if the design does not have it.
    pub(super) fn mode(&self) -> Option<Mode> {
        match (self.design, self.configuration() >> 2 & 7) {
            (Design::Mode7, 7) => Some(Mode::Software),
            (Design::Mode7, _) => None,
            (_, 0) => Some(Mode::Copy),
            (Design::Mode0, _) => None,
            (_, 1) => Some(Mode::Read),
            (_, 2) => Some(Mode::Write),
            (_, 3) => Some(Mode::Throughput),
            _ => None,
        }
    }

    /// Most lines in one request.
    pub(super) fn lines_of_request(&self) -> u32 {
        let high = if self.design.is_exerciser() {
            self.configuration() >> 30 & 3
        } else {
            0
        };
        match self.configuration() >> 5 & 3 | high << 2 {
            0 => 1,
            1 => 2,
            _ => 4,
        }
    }

    /// The interrupt at the end of the test, if it is enabled.
    pub(super) fn interrupt(&self) -> Option<u8> {
        let vector = if self.design.is_exerciser() {
            (self.at(INTERRUPT) >> 16).min(0xff)
        } else {
            self.at(INTERRUPT) & 3
        };
        (self.configuration() >> 29 & 1 != 0).then_some(vector as u8)
    }
}

/// The way in which software notifies the unit that it has copied the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// Software writes the line after the data; the unit polls this line.
    Memory,
    /// Software writes a register.
    Register,
    /// Software sends a message (`UMsg`).
    Message,
}

/// The name of the missing feature if a design does not have the mode of a test. The test fails at once.
const OTHER_MODE: &str = "this mode in this design of the native loopback";

/// The frequency of the clock in MHz, the version, and the bit for a card without atomic requests.
fn information(seen: &Seen) -> u64 {
    let atomics = if seen.has_atomics { 0 } else { NO_ATOMICS };
    megahertz(seen.cycle) | VERSION << 16 | atomics
}

/// The frequency of a clock in MHz, in 16 bits.
fn megahertz(cycle: Span) -> u64 {
    const MHZ: u64 = 1_000_000_000;
    let cycle = cycle.as_fs().max(1);
    ((MHZ + cycle / 2) / cycle).min(0xffff)
}

/// The index of a register among the registers that software writes.
fn place(register: u64) -> usize {
    ((register - SCRATCH) / 8) as usize
}

/// The address of `line`, counted from line number `base`.
fn address(base: u64, line: u64) -> u64 {
    base.wrapping_add(line) << 6
}
