//! `fpgaPrepareBuffer` and all other functions for buffers.

use std::ffi::c_int;
use std::ops::Range;
use std::os::fd::AsFd;
use std::ptr;

use rustix::io::{Errno, pwrite};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use session::{Reply, Request, SharedMemory};

use crate::abi::{Code, entry, user_pointer};
use crate::absent::absent;
use crate::enter::{answer, perform, with};
use crate::memory::guard::{Buffer, PAGE, Pages};
use crate::registry::is_any_mapping;
use crate::state::{Mode, State, known_mode};
use crate::{fault, valgrind};

const PREALLOCATED: c_int = 1;
const QUIET: c_int = 2;
const READ_ONLY: c_int = 4;

const SMALL: u64 = PAGE as u64;
const LARGE: u64 = 2 << 20;
const HUGE: u64 = 1 << 30;

/// The page size that the original library uses for a buffer of `len` bytes.
fn page_for(len: u64) -> u64 {
    let pages = [SMALL, LARGE];
    pages.into_iter().find(|&page| len <= page).unwrap_or(HUGE)
}

/// The page size for `len` bytes of the program's memory at `base`: the largest page size by which both numbers are divisible. Software that makes
/// page tables for devices pins these pages one by one, and copies the lower bits of the program's address to the address for devices.
fn page_at(base: usize, len: u64) -> u64 {
    let pages = [HUGE, LARGE];
    let is_whole = |page: u64| (base as u64 | len).is_multiple_of(page);
    let largest = pages.into_iter().find(|&page| is_whole(page));
    largest.unwrap_or(SMALL)
}

#[unsafe(no_mangle)]
extern "C" fn fpgaPrepareBuffer(
    handle: usize,
    len: u64,
    buf_addr: *mut usize,
    wsid: *mut u64,
    flags: c_int,
) -> u32 {
    entry(|| {
        let preallocated = flags & PREALLOCATED != 0;
        let asks = preallocated && len == 0 && buf_addr.is_null();
        let wsid = user_pointer(wsid)?;
        if asks {
            return with(|state| state.handle(handle)?.accelerator().map(drop));
        }
        let address = user_pointer(buf_addr)?;
        if flags & !(PREALLOCATED | QUIET | READ_ONLY) != 0 || len == 0 {
            return Err(Code::InvalidParam);
        }
        let given = preallocated.then(|| address.take());
        let (base, name) = with(|state| state.prepare(handle, len, given))?;
        address.put(base);
        wsid.put(name);
        Ok(())
    })
}

impl State {
    fn prepare(
        &mut self,
        name: usize,
        len: u64,
        given: Option<usize>,
    ) -> Result<(usize, u64), Code> {
        let handle = self.handle(name)?.accelerator()?.handle;
        let page = given.map_or_else(|| page_for(len), |base| page_at(base, len));
        let size = len.checked_next_multiple_of(page).ok_or(Code::NoMemory)?;
        let room = usize::try_from(size).map_err(|_| Code::NoMemory)?;
        if i64::try_from(size).is_err() {
            return Err(Code::NoMemory);
        }
        if let Some(base) = given {
            let fits = base != 0 && base.is_multiple_of(PAGE) && len.is_multiple_of(SMALL);
            let end = base.checked_add(room).ok_or(Code::InvalidParam)?;
            if !fits || self.buffers.overlap(base, end - base) || holds_code(base..end) {
                return Err(Code::InvalidParam);
            }
        }
        let file = SharedMemory::create(size).map_err(|_| Code::NoMemory)?;
        if let Some(base) = given {
            copy_out(base, room, &file)?;
        }
        let inside = SharedMemory::map(&file, size).map_err(|_| Code::NoMemory)?;
        let request = Request::Pin { handle, size, page };
        let Reply::Pinned { buffer, address } = self.call(request, Some(file.as_fd()))? else {
            return Err(Code::Exception);
        };
        let Ok(base) = map(given, room, &file) else {
            let _ = self.call(Request::Unpin { handle, buffer }, None);
            return Err(Code::NoMemory);
        };
        let guarded = known_mode() == Mode::Virtual && fault::can_guard();
        if guarded {
            fault::install();
        }
        self.last_wsid += 1;
        let wsid = self.last_wsid;
        self.buffers.insert(Buffer {
            base,
            len: room,
            owner: name,
            id: buffer,
            wsid,
            address,
            preallocated: given.is_some(),
            inside,
            pages: guarded.then(|| Pages::closed(room)),
        });
        Ok((base, wsid))
    }

