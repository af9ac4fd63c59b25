//! Memory that processes share with devices: files mapped in the simulation in place of a part of the host's memory.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kernel::Time;
use session::{Failure, SharedMemory};
use sim::{Backing, Memory, Simulation};

use crate::handles::Named;

/// A part of the host's memory that a process shares.
#[derive(Debug)]
pub(crate) struct Buffer {
    pub(crate) handle: u64,
    object: Named,
    /// The address of the buffer for devices.
    pub(crate) address: u64,
    /// Size of the allocated memory in bytes.
    taken: u64,
    /// Requested size in bytes.
    pub(crate) size: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Buffers {
    all: BTreeMap<u64, Buffer>,
    last: u64,
    released: Vec<Released>,
}

/// Memory of a buffer that was released. It is not used for another buffer while a device may still write to it.
#[derive(Debug)]
pub(crate) struct Released {
    /// The card of the object that the buffer belonged to.
    pub(crate) card: usize,
    pub(crate) at: Time,
    address: u64,
    taken: u64,
    late: Arc<LateWrites>,
}

/// Counts the bytes that devices write to released memory. The bytes themselves are lost.
#[derive(Debug, Default)]
struct LateWrites(AtomicU64);

/// The part of the released memory that is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    All,
    /// The memory that no device has written to since its release.
    Unwritten,
}

impl Released {
    /// The number of bytes that devices have written since the release.
    pub(crate) fn written(&self) -> u64 {
        self.late.0.load(Ordering::Relaxed)
    }
}

impl Backing for LateWrites {
    fn read(&self, _: usize, bytes: &mut [u8]) {
        bytes.fill(0);
    }
    fn write(&self, _: usize, bytes: &[u8]) {
        self.0.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    }
}

#[derive(Debug)]
struct Mapped(SharedMemory);

impl Backing for Mapped {
    fn read(&self, offset: usize, bytes: &mut [u8]) {
        self.0.read(offset, bytes);
    }
    fn write(&self, offset: usize, bytes: &[u8]) {
        self.0.write(offset, bytes);
    }
}

impl Buffers {
    /// Shares the first `size` bytes of `file`, in pages of `page` bytes, for `handle` of `object`; returns the number of the buffer and
    /// its address.
    pub(crate) fn pin(
        &mut self,
        simulation: &mut Simulation,
        host: &str,
        (handle, object): (u64, Named),
        file: &OwnedFd,
        (size, page): (u64, u64),
    ) -> Result<(u64, u64), Failure> {
        if size == 0 || !page.is_power_of_two() || page < SMALL || !size.is_multiple_of(SMALL) {
            return Err(Failure::Invalid);
        }
        if self.all.len() >= MOST_BUFFERS {
            return Err(Failure::NoMemory);
        }
        let taken = size
            .checked_next_multiple_of(Memory::SHARED_PAGE)
            .ok_or(Failure::NoMemory)?;
        let address = simulation
            .allocate_aligned(host, taken, page.max(Memory::SHARED_PAGE))
            .map_err(|_| Failure::NoMemory)?;
        let shared = SharedMemory::map_for_good(file, taken)
            .ok()
            .and_then(|memory| {
                let backing: Arc<dyn Backing> = Arc::new(Mapped(memory));
                simulation.share(host, address, taken, &backing).ok()
            });
        if shared.is_none() {
            // The memory was allocated just before, so this succeeds.
            let _ = simulation.free(host, address, taken);
            return Err(Failure::NoMemory);
        }
        self.last += 1;
        let buffer = Buffer {
            handle,
            object,
            address,
            taken,
            size,
        };
        self.all.insert(self.last, buffer);
        Ok((self.last, address))
    }

    pub(crate) fn find(&self, number: u64) -> Result<&Buffer, Failure> {
        self.all.get(&number).ok_or(Failure::NotFound)
    }

    /// Ends the sharing of buffer `number`, which must belong to `handle`.
    pub(crate) fn unpin(
        &mut self,
        simulation: &mut Simulation,
        host: &str,
        (handle, number): (u64, u64),
    ) -> Result<(), Failure> {
        if self.find(number)?.handle != handle {
            return Err(Failure::NotFound);
        }
        self.release(simulation, host, number)
    }

    /// Ends the sharing of all buffers of `object`.
    pub(crate) fn unpin_all(&mut self, simulation: &mut Simulation, host: &str, object: Named) {
        let own = self
            .all
            .iter()
            .filter(|(_, buffer)| buffer.object == object);
        let own: Vec<u64> = own.map(|(number, _)| *number).collect();
        for number in own {
            // The buffer exists.
            let _ = self.release(simulation, host, number);
        }
    }

    fn release(
        &mut self,
        simulation: &mut Simulation,
        host: &str,
        number: u64,
    ) -> Result<(), Failure> {
        let buffer = self.all.remove(&number).ok_or(Failure::NotFound)?;
        let late = Arc::new(LateWrites::default());
        let backing: Arc<dyn Backing> = late.clone();
        let shared = simulation.share(host, buffer.address, buffer.taken, &backing);
        shared.map_err(|_| Failure::Exception)?;
        self.released.push(Released {
            card: buffer.object.card,
            at: simulation.now(),
            address: buffer.address,
            taken: buffer.taken,
            late,
        });
        Ok(())
    }

    /// Gives released memory back to the host, and returns its records.
    pub(crate) fn give_back(
        &mut self,
        simulation: &mut Simulation,
        host: &str,
        which: Which,
    ) -> Vec<Released> {
        let kept = |one: &Released| which == Which::Unwritten && one.written() > 0;
        let (kept, given): (Vec<_>, Vec<_>) = self.released.drain(..).partition(kept);
        self.released = kept;
        for one in &given {
            // The memory was allocated and shared for the buffer.
            let _ = simulation.unshare(host, one.address, one.taken);
            let _ = simulation.free(host, one.address, one.taken);
        }
        given
    }

    pub(crate) fn has_released(&self) -> bool {
        !self.released.is_empty()
    }

    /// Takes the records of released memory. The memory itself is not given back.
    pub(crate) fn take_released(&mut self) -> Vec<Released> {
        std::mem::take(&mut self.released)
    }
}

/// Largest number of buffers of all processes: a quarter of the mappings that Linux permits a process (`vm.max_map_count`), because the session
/// also needs mappings for itself.
const MOST_BUFFERS: usize = 16_384;

/// Size of the smallest page in bytes.
const SMALL: u64 = 4096;
