//! The C interface between the simulator and a library that contains a model.
//!
//! A library exports the function [`SYMBOL`], which returns a [`Table`]. The first two fields of the table are the same in every version. The
//! other fields may change with [`VERSION`], so a simulator of another version refuses the library. The pointer to a device is valid until the
//! device is destroyed. Every other pointer that is passed to a call is valid only during the call. No panic unwinds across the interface: a
//! panic of a model is reported by [`RawShell::fail`].

#![expect(
    unsafe_code,
    reason = "the values of a C interface are behind pointers, which are valid by the rules of the interface"
)]

use std::ffi::c_void;
use std::slice;

use crate::Setting;

/// The version of the interface.
pub const VERSION: u32 = 2;

/// The name of the function that returns the table, with the null byte at its end.
pub const SYMBOL: &[u8] = b"peerlane_device_model\0";

/// The type of the function [`SYMBOL`].
pub type Entry = unsafe extern "C" fn() -> *const Table;

/// The functions of a model.
#[repr(C)]
#[derive(Debug)]
pub struct Table {
    /// The version of the interface for which the library was built.
    pub version: u32,
    /// The size of this table in bytes.
    pub size: u32,
    /// Returns the declaration of the model. The declaration is valid as long as the library is loaded.
    pub describe: unsafe extern "C" fn() -> *const RawDescription,
    /// Makes a device. Its arguments are the values of all parameters in the order of their declaration, their number, and the shell. Returns
    /// null after a failure.
    pub make: unsafe extern "C" fn(*const RawSetting, usize, *const RawShell) -> *mut c_void,
    /// Destroys a device.
    pub destroy: unsafe extern "C" fn(*mut c_void),
    /// Calls `Model::reset`. Its arguments are device, function, shell.
    pub reset: unsafe extern "C" fn(*mut c_void, u32, *const RawShell),
    /// Calls `Model::read`. Its arguments are device, access, bytes to fill, shell. Returns the number of the `Answer`, in the order of
    /// declaration.
    pub read: unsafe extern "C" fn(*mut c_void, *const RawAccess, *mut u8, *const RawShell) -> u32,
    /// Calls `Model::write`. Its arguments are device, access, bytes, shell.
    pub write: unsafe extern "C" fn(*mut c_void, *const RawAccess, *const u8, *const RawShell),
    /// Calls `Model::completed`. Its arguments are device, tag, number of the failure or 0, bytes, their number, shell.
    pub completed: unsafe extern "C" fn(*mut c_void, u64, u32, *const u8, usize, *const RawShell),
    /// Calls `Model::sent`. Its arguments are device, tag, shell.
    pub sent: unsafe extern "C" fn(*mut c_void, u64, *const RawShell),
    /// Calls `Model::expired`. Its arguments are device, timer, shell.
    pub expired: unsafe extern "C" fn(*mut c_void, u64, *const RawShell),
}

/// The simulator as a model can use it during one call.
#[repr(C)]
#[derive(Debug)]
pub struct RawShell {
    /// The first argument that the model must pass to `ask` and `fail`.
    pub context: *mut c_void,
    /// Simulated time in femtoseconds.
    pub now_fs: u64,
    /// Makes a request. Returns 0, or the number of the [`Misuse`](crate::Misuse) if the request is rejected.
    pub ask: unsafe extern "C" fn(*mut c_void, *const RawRequest) -> u32,
    /// Ends the run. The arguments are the context, the reason as a text in UTF-8, and the length of the text in bytes.
    pub fail: unsafe extern "C" fn(*mut c_void, *const u8, usize),
}

/// An access to registers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawAccess {
    /// The number of the function whose registers are accessed.
    pub function: u32,
    /// The number of the BAR.
    pub bar: u32,
    /// The offset of the first byte.
    pub offset: u64,
    /// The ticket of a read.
    pub ticket: u64,
    /// The number of bytes.
    pub len: u32,
}

/// A request of a model.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawRequest {
    /// The kind of the request, a constant `REQUEST_...`.
    pub kind: u32,
    /// The number of the function that makes the request.
    pub function: u32,
    /// The tag of the request, the number of the timer, the ticket, or the vector.
    pub tag: u64,
    /// The address, or the time of a timer in femtoseconds.
    pub address: u64,
    /// The bytes of a write, the operands, or the bytes of an answer.
    pub bytes: *const u8,
    /// The number of bytes in `bytes`, or the number of bytes to read.
    pub len: u64,
    /// The number of the operation, of the severity or of the defect, in the order of declaration. For a write, 1 if it has a tag. For an
    /// answer, 1 if it has bytes.
    pub detail: u32,
}

/// The most bytes of a request, 16 MiB.
pub const LARGEST_REQUEST: u64 = crate::shell::LARGEST;

