//! What an accelerator functional unit sees of the card around it.

use kernel::{Span, Time};
use packet::Packets;

use super::afu::Misuse;
use super::errors::{PortError, PortErrors};
use super::host_interface::HostInterface;
use super::local_memory::{LocalMemory, NoSuchMemory};

/// The card around an AFU, during one call.
///
/// Addresses of the host are as PCI Express has them. A request is of one to four cache lines of 64 bytes, begins at a
/// multiple of 64 and does not cross a page of 4 KiB; anything else is refused, and a bit of the port's error register says
/// so.
pub struct Shell<'s> {
    pub(super) now: Time,
    pub(super) cycle: Span,
    pub(super) host: &'s mut HostInterface,
    pub(super) memory: &'s mut LocalMemory,
    pub(super) errors: &'s mut PortErrors,
    pub(super) packets: &'s mut Packets,
}

/// The card's own memory, at one point of time.
pub struct MemoryPort<'m> {
    now: Time,
    memory: &'m mut LocalMemory,
}

/// User interrupts of a port.
pub const INTERRUPTS: u8 = 4;

impl Shell<'_> {
    /// Simulated time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// A cycle of the unit's clock, in which it moves 64 bytes.
    pub fn cycle(&self) -> Span {
        self.cycle
    }

    /// Whether a read can be asked for now. If not, the unit is woken when it can.
    pub fn can_read(&mut self) -> bool {
        self.host.can_read()
    }

    /// Asks for `len` bytes of host memory at `address`. [`Afu::read_done`](super::Afu::read_done) brings them, or says that
    /// there are none, with that tag; reads are answered in any order.
    pub fn read(&mut self, address: u64, len: usize, tag: u32) -> Result<(), Misuse> {
        let taken = self.host.read(address, len as u64, tag);
        taken.inspect_err(|why| self.errors.record(PortError::of_read(*why)))
    }

    /// Whether a write or an interrupt can be sent now. If not, the unit is woken when it can.
    pub fn can_write(&mut self) -> bool {
        self.host.can_write()
    }

    /// Writes `bytes` to host memory at `address`, behind all that was written before. When they are off to the wire,
    /// [`Afu::write_done`](super::Afu::write_done) says so with that tag.
    pub fn write(&mut self, address: u64, bytes: &[u8], tag: u32) -> Result<(), Misuse> {
        let taken = self.host.write(address, bytes, tag, self.packets);
        taken.inspect_err(|why| self.errors.record(PortError::of_write(*why)))
    }

    /// Sends interrupt `vector`, 0 to 3, behind all that was written before.
    pub fn interrupt(&mut self, vector: u8) -> Result<(), Misuse> {
        let taken = if vector < INTERRUPTS {
            self.host.interrupt(vector)
        } else {
            Err(Misuse::NoSuchInterrupt)
        };
        taken.inspect_err(|why| self.errors.record(PortError::of_write(*why)))
    }

    /// Asks to be woken at `time`, but not before the next cycle. Of several times the earliest counts; each is waited for
    /// once.
    pub fn wake_at(&mut self, time: Time) {
        let time = time.max(self.now + self.cycle.max(LEAST));
        self.host.alarm = self.host.alarm.min(time);
    }

    /// The card's own memory.
    pub fn memory(&mut self) -> MemoryPort<'_> {
        MemoryPort {
            now: self.now,
            memory: self.memory,
        }
    }
}

/// Time that passes before a unit is woken even if it has no clock: without it, nothing else would happen ever.
const LEAST: Span = Span::from_fs(1);

impl MemoryPort<'_> {
    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.memory.bytes().size()
    }

    /// Reads into all of `into`: when that has come from the memory. It is up to the unit to use it no sooner.
    pub fn read(&mut self, address: u64, into: &mut [u8]) -> Result<Time, NoSuchMemory> {
        self.memory.read(self.now, address, into)
    }

    /// Writes `bytes`: when they have gone to the memory. A read that is asked for after this call finds them.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<Time, NoSuchMemory> {
        self.memory.write(self.now, address, bytes)
    }
}
