//! Access of the fault handler to memory and instructions of the program.

use std::ptr;

use iced_x86::{Decoder, DecoderOptions, Instruction};

/// Size of a page in bytes.
pub const PAGE: usize = 4096;

/// Longest instruction in bytes.
pub const LONGEST: usize = 15;

/// Reads the instruction at `address`. The page after the instruction may be unmapped.
pub fn decode(address: usize) -> Option<Instruction> {
    let in_page = LONGEST.min(PAGE - address % PAGE);
    [in_page, LONGEST].into_iter().find_map(|len| {
        let mut bytes = [0; LONGEST];
        read_memory(address, &mut bytes[..len]);
        let options = DecoderOptions::NONE;
        let mut decoder = Decoder::with_ip(64, &bytes[..len], address as u64, options);
        let instruction = decoder.decode();
        (!instruction.is_invalid()).then_some(instruction)
    })
}

/// Reads memory of the program or of a slot. The lock must not be held, because the read may fault on a protected page of a buffer, as a read by the
/// program does.
pub fn read_memory(address: usize, bytes: &mut [u8]) {
    let from: *const u8 = ptr::with_exposed_provenance(address);
    // SAFETY: the program has tried to read this memory, or it is code that the processor has just executed.
    unsafe { from.copy_to(bytes.as_mut_ptr(), bytes.len()) }
}

/// Writes bytes to memory of the program or of a slot. The lock must not be held, because the write may fault on a protected page of a buffer.
pub fn write_memory(address: usize, bytes: &[u8]) {
    let to: *mut u8 = ptr::with_exposed_provenance_mut(address);
    // SAFETY: the program has tried to write this memory, or it is in a slot that this thread has taken.
    unsafe { to.copy_from(bytes.as_ptr(), bytes.len()) }
}
