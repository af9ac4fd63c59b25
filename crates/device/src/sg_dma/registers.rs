//! The registers of the engine, in BAR 2, and the memory for its descriptors.
//!
//! Each of the three units has a block of registers at [`Unit::base`]; all are little-endian.
//!
//! | offset | bits | | |
//! |---|---|---|---|
//! | 0x00 | 64 | `ADDRESS` | read, write: address of the list in host memory, where the engine fetches it; peer: address of the target |
//! | 0x08 | 64 | `LENGTH` | read, write: descriptors in the list; peer: bytes, fewer than 4 GiB, or the transfer ends with an error |
//! | 0x10 | 32 | `PAYLOAD` | largest payload of a packet in bytes; 0 for the max payload size |
//! | 0x14 | 32 | `START` | a write begins the transfer; its value is the packets' flow for measurements, from 1; 0 for none |
//! | 0x18 | 32 | `STATUS` | 0 never started, 1 running, 2 done, 3 ended with an error |
//! | 0x1c | 32 | `TIMER` | cycles from the first packet handed to the link to the last |
//! | 0x20 | 32 | `CLASS` | bits 2 to 0: traffic class of the requests for the data |
//! | 0x24 | 32 | `ERROR` | a circuit's code of the error that ended the transfer, 0 for none; the model does not write it |
//! | 0x28 | 64 | `PATTERN` | first word of the data of a circuit's source; each word is the one before plus `Pattern::STEP`; the model ignores it |
//!
//! From [`COUNTERS`] on, a circuit has its counters, of 64 bits each, in the order of [`CIRCUIT_COUNTERS`]. The model has no counters.
//!
//! Bit 0 of [`CROSSED`] crosses the interconnect matrix. [`REPLY`] contains the address to which a reflector sends. [`ROUND_TRIP`] and
//! [`TIME_PEER`], 32 bits each, are registers of a circuit's peer timer; the model has no peer timer. In the model, all registers are memory: a
//! value written to `STATUS` or `TIMER` stays until the engine writes the register again. In a circuit, reserved words stay 0 and counters are
//! read-only. From [`Unit::list`] on there are descriptors: address (64 bits), length in bytes (32 bits), 32 unused bits. All registers are 0
//! after reset, except [`CROSSED`], which the parameter `crossed` presets.

use protocol::TrafficClass;
use transaction::Memory;

use crate::named::named;

/// Size of BAR 2 in bytes.
pub const SIZE: u64 = 256 << 10;
/// The register that crosses the interconnect matrix, with bit 0.
pub const CROSSED: u64 = 0x100;
/// The register with the address to which a reflector sends.
pub const REPLY: u64 = 0x108;
/// Cycles that a circuit's peer timer has measured, from the first data of a peer transfer to the first data that a peer writes after it; 0 if
/// no data has arrived in time.
pub const ROUND_TRIP: u64 = 0x110;
/// Bit 0 requests that the peer timer measures the next peer transfer. The circuit clears the register when the time is known.
pub const TIME_PEER: u64 = 0x114;
/// The counters of a circuit.
pub const COUNTERS: u64 = 0x200;
/// Size of a descriptor in bytes.
pub const DESCRIPTOR: u64 = 16;
/// Most descriptors of a list in the engine.
pub const MOST_DESCRIPTORS: u32 = 4096;

/// A unit that transfers data. Each unit has its own registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// Transfers from `TX_FIFO` to the addresses of a list.
    Write,
    /// Transfers from the addresses of a list to `RX_FIFO`.
    Read,
    /// Transfers from `EP_TX_FIFO` to one range of addresses.
    Peer,
}

impl Unit {
    /// All units, in the order of their registers and interrupt vectors.
    pub const ALL: [Unit; 3] = [Unit::Write, Unit::Read, Unit::Peer];

    /// Offset of the unit's registers.
    pub const fn base(self) -> u64 {
        self as u64 * 0x40
    }

    /// Offset of the unit's descriptors. A peer unit has none.
    pub const fn list(self) -> u64 {
        (self as u64 + 1) * (MOST_DESCRIPTORS as u64 * DESCRIPTOR)
    }

    /// The interrupt vector for the end of a transfer.
    pub const fn vector(self) -> u8 {
        self as u8
    }
}

/// The counters of a circuit, in the order of their registers. Each has its name in the package of constants and its meaning. The name is also
/// the name of a value in a result: a value of a link, a cause of waiting, or an error. The counters are 0 after reset.
pub const CIRCUIT_COUNTERS: [(&str, &str); 13] = named! {
    TLPS: "TLPs sent";
    PAYLOAD_BYTES: "payload bytes sent, in whole dwords";
    RECEIVED_TLPS: "TLPs received";
    RECEIVED_PAYLOAD_BYTES: "payload bytes received, in whole dwords";
    WIRE: "cycles in which a beat waited for the link";
    TAGS: "cycles in which a read of data waited for a tag";
    OUTSTANDING: "cycles in which a read of data waited for space for its completions";
    UNSUPPORTED_REQUEST: "received requests that no part serves";
    MALFORMED_TLP: "received packets of another length than their header says, and completions that do not fit their request";
    POISONED_TLP: "received packets with poisoned data";
    UNEXPECTED_COMPLETION: "received completions of no request";
    COMPLETION_TIMEOUT: "reads whose completions did not come in time";
    COMPLETER_ABORT: "received writes of peers that were dropped, because there was no space for them in time";
};

