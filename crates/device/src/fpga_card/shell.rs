//! The interface of an accelerator functional unit to the card around it.

use kernel::{Span, Time};
use protocol::AtomicOperation;

use super::errors::{PortError, PortErrors};
use super::host_interface::HostInterface;
use super::interrupts::INTERRUPTS;
use super::local_memory::{LocalMemory, NoSuchMemory};
use super::misuse::Misuse;

/// The card around an AFU, during one call.
///
/// Host addresses are those of PCI Express. A request has one to four cache lines of 64 bytes, begins at a multiple of 64 and does
/// not cross a 4 KiB boundary. Other requests are rejected, and set a bit of the port's error register.
pub struct Shell<'s> {
    pub(super) now: Time,
    pub(super) cycle: Span,
    pub(super) host: &'s mut HostInterface,
    pub(super) memory: &'s mut LocalMemory,
    pub(super) errors: &'s mut PortErrors,
    pub(super) missing: &'s mut Vec<&'static str>,
    /// Why requests of this call were rejected, for the log of incidents.
    pub(super) rejected: &'s mut Vec<&'static str>,
    pub(super) has_atomics: bool,
}

/// The card's own memory, at one simulated time.
pub struct MemoryPort<'m> {
    now: Time,
    memory: &'m mut LocalMemory,
    rejected: &'m mut Vec<&'static str>,
}

impl Shell<'_> {
    /// The simulated time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Notes that software has started `what`, which the model of the unit does not have.
    pub fn say_missing(&mut self, what: &'static str) {
        if !self.missing.contains(&what) {
            self.missing.push(what);
        }
    }

    /// A cycle of the unit's clock, in which it transfers 64 bytes.
    pub fn cycle(&self) -> Span {
        self.cycle
    }

    /// Whether a read can be requested now. If not, the unit is woken when it can.
    pub fn can_read(&mut self) -> bool {
        self.host.can_read()
    }

    /// Requests `len` bytes of host memory at `address`. [`Afu::read_done`](super::Afu::read_done) returns the data, or an error,
    /// with this tag; reads end in any order.
    pub fn read(&mut self, address: u64, len: usize, tag: u32) -> Result<(), Misuse> {
        let taken = self.host.read(address, len as u64, tag);
        taken.inspect_err(|why| self.reject(*why, PortError::of_read))
    }

    /// Whether the host has enabled atomic requests.
    pub fn has_atomics(&self) -> bool {
        self.has_atomics
    }

    /// Requests an atomic operation on the value at the beginning of the line at `address`; `operands` has one value of 4 or 8 bytes, or
    /// two for a compare and swap. It takes the place of a read ([`can_read`](Self::can_read)), and
    /// [`Afu::read_done`](super::Afu::read_done) returns the value that was there.
    pub fn atomic(
        &mut self,
        address: u64,
        operation: AtomicOperation,
        operands: &[u8],
        tag: u32,
    ) -> Result<(), Misuse> {
        let taken = if self.has_atomics {
            self.host.atomic(address, operation, operands, tag)
        } else {
            Err(Misuse::NoAtomics)
        };
        taken.inspect_err(|why| self.reject(*why, PortError::of_read))
    }

    /// Whether a write or an interrupt can be requested now. If not, the unit is woken when it can.
    pub fn can_write(&mut self) -> bool {
        self.host.can_write()
    }

    /// Writes `bytes` to host memory at `address`, after all earlier writes. [`Afu::write_done`](super::Afu::write_done) reports
    /// with this tag that they were transmitted.
    pub fn write(&mut self, address: u64, bytes: &[u8], tag: u32) -> Result<(), Misuse> {
        let taken = self.host.write(address, bytes, tag);
        taken.inspect_err(|why| self.reject(*why, PortError::of_write))
    }

    /// Whether all earlier writes have left the card on its link. If not, the unit is woken when they have.
    pub fn writes_are_gone(&mut self) -> bool {
        self.host.writes_are_gone(self.now)
    }

    /// Sends interrupt `vector`, 0 to 3, after all earlier writes.
    pub fn interrupt(&mut self, vector: u8) -> Result<(), Misuse> {
        let taken = if vector < INTERRUPTS {
            self.host.interrupt(vector)
        } else {
            Err(Misuse::NoSuchInterrupt)
        };
        taken.inspect_err(|why| self.reject(*why, PortError::of_write))
    }

    fn reject(&mut self, why: Misuse, error: impl FnOnce(Misuse) -> PortError) {
        self.errors.record(error(why));
        self.rejected.push(why.rule());
    }

    /// Requests a wake-up at `time`, but not before the next cycle. Of several requests the earliest one applies; it wakes the unit
    /// once.
    pub fn wake_at(&mut self, time: Time) {
        let time = self.not_before_next_cycle(time);
        self.host.alarm = self.host.alarm.min(time);
    }

    /// Requests a wake-up as [`wake_at`](Self::wake_at) does, but as long as no write can be requested it is delayed.
    pub(super) fn wake_to_write_at(&mut self, time: Time) {
        let time = self.not_before_next_cycle(time);
        self.host.write_alarm = self.host.write_alarm.min(time);
    }

    fn not_before_next_cycle(&self, time: Time) -> Time {
        time.max(self.now + self.cycle.max(LEAST))
    }

    /// The card's own memory.
    pub fn memory(&mut self) -> MemoryPort<'_> {
        MemoryPort {
            now: self.now,
            memory: self.memory,
            rejected: self.rejected,
        }
    }
}

/// The incident of an access to an address that the card's memory does not have.
const NO_MEMORY: &str = "an access beyond the card's memory";

/// Least time to a wake-up, even if the unit has no clock: otherwise time would not advance.
const LEAST: Span = Span::from_fs(1);

impl MemoryPort<'_> {
    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.memory.bytes().size()
    }

    /// Reads into `into`; returns the time at which the data has arrived from the memory. The unit must not use it earlier.
    pub fn read(&mut self, address: u64, into: &mut [u8]) -> Result<Time, NoSuchMemory> {
        let read = self.memory.read(self.now, address, into);
        read.inspect_err(|_| self.rejected.push(NO_MEMORY))
    }

    /// Writes `bytes`; returns the time at which they have reached the memory. Reads that begin after this call see them.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<Time, NoSuchMemory> {
        let written = self.memory.write(self.now, address, bytes);
        written.inspect_err(|_| self.rejected.push(NO_MEMORY))
    }
}
