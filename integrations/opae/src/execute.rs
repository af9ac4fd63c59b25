//! Does an instruction at registers of a device: out of line, by the processor itself, with its memory operand replaced.
//!
//! The copy stands in a slot and works on scratch memory beside it. For a load the scratch is filled from the device first, and the
//! slot ends with a jump to the next instruction. For a store the slot ends with an access to a page at which nothing is: that fault
//! brings the handler back, which sends what was written. No register and no flag is emulated. String instructions have no operand
//! that could be replaced: `strings.rs`.

#![expect(unsafe_code, reason = "instructions are read, written and run")]

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use iced_x86::{
    Decoder, DecoderOptions, Encoder, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    OpKind, Register as Cpu,
};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use crate::fault::Context;
use crate::lock::Lock;
use crate::mmio::Register;
use crate::registry::reserve;
use crate::state::lock;
use crate::{strings, valgrind};

const PAGE: usize = 4096;
/// Slots: an instruction has left its own long before all others have been taken.
const SLOTS: usize = 1024;
/// Bytes of a slot: the code, scratch memory, and scratch memory for a second run.
const SLOT: usize = 256;
const SCRATCH: usize = 128;
const SECOND: usize = 192;
/// The longest instruction.
const LONGEST: usize = 15;
/// The widest memory operand.
const WIDEST: usize = 64;

static NEXT: AtomicUsize = AtomicUsize::new(0);
static BUSY: [AtomicBool; SLOTS] = [const { AtomicBool::new(false) }; SLOTS];
/// Where the page is at which nothing is, with the slots behind it.
static TRAP: AtomicUsize = AtomicUsize::new(0);
static STORES: Lock<[Option<Store>; SLOTS]> = Lock::new([const { None }; SLOTS]);

/// Where slots are, and the page behind them at which nothing is.
#[derive(Clone, Copy)]
struct Place {
    slots: usize,
    trap: usize,
}

/// A store that is being done.
#[derive(Clone, Copy)]
struct Store {
    register: Register,
    len: usize,
    next: usize,
    /// Whether it was done twice, so that it shows which bytes it writes.
    twice: bool,
}

/// Begins the instruction that the processor is at. Says whether it can be done.
pub fn begin(context: &mut Context<'_>) -> bool {
    let Some(instruction) = decode(context.instruction()) else {
        return false;
    };
    if is_for_caches(&instruction) {
        context.go_on_at(instruction.next_ip() as usize);
        return true;
    }
    if instruction.is_string_instruction() {
        return strings::execute(&instruction, context);
    }
    let Some(operand) = Operand::of(&instruction, context) else {
        return false;
    };
    let (Some(place), Some(register)) = (known_place(), operand.register()) else {
        return false;
    };
    let slot = take_slot();
    let base = place.slots + slot * SLOT;
    let mut scratch = [0; WIDEST];
    if operand.loads {
        let bytes = &mut scratch[..operand.len];
        let loaded = lock().map(|mut state| state.load(register, bytes));
        if !matches!(loaded, Some(Ok(()))) {
            // As when nobody answers on the bus.
            scratch.fill(0xff);
        }
    }
    write_memory(base + SCRATCH, &scratch);
    let Some(mut code) = encode(instruction, base, base + SCRATCH) else {
        BUSY[slot].store(false, Ordering::Relaxed);
        return false;
    };
    if operand.stores {
        if operand.partly {
            write_memory(base + SECOND, &[0xff; WIDEST]);
            let second = encode(instruction, base + code.len(), base + SECOND);
            code.extend(second.unwrap_or_default());
        }
        code.extend(trap(base + code.len(), place.trap));
        if let Some(mut stores) = STORES.lock() {
            stores[slot] = Some(Store {
                register,
                len: operand.len,
                next: instruction.next_ip() as usize,
                twice: operand.partly,
            });
        }
    } else {
        code.extend(jump(instruction.next_ip()));
        BUSY[slot].store(false, Ordering::Relaxed);
    }
    write_memory(base, &code);
    context.go_on_at(base);
    true
}

