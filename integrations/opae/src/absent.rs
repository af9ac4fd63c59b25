//! What devices of a simulation do not have: errors, user clocks, messages without registers, metrics, and files that describe them.

#![expect(unsafe_code, reason = "they are called from C")]

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::abi::{Code, entry, place};
use crate::state::with;

fn of_token<T>(token: usize, result: *mut T, code: Code) -> u32 {
    entry(|| {
        place(result)?;
        with(|state| state.tokens.find(token).map(drop))?;
        Err(code)
    })
}

fn of_handle<T>(handle: usize, result: *mut T, code: Code) -> u32 {
    entry(|| {
        place(result)?;
        with(|state| state.handles.find(handle).map(drop))?;
        Err(code)
    })
}

/// A result that is not asked for.
fn any() -> *mut u8 {
    std::ptr::dangling_mut()
}

#[unsafe(no_mangle)]
extern "C" fn fpgaReadError(token: usize, _error_num: u32, value: *mut u64) -> u32 {
    of_token(token, value, Code::NotFound)
}

#[unsafe(no_mangle)]
extern "C" fn fpgaClearError(token: usize, _error_num: u32) -> u32 {
    of_token(token, any(), Code::NotFound)
}

#[unsafe(no_mangle)]
extern "C" fn fpgaClearAllErrors(token: usize) -> u32 {
    entry(|| with(|state| state.tokens.find(token).map(drop)))
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetErrorInfo(token: usize, _error_num: u32, error_info: *mut c_void) -> u32 {
    of_token(token, error_info, Code::NotFound)
}

#[unsafe(no_mangle)]
extern "C" fn fpgaSetUserClock(handle: usize, _high: u64, _low: u64, _flags: c_int) -> u32 {
    of_handle(handle, any(), Code::NotSupported)
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetUserClock(handle: usize, high: *mut u64, low: *mut u64, _flags: c_int) -> u32 {
    if low.is_null() {
        return Code::InvalidParam as u32;
    }
    of_handle(handle, high, Code::NotSupported)
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetNumUmsg(_handle: usize, _value: *mut u64) -> u32 {
    Code::NotSupported as u32
}

#[unsafe(no_mangle)]
extern "C" fn fpgaSetUmsgAttributes(_handle: usize, _value: u64) -> u32 {
    Code::NotSupported as u32
}

#[unsafe(no_mangle)]
extern "C" fn fpgaTriggerUmsg(_handle: usize, _value: u64) -> u32 {
    Code::NotSupported as u32
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetUmsgPtr(_handle: usize, _umsg_ptr: *mut *mut u64) -> u32 {
    Code::NotSupported as u32
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetNumMetrics(handle: usize, num_metrics: *mut u64) -> u32 {
    of_handle(handle, num_metrics, Code::NotFound)
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetMetricsInfo(handle: usize, info: *mut c_void, num: *mut u64) -> u32 {
    if info.is_null() {
        return Code::InvalidParam as u32;
    }
    of_handle(handle, num, Code::NotFound)
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetMetricsByIndex(
    handle: usize,
    _metric_num: *mut u64,
    num_metric_indexes: u64,
    metrics: *mut c_void,
) -> u32 {
    if num_metric_indexes == 0 {
        return Code::InvalidParam as u32;
    }
    of_handle(handle, metrics, Code::NotFound)
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetMetricsByName(
    handle: usize,
    _metrics_names: *mut *mut c_char,
    num_metric_names: u64,
    metrics: *mut c_void,
) -> u32 {
    if num_metric_names == 0 {
        return Code::InvalidParam as u32;
    }
    of_handle(handle, metrics, Code::NotFound)
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetMetricsThresholdInfo(
    handle: usize,
    _metric_thresholds: *mut c_void,
    num_thresholds: *mut u32,
) -> u32 {
    of_handle(handle, num_thresholds, Code::NotFound)
}

/// A name may not lead out of its object.
fn named(name: *const c_char) -> Result<(), Code> {
    place(name.cast_mut())?;
    // SAFETY: the program says that it is a string.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    let leads_out = name.windows(2).any(|pair| pair == b"..");
    if leads_out || matches!(name.first(), None | Some(b'.' | b'/')) {
        return Err(Code::InvalidParam);
    }
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn fpgaTokenGetObject(
    token: usize,
    name: *const c_char,
    object: *mut usize,
    _flags: c_int,
) -> u32 {
    entry(|| named(name)).max(of_token(token, object, Code::NotFound) * entry_ok(name))
}

#[unsafe(no_mangle)]
extern "C" fn fpgaHandleGetObject(
    handle: usize,
    name: *const c_char,
    object: *mut usize,
    _flags: c_int,
) -> u32 {
    entry(|| named(name)).max(of_handle(handle, object, Code::NotFound) * entry_ok(name))
}

/// One if the name is right, and zero if not.
fn entry_ok(name: *const c_char) -> u32 {
    u32::from(entry(|| named(name)) == 0)
}

// No object is ever given: none that a program has is one.

#[unsafe(no_mangle)]
extern "C" fn fpgaObjectGetObject(
    _parent: usize,
    _name: *const c_char,
    _object: *mut usize,
    _flags: c_int,
) -> u32 {
    Code::InvalidParam as u32
}

#[unsafe(no_mangle)]
extern "C" fn fpgaObjectGetObjectAt(_parent: usize, _index: usize, _object: *mut usize) -> u32 {
    Code::InvalidParam as u32
}

#[unsafe(no_mangle)]
extern "C" fn fpgaObjectGetType(_object: usize, _type: *mut c_int) -> u32 {
    Code::InvalidParam as u32
}

#[unsafe(no_mangle)]
extern "C" fn fpgaObjectGetName(_object: usize, _name: *mut c_char, _max_len: usize) -> u32 {
    Code::InvalidParam as u32
}

#[unsafe(no_mangle)]
extern "C" fn fpgaDestroyObject(_object: *mut usize) -> u32 {
    Code::InvalidParam as u32
}

#[unsafe(no_mangle)]
extern "C" fn fpgaObjectGetSize(_object: usize, _value: *mut c_void, _flags: c_int) -> u32 {
    Code::InvalidParam as u32
}

#[unsafe(no_mangle)]
extern "C" fn fpgaObjectRead(
    _object: usize,
    _buffer: *mut u8,
    _offset: usize,
    _len: usize,
    _flags: c_int,
) -> u32 {
    Code::InvalidParam as u32
}

#[unsafe(no_mangle)]
extern "C" fn fpgaObjectRead64(_object: usize, _value: *mut u64, _flags: c_int) -> u32 {
    Code::InvalidParam as u32
}

#[unsafe(no_mangle)]
extern "C" fn fpgaObjectWrite64(_object: usize, _value: u64, _flags: c_int) -> u32 {
    Code::InvalidParam as u32
}
