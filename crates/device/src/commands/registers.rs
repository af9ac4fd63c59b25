//! The registers in BAR 2 of devices whose accesses software can start. All registers are little-endian.
//!
//! | offset | bits | | |
//! |---|---|---|---|
//! | 0x00 | 64 | `ADDRESS` | the first byte in the host's memory |
//! | 0x08 | 64 | `CARD` | the first byte in the device's own memory (BAR 0), where it has one for transfers |
//! | 0x10 | 64 | `LENGTH` | bytes |
//! | 0x18 | 32 | `COMMAND` | a write starts an access; see below |
//! | 0x1c | 32 | `STATUS` | see below; a write of 1 clears an error bit |
//! | 0x20 | 64 | `DURATION` | cycles from the start of the last access to its last byte |
//!
//! `COMMAND` has the operation in bits 3 to 0 (1 read, 2 write, 3 atomic store, 4 load, 5 swap, 6 compare). Bit 4 requests an interrupt at the
//! end. Bits 31 to 8 have the sequence of accesses to which the access is counted in measurements, from 1; 0 for none. A device executes one
//! access at a time.
//!
//! | bit | `STATUS` | |
//! |---|---|---|
//! | 0 | `BUSY` | an access is in progress |
//! | 1 | `DONE` | the last access has ended; a start clears it |
//! | 2 | `FAILED` | the last access has ended with an error: a refused or lost request, or an address without a translation |
//! | 3 | `INVALID` | a command was not started: `LENGTH` is 0 or more than 1 GiB, a range ends beyond the addresses or the card's memory, the operation is unknown, or an atomic operation has a width or an alignment that it cannot have |
//! | 4 | `OVERRUN` | a command was not started: an access was in progress |
//! | 5 | `BAD_WRITE` | a write was ignored: it is not one register of 32 or 64 bits, or a half of one of 64 bits |
//!
//! The error bits stay set until software clears them, except `FAILED`, which each start clears.

use transaction::{AccessKind, AtomicAccess};

/// Size of BAR 2 in bytes.
pub const SIZE: u64 = 4096;
/// Address in the host's memory.
pub const ADDRESS: u64 = 0x00;
/// Address in the card's memory.
pub const CARD: u64 = 0x08;
/// Number of bytes.
pub const LENGTH: u64 = 0x10;
/// A write starts an access.
pub const COMMAND: u64 = 0x18;
/// State of the last access, and errors.
pub const STATUS: u64 = 0x1c;
/// Cycles of the last access.
pub const DURATION: u64 = 0x20;

/// An access is in progress.
pub const BUSY: u32 = 1;
/// The last access has ended.
pub const DONE: u32 = 1 << 1;
/// The last access has ended with an error.
pub const FAILED: u32 = 1 << 2;
/// A command was invalid.
pub const INVALID: u32 = 1 << 3;
/// Software has sent a command while an access was in progress.
pub const OVERRUN: u32 = 1 << 4;
/// A write was ignored.
pub const BAD_WRITE: u32 = 1 << 5;

/// Most bytes of an access.
pub const MOST_BYTES: u64 = 1 << 30;

/// The value of `COMMAND` that starts an access of a kind.
pub fn command(kind: AccessKind, interrupt: bool, sequence: u32) -> u32 {
    let operation = OPERATIONS.iter().position(|known| *known == kind);
    let operation = operation.map_or(0, |place| place as u32 + 1);
    operation | u32::from(interrupt) << 4 | sequence << 8
}

/// The operation in a value of `COMMAND`.
pub(super) fn operation(command: u32) -> Option<AccessKind> {
    let place = (command & 0xf).checked_sub(1)?;
    OPERATIONS.get(place as usize).copied()
}

/// Whether a value of `COMMAND` requests an interrupt.
pub(super) fn asks_for_interrupt(command: u32) -> bool {
    command & 1 << 4 != 0
}

/// The sequence in a value of `COMMAND`, from 0.
pub(super) fn sequence(command: u32) -> Option<usize> {
    (command >> 8).checked_sub(1).map(|number| number as usize)
}

const OPERATIONS: [AccessKind; 6] = [
    AccessKind::Read,
    AccessKind::Write,
    AccessKind::Atomic(AtomicAccess::Store),
    AccessKind::Atomic(AtomicAccess::Load),
    AccessKind::Atomic(AtomicAccess::Swap),
    AccessKind::Atomic(AtomicAccess::Compare),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_its_operation_its_interrupt_and_its_sequence() {
        for kind in OPERATIONS {
            let word = command(kind, kind == AccessKind::Write, 7);
            assert_eq!(operation(word), Some(kind));
            assert_eq!(asks_for_interrupt(word), kind == AccessKind::Write);
            assert_eq!(sequence(word), Some(6));
        }
        assert_eq!(operation(0), None);
        assert_eq!(operation(7), None);
        assert_eq!(sequence(0x1f), None);
    }
}
