//! The steps of work under locks.

use std::collections::VecDeque;

use kernel::{Span, Time};
use locktable::{
    Acquire, Acquired, Bucket, Machine, Owner, Queue, Release, Released, Wait, Waited,
};
use packet::Observation;
use protocol::coherence::LINE_BYTES;

use super::{LockNote, LockedWork, Under, WordAccess, WordOperation, successor};

/// What comes next.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// To be at work for so long.
    Work(Span),
    /// To do nothing until then.
    Sleep(Time),
    /// An access, whose [answer](LockedLoop::answered) is awaited.
    Access(WordAccess),
    /// To tell the probes.
    Tell(Observation),
    /// Nothing: all is done.
    Over,
}

/// How far work under locks has come.
#[derive(Clone, Debug)]
pub struct LockedLoop {
    work: LockedWork,
    done: u64,
    next_start: Time,
    /// What comes before what the stage asks for.
    first: VecDeque<Step>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The next piece has not begun.
    Between,
    /// A piece has come so far.
    Doing(Piece, Point),
    /// There is nothing more to do, or it cannot be done.
    Over,
}

/// One piece of work.
#[derive(Clone, Copy, Debug)]
struct Piece {
    born: Time,
    /// The number of the bucket, and where it is.
    index: u64,
    bucket: Bucket,
    /// The row, if one is updated.
    row: u64,
    /// Compare-and-swaps of requests that were refused.
    swaps: u32,
}

#[derive(Clone, Copy, Debug)]
enum Point {
    /// A lock is requested, by a compare-and-swap that began then.
    Requesting(Acquire, Time),
    /// It has a place in a queue.
    Waiting(Wait),
    /// The lock is held, and the current version is wanted.
    Reading,
    /// Its successor is ready.
    Writing(u128),
    /// The lock is given up.
    Releasing(Release),
}

impl LockedLoop {
    /// Work of which nothing has begun.
    pub fn new(work: LockedWork) -> Self {
        let announced = Observation::Ended {
            flow: work.flow,
            bytes: work.count,
        };
        LockedLoop {
            done: 0,
            next_start: work.start,
            first: VecDeque::from([Step::Tell(announced)]),
            stage: Stage::Between,
            work,
        }
    }

    /// What comes next. Asked again when that is over, or an access is answered.
    pub fn next(&mut self, now: Time) -> Step {
        if let Some(step) = self.first.pop_front() {
            return step;
        }
        let (piece, point) = match &mut self.stage {
            Stage::Between => return self.begin(now),
            Stage::Over => return Step::Over,
            Stage::Doing(piece, point) => (piece, point),
        };
        Step::Access(match point {
            Point::Requesting(acquire, since) => {
                *since = now;
                WordAccess::of(acquire.operation())
            }
            Point::Waiting(wait) => WordAccess::of(wait.operation()),
            Point::Reading => self.work.version(piece.row, WordOperation::Load),
            Point::Writing(next) => self.work.version(piece.row, WordOperation::Store(*next)),
            Point::Releasing(release) => WordAccess::of(release.operation()),
        })
    }

    /// Begins the next piece, if it is due.
    fn begin(&mut self, now: Time) -> Step {
        if self.done == self.work.count {
            self.stage = Stage::Over;
            return Step::Over;
        }
        if self.next_start > now {
            return Step::Sleep(self.next_start);
        }
        let (record, row) = self.work.draw();
        let index = self.work.table.index_of(record);
        let piece = Piece {
            born: now,
            index,
            bucket: self.work.table.bucket(index),
            row,
            swaps: 0,
        };
        self.stage = self.request(piece);
        Step::Work(self.work.software)
    }

    fn request(&self, piece: Piece) -> Stage {
        let acquire = Acquire::new(piece.bucket, self.work.owner);
        Stage::Doing(piece, Point::Requesting(acquire, piece.born))
    }

    /// Takes in what the access found, which is nothing of a store.
    pub fn answered(&mut self, word: u128, now: Time) {
        let Stage::Doing(piece, point) = self.stage else {
            panic!("only what was asked for is answered");
        };
        self.stage = match point {
            Point::Reading => {
                self.first.push_back(Step::Work(self.work.under.work()));
                Stage::Doing(piece, Point::Writing(successor(word, self.work.owner)))
            }
            Point::Writing(_) => self.release(piece),
            point => match Queue::from_word(word) {
                Ok(queue) => self.found(piece, point, queue, now),
                Err(_) => self.lose(piece),
            },
        };
    }

