//! Handles a late load of this library (`dlopen`, `ctypes`). After a late load, the program's objects are already bound to the C library, so the
//! stored addresses by which they call functions are changed to addresses of this library's functions.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use libc::{Elf64_Phdr, Elf64_Rela, Elf64_Sym, PT_DYNAMIC, PT_LOAD, dl_phdr_info};

use crate::registry::is_any_mapping;

/// An entry of the dynamic section, and the tags of the entries that are used (System V gABI, chapter 5).
#[repr(C)]
#[derive(Clone, Copy)]
struct Dynamic {
    tag: i64,
    value: usize,
}
const END: i64 = 0;
const PLT_SIZE: i64 = 2;
const STRINGS: i64 = 5;
const SYMBOLS: i64 = 6;
const RELOCATIONS: i64 = 7;
const RELOCATIONS_SIZE: i64 = 8;
const PLT: i64 = 23;

/// Relocations that hold the address of a function (System V ABI for x86-64, 4.4.1).
const GLOB_DAT: u64 = 6;
const JUMP_SLOT: u64 = 7;

const PAGE: usize = 4096;

/// This library in the program's address space.
struct Own {
    handle: *mut c_void,
    range: Range<usize>,
}

/// Whether this library was found to be loaded late.
static IS_LATE: AtomicBool = AtomicBool::new(false);

/// Whether this library was loaded after the C library. If so, the program may have read real clocks before the load.
pub fn is_late() -> bool {
    IS_LATE.load(Ordering::Relaxed)
}

/// If this library was loaded after the C library, lets all objects that are loaded now call the functions of this library instead.
pub fn adopt() {
    let inside: *const c_void = (adopt as fn()) as *const c_void;
    // If another library, such as the library of a sanitizer, is searched before this library, its functions call the functions of this library.
    let [first, system] = [c"clock_gettime", c"gnu_get_libc_version"].map(|name| {
        // SAFETY: the name ends with a zero.
        object_of(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
    });
    let (Some(own), Some(first), Some(system)) = (object_of(inside), first, system) else {
        return;
    };
    if first.dli_fbase != system.dli_fbase {
        return;
    }
    // SAFETY: the name belongs to an object that is loaded.
    let handle = unsafe { libc::dlopen(own.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return;
    }
    IS_LATE.store(true, Ordering::Relaxed);
    let base = own.dli_fbase as usize;
    let mut own = Own {
        handle,
        range: base..base,
    };
    // SAFETY: the callbacks receive pointers to `own` and its range, which live until the calls return. The library stays loaded after its
    // handle is closed, because its code runs.
    unsafe {
        libc::dl_iterate_phdr(Some(measure), (&raw mut own.range).cast());
        libc::dl_iterate_phdr(Some(visit), (&raw mut own).cast());
        libc::dlclose(handle);
    }
}

fn object_of(address: *const c_void) -> Option<libc::Dl_info> {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the result is a local variable, which the call fills if it succeeds.
    unsafe { (libc::dladdr(address, info.as_mut_ptr()) != 0).then(|| info.assume_init()) }
}

/// Sets the end of the range, if the range begins at the address of this object.
unsafe extern "C" fn measure(info: *mut dl_phdr_info, _: usize, range: *mut c_void) -> c_int {
    // SAFETY: the caller gives an object's description, and the range of `own`.
    let (info, range) = unsafe { (&*info, &mut *range.cast::<Range<usize>>()) };
    if info.dlpi_addr as usize == range.start {
        let ends = headers(info).iter().filter(|one| one.p_type == PT_LOAD);
        let ends = ends.map(|one| (info.dlpi_addr + one.p_vaddr + one.p_memsz) as usize);
        range.end = ends.max().unwrap_or(range.start);
    }
    0
}

fn headers(info: &dl_phdr_info) -> &[Elf64_Phdr] {
    // SAFETY: the dynamic linker gives the address and the number of the headers.
    unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) }
}

