//! Memory that two processes share.

#![expect(
    unsafe_code,
    reason = "a mapping that another process has, too, is read and written by raw pointers"
)]

use std::ffi::c_void;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::{MemfdFlags, fstat, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A mapping of a file without a name. Whoever shares it may write it at any time: it is only ever copied from and to.
#[derive(Debug)]
pub struct SharedMemory {
    base: NonNull<c_void>,
    size: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and no reference into it is ever made.
unsafe impl Send for SharedMemory {}
// SAFETY: the same.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// A new file of `size` bytes, zero until written.
    pub fn create(size: u64) -> Result<OwnedFd, Errno> {
        let file = memfd_create("peerlane-buffer", MemfdFlags::CLOEXEC)?;
        ftruncate(&file, size)?;
        Ok(file)
    }

    /// The first `size` bytes of `file`, which must have as many.
    pub fn map(file: impl AsFd, size: u64) -> Result<Self, Errno> {
        let held = u64::try_from(fstat(&file)?.st_size).unwrap_or(0);
        let size = usize::try_from(size).map_err(|_| Errno::NOMEM)?;
        if size == 0 || held < size as u64 {
            return Err(Errno::INVAL);
        }
        let all = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the system's choice takes no other's place.
        let base = unsafe { mmap(std::ptr::null_mut(), size, all, MapFlags::SHARED, file, 0)? };
        let base = NonNull::new(base).ok_or(Errno::NOMEM)?;
        Ok(SharedMemory { base, size })
    }

    /// Its bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Copies from `offset` on into `bytes`.
    ///
    /// # Panics
    /// If the range is not within.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) {
        self.check(offset, bytes.len());
        // SAFETY: the range is within the mapping, and `bytes` is nobody else's.
        unsafe {
            let from = self.base.as_ptr().cast::<u8>().add(offset);
            std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len());
        }
    }

    /// Copies `bytes` to `offset`.
    ///
    /// # Panics
    /// If the range is not within.
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        self.check(offset, bytes.len());
        // SAFETY: the range is within the mapping, into which there are no references.
        unsafe {
            let to = self.base.as_ptr().cast::<u8>().add(offset);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
    }

    fn check(&self, offset: usize, len: usize) {
        let end = offset.checked_add(len);
        assert!(
            end.is_some_and(|end| end <= self.size),
            "{len} bytes at {offset} are not within {}",
            self.size
        );
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and nothing refers into it.
        let _ = unsafe { munmap(self.base.as_ptr(), self.size) };
    }
}
