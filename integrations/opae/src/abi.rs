//! What crosses the C interface: result codes, and that no panic does.

#![expect(unsafe_code, reason = "what a program gives are raw pointers")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use session::Failure;

/// `fpga_result`, without `FPGA_OK`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Code {
    /// A parameter has no meaning.
    InvalidParam = 1,
    /// Another has it.
    Busy = 2,
    /// Something went wrong that is nobody's parameter.
    Exception = 3,
    /// There is no such thing.
    NotFound = 4,
    /// There is no room.
    NoMemory = 5,
    /// This cannot be done.
    NotSupported = 6,
    /// There is no session.
    NoDriver = 7,
    /// There was a session, and its other side is gone.
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

/// What a function of the library does, as a number for C.
pub fn entry(body: impl FnOnce() -> Result<(), Code>) -> u32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(code)) => code as u32,
        Err(_) => Code::Exception as u32,
    }
}

/// That a program gave a place for a result.
pub fn place<T>(pointer: *mut T) -> Result<Place<T>, Code> {
    if pointer.is_null() {
        return Err(Code::InvalidParam);
    }
    Ok(Place(pointer))
}

/// A place for a result. It may be in a guarded page: nobody writes to it who holds the library's lock.
pub struct Place<T>(*mut T);

impl<T> Place<T> {
    /// Puts the result there.
    pub fn put(&self, value: T) {
        // SAFETY: the program says that there is room for a `T`, of which only the alignment is not known.
        unsafe { self.0.write_unaligned(value) }
    }

    /// What is there.
    pub fn take(&self) -> T
    where
        T: Copy,
    {
        // SAFETY: the program says that there is a `T`.
        unsafe { self.0.read_unaligned() }
    }

    /// The place of the one `index` further on.
    pub fn at(&self, index: usize) -> Place<T> {
        Place(self.0.wrapping_add(index))
    }
}

/// The bytes at `pointer`, copied; nobody calls this who holds the library's lock.
pub fn bytes<const N: usize>(pointer: *const u8) -> Result<[u8; N], Code> {
    Ok(place(pointer.cast_mut().cast::<[u8; N]>())?.take())
}

/// As much of `bytes` as there is room for, with a zero behind it.
pub fn text<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut text = [0; N];
    let len = bytes.len().min(N - 1);
    text[..len].copy_from_slice(&bytes[..len]);
    text
}

/// Puts the text in `bytes` to a place with so much room, with a zero behind it.
pub fn put_text(bytes: &[u8], to: &Place<u8>, room: usize) {
    let len = bytes
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(bytes.len());
    let len = len.min(room - 1);
    for (index, &byte) in bytes[..len].iter().enumerate() {
        to.at(index).put(byte);
    }
    to.at(len).put(0);
}
