//! The streaming DMA unit: both ways at once, with packets whose length is known only at their end.

use super::*;

const M2S: u64 = 0x100;
const S2M: u64 = 0x200;
const CHECKER: u64 = 0x3000;
const GENERATOR: u64 = 0x3010;

const HOST_MEMORY: u64 = 0x1_0000_0000_0000;

const GENERATE_END: u32 = 1 << 9;
const END_ON_END: u32 = 1 << 12;
const INTERRUPT_ON_END: u32 = 1 << 13;
const INTERRUPT: u32 = 1 << 14;
const GO: u32 = 1 << 31;

/// The number of beats of the pattern.
const PATTERN: u32 = 32;

fn streams() -> Machine {
    let mut machine = machine("afu = \"streaming_dma_afu\"");
    for engine in [M2S, S2M] {
        machine.set32(engine + 0x44, 1 << 4);
    }
    machine
}

/// The pattern of the published test: the value of each byte is one more than that of the previous byte.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| at as u8).collect()
}

/// Writes the pattern to the pattern memory at `memory`, and starts the pattern generator or checker at `end` for a test of `len` bytes.
fn start(machine: &mut Machine, end: u64, memory: u64, len: u32, control: u32) {
    for (at, word) in (0..).zip(pattern(64 * PATTERN as usize).chunks(8)) {
        let word = word.try_into().expect("a quadword has eight bytes");
        machine.set(memory + 8 * at, u64::from_le_bytes(word));
    }
    machine.set32(end, len.div_ceil(64));
    machine.set32(end + 4, PATTERN);
    machine.set32(end + 8, control | (len % 64) << 8 | GO);
}

fn push(machine: &mut Machine, engine: u64, (from, to): (u64, u64), len: u32, control: u32) {
    let dwords = [
        from as u32,
        to as u32,
        len,
        0,
        0x1_0001,
        (from >> 32) as u32,
        (to >> 32) as u32,
        control | GO,
    ];
    for (number, pair) in dwords.chunks(2).enumerate() {
        let value = u64::from(pair[1]) << 32 | u64::from(pair[0]);
        machine.set(engine + 0x60 + 8 * number as u64, value);
    }
}

fn send(machine: &mut Machine, from: u64, len: u32, control: u32) {
    push(
        machine,
        M2S,
        (HOST_MEMORY | (MEMORY + from), 0),
        len,
        control,
    );
}

fn receive(machine: &mut Machine, to: u64, len: u32, control: u32) {
    push(machine, S2M, (0, HOST_MEMORY | (MEMORY + to)), len, control);
}

/// The next response of the engine: the number of bytes, and whether a packet ended.
fn response(machine: &mut Machine) -> Option<(u64, bool)> {
    if machine.get32(S2M + 0x4c) == 0 {
        return None;
    }
    let bytes = machine.get32(S2M + 0x80);
    Some((bytes, machine.get32(S2M + 0x84) >> 9 & 1 != 0))
}

#[test]
fn the_checker_finds_what_was_sent_and_what_was_not() {
    for wrong in [0, 3] {
        let mut machine = streams();
        let mut data = pattern(100_000);
        for number in 0..wrong {
            data[10_000 + 1000 * number] ^= 1;
        }
        machine.fill(0, &data);
        start(&mut machine, CHECKER, 0x1000, 100_000, 0);
        send(&mut machine, 0, 65_536, 0);
        send(
            &mut machine,
            65_536,
            100_000 - 65_536,
            INTERRUPT | GENERATE_END,
        );
        machine.pass(Span::from_us(40));
        let failed = u64::from(wrong > 0) << 2;
        let errors = (wrong as u64) << 16;
        assert_eq!(machine.get32(CHECKER + 0xc), 2 | failed | errors);
        assert_eq!(machine.interrupts(), 1);
        assert_eq!(machine.get32(M2S + 0x40) & 3, 2);
        machine.rests();
    }
}

