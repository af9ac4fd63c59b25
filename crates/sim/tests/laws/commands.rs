//! Device accesses that software starts by device registers: by a program of a scenario, or by register writes of the test.

use device::commands::registers::{
    ADDRESS, BAD_WRITE, BUSY, CARD, COMMAND, DONE, DURATION, FAILED, INVALID, LENGTH, OVERRUN,
    STATUS, command,
};
use proptest::prelude::*;
use sim::{AccessError, Simulation};
use transaction::AccessKind;

use crate::cases::cases;
use crate::fixture::*;

/// A scenario with a host with coherent memory, an engine `e` and an accelerator `a`.
fn machine(host: &str, more: &str) -> String {
    format!(
        r#"{HOST}
coherent = true
{host}
[links]
generation = 3
lanes = 8
[devices.e]
model = "block-dma"
upstream = "h0"
[devices.a]
model = "accelerator"
upstream = "h0"
[buffers.b]
host = "h0"
size = "64 KiB"
{more}"#
    )
}

fn driven(by: &str, kind: &str, how: &str) -> String {
    format!(
        "[[accesses]]\nby = \"{by}\"\nbuffer = \"b\"\nkind = \"{kind}\"\nsize = \"256 B\"\ncount = 20\n{how}\n"
    )
}

const POLLED: &str = "driven = \"program\"";
const INTERRUPTED: &str = "driven = \"program\"\ncompletion = \"interrupt\"";

/// The mean latency of an access, and the mean time between the starts of two accesses, in nanoseconds.
fn times(text: &str) -> (f64, f64) {
    let result = run(text);
    let access = &result.accesses[0];
    assert!(access.completed && access.intact, "{access:?}");
    assert_eq!(access.count, 20);
    let latency = access.latency_ns.as_ref().expect("accesses have ended");
    let rate = access.bytes_per_second.expect("accesses have ended");
    (latency.mean, 256.0 / rate * 1e9)
}

#[test]
fn an_access_takes_the_device_the_same_time_whoever_starts_it() {
    for (by, kind) in [("e", "read"), ("e", "write"), ("a", "read"), ("a", "write")] {
        let alone = "interval = \"10 us\"\norder = \"sequential\"";
        let (own, _) = times(&machine("", &driven(by, kind, alone)));
        for how in [POLLED, INTERRUPTED] {
            let how = format!("{how}\ninterval = \"10 us\"\norder = \"sequential\"");
            let (started, _) = times(&machine("", &driven(by, kind, &how)));
            assert!(
                (own - started).abs() < 1.0,
                "{by} {kind}: {own} and {started}"
            );
        }
    }
}

#[test]
fn a_call_takes_longer_by_each_step_of_its_program() {
    let interrupted =
        |host: &str, by: &str| times(&machine(host, &driven(by, "read", INTERRUPTED))).1;
    for (by, writes) in [("e", 4.0), ("a", 3.0)] {
        let usual = interrupted("", by);
        for (host, more) in [
            ("system_call = \"1300 ns\"", 1000.0),
            ("interrupt_latency = \"4 us\"", 1000.0),
            ("register_write = \"200 ns\"", 100.0 * writes),
        ] {
            let slower = interrupted(host, by);
            assert!(
                (slower - usual - more).abs() < 1.0,
                "{by}, {host}: {usual}, {slower}"
            );
        }
        let polled = times(&machine("", &driven(by, "read", POLLED)));
        assert!(polled.1 < usual, "{by}: a poll is sooner than an interrupt");
        assert!(polled.1 > polled.0 + 300.0 + 100.0 * writes);
    }
}

#[test]
fn interrupts_of_every_kind_end_a_wait() {
    let of = |host: &str, kind: &str| {
        let text = machine(host, &driven("e", "read", INTERRUPTED));
        times(&text.replace("[devices.e]", &format!("[devices.e]\n{kind}"))).1
    };
    let usual = of("", "");
    let extended = of("", "msix_vectors = 1");
    assert!((usual - extended).abs() < 1.0, "{usual} and {extended}");
    let masked = of("interrupt_masking = true", "msix_vectors = 1");
    assert!(masked > extended + 200.0, "two stores and a read: {masked}");
}

