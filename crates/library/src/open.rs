//! Loads a library, and checks that it has a model for this interface.

use std::ffi::{CStr, CString, OsStr, c_void};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;

use peerlane_device::abi::{Entry, SYMBOL, Table, VERSION};

use crate::{LibraryModel, LoadError, OpenError};

/// Loads the library at `path`, whose initialisers run, and returns the address of its symbol `name`. The library is never closed.
pub fn symbol(path: &Path, name: &CStr) -> Result<NonNull<c_void>, OpenError> {
    // The system would search for a name without a folder among its own libraries.
    let path = path.canonicalize().map_err(|_| OpenError::Missing)?;
    if !path.is_file() {
        return Err(OpenError::NotALibrary("not a file".to_owned()));
    }
    if is_cut_off(&path) {
        return Err(OpenError::NotALibrary("the file is cut off".to_owned()));
    }
    let file = CString::new(OsStr::as_bytes(path.as_os_str())).map_err(|_| OpenError::Missing)?;
    // SAFETY: the name ends with a null byte. The library is trusted, because the user of the simulator has named it.
    let handle = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(OpenError::NotALibrary(last_error(path.as_os_str())));
    }
    // SAFETY: the handle belongs to an open library, and the name of the symbol ends with a null byte.
    let symbol = unsafe { libc::dlsym(handle, name.as_ptr()) };
    NonNull::new(symbol).ok_or(OpenError::NoSymbol)
}

/// Whether a library of 64 bits ends before its table of sections. The loader would map pages behind the end, and the process would end at the
/// first access to them.
fn is_cut_off(path: &Path) -> bool {
    let mut header = [0; 64];
    let read = File::open(path).and_then(|mut file| {
        file.read_exact(&mut header)?;
        file.metadata()
    });
    let Ok(metadata) = read else {
        return false;
    };
    let number = |at: usize, len: usize| {
        let mut bytes = [0; 8];
        bytes[..len].copy_from_slice(&header[at..at + len]);
        u64::from_le_bytes(bytes)
    };
    let sections =
        number(SECTIONS, 8).saturating_add(number(SECTION_SIZE, 2) * number(SECTION_COUNT, 2));
    header.starts_with(LITTLE_ENDIAN_OF_64_BITS) && metadata.len() < sections
}

/// The first bytes of a library of 64 bits, and the places of the table of sections in its header (System V ABI, ELF header).
const LITTLE_ENDIAN_OF_64_BITS: &[u8] = b"\x7fELF\x02\x01";
const SECTIONS: usize = 0x28;
const SECTION_SIZE: usize = 0x3a;
const SECTION_COUNT: usize = 0x3c;

/// Loads the library at `path`, whose initialisers run, and returns its model.
pub fn load(path: &Path) -> Result<LibraryModel, LoadError> {
    let name = CStr::from_bytes_with_nul(SYMBOL).expect("the name ends with a null byte");
    let symbol = symbol(path, name)?.as_ptr();
    // SAFETY: by the rules of the interface, a symbol with this name is a function of this type in every version.
    let entry: Entry = unsafe { std::mem::transmute(symbol) };
    // SAFETY: the function has no arguments, and the library is never closed.
    let table = unsafe { entry() };
    if table.is_null() {
        return Err(LoadError::NoModel);
    }
    // SAFETY: in every version, the first two fields of a table are these numbers.
    let [version, size] = unsafe { *table.cast::<[u32; 2]>() };
    if version != VERSION {
        return Err(LoadError::Version(version));
    }
    if size as usize != size_of::<Table>() {
        return Err(LoadError::Size(size));
    }
    // SAFETY: a table of this version is complete, and exists as long as its library, which is until the process ends.
    let table: &'static Table = unsafe { &*table };
    // SAFETY: the library declares that it obeys the rules of this version, and it is never closed.
    unsafe { LibraryModel::new(table) }
}

fn last_error(path: &OsStr) -> String {
    // SAFETY: the system returns null or a text with a null byte at its end, which exists until the next call for a library.
    let error = unsafe { libc::dlerror() };
    if error.is_null() {
        return "no reason given".to_owned();
    }
    // SAFETY: the text ends with a null byte, and exists until the next call for a library.
    let text = unsafe { CStr::from_ptr(error) }.to_string_lossy();
    // The file name at the beginning is removed, because the caller adds it too.
    let file = format!("{}: ", path.to_string_lossy());
    text.strip_prefix(&file).unwrap_or(&text).to_owned()
}
