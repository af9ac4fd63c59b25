//! Descriptors in host memory, which a prefetcher reads and writes back.

use super::*;

const M2S: u64 = 0x100;
const S2M: u64 = 0x200;
const MULTIPLEXER: u64 = 0x40;
const DECIMATOR: u64 = 0x48;
const DEMULTIPLEXER: u64 = 0x50;
const PREFETCHER: u64 = 0x80;
const START: u64 = PREFETCHER + 8;
const STATUS: u64 = PREFETCHER + 0x20;

const HOST_MEMORY: u64 = 1 << 48;
const BLOCKS: u64 = 0x40_0000;
const SOURCE: u64 = 0x80_0000;
const DESTINATION: u64 = 0xc0_0000;

const GENERATE_START: u32 = 1 << 8;
const GENERATE_END: u32 = 1 << 9;
const END_ON_END: u32 = 1 << 12;
const INTERRUPT: u32 = 1 << 14;
const GO: u32 = 1 << 31;

/// The prefetcher and its interrupts are enabled, and it waits 256 cycles before it reads again a descriptor that is not ready.
const CONTROL: u64 = 1 | 1 << 2 | 1 << 3 | 0x100 << 16;

/// A descriptor that software writes to memory.
#[derive(Clone, Copy)]
struct Descriptor {
    from: u64,
    to: u64,
    len: u32,
    control: u32,
}

/// The result of a descriptor: whether hardware owns the descriptor, the number of bytes, and whether a packet ended and whether it ended early.
#[derive(Debug, PartialEq)]
struct Outcome {
    owned: bool,
    bytes: u32,
    ends: [bool; 2],
}

impl Machine {
    /// Writes a block of descriptors at `at`, whose next block is at `next`. The first descriptor is ready only if `ready` is set.
    fn block(&mut self, at: u64, next: u64, descriptors: &[Descriptor], ready: bool) {
        for (number, one) in descriptors.iter().enumerate() {
            let mut line = [0_u8; 64];
            line[1] = if number == 0 {
                descriptors.len() as u8 - 1
            } else {
                0
            };
            line[2] = (number > 0 || ready).into();
            line[4..8].copy_from_slice(&(one.control | GO).to_le_bytes());
            line[8..16].copy_from_slice(&one.from.to_le_bytes());
            line[16..24].copy_from_slice(&one.to.to_le_bytes());
            line[24..28].copy_from_slice(&one.len.to_le_bytes());
            line[56..64].copy_from_slice(&(MEMORY + next).to_le_bytes());
            self.fill(at + 64 * number as u64, &line);
        }
    }

    fn outcome(&self, at: u64) -> Outcome {
        let line = self.memory(at, 64);
        Outcome {
            owned: line[2] != 0,
            bytes: u32::from_le_bytes(line[40..44].try_into().expect("four bytes")),
            ends: [line[45] != 0, line[46] != 0],
        }
    }

    fn fetch(&mut self, engine: u64, from: u64) {
        self.set(engine + START, MEMORY + from);
        self.set(engine + PREFETCHER, CONTROL);
    }

    /// Stops the prefetcher of `engine`, waits 5 us, and asserts that the engine is idle.
    fn stop(&mut self, engine: u64) {
        self.set(engine + PREFETCHER, 0);
        self.pass(Span::from_us(5));
        assert_eq!(self.get32(engine + STATUS) & 6, 6);
    }
}

/// A machine in which the data that one engine reads is written by the other.
fn looped() -> Machine {
    let mut machine = machine("afu = \"streaming_dma_afu\"");
    machine.set32(MULTIPLEXER, 1);
    machine.set32(DEMULTIPLEXER, 1);
    machine
}

fn send(offset: u64, len: u32, control: u32) -> Descriptor {
    let from = HOST_MEMORY | (MEMORY + SOURCE + offset);
    let to = 0;
    Descriptor {
        from,
        to,
        len,
        control,
    }
}

fn receive(offset: u64, len: u32, control: u32) -> Descriptor {
    let to = HOST_MEMORY | (MEMORY + DESTINATION + offset);
    let from = 0;
    Descriptor {
        from,
        to,
        len,
        control,
    }
}

