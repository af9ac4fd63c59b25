//! Tests of the controller on a bench. The test takes the place of the software and of the memory of the host.

use peerlane_device::{Asked, Bar, Bench, Description};
use proptest::prelude::*;

use super::*;
use crate::command::{READ, WRITE};
use crate::registers::REGISTERS;

const MEMORY: usize = 1 << 20;
const SUBMISSIONS: [u64; 2] = [0x1000, 0x3000];
const COMPLETIONS: [u64; 2] = [0x2000, 0x4000];
const ENTRIES: u64 = 32;

/// The software and the memory of a host.
struct Host {
    bench: Bench,
    memory: Vec<u8>,
    tails: [u64; 2],
    heads: [u64; 2],
    interrupts: Vec<u16>,
}

impl Host {
    /// A host that has enabled the controller, and has created a pair of I/O queues.
    fn ready() -> Self {
        let parameters = NvmeParameters {
            io_queues: 16,
            ..NvmeParameters::default()
        };
        let description = Description {
            bars: vec![Bar::wide(0, REGISTERS)],
            vectors: 17,
            ..Description::default()
        };
        let model = Nvme::new(&parameters, "nvme");
        let mut host = Host {
            bench: Bench::of(Box::new(model), description),
            memory: vec![0; MEMORY],
            tails: [0; 2],
            heads: [0; 2],
            interrupts: Vec::new(),
        };
        let size = ENTRIES as u32 - 1;
        host.set(0x24, size << 16 | size);
        host.set(0x28, SUBMISSIONS[0] as u32);
        host.set(0x30, COMPLETIONS[0] as u32);
        host.set(0x14, 0x46 << 16 | ENABLE);
        assert_eq!(host.bench.read(0, 0x1c, 4), Ok(vec![0; 4]));
        host.serve();
        assert_eq!(host.bench.read(0, 0x1c, 4), Ok(vec![1, 0, 0, 0]));
        let queue = (size << 16) | 1;
        assert_eq!(
            host.run(0, &entry(5, 0, [COMPLETIONS[1], 0], [queue, 1 << 16 | 3])),
            (0, 0)
        );
        assert_eq!(
            host.run(0, &entry(1, 1, [SUBMISSIONS[1], 0], [queue, 1 << 16 | 1])),
            (1, 0)
        );
        host
    }

    fn set(&mut self, register: u64, value: u32) {
        let written = self.bench.write(0, register, &value.to_le_bytes());
        written.expect("a register");
    }

    /// Answers the requests of the drive until it makes no more requests.
    fn serve(&mut self) {
        while let Some(asked) = self.bench.take().expect("the drive goes on") {
            match asked {
                Asked::Read {
                    tag, address, len, ..
                } => {
                    let end = address.saturating_add(len) as usize;
                    let done = match self.memory.get(address as usize..end) {
                        Some(bytes) => self.bench.complete(tag, bytes),
                        None => self.bench.fail(tag, Failure::Unsupported),
                    };
                    done.expect("the drive goes on");
                }
                Asked::Write { address, bytes, .. } => {
                    let end = address.saturating_add(bytes.len() as u64) as usize;
                    if let Some(place) = self.memory.get_mut(address as usize..end) {
                        place.copy_from_slice(&bytes);
                    }
                }
                Asked::Interrupt { vector, .. } => self.interrupts.push(vector),
                other => panic!("{other:?}"),
            }
        }
    }

    /// Runs a command of the admin queue (`queue` 0) or of the I/O queue. Returns the command identifier and the status of the only new
    /// completion entry.
    fn run(&mut self, queue: usize, entry: &[u8; 64]) -> (u16, u16) {
        let at = (SUBMISSIONS[queue] + self.tails[queue] * SUBMISSION) as usize;
        self.memory[at..at + 64].copy_from_slice(entry);
        self.tails[queue] = (self.tails[queue] + 1) % ENTRIES;
        let count = self.heads[queue];
        self.set(DOORBELLS + 8 * queue as u64, self.tails[queue] as u32);
        self.serve();
        let at = (COMPLETIONS[queue] + count % ENTRIES * 16) as usize;
        let found: [u8; 16] = std::array::from_fn(|byte| self.memory[at + byte]);
        let status = u16::from_le_bytes([found[14], found[15]]);
        let phase = 1 - (count / ENTRIES) as u16 % 2;
        assert_eq!(status & 1, phase, "the command has ended");
        self.heads[queue] += 1;
        self.set(
            DOORBELLS + 8 * queue as u64 + 4,
            (self.heads[queue] % ENTRIES) as u32,
        );
        (
            u16::from_le_bytes([found[12], found[13]]),
            status >> 1 & 0x7ff,
        )
    }
}

