//! Execution of an instruction that accesses registers of a device: the processor executes a copy with another memory operand.
//!
//! The copy is in the code of a slot and uses the scratch memory of the slot. For a load, the scratch memory is filled from the device before the
//! copy runs, and the slot ends with a jump to the program's next instruction. For a store, the slot ends with an access to an unmapped page. The
//! fault of this access calls the handler again, which sends the written bytes to the device. So the processor itself sets flags and registers. Only
//! moves from and to general registers, which are nearly all accesses of programs, are executed by the handler itself, in one fault. String
//! instructions have no operand that can be replaced: see `strings.rs`.
//!
//! No page is writable and executable: the code of the slots is an anonymous file that is mapped twice, once to write and once to execute. The
//! program returns from the handler by `iret`, which is a serializing instruction. Therefore the processor executes the bytes that the handler has
//! written at the writable address.

use std::ffi::c_int;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use iced_x86::{
    Encoder, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register as Cpu,
};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous};

use super::program::{LONGEST, PAGE, decode, read_memory, write_memory};
use super::{Bus, strings};
use crate::registers::context::Context;
use crate::registry::reserve;
use crate::threads::lock::Lock;
use crate::valgrind;

/// Number of slots. It is large enough that an instruction has left its slot before this slot is used again.
const SLOTS: usize = 1024;
/// Size of a slot's code in bytes: two instructions and the access to the unmapped page, or one instruction and a jump.
const CODE: usize = 64;
/// Size of a slot's scratch memory in bytes. The second half is for a second execution of the instruction.
const SCRATCH: usize = 2 * WIDEST;
/// Length in bytes of the access to the unmapped page. A jump with its target is not longer than an instruction.
const TRAP_CODE: usize = 10;
/// The instruction `int3`.
const BREAKPOINT: u8 = 0xcc;
/// Widest memory operand in bytes.
const WIDEST: usize = 64;

const _: () = assert!(
    2 * LONGEST + TRAP_CODE <= CODE,
    "the code of an instruction fits into its slot"
);

static NEXT: AtomicUsize = AtomicUsize::new(0);
static BUSY: [AtomicBool; SLOTS] = [const { AtomicBool::new(false) }; SLOTS];
/// Address of the unmapped page. The other parts of the [`Area`] follow this page.
static TRAP: AtomicUsize = AtomicUsize::new(0);
static STORES: Lock<[Option<Store>; SLOTS]> = Lock::new([const { None }; SLOTS]);

/// The addresses of the unmapped page and of the slots. They are so close together that an instruction of a slot can address all of them
/// relative to itself.
#[derive(Clone, Copy)]
struct Area {
    trap: usize,
    /// The code, executable and not writable.
    code: usize,
    /// The bytes of the code at another address, writable and not executable.
    writable: usize,
    /// The scratch memory, writable and not executable.
    scratch: usize,
}

impl Area {
    const SIZE: usize = PAGE + SLOTS * (2 * CODE + SCRATCH);

    fn at(trap: usize) -> Self {
        let code = trap + PAGE;
        let writable = code + SLOTS * CODE;
        let scratch = writable + SLOTS * CODE;
        Area {
            trap,
            code,
            writable,
            scratch,
        }
    }

    /// The addresses of the code and of the scratch memory of a slot.
    fn slot(&self, slot: usize) -> (usize, usize) {
        (self.code + slot * CODE, self.scratch + slot * SCRATCH)
    }
}

/// A store in progress.
#[derive(Clone, Copy)]
struct Store {
    address: usize,
    len: usize,
    next: usize,
    /// Whether the instruction is executed twice, to detect which bytes it writes.
    twice: bool,
}

/// Begins the execution of the instruction at the processor's current address. Returns false if it cannot be executed.
pub fn begin(context: &mut Context<'_>, bus: &dyn Bus) -> bool {
    let Some(instruction) = decode(context.instruction()) else {
        return false;
    };
    if is_for_caches(&instruction) {
        context.go_on_at(instruction.next_ip() as usize);
        return true;
    }
    if instruction.is_string_instruction() {
        return strings::execute(&instruction, context, bus);
    }
    if Move::of(&instruction).is_some_and(|one| one.make(&instruction, context, bus)) {
        return true;
    }
    let Some(operand) = Operand::of(&instruction, context) else {
        return false;
    };
    let Some(area) = known_area().filter(|_| operand.is_on(bus)) else {
        return false;
    };
    let slot = take_slot();
    let (base, memory) = area.slot(slot);
    let mut scratch = [if operand.loads { 0xff } else { 0 }; WIDEST];
    if operand.loads {
        bus.load(operand.address, &mut scratch[..operand.len]);
    }
    write_memory(memory, &scratch);
    let Some(mut code) = encode(instruction, base, memory) else {
        BUSY[slot].store(false, Ordering::Relaxed);
        return false;
    };
    if operand.stores {
        if operand.partly {
            write_memory(memory + WIDEST, &[0xff; WIDEST]);
            let second = encode(instruction, base + code.len(), memory + WIDEST);
            code.extend(second.unwrap_or_default());
        }
        code.extend(trap(base + code.len(), area.trap));
        if let Some(mut stores) = STORES.lock() {
            stores[slot] = Some(Store {
                address: operand.address,
                len: operand.len,
                next: instruction.next_ip() as usize,
                twice: operand.partly,
            });
        }
    } else {
        code.extend(jump(instruction.next_ip()));
        BUSY[slot].store(false, Ordering::Relaxed);
    }
    // The rest of the slot is overwritten, so that no bytes of an earlier instruction remain: valgrind also decodes the bytes after the access to the
    // unmapped page.
    code.resize(CODE, BREAKPOINT);
    write_memory(area.writable + slot * CODE, &code);
    valgrind::discard_translations(base, CODE);
    context.go_on_at(base);
    true
}