#[test]
fn blocks_in_a_ring_are_fetched_done_and_written_back_in_order() {
    let mut machine = looped();
    let data = noise(64 * 4096, 3);
    machine.fill(SOURCE, &data);
    // Each engine has two blocks of 32 descriptors. The blocks cross pages, and each block is the next block of the other.
    let place = |engine: u64, block: u64| BLOCKS + engine * 0x10_0000 + block * 0x1840;
    for block in 0..2 {
        let own = |make: fn(u64, u32, u32) -> Descriptor| -> Vec<Descriptor> {
            let numbers = block * 32..(block + 1) * 32;
            numbers.map(|number| make(number << 12, 4096, 0)).collect()
        };
        machine.block(place(0, block), place(0, 1 - block), &own(send), true);
        machine.block(place(1, block), place(1, 1 - block), &own(receive), true);
    }
    machine.fetch(S2M, place(1, 0));
    machine.fetch(M2S, place(0, 0));
    machine.pass(Span::from_us(200));
    assert!(machine.memory(DESTINATION, data.len() as u64) == data);
    for engine in 0..2 {
        for number in 0..64 {
            let at = place(engine, number / 32) + number % 32 * 64;
            let done = Outcome {
                owned: false,
                bytes: 4096,
                ends: [false; 2],
            };
            assert_eq!(machine.outcome(at), done, "{engine} {number}");
        }
    }
    // The next block is the first block again, which is not ready: the prefetcher polls it, and the engine is not idle.
    assert_eq!(machine.get(M2S + PREFETCHER + 0x10), MEMORY + place(0, 0));
    assert_eq!(machine.get32(M2S + STATUS) & 6, 4);
    assert_eq!(machine.get32(M2S + 0x40) & 3, 2);
    machine.stop(M2S);
    machine.stop(S2M);
    machine.rests();
}

#[test]
fn a_block_that_software_hands_over_later_is_found_by_looking() {
    let mut machine = looped();
    machine.fill(SOURCE, &noise(4096, 5));
    machine.block(BLOCKS, BLOCKS, &[send(0, 4096, 0)], false);
    machine.block(
        BLOCKS + 0x1000,
        BLOCKS,
        &[receive(0, 4096, INTERRUPT)],
        true,
    );
    machine.fetch(M2S, BLOCKS);
    machine.fetch(S2M, BLOCKS + 0x1000);
    machine.pass(Span::from_us(50));
    assert!(machine.outcome(BLOCKS + 0x1000).owned);
    assert_eq!(machine.interrupts(), 0);
    machine.fill(BLOCKS + 2, &[1]);
    machine.pass(Span::from_us(10));
    assert!(!machine.outcome(BLOCKS).owned && !machine.outcome(BLOCKS + 0x1000).owned);
    assert!(machine.memory(DESTINATION, 4096) == noise(4096, 5));
    // The interrupt arrived once, after the write-back.
    assert_eq!(machine.interrupts(), 1);
    assert_eq!(machine.get32(S2M + STATUS) & 1, 1);
    machine.set32(S2M + STATUS, 1);
    assert_eq!(machine.get32(S2M + STATUS) & 1, 0);
    machine.stop(M2S);
    machine.stop(S2M);
    machine.rests();
}

#[test]
fn a_block_that_is_in_progress_is_not_fetched_again() {
    let mut machine = looped();
    machine.fill(SOURCE, &noise(4 * 4096, 6));
    let block = [0, 1, 2, 3].map(|number| send(number << 12, 4096, 0));
    // The block is its own next block, and no engine receives the data.
    machine.block(BLOCKS, BLOCKS, &block, true);
    machine.fetch(M2S, BLOCKS);
    machine.pass(Span::from_us(50));
    assert_eq!(machine.get32(M2S + STATUS) >> 16, 4);
    let parts = [0, 1, 2, 3].map(|number| receive(number << 12, 4096, 0));
    machine.block(BLOCKS + 0x1000, BLOCKS + 0x1000, &parts, true);
    machine.fetch(S2M, BLOCKS + 0x1000);
    machine.pass(Span::from_us(50));
    assert_eq!(machine.get32(M2S + STATUS) >> 16, 0);
    assert!(machine.memory(DESTINATION, 4 * 4096) == noise(4 * 4096, 6));
    machine.stop(M2S);
    machine.stop(S2M);
    machine.rests();
}

#[test]
fn a_packet_that_ends_early_is_written_back_so() {
    let mut machine = looped();
    machine.fill(SOURCE, &noise(5000, 7));
    machine.block(BLOCKS, BLOCKS, &[send(0, 5000, GENERATE_END)], true);
    let parts = [0, 4096].map(|offset| receive(offset, 4096, END_ON_END));
    machine.block(BLOCKS + 0x1000, BLOCKS + 0x1000, &parts, true);
    machine.fetch(S2M, BLOCKS + 0x1000);
    machine.fetch(M2S, BLOCKS);
    machine.pass(Span::from_us(30));
    let outcomes = [0, 64].map(|at| machine.outcome(BLOCKS + 0x1000 + at));
    let expected = [(4096, [false, false]), (904, [true, true])];
    for (found, (bytes, ends)) in outcomes.into_iter().zip(expected) {
        let owned = false;
        assert_eq!(found, Outcome { owned, bytes, ends });
    }
    assert!(machine.memory(DESTINATION, 5000) == noise(5000, 7));
    machine.stop(M2S);
    machine.stop(S2M);
    machine.rests();
}