#[test]
fn programs_of_one_device_take_turns() {
    let two = driven("e", "write", POLLED) + &driven("e", "write", INTERRUPTED);
    let result = run(&machine("", &two));
    assert_eq!(result.accesses.len(), 2);
    for access in &result.accesses {
        assert!(
            access.completed && access.intact && access.count == 20,
            "{access:?}"
        );
    }
}

/// A simulation with the addresses that software uses: the first addresses of the registers of a device and of the buffer.
struct Machine {
    simulation: Simulation,
    registers: u64,
    bar: u64,
    buffer: u64,
}

impl Machine {
    fn new(device: &str) -> Self {
        let simulation = simulation(&machine("", ""));
        let plan = simulation.plan();
        let node = plan.nodes.iter().find(|node| node.name == device);
        let bars = node.expect("there is such a device").bars;
        Machine {
            registers: bars[2].expect("it has registers").base,
            bar: bars[0].expect("it has memory").base,
            buffer: plan.buffers[0].address,
            simulation,
        }
    }

    fn set(&mut self, register: u64, bytes: &[u8]) {
        let at = self.registers + register;
        let done = self.simulation.write("h0", at, bytes.to_vec());
        done.expect("a host can write");
    }

    fn get(&mut self, register: u64) -> u32 {
        let at = self.registers + register;
        let bytes = self.simulation.read_back("h0", at, 4, &mut || true);
        let bytes = bytes.expect("a register answers");
        u32::from_le_bytes(bytes.try_into().expect("four bytes"))
    }

    fn command(&mut self, kind: AccessKind, address: u64, card: u64, len: u64) {
        self.set(ADDRESS, &address.to_le_bytes());
        self.set(CARD, &card.to_le_bytes());
        self.set(LENGTH, &len.to_le_bytes());
        self.set(COMMAND, &command(kind, false, 0).to_le_bytes());
    }

    /// Waits until no access is in progress, and returns the status.
    fn ended(&mut self) -> u32 {
        for _ in 0..100_000 {
            let status = self.get(STATUS);
            if status & BUSY == 0 {
                return status;
            }
        }
        panic!("an access does not end")
    }

    fn clear(&mut self) {
        self.set(STATUS, &u32::MAX.to_le_bytes());
        assert_eq!(self.get(STATUS) & !DONE, 0);
    }
}

#[test]
fn software_moves_bytes_between_the_memories_of_host_and_card() {
    let mut machine = Machine::new("e");
    let bytes: Vec<u8> = (0..600_u32).map(|n| (n * 7) as u8).collect();
    let (buffer, bar) = (machine.buffer, machine.bar);
    machine
        .simulation
        .fill("h0", buffer + 3, &bytes)
        .expect("a buffer");
    machine.command(AccessKind::Read, buffer + 3, 0x100, 600);
    assert_eq!(machine.ended(), DONE);
    let cycles = machine.get(DURATION);
    assert!(
        cycles > 50,
        "a read of 600 bytes takes more than {cycles} cycles"
    );
    assert_eq!(
        machine.simulation.memory("e", bar + 0x100, 600).as_ref(),
        Ok(&bytes)
    );
    machine.command(AccessKind::Write, buffer + 0x1ffe, 0x100, 600);
    assert_eq!(machine.ended(), DONE);
    // A write ends when it is sent. The completion of a later read does not pass the write, so the write has arrived when the read ends.
    machine.command(AccessKind::Read, buffer, 0x4000, 8);
    assert_eq!(machine.ended(), DONE);
    assert_eq!(
        machine
            .simulation
            .memory("h0", buffer + 0x1ffe, 600)
            .as_ref(),
        Ok(&bytes)
    );
}

