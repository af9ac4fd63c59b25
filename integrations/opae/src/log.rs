//! `opae_print`: messages of programs, by level.

use std::ffi::{c_char, c_int, c_void};

use libc::FILE;

/// The value of `OPAE_LOG_ERROR`, the highest level that is printed if `LIBOPAE_LOG` is not set. Messages of this level are written to standard
/// error.
const ERROR: c_int = 0;

unsafe extern "C" {
    static stdout: *mut FILE;
    static stderr: *mut FILE;
    fn vfprintf(file: *mut FILE, format: *const c_char, arguments: *mut c_void) -> c_int;
}

/// The highest level of messages that are printed.
fn highest() -> c_int {
    // SAFETY: the name ends with a zero; the value belongs to the environment, which is not changed while it is read.
    unsafe {
        let value = libc::getenv(c"LIBOPAE_LOG".as_ptr());
        if value.is_null() {
            ERROR
        } else {
            libc::atoi(value)
        }
    }
}

/// Prints a message. `arguments` is a `va_list`.
unsafe extern "C" fn print(level: c_int, format: *const c_char, arguments: *mut c_void) {
    if level > highest() || format.is_null() {
        return;
    }
    // SAFETY: the program guarantees that the arguments fit the format; both files are open streams of the C library.
    unsafe {
        let file = if level == ERROR { stderr } else { stdout };
        vfprintf(file, format, arguments);
    }
}

/// A function with a variable number of arguments cannot be written in Rust. This function makes the `va_list` of the System V ABI (3.5.7) from
/// its arguments, on the stack: the four fields, 8 bytes of padding, and the area of saved registers.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn opae_print(loglevel: c_int, format: *const c_char) {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "sub rsp, 216",
        ".cfi_adjust_cfa_offset 216",
        "mov [rsp + 32], rdi",
        "mov [rsp + 40], rsi",
        "mov [rsp + 48], rdx",
        "mov [rsp + 56], rcx",
        "mov [rsp + 64], r8",
        "mov [rsp + 72], r9",
        "test al, al",
        "je 2f",
        "movaps [rsp + 80], xmm0",
        "movaps [rsp + 96], xmm1",
        "movaps [rsp + 112], xmm2",
        "movaps [rsp + 128], xmm3",
        "movaps [rsp + 144], xmm4",
        "movaps [rsp + 160], xmm5",
        "movaps [rsp + 176], xmm6",
        "movaps [rsp + 192], xmm7",
        "2:",
        // The named arguments occupy two of the six general registers. The vector registers follow the general registers.
        "mov dword ptr [rsp], 16",
        "mov dword ptr [rsp + 4], 48",
        "lea rax, [rsp + 224]",
        "mov [rsp + 8], rax",
        "lea rax, [rsp + 32]",
        "mov [rsp + 16], rax",
        "mov rdx, rsp",
        "call {print}",
        "add rsp, 216",
        ".cfi_adjust_cfa_offset -216",
        "ret",
        ".cfi_endproc",
        print = sym print,
    )
}

/// On other processors, a message is printed without its arguments.
#[cfg(not(target_arch = "x86_64"))]
#[unsafe(no_mangle)]
unsafe extern "C" fn opae_print(loglevel: c_int, format: *const c_char) {
    if loglevel > highest() || format.is_null() {
        return;
    }
    // SAFETY: the program guarantees a text; both files are open streams of the C library.
    unsafe {
        let file = if loglevel == ERROR { stderr } else { stdout };
        libc::fputs(format, file);
    }
}