/// Sends what a store has written, if that is what the fault at `address` says.
pub fn finish(address: usize, context: &mut Context<'_>) -> bool {
    let Some(place) = known_place() else {
        return false;
    };
    let at = context.instruction().wrapping_sub(place.slots);
    if at >= SLOTS * SLOT || !(place.trap..place.trap + PAGE).contains(&address) {
        return false;
    }
    let slot = at / SLOT;
    let Some(store) = STORES.lock().and_then(|mut stores| stores[slot].take()) else {
        return false;
    };
    let base = place.slots + slot * SLOT;
    let (mut first, mut second) = ([0; WIDEST], [0; WIDEST]);
    read_memory(base + SCRATCH, &mut first);
    read_memory(base + SECOND, &mut second);
    BUSY[slot].store(false, Ordering::Relaxed);
    if let Some(mut state) = lock() {
        let written = |at: usize| !store.twice || first[at] == second[at];
        let mut at = 0;
        while at < store.len {
            let len = (at..store.len).take_while(|&byte| written(byte)).count();
            let register = Register {
                offset: store.register.offset + at as u64,
                ..store.register
            };
            // Nobody hears of a posted write that was lost.
            let _ = state.store(register, &first[at..at + len]);
            at += len.max(1);
        }
    }
    context.go_on_at(store.next);
    true
}

/// The memory operand of an instruction.
struct Operand {
    address: usize,
    len: usize,
    loads: bool,
    stores: bool,
    /// Whether it may store less than all of it, under a mask.
    partly: bool,
}

impl Operand {
    fn of(instruction: &Instruction, context: &Context<'_>) -> Option<Self> {
        use OpAccess::{CondRead, CondWrite, Read, ReadCondWrite, ReadWrite, Write};
        let len = instruction.memory_size().size();
        if !(1..=WIDEST).contains(&len)
            || instruction.is_vsib()
            || instruction.is_call_near_indirect()
            || instruction.is_call_far_indirect()
            || instruction.is_jmp_far_indirect()
        {
            return None;
        }
        let memory = |&index: &u32| instruction.op_kind(index) == OpKind::Memory;
        let index = (0..instruction.op_count()).find(memory)?;
        let mut factory = InstructionInfoFactory::new();
        let info = factory.info(instruction);
        let access = info.op_access(index);
        let (loads, stores) = match access {
            Read | CondRead => (true, false),
            Write | CondWrite => (false, true),
            ReadWrite | ReadCondWrite => (true, true),
            _ => return None,
        };
        let partly = access == CondWrite || (stores && !loads && has_mask(instruction));
        let value = |register, _, _| register_value(context, register);
        Some(Operand {
            address: instruction.virtual_address(index, 0, value)? as usize,
            len,
            loads,
            stores,
            partly,
        })
    }

    fn register(&self) -> Option<Register> {
        lock()?.windows.register(self.address, self.len)
    }
}

/// Whether it stores under a mask, which the decoder does not say of the older ones.
fn has_mask(instruction: &Instruction) -> bool {
    use Mnemonic::{Vmaskmovpd, Vmaskmovps, Vpmaskmovd, Vpmaskmovq};
    let older = [Vmaskmovpd, Vmaskmovps, Vpmaskmovd, Vpmaskmovq];
    instruction.has_op_mask() || older.contains(&instruction.mnemonic())
}

/// Whether it is about caches, in which registers of devices are not.
fn is_for_caches(instruction: &Instruction) -> bool {
    use Mnemonic::{Clflush, Clflushopt, Clwb};
    [Clflush, Clflushopt, Clwb].contains(&instruction.mnemonic())
}

