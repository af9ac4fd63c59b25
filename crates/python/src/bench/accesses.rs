//! Accesses of a compiled program to a register: by the library's calls, and by the pointer of `fpgaMapMMIO`.

#![expect(
    unsafe_code,
    reason = "functions of the library's C interface are called"
)]

use std::ffi::{c_int, c_void};
use std::hint::black_box;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use server::real_time;

/// Returns the real times, in nanoseconds, of `count` accesses to a register of a session's card. A `read` or a `write` calls `fpgaReadMMIO64`
/// or `fpgaWriteMMIO64`, and needs the function, the handle and the register's offset. A `load` or a `store` accesses the register's address.
/// The addresses are not checked.
#[pyfunction]
#[pyo3(signature = (kind, count, place, function = 0, handle = 0))]
pub fn bench_access(
    py: Python<'_>,
    kind: &str,
    count: u32,
    place: u64,
    function: usize,
    handle: usize,
) -> PyResult<Vec<u64>> {
    let access = Access::new(kind, place, function, handle)?;
    let took = || {
        let began = real_time();
        let code = access.run();
        (real_time() - began, code)
    };
    let times: Vec<(u64, c_int)> = py.detach(|| (0..count).map(|_| took()).collect());
    if let Some((_, code)) = times.iter().find(|(_, code)| *code != 0) {
        let message = format!("the {kind} of a register returned {code}");
        return Err(PyRuntimeError::new_err(message));
    }
    Ok(times.into_iter().map(|(took, _)| took).collect())
}

type Read = unsafe extern "C" fn(*mut c_void, u32, u64, *mut u64) -> c_int;
type Write = unsafe extern "C" fn(*mut c_void, u32, u64, u64) -> c_int;

/// An access. Addresses are stored as numbers, because pointers must not be used while the interpreter is released.
#[derive(Clone, Copy)]
enum Access {
    Read(Read, usize, u64),
    Write(Write, usize, u64),
    Load(usize),
    Store(usize),
}

/// The value that writes and stores write. It is the address of a page, so it is also valid for a register that selects a page of a window.
const STORED: u64 = 4096;

impl Access {
    fn new(kind: &str, place: u64, function: usize, handle: usize) -> PyResult<Self> {
        let is_call = matches!(kind, "read" | "write");
        if is_call && function == 0 || !is_call && place == 0 {
            return Err(PyValueError::new_err("an address is missing"));
        }
        // SAFETY: the caller gives the addresses of these functions, which are not zero.
        unsafe {
            Ok(match kind {
                "read" => Access::Read(std::mem::transmute::<usize, Read>(function), handle, place),
                "write" => {
                    Access::Write(std::mem::transmute::<usize, Write>(function), handle, place)
                }
                "load" => Access::Load(place as usize),
                "store" => Access::Store(place as usize),
                _ => {
                    return Err(PyValueError::new_err(format!(
                        "there is no access {kind:?}"
                    )));
                }
            })
        }
    }

    /// Makes the access; returns the result code of a call.
    fn run(self) -> c_int {
        let mut value = 0;
        // SAFETY: the functions, the handle and the addresses belong to an open accelerator whose registers are mapped.
        unsafe {
            match self {
                Access::Read(read, handle, offset) => {
                    let code = read(handle as *mut c_void, 0, offset, &raw mut value);
                    black_box(value);
                    return code;
                }
                Access::Write(write, handle, offset) => {
                    return write(handle as *mut c_void, 0, offset, STORED);
                }
                Access::Load(address) => value = (address as *const u64).read_volatile(),
                Access::Store(address) => (address as *mut u64).write_volatile(STORED),
            }
        }
        black_box(value);
        0
    }
}
