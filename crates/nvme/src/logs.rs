//! Log pages: errors, health, firmware slots (NVM Express 1.4, section 5.14.1).

use std::collections::VecDeque;

use crate::command::{Command, Status, status_field};

/// Firmware revision, which is the revision of the model.
pub const FIRMWARE: &[u8; 8] = b"1.0     ";
/// The most entries of the error log.
pub const LOGGED_ERRORS: usize = 64;

/// The counts of the drive since it was created, and its most recent errors.
#[derive(Clone, Debug, Default)]
pub struct Logs {
    /// Entries of the error log, most recent first.
    errors: VecDeque<[u8; ERROR]>,
    error_count: u64,
    /// Number of units of 512 bytes that were read, and number that were written.
    pub units: [u64; 2],
    /// Number of read commands, and number of write commands.
    pub commands: [u64; 2],
    /// Total time during which commands were in progress, in femtoseconds.
    pub busy: u64,
}

/// The health of a drive at one point in time.
#[derive(Clone, Copy, Debug)]
pub struct Health {
    /// Critical warnings.
    pub warnings: u8,
    /// Composite temperature in kelvin.
    pub temperature: u16,
    /// Time since power-on in femtoseconds.
    pub uptime: u64,
}

impl Logs {
    /// Adds a failed command to the error log.
    pub fn add(&mut self, queue: u16, command: &Command, status: Status) {
        let block = u64::from(command.words[1]) << 32 | u64::from(command.words[0]);
        let status = status_field(Err(status)) << 1;
        let block = if queue == 0 { 0 } else { block };
        self.push(queue, command.id, status, (block, command.namespace));
    }

    /// Adds an error that belongs to no command.
    pub fn add_other(&mut self) {
        self.push(u16::MAX, u16::MAX, 0, (0, 0));
    }

    fn push(&mut self, queue: u16, id: u16, status: u16, (block, namespace): (u64, u32)) {
        self.error_count += 1;
        let mut entry = [0; ERROR];
        entry[..8].copy_from_slice(&self.error_count.to_le_bytes());
        entry[8..10].copy_from_slice(&queue.to_le_bytes());
        entry[10..12].copy_from_slice(&id.to_le_bytes());
        entry[12..14].copy_from_slice(&status.to_le_bytes());
        // The entry does not specify which parameter of the command has the error.
        entry[14..16].copy_from_slice(&u16::MAX.to_le_bytes());
        entry[16..24].copy_from_slice(&block.to_le_bytes());
        entry[24..28].copy_from_slice(&namespace.to_le_bytes());
        self.errors.push_front(entry);
        self.errors.truncate(LOGGED_ERRORS);
    }

    /// The log page with the identifier `page`; none if there is no such page.
    pub fn page(&self, page: u8, health: Health) -> Option<Vec<u8>> {
        match page {
            1 => {
                let mut bytes: Vec<u8> = self.errors.iter().flatten().copied().collect();
                bytes.resize(LOGGED_ERRORS * ERROR, 0);
                Some(bytes)
            }
            2 => Some(self.health(health)),
            3 => Some(firmware()),
            _ => None,
        }
    }

    fn health(&self, health: Health) -> Vec<u8> {
        let mut bytes = vec![0; 512];
        let mut put = |at: usize, value: u64, len: usize| {
            bytes[at..at + len].copy_from_slice(&value.to_le_bytes()[..len]);
        };
        put(0, health.warnings.into(), 1);
        put(1, health.temperature.into(), 2);
        // Available spare blocks, and their threshold, in percent.
        put(3, 100, 1);
        put(4, 10, 1);
        for (number, at) in [32, 48].into_iter().enumerate() {
            put(at, self.units[number].div_ceil(1000), 8);
            put(at + 32, self.commands[number], 8);
        }
        put(96, self.busy / MINUTE, 8);
        put(112, 1, 8);
        put(128, health.uptime / (60 * MINUTE), 8);
        put(176, self.error_count, 8);
        bytes
    }
}

/// The firmware slot information: one slot, which is active.
fn firmware() -> Vec<u8> {
    let mut bytes = vec![0; 512];
    bytes[0] = 1;
    bytes[8..16].copy_from_slice(FIRMWARE);
    bytes
}

/// Size of an entry of the error log in bytes.
const ERROR: usize = 64;
/// A minute in femtoseconds.
const MINUTE: u64 = 60_000_000_000_000_000;
