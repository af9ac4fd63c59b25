//! The C interface: result codes, places for results, and the conversion of panics into errors.

use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};

use session::Failure;

/// The values of `fpga_result` except `FPGA_OK`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Code {
    /// A parameter is invalid.
    InvalidParam = 1,
    /// Another process uses the object.
    Busy = 2,
    /// An error that is not caused by a parameter.
    Exception = 3,
    /// The object does not exist.
    NotFound = 4,
    /// There is not enough memory.
    NoMemory = 5,
    /// The object does not support the function.
    NotSupported = 6,
    /// There is no session.
    NoDriver = 7,
    /// The session has ended.
    NoDaemon = 8,
}

impl From<Failure> for Code {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Invalid | Failure::NotABitstream => Code::InvalidParam,
            Failure::Busy => Code::Busy,
            Failure::NotFound => Code::NotFound,
            Failure::NoMemory => Code::NoMemory,
            Failure::NotSupported => Code::NotSupported,
            Failure::Exception => Code::Exception,
        }
    }
}

/// Runs the body of a C function; returns its `fpga_result`.
pub fn entry(body: impl FnOnce() -> Result<(), Code>) -> u32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(code)) => code as u32,
        Err(_) => Code::Exception as u32,
    }
}

/// The place for a result at `pointer`, which must not be null.
pub fn user_pointer<T>(pointer: *mut T) -> Result<UserPointer<T>, Code> {
    if pointer.is_null() {
        return Err(Code::InvalidParam);
    }
    Ok(UserPointer(pointer))
}

/// A place for a result. It may be in a protected page of a buffer, so it must not be accessed while the library's lock is held.
pub struct UserPointer<T>(*mut T);

impl<T> UserPointer<T> {
    /// Writes the result.
    pub fn put(&self, value: T) {
        // SAFETY: the program guarantees space for a `T`; its alignment is not known.
        unsafe { self.0.write_unaligned(value) }
    }

    /// Reads the value at this place.
    pub fn take(&self) -> T
    where
        T: Copy,
    {
        // SAFETY: the program guarantees a `T` there; its alignment is not known.
        unsafe { self.0.read_unaligned() }
    }

    /// Writes elements at consecutive places.
    pub fn put_all(&self, values: impl IntoIterator<Item = T>) {
        for (index, value) in values.into_iter().enumerate() {
            self.at(index).put(value);
        }
    }

    /// Reads the first `count` elements.
    pub fn take_all(&self, count: usize) -> impl Iterator<Item = T>
    where
        T: Copy,
    {
        (0..count).map(|index| self.at(index).take())
    }

    /// The place that is `index` elements after this place.
    pub fn at(&self, index: usize) -> UserPointer<T> {
        UserPointer(self.0.wrapping_add(index))
    }
}

/// Copies the bytes at `pointer`. Must not be called while the library's lock is held.
pub fn bytes<const N: usize>(pointer: *const u8) -> Result<[u8; N], Code> {
    Ok(user_pointer(pointer.cast_mut().cast::<[u8; N]>())?.take())
}

/// Copies a C string, at most `most` bytes. Must not be called while the library's lock is held.
pub fn copy_text(from: *const c_char, most: usize) -> Result<Vec<u8>, Code> {
    let from = user_pointer(from.cast_mut().cast::<u8>())?;
    Ok(from.take_all(most).take_while(|&byte| byte != 0).collect())
}

/// A text of `N` bytes: the bytes of `bytes` that fit, followed by zeros.
pub fn text<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut text = [0; N];
    let len = bytes.len().min(N - 1);
    text[..len].copy_from_slice(&bytes[..len]);
    text
}

/// Writes the text in `bytes` and a final zero to a place of `room` bytes. A text that does not fit is cut.
pub fn put_text(bytes: &[u8], to: &UserPointer<u8>, room: usize) {
    let text = bytes.iter().copied().take_while(|&byte| byte != 0);
    to.put_all(text.take(room - 1).chain([0]));
}