fn entry(opcode: u8, id: u16, prp: [u64; 2], words: [u32; 2]) -> [u8; 64] {
    let mut bytes = [0; 64];
    bytes[0] = opcode;
    bytes[2..4].copy_from_slice(&id.to_le_bytes());
    bytes[24..32].copy_from_slice(&prp[0].to_le_bytes());
    bytes[32..40].copy_from_slice(&prp[1].to_le_bytes());
    bytes[40..44].copy_from_slice(&words[0].to_le_bytes());
    bytes[44..48].copy_from_slice(&words[1].to_le_bytes());
    bytes
}

#[test]
fn a_written_block_is_read_and_each_end_has_an_interrupt() {
    let mut host = Host::ready();
    let command = |opcode, address| {
        let mut bytes = entry(opcode, 7, [address, 0], [5, 0]);
        bytes[4] = 1;
        bytes
    };
    host.memory[0x8000..0x8200].fill(0xab);
    assert_eq!(host.run(1, &command(WRITE, 0x8000)), (7, 0));
    assert_eq!(host.run(1, &command(READ, 0x9000)), (7, 0));
    assert_eq!(host.memory[0x9000..0x9200], [0xab; 512]);
    assert_eq!(host.memory[0x9200..0xa000], [0; 3584]);
    assert_eq!(host.interrupts, [0, 0, 1, 1]);
}

#[test]
fn ready_falls_when_the_last_transfer_has_ended_and_the_command_has_no_end() {
    let mut host = Host::ready();
    let mut command = entry(WRITE, 7, [0x8000, 0], [5, 0]);
    command[4] = 1;
    host.set(DOORBELLS + 8, 1);
    let Ok(Some(Asked::Read { tag, .. })) = host.bench.take() else {
        panic!("the drive reads the entry");
    };
    assert_eq!(host.bench.complete(tag, &command), Ok(()));
    let Ok(Some(Asked::Read { tag, address, .. })) = host.bench.take() else {
        panic!("the drive reads the data");
    };
    assert_eq!(address, 0x8000);
    host.set(0x14, 0x46 << 16);
    assert_eq!(host.bench.read(0, 0x1c, 4), Ok(vec![READY as u8, 0, 0, 0]));
    assert_eq!(host.bench.complete(tag, &[0; 512]), Ok(()));
    assert_eq!(host.bench.read(0, 0x1c, 4), Ok(vec![0; 4]));
    assert_eq!(host.bench.take(), Ok(None));
}

proptest! {
    #[test]
    fn no_write_to_registers_makes_the_drive_fail_or_go_on_for_ever(
        writes in prop::collection::vec((0..0x1080_u64, prop::sample::select(vec![1_usize, 2, 4, 8]), any::<u64>()), 1..40)
    ) {
        let mut host = Host::ready();
        for (offset, len, value) in writes {
            let value = value.to_le_bytes();
            let offset = if offset < 0x80 { 0x1000 + offset / 4 * 4 } else { offset % 0x40 };
            prop_assert_eq!(host.bench.write(0, offset, &value[..len]), Ok(()));
            host.serve();
        }
    }

    #[test]
    fn each_command_of_any_bytes_ends_once(
        commands in prop::collection::vec((0..2_usize, 0..14_u8, 0..3_u32, any::<[u32; 6]>(), any::<[u64; 2]>(), any::<[bool; 4]>()), 1..60)
    ) {
        let mut host = Host::ready();
        for (number, (queue, opcode, namespace, words, prp, is_tame)) in commands.into_iter().enumerate() {
            // Asynchronous event requests would wait, and the queues of this test must not be deleted, so these opcodes are replaced.
            let waits = queue == 0 && matches!(opcode, 0x0c | 0x00 | 0x04);
            let opcode = if waits { 6 } else { opcode };
            let at = |place: usize| if is_tame[place] { 0x10000 + prp[place] % 0xe0000 / 4096 * 4096 } else { prp[place] };
            let mut bytes = entry(opcode, number as u16, [at(0), at(1)], [0; 2]);
            bytes[4..8].copy_from_slice(&namespace.to_le_bytes());
            for (place, word) in words.iter().enumerate() {
                let word = if is_tame[2] { word % 64 } else { *word };
                let word = if place == 1 && is_tame[3] { 0 } else { word };
                bytes[40 + 4 * place..44 + 4 * place].copy_from_slice(&word.to_le_bytes());
            }
            // Interrupt coalescing would only delay interrupts. Other features change nothing that the test checks.
            let (id, _) = host.run(queue, &bytes);
            prop_assert_eq!(id, number as u16);
        }
    }
}
