//! Memory that processes share with devices: files mapped in the simulation in place of a part of the host's memory.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use session::{Failure, SharedMemory};
use sim::{Backing, Memory, Simulation};

/// A part of the host's memory that a process shares.
#[derive(Debug)]
pub(crate) struct Buffer {
    /// The handle that it belongs to.
    pub(crate) handle: u64,
    /// Its address for devices.
    pub(crate) address: u64,
    /// Size of the allocated memory in bytes.
    taken: u64,
    /// Requested size in bytes.
    pub(crate) size: u64,
}

/// All buffers, by number.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    all: BTreeMap<u64, Buffer>,
    last: u64,
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
    /// Shares the first `size` bytes of `file`, in pages of `page` bytes, for `handle`; returns the number of the buffer and its
    /// address.
    pub(crate) fn pin(
        &mut self,
        simulation: &mut Simulation,
        host: &str,
        handle: u64,
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
            address,
            taken,
            size,
        };
        self.all.insert(self.last, buffer);
        Ok((self.last, address))
    }

    /// The buffer `number`.
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
        if let Some(buffer) = self.all.remove(&number) {
            let gone = simulation
                .unshare(host, buffer.address, buffer.taken)
                .and_then(|()| simulation.free(host, buffer.address, buffer.taken));
            gone.map_err(|_| Failure::Exception)?;
        }
        Ok(())
    }

    /// Ends the sharing of all buffers of `handle`.
    pub(crate) fn unpin_all(&mut self, simulation: &mut Simulation, host: &str, handle: u64) {
        let own = self
            .all
            .iter()
            .filter(|(_, buffer)| buffer.handle == handle);
        let own: Vec<u64> = own.map(|(number, _)| *number).collect();
        for number in own {
            // The buffer exists and belongs to this handle.
            let _ = self.unpin(simulation, host, (handle, number));
        }
    }
}

/// Most buffers of all processes: a quarter of the mappings that Linux permits a process (`vm.max_map_count`), as the session needs
/// some for itself.
const MOST_BUFFERS: usize = 16_384;

/// Size of the smallest page in bytes.
const SMALL: u64 = 4096;
