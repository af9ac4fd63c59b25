//! Closed-loop accesses: each access starts after the previous one has completed, and is measured until its last byte arrives.

use kernel::{Span, Stream, Time};
use packet::{FlowId, Observation};
use protocol::AtomicOperation;
use protocol::coherence::{AtomicChange, AtomicFunction, LINE_BYTES, LineAtomic};

use crate::Pattern;

/// The operation of each access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Reads the bytes.
    Read,
    /// Writes the bytes.
    Write,
    /// Performs an atomic operation on the bytes, as one value.
    Atomic(AtomicAccess),
}

kernel::choices! { AccessKind:
    Self::Read => "read",
    Self::Write => "write",
    Self::Atomic(AtomicAccess::Store) => "atomic-store",
    Self::Atomic(AtomicAccess::Load) => "atomic-load",
    Self::Atomic(AtomicAccess::Swap) => "atomic-swap",
    Self::Atomic(AtomicAccess::Compare) => "atomic-compare",
}

impl AccessKind {
    /// Whether the operation returns bytes.
    pub const fn returns(self) -> bool {
        !matches!(self, Self::Write | Self::Atomic(AtomicAccess::Store))
    }
}

/// The atomic operations that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicAccess {
    /// Adds one. Returns nothing.
    Store,
    /// Adds one. Returns the old value.
    Load,
    /// Writes zero. Returns the old value.
    Swap,
    /// Writes zero if the value is zero. Returns the old value.
    Compare,
}

impl AtomicAccess {
    /// The PCI Express operation, which always returns the old value.
    pub const fn operation(self) -> AtomicOperation {
        match self {
            Self::Store | Self::Load => AtomicOperation::FetchAdd,
            Self::Swap => AtomicOperation::Swap,
            Self::Compare => AtomicOperation::CompareAndSwap,
        }
    }

    /// The operation on the value of `width` bytes (4, 8 or 16) at `address`, a multiple of `width`.
    pub fn on(self, address: u64, width: usize) -> LineAtomic {
        let (change, operand) = match self {
            AtomicAccess::Store => (AtomicChange::Store(AtomicFunction::Add), 1),
            AtomicAccess::Load => (AtomicChange::Load(AtomicFunction::Add), 1),
            AtomicAccess::Swap => (AtomicChange::Swap, 0),
            AtomicAccess::Compare => (AtomicChange::Compare, 0),
        };
        let place = address as usize % LINE_BYTES;
        LineAtomic::new(change, place, width, [operand, 0])
            .expect("an atomic operation of a plan is aligned to its width")
    }
}

/// The order of addresses.
#[derive(Clone, Debug)]
pub enum AccessOrder {
    /// Ascending addresses. After the end of the region, the order starts again at its beginning.
    Sequential,
    /// Random multiples of the access size.
    Random(Stream),
    /// Always the first address of the region.
    Local,
}

/// A sequence of accesses to one region, one at a time.
#[derive(Clone, Debug)]
pub struct Accesses {
    /// The number of the flow for the probes.
    pub flow: FlowId,
    /// The operation of each access.
    pub kind: AccessKind,
    /// The first address of the region.
    pub address: u64,
    /// The size of the region in bytes. It is at least the size of one access.
    pub region: u64,
    /// The size of each access in bytes.
    pub size: u64,
    /// The number of measured accesses.
    pub count: u64,
    /// The number of accesses before the measured ones. These accesses are not measured.
    pub warm_up: u64,
    /// The order of addresses.
    pub order: AccessOrder,
    /// The start time of the first access.
    pub start: Time,
    /// The time from the end of each access to the start of the next.
    pub interval: Span,
    /// The software time of each access, in addition to `interval`.
    pub turnaround: Span,
    /// The content of the region, and the data of writes.
    pub pattern: Pattern,
    /// Whether read data must match the pattern.
    pub check: bool,
    /// Whether software starts each access by registers of the device. If not, the device itself starts them.
    pub driven: bool,
}

/// The progress of accesses.
#[derive(Clone, Debug)]
pub struct AccessLoop {
    /// The description of the accesses.
    pub what: Accesses,
    begun: u64,
    ended: u64,
    next_start: Time,
    next_offset: u64,
}

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneAccess {
    /// The operation.
    pub kind: AccessKind,
    /// The offset of the access in the region.
    pub offset: u64,
    /// The size in bytes.
    pub size: u64,
    /// The time at which the access started.
    pub born: Time,
    /// Whether the access is measured.
    pub measured: bool,
}

impl Accesses {
    /// Accesses to any address that software starts. None of them is measured.
    pub fn unmeasured() -> Self {
        Accesses {
            flow: FlowId(u32::MAX),
            kind: AccessKind::Read,
            address: 0,
            region: u64::MAX,
            size: 0,
            count: 0,
            warm_up: u64::MAX,
            order: AccessOrder::Local,
            start: Time::NEVER,
            interval: Span::ZERO,
            turnaround: Span::ZERO,
            pattern: Pattern::new(0, 0),
            check: false,
            driven: true,
        }
    }

