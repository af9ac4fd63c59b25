//! The lock engine of an accelerator. It executes work under locks that the host's cores use too, one memory access after the other.

use kernel::{Effects, Time};
use transaction::{LockedLoop, LockedWork, Step, WordAccess, WordOperation};

use super::Accelerator;
use super::lines::{Begun, Initiator, LineAccess, Operation};
use super::target::target;

/// One lock engine: its work under locks, and the state of the current step.
#[derive(Debug)]
pub(super) struct Engine {
    work: LockedLoop,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// The next step begins at this time.
    Until(Time),
    /// The access has waited for its line since this time, and has not begun.
    Waiting(WordAccess, Time),
    /// The access has requested its line.
    Requested(WordAccess),
    /// The access has an answer, available from this time on.
    Answered(Time, u128),
    /// The work has ended.
    Over,
}

impl Engine {
    pub(super) fn new(work: LockedWork) -> Self {
        Engine {
            work: LockedLoop::new(work),
            state: State::Until(Time::ZERO),
        }
    }

    /// Takes the answer of the access, which is available at `end`. If the word is poisoned (`None`), the work ends, because the holder of the
    /// lock is unknown.
    pub(super) fn answer(&mut self, end: Time, word: Option<u128>) {
        self.state = if let Some(word) = word {
            State::Answered(end, word)
        } else {
            self.work.fail();
            State::Until(end)
        };
    }

    /// Ends the work because the link has failed.
    pub(super) fn give_up(&mut self, fx: &mut Effects<'_, Accelerator>) {
        if matches!(self.state, State::Over) {
            return;
        }
        self.state = State::Over;
        self.work.fail();
        loop {
            match self.work.next(fx.now()) {
                Step::Report(what) => fx.observe(what),
                Step::Over => return,
                Step::Work(_) | Step::Sleep(_) | Step::Access(_) => {}
            }
        }
    }

    /// The time since which an access has waited to begin.
    fn waits_since(&self) -> Time {
        match self.state {
            State::Waiting(_, since) => since,
            _ => Time::NEVER,
        }
    }

    /// The time at which the next step begins without any other event.
    pub(super) fn next_time(&self) -> Time {
        match self.state {
            State::Until(time) | State::Answered(time, _) => time,
            State::Waiting(..) | State::Requested(_) | State::Over => Time::NEVER,
        }
    }
}

impl Accelerator {
    /// Advances all work under locks. The work that has waited longest for a line comes first, so that engines that poll a lock do
    /// not delay its holder.
    pub(super) fn go_on_with_engines(&mut self, fx: &mut Effects<'_, Self>) {
        let mut order: Vec<usize> = (0..self.engines.len()).collect();
        order.sort_by_key(|number| self.engines[*number].waits_since());
        for number in order {
            while self.go_on_locked(number, fx) {}
        }
    }

    /// Advances the work of a lock engine. Returns true if the work may advance further now.
    fn go_on_locked(&mut self, number: usize, fx: &mut Effects<'_, Self>) -> bool {
        let now = fx.now();
        let engine = &mut self.engines[number];
        match engine.state {
            State::Until(time) if time > now => return false,
            State::Until(_) if !self.endpoint.is_bus_master() => return false,
            State::Until(_) => match engine.work.next(now) {
                Step::Work(span) => engine.state = State::Until(now + span),
                Step::Sleep(until) => engine.state = State::Until(until),
                Step::Access(access) => engine.state = State::Waiting(access, now),
                Step::Report(what) => fx.observe(what),
                Step::Over => engine.state = State::Over,
            },
            State::Waiting(access, _) => return self.issue_locked(number, access, now),
            State::Answered(time, word) if time <= now => {
                engine.work.answered(word, now);
                engine.state = State::Until(now);
            }
            State::Requested(_) | State::Answered(..) | State::Over => return false,
        }
        true
    }

    /// Begins the access of a lock engine. Returns false if the access must wait.
    fn issue_locked(&mut self, number: usize, access: WordAccess, now: Time) -> bool {
        if !self.lines.is_open() {
            return false;
        }
        let engine = &mut self.engines[number];
        let Some(target) = target(&mut self.translations, access.address, now) else {
            return false;
        };
        let Some(address) = target.address(access.operation != WordOperation::Load) else {
            engine.work.fail();
            engine.state = State::Until(now);
            return true;
        };
        let part = LineAccess {
            initiator: Initiator::Engine(number),
            operation: match access.operation {
                WordOperation::Load => Operation::Read,
                WordOperation::Store(_) => Operation::Write,
                WordOperation::Change(atomic) => Operation::Atomic(atomic),
            },
            address,
            len: access.width,
            offset: 0,
        };
        let begun = self.lines.begin(part, now);
        if begun == Begun::Wait {
            return false;
        }
        engine.state = State::Requested(access);
        if let Begun::Hit(end) = begun {
            self.perform_locked(part, end);
        }
        true
    }

    /// Performs the access of a lock engine after its line has arrived; the access ends at `end`.
    pub(super) fn perform_locked(&mut self, part: LineAccess, end: Time) {
        let Initiator::Engine(number) = part.initiator else {
            panic!("a lock engine performs its own accesses");
        };
        let State::Requested(access) = self.engines[number].state else {
            panic!("a line arrives for an engine that has requested it");
        };
        let word = match access.operation {
            WordOperation::Load => {
                let mut word = [0; 16];
                self.lines.read(part).map(|bytes| {
                    word[..part.len].copy_from_slice(bytes);
                    u128::from_le_bytes(word)
                })
            }
            WordOperation::Store(new) => {
                self.lines.write(part, &new.to_le_bytes()[..part.len]);
                Some(0)
            }
            WordOperation::Change(atomic) => self.lines.change(&atomic, part),
        };
        self.answer_locked(number, end, word);
    }

    /// Passes the answer of an access to its lock engine: the word, or none if the word is poisoned.
    pub(super) fn answer_locked(&mut self, number: usize, end: Time, word: Option<u128>) {
        self.poisoned += u32::from(word.is_none());
        self.engines[number].answer(end, word);
    }
}
