//! A program touches a page that is closed: either it has come to a page, or it looks at a word until a device writes it.
//!
//! All pages are closed at once, now and then. A round is what a thread touches between two closings. It looks over and over if the
//! last two rounds were the same, by instruction and address, and it comes to one of them again, while nothing has let time pass and
//! none was the first touch since devices were told something. One round would not do: it may have been cut short.

use std::collections::BTreeMap;

use session::{Until, Why};

use crate::guard::{LINE, PAGE};
use crate::lock::this_thread;
use crate::state::State;

/// The longest round that is one of looking: more than that is work.
const LONGEST: usize = 8;
/// Threads whose rounds are remembered.
const THREADS: usize = 1024;
/// How far the clock goes when a program looks at words of several buffers in turn, in femtoseconds.
const STEP: u64 = 250_000_000;

/// The rounds of threads.
#[derive(Debug)]
pub struct Faults(BTreeMap<usize, Rounds>);

/// The last rounds of a thread.
#[derive(Debug, Default)]
struct Rounds {
    /// How often pages had been closed when this one began.
    closing: u64,
    /// Whether time has been let pass in this one.
    waited: bool,
    this: Vec<Fault>,
    before: Vec<Fault>,
    earlier: Vec<Fault>,
}

/// An instruction that touched a page that was closed.
#[derive(Clone, Copy, Debug)]
struct Fault {
    instruction: usize,
    address: usize,
    /// What was in the line when it was let.
    line: [u8; LINE],
}

impl Fault {
    fn again(&self, other: &Fault) -> bool {
        (self.instruction, self.address) == (other.instruction, other.address)
    }
}

impl Faults {
    /// None yet.
    pub const fn new() -> Self {
        Faults(BTreeMap::new())
    }

    /// Time has passed by itself for a thread: what it does next is no polling.
    pub fn forget(&mut self, thread: usize) {
        if let Some(rounds) = self.0.get_mut(&thread) {
            rounds.this.clear();
            rounds.before.clear();
            rounds.earlier.clear();
        }
    }

    /// The round of a thread, which is a new one if pages have been closed.
    fn round(&mut self, thread: usize, closing: u64) -> &mut Rounds {
        if self.0.len() > THREADS {
            self.0.clear();
        }
        let rounds = self.0.entry(thread).or_default();
        if rounds.closing != closing {
            rounds.closing = closing;
            rounds.waited = false;
            rounds.earlier = std::mem::take(&mut rounds.before);
            rounds.before = std::mem::take(&mut rounds.this);
        }
        rounds
    }
}

impl Rounds {
    /// What a thread looks at that comes to this, once in a round.
    fn looks(&mut self, fault: &Fault) -> Option<Vec<Fault>> {
        let within = |round: &[Fault], fault: &Fault| round.iter().any(|one| one.again(fault));
        let is_same = self.before.iter().all(|one| within(&self.earlier, one))
            && self.earlier.iter().all(|one| within(&self.before, one));
        let is_short = self.before.len() <= LONGEST;
        let looks = is_same && is_short && within(&self.before, fault) && !self.waited;
        self.waited |= looks;
        looks.then(|| self.before.clone())
    }

    fn remember(&mut self, fault: Fault) {
        if self.this.len() <= LONGEST {
            self.this.push(fault);
        }
    }
}

/// What is done with a page first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Something is read.
    Read,
    /// Something is written.
    Write,
}

impl State {
    /// A program touches `address`. Says whether that is in a buffer, and it may.
    pub fn touch(&mut self, address: usize, instruction: usize, touch: Touch) -> bool {
        let epoch = self.buffers.epoch();
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
        let is_new = buffer.charge(address, epoch);
        let closing = self.buffers.closing();
        if is_new {
            self.charge_page(touch);
        } else if self.active()
            && let Some(round) = self.faults.round(thread, closing).looks(&fault)
        {
            self.poll(&round);
        }
        let closing = self.buffers.closing();
        let Some(buffer) = self.buffers.at(address) else {
            return false;
        };
        let (_, line) = buffer.line(address);
        buffer.open(address);
        let round = self.faults.round(thread, closing);
        if !is_new {
            round.remember(Fault { line, ..fault });
        }
        crate::watch::tick();
        true
    }

    /// A system call is about to use bytes at `address`: they are opened and charged for.
    pub fn touch_range(&mut self, address: usize, len: usize, touch: Touch) {
        let epoch = self.buffers.epoch();
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
    }

    fn charge_page(&mut self, touch: Touch) {
        if let Some(link) = self.timed() {
            let costs = link.welcome.costs;
            let byte = match touch {
                Touch::Read => costs.read_byte,
                Touch::Write => costs.written_byte,
            };
            link.charge(byte.saturating_mul(PAGE as u64));
        }
    }

    /// Lets time pass until a device writes what a program looks at in every round.
    fn poll(&mut self, round: &[Fault]) {
        if self.link().is_ok_and(|link| link.debt > 0) {
            self.look(Until::Limit, 0);
        }
        if self.has_changed(round) || !self.active() {
            return;
        }
        let why = if let Some(until) = self.words(round) {
            self.look(until, self.horizon())
        } else {
            let now = self.link().map_or(0, |link| link.time());
            self.look(Until::Limit, now + STEP)
        };
        if why == Why::Happened
            && let Some(link) = self.timed()
        {
            link.charge(link.welcome.costs.poll);
        }
    }

    fn has_changed(&mut self, round: &[Fault]) -> bool {
        round.iter().any(|fault| {
            let buffer = self.buffers.at(fault.address);
            buffer.is_none_or(|buffer| buffer.line(fault.address).1 != fault.line)
        })
    }

    /// The lines of a round, if they are in one buffer.
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