    /// The pattern that the data of `one` must match if it is read, or `None` if it is not checked.
    pub fn expected(&self, one: OneAccess) -> Option<Pattern> {
        (self.check && one.kind == AccessKind::Read).then_some(self.pattern)
    }
}

impl AccessLoop {
    /// Creates a sequence that has not started.
    pub fn new(what: Accesses) -> Self {
        AccessLoop {
            begun: 0,
            ended: 0,
            next_start: what.start,
            next_offset: 0,
            what,
        }
    }

    /// Whether no further access starts without software: all accesses have started, or software starts them.
    pub fn is_over(&self) -> bool {
        self.what.driven || self.begun == self.what.count + self.what.warm_up
    }

    /// The time at which the next access starts.
    pub fn next_start(&self) -> Time {
        self.next_start
    }

    /// Starts the next access. The caller must check that the access is due and that not all accesses have started.
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
        self.begin_commanded(self.what.kind, (offset, self.what.size), now)
    }

    /// The offset of an access that software commands, if it belongs to this sequence. It belongs to it if its kind and its size are the
    /// same, it is in the region, and not all accesses of the sequence have started.
    pub fn offset_of(&self, kind: AccessKind, address: u64, size: u64) -> Option<u64> {
        let is_one = self.what.driven
            && (kind, size) == (self.what.kind, self.what.size)
            && self.begun < self.what.count + self.what.warm_up;
        let offset = address.checked_sub(self.what.address)?;
        let end = offset.checked_add(size)?;
        (is_one && end <= self.what.region).then_some(offset)
    }

    /// Starts an access that software commands.
    pub fn begin_commanded(
        &mut self,
        kind: AccessKind,
        (offset, size): (u64, u64),
        now: Time,
    ) -> OneAccess {
        self.begun += 1;
        OneAccess {
            kind,
            offset,
            size,
            born: now,
            measured: self.begun > self.what.warm_up,
        }
    }

    /// Ends an access at time `at`. Returns its observation if it is measured.
    pub fn end(&mut self, one: OneAccess, at: Time, intact: bool) -> Option<Observation> {
        let counts = self.count_end(one, at);
        counts.then_some(Observation::Delivered {
            flow: self.what.flow,
            bytes: one.size as u32,
            offset: one.offset,
            born: one.born,
            last: true,
            intact,
        })
    }

    /// Ends an access that has failed at time `at`. Returns its observation if it is measured.
    pub fn fail(&mut self, one: OneAccess, at: Time) -> Option<Observation> {
        let counts = self.count_end(one, at);
        counts.then_some(Observation::failed(self.what.flow, one.size as u32, None))
    }

    /// Counts the end of an access at time `at`. Returns whether the access is measured and was not abandoned before.
    fn count_end(&mut self, one: OneAccess, at: Time) -> bool {
        self.leave(at);
        let all = self.what.count.saturating_add(self.what.warm_up);
        let counts = self.ended < all;
        self.ended += u64::from(counts);
        one.measured && counts
    }

    /// Sets the start of the next access: after the software time and the interval, counted from `at`.
    pub fn leave(&mut self, at: Time) {
        self.next_start = at + self.what.turnaround + self.what.interval;
    }

    /// Stops the sequence. Returns the number of measured accesses that have not ended.
    pub fn abandon(&mut self) -> u64 {
        let all = self.what.count.saturating_add(self.what.warm_up);
        let left = all - self.ended.max(self.what.warm_up);
        (self.begun, self.ended) = (all, all);
        left
    }

    /// The observation with the total number of bytes, which is reported at the start. `None` if no access is measured.
    pub fn announced(&self) -> Option<Observation> {
        (self.what.count > 0).then_some(Observation::Ended {
            flow: self.what.flow,
            bytes: self.what.size * self.what.count,
        })
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
            driven: false,
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
    fn a_commanded_access_belongs_to_a_sequence_only_as_one_of_its_accesses() {
        let mut what = accesses(AccessOrder::Local);
        assert_eq!(
            AccessLoop::new(what.clone()).offset_of(AccessKind::Read, 0x1000, 40),
            None,
            "software does not drive it"
        );
        what.driven = true;
        let mut all = AccessLoop::new(what);
        assert!(all.is_over(), "none starts by itself");
        for (kind, address, size, offset) in [
            (AccessKind::Read, 0x1000, 40, Some(0)),
            (AccessKind::Read, 0x103c, 40, Some(60)),
            (AccessKind::Read, 0x103d, 40, None),
            (AccessKind::Read, 0xfff, 40, None),
            (AccessKind::Read, 0x1000, 39, None),
            (AccessKind::Write, 0x1000, 40, None),
        ] {
            assert_eq!(all.offset_of(kind, address, size), offset, "{address:#x}");
        }
        let mut measured = Vec::new();
        while let Some(offset) = all.offset_of(AccessKind::Read, 0x1000, 40) {
            let one = all.begin_commanded(AccessKind::Read, (offset, 40), Time::ZERO);
            measured.push(all.end(one, Time::ZERO, true).is_some());
        }
        assert_eq!(measured, [false, true, true]);
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
        // The last 20 of 100 bytes are too few for an access.
        assert_eq!(told, [(0, false), (40, true), (0, true)]);
    }
}
