//! The steps of work under locks.

use std::collections::VecDeque;

use kernel::{Span, Time};
use locktable::{
    Acquire, Acquired, Bucket, Machine, Owner, Queue, Release, Released, Wait, Waited,
};
use packet::Observation;
use protocol::coherence::LINE_BYTES;

use super::{LockNote, LockedWork, Under, WordAccess, WordOperation, successor};

/// The next action of the party that does the work.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Works for this time.
    Work(Span),
    /// Does nothing until this time.
    Sleep(Time),
    /// Performs an access and passes its result to [`LockedLoop::answered`].
    Access(WordAccess),
    /// Reports an observation to the probes.
    Report(Observation),
    /// The work is complete.
    Over,
}

/// The progress of work under locks.
#[derive(Clone, Debug)]
pub struct LockedLoop {
    work: LockedWork,
    done: u64,
    next_start: Time,
    /// The steps that are executed before the step of the current stage.
    first: VecDeque<Step>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The next piece of work has not started.
    Between,
    /// A piece of work is at this point.
    Doing(Piece, Point),
    /// All work is done or has been given up.
    Over,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    born: Time,
    /// The number and the address of the bucket.
    index: u64,
    bucket: Bucket,
    /// The row to update, for updates.
    row: u64,
    /// The number of compare-and-swaps of requests for which the queue was full.
    swaps: u32,
}

#[derive(Clone, Copy, Debug)]
enum Point {
    /// The lock is being requested. The current compare-and-swap started at this time.
    Requesting(Acquire, Time),
    /// The owner waits in a queue.
    Waiting(Wait),
    /// The lock is held, and the current version is being read.
    Reading,
    /// The next version is being written.
    Writing(u128),
    /// The lock is being released.
    Releasing(Release),
}

impl LockedLoop {
    /// Creates work that has not started.
    pub fn new(work: LockedWork) -> Self {
        let announced = Observation::Ended {
            flow: work.flow,
            bytes: work.count,
        };
        LockedLoop {
            done: 0,
            next_start: work.start,
            first: VecDeque::from([Step::Report(announced)]),
            stage: Stage::Between,
            work,
        }
    }

    /// Returns the next step. The caller calls again after the step has ended, or after [`answered`](Self::answered).
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

    /// Starts the next piece of work if it is due.
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

    /// Handles the result of an access: the word that was read, or any value for a store.
    pub fn answered(&mut self, word: u128, now: Time) {
        let Stage::Doing(piece, point) = self.stage else {
            panic!("a result is passed only after Step::Access");
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

    /// Handles the queue word that an access has returned.
    fn found(&mut self, piece: Piece, point: Point, queue: Queue, now: Time) -> Stage {
        match point {
            Point::Requesting(mut acquire, since) => match acquire.answered(queue) {
                None => Stage::Doing(piece, Point::Requesting(acquire, since)),
                Some(acquired) => {
                    let swaps = piece.swaps + acquire.swaps();
                    let piece = Piece { swaps, ..piece };
                    let last = queue.owners().last();
                    self.acquired(piece, acquired, last, (now.since(since), now))
                }
            },
            Point::Waiting(mut wait) => match wait.answered(queue) {
                None => {
                    self.first.push_back(Step::Work(self.work.poll));
                    Stage::Doing(piece, Point::Waiting(wait))
                }
                Some(Waited::Held) => self.hold(piece, now),
                Some(Waited::Removed) => self.lose(piece),
            },
            Point::Releasing(mut release) => match release.answered(queue) {
                None => Stage::Doing(piece, Point::Releasing(release)),
                Some(Released::Passed { .. }) => self.end(piece, now),
                Some(Released::NotHeld) => self.lose(piece),
            },
            Point::Reading | Point::Writing(_) => panic!("a row is not a queue word"),
        }
    }

    /// Handles the end of a request at `now`. Its last compare-and-swap took the time `took`, and found the owner `last` at the end of the
    /// queue.
    fn acquired(
        &mut self,
        piece: Piece,
        acquired: Acquired,
        last: Option<Owner>,
        (took, now): (Span, Time),
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
                self.report(requested);
                self.report(placed);
                self.hold(piece, now)
            }
            Acquired::Queued { .. } => {
                self.report(requested);
                self.report(placed);
                let wait = Wait::new(piece.bucket, self.work.owner);
                Stage::Doing(piece, Point::Waiting(wait))
            }
            Acquired::Full => {
                self.first.push_back(Step::Work(self.work.poll));
                self.request(piece)
            }
            // An owner requests only one lock at a time, so that another party must have written this entry.
            Acquired::Present { .. } => self.lose(piece),
        }
    }

    /// Starts the work under a lock that is now held.
    fn hold(&mut self, piece: Piece, now: Time) -> Stage {
        let bucket = piece.index;
        self.report(LockNote::Held { bucket });
        let took = now.since(piece.born);
        self.report(LockNote::Acquired { took });
        match self.work.under {
            Under::Update(_) => Stage::Doing(piece, Point::Reading),
            Under::Hold { span, .. } => {
                self.first.push_back(Step::Work(span));
                self.release(piece)
            }
        }
    }

    /// Starts to release the lock. The note is reported before the release is visible, so that notes never show two holders of one lock.
    fn release(&mut self, piece: Piece) -> Stage {
        let bucket = piece.index;
        self.report(LockNote::Releasing { bucket });
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
        self.first.push_back(Step::Report(Observation::Delivered {
            flow: self.work.flow,
            bytes: 1,
            offset: piece.row * LINE_BYTES as u64,
            born: piece.born,
            last: true,
            intact: true,
        }));
        Stage::Between
    }

    /// Gives up because the lock's memory is inconsistent: another party has written to it.
    fn lose(&mut self, piece: Piece) -> Stage {
        let bucket = piece.index;
        self.report(LockNote::Lost { bucket });
        self.fail();
        Stage::Over
    }

    /// Gives up all remaining work, because memory cannot be reached or is inconsistent.
    pub fn fail(&mut self) {
        self.stage = Stage::Over;
        self.first.push_back(Step::Report(Observation::failed(
            self.work.flow,
            (self.work.count - self.done) as u32,
            None,
        )));
    }

    fn report(&mut self, note: LockNote) {
        let what = Observation::own(self.work.flow, note);
        self.first.push_back(Step::Report(what));
    }
}

#[cfg(test)]
mod tests;
