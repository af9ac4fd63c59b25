//! The host exercisers: their atomic requests.

use super::*;

const STATUS: u64 = 0x10_0000;
const SOURCE: u64 = 0x20_0000;
const DESTINATION: u64 = 0x60_0000;

/// Bit 0 enables the function; the others are the width and the function.
const ADD_8: u32 = 1 | 2;
const SWAP_4: u32 = 1 | 1 << 2;
const COMPARE_8: u32 = 1 | 2 | 2 << 2;

/// Runs a test of `lines` lines with this test type and atomic field, and returns the words of its status line.
fn run(machine: &mut Machine, lines: u32, mode: u32, atomic: u32) -> Vec<u32> {
    machine.set(0x110, (MEMORY + STATUS) >> 6);
    machine.set32(0x138, 0);
    machine.set32(0x138, 1);
    machine.set(0x120, (MEMORY + SOURCE) >> 6);
    machine.set(0x128, (MEMORY + DESTINATION) >> 6);
    machine.set(0x130, u64::from(lines - 1));
    machine.set(0x140, u64::from(mode << 2 | atomic << 7));
    machine.set32(0x138, 3);
    machine.pass(Span::from_us(100));
    let line = machine.memory(STATUS, 64);
    let (words, _) = line.as_chunks::<4>();
    words.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

fn value(bytes: &[u8]) -> u64 {
    let mut value = [0; 8];
    value[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(value)
}

#[test]
fn a_copy_with_an_atomic_function_changes_the_source_and_copies_the_old_values() {
    const LINES: u32 = 32;
    for (atomic, width) in [(ADD_8, 8), (SWAP_4, 4), (COMPARE_8, 8)] {
        let mut machine = machine("afu = \"he_lb\"");
        let mut data = noise(64 * LINES as usize, 7);
        // Every second line has the value that a compare and swap expects.
        for line in (0..LINES as usize).step_by(2) {
            data[64 * line..][..8].copy_from_slice(&(line as u64).to_le_bytes());
        }
        machine.fill(SOURCE, &data);
        let status = run(&mut machine, LINES, 0, atomic);
        assert_eq!((status[0] & 1, status[1]), (1, 0));
        assert_eq!(status[4..6], [LINES, LINES]);
        let (source, copy) = (
            machine.memory(SOURCE, 64 * u64::from(LINES)),
            machine.memory(DESTINATION, 64 * u64::from(LINES)),
        );
        let mut changed = 0;
        for line in 0..LINES as usize {
            let at = 64 * line;
            let (old, new) = (value(&data[at..][..width]), value(&source[at..][..width]));
            assert_eq!(value(&copy[at..][..width]), old, "line {line}");
            assert_eq!(source[at + width..at + 64], data[at + width..at + 64]);
            let expected = match atomic {
                ADD_8 => old.wrapping_add(line as u64),
                SWAP_4 => line as u64,
                _ if old == line as u64 => !old,
                _ => old,
            };
            assert_eq!(new, expected, "line {line}");
            changed += usize::from(new != old);
        }
        assert!(changed >= 15, "{changed}");
        machine.rests();
    }
}

#[test]
fn every_second_read_of_a_read_test_is_atomic() {
    let mut machine = machine("afu = \"he_lb\"");
    machine.fill(SOURCE, &[0; 64 * 16]);
    let status = run(&mut machine, 16, 1, ADD_8);
    assert_eq!(status[..2], [1, 0]);
    assert_eq!(status[4..6], [16, 0]);
    let added: Vec<u64> = (0..16)
        .map(|line| value(&machine.memory(SOURCE + 64 * line, 8)))
        .collect();
    let expected: Vec<u64> = (0..16)
        .map(|line| if line % 2 == 0 { line } else { 0 })
        .collect();
    assert_eq!(added, expected);
    machine.rests();
}

#[test]
fn the_register_says_whether_atomic_requests_are_enabled() {
    let mut machine = machine("afu = \"he_lb\"");
    assert_eq!(machine.get(0x180), (2 << 16) + 200);
}

#[test]
fn functions_that_are_not_modelled_are_noted() {
    for (mode, atomic, interleave, what) in [
        (
            0,
            1 | 3 << 2,
            0,
            "this atomic function of the host exerciser",
        ),
        (3, 0, 1, "other orders of reads and writes"),
    ] {
        let mut machine = machine("afu = \"he_lb\"");
        let status = run(&mut machine, 4, mode, atomic | interleave << 13);
        assert_eq!(status[0], 1, "the test ends");
        let card = machine.simulation.card("card").unwrap();
        assert_eq!(card.missing(), [what]);
    }
}