/// The data of two packets of `lens` bytes after a decimator with this factor. The descriptors of the packets have the control words `controls`.
fn decimated(factor: u32, lens: [u32; 2], controls: [u32; 2], received: u32) -> Vec<u8> {
    let mut machine = looped();
    machine.set(DECIMATOR, u64::from(factor) << 16);
    machine.set(DECIMATOR, u64::from(factor) << 16 | 1);
    machine.fill(SOURCE, &noise(0x2000, 8));
    let [first, second] = lens;
    let parts = [
        send(0, first, controls[0]),
        send(first.into(), second, controls[1]),
    ];
    machine.block(BLOCKS, BLOCKS + 0x2000, &parts, true);
    machine.block(
        BLOCKS + 0x1000,
        BLOCKS + 0x2000,
        &[receive(0, received, 0)],
        true,
    );
    machine.fetch(S2M, BLOCKS + 0x1000);
    machine.fetch(M2S, BLOCKS);
    machine.pass(Span::from_us(30));
    let done = [BLOCKS, BLOCKS + 64, BLOCKS + 0x1000].map(|at| !machine.outcome(at).owned);
    assert_eq!(done, [true; 3]);
    machine.stop(M2S);
    machine.stop(S2M);
    machine.rests();
    machine.memory(DESTINATION, received.into())
}

/// The beats of the source with these numbers.
fn beats(numbers: impl IntoIterator<Item = usize>) -> Vec<u8> {
    let data = noise(0x2000, 8);
    let beat = |number: usize| data[64 * number..64 * (number + 1)].to_vec();
    numbers.into_iter().flat_map(beat).collect()
}

#[test]
fn a_decimator_forwards_one_beat_and_removes_its_factor_of_beats() {
    // The packets have 48 beats. The last two beats are removed after the write master has received all data that it waits for.
    let data = decimated(2, [1024, 2048], [0, 0], 1024);
    assert!(data == beats((0..48).step_by(3)));
}

#[test]
fn a_decimator_forwards_the_beats_that_start_and_end_a_packet() {
    let bounds = GENERATE_START | GENERATE_END;
    let data = decimated(3, [640, 640], [bounds, bounds], 8 * 64);
    // Beats 0, 4, 8, 12 and 16 are forwarded because of the factor; beats 9, 10 and 19 are forwarded because they start or end packets.
    assert!(data == beats([0, 4, 8, 9, 10, 12, 16, 19]));
}

#[test]
fn descriptors_where_no_memory_is_are_not_looked_for_again() {
    let mut machine = looped();
    machine.fetch(M2S, 1 << 40);
    machine.pass(Span::from_us(100));
    assert_eq!(machine.get32(M2S + PREFETCHER) & 1, 0);
    assert_eq!(machine.get32(M2S + STATUS) & 6, 6);
    machine.rests();
}

#[test]
fn the_memory_dma_takes_its_descriptors_from_host_memory_too() {
    const BLOCK: u64 = 0x2_0000;
    let mut machine = machine("afu = \"dma_afu\"");
    machine.fill(SOURCE, &noise(8192, 9));
    let host = |at: u64| HOST_MEMORY | (MEMORY + at);
    let copies = [
        (host(SOURCE), 0x3000, 8192),
        (0x3000, host(DESTINATION), 8192),
    ];
    let copies = copies.map(|(from, to, len)| Descriptor {
        from,
        to,
        len,
        control: 0,
    });
    let second = BLOCKS + 0x1000;
    machine.block(BLOCKS, second, &copies[..1], true);
    machine.block(second, BLOCKS, &copies[1..], false);
    machine.set(BLOCK + START, host(BLOCKS));
    machine.set(BLOCK + PREFETCHER, CONTROL);
    machine.pass(Span::from_us(20));
    assert!(!machine.outcome(BLOCKS).owned);
    // The card's reads do not wait for earlier writes to its memory, so software waits before it makes the next descriptor ready.
    machine.fill(second + 2, &[1]);
    machine.pass(Span::from_us(20));
    assert!(machine.memory(DESTINATION, 8192) == noise(8192, 9));
    assert!(!machine.outcome(second).owned);
    assert_eq!(machine.outcome(second).bytes, 8192);
    machine.stop(BLOCK);
    machine.rests();
}
