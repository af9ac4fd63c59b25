//! The registers by which software on the host starts accesses of a device, one at a time.
//!
//! A device model embeds [`Commands`]. The model passes requests to its registers on to `Commands`, makes the accesses that they start, and
//! reports the end of each.

pub mod registers;
mod works;

use kernel::{Effects, Span, Time};
use packet::PacketId;
use protocol::{Bar, Kind};
use transaction::{AccessKind, FunctionPlace, Memory, written};

use crate::Endpoint;
use crate::endpoint::Device;
pub(crate) use works::{Work, Works};

use registers::{
    ADDRESS, BAD_WRITE, BUSY, CARD, COMMAND, DONE, DURATION, FAILED, INVALID, LENGTH, MOST_BYTES,
    OVERRUN, STATUS,
};

pub(crate) const REGISTERS: Bar = Bar {
    index: 2,
    size: registers::SIZE,
    wide: false,
};

/// The interrupt vector for the end of an access.
const VECTOR: u16 = 0;

/// The capabilities of a device that decide which commands are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Abilities {
    /// Size of the device's own memory that commands can use; none if they cannot use any.
    pub(crate) card: Option<u64>,
    /// Whether atomic operations have the operand widths of PCI Express, instead of the widths of coherent agents.
    pub(crate) is_bound_by_pcie: bool,
}

/// An access that software has commanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) kind: AccessKind,
    /// The first address in the host's memory.
    pub(crate) address: u64,
    /// The first address in the device's own memory.
    pub(crate) card: u64,
    /// Number of bytes.
    pub(crate) len: u64,
    /// The number of the sequence of accesses to which the access is counted in measurements.
    pub(crate) sequence: Option<usize>,
}

/// The result of a packet that may be a request to the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    /// The packet is no request to the registers.
    Elsewhere,
    /// The packet was handled.
    Here,
    /// The packet was handled, and starts this access.
    Start(Command),
}

/// The registers of a device, and the access that they have started.
#[derive(Clone, Debug)]
pub(crate) struct Commands {
    abilities: Abilities,
    cycle: Span,
    registers: Memory,
    /// Start of the access in progress.
    begun: Time,
    /// Whether an interrupt follows the access in progress.
    interrupt: bool,
    /// The time at which the access in progress ends, and whether it has failed.
    end: Option<(Time, bool)>,
    interrupts: u32,
}

impl Commands {
    /// Registers after reset, in a device with this clock period.
    pub(crate) fn new(abilities: Abilities, cycle: Span) -> Self {
        Commands {
            abilities,
            cycle,
            registers: Memory::new(registers::SIZE),
            begun: Time::ZERO,
            interrupt: false,
            end: None,
            interrupts: 0,
        }
    }

    /// Returns the registers to their state after reset. No interrupt is signalled for an earlier access.
    pub(crate) fn reset(&mut self) {
        *self = Self::new(self.abilities, self.cycle);
    }

    /// Handles a request to the registers and releases the packet; does nothing with other packets.
    pub(crate) fn serve<C: Device>(
        &mut self,
        packet: PacketId,
        endpoint: &mut Endpoint,
        fx: &mut Effects<'_, C>,
    ) -> Served {
        let now = fx.now();
        let content = &fx.store()[packet];
        let header = *content.header();
        let (Kind::MemoryRead(request) | Kind::MemoryWrite(request)) = &header.kind else {
            return Served::Elsewhere;
        };
        let Some(at) = endpoint.offset_in(REGISTERS.index, REGISTERS.size, request) else {
            return Served::Elsewhere;
        };
        if let Err(why) = endpoint.check_size(&header) {
            endpoint.refuse(packet, why, fx);
            return Served::Here;
        }
        let command = if let Kind::MemoryWrite(_) = &header.kind {
            self.write(at, written(content, request), now)
        } else {
            let base = endpoint.base_of(REGISTERS.index.into());
            self.settle(now);
            endpoint.answer(packet, &self.registers, base, fx);
            None
        };
        fx.store().release(packet);
        command.map_or(Served::Here, Served::Start)
    }

