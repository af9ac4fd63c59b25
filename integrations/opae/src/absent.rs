//! Features that simulated devices do not have: messages without registers (`UMsg`), and thresholds of sensors.

#![expect(unsafe_code, reason = "functions of the C interface")]

use std::ffi::c_void;

use crate::abi::{Code, entry, user_pointer};
use crate::state::with;

fn of_handle<T>(handle: usize, result: *mut T, code: Code) -> u32 {
    entry(|| {
        user_pointer(result)?;
        with(|state| state.handles.find(handle).map(drop))?;
        Err(code)
    })
}

/// A pointer for a result that nobody uses.
fn any() -> *mut u8 {
    std::ptr::dangling_mut()
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetNumUmsg(handle: usize, value: *mut u64) -> u32 {
    of_handle(handle, value, Code::NotSupported)
}

#[unsafe(no_mangle)]
extern "C" fn fpgaSetUmsgAttributes(handle: usize, _value: u64) -> u32 {
    of_handle(handle, any(), Code::NotSupported)
}

#[unsafe(no_mangle)]
extern "C" fn fpgaTriggerUmsg(handle: usize, _value: u64) -> u32 {
    of_handle(handle, any(), Code::NotSupported)
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetUmsgPtr(handle: usize, umsg_ptr: *mut *mut u64) -> u32 {
    of_handle(handle, umsg_ptr, Code::NotSupported)
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetMetricsThresholdInfo(
    handle: usize,
    _metric_thresholds: *mut c_void,
    num_thresholds: *mut u32,
) -> u32 {
    of_handle(handle, num_thresholds, Code::NotFound)
}
