//! The native loopback: it copies, reads and writes memory, and reports the result in a status line.

use kernel::Frequency;

use super::*;

const STATUS_MEMORY: u64 = 0x10_0000;
const SOURCE: u64 = 0x20_0000;
const DESTINATION: u64 = 0x60_0000;

/// Starts a test of `lines` lines with this configuration.
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
        // The status line is written last, so all data has arrived.
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
    // In 50 us at about 7 GB/s, more than 5000 lines are read.
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
    // After the reset, the unit works again.
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

#[test]
fn a_single_line_takes_at_least_a_cycle_of_the_unit() {
    for (afu, mode) in [("nlb_mode_0", 0), ("nlb_mode_3", 1), ("nlb_mode_3", 2)] {
        let mut machine = machine(&format!("afu = \"{afu}\""));
        start(&mut machine, 1, mode << 2);
        machine.pass(Span::from_us(10));
        let status = status(&machine);
        assert_eq!(status[0], 1);
        assert!(status[2] >= 1, "{afu}: {status:?}");
        machine.rests();
    }
}

/// The number of cycles of a test of 1024 lines, with a unit clock of `megahertz` MHz.
fn cycles_at(megahertz: u64, mode: u32) -> u64 {
    let mut machine = machine("afu = \"nlb_mode_3\"");
    let clock = Frequency::mhz(megahertz);
    machine.simulation.slot("card", 0).unwrap().clock = clock;
    start(&mut machine, 1024, mode << 2 | 3 << 5);
    machine.pass(Span::from_us(1000));
    let status = status(&machine);
    assert_eq!(status[0], 1);
    assert_eq!(machine.get(0x170) >> 32, megahertz);
    u64::from(status[2])
}

#[test]
fn a_slow_clock_limits_the_rate_to_a_line_a_cycle() {
    for mode in [1, 2, 3] {
        // At 25 MHz, 64 bytes a cycle are 1.6 GB/s, far below the rate of the link, so the number of cycles is the number of lines and a latency.
        let slow = cycles_at(25, mode);
        assert!((1024..1100).contains(&slow), "mode {mode}: {slow}");
        // At 800 MHz the link is the limit: twice the cycles are needed as at 400 MHz.
        let ratio = cycles_at(800, mode) as f64 / cycles_at(400, mode) as f64;
        assert!((1.95..2.05).contains(&ratio), "mode {mode}: {ratio}");
    }
}

#[test]
fn a_stride_leaves_lines_out_after_each_request() {
    let mut machine = machine("afu = \"nlb_mode_3\"");
    machine.set32(0x178, 2);
    // Requests have 2 lines and the stride leaves out 2 lines, so 2 of 4 lines are written.
    start(&mut machine, 8, 2 << 2 | 1 << 5);
    machine.pass(Span::from_us(20));
    assert_eq!(status(&machine)[5], 8);
    let written: Vec<u32> = (0..16)
        .map(|line| machine.memory(DESTINATION + 64 * line + 4, 4))
        .map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    let expected = [0, 1, 0, 0, 2, 3, 0, 0, 4, 5, 0, 0, 6, 7, 0, 0];
    assert_eq!(written, expected);
}

#[test]
fn a_mode_that_the_design_does_not_have_fails_at_once_and_is_noted() {
    for (afu, mode) in [("nlb_mode_0", 1), ("nlb_mode_3", 5), ("nlb_mode_7", 0)] {
        let mut machine = machine(&format!("afu = \"{afu}\""));
        start(&mut machine, 16, mode << 2);
        machine.pass(Span::from_us(10));
        let status = status(&machine);
        assert_eq!((status[0], status[1]), (1, 1), "{afu}");
        let card = machine.simulation.card("card").unwrap();
        assert_eq!(
            card.missing(),
            ["this mode in this design of the native loopback"]
        );
        machine.rests();
    }
}

#[test]
fn mode_7_exchanges_lines_with_software() {
    const LINES: u32 = 5;
    for (by_register, spoilt) in [(false, None), (true, None), (false, Some(3))] {
        let mut machine = machine("afu = \"nlb_mode_7\"");
        start(&mut machine, LINES, 7 << 2 | u32::from(by_register) << 26);
        machine.pass(Span::from_us(10));
        let end = u64::from(LINES) * 64;
        assert_eq!(machine.memory(DESTINATION + end, 8), [0xff; 8]);
        assert_eq!(status(&machine)[0], 0, "the unit waits for software");
        let mut data = machine.memory(DESTINATION, end);
        assert_eq!((data[64], data[68]), (1, 1));
        if let Some(line) = spoilt {
            data[64 * line] ^= 0x80;
        }
        machine.fill(SOURCE, &data);
        if by_register {
            machine.set(0x158, 1);
        } else {
            machine.fill(SOURCE + end, &[0xff; 12]);
        }
        machine.pass(Span::from_us(10));
        let status = status(&machine);
        assert_eq!(status[0], 1);
        assert_eq!(status[1], if spoilt.is_some() { 8 } else { 0 });
        assert_eq!(status[5], LINES + 1);
        if let Some(line) = spoilt {
            assert_eq!(status[8..10], [line as u32 ^ 0x80, line as u32]);
        }
        machine.rests();
    }
}

#[test]
fn an_exchange_ends_with_an_error_when_a_read_fails() {
    for by_register in [false, true] {
        let mut machine = machine("afu = \"nlb_mode_7\"");
        // The host has no memory at the address 0x1000, so the poll fails, or the read of the first line fails.
        machine.set(0x110, MEMORY + STATUS_MEMORY);
        machine.set32(0x138, 0);
        machine.set32(0x138, 1);
        machine.set(0x120, 0x1000 >> 6);
        machine.set(0x128, (MEMORY + DESTINATION) >> 6);
        machine.set32(0x130, 5);
        machine.set32(0x140, 7 << 2 | u32::from(by_register) << 26);
        machine.set32(0x138, 3);
        machine.pass(Span::from_us(10));
        if by_register {
            machine.set(0x158, 1);
            machine.pass(Span::from_us(10));
        }
        let status = status(&machine);
        assert_eq!(status[0], 1);
        assert_ne!(status[1], 0);
        assert_eq!((status[4], status[5]), (0, 6));
        machine.rests();
    }
}

#[test]
fn an_exchange_ends_when_software_stops_it() {
    let mut machine = machine("afu = \"nlb_mode_7\"");
    start(&mut machine, 4, 7 << 2);
    machine.pass(Span::from_us(10));
    machine.set32(0x138, 7);
    machine.pass(Span::from_us(10));
    assert_eq!(status(&machine)[0], 1);
    machine.rests();
}
