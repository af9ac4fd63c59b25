//! Features that simulated devices do not have: user clocks, messages without registers (`UMsg`), and metrics.

#![expect(unsafe_code, reason = "functions of the C interface")]

use std::ffi::{c_char, c_int, c_void};

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
    metric_num: *mut u64,
    num_metric_indexes: u64,
    metrics: *mut c_void,
) -> u32 {
    if num_metric_indexes == 0 || metric_num.is_null() {
        return Code::InvalidParam as u32;
    }
    of_handle(handle, metrics, Code::NotFound)
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetMetricsByName(
    handle: usize,
    metrics_names: *mut *mut c_char,
    num_metric_names: u64,
    metrics: *mut c_void,
) -> u32 {
    if num_metric_names == 0 || metrics_names.is_null() {
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
