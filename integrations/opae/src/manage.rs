//! `fpgaReconfigureSlot`, and other functions for devices.

use std::ffi::c_int;
use std::os::fd::AsFd;

use session::{Kind, Request, SharedMemory};

use crate::abi::{Code, entry, user_pointer};
use crate::absent::{absent, any};
use crate::buffer::copy_out;
use crate::enter::{perform, with};
use crate::memory::Touch;

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
        let file = SharedMemory::create(0).map_err(|_| Code::NoMemory)?;
        let handle = with(|state| {
            let opened = state.handle(fpga)?;
            let handle = opened.handle;
            let is_device = opened.object.kind == Kind::Device;
            let known = flags & !(FORCE | SKIP_USER_CLOCK) == 0;
            let has_slot = slot < opened.object.slots;
            if !is_device || !known || !has_slot || bitstream_len == 0 {
                return Err(Code::InvalidParam);
            }
            state.buffers.begin_use();
            state.touch_range(bitstream as usize, bitstream_len, Touch::Read);
            Ok(handle)
        })?;
        let copied = copy_out(bitstream as usize, bitstream_len, &file);
        with(|state| {
            state.buffers.end_use();
            copied?;
            let request = Request::Configure {
                handle,
                slot,
                size: bitstream_len as u64,
                force: flags & FORCE != 0,
                keeps_clock: flags & SKIP_USER_CLOCK != 0,
            };
            state.call(request, Some(file.as_fd())).map(drop)
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaAssignPortToInterface(
    fpga: usize,
    _interface_num: u32,
    _slot_num: u32,
    _flags: c_int,
) -> u32 {
    absent(fpga, any(), Code::NotSupported)
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
    match perform(|state| state.token(accelerator).map(drop)) {
        0 => absent(fpga, any(), Code::NotSupported),
        wrong => wrong,
    }
}