#[test]
fn what_software_does_wrong_is_told_by_a_bit_each() {
    let read = AccessKind::Read;
    let mut machine = Machine::new("e");
    let buffer = machine.buffer;
    for (kind, address, card, len) in [
        (read, buffer, 0, 0),
        (read, buffer, 0, (1 << 30) + 1),
        (read, u64::MAX - 7, 0, 8),
        (read, buffer, 64 * 1024 - 7, 8),
        (read, buffer, u64::MAX, 8),
        (
            AccessKind::Atomic(transaction::AtomicAccess::Swap),
            buffer,
            0,
            16,
        ),
        (
            AccessKind::Atomic(transaction::AtomicAccess::Swap),
            buffer + 4,
            0,
            8,
        ),
    ] {
        machine.command(kind, address, card, len);
        assert_eq!(
            machine.get(STATUS),
            INVALID,
            "{kind:?} {address:#x} {card:#x} {len}"
        );
        machine.clear();
    }
    machine.set(COMMAND, &[9, 0, 0, 0]);
    assert_eq!(machine.get(STATUS), INVALID, "there is no operation 9");
    machine.clear();
    for (at, bytes) in [
        (ADDRESS, 2),
        (ADDRESS + 2, 4),
        (COMMAND, 8),
        (STATUS, 1),
        (0x800, 4),
    ] {
        machine.set(at, &vec![0; bytes]);
        assert_eq!(machine.get(STATUS), BAD_WRITE, "{bytes} bytes at {at:#x}");
        machine.clear();
    }
    // The second access is started while the first access is in progress.
    machine.command(read, buffer, 0, 4096);
    machine.set(COMMAND, &command(read, false, 0).to_le_bytes());
    assert_eq!(machine.get(STATUS), BUSY | OVERRUN);
    assert_eq!(machine.ended(), DONE | OVERRUN);
    machine.clear();
    // The host has no memory at this address.
    machine.command(read, 1 << 50, 0, 64);
    assert_eq!(machine.ended(), DONE | FAILED);
    machine.command(read, buffer, 0, 64);
    assert_eq!(machine.ended(), DONE, "a start clears FAILED");
}

#[test]
fn an_accelerator_has_no_register_for_memory_of_its_own() {
    let mut machine = Machine::new("a");
    let buffer = machine.buffer;
    machine.command(AccessKind::Write, buffer, 0, 64);
    assert_eq!(machine.ended(), DONE | BAD_WRITE);
    machine.clear();
    machine.set(COMMAND, &command(AccessKind::Read, false, 0).to_le_bytes());
    assert_eq!(machine.ended(), DONE);
    assert!(machine.get(DURATION) > 0);
}

#[test]
fn a_disabled_bar_has_no_registers() {
    let text = machine("", "").replace("[devices.e]", "[devices.e]\nmemory_enable = false");
    let mut simulation = simulation(&text);
    let node = simulation.plan().nodes.iter().find(|node| node.name == "e");
    let at = node.and_then(|node| node.bars[2]).expect("registers").base;
    let read = simulation.read_back("h0", at, 4, &mut || true);
    assert_eq!(read, Err(AccessError::UnsupportedRequest(at)));
}

proptest! {
    #![proptest_config(cases(40))]

    /// After all register writes, every access ends, and the device accepts another access.
    #[test]
    fn no_write_makes_a_device_hang(
        device in prop::sample::select(vec!["e", "a"]),
        writes in prop::collection::vec((0..0x30_u64, prop::collection::vec(any::<u8>(), 1..9)), 0..12),
        word in 0..32_u32,
        len in 0..10_000_u64,
    ) {
        let mut machine = Machine::new(device);
        let buffer = machine.buffer;
        for (at, bytes) in writes {
            machine.set(at, &bytes);
        }
        machine.ended();
        machine.set(ADDRESS, &buffer.to_le_bytes());
        machine.set(LENGTH, &len.to_le_bytes());
        machine.set(COMMAND, &word.to_le_bytes());
        machine.ended();
        machine.clear();
        machine.command(AccessKind::Write, buffer, 0, 100);
        prop_assert_eq!(machine.ended() & !BAD_WRITE, DONE);
    }
}
