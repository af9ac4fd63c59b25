//! Memory that two processes share.

#![expect(
    unsafe_code,
    reason = "a mapping that another process shares is accessed through raw pointers"
)]

use std::ffi::c_void;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A mapping of an anonymous file. The other process may write it at any time, so bytes are only copied from it and to it, and words are
/// atomic.
#[derive(Debug)]
pub struct SharedMemory {
    base: NonNull<c_void>,
    size: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and the only references into it are to atomic words.
unsafe impl Send for SharedMemory {}
// SAFETY: the only references into the mapping are to atomic words, so several threads may use it.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// A new anonymous file of `size` bytes, filled with zeros, that [`map_for_good`](Self::map_for_good) accepts.
    pub fn create(size: u64) -> Result<OwnedFd, Errno> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("peerlane-buffer", flags)?;
        ftruncate(&file, size)?;
        Ok(file)
    }

    /// Makes `file` at least `size` bytes long and maps them. Seals the file so that no process can make it shorter, which keeps the mapping
    /// safe from other users of the file. Returns an error if the file cannot be sealed.
    pub fn map_for_good(file: impl AsFd, size: u64) -> Result<Self, Errno> {
        ftruncate(&file, size)?;
        fcntl_add_seals(&file, SealFlags::SHRINK)?;
        // The file may have been shortened before it was sealed, so its size is checked after the seal.
        Self::map(file, size)
    }

    /// Maps the first `size` bytes of `file`. The file must be at least this long while the mapping exists.
    pub fn map(file: impl AsFd, size: u64) -> Result<Self, Errno> {
        let len = u64::try_from(fstat(&file)?.st_size).unwrap_or(0);
        let size = usize::try_from(size).map_err(|_| Errno::NOMEM)?;
        if size == 0 || len < size as u64 {
            return Err(Errno::INVAL);
        }
        let all = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address that the system chooses does not replace another one.
        let base = unsafe { mmap(std::ptr::null_mut(), size, all, MapFlags::SHARED, file, 0)? };
        let base = NonNull::new(base).ok_or(Errno::NOMEM)?;
        Ok(SharedMemory { base, size })
    }

    /// Size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Copies bytes from `offset` into `bytes`.
    ///
    /// # Panics
    /// If the range is not within the mapping.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) {
        self.check(offset, bytes.len());
        // SAFETY: the range is within the mapping, and `bytes` does not overlap it.
        unsafe {
            let from = self.base.as_ptr().cast::<u8>().add(offset);
            std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len());
        }
    }

    /// Copies `bytes` to `offset`. The first eight bytes are copied last, because a program on another processor may poll them for the end of a
    /// transfer.
    ///
    /// # Panics
    /// If the range is not within the mapping.
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        self.check(offset, bytes.len());
        let (head, tail) = bytes.split_at(bytes.len().min(8));
        // SAFETY: the range is within the mapping, and there is no reference to its bytes.
        unsafe {
            let to = self.base.as_ptr().cast::<u8>().add(offset);
            std::ptr::copy_nonoverlapping(tail.as_ptr(), to.add(head.len()), tail.len());
            fence(Ordering::Release);
            std::ptr::copy_nonoverlapping(head.as_ptr(), to, head.len());
        }
    }

    /// The word of 4 bytes at `offset`.
    ///
    /// # Panics
    /// If the word is not within the mapping, or `offset` is not a multiple of 4.
    pub fn word(&self, offset: usize) -> &AtomicU32 {
        self.check(offset, size_of::<AtomicU32>());
        assert!(offset.is_multiple_of(align_of::<AtomicU32>()));
        // SAFETY: the word is within the mapping, which begins at a page and lives as long as the reference; whatever the other process
        // writes there is a valid value.
        unsafe { AtomicU32::from_ptr(self.base.as_ptr().cast::<u8>().add(offset).cast()) }
    }

    fn check(&self, offset: usize, len: usize) {
        let end = offset.checked_add(len);
        assert!(
            end.is_some_and(|end| end <= self.size),
            "{len} bytes at offset {offset} are outside a mapping of {} bytes",
            self.size
        );
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and references into it do not outlive this value.
        let _ = unsafe { munmap(self.base.as_ptr(), self.size) };
    }
}