    fn release(&mut self, name: usize, wsid: u64) -> Result<(), Code> {
        let handle = self.handle(name)?.handle;
        let buffer = self.buffers.find(name, wsid).ok_or(Code::InvalidParam)?;
        let (base, buffer) = (buffer.base, buffer.id);
        let result = self.call(Request::Unpin { handle, buffer }, None);
        if let Some(buffer) = self.buffers.remove(base) {
            give_back(buffer);
        }
        result.map(drop)
    }
}

/// Whether a part of a range of the program's memory is executable. Pages of executable memory cannot be protected: the fetch of an instruction would
/// fault, and the fault handler may be in this memory. Under Valgrind all memory is executable, but no instruction is fetched from it directly.
fn holds_code(range: Range<usize>) -> bool {
    if valgrind::is_there() {
        return false;
    }
    is_any_mapping(|place, rights| {
        rights.contains('x') && place.start < range.end && range.start < place.end
    })
}

/// Writes the program's bytes to the beginning of a file. A system call reads the bytes, so an invalid address results in an error and not in a
/// fault.
pub fn copy_out(base: usize, len: usize, file: impl AsFd) -> Result<(), Code> {
    let mut done = 0;
    while done < len {
        // SAFETY: the slice is only passed to the system call, which checks the memory itself.
        let bytes = unsafe {
            std::slice::from_raw_parts(ptr::with_exposed_provenance(base + done), len - done)
        };
        match pwrite(&file, bytes, done as u64) {
            Ok(0) | Err(Errno::NOMEM | Errno::NOSPC) => return Err(Code::NoMemory),
            Ok(written) => done += written,
            Err(Errno::INTR) => {}
            Err(_) => return Err(Code::InvalidParam),
        }
    }
    Ok(())
}

/// Maps a file for the program, at the address `given` or at an address that the system chooses.
fn map(given: Option<usize>, len: usize, file: impl AsFd) -> Result<usize, Errno> {
    let all = ProtFlags::READ | ProtFlags::WRITE;
    let fixed = match given {
        Some(_) => MapFlags::SHARED | MapFlags::FIXED,
        None => MapFlags::SHARED,
    };
    let hint = ptr::with_exposed_provenance_mut(given.unwrap_or(0));
    // SAFETY: the replaced mapping is memory that the program gave for this purpose; the file has its bytes.
    unsafe { mmap(hint, len, all, fixed, file, 0) }.map(|base| base as usize)
}

/// Unmaps memory that the library has mapped. Memory that belonged to the program is mapped as the program's own memory again, with the current
/// content.
fn give_back(mut buffer: Buffer) {
    buffer.open_for_good();
    let base = ptr::with_exposed_provenance_mut(buffer.base);
    if !buffer.preallocated {
        // SAFETY: the mapping was made for this buffer, which is released.
        let _ = unsafe { munmap(base, buffer.len) };
        return;
    }
    let all = ProtFlags::READ | ProtFlags::WRITE;
    let flags = MapFlags::PRIVATE | MapFlags::FIXED;
    // SAFETY: the replaced mapping is the mapping of the buffer, and has the same length.
    if unsafe { mmap_anonymous(base, buffer.len, all, flags) }.is_ok() {
        // SAFETY: the mapping was just made, and the program may write to it.
        let memory = unsafe { std::slice::from_raw_parts_mut(base.cast::<u8>(), buffer.len) };
        buffer.inside.read(0, memory);
    }
}

