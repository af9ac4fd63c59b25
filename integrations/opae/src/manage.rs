//! `fpgaReconfigureSlot`, and other functions for devices.

#![expect(unsafe_code, reason = "functions of the C interface")]

use std::ffi::c_int;
use std::os::fd::AsFd;

use rustix::io::{Errno, write};
use session::{Kind, Request, SharedMemory};

use crate::abi::{Code, entry, user_pointer};
use crate::enter::with;
use crate::polling::Touch;
use crate::state::State;

const FORCE: c_int = 1;
const SKIP_USER_CLOCK: c_int = 2;

#[unsafe(no_mangle)]
extern "C" fn fpgaReconfigureSlot(
    fpga: usize,
    slot: u32,
    bitstream: *const u8,
    bitstream_len: usize,
    flags: c_int,
) -> u32 {
    entry(|| {
        user_pointer(bitstream.cast_mut())?;
        let handle = with(|state| {
            let opened = state.handle(fpga)?;
            let is_device = opened.object.kind == Kind::Device;
            let known = flags & !(FORCE | SKIP_USER_CLOCK) == 0;
            let has_slot = slot < opened.object.slots;
            if !is_device || !known || !has_slot || bitstream_len == 0 {
                return Err(Code::InvalidParam);
            }
            state.buffers.begin_use();
            state.touch_range(bitstream as usize, bitstream_len, Touch::Read);
            Ok(opened_handle(state, fpga))
        })??;
        let file = copy(bitstream, bitstream_len);
        with(|state| {
            state.buffers.end_use();
            let request = Request::Configure {
                handle,
                slot,
                size: bitstream_len as u64,
                force: flags & FORCE != 0,
                keeps_clock: flags & SKIP_USER_CLOCK != 0,
            };
            state.call(request, Some(file?.as_fd())).map(drop)
        })
    })
}

fn opened_handle(state: &State, name: usize) -> Result<u64, Code> {
    Ok(state.handle(name)?.handle)
}

/// A file with the program's bytes. The system call reads them, so a wrong address is an error, not a fault.
fn copy(bytes: *const u8, len: usize) -> Result<std::os::fd::OwnedFd, Code> {
    let file = SharedMemory::create(0).map_err(|_| Code::NoMemory)?;
    let mut done = 0;
    while done < len {
        // SAFETY: the slice is only passed to the system call, which checks the memory itself.
        let rest = unsafe { std::slice::from_raw_parts(bytes.wrapping_add(done), len - done) };
        match write(&file, rest) {
            Ok(0) | Err(Errno::NOMEM | Errno::NOSPC) => return Err(Code::NoMemory),
            Ok(written) => done += written,
            Err(Errno::INTR) => {}
            Err(_) => return Err(Code::InvalidParam),
        }
    }
    Ok(file)
}

#[unsafe(no_mangle)]
extern "C" fn fpgaAssignPortToInterface(
    fpga: usize,
    _interface_num: u32,
    _slot_num: u32,
    _flags: c_int,
) -> u32 {
    not_supported(fpga)
}

#[unsafe(no_mangle)]
extern "C" fn fpgaAssignToInterface(
    fpga: usize,
    accelerator: usize,
    _host_interface: u32,
    _flags: c_int,
) -> u32 {
    fpgaReleaseFromInterface(fpga, accelerator)
}

#[unsafe(no_mangle)]
extern "C" fn fpgaReleaseFromInterface(fpga: usize, accelerator: usize) -> u32 {
    let known = entry(|| with(|state| state.token(accelerator).map(drop)));
    if known == 0 {
        not_supported(fpga)
    } else {
        known
    }
}

fn not_supported(handle: usize) -> u32 {
    entry(|| {
        with(|state| state.handle(handle).map(drop))?;
        Err(Code::NotSupported)
    })
}