/// The kind of `Request::Read`.
pub const REQUEST_READ: u32 = 1;
/// The kind of `Request::Write`.
pub const REQUEST_WRITE: u32 = 2;
/// The kind of `Request::Atomic`.
pub const REQUEST_ATOMIC: u32 = 3;
/// The kind of `Request::Interrupt`.
pub const REQUEST_INTERRUPT: u32 = 4;
/// The kind of `Request::Message`.
pub const REQUEST_MESSAGE: u32 = 5;
/// The kind of `Request::Timer`.
pub const REQUEST_TIMER: u32 = 6;
/// The kind of `Request::Answer`.
pub const REQUEST_ANSWER: u32 = 7;

/// The kind of `Request::Malformed`.
pub const REQUEST_MALFORMED: u32 = 8;

/// The result of [`RawShell::ask`] if the kind, the operation, the severity or the defect of the request is unknown.
pub const UNKNOWN_REQUEST: u32 = u32::MAX;

/// A text in UTF-8.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawText {
    /// The first byte of the text.
    pub bytes: *const u8,
    /// The length of the text in bytes.
    pub len: usize,
}

impl RawText {
    /// The raw form of a text. The text must exist as long as the raw form is used.
    pub fn of(text: &str) -> Self {
        RawText {
            bytes: text.as_ptr(),
            len: text.len(),
        }
    }

    /// Returns the text, or "?" if it is not valid UTF-8.
    ///
    /// # Safety
    ///
    /// The pointer and the length must describe bytes that are valid.
    pub unsafe fn read(self) -> String {
        // SAFETY: the caller obeys the safety rules of this function.
        let bytes = unsafe { list(self.bytes, self.len) };
        str::from_utf8(bytes).unwrap_or("?").to_owned()
    }
}

/// The value of a parameter.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawSetting {
    /// The number of the type, in the order of declaration of `Setting`.
    pub kind: u32,
    /// The value if it is not a text: a whole number, the bits of a floating-point number, or 1 for true.
    pub number: u64,
    /// The value if it is a text.
    pub text: RawText,
}

impl RawSetting {
    /// The raw form of a value. The text of the value must exist as long as the raw form is used.
    pub fn of(value: &Setting) -> Self {
        let mut text = RawText::of("");
        let (kind, number) = match value {
            Setting::Integer(number) => (0, *number),
            Setting::Number(number) => (1, number.to_bits()),
            Setting::Flag(flag) => (2, (*flag).into()),
            Setting::Text(value) => {
                text = RawText::of(value);
                (3, 0)
            }
            Setting::Bytes(number) => (4, *number),
            Setting::Time(number) => (5, *number),
            Setting::Bandwidth(number) => (6, *number),
            Setting::Frequency(number) => (7, *number),
        };
        RawSetting { kind, number, text }
    }

    /// Returns the value; none if there is no type with this number.
    ///
    /// # Safety
    ///
    /// If the value is a text, the bytes of the text must be valid.
    pub unsafe fn read(&self) -> Option<Setting> {
        Some(match self.kind {
            0 => Setting::Integer(self.number),
            1 => Setting::Number(f64::from_bits(self.number)),
            2 => Setting::Flag(self.number != 0),
            // SAFETY: the caller obeys the safety rules of this function.
            3 => Setting::Text(unsafe { self.text.read() }),
            4 => Setting::Bytes(self.number),
            5 => Setting::Time(self.number),
            6 => Setting::Bandwidth(self.number),
            7 => Setting::Frequency(self.number),
            _ => return None,
        })
    }
}

/// A parameter of a model.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawParameter {
    /// The name of the parameter.
    pub key: RawText,
    /// The meaning of the parameter.
    pub help: RawText,
    /// The source of the default.
    pub source: RawText,
    /// The default value of the parameter.
    pub default: RawSetting,
    /// 1 if the values of the parameter have limits.
    pub is_limited: u32,
    /// The least value.
    pub least: RawSetting,
    /// The greatest value.
    pub most: RawSetting,
}

/// A BAR of a model.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawBar {
    /// The number of the BAR.
    pub index: u32,
    /// 1 if the BAR has an address of 64 bits.
    pub is_wide: u32,
    /// The size in bytes.
    pub size: u64,
}

/// The declaration of a model.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawDescription {
    /// The function of the device, as a text.
    pub help: RawText,
    /// Vendor ID.
    pub vendor: u32,
    /// Device ID.
    pub device: u32,
    /// Revision ID.
    pub revision: u32,
    /// Class code.
    pub class: u32,
    /// Number of MSI-X vectors.
    pub vectors: u32,
    /// Most outstanding requests.
    pub tags: u32,
    /// Most virtual functions.
    pub virtual_functions: u32,
    /// The BARs.
    pub bars: *const RawBar,
    /// The number of BARs.
    pub bar_count: usize,
    /// The parameters.
    pub parameters: *const RawParameter,
    /// The number of parameters.
    pub parameter_count: usize,
}

/// Returns the values at a pointer. The pointer may be null if there are none.
///
/// # Safety
///
/// The pointer must be followed by `count` values, which are valid as long as the slice is used.
pub unsafe fn list<'l, T>(values: *const T, count: usize) -> &'l [T] {
    if count == 0 || values.is_null() {
        return &[];
    }
    // SAFETY: the caller obeys the safety rules of this function.
    unsafe { slice::from_raw_parts(values, count) }
}