/// Offsets of a unit's registers from its base.
pub mod offset {
    /// Address of the list or, for the peer unit, of the target.
    pub const ADDRESS: u64 = 0x00;
    /// Number of descriptors or, for the peer unit, number of bytes.
    pub const LENGTH: u64 = 0x08;
    /// Largest payload of a packet in bytes.
    pub const PAYLOAD: u64 = 0x10;
    /// A write begins a transfer.
    pub const START: u64 = 0x14;
    /// Status of the transfer.
    pub const STATUS: u64 = 0x18;
    /// Duration of the transfer.
    pub const TIMER: u64 = 0x1c;
    /// Traffic class of the requests for the data.
    pub const CLASS: u64 = 0x20;
    /// Code of the error that ended the transfer, in a circuit.
    pub const ERROR: u64 = 0x24;
    /// First word of the data that a circuit's source makes.
    pub const PATTERN: u64 = 0x28;
}

/// The status of a transfer, as in the register `STATUS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// In progress.
    Running = 1,
    /// Complete.
    Done = 2,
    /// Ended with an error.
    Failed = 3,
}

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// The first address.
    pub address: u64,
    /// Number of bytes.
    pub len: u32,
}

impl Descriptor {
    /// The bytes of the descriptor in memory.
    pub fn emit(self) -> [u8; DESCRIPTOR as usize] {
        let mut bytes = [0; DESCRIPTOR as usize];
        bytes[..8].copy_from_slice(&self.address.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.len.to_le_bytes());
        bytes
    }

    /// Reads a descriptor.
    pub fn parse(bytes: &[u8; DESCRIPTOR as usize]) -> Self {
        let word = u128::from_le_bytes(*bytes);
        Descriptor {
            address: word as u64,
            len: (word >> 64) as u32,
        }
    }
}

/// The units that a write of `len` bytes at `at` starts, because it includes their `START` registers.
pub(super) fn begun(at: u64, len: u32) -> impl Iterator<Item = Unit> {
    let written = at..at + u64::from(len);
    let starts = move |unit: &Unit| written.contains(&(unit.base() + offset::START));
    Unit::ALL.into_iter().filter(starts)
}

/// The memory behind BAR 2.
#[derive(Clone, Debug)]
pub(super) struct Registers(Memory);

impl Registers {
    pub(super) fn new() -> Self {
        Registers(Memory::new(SIZE))
    }

    pub(super) fn memory(&self) -> &Memory {
        &self.0
    }

    pub(super) fn write(&mut self, at: u64, bytes: &[u8]) {
        self.0.write(at, bytes);
    }

    pub(super) fn word(&self, at: u64) -> u32 {
        self.0.word(at)
    }

    pub(super) fn long(&self, at: u64) -> u64 {
        self.0.long(at)
    }

    /// The traffic class of the requests for a unit's data.
    pub(super) fn class(&self, unit: Unit) -> TrafficClass {
        TrafficClass::new((self.word(unit.base() + offset::CLASS) & 7) as u8).unwrap_or_default()
    }

    pub(super) fn set(&mut self, at: u64, word: u32) {
        self.0.write(at, &word.to_le_bytes());
    }

    pub(super) fn descriptor(&self, unit: Unit, index: u64) -> Descriptor {
        let mut bytes = [0; DESCRIPTOR as usize];
        self.0.read(unit.list() + index * DESCRIPTOR, &mut bytes);
        Descriptor::parse(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_comes_back_from_its_bytes() {
        let descriptor = Descriptor {
            address: 0x1234_5678_9abc_d000,
            len: 4096,
        };
        assert_eq!(Descriptor::parse(&descriptor.emit()), descriptor);
    }

    #[test]
    fn a_write_begins_every_unit_whose_start_it_writes() {
        let units = |at, len| begun(at, len).collect::<Vec<_>>();
        let start = Unit::Read.base() + offset::START;
        assert_eq!(units(start - 4, 4), []);
        assert_eq!(units(start, 4), [Unit::Read]);
        assert_eq!(units(start - 4, 8), [Unit::Read]);
        assert_eq!(units(0, 128), [Unit::Write, Unit::Read]);
    }

    #[test]
    fn the_lists_lie_behind_the_registers_and_within_the_bar() {
        let list = u64::from(MOST_DESCRIPTORS) * DESCRIPTOR;
        assert!(
            Unit::Write.list() >= COUNTERS + 8 * CIRCUIT_COUNTERS.len() as u64
                && COUNTERS > TIME_PEER
        );
        assert_eq!(Unit::Read.list(), Unit::Write.list() + list);
        assert!(Unit::Read.list() + list <= SIZE);
    }
}
