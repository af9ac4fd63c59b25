//! NVM Express drives: registers and queues work as software expects.

use device::nvme::entries::{
    COMPLETION, CompletionEntry, NAMESPACE, Operation, SUBMISSION, Status, SubmissionEntry,
};
use device::nvme::registers::{
    ACQ, AQA, ASQ, CAP, CC, CSTS, ENABLED, FATAL, HEAD, READY, TAIL, VS,
};
use kernel::Span;
use sim::Simulation;

use crate::fixture::*;

/// A host, and a drive.
fn machine(drive: &str, flows: &str) -> String {
    format!("{HOST}[devices.d]\nmodel = \"nvme\"\nupstream = \"h0\"\n{drive}\n{flows}")
}

/// A drive without flows, and the program of a test: registers from outside, entries in memory.
struct Bench {
    simulation: Simulation,
    registers: u64,
    tail: u32,
}

const QUEUE: u64 = 0x10_0000;
const COMPLETIONS: u64 = 0x20_0000;
const DATA: u64 = 0x30_0000;
const ENTRIES: u32 = 4;

impl Bench {
    fn new(drive: &str) -> Self {
        let idle = "[[flows]]\nfrom = \"h0\"\nto = \"d\"\ndirection = \"read\"\nsize = \"4 B\"";
        let simulation = simulation(&machine(drive, idle));
        let mut nodes = simulation.plan().nodes.iter();
        let drive = nodes.find(|node| node.name == "d").expect("the drive");
        let registers = drive.bars[0].expect("its registers").base;
        Bench {
            simulation,
            registers,
            tail: 0,
        }
    }

    fn enabled(drive: &str) -> Self {
        let mut bench = Bench::new(drive);
        bench.set(AQA, (ENTRIES - 1) | (ENTRIES - 1) << 16);
        bench.set(ASQ, QUEUE as u32);
        bench.set(ACQ, COMPLETIONS as u32);
        bench.set(CC, ENABLED);
        assert_eq!(bench.register(CSTS), READY);
        bench
    }

    fn set(&mut self, register: u64, value: u32) {
        let (at, bytes) = (self.registers + register, value.to_le_bytes().to_vec());
        let written = self.simulation.write("h0", at, bytes);
        written.expect("a register is written");
    }

    fn register(&mut self, register: u64) -> u32 {
        let at = self.registers + register;
        let bytes = self.simulation.read_back("h0", at, 4, &mut || true);
        let bytes = bytes.expect("a register is read");
        u32::from_le_bytes(bytes.try_into().expect("four bytes"))
    }

    /// Submits a command, and waits for a millisecond.
    fn submit(&mut self, entry: SubmissionEntry) {
        let at = QUEUE + u64::from(self.tail) * SUBMISSION;
        let filled = self.simulation.fill("h0", at, &entry.emit());
        filled.expect("memory of the host");
        self.tail = (self.tail + 1) % ENTRIES;
        self.set(TAIL, self.tail);
        let until = self.simulation.now() + Span::from_us(1000);
        self.simulation.run_until(until, &mut || true);
    }

    fn completion(&self, number: u64) -> CompletionEntry {
        let at = COMPLETIONS + number * COMPLETION;
        let bytes = self.simulation.memory("h0", at, COMPLETION);
        let bytes = bytes.expect("memory of the host");
        CompletionEntry::parse(&bytes.try_into().expect("an entry")).expect("a known status")
    }

    /// The status of a command, the first one after reset.
    fn status(drive: &str, entry: SubmissionEntry) -> Status {
        let mut bench = Bench::enabled(drive);
        bench.submit(entry);
        let completion = bench.completion(0);
        assert_eq!((completion.id, completion.head), (entry.id, 1));
        assert!(completion.phase, "{entry:?} ended");
        completion.status
    }
}

/// A read of the first block.
fn read() -> SubmissionEntry {
    SubmissionEntry {
        opcode: Operation::Read as u8,
        id: 77,
        namespace: NAMESPACE,
        pages: [DATA, 0],
        first_block: 0,
        blocks: 1,
        flow: 0,
        flow_block: 0,
    }
}

