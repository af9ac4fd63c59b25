//! Handles accesses to protected pages of buffers: the program either works with a page, or polls a word in it until a device writes the word.
//!
//! All pages are protected together from time to time. A round is the list of a thread's accesses that fault between two of these times. A thread
//! counts as polling if three conditions hold. First, its last two rounds have the same accesses, by instruction and address. Second, it repeats one
//! of these accesses. Third, simulated time has not passed for the thread in the current round, and has passed in earlier rounds only because it
//! polled. The first access to a page in an epoch is charged, and belongs to no round. One round is not enough for the first condition, because it
//! may be incomplete.

use session::{Until, WaitEnd};

use crate::memory::Touch;
use crate::memory::faults::Fault;
use crate::memory::guard::{LINE, PAGE};
use crate::state::State;
use crate::threads::lock::this_thread;
use crate::threads::ticks;
use crate::turns::is_alone;

/// The simulated time, in femtoseconds, that passes at once while a program polls words of several buffers in turn.
const STEP: u64 = 250_000_000;

/// Longest simulated time that passes at once for a thread that polls, if the program has other threads, in femtoseconds: 1 us.
const THREAD_STEP: u64 = 1_000_000_000;

/// Largest charged time, in femtoseconds, that need not have passed in the simulation when the program writes to memory: 1 us. A device sees the
/// write too early by up to this time.
const SKEW: u64 = 1_000_000_000;

impl State {
    /// Handles an access of the program to `address`. Returns whether the address is in a guarded buffer, so that the program can repeat the
    /// access.
    pub fn touch(&mut self, address: usize, instruction: usize, touch: Touch) -> bool {
        let Some(buffer) = self.buffers.at(address).filter(|b| b.is_guarded()) else {
            return false;
        };
        if buffer.is_open(address) {
            return true;
        }
        let thread = this_thread();
        let (_, line) = buffer.line(address);
        let fault = Fault {
            instruction,
            address,
            line,
        };
        if touch == Touch::Write {
            self.settle();
        }
        let epoch = self.buffers.epoch;
        let Some(buffer) = self.buffers.at(address) else {
            return false;
        };
        let is_new = buffer.charge(address, epoch);
        let closing = self.buffers.closing;
        if is_new {
            self.charge_page(touch);
        } else if self.active()
            && let Some(round) = self.faults.round(thread, closing).looks(&fault)
        {
            self.poll(&round);
        }
        let closing = self.buffers.closing;
        let Some(buffer) = self.buffers.at(address) else {
            return false;
        };
        let (_, line) = buffer.line(address);
        buffer.open(address);
        let round = self.faults.round(thread, closing);
        if !is_new {
            round.remember(Fault { line, ..fault });
        }
        ticks::note_opening();
        true
    }

    /// Makes the pages of a range accessible for a system call, and charges the accesses.
    pub fn touch_range(&mut self, address: usize, len: usize, touch: Touch) {
        let epoch = self.buffers.epoch;
        let mut at = address;
        let end = address.saturating_add(len);
        while at < end {
            if let Some(buffer) = self.buffers.at(at).filter(|b| !b.is_open(at)) {
                let new = buffer.charge(at, epoch);
                buffer.open(at);
                if new {
                    self.charge_page(touch);
                }
            }
            at = (at / PAGE + 1) * PAGE;
        }
        ticks::wake();
    }

    /// Lets the charged time pass before the program writes to memory that a device may poll, for example to a descriptor. Otherwise the device would
    /// read the new value before the program has written it in simulated time. The function has an effect only if the program has other threads,
    /// because the simulated times of such a program differ between runs anyway: the time of this call depends on the real time at which pages are
    /// protected.
    fn settle(&mut self) {
        let owes = self.link().is_ok_and(|link| link.debt.total() >= SKEW);
        if owes && self.active() && !is_alone() {
            self.look(Until::Limit, 0);
        }
    }

    fn charge_page(&mut self, touch: Touch) {
        if let Some(link) = self.timed() {
            let costs = link.welcome.costs;
            let byte = match touch {
                Touch::Read => costs.read_byte,
                Touch::Write => costs.written_byte,
            };
            link.charge(|work| &mut work.copies, byte.saturating_mul(PAGE as u64));
        }
    }

    /// Lets time pass until a device writes one of the words that a program polls.
    fn poll(&mut self, round: &[Fault]) {
        if self.link().is_ok_and(|link| link.debt.total() > 0) {
            self.look(Until::Limit, 0);
        }
        if self.has_changed(round) || !self.active() {
            return;
        }
        let now = self.link().map_or(0, |link| link.time());
        let why = match self.words(round) {
            Some(until) if is_alone() => self.look(until, self.horizon()),
            // The device may write only after an action of another thread, and this thread needs the lock for the action.
            Some(until) => self.look(until, self.horizon().min(now + THREAD_STEP)),
            None => self.look(Until::Limit, now + STEP),
        };
        if why == WaitEnd::Happened
            && let Some(link) = self.timed()
        {
            link.charge(|work| &mut work.looks, link.welcome.costs.poll);
        }
    }

    fn has_changed(&mut self, round: &[Fault]) -> bool {
        round.iter().any(|fault| {
            let buffer = self.buffers.at(fault.address);
            buffer.is_none_or(|buffer| buffer.line(fault.address).1 != fault.line)
        })
    }

    /// The cache lines of a round's accesses, if they are in one buffer.
    fn words(&mut self, round: &[Fault]) -> Option<Until> {
        let mut words: Option<(u64, usize, usize)> = None;
        for fault in round {
            let buffer = self.buffers.at(fault.address)?;
            let (start, _) = buffer.line(fault.address);
            let end = start + LINE;
            words = match words {
                None => Some((buffer.id, start, end)),
                Some((same, first, last)) if same == buffer.id => {
                    Some((same, first.min(start), last.max(end)))
                }
                Some(_) => return None,
            };
        }
        words.map(|(buffer, start, end)| Until::Written {
            buffer,
            offset: start as u64,
            len: (end - start) as u64,
        })
    }
}
