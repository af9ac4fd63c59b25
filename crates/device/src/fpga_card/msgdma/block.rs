//! The registers of a building block with a DMA engine: the registers of its dispatcher, and of the prefetcher that fetches descriptors from
//! host memory.

use kernel::Time;

use super::{Command, Dispatcher, Engine, Outcome, Prefetcher, prefetcher};
use crate::fpga_card::Shell;

/// The dispatcher and the prefetcher of an engine.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) dispatcher: Dispatcher,
    pub(crate) prefetcher: Prefetcher,
    /// The number of the interrupt that the dispatcher and the prefetcher signal.
    vector: u8,
}

/// Offsets in the registers of a building block: control and status registers of the dispatcher, its descriptor, and the prefetcher.
const CSR: u64 = 0x40;
const DESCRIPTOR: u64 = 0x60;
const PREFETCHER: u64 = 0x80;
const PREFETCHER_END: u64 = PREFETCHER + prefetcher::SIZE;
/// The earlier designs have other registers in place of the prefetcher's registers. Software only loads the registers below this offset, and
/// also stores to registers from this offset on.
const ONLY_LOADED_END: u64 = 0xa0;

impl Block {
    /// A block that signals interrupt `vector`, and whose prefetcher uses tags from `tag` on.
    pub(crate) fn new(tag: u32, vector: u8) -> Self {
        Block {
            dispatcher: Dispatcher::default(),
            prefetcher: Prefetcher::new(tag),
            vector,
        }
    }

    /// Loads the dword at `offset` if the engine has this state; none if there is no register of the dispatcher or the prefetcher at this
    /// offset.
    pub(crate) fn load(&self, offset: u64, engine: Engine) -> Option<u32> {
        match offset {
            CSR..DESCRIPTOR => Some(self.dispatcher.load(offset - CSR, engine)),
            PREFETCHER..PREFETCHER_END => Some(self.prefetcher.load(offset - PREFETCHER)),
            _ => None,
        }
    }

    /// Stores a dword at `offset`.
    pub(crate) fn store(&mut self, offset: u64, value: u32, now: Time) -> Option<Command> {
        match offset {
            CSR..DESCRIPTOR => self.dispatcher.store(offset - CSR, value),
            DESCRIPTOR..PREFETCHER => {
                let is_complete = self.dispatcher.store_descriptor(offset - DESCRIPTOR, value);
                is_complete.then_some(Command::Continue)
            }
            PREFETCHER..PREFETCHER_END if self.prefetcher.is_used() || offset < ONLY_LOADED_END => {
                self.prefetcher.store(offset - PREFETCHER, value, now);
                Some(Command::Continue)
            }
            _ => None,
        }
    }

    /// Sends waiting interrupts of the dispatcher.
    pub(crate) fn interrupt(&mut self, shell: &mut Shell<'_>) {
        self.dispatcher.interrupt(self.vector, shell);
    }

    /// Continues the work of the prefetcher. Returns whether there was any work.
    #[inline]
    pub(crate) fn fetch(&mut self, shell: &mut Shell<'_>) -> bool {
        let (dispatcher, vector) = (&mut self.dispatcher, self.vector);
        self.prefetcher.go_on(dispatcher, vector, shell)
    }

    /// Whether interrupts or write-backs wait. They are sent before further data.
    pub(crate) fn waits_to_write(&self) -> bool {
        self.dispatcher.owes_interrupt() || self.prefetcher.waits_to_write()
    }

    /// Handles the end of a descriptor. If the prefetcher has fetched it, it is written back; otherwise an interrupt is signalled if
    /// `interrupts` is set. Returns whether the prefetcher has fetched it.
    pub(crate) fn end(&mut self, outcome: Outcome, interrupts: bool) -> bool {
        let is_fetched = self.prefetcher.end(outcome);
        if !is_fetched && interrupts {
            self.dispatcher.raise();
        }
        is_fetched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registers_of_a_prefetcher_that_nobody_uses_are_those_of_the_earlier_designs() {
        let mut block = Block::new(prefetcher::TAGS, 0);
        let store = |block: &mut Block, offset| block.store(offset, 1, Time::ZERO);
        assert_eq!(store(&mut block, 0xa0), None);
        assert!(!block.prefetcher.is_used());
        assert_eq!(store(&mut block, 0x9c), Some(Command::Continue));
        assert_eq!(store(&mut block, 0xa0), Some(Command::Continue));
        assert_eq!(store(&mut block, PREFETCHER_END), None);
    }

    #[test]
    fn the_dword_that_completes_a_descriptor_lets_the_engine_continue() {
        let mut block = Block::new(prefetcher::TAGS, 0);
        let go = 1 << 31;
        for offset in (DESCRIPTOR..PREFETCHER - 4).step_by(4) {
            assert_eq!(block.store(offset, go, Time::ZERO), None);
        }
        let last = block.store(PREFETCHER - 4, go, Time::ZERO);
        assert_eq!(last, Some(Command::Continue));
        assert!(block.dispatcher.has_next());
    }
}
