//! Functions for features that simulated devices do not have: messages without registers (`UMsg`), thresholds of sensors, and the drivers of the
//! operating system by which a program accesses a device (UIO and VFIO). All these functions fail.

use std::ffi::{c_char, c_int, c_void};

use crate::abi::{Code, entry, user_pointer};
use crate::enter::with;

/// Checks the arguments of a function for an open handle, and returns the error `code`.
pub fn absent<T>(handle: usize, result: *mut T, code: Code) -> u32 {
    entry(|| {
        user_pointer(result)?;
        with(|state| state.handle(handle).map(drop))?;
        Err(code)
    })
}

/// Checks that a pointer is not null, for a function without a result.
pub fn any() -> *mut u8 {
    std::ptr::dangling_mut()
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetNumUmsg(handle: usize, value: *mut u64) -> u32 {
    absent(handle, value, Code::NotSupported)
}

#[unsafe(no_mangle)]
extern "C" fn fpgaSetUmsgAttributes(handle: usize, _value: u64) -> u32 {
    absent(handle, any(), Code::NotSupported)
}

#[unsafe(no_mangle)]
extern "C" fn fpgaTriggerUmsg(handle: usize, _value: u64) -> u32 {
    absent(handle, any(), Code::NotSupported)
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetUmsgPtr(handle: usize, umsg_ptr: *mut *mut u64) -> u32 {
    absent(handle, umsg_ptr, Code::NotSupported)
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetMetricsThresholdInfo(
    handle: usize,
    _metric_thresholds: *mut c_void,
    num_thresholds: *mut u32,
) -> u32 {
    absent(handle, num_thresholds, Code::NotFound)
}

/// Defines functions that return a number other than zero for an error.
macro_rules! not_supported {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: $type),*) -> c_int {
                Code::NotSupported as c_int
            }
        )*
    };
}

not_supported! {
    opae_uio_open(_uio: *mut c_void, _dfl_device: *const c_char);
    opae_uio_region_get(_uio: *mut c_void, _index: u32, _ptr: *mut *mut u8, _size: *mut usize);
    opae_vfio_open(_vfio: *mut c_void, _pciaddr: *const c_char);
    opae_vfio_secure_open(_vfio: *mut c_void, _pciaddr: *const c_char, _token: *const c_char);
    opae_vfio_region_get(_vfio: *mut c_void, _index: u32, _ptr: *mut *mut u8, _size: *mut usize);
    opae_vfio_buffer_allocate(_vfio: *mut c_void, _size: *mut usize, _buf: *mut *mut u8, _iova: *mut u64);
    opae_vfio_buffer_free(_vfio: *mut c_void, _buf: *mut u8);
}

#[unsafe(no_mangle)]
extern "C" fn opae_uio_close(_uio: *mut c_void) {}

#[unsafe(no_mangle)]
extern "C" fn opae_vfio_close(_vfio: *mut c_void) {}