#[test]
fn registers_say_what_the_controller_can_do_and_cannot_be_written() {
    let mut bench = Bench::new("queue_entries = 8");
    for (register, value) in [(CAP, 0x0101_0007), (CAP + 4, 0x20), (VS, 0x0001_0400)] {
        bench.set(register, 0xffff_ffff);
        assert_eq!(bench.register(register), value);
    }
    bench.set(CSTS, READY);
    assert_eq!(bench.register(CSTS), 0);
}

#[test]
fn a_flush_and_a_read_end_with_success() {
    assert_eq!(Bench::status("", read()), Status::Success);
    let flush = SubmissionEntry {
        opcode: Operation::Flush as u8,
        ..read()
    };
    assert_eq!(Bench::status("", flush), Status::Success);
}

#[test]
fn a_command_that_cannot_be_obeyed_ends_with_a_status_that_says_why() {
    let cases = [
        (
            SubmissionEntry {
                opcode: 0x7f,
                ..read()
            },
            Status::InvalidOpcode,
        ),
        (
            SubmissionEntry {
                namespace: 2,
                ..read()
            },
            Status::InvalidNamespace,
        ),
        (
            SubmissionEntry {
                first_block: 8,
                ..read()
            },
            Status::OutOfRange,
        ),
        (
            SubmissionEntry {
                pages: [DATA + 1, 0],
                ..read()
            },
            Status::InvalidOffset,
        ),
    ];
    for (entry, status) in cases {
        assert_eq!(Bench::status("capacity = \"4 KiB\"", entry), status);
    }
}

#[test]
fn data_at_an_address_that_nobody_answers_is_a_transfer_error() {
    let entry = SubmissionEntry {
        opcode: Operation::Write as u8,
        pages: [0xdead_beef_0000, 0],
        ..read()
    };
    assert_eq!(Bench::status("", entry), Status::DataTransferError);
}

#[test]
fn queues_at_an_address_that_nobody_answers_are_fatal_until_a_reset() {
    let mut bench = Bench::new("");
    bench.set(AQA, (ENTRIES - 1) | (ENTRIES - 1) << 16);
    bench.set(ASQ + 4, 0xdead);
    bench.set(CC, ENABLED);
    bench.submit(read());
    assert_eq!(bench.register(CSTS), FATAL);
    bench.set(CC, 0);
    assert_eq!(bench.register(CSTS), 0);
}

#[test]
fn a_queue_that_is_too_long_is_fatal() {
    let mut bench = Bench::new("queue_entries = 2");
    bench.set(AQA, 2 | 1 << 16);
    bench.set(CC, ENABLED);
    assert_eq!(bench.register(CSTS), FATAL);
}

#[test]
fn a_reset_forgets_commands_and_begins_the_queues_anew() {
    let mut bench = Bench::enabled("media_read_latency = \"5 ms\"");
    bench.submit(read());
    assert!(!bench.completion(0).phase, "the media is not that fast");
    bench.set(CC, 0);
    bench.set(CC, ENABLED);
    bench.tail = 0;
    let flush = SubmissionEntry {
        opcode: Operation::Flush as u8,
        id: 5,
        ..read()
    };
    bench.submit(flush);
    let completion = bench.completion(0);
    assert_eq!((completion.id, completion.head), (5, 1));
    let until = bench.simulation.now() + Span::from_us(10_000);
    bench.simulation.run_until(until, &mut || true);
    assert!(!bench.completion(1).phase, "the first command is forgotten");
}

#[test]
fn a_full_completion_queue_waits_for_its_head() {
    let mut bench = Bench::enabled("");
    for id in 0..4 {
        bench.submit(SubmissionEntry { id, ..read() });
    }
    let ids = |bench: &Bench| [0, 1, 2].map(|number| bench.completion(number).id);
    assert_eq!(ids(&bench), [0, 1, 2]);
    assert!(!bench.completion(3).phase, "one entry stays empty");
    bench.set(HEAD, 1);
    let until = bench.simulation.now() + Span::from_us(10);
    bench.simulation.run_until(until, &mut || true);
    let last = bench.completion(3);
    assert_eq!((last.id, last.phase), (3, true));
}
