//! The C interface of a library with circuits (`python/peerlane/circuits/cpp/circuit.h`).

use std::ffi::{CStr, c_char, c_void};

/// An event at the ports of a circuit.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub first: u64,
    pub last: u64,
    pub offset: u64,
    pub size: u32,
    pub label: u32,
    pub kind: u32,
}

/// The values of [`Event::kind`].
pub const TAKEN: u32 = 0;
pub const SENT: u32 = 1;
pub const REQUEST_TAKEN: u32 = 3;
pub const ERROR: u32 = 4;

/// The events of one call of [`Model::run`].
#[repr(C)]
pub struct Events {
    pub first: *const Event,
    pub count: u64,
    pub bytes: *const u8,
    pub size: u64,
    pub headers: *const u8,
    pub headers_size: u64,
    pub cycle: u64,
    pub stopped: *const c_char,
}

/// The settings of the function in which a circuit works.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Bus, device and function number.
    pub function_id: u16,
    /// `Max_Payload_Size` as in Device Control: 128 bytes shifted left by the code.
    pub max_payload: u8,
    /// `Max_Read_Request_Size` as in Device Control.
    pub max_read_request: u8,
    /// Bus Master Enable.
    pub bus_master: bool,
    /// Extended Tag Field Enable.
    pub ext_tag: bool,
    /// Whether the function is being reset.
    pub flr: bool,
}

/// Name of the symbol of a library's [`Table`].
pub const SYMBOL: &CStr = c"peerlane_circuits";

/// Version of the interface. A library with another version is refused.
pub const VERSION: u32 = 1;

/// The circuits of a library. The first two fields are the same in every version.
#[repr(C)]
pub struct Table {
    pub version: u32,
    /// Number of bytes of a [`Model`].
    pub size: u32,
    pub count: u64,
    pub models: *const *const Model,
}

/// A circuit at one width.
#[repr(C)]
#[derive(Debug)]
pub struct Model {
    pub name: *const c_char,
    pub width: u64,
    pub is_traced: bool,
    pub resets_function: bool,
    pub create: unsafe extern "C" fn(u64) -> *mut c_void,
    pub destroy: unsafe extern "C" fn(*mut c_void),
    pub reset: unsafe extern "C" fn(*mut c_void),
    pub configure: unsafe extern "C" fn(*mut c_void, *const Settings),
    pub push: unsafe extern "C" fn(*mut c_void, *const u8, u64, u64, u32, u32, bool),
    pub allow: unsafe extern "C" fn(*mut c_void, u32),
    pub run: unsafe extern "C" fn(*mut c_void, u64, *mut Events),
    pub is_sending: unsafe extern "C" fn(*const c_void) -> bool,
    pub is_active: unsafe extern "C" fn(*const c_void) -> bool,
    pub is_reset_done: unsafe extern "C" fn(*const c_void) -> bool,
    pub short_cycles: unsafe extern "C" fn(*const c_void) -> u64,
    pub open_waves: unsafe extern "C" fn(*mut c_void, *const c_char),
    pub close_waves: unsafe extern "C" fn(*mut c_void),
}

// SAFETY: a model is constant data and functions.
unsafe impl Sync for Model {}