#[test]
fn a_transfer_of_known_length_is_full_and_a_packet_ends_where_it_ends() {
    let mut machine = streams();
    // A stream of 10,000 bytes is written to descriptors of 4 KiB. A descriptor ends early at the end of the stream.
    for number in 0..4 {
        receive(
            &mut machine,
            number << 12,
            4096,
            END_ON_END | INTERRUPT_ON_END,
        );
    }
    start(&mut machine, GENERATOR, 0x2000, 10_000, 0b1100);
    machine.pass(Span::from_us(20));
    let data = pattern(10_000);
    assert!(machine.memory(0, 10_000) == data);
    assert_eq!(machine.interrupts(), 1);
    assert_eq!(response(&mut machine), Some((4096, false)));
    assert_eq!(response(&mut machine), Some((4096, false)));
    assert_eq!(response(&mut machine), Some((10_000 - 8192, true)));
    assert_eq!(response(&mut machine), None);
    assert_eq!(machine.get32(GENERATOR + 0xc), 2);
    // The last descriptor remains, and is used for the next stream.
    assert_eq!(machine.get32(S2M + 0x40) & 1, 1);
    start(&mut machine, GENERATOR, 0x2000, 4096, 0);
    machine.pass(Span::from_us(20));
    assert!(machine.memory(3 << 12, 4096) == pattern(4096));
    assert_eq!(response(&mut machine), Some((4096, false)));
    machine.rests();
}

#[test]
fn the_valve_closes_behind_a_packet_until_it_is_opened() {
    let mut machine = streams();
    machine.set32(S2M + 0xac, 0b101);
    for number in 0..2 {
        receive(&mut machine, number << 12, 4096, END_ON_END);
    }
    start(&mut machine, GENERATOR, 0x2000, 256, 0b1100);
    machine.pass(Span::from_us(5));
    start(&mut machine, GENERATOR, 0x2000, 512, 0b1100);
    machine.pass(Span::from_us(5));
    assert_eq!(response(&mut machine), Some((256, true)));
    assert_eq!(response(&mut machine), None);
    assert_eq!(machine.get32(S2M + 0xb0), 2);
    machine.set32(S2M + 0xac, 0b1101);
    machine.pass(Span::from_us(5));
    assert_eq!(response(&mut machine), Some((512, true)));
    assert_eq!(machine.get32(S2M + 0xa0), 512);
}

#[test]
fn what_is_read_goes_back_when_the_streams_are_joined() {
    let mut machine = streams();
    machine.set(0x40, 1);
    machine.set(0x50, 1);
    let data = noise(200_000, 5);
    machine.fill(0, &data);
    receive(&mut machine, 1 << 20, 1 << 17, INTERRUPT);
    receive(
        &mut machine,
        (1 << 20) + (1 << 17),
        1 << 17,
        END_ON_END | INTERRUPT_ON_END,
    );
    send(&mut machine, 0, 200_000, GENERATE_END);
    machine.pass(Span::from_us(100));
    assert!(machine.memory(1 << 20, 200_000) == data);
    assert_eq!(machine.interrupts(), 2);
    assert_eq!(response(&mut machine), Some((1 << 17, false)));
    assert_eq!(response(&mut machine), Some((200_000 - (1 << 17), true)));
    machine.rests();
}

#[test]
fn a_stream_that_nobody_takes_waits() {
    let mut machine = streams();
    machine.fill(0, &pattern(1 << 20));
    send(&mut machine, 0, 1 << 20, 0);
    machine.pass(Span::from_us(50));
    assert_eq!(machine.get32(M2S + 0x40) & 1, 1);
    start(&mut machine, CHECKER, 0x1000, 1 << 20, 0);
    machine.pass(Span::from_us(200));
    assert_eq!(machine.get32(CHECKER + 0xc), 2);
    assert_eq!(machine.get32(M2S + 0x40) & 3, 2);
    machine.rests();
}
