//! The memory-mapped DMA unit: bytes, order, interrupts and time.

use proptest::prelude::*;

use super::*;
use crate::cases::cases;

const BLOCK: u64 = 0x2_0000;
const STATUS: u64 = BLOCK + 0x40;
const CONTROL: u64 = BLOCK + 0x44;
const DESCRIPTOR: u64 = BLOCK + 0x60;
const PAGE: u64 = BLOCK + 0x200;
const WINDOW: u64 = BLOCK + 0x1000;

const HOST_MEMORY: u64 = 0x2_0000_0000_0000;
const FENCED: u64 = 0x3_0000_0000_0000;
const ROM: u64 = 0x1_0000_0000_0000;
const MAGIC: u64 = 0x5772_745f_5379_6e63;

const INTERRUPT: u32 = 1 << 14;
const EARLY: u32 = 1 << 24;
const GO: u32 = 1 << 31;

fn host(offset: u64) -> u64 {
    HOST_MEMORY | (MEMORY + offset)
}

fn dma() -> Machine {
    let mut machine = machine("afu = \"dma_afu\"");
    machine.set32(CONTROL, 1 << 4);
    machine
}

/// Writes a descriptor to the dispatcher in the same way as drivers.
fn push(machine: &mut Machine, from: u64, to: u64, (len, burst): (u32, u8), control: u32) {
    let dwords = [
        from as u32,
        to as u32,
        len,
        u32::from_le_bytes([0, 0, burst, burst]),
        0x1_0001,
        (from >> 32) as u32,
        (to >> 32) as u32,
        control | GO,
    ];
    for (number, pair) in dwords.chunks(2).enumerate() {
        let value = u64::from(pair[1]) << 32 | u64::from(pair[0]);
        machine.set(DESCRIPTOR + 8 * number as u64, value);
    }
}

/// Waits until the status of the engine says that it has no work.
fn until_idle(machine: &mut Machine) {
    for _ in 0..100_000 {
        if machine.get32(STATUS) & 3 == 2 {
            return;
        }
    }
    panic!("the engine does not come to its end");
}

/// Transfers `len` bytes in the same way as the published driver: up to a host address that is a multiple of 256 bytes by single lines, and then by
/// bursts of four lines.
fn transfer(machine: &mut Machine, mut from: u64, mut to: u64, mut len: u32) {
    let host = if from & HOST_MEMORY != 0 { from } else { to };
    let lead = ((256 - host % 256) % 256).min(u64::from(len)) as u32;
    let body = (len - lead) / 256 * 256;
    for (part, burst) in [(lead, 1), (body, 4), (len - lead - body, 1)] {
        if part > 0 {
            push(machine, from, to, (part, burst), 0);
            from += u64::from(part);
            to += u64::from(part);
            len -= part;
        }
    }
    assert_eq!(len, 0);
}

proptest! {
    #![proptest_config(cases(12))]
    #[test]
    fn bytes_come_back_from_the_card_as_they_went(
        lines in 1_u32..600,
        source in 0_u64..64,
        card in 0_u64..1_000_000,
        back in 0_u64..64,
        seed: u64,
    ) {
        let len = lines * 64;
        let mut machine = dma();
        let data = noise(len as usize, seed);
        let (source, card, back) = (source * 64, card * 64, (1 << 20) + back * 64);
        machine.fill(source, &data);
        transfer(&mut machine, host(source), card, len);
        until_idle(&mut machine);
        transfer(&mut machine, card, host(back), len);
        until_idle(&mut machine);
        machine.pass(Span::from_us(2));
        prop_assert!(machine.memory(back, u64::from(len)) == data);
        machine.rests();
    }
}

#[test]
fn data_moves_within_the_card_and_across_its_banks() {
    let mut machine = dma();
    let data = noise(4096, 1);
    machine.fill(0, &data);
    let across = (4 << 30) - 2048;
    let ways = [host(0), across, 64, host(1 << 20)];
    for way in ways.windows(2) {
        push(&mut machine, way[0], way[1], (4096, 4), 0);
        until_idle(&mut machine);
    }
    machine.pass(Span::from_us(2));
    assert!(machine.memory(1 << 20, 4096) == data);
}