/// Sends the bytes of a store to the device, if the fault at `address` is the end of a slot.
pub fn finish(address: usize, context: &mut Context<'_>, bus: &dyn Bus) -> bool {
    let Some(area) = known_area() else {
        return false;
    };
    let at = context.instruction().wrapping_sub(area.code);
    if at >= SLOTS * CODE || !(area.trap..area.trap + PAGE).contains(&address) {
        return false;
    }
    let slot = at / CODE;
    let Some(store) = STORES.lock().and_then(|mut stores| stores[slot].take()) else {
        return false;
    };
    let (_, memory) = area.slot(slot);
    let (mut first, mut second) = ([0; WIDEST], [0; WIDEST]);
    read_memory(memory, &mut first);
    read_memory(memory + WIDEST, &mut second);
    BUSY[slot].store(false, Ordering::Relaxed);
    let written = |at: usize| !store.twice || first[at] == second[at];
    let mut at = 0;
    while at < store.len {
        let len = (at..store.len).take_while(|&byte| written(byte)).count();
        bus.store(store.address + at, &first[at..at + len]);
        at += len.max(1);
    }
    context.go_on_at(store.next);
    true
}

/// A move between memory and a general register, or of a constant to memory.
enum Move {
    /// A move from memory to this register.
    Load(Cpu),
    /// A move from this register to memory.
    Store(Cpu),
    /// A move of these bits to memory.
    Constant(u64),
}

impl Move {
    /// The move, if the instruction is a move. The registers AH, BH, CH and DH are not supported.
    fn of(instruction: &Instruction) -> Option<Self> {
        if instruction.mnemonic() != Mnemonic::Mov {
            return None;
        }
        let is_plain = |register: Cpu| {
            let second = [Cpu::AH, Cpu::CH, Cpu::DH, Cpu::BH];
            register.is_gpr() && !second.contains(&register)
        };
        match (instruction.op0_kind(), instruction.op1_kind()) {
            (OpKind::Register, OpKind::Memory) => Some(Move::Load(instruction.op0_register()))
                .filter(|_| is_plain(instruction.op0_register())),
            (OpKind::Memory, OpKind::Register) => Some(Move::Store(instruction.op1_register()))
                .filter(|_| is_plain(instruction.op1_register())),
            (OpKind::Memory, _) => instruction.try_immediate(1).ok().map(Move::Constant),
            _ => None,
        }
    }

    /// Executes the move, and continues after it. Returns false if not all of its memory is registers of a device.
    fn make(self, instruction: &Instruction, context: &mut Context<'_>, bus: &dyn Bus) -> bool {
        let len = instruction.memory_size().size();
        let memory = u32::from(matches!(self, Move::Load(_)));
        let value = |register, _, _| register_value(context, register);
        let Some(address) = instruction.virtual_address(memory, 0, value) else {
            return false;
        };
        let store = |value: u64| bus.store(address as usize, &value.to_le_bytes()[..len]);
        let is_made = match self {
            Move::Load(to) => {
                let mut bytes = [0; 8];
                let is_loaded = bus.load(address as usize, &mut bytes[..len]);
                if is_loaded {
                    put(context, to, u64::from_le_bytes(bytes));
                }
                is_loaded
            }
            Move::Store(from) => {
                store(number_of(from).map_or(0, |number| context.register(number)))
            }
            Move::Constant(bits) => store(bits),
        };
        if is_made {
            context.go_on_at(instruction.next_ip() as usize);
        }
        is_made
    }
}

/// Sets a general register. A write of 4 bytes sets the upper half of the register to zero. A shorter write does not change the other bytes.
fn put(context: &mut Context<'_>, register: Cpu, value: u64) {
    let Some(number) = number_of(register) else {
        return;
    };
    let kept = match register.size() {
        1 => !0xff,
        2 => !0xffff,
        _ => 0,
    };
    let rest = context.register(number) & kept;
    context.set_register(number, rest | value);
}

