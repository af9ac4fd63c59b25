//! The lock engine of an accelerator: work under locks that it shares with the cores of its host, one access after the other.

use kernel::{Effects, Time};
use transaction::{LockedLoop, LockedWork, Step, WordAccess, WordOperation};

use super::Accelerator;
use super::lines::{Begun, Deed, Maker, Part};
use super::way::way;

/// Work under locks, and how its last step stands.
#[derive(Debug)]
pub(super) struct Engine {
    work: LockedLoop,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// The next step comes then.
    Until(Time),
    /// An access has not begun, since then.
    Wants(WordAccess, Time),
    /// Its line is awaited.
    Asked(WordAccess),
    /// What it found is there from then on.
    Answered(Time, u128),
    /// Nothing comes any more.
    Over,
}

impl Engine {
    pub(super) fn new(work: LockedWork) -> Self {
        Engine {
            work: LockedLoop::new(work),
            state: State::Until(Time::ZERO),
        }
    }

    /// What its access found is there at `end`.
    pub(super) fn answer(&mut self, end: Time, word: u128) {
        self.state = State::Answered(end, word);
    }

    /// Its link has failed: nothing is done any more.
    pub(super) fn give_up(&mut self, fx: &mut Effects<'_, Accelerator>) {
        if matches!(self.state, State::Over) {
            return;
        }
        self.state = State::Over;
        self.work.fail();
        loop {
            match self.work.next(fx.now()) {
                Step::Tell(what) => fx.observe(what),
                Step::Over => return,
                Step::Work(_) | Step::Sleep(_) | Step::Access(_) => {}
            }
        }
    }

    /// Since when it waits for the line of an access to be there or to be asked for.
    fn wants_since(&self) -> Time {
        match self.state {
            State::Wants(_, since) => since,
            _ => Time::NEVER,
        }
    }

    /// When it goes on by itself.
    pub(super) fn next_time(&self) -> Time {
        match self.state {
            State::Until(time) | State::Answered(time, _) => time,
            State::Wants(..) | State::Asked(_) | State::Over => Time::NEVER,
        }
    }
}

impl Accelerator {
    /// Goes on with all work under locks: first with that which has waited longest for a line, so that whoever holds a lock is
    /// not kept from it by those who look at it again and again.
    pub(super) fn go_on_with_engines(&mut self, fx: &mut Effects<'_, Self>) {
        let mut order: Vec<usize> = (0..self.engines.len()).collect();
        order.sort_by_key(|number| self.engines[*number].wants_since());
        for number in order {
            while self.go_on_locked(number, fx) {}
        }
    }

    /// Goes on with the work of a lock engine. True if it may go on at once.
    fn go_on_locked(&mut self, number: usize, fx: &mut Effects<'_, Self>) -> bool {
        let now = fx.now();
        let engine = &mut self.engines[number];
        match engine.state {
            State::Until(time) if time > now => return false,
            State::Until(_) if !self.endpoint.is_bus_master() => return false,
            State::Until(_) => match engine.work.next(now) {
                Step::Work(span) => engine.state = State::Until(now + span),
                Step::Sleep(until) => engine.state = State::Until(until),
                Step::Access(access) => engine.state = State::Wants(access, now),
                Step::Tell(what) => fx.observe(what),
                Step::Over => engine.state = State::Over,
            },
            State::Wants(access, _) => return self.issue_locked(number, access, now),
            State::Answered(time, word) if time <= now => {
                engine.work.answered(word, now);
                engine.state = State::Until(now);
            }
            State::Asked(_) | State::Answered(..) | State::Over => return false,
        }
        true
    }

    /// Begins the access of a lock engine. False if it must wait.
    fn issue_locked(&mut self, number: usize, access: WordAccess, now: Time) -> bool {
        if !self.lines.is_open() {
            return false;
        }
        let engine = &mut self.engines[number];
        let Some(way) = way(&mut self.translations, access.address, now) else {
            return false;
        };
        let Some(address) = way.of(access.operation != WordOperation::Load) else {
            engine.work.fail();
            engine.state = State::Until(now);
            return true;
        };
        let part = Part {
            maker: Maker::Engine(number),
            deed: match access.operation {
                WordOperation::Load => Deed::Read,
                WordOperation::Store(_) => Deed::Write,
                WordOperation::Change(atomic) => Deed::Atomic(atomic),
            },
            address,
            len: access.width,
            offset: 0,
        };
        let begun = self.lines.begin(part, now);
        if begun == Begun::Wait {
            return false;
        }
        engine.state = State::Asked(access);
        if let Begun::Hit(end) = begun {
            self.perform_locked(part, end);
        }
        true
    }

    /// Does what a lock engine has asked a line for, which ends at `end`.
    pub(super) fn perform_locked(&mut self, part: Part, end: Time) {
        let Maker::Engine(number) = part.maker else {
            panic!("a lock engine does what it has asked for");
        };
        let State::Asked(access) = self.engines[number].state else {
            panic!("a line comes to an engine that waits for it");
        };
        let word = match access.operation {
            WordOperation::Load => {
                let mut word = [0; 16];
                word[..part.len].copy_from_slice(self.lines.read(part));
                u128::from_le_bytes(word)
            }
            WordOperation::Store(new) => {
                self.lines.write(part, &new.to_le_bytes()[..part.len]);
                0
            }
            WordOperation::Change(atomic) => self.lines.change(&atomic, part),
        };
        self.engines[number].answer(end, word);
    }
}
