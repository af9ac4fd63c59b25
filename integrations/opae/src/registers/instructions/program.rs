//! Memory and instructions of the program, for the fault handler that reads and writes them.

use std::ptr;

use iced_x86::{Decoder, DecoderOptions, Instruction};

/// Bytes of a page.
pub const PAGE: usize = 4096;

/// Longest instruction in bytes.
pub const LONGEST: usize = 15;

/// The instruction at `address`. The page after it may be unmapped.
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

/// Copies memory of the program or of a slot. The read opens a closed page of a buffer, as a read by the program does, so the lock must not be
/// held.
pub fn read_memory(address: usize, bytes: &mut [u8]) {
    let from: *const u8 = ptr::with_exposed_provenance(address);
    // SAFETY: the program has tried to read this memory, or it is code that the processor has just executed.
    unsafe { from.copy_to(bytes.as_mut_ptr(), bytes.len()) }
}

/// Copies bytes to memory of the program or of a slot. The lock must not be held.
pub fn write_memory(address: usize, bytes: &[u8]) {
    let to: *mut u8 = ptr::with_exposed_provenance_mut(address);
    // SAFETY: the program has tried to write this memory, or it is in a slot that this thread has taken.
    unsafe { to.copy_from(bytes.as_ptr(), bytes.len()) }
}
