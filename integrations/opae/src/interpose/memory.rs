//! System calls with pointers to memory. For a protected page, the kernel would return an error instead of a fault, so the pages are made accessible
//! before the call.

use std::ffi::{c_int, c_void};

use libc::{FILE, iovec, off_t, size_t, ssize_t};

use super::{descriptors, real, virtually, with_state};
use crate::abi::user_pointer;
use crate::event::may_be_event;
use crate::memory::Touch;
use crate::memory::guard::may_touch;
use crate::state::{Mode, known_mode};

/// Runs `call` while the pages of `ranges` are accessible.
fn with_open<T>(
    ranges: impl Iterator<Item = (usize, usize)> + Clone,
    touch: Touch,
    call: impl FnOnce() -> T,
) -> T {
    let guarded = known_mode() == Mode::Virtual
        && ranges.clone().any(|(address, len)| may_touch(address, len));
    if !guarded {
        return call();
    }
    with_state(|state| {
        state.buffers.begin_use();
        for (address, len) in ranges {
            state.touch_range(address, len, touch);
        }
    });
    let result = call();
    with_state(|state| state.buffers.end_use());
    result
}

fn with_range<T>(bytes: *const c_void, len: usize, touch: Touch, call: impl FnOnce() -> T) -> T {
    with_open(std::iter::once((bytes as usize, len)), touch, call)
}

fn with_parts<T>(parts: *const iovec, count: c_int, touch: Touch, call: impl FnOnce() -> T) -> T {
    let ranges = (0..count.max(0) as usize).filter_map(|index| {
        let part = user_pointer(parts.cast_mut()).ok()?.at(index).take();
        Some((part.iov_base as usize, part.iov_len))
    });
    with_open(ranges, touch, call)
}

/// A read of an event's descriptor waits in simulated time.
#[unsafe(no_mangle)]
unsafe extern "C" fn read(file: c_int, bytes: *mut c_void, len: size_t) -> ssize_t {
    if known_mode() == Mode::Virtual && may_be_event(file) {
        let is_event = with_state(|state| state.is_event(file)).unwrap_or(false);
        match (is_event && virtually(), blocks(file)) {
            (true, true) => descriptors::wait_for(file),
            (true, false) => descriptors::charge_check(),
            (false, _) => {}
        }
    }
    // SAFETY: the caller guarantees valid arguments.
    with_range(bytes, len, Touch::Write, || unsafe {
        real::read(file, bytes, len)
    })
}

fn blocks(file: c_int) -> bool {
    // SAFETY: the flags are only read.
    let flags = unsafe { libc::fcntl(file, libc::F_GETFL) };
    flags >= 0 && flags & libc::O_NONBLOCK == 0
}

/// The name of `read` in programs that are compiled with checks of buffer sizes.
#[unsafe(no_mangle)]
unsafe extern "C" fn __read_chk(
    file: c_int,
    bytes: *mut c_void,
    len: size_t,
    room: size_t,
) -> ssize_t {
    // SAFETY: the caller guarantees valid arguments, and the length is limited to the buffer.
    unsafe { read(file, bytes, len.min(room)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readv(file: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: the caller guarantees valid arguments.
    with_parts(parts, count, Touch::Write, || unsafe {
        real::readv(file, parts, count)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn writev(file: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: the caller guarantees valid arguments.
    with_parts(parts, count, Touch::Read, || unsafe {
        real::writev(file, parts, count)
    })
}

/// Defines functions that read or write a number of bytes at a pointer, and call the real function.
macro_rules! ranged {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty: $touch:ident $bytes:ident $len:expr => $real:ident;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> $result {
                // SAFETY: the caller guarantees valid arguments.
                with_range($bytes, $len, Touch::$touch, || unsafe { real::$real($($argument),*) })
            }
        )*
    };
}

ranged! {
    write(file: c_int, bytes: *const c_void, len: size_t) -> ssize_t: Read bytes len => write;
    pread(file: c_int, bytes: *mut c_void, len: size_t, at: off_t) -> ssize_t: Write bytes len => pread64;
    pread64(file: c_int, bytes: *mut c_void, len: size_t, at: off_t) -> ssize_t: Write bytes len => pread64;
    pwrite(file: c_int, bytes: *const c_void, len: size_t, at: off_t) -> ssize_t: Read bytes len => pwrite64;
    pwrite64(file: c_int, bytes: *const c_void, len: size_t, at: off_t) -> ssize_t: Read bytes len => pwrite64;
    recv(socket: c_int, bytes: *mut c_void, len: size_t, flags: c_int) -> ssize_t: Write bytes len => recv;
    send(socket: c_int, bytes: *const c_void, len: size_t, flags: c_int) -> ssize_t: Read bytes len => send;
    fread(bytes: *mut c_void, size: size_t, count: size_t, file: *mut FILE) -> size_t: Write bytes size.saturating_mul(count) => fread;
    fwrite(bytes: *const c_void, size: size_t, count: size_t, file: *mut FILE) -> size_t: Read bytes size.saturating_mul(count) => fwrite;
}
