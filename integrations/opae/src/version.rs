//! The version of the interface, and the names of its result codes.

use std::ffi::{CStr, c_char};

use crate::abi::{Code, entry, user_pointer};
use crate::enter::with;
use crate::properties::Version;

/// The release whose interface the library has.
const OWN: (u8, u8, u16) = (2, 14, 0);
const BUILD: &CStr = c"peerlane";

const NAMES: [&CStr; 11] = [
    c"success",
    c"invalid parameter",
    c"resource busy",
    c"exception",
    c"not found",
    c"no memory",
    c"not supported",
    c"no driver available",
    c"no fpga daemon running",
    c"insufficient privileges",
    c"reconfiguration error",
];

#[unsafe(no_mangle)]
extern "C" fn fpgaErrStr(code: u32) -> *const c_char {
    let name = NAMES.get(code as usize).unwrap_or(&c"unknown error");
    name.as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetOPAECVersion(version: *mut Version) -> u32 {
    entry(|| {
        let (major, minor, patch) = release();
        let found = Version {
            major,
            minor,
            patch,
        };
        user_pointer(version).map(|version| version.put(found))
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetOPAECVersionString(version_str: *mut c_char, len: usize) -> u32 {
    entry(|| {
        let (major, minor, patch) = release();
        let text = format!("{major}.{minor}.{patch}\0");
        put(text.as_bytes(), version_str, len)
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetOPAECBuildString(build_str: *mut c_char, len: usize) -> u32 {
    entry(|| put(BUILD.to_bytes_with_nul(), build_str, len))
}

/// The release that the session requests, or the library's own.
fn release() -> (u8, u8, u16) {
    let requested = with(|state| Ok(state.link()?.welcome.release));
    requested.ok().flatten().unwrap_or(OWN)
}

fn put(bytes: &[u8], to: *mut c_char, len: usize) -> Result<(), Code> {
    let to = user_pointer(to)?;
    if len < bytes.len() {
        return Err(Code::Exception);
    }
    to.put_all(bytes.iter().map(|byte| c_char::from_ne_bytes([*byte])));
    Ok(())
}