/// Changes the stored function addresses of one object, unless it is this library, the C library or the dynamic linker.
unsafe extern "C" fn visit(info: *mut dl_phdr_info, _: usize, own: *mut c_void) -> c_int {
    // SAFETY: the caller gives an object's description, and the description of this library.
    let (info, own) = unsafe { (&*info, &*own.cast::<Own>()) };
    // SAFETY: the name is null or a C string.
    let name = (!info.dlpi_name.is_null()).then(|| unsafe { CStr::from_ptr(info.dlpi_name) });
    let name = name.map(CStr::to_bytes).unwrap_or_default();
    let file = name.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let is_systems = [
        &b"libc.so"[..],
        b"ld-linux",
        b"linux-vdso",
        b"libpthread",
        b"librt",
    ];
    if info.dlpi_addr as usize == own.range.start
        || is_systems.iter().any(|prefix| file.starts_with(prefix))
    {
        return 0;
    }
    let dynamic = headers(info).iter().find(|one| one.p_type == PT_DYNAMIC);
    if let Some(dynamic) = dynamic {
        let base = info.dlpi_addr as usize;
        // SAFETY: the dynamic linker has relocated this object, so its dynamic section is in memory and has an end.
        unsafe { change(base, base + dynamic.p_vaddr as usize, own) };
    }
    0
}

/// # Safety
///
/// `dynamic` is the address of the dynamic section of an object that is loaded at `base`.
unsafe fn change(base: usize, dynamic: usize, own: &Own) {
    let mut entries: *const Dynamic = ptr::with_exposed_provenance(dynamic);
    let (mut strings, mut symbols) = (0, 0);
    let mut tables = [(0, 0); 2];
    loop {
        // SAFETY: the section ends with an entry of tag 0.
        let Dynamic { tag, value } = unsafe { entries.read() };
        match tag {
            END => break,
            STRINGS => strings = value,
            SYMBOLS => symbols = value,
            PLT => tables[0].0 = value,
            PLT_SIZE => tables[0].1 = value,
            RELOCATIONS => tables[1].0 = value,
            RELOCATIONS_SIZE => tables[1].1 = value,
            _ => {}
        }
        entries = entries.wrapping_add(1);
    }
    // The dynamic linker of the C library makes these addresses absolute. If they are still offsets, the object is not changed.
    if strings < base || symbols < base {
        return;
    }
    for (table, size) in tables {
        if table < base {
            continue;
        }
        for index in 0..size / size_of::<Elf64_Rela>() {
            // SAFETY: the tables of a relocated object are in memory, and have the stated number of entries.
            unsafe {
                let table: *const Elf64_Rela = ptr::with_exposed_provenance(table);
                let relocation = table.add(index).read();
                if ![GLOB_DAT, JUMP_SLOT].contains(&(relocation.r_info & 0xffff_ffff)) {
                    continue;
                }
                let all: *const Elf64_Sym = ptr::with_exposed_provenance(symbols);
                let symbol = all.add((relocation.r_info >> 32) as usize).read();
                let name: *const c_char =
                    ptr::with_exposed_provenance(strings + symbol.st_name as usize);
                let ours = libc::dlsym(own.handle, name) as usize;
                if symbol.st_shndx == 0 && own.range.contains(&ours) {
                    set(base + relocation.r_offset as usize, ours);
                }
            }
        }
    }
}

/// Sets an address in memory, which may have been made read-only after relocation.
///
/// # Safety
///
/// `place` holds the address of a function with the type of `function`.
unsafe fn set(place: usize, function: usize) {
    let slot: *mut usize = ptr::with_exposed_provenance_mut(place);
    // SAFETY: the place is mapped. If it is writable, it stays writable. If it is read-only, it is made writable, and then read-only again.
    unsafe {
        if slot.read() == function {
            return;
        }
        let page = ptr::with_exposed_provenance_mut(place / PAGE * PAGE);
        let was_writable =
            is_any_mapping(|range, rights| range.contains(&place) && rights.contains('w'));
        if !was_writable && libc::mprotect(page, PAGE, libc::PROT_READ | libc::PROT_WRITE) != 0 {
            return;
        }
        (*slot.cast::<AtomicUsize>()).store(function, Ordering::Relaxed);
        if !was_writable {
            libc::mprotect(page, PAGE, libc::PROT_READ);
        }
    }
}