/// The memory operand of an instruction.
struct Operand {
    address: usize,
    len: usize,
    loads: bool,
    stores: bool,
    /// Whether the instruction may store only a part of the operand, selected by a mask.
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

    /// Whether all bytes of the operand are registers.
    fn is_on(&self, bus: &dyn Bus) -> bool {
        let (is_registers, stretch) = bus.stretch(self.address);
        is_registers && stretch >= self.len
    }
}

/// Whether the instruction stores under a mask. The decoder does not report the mask of older instructions.
fn has_mask(instruction: &Instruction) -> bool {
    use Mnemonic::{Vmaskmovpd, Vmaskmovps, Vpmaskmovd, Vpmaskmovq};
    let older = [Vmaskmovpd, Vmaskmovps, Vpmaskmovd, Vpmaskmovq];
    instruction.has_op_mask() || older.contains(&instruction.mnemonic())
}

/// Whether the instruction controls caches. It has no effect on registers of devices, which are never in caches.
fn is_for_caches(instruction: &Instruction) -> bool {
    use Mnemonic::{Clflush, Clflushopt, Clwb};
    [Clflush, Clflushopt, Clwb].contains(&instruction.mnemonic())
}

fn register_value(context: &Context<'_>, register: Cpu) -> Option<u64> {
    if matches!(register, Cpu::ES | Cpu::CS | Cpu::SS | Cpu::DS) {
        return Some(0);
    }
    let value = context.register(number_of(register)?);
    match register.size() {
        8 => Some(value),
        4 => Some(value & u64::from(u32::MAX)),
        _ => None,
    }
}

/// The number in the context of the general register that contains `register`.
fn number_of(register: Cpu) -> Option<c_int> {
    let numbers = [
        libc::REG_RAX,
        libc::REG_RCX,
        libc::REG_RDX,
        libc::REG_RBX,
        libc::REG_RSP,
        libc::REG_RBP,
        libc::REG_RSI,
        libc::REG_RDI,
        libc::REG_R8,
        libc::REG_R9,
        libc::REG_R10,
        libc::REG_R11,
        libc::REG_R12,
        libc::REG_R13,
        libc::REG_R14,
        libc::REG_R15,
    ];
    let full = register.full_register();
    full.is_gpr64().then(|| numbers[full.number()])
}

/// The code of the instruction at the address `at`, with `scratch` as its memory operand.
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

/// `mov dword ptr [trap], 0`, which always faults.
fn trap(at: usize, trap: usize) -> Vec<u8> {
    let distance = trap.wrapping_sub(at + TRAP_CODE) as u32;
    let mut code = vec![0xc7, 0x05];
    code.extend(distance.to_le_bytes());
    code.extend([0; 4]);
    code
}

/// `jmp [rip]`, with the target address after it.
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

fn known_area() -> Option<Area> {
    let trap = TRAP.load(Ordering::Acquire);
    (trap != 0).then(|| Area::at(trap))
}

/// Reserves the slots in advance. Threads that call this function at the same time get the same area, because only the trap address of one of them is
/// stored.
pub fn prepare() -> Option<()> {
    static ALONE: Lock<()> = Lock::new(());
    let _alone = ALONE.lock()?;
    if known_area().is_some() {
        return Some(());
    }
    let area = Area::at(reserve(Area::SIZE)?);
    valgrind::make_defined(area.trap, PAGE);
    let (write, execute) = (
        ProtFlags::READ | ProtFlags::WRITE,
        ProtFlags::READ | ProtFlags::EXEC,
    );
    let file = code_file()?;
    let code = |at: usize, access| {
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        // SAFETY: the replaced mapping was just reserved for this.
        unsafe { mmap(at as *mut _, SLOTS * CODE, access, flags, &file, 0) }.ok()
    };
    code(area.code, execute)?;
    code(area.writable, write)?;
    let flags = MapFlags::PRIVATE | MapFlags::FIXED;
    // SAFETY: the replaced mapping was just reserved for this.
    unsafe { mmap_anonymous(area.scratch as *mut _, SLOTS * SCRATCH, write, flags) }.ok()?;
    TRAP.store(area.trap, Ordering::Release);
    Some(())
}

/// A file for the code of all slots, without a name in the file system.
fn code_file() -> Option<OwnedFd> {
    let create = |flags| memfd_create("peerlane-code", MemfdFlags::CLOEXEC | flags);
    // Linux before 6.3 does not support this flag. All files of these systems may be executed.
    let file = create(MemfdFlags::EXEC).or_else(|_| create(MemfdFlags::empty()));
    let file = file.ok()?;
    ftruncate(&file, (SLOTS * CODE) as u64).ok()?;
    Some(file)
}

#[cfg(test)]
mod tests;
