//! The dispatcher of a scatter/gather DMA: its control and status registers, and the descriptors that wait.

use std::collections::VecDeque;

use super::descriptor::{DWORDS, Descriptor};
use crate::fpga_card::Shell;

#[derive(Clone, Debug, Default)]
pub(crate) struct Dispatcher {
    control: u32,
    /// Whether the dispatcher has stopped on an error, and whether it has stopped on an early end of a descriptor.
    stopped_on: [bool; 2],
    irq: bool,
    dwords: [u32; DWORDS],
    waiting: VecDeque<Descriptor>,
    /// Sequence numbers of the descriptors that were read last and written last.
    pub(crate) sequence: [u16; 2],
    /// Number of interrupts still to send.
    interrupts: u32,
    /// Name of a feature that a descriptor requests and no engine has, until it is reported.
    missing: Option<&'static str>,
}

/// The state of the engine that is visible in the status registers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Engine {
    /// Number of descriptors in progress.
    pub(crate) begun: usize,
    /// Number of descriptors whose data is read but not written.
    pub(crate) unwritten: usize,
    /// Whether reads are outstanding, for current or discarded work.
    pub(crate) awaited: bool,
    /// Whether a reset is in progress.
    pub(crate) resetting: bool,
    /// Number of waiting responses, and whether their queue is full.
    pub(crate) responses: usize,
    pub(crate) responses_full: bool,
}

/// The effect of a store to a register on the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// The engine should continue if it can.
    Continue,
    /// The engine must discard all work.
    Reset,
    /// The engine must discard its current work, but keep waiting responses.
    Flush,
}

/// Most waiting descriptors.
const DEPTH: usize = 128;

const STATUS: u64 = 0x00;
const CONTROL: u64 = 0x04;
const FILL_LEVEL: u64 = 0x08;
const RESPONSE_FILL_LEVEL: u64 = 0x0c;
const SEQUENCE: u64 = 0x10;

const STOP_DISPATCHER: u32 = 1;
const RESET_DISPATCHER: u32 = 1 << 1;
const STOP_ON_ERROR: u32 = 1 << 2;
const STOP_ON_EARLY_END: u32 = 1 << 3;
const INTERRUPT_ENABLE: u32 = 1 << 4;
const STOP_DESCRIPTORS: u32 = 1 << 5;
const FLUSH_DESCRIPTORS: u32 = 1 << 6;
const FLUSH_MASTERS: u32 = 1 << 7 | 1 << 8;

/// Bits of the control register that are commands. They are executed and not stored.
const COMMANDS: u32 = RESET_DISPATCHER | FLUSH_DESCRIPTORS | FLUSH_MASTERS;

const IRQ: u32 = 1 << 9;

impl Dispatcher {
    /// Loads the dword at `offset` of the registers.
    pub(crate) fn load(&self, offset: u64, engine: Engine) -> u32 {
        match offset {
            STATUS => self.status(engine),
            CONTROL => self.control,
            FILL_LEVEL => {
                let write = self.waiting.len() + engine.unwritten;
                (write.min(0xffff) as u32) << 16 | self.waiting.len() as u32
            }
            RESPONSE_FILL_LEVEL => engine.responses as u32,
            SEQUENCE => {
                let [read, write] = self.sequence;
                u32::from(write) << 16 | u32::from(read)
            }
            _ => 0,
        }
    }

    fn status(&self, engine: Engine) -> u32 {
        let bits = [
            engine.begun > 0 || !self.waiting.is_empty(),
            self.waiting.is_empty(),
            self.is_full(),
            engine.responses == 0,
            engine.responses_full,
            self.is_stopped() && !engine.awaited,
            engine.resetting,
            self.stopped_on[0],
            self.stopped_on[1],
            self.irq,
        ];
        bits.iter()
            .rev()
            .fold(0, |all, bit| all << 1 | u32::from(*bit))
    }

    fn is_full(&self) -> bool {
        self.waiting.len() >= DEPTH
    }

    /// Stores a dword at `offset` of the registers.
    pub(crate) fn store(&mut self, offset: u64, value: u32) -> Option<Command> {
        match offset {
            STATUS => {
                self.irq &= value & IRQ == 0;
                None
            }
            CONTROL => Some(self.command(value)),
            _ => None,
        }
    }

    fn command(&mut self, value: u32) -> Command {
        if value & RESET_DISPATCHER != 0 {
            *self = Self::default();
            return Command::Reset;
        }
        if self.control & STOP_DISPATCHER != 0 && value & STOP_DISPATCHER == 0 {
            self.stopped_on = [false; 2];
        }
        self.control = value & !COMMANDS;
        if value & FLUSH_DESCRIPTORS != 0 {
            self.waiting.clear();
        }
        if value & FLUSH_MASTERS != 0 {
            return Command::Flush;
        }
        Command::Continue
    }

