//! The string instructions `movs`, `stos` and `lods` with registers of a device as source, destination or both. A repeated instruction is
//! executed as a copy with the widest possible accesses, and not byte by byte.

use std::ffi::c_int;
use std::ops::Range;

use iced_x86::{Instruction, Mnemonic};

use super::Bus;
use super::program::{decode, read_memory, write_memory};
use crate::registers::context::Context;
use crate::valgrind;

/// Largest number of bytes that are moved at a time.
const CHUNK: usize = 256;
/// The direction flag.
const DOWN: u64 = 1 << 10;

/// Executes the whole instruction. Returns false if this is not possible.
pub fn execute(instruction: &Instruction, context: &mut Context<'_>, bus: &dyn Bus) -> bool {
    use Mnemonic::{Lodsb, Lodsd, Lodsq, Lodsw, Movsb, Movsd, Movsq, Movsw};
    use Mnemonic::{Stosb, Stosd, Stosq, Stosw};
    let width = match instruction.mnemonic() {
        Movsb | Stosb | Lodsb => 1,
        Movsw | Stosw | Lodsw => 2,
        Movsd | Stosd | Lodsd => 4,
        Movsq | Stosq | Lodsq => 8,
        _ => return false,
    };
    let repeated = instruction.has_rep_prefix() || instruction.has_repne_prefix();
    restart(context);
    let count = if repeated {
        context.register(libc::REG_RCX)
    } else {
        1
    };
    let loads = matches!(instruction.mnemonic(), Lodsb | Lodsw | Lodsd | Lodsq);
    let stores = matches!(instruction.mnemonic(), Stosb | Stosw | Stosd | Stosq);
    let down = context.register(libc::REG_EFL) & DOWN != 0;
    if instruction.segment_prefix() != iced_x86::Register::None {
        return false;
    }
    let mut left = count;
    while left > 0 {
        let most = if down || loads {
            1
        } else {
            (CHUNK / width) as u64
        };
        let elements = left.min(most);
        let len = elements as usize * width;
        let mut bytes = [0xff; CHUNK];
        if stores {
            let value = context.register(libc::REG_RAX).to_le_bytes();
            bytes[..len]
                .iter_mut()
                .zip(value[..width].iter().cycle())
                .for_each(|(byte, &value)| *byte = value);
        } else {
            let from = advance(context, libc::REG_RSI, len, down);
            fetch(from, &mut bytes[..len], bus);
        }
        if loads {
            let mut value = context.register(libc::REG_RAX).to_le_bytes();
            value[..width].copy_from_slice(&bytes[..width]);
            if width == 4 {
                value[4..].fill(0);
            }
            context.set_register(libc::REG_RAX, u64::from_le_bytes(value));
        } else {
            let to = advance(context, libc::REG_RDI, len, down);
            put(to, &bytes[..len], bus);
        }
        left -= elements;
        if repeated {
            context.set_register(libc::REG_RCX, left);
        }
    }
    context.go_on_at(instruction.next_ip() as usize);
    true
}

/// Prepares the repetition of an instruction under valgrind. In a repeated instruction, valgrind decrements the counter before it moves an
/// element, so the counter is incremented here.
pub fn restart(context: &mut Context<'_>) {
    if !valgrind::is_there() {
        return;
    }
    let counts = decode(context.instruction()).is_some_and(|instruction| {
        let repeated = instruction.has_rep_prefix() || instruction.has_repne_prefix();
        instruction.is_string_instruction() && repeated
    });
    if counts {
        let left = context.register(libc::REG_RCX).wrapping_add(1);
        context.set_register(libc::REG_RCX, left);
    }
}

/// Advances a pointer; returns its previous value.
fn advance(context: &mut Context<'_>, register: c_int, len: usize, down: bool) -> usize {
    let at = context.register(register);
    let next = if down {
        at.wrapping_sub(len as u64)
    } else {
        at.wrapping_add(len as u64)
    };
    context.set_register(register, next);
    at as usize
}

/// Reads bytes of memory or of registers; the range may contain both.
fn fetch(address: usize, bytes: &mut [u8], bus: &dyn Bus) {
    for (part, is_registers) in parts(address, bytes.len(), bus) {
        let (at, bytes) = (address + part.start, &mut bytes[part]);
        if is_registers {
            bus.load(at, bytes);
        } else {
            read_memory(at, bytes);
        }
    }
}

/// Writes bytes to memory or to registers.
fn put(address: usize, bytes: &[u8], bus: &dyn Bus) {
    for (part, is_registers) in parts(address, bytes.len(), bus) {
        let (at, bytes) = (address + part.start, &bytes[part]);
        if is_registers {
            bus.store(at, bytes);
        } else {
            write_memory(at, bytes);
        }
    }
}

/// Divides `len` bytes at `address` into parts that are only registers or only memory. The flag of a part is true for registers.
fn parts(address: usize, len: usize, bus: &dyn Bus) -> impl Iterator<Item = (Range<usize>, bool)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let left = len.checked_sub(done).filter(|left| *left > 0)?;
        let (is_registers, stretch) = bus.stretch(address + done);
        let begin = done;
        done += stretch.min(left);
        Some((begin..done, is_registers))
    })
}
