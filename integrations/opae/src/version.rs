//! The version of the interface, and the names of its result codes.

use std::ffi::{CStr, c_char};

use crate::abi::{Code, entry, user_pointer};
use crate::properties::Version;

const VERSION: Version = Version {
    major: 2,
    minor: 14,
    patch: 0,
};
const VERSION_TEXT: &CStr = c"2.14.0";
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
    entry(|| user_pointer(version).map(|version| version.put(VERSION)))
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetOPAECVersionString(version_str: *mut c_char, len: usize) -> u32 {
    entry(|| put(VERSION_TEXT, version_str, len))
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetOPAECBuildString(build_str: *mut c_char, len: usize) -> u32 {
    entry(|| put(BUILD, build_str, len))
}

fn put(text: &CStr, to: *mut c_char, len: usize) -> Result<(), Code> {
    let to = user_pointer(to)?;
    let bytes = text.to_bytes_with_nul();
    if len < bytes.len() {
        return Err(Code::Exception);
    }
    to.put_all(bytes.iter().map(|byte| byte.cast_signed()));
    Ok(())
}
