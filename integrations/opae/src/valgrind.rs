//! Requests to valgrind, by its documented instruction sequence. Outside of valgrind, the sequence has no effect.

/// Marks memory as usable although it is not mapped, because the library handles accesses to it.
pub fn make_defined(address: usize, len: usize) {
    request([MAKE_MEM_DEFINED, address, len, 0, 0, 0]);
}

/// Discards valgrind's translations of code that was changed.
pub fn discard_translations(address: usize, len: usize) {
    request([DISCARD_TRANSLATIONS, address, len, 0, 0, 0]);
}

/// Whether the process runs under valgrind.
pub fn is_there() -> bool {
    request([RUNNING_ON_VALGRIND, 0, 0, 0, 0, 0]) != 0
}

/// Memcheck's third request.
const MAKE_MEM_DEFINED: usize = ((b'M' as usize) << 24) | ((b'C' as usize) << 16) | 2;
const DISCARD_TRANSLATIONS: usize = 0x1002;
const RUNNING_ON_VALGRIND: usize = 0x1001;

#[cfg(target_arch = "x86_64")]
fn request(arguments: [usize; 6]) -> usize {
    let mut result = 0;
    // SAFETY: the rotations add up to full turns, and the exchange is of a register with itself. So no register changes, except that valgrind writes
    // the result.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") arguments.as_ptr(),
            inout("rdx") result,
        );
    }
    result
}

#[cfg(not(target_arch = "x86_64"))]
fn request(_arguments: [usize; 6]) -> usize {
    0
}