#[test]
fn the_magic_word_comes_behind_all_data() {
    let mut machine = dma();
    let data = noise(1 << 18, 2);
    machine.fill(0, &data);
    push(&mut machine, host(0), 0, (1 << 18, 4), 0);
    until_idle(&mut machine);
    push(&mut machine, 0, host(1 << 20), (1 << 18, 4), 0);
    push(
        &mut machine,
        ROM,
        FENCED | (MEMORY + (2 << 20)),
        (64, 1),
        INTERRUPT,
    );
    let magic = |machine: &Machine| machine.memory(2 << 20, 8) == MAGIC.to_le_bytes();
    while !magic(&machine) {
        assert_eq!(machine.interrupts(), 0);
        machine.pass(Span::from_ns(20));
    }
    assert!(machine.memory(1 << 20, 1 << 18) == data);
    machine.pass(Span::from_us(1));
    assert_eq!(machine.interrupts(), 1);
}

#[test]
fn an_interrupt_comes_behind_the_data_of_its_descriptor() {
    let mut machine = dma();
    push(&mut machine, 0, host(0), (1 << 16, 4), INTERRUPT);
    machine.fill((1 << 16) - 64, &[7; 64]);
    while machine.interrupts() == 0 {
        machine.pass(Span::from_ns(20));
    }
    assert_eq!(machine.memory((1 << 16) - 64, 64), [0; 64]);
    assert_eq!(machine.get32(STATUS) >> 9 & 1, 1);
    machine.set32(STATUS, 1 << 9);
    assert_eq!(machine.get32(STATUS) >> 9 & 1, 0);
}

#[test]
fn an_interrupt_does_not_wait_for_the_data_of_later_descriptors() {
    let mut machine = dma();
    machine.set32(CONTROL, 1 << 5 | 1 << 4);
    push(&mut machine, 0, host(0), (256, 4), INTERRUPT);
    push(&mut machine, 0, host(1 << 12), (1 << 20, 4), 0);
    let last = (1 << 12) + (1 << 20) - 64;
    machine.fill(last, &[9; 64]);
    machine.set32(CONTROL, 1 << 4);
    while machine.interrupts() == 0 {
        machine.pass(Span::from_us(1));
    }
    assert_eq!(machine.memory(last, 64), [9; 64]);
}

#[test]
fn nobody_is_interrupted_who_did_not_enable_it() {
    let mut machine = dma();
    machine.set32(CONTROL, 0);
    push(&mut machine, 0, host(0), (256, 4), INTERRUPT);
    until_idle(&mut machine);
    machine.pass(Span::from_us(10));
    assert_eq!(machine.interrupts(), 0);
    assert_eq!(machine.get32(STATUS) >> 9 & 1, 0);
}

#[test]
fn descriptors_that_are_done_early_overlap() {
    let time = |control: u32| {
        let mut machine = dma();
        machine.set32(CONTROL, 1 << 5);
        for number in 0..16 {
            push(
                &mut machine,
                host(number << 12),
                number << 12,
                (4096, 4),
                control,
            );
        }
        let start = machine.now();
        machine.set32(CONTROL, 0);
        until_idle(&mut machine);
        machine.now().since(start)
    };
    let (early, late) = (time(EARLY), time(0));
    // Without `EARLY`, each descriptor waits for the completion of its last read.
    assert!(late.as_fs() > early.as_fs() + Span::from_us(4).as_fs());
}

#[test]
fn the_window_shows_the_memory_of_the_card() {
    let mut machine = dma();
    machine.set(PAGE, 0x1_2345_6789);
    assert_eq!(machine.get(PAGE), 0x1_2345_6000);
    machine.set(WINDOW + 0x18, 0x1122_3344_5566_7788);
    machine.set32(WINDOW + 0x1c, 9);
    assert_eq!(machine.get(WINDOW + 0x18), 0x9_5566_7788);
    push(&mut machine, 0x1_2345_6000, host(0), (64, 1), 0);
    until_idle(&mut machine);
    machine.pass(Span::from_us(1));
    assert_eq!(machine.memory(0x18, 8), 0x9_5566_7788_u64.to_le_bytes());
    // There is no memory at this address.
    machine.set(PAGE, 1 << 40);
    machine.set(WINDOW, 1);
    assert_eq!(machine.get(WINDOW), u64::MAX);
}