#[unsafe(no_mangle)]
extern "C" fn fpgaReleaseBuffer(handle: usize, wsid: u64) -> u32 {
    perform(|state| state.release(handle, wsid))
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetIOAddress(handle: usize, wsid: u64, ioaddr: *mut u64) -> u32 {
    answer(ioaddr, |state| {
        state.handle(handle)?;
        let buffer = state.buffers.find(handle, wsid).ok_or(Code::NotFound)?;
        Ok(buffer.address)
    })
}

/// Not supported: devices use addresses of the host, and not virtual addresses of a process.
#[unsafe(no_mangle)]
extern "C" fn fpgaBindSVA(handle: usize, pasid: *mut u32) -> u32 {
    absent(handle, pasid, Code::NotSupported)
}

/// The address of `len` bytes at `offset` of a buffer.
fn bytes_of(handle: usize, wsid: u64, offset: usize, len: usize) -> Result<usize, Code> {
    with(|state| {
        state.handle(handle)?;
        let buffer = state.buffers.find(handle, wsid).ok_or(Code::NotFound)?;
        let end = offset.checked_add(len).ok_or(Code::Exception)?;
        if end > buffer.len {
            return Err(Code::Exception);
        }
        Ok(buffer.base + offset)
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaBufMemSet(
    handle: usize,
    wsid: u64,
    offset: usize,
    byte: c_int,
    len: usize,
) -> u32 {
    entry(|| {
        let to = bytes_of(handle, wsid, offset, len)?;
        // SAFETY: the range is within the buffer, and the program may write to it.
        unsafe { ptr::with_exposed_provenance_mut::<u8>(to).write_bytes(byte as u8, len) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaBufMemCpyToRemote(
    handle: usize,
    wsid: u64,
    offset: usize,
    from: *const u8,
    len: usize,
) -> u32 {
    entry(|| {
        user_pointer(from.cast_mut())?;
        let to = bytes_of(handle, wsid, offset, len)?;
        // SAFETY: the range is within the buffer; the program guarantees that its own range is as long.
        unsafe { from.copy_to(ptr::with_exposed_provenance_mut(to), len) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaBufMemCmp(
    handle: usize,
    first: u64,
    first_offset: usize,
    second: u64,
    second_offset: usize,
    len: usize,
    order: *mut c_int,
) -> u32 {
    entry(|| {
        let result = user_pointer(order)?;
        let first = bytes_of(handle, first, first_offset, len)?;
        let second = bytes_of(handle, second, second_offset, len)?;
        // SAFETY: both ranges are within buffers.
        let order = unsafe {
            libc::memcmp(
                ptr::with_exposed_provenance(first),
                ptr::with_exposed_provenance(second),
                len,
            )
        };
        result.put(order);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaBufPoll(
    handle: usize,
    wsid: u64,
    offset: usize,
    width: c_int,
    mask: u64,
    expected_value: u64,
    sleep_interval: u64,
    loops_timeout: u64,
) -> u32 {
    entry(|| {
        if ![1, 2, 4, 8].contains(&width) {
            return Err(Code::InvalidParam);
        }
        let width = width as usize;
        let word = bytes_of(handle, wsid, offset, width)?;
        let mask = mask & (u64::MAX >> (64 - 8 * width));
        for _ in 0..=loops_timeout {
            let mut value = [0; 8];
            // SAFETY: the bytes are within the buffer.
            unsafe {
                let from: *const u8 = ptr::with_exposed_provenance(word);
                from.copy_to(value.as_mut_ptr(), width);
            }
            if u64::from_le_bytes(value) & mask == expected_value & mask {
                return Ok(());
            }
            crate::interpose::sleep_for(sleep_interval.saturating_mul(1000));
        }
        Err(Code::NotFound)
    })
}