    /// Stores a dword of a descriptor. The last dword completes the descriptor if its Go bit is set; returns true then. The descriptor is lost
    /// if the queue is full, which is visible in the status register.
    pub(crate) fn store_descriptor(&mut self, offset: u64, value: u32) -> bool {
        let number = (offset / 4) as usize % DWORDS;
        self.dwords[number] = value;
        if number + 1 < DWORDS {
            return false;
        }
        let descriptor = Descriptor::parse(&self.dwords);
        if !descriptor.control.goes() || self.is_full() {
            return false;
        }
        self.push(descriptor)
    }

    /// Adds a descriptor to the queue. Returns false if the queue is full.
    pub(crate) fn push(&mut self, descriptor: Descriptor) -> bool {
        let has_space = !self.is_full();
        if has_space {
            self.missing = descriptor.missing().or(self.missing);
            self.waiting.push_back(descriptor);
        }
        has_space
    }

    /// Removes and returns the next descriptor, if a descriptor may begin.
    pub(crate) fn begin(&mut self) -> Option<Descriptor> {
        let may_begin = self.has_next();
        self.waiting.pop_front_if(|_| may_begin)
    }

    /// Whether a descriptor may begin.
    pub(crate) fn has_next(&self) -> bool {
        !self.waiting.is_empty() && !self.is_stopped() && self.control & STOP_DESCRIPTORS == 0
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.control & STOP_DISPATCHER != 0 || self.stopped_on != [false; 2]
    }

    /// Handles a failed read.
    pub(crate) fn fail(&mut self) {
        self.stopped_on[0] |= self.control & STOP_ON_ERROR != 0;
    }

    /// Handles the end of a descriptor for which less data than its length was transferred.
    pub(crate) fn end_early(&mut self) {
        self.stopped_on[1] |= self.control & STOP_ON_EARLY_END != 0;
    }

    /// Handles the end of a descriptor with an interrupt.
    pub(crate) fn raise(&mut self) {
        if self.control & INTERRUPT_ENABLE != 0 {
            self.irq = true;
            self.interrupts += 1;
        }
    }

    /// Sends waiting interrupts as long as the shell accepts them, and reports a feature that is missing.
    pub(crate) fn interrupt(&mut self, vector: u8, shell: &mut Shell<'_>) {
        if let Some(what) = self.missing.take() {
            shell.say_missing(what);
        }
        while self.owes_interrupt() && shell.can_write() && shell.interrupt(vector).is_ok() {
            self.interrupts -= 1;
        }
    }

    /// Whether an interrupt waits to be sent.
    pub(crate) fn owes_interrupt(&self) -> bool {
        self.interrupts > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(dispatcher: &mut Dispatcher) -> bool {
        dispatcher.store_descriptor(8, 64);
        dispatcher.store_descriptor(0x1c, 1 << 31)
    }

    #[test]
    fn the_last_descriptor_that_fits_makes_it_full() {
        let mut dispatcher = Dispatcher::default();
        for _ in 0..DEPTH {
            assert_eq!(dispatcher.load(STATUS, Engine::default()) & 4, 0);
            assert!(push(&mut dispatcher));
        }
        assert_eq!(dispatcher.load(STATUS, Engine::default()) & 0b111, 0b101);
        assert!(!push(&mut dispatcher));
        assert_eq!(dispatcher.load(FILL_LEVEL, Engine::default()), 0x0080_0080);
    }

    #[test]
    fn an_interrupt_is_raised_when_it_is_enabled_and_cleared_by_a_one() {
        let mut dispatcher = Dispatcher::default();
        dispatcher.raise();
        assert!(!dispatcher.owes_interrupt());
        dispatcher.store(CONTROL, INTERRUPT_ENABLE);
        dispatcher.raise();
        assert_eq!(dispatcher.load(STATUS, Engine::default()) & IRQ, IRQ);
        assert!(dispatcher.owes_interrupt());
        dispatcher.store(STATUS, IRQ);
        assert_eq!(dispatcher.load(STATUS, Engine::default()) & IRQ, 0);
    }

    #[test]
    fn what_is_stopped_begins_nothing() {
        for stop in [STOP_DISPATCHER, STOP_DESCRIPTORS] {
            let mut dispatcher = Dispatcher::default();
            push(&mut dispatcher);
            dispatcher.store(CONTROL, stop);
            assert_eq!(dispatcher.begin(), None);
            dispatcher.store(CONTROL, 0);
            assert!(dispatcher.begin().is_some());
        }
    }
}
