//! Closed-loop accesses: one after the other, each measured until its last byte is where it should be.

use kernel::{Span, Stream, Time};
use packet::{FlowId, Observation};
use protocol::AtomicOperation;
use protocol::coherence::{AtomicChange, AtomicFunction, LINE_BYTES, LineAtomic};

use crate::Pattern;

/// What each access does with its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Reads them.
    Read,
    /// Writes them.
    Write,
    /// An atomic operation on each, which are a value of as many bytes.
    Atomic(AtomicAccess),
}

/// The atomic operations that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicAccess {
    /// One is added; nothing comes back.
    Store,
    /// One is added; what was there before comes back.
    Load,
    /// Zero is put there.
    Swap,
    /// Zero is put there if zero is there.
    Compare,
}

impl AtomicAccess {
    /// How PCI Express does it: there the value before always comes back.
    pub const fn operation(self) -> AtomicOperation {
        match self {
            Self::Store | Self::Load => AtomicOperation::FetchAdd,
            Self::Swap => AtomicOperation::Swap,
            Self::Compare => AtomicOperation::CompareAndSwap,
        }
    }

    /// The operation on the value of `width` bytes (4, 8 or 16) at `address`, a multiple of that.
    pub fn on(self, address: u64, width: usize) -> LineAtomic {
        let (change, operand) = match self {
            AtomicAccess::Store => (AtomicChange::Store(AtomicFunction::Add), 1),
            AtomicAccess::Load => (AtomicChange::Load(AtomicFunction::Add), 1),
            AtomicAccess::Swap => (AtomicChange::Swap, 0),
            AtomicAccess::Compare => (AtomicChange::Compare, 0),
        };
        let place = address as usize % LINE_BYTES;
        LineAtomic::new(change, place, width, [operand, 0])
            .expect("a plan has atomic operations on values at multiples of their width")
    }
}

/// Where the next access is.
#[derive(Clone, Debug)]
pub enum AccessOrder {
    /// Behind the last one, and at the end of the region at its beginning again.
    Sequential,
    /// At any multiple of its size, drawn each time.
    Random(Stream),
    /// At the beginning.
    Local,
}

/// Accesses to a region, one after the other.
#[derive(Clone, Debug)]
pub struct Accesses {
    /// Their name to the probes.
    pub flow: FlowId,
    /// What each does.
    pub kind: AccessKind,
    /// The first address of the region.
    pub address: u64,
    /// Its bytes, as many as one access at least.
    pub region: u64,
    /// Bytes of an access.
    pub size: u64,
    /// How many there are.
    pub count: u64,
    /// How many come before those, and are not measured.
    pub warm_up: u64,
    /// Where each is.
    pub order: AccessOrder,
    /// When the first begins.
    pub start: Time,
    /// From the end of each to the beginning of the next.
    pub interval: Span,
    /// What the software that starts each takes around it, beside that interval.
    pub turnaround: Span,
    /// What the region holds and is written with.
    pub pattern: Pattern,
    /// Whether what is read must be that.
    pub check: bool,
}

/// How far accesses have come.
#[derive(Clone, Debug)]
pub struct AccessLoop {
    /// What they are.
    pub what: Accesses,
    begun: u64,
    ended: u64,
    next_start: Time,
    next_offset: u64,
}

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneAccess {
    /// Where its first byte stands in the region.
    pub offset: u64,
    /// When it began.
    pub born: Time,
    /// Whether it is measured.
    pub measured: bool,
}

impl Accesses {
    /// What the bytes must be that are read, if that is checked.
    pub fn expected(&self) -> Option<Pattern> {
        (self.check && self.kind == AccessKind::Read).then_some(self.pattern)
    }
}

impl AccessLoop {
    /// Accesses of which none has begun.
    pub fn new(what: Accesses) -> Self {
        AccessLoop {
            begun: 0,
            ended: 0,
            next_start: what.start,
            next_offset: 0,
            what,
        }
    }

    /// Whether all have begun.
    pub fn is_over(&self) -> bool {
        self.begun == self.what.count + self.what.warm_up
    }

    /// When the next begins.
    pub fn next_start(&self) -> Time {
        self.next_start
    }

    /// Begins the next, which is due and is there.
    pub fn begin(&mut self, now: Time) -> OneAccess {
        let places = self.what.region / self.what.size;
        let offset = match &mut self.what.order {
            AccessOrder::Sequential => {
                let offset = self.next_offset;
                self.next_offset = (offset / self.what.size + 1) % places * self.what.size;
                offset
            }
            AccessOrder::Random(stream) => stream.below(places) * self.what.size,
            AccessOrder::Local => 0,
        };
        self.begun += 1;
        OneAccess {
            offset,
            born: now,
            measured: self.begun > self.what.warm_up,
        }
    }

    /// The access that had begun ends at `at`: what to tell of it, if anything.
    pub fn end(&mut self, one: OneAccess, at: Time, intact: bool) -> Option<Observation> {
        self.ended += 1;
        self.leave(at);
        one.measured.then_some(Observation::Delivered {
            flow: self.what.flow,
            bytes: self.what.size as u32,
            offset: one.offset,
            born: one.born,
            last: true,
            intact,
        })
    }

    /// The access that had begun has failed.
    pub fn fail(&mut self, one: OneAccess, at: Time) -> Option<Observation> {
        self.ended += 1;
        self.leave(at);
        one.measured.then_some(Observation::Failed {
            flow: self.what.flow,
            bytes: self.what.size as u32,
        })
    }

    fn leave(&mut self, at: Time) {
        self.next_start = at + self.what.turnaround + self.what.interval;
    }

    /// No more begin, and the one that has begun does not end: how many of those that are measured will not.
    pub fn abandon(&mut self) -> u64 {
        let all = self.what.count + self.what.warm_up;
        let left = all - self.ended.max(self.what.warm_up);
        (self.begun, self.ended) = (all, all);
        left
    }

    /// What to tell at the beginning: how much will be asked for in all.
    pub fn announced(&self) -> Observation {
        Observation::Ended {
            flow: self.what.flow,
            bytes: self.what.size * self.what.count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accesses(order: AccessOrder) -> Accesses {
        Accesses {
            flow: FlowId(0),
            kind: AccessKind::Read,
            address: 0x1000,
            region: 100,
            size: 40,
            count: 2,
            warm_up: 1,
            order,
            start: Time::from_fs(7),
            interval: Span::from_ns(5),
            turnaround: Span::from_ns(30),
            pattern: Pattern::new(1, 0),
            check: false,
        }
    }

    #[test]
    fn the_next_begins_after_the_software_and_the_interval() {
        let mut all = AccessLoop::new(accesses(AccessOrder::Local));
        assert_eq!(all.next_start(), Time::from_fs(7));
        let one = all.begin(all.next_start());
        let end = Time::ZERO + Span::from_ns(100);
        all.end(one, end, true);
        assert_eq!(all.next_start(), end + Span::from_ns(35));
        let other = all.begin(all.next_start());
        all.fail(other, end + Span::from_ns(50));
        assert_eq!(all.next_start(), end + Span::from_ns(85));
    }

    #[test]
    fn those_before_the_measured_ones_are_not_told() {
        let mut all = AccessLoop::new(accesses(AccessOrder::Sequential));
        let mut told = Vec::new();
        while !all.is_over() {
            let one = all.begin(all.next_start());
            let what = all.end(one, one.born, true);
            told.push((one.offset, what.is_some()));
        }
        // Of 100 bytes the last 20 are no access.
        assert_eq!(told, [(0, false), (40, true), (0, true)]);
    }
}