    /// What follows from the queue that an access found.
    fn found(&mut self, piece: Piece, point: Point, queue: Queue, now: Time) -> Stage {
        match point {
            Point::Requesting(mut acquire, since) => match acquire.answered(queue) {
                None => Stage::Doing(piece, Point::Requesting(acquire, since)),
                Some(acquired) => {
                    let swaps = piece.swaps + acquire.swaps();
                    let piece = Piece { swaps, ..piece };
                    self.acquired(piece, acquired, queue.owners().last(), now.since(since))
                }
            },
            Point::Waiting(mut wait) => match wait.answered(queue) {
                None => {
                    self.first.push_back(Step::Work(self.work.poll));
                    Stage::Doing(piece, Point::Waiting(wait))
                }
                Some(Waited::Held) => self.hold(piece),
                Some(Waited::Removed) => self.lose(piece),
            },
            Point::Releasing(mut release) => match release.answered(queue) {
                None => Stage::Doing(piece, Point::Releasing(release)),
                Some(Released::Passed { .. }) => self.end(piece, now),
                Some(Released::NotHeld) => self.lose(piece),
            },
            Point::Reading | Point::Writing(_) => panic!("a row is no queue"),
        }
    }

    /// What follows from how a request ended, whose last compare-and-swap took so long and found `last` at the end of the queue.
    fn acquired(
        &mut self,
        piece: Piece,
        acquired: Acquired,
        last: Option<Owner>,
        took: Span,
    ) -> Stage {
        let requested = LockNote::Requested {
            swaps: piece.swaps,
            took: self.work.software + took,
        };
        let placed = LockNote::Placed {
            bucket: piece.index,
            behind: last.map(Owner::id),
        };
        match acquired {
            Acquired::Held => {
                self.tell(requested);
                self.tell(placed);
                self.hold(piece)
            }
            Acquired::Queued { .. } => {
                self.tell(requested);
                self.tell(placed);
                let wait = Wait::new(piece.bucket, self.work.owner);
                Stage::Doing(piece, Point::Waiting(wait))
            }
            Acquired::Full => {
                self.first.push_back(Step::Work(self.work.poll));
                self.request(piece)
            }
            // It asks for one lock at a time: somebody else has put it there.
            Acquired::Present { .. } => self.lose(piece),
        }
    }

    /// The lock is there: what is done under it comes next.
    fn hold(&mut self, piece: Piece) -> Stage {
        let bucket = piece.index;
        self.tell(LockNote::Held { bucket });
        match self.work.under {
            Under::Update(_) => Stage::Doing(piece, Point::Reading),
            Under::Hold { span, .. } => {
                self.first.push_back(Step::Work(span));
                self.release(piece)
            }
        }
    }

    /// The release is told before anybody can see it, so that no two are ever told to hold one lock rightly.
    fn release(&mut self, piece: Piece) -> Stage {
        let bucket = piece.index;
        self.tell(LockNote::Releasing { bucket });
        let release = Release::new(piece.bucket, self.work.owner);
        Stage::Doing(piece, Point::Releasing(release))
    }

    fn end(&mut self, piece: Piece, now: Time) -> Stage {
        self.done += 1;
        let interval = self.work.interval;
        self.next_start = now
            + if self.work.random_intervals {
                self.work.stream.exponential(interval)
            } else {
                interval
            };
        self.first.push_back(Step::Tell(Observation::Delivered {
            flow: self.work.flow,
            bytes: 1,
            offset: piece.row * LINE_BYTES as u64,
            born: piece.born,
            last: true,
            intact: true,
        }));
        Stage::Between
    }

    /// The table is not as this owner left it: somebody else writes there.
    fn lose(&mut self, piece: Piece) -> Stage {
        let bucket = piece.index;
        self.tell(LockNote::Lost { bucket });
        self.fail();
        Stage::Over
    }

    /// Gives up all that is left, as memory cannot be reached, or not be trusted.
    pub fn fail(&mut self) {
        self.stage = Stage::Over;
        self.first.push_back(Step::Tell(Observation::Failed {
            flow: self.work.flow,
            bytes: (self.work.count - self.done) as u32,
        }));
    }

    fn tell(&mut self, note: LockNote) {
        let what = Observation::own(self.work.flow, note);
        self.first.push_back(Step::Tell(what));
    }
}

#[cfg(test)]
mod tests;