    /// Handles a write to the registers. Returns the access to start, if the write starts one.
    fn write(&mut self, at: u64, bytes: &[u8], now: Time) -> Option<Command> {
        self.settle(now);
        match (at, bytes.len()) {
            (ADDRESS | LENGTH, 4 | 8) => self.registers.write(at, bytes),
            (CARD, 4 | 8) if self.abilities.card.is_some() => self.registers.write(at, bytes),
            (at, 4) if at == ADDRESS + 4 || at == LENGTH + 4 => self.registers.write(at, bytes),
            (at, 4) if at == CARD + 4 && self.abilities.card.is_some() => {
                self.registers.write(at, bytes);
            }
            (COMMAND, 4) => {
                self.registers.write(at, bytes);
                return self.command(now);
            }
            (STATUS, 4) => {
                let ones = bytes
                    .first_chunk()
                    .map_or(0, |word| u32::from_le_bytes(*word));
                self.set_status(self.status() & !(ones & CLEARABLE));
            }
            _ => self.set_status(self.status() | BAD_WRITE),
        }
        None
    }

    /// Records that the access in progress ends at `at`.
    pub(crate) fn end(&mut self, at: Time, failed: bool) {
        self.end = Some((at, failed));
    }

    /// The time at which the access in progress ends, as long as the registers do not show its end.
    pub(crate) fn next_time(&self) -> Time {
        self.end.map_or(Time::NEVER, |(at, _)| at)
    }

    /// Sends the pending interrupts while the send path `is_open`. They follow all data that was sent before them.
    pub(crate) fn send_interrupts<C: Device>(
        &mut self,
        endpoint: &mut Endpoint,
        is_open: impl Fn(&mut Endpoint, &mut Effects<'_, C>) -> bool,
        fx: &mut Effects<'_, C>,
    ) {
        self.settle(fx.now());
        while self.interrupts > 0 && endpoint.is_bus_master() && is_open(endpoint, fx) {
            self.interrupts -= 1;
            let Some(packet) = endpoint.interrupt(FunctionPlace::Own, VECTOR, fx) else {
                return;
            };
            endpoint.hand_over(packet, fx);
        }
    }

    /// Handles a write to `COMMAND`.
    fn command(&mut self, now: Time) -> Option<Command> {
        let word = self.registers.word(COMMAND);
        if self.status() & BUSY != 0 {
            self.set_status(self.status() | OVERRUN);
            return None;
        }
        let interrupt = registers::asks_for_interrupt(word);
        let Some(command) = self.valid(word) else {
            self.set_status(self.status() | INVALID);
            self.interrupts += u32::from(interrupt);
            return None;
        };
        self.set_status(self.status() & !(DONE | FAILED) | BUSY);
        self.begun = now;
        self.interrupt = interrupt;
        Some(command)
    }

    /// The access that the registers describe, if the device can make it.
    fn valid(&self, word: u32) -> Option<Command> {
        let kind = registers::operation(word)?;
        let command = Command {
            kind,
            address: self.registers.long(ADDRESS),
            card: self.registers.long(CARD),
            len: self.registers.long(LENGTH),
            sequence: registers::sequence(word),
        };
        let Command {
            address, len, card, ..
        } = command;
        let fits = (1..=MOST_BYTES).contains(&len) && address.checked_add(len).is_some();
        let is_in_card = self.abilities.card.is_none_or(|size| {
            command.sequence.is_some() || card.checked_add(len).is_some_and(|end| end <= size)
        });
        let is_possible = match kind {
            AccessKind::Read | AccessKind::Write => is_in_card,
            AccessKind::Atomic(atomic) => {
                let widest = if self.abilities.is_bound_by_pcie {
                    atomic.operation().widest().into()
                } else {
                    16
                };
                matches!(len, 4 | 8 | 16) && len <= widest && address.is_multiple_of(len)
            }
        };
        (fits && is_possible).then_some(command)
    }

    /// If the access in progress has ended by `now`, sets the registers that show its end.
    fn settle(&mut self, now: Time) {
        let Some((at, failed)) = self.end.take_if(|(at, _)| *at <= now) else {
            return;
        };
        let ended = DONE | if failed { FAILED } else { 0 };
        self.set_status(self.status() & !BUSY | ended);
        let cycles = at.since(self.begun).as_fs() / self.cycle.as_fs();
        self.registers.write(DURATION, &cycles.to_le_bytes());
        self.interrupts += u32::from(self.interrupt);
    }

    fn status(&self) -> u32 {
        self.registers.word(STATUS)
    }

    fn set_status(&mut self, status: u32) {
        self.registers.write(STATUS, &status.to_le_bytes());
    }
}

/// The error bits of `STATUS`, which software clears.
const CLEARABLE: u32 = FAILED | INVALID | OVERRUN | BAD_WRITE;
