//! Tests of the execution of instructions that access registers. Each test provides the registers and the state of the processor.

use std::cell::RefCell;

use super::*;

/// The address of the registers. No memory is mapped there.
const BASE: usize = 0x10_0000_0000;
const SIZE: usize = 64;

struct Registers(RefCell<[u8; SIZE]>);

impl Registers {
    fn new() -> Self {
        Registers(RefCell::new(std::array::from_fn(|byte| byte as u8)))
    }

    fn offset(address: usize, len: usize) -> Option<usize> {
        let offset = address.checked_sub(BASE)?;
        (offset + len <= SIZE).then_some(offset)
    }

    fn bytes(&self, offset: usize, len: usize) -> Vec<u8> {
        self.0.borrow()[offset..offset + len].to_vec()
    }
}

impl Bus for Registers {
    fn stretch(&self, address: usize) -> (bool, usize) {
        match Self::offset(address, 1) {
            Some(offset) => (true, SIZE - offset),
            None => (false, BASE.checked_sub(address).unwrap_or(usize::MAX)),
        }
    }

    fn load(&self, address: usize, bytes: &mut [u8]) -> bool {
        let offset = Self::offset(address, bytes.len());
        offset.is_some_and(|offset| {
            bytes.copy_from_slice(&self.0.borrow()[offset..][..bytes.len()]);
            true
        })
    }

    fn store(&self, address: usize, bytes: &[u8]) -> bool {
        let offset = Self::offset(address, bytes.len());
        offset.is_some_and(|offset| {
            self.0.borrow_mut()[offset..][..bytes.len()].copy_from_slice(bytes);
            true
        })
    }
}

/// Runs `test` with a processor at the instruction `code`, with these registers. The code ends with bytes that do not belong to the instruction.
fn with_processor(code: &[u8], registers: &[(c_int, usize)], test: impl FnOnce(&mut Context<'_>)) {
    let mut bytes = [0x90; 2 * LONGEST];
    bytes[..code.len()].copy_from_slice(code);
    // SAFETY: the structure contains only numbers and pointers, for which zero is a valid value.
    let mut processor: libc::ucontext_t = unsafe { std::mem::zeroed() };
    let mut context = Context::of(&mut processor);
    context.go_on_at(bytes.as_ptr() as usize);
    for (register, value) in registers {
        context.set_register(*register, *value as u64);
    }
    test(&mut context);
}

/// The scratch memory of the slot that contains the processor's current instruction.
fn scratch(context: &Context<'_>) -> usize {
    let area = known_area().expect("it is prepared");
    area.slot((context.instruction() - area.code) / CODE).1
}

#[test]
fn a_load_of_4_bytes_clears_the_upper_half_and_one_of_a_byte_leaves_the_rest() {
    let bus = Registers::new();
    let registers = [(libc::REG_RAX, usize::MAX), (libc::REG_RCX, BASE + 4)];
    // mov eax, [rcx]
    with_processor(&[0x8b, 0x01], &registers, |context| {
        let at = context.instruction();
        assert!(begin(context, &bus));
        assert_eq!(context.register(libc::REG_RAX), 0x0706_0504);
        assert_eq!(context.instruction(), at + 2);
    });
    // mov al, [rcx]
    with_processor(&[0x8a, 0x01], &registers, |context| {
        assert!(begin(context, &bus));
        assert_eq!(context.register(libc::REG_RAX), !0xff | 4);
    });
}

#[test]
fn a_store_changes_as_many_bytes_as_its_operand_has() {
    let bus = Registers::new();
    let registers = [(libc::REG_RAX, 0xaabb), (libc::REG_RCX, BASE + 8)];
    // mov [rcx], ax
    with_processor(&[0x66, 0x89, 0x01], &registers, |context| {
        assert!(begin(context, &bus));
    });
    assert_eq!(bus.bytes(7, 4), [7, 0xbb, 0xaa, 10]);
}

#[test]
fn an_access_that_ends_behind_the_registers_is_not_executed() {
    let bus = Registers::new();
    prepare().expect("there is memory");
    // mov rax, [rcx]; add [rcx], rax
    for code in [[0x48, 0x8b, 0x01], [0x48, 0x01, 0x01]] {
        let registers = [(libc::REG_RCX, BASE + SIZE - 4)];
        with_processor(&code, &registers, |context| assert!(!begin(context, &bus)));
    }
}

#[test]
fn an_instruction_out_of_line_has_the_registers_in_its_scratch_memory_and_stores_what_it_leaves_there()
 {
    let bus = Registers::new();
    prepare().expect("there is memory");
    // add [rcx], eax
    with_processor(&[0x01, 0x01], &[(libc::REG_RCX, BASE)], |context| {
        let at = context.instruction();
        assert!(begin(context, &bus));
        let mut loaded = [0; 4];
        read_memory(scratch(context), &mut loaded);
        assert_eq!(loaded, [0, 1, 2, 3]);
        write_memory(scratch(context), &[9; 4]);
        let trap = known_area().expect("it is prepared").trap;
        assert!(!finish(trap + PAGE, context, &bus));
        assert!(finish(trap, context, &bus));
        assert_eq!(context.instruction(), at + 2);
        assert!(!finish(trap, context, &bus));
    });
    assert_eq!(bus.bytes(0, 5), [9, 9, 9, 9, 4]);
}

#[test]
fn a_store_under_a_mask_changes_the_bytes_that_both_copies_have_written() {
    let bus = Registers::new();
    prepare().expect("there is memory");
    // vmaskmovps [rcx], ymm1, ymm0
    let code = [0xc4, 0xe2, 0x75, 0x2e, 0x01];
    with_processor(&code, &[(libc::REG_RCX, BASE)], |context| {
        assert!(begin(context, &bus));
        let memory = scratch(context);
        for copy in [memory, memory + WIDEST] {
            write_memory(copy + 4, &[7; 4]);
            write_memory(copy + 12, &[8; 4]);
        }
        let trap = known_area().expect("it is prepared").trap;
        assert!(finish(trap, context, &bus));
    });
    let expected = [0, 1, 2, 3, 7, 7, 7, 7, 8, 9, 10, 11, 8, 8, 8, 8, 16];
    assert_eq!(bus.bytes(0, 17), expected);
}

#[test]
fn a_string_instruction_copies_registers_to_memory_and_ends_with_its_pointers_behind_them() {
    let bus = Registers::new();
    let mut memory = [0; SIZE];
    let to = memory.as_mut_ptr() as usize;
    let registers = [
        (libc::REG_RSI, BASE + 3),
        (libc::REG_RDI, to),
        (libc::REG_RCX, 20),
    ];
    // rep movsb
    with_processor(&[0xf3, 0xa4], &registers, |context| {
        assert!(begin(context, &bus));
        assert_eq!(context.register(libc::REG_RCX), 0);
        assert_eq!(context.register(libc::REG_RSI) as usize, BASE + 23);
        assert_eq!(context.register(libc::REG_RDI) as usize, to + 20);
    });
    assert_eq!(memory[..20], bus.bytes(3, 20));
    assert_eq!(memory[20], 0);
}