#[test]
fn a_reset_dispatcher_forgets_what_it_was_at() {
    let mut machine = dma();
    push(&mut machine, host(0), 0, (1 << 20, 4), INTERRUPT);
    push(&mut machine, host(0), 0, (1 << 20, 4), INTERRUPT);
    machine.pass(Span::from_us(3));
    machine.set32(CONTROL, 2);
    machine.pass(Span::from_us(3));
    assert_eq!(machine.get32(STATUS) & 0x7f, 0b1010);
    machine.set32(CONTROL, 1 << 4);
    push(&mut machine, host(0), 64, (64, 1), INTERRUPT);
    until_idle(&mut machine);
    machine.pass(Span::from_us(3));
    assert_eq!(machine.interrupts(), 1);
    machine.rests();
}

#[test]
fn a_read_that_nobody_answers_ends_with_ones_and_an_error() {
    let mut machine = dma();
    machine.fill(0, &[7; 64]);
    // The host has no memory at 16 TiB.
    push(&mut machine, HOST_MEMORY | 1 << 44, 0, (256, 4), 0);
    until_idle(&mut machine);
    push(&mut machine, 0, host(0), (64, 1), 0);
    until_idle(&mut machine);
    machine.pass(Span::from_us(2));
    assert_eq!(machine.memory(0, 64), [0xff; 64]);
    assert_eq!(machine.load(0, 0x4020, 8), 1 << 6);
    machine.store(0, 0x4020, &u64::MAX.to_le_bytes());
    assert_eq!(machine.load(0, 0x4020, 8), 0);
    // If bit 2 of the control register is set, the engine stops at the error.
    machine.set32(CONTROL, 1 << 2);
    push(&mut machine, HOST_MEMORY | 1 << 44, 0, (256, 4), 0);
    machine.pass(Span::from_us(10));
    assert_eq!(machine.get32(STATUS) >> 5 & 0b101, 0b101);
    machine.rests();
}

#[test]
fn payloads_and_read_requests_stay_within_what_the_registers_allow() {
    let mut machine = machine_with(128, "afu = \"dma_afu\"\ntags = 4");
    let data = noise(1 << 16, 3);
    machine.fill(0, &data);
    push(&mut machine, host(0), 0, (1 << 16, 4), EARLY);
    until_idle(&mut machine);
    push(&mut machine, 0, host(1 << 20), (1 << 16, 4), 0);
    until_idle(&mut machine);
    machine.pass(Span::from_us(2));
    assert!(machine.memory(1 << 20, 1 << 16) == data);
    assert!(machine.simulation.result().errors.is_empty());
}

#[test]
fn a_long_transfer_goes_as_fast_as_the_link_carries_it() {
    let wire = 8.0 * 8.0 * 128.0 / 130.0 / 8.0;
    // A completion has three dwords of header and a write to these addresses four; framing and LCRC are two. With each completion, the link also
    // carries the UpdateFC for a read request, a DLLP of 8 bytes.
    for (to_card, overhead) in [(true, 28.0), (false, 24.0)] {
        let mut machine = dma();
        let ways = if to_card { (host(0), 0) } else { (0, host(0)) };
        machine.set32(CONTROL, 1 << 4 | 1 << 5);
        push(&mut machine, ways.0, ways.1, (1 << 22, 4), INTERRUPT);
        let start = machine.now();
        machine.set32(CONTROL, 1 << 4);
        while machine.interrupts() == 0 {
            machine.pass(Span::from_us(1));
        }
        let rate = f64::from(1 << 22) / machine.now().since(start).as_ns();
        close(rate, wire * 256.0 / (256.0 + overhead), 1.5);
    }
}

/// The next burst of the engine is ready long before the link has transmitted the previous burst.
#[test]
fn the_engine_is_not_woken_to_write_while_the_queue_is_full() {
    let mut machine = dma();
    machine.set32(CONTROL, 1 << 4 | 1 << 5);
    push(&mut machine, 0, host(0), (1 << 22, 4), INTERRUPT);
    let before = machine.simulation.events();
    machine.set32(CONTROL, 1 << 4);
    while machine.interrupts() == 0 {
        machine.pass(Span::from_us(1));
    }
    let bursts = f64::from(1 << 22) / 256.0;
    let events = (machine.simulation.events() - before) as f64;
    // The events of a burst: the end of its packet on the link, the arrival, the write, the UpdateFC, and a share of the acknowledgements.
    assert!(events < 6.0 * bursts, "{} events a burst", events / bursts);
}
