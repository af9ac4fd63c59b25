//! The native loopback: it copies, reads and writes, and says so.

use super::*;

const STATUS_MEMORY: u64 = 0x10_0000;
const SOURCE: u64 = 0x20_0000;
const DESTINATION: u64 = 0x60_0000;

/// Has it work on so many lines, configured so.
fn start(machine: &mut Machine, lines: u32, configuration: u32) {
    machine.set(0x110, MEMORY + STATUS_MEMORY);
    machine.set32(0x138, 0);
    machine.set32(0x138, 1);
    machine.set(0x120, (MEMORY + SOURCE) >> 6);
    machine.set(0x128, (MEMORY + DESTINATION) >> 6);
    machine.set32(0x130, lines);
    machine.set32(0x140, configuration);
    machine.set32(0x138, 3);
}

/// The words of the status line.
fn status(machine: &Machine) -> Vec<u32> {
    let line = machine.memory(STATUS_MEMORY + 0x40, 64);
    let (words, _) = line.as_chunks::<4>();
    words.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

#[test]
fn a_mebibyte_is_copied_and_the_status_line_says_so() {
    for lines_of_request in [0, 1, 3] {
        let mut machine = machine("");
        let data = noise(1 << 20, 1);
        machine.fill(SOURCE, &data);
        start(&mut machine, 1 << 14, 0x42000 | lines_of_request << 5);
        while status(&machine)[0] == 0 {
            machine.pass(Span::from_us(1));
        }
        // The status line came last.
        assert!(machine.memory(DESTINATION, 1 << 20) == data);
        let status = status(&machine);
        assert_eq!((status[0], status[1]), (1, 0));
        assert_eq!((status[4], status[5]), (1 << 14, 1 << 14));
        machine.set32(0x138, 7);
        machine.pass(Span::from_us(2));
        assert_eq!(machine.get(0x168), 0, "nothing is pending");
        machine.rests();
    }
}

#[test]
fn more_lines_a_request_are_faster() {
    let cycles = |lines_of_request: u32| {
        let mut machine = machine("");
        start(&mut machine, 1 << 12, lines_of_request << 5);
        machine.pass(Span::from_us(400));
        let status = status(&machine);
        assert_eq!(status[0], 1);
        status[2]
    };
    assert!(cycles(3) < cycles(1) && cycles(1) < cycles(0));
}

#[test]
fn mode_3_reads_writes_or_does_both() {
    for (mode, reads, writes) in [(1, 1024, 0), (2, 0, 1024), (3, 1024, 1024)] {
        let mut machine = machine("afu = \"nlb_mode_3\"");
        start(&mut machine, 1024, mode << 2 | 3 << 5);
        machine.pass(Span::from_us(100));
        let status = status(&machine);
        assert_eq!(status[..2], [1, 0]);
        assert_eq!(status[4..6], [reads, writes]);
        assert_eq!(
            machine.get(0x160),
            u64::from(reads) << 32 | u64::from(writes)
        );
        machine.rests();
    }
}

#[test]
fn a_continuous_test_goes_on_until_it_is_told_to_complete() {
    let mut machine = machine("afu = \"nlb_mode_3\"");
    start(&mut machine, 64, 1 << 2 | 3 << 5 | 2);
    machine.pass(Span::from_us(50));
    assert_eq!(status(&machine)[0], 0);
    machine.set32(0x138, 7);
    machine.pass(Span::from_us(10));
    let status = status(&machine);
    assert_eq!(status[0], 1);
    // 50 us at some 7 GB/s are more than 5000 lines.
    assert!(status[4] > 5000, "{status:?}");
    machine.rests();
}

#[test]
fn a_reset_of_the_port_stops_all_and_clears_what_was_written() {
    let mut machine = machine("");
    start(&mut machine, 1 << 14, 3 << 5);
    machine.pass(Span::from_us(5));
    assert_ne!(machine.get(0x160), 0);
    machine.store(2, 0x38, &1_u64.to_le_bytes());
    machine.pass(Span::from_us(5));
    assert_eq!(machine.load(2, 0x38, 8), 0x11, "it is acknowledged");
    assert_eq!(machine.get(0x130), u64::MAX);
    machine.set(0x130, 5);
    assert_eq!(machine.load(2, 0x1010, 8), 1 << 9 | 1 << 10);
    machine.store(2, 0x1010, &u64::MAX.to_le_bytes());
    assert_eq!(machine.load(2, 0x1010, 8), 0);
    machine.store(2, 0x38, &0_u64.to_le_bytes());
    assert_eq!(machine.get(0x130), 0);
    assert_eq!(machine.get(0x160), 0);
    machine.pass(Span::from_us(100));
    assert_eq!(status(&machine)[0], 0);
    // And then it works.
    let data = noise(4096, 2);
    machine.fill(SOURCE, &data);
    start(&mut machine, 64, 0);
    machine.pass(Span::from_us(20));
    assert!(machine.memory(DESTINATION, 4096) == data);
    machine.rests();
}

#[test]
fn a_test_that_is_stopped_leaves_nothing_to_the_next() {
    let mut machine = machine("");
    machine.fill(SOURCE, &noise(1 << 20, 3));
    start(&mut machine, 1 << 14, 3 << 5);
    machine.pass(Span::from_us(3));
    let data = noise(8192, 4);
    machine.fill(SOURCE, &data);
    start(&mut machine, 128, 3 << 5);
    machine.pass(Span::from_us(30));
    assert!(machine.memory(DESTINATION, 8192) == data);
    assert_eq!(status(&machine)[4..6], [128, 128]);
    machine.rests();
}