fn register_value(context: &Context<'_>, register: Cpu) -> Option<u64> {
    if matches!(register, Cpu::ES | Cpu::CS | Cpu::SS | Cpu::DS) {
        return Some(0);
    }
    let full: &[(Cpu, c_int)] = &[
        (Cpu::RAX, libc::REG_RAX),
        (Cpu::RCX, libc::REG_RCX),
        (Cpu::RDX, libc::REG_RDX),
        (Cpu::RBX, libc::REG_RBX),
        (Cpu::RSP, libc::REG_RSP),
        (Cpu::RBP, libc::REG_RBP),
        (Cpu::RSI, libc::REG_RSI),
        (Cpu::RDI, libc::REG_RDI),
        (Cpu::R8, libc::REG_R8),
        (Cpu::R9, libc::REG_R9),
        (Cpu::R10, libc::REG_R10),
        (Cpu::R11, libc::REG_R11),
        (Cpu::R12, libc::REG_R12),
        (Cpu::R13, libc::REG_R13),
        (Cpu::R14, libc::REG_R14),
        (Cpu::R15, libc::REG_R15),
    ];
    let (_, number) = full
        .iter()
        .find(|(cpu, _)| *cpu == register.full_register())?;
    let value = context.register(*number);
    match register.size() {
        8 => Some(value),
        4 => Some(value & u64::from(u32::MAX)),
        _ => None,
    }
}

/// The instruction at `address`. What follows it may be a page at which nothing is.
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

/// The instruction for `at`, with `scratch` as its memory operand.
fn encode(mut instruction: Instruction, at: usize, scratch: usize) -> Option<Vec<u8>> {
    instruction.set_memory_base(Cpu::RIP);
    instruction.set_memory_index(Cpu::None);
    instruction.set_memory_index_scale(1);
    instruction.set_memory_displ_size(8);
    instruction.set_memory_displacement64(scratch as u64);
    instruction.set_segment_prefix(Cpu::None);
    let mut encoder = Encoder::new(64);
    encoder.encode(&instruction, at as u64).ok()?;
    Some(encoder.take_buffer())
}

/// `mov dword ptr [trap], 0`, which never comes to its end.
fn trap(at: usize, trap: usize) -> Vec<u8> {
    let distance = trap.wrapping_sub(at + 10) as u32;
    let mut code = vec![0xc7, 0x05];
    code.extend(distance.to_le_bytes());
    code.extend([0; 4]);
    code
}

/// `jmp [rip]`, with where to behind it.
fn jump(to: u64) -> Vec<u8> {
    let mut code = vec![0xff, 0x25, 0, 0, 0, 0];
    code.extend(to.to_le_bytes());
    code
}

fn take_slot() -> usize {
    loop {
        let slot = NEXT.fetch_add(1, Ordering::Relaxed) % SLOTS;
        if !BUSY[slot].swap(true, Ordering::Relaxed) {
            return slot;
        }
    }
}

fn known_place() -> Option<Place> {
    let trap = TRAP.load(Ordering::Acquire);
    (trap != 0).then_some(Place {
        slots: trap + PAGE,
        trap,
    })
}

/// Makes room for slots, before anybody needs one.
pub fn prepare() -> Option<()> {
    if known_place().is_some() {
        return Some(());
    }
    let trap = reserve(PAGE + SLOTS * SLOT)?;
    valgrind::make_defined(trap, PAGE);
    let all = ProtFlags::READ | ProtFlags::WRITE | ProtFlags::EXEC;
    let flags = MapFlags::PRIVATE | MapFlags::FIXED;
    let slots = (trap + PAGE) as *mut _;
    // SAFETY: what is replaced has just been reserved for this.
    unsafe { mmap_anonymous(slots, SLOTS * SLOT, all, flags) }.ok()?;
    TRAP.store(trap, Ordering::Release);
    Some(())
}

/// Copies memory that the program or a slot has; a page of a buffer that is closed opens as it does for the program, for which
/// nobody may hold the lock.
pub fn read_memory(address: usize, bytes: &mut [u8]) {
    let from: *const u8 = ptr::with_exposed_provenance(address);
    // SAFETY: the program was about to read it, or the processor has just run it.
    unsafe { from.copy_to(bytes.as_mut_ptr(), bytes.len()) }
}

/// The same, to it.
pub fn write_memory(address: usize, bytes: &[u8]) {
    let to: *mut u8 = ptr::with_exposed_provenance_mut(address);
    // SAFETY: the program was about to write it, or it is a slot that nobody else has.
    unsafe { to.copy_from(bytes.as_ptr(), bytes.len()) }
}
