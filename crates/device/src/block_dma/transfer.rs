//! One transfer of a DMA engine for blocks: its data and its progress.

use kernel::Time;
use packet::{FlowId, Observation};
use protocol::AtomicOperation;
use transaction::{AccessKind, AccessLoop, Accesses, AtomicAccess, Memory, OneAccess};

use crate::requests::{Atomic, Ended};

/// A transfer in progress.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) work: usize,
    pub(super) one: OneAccess,
    /// Address of the first byte in the card's memory; none if a pattern makes the data.
    card: Option<u64>,
    pub(super) stage: Stage,
    /// Whether all data was as expected, and no request has failed.
    intact: bool,
    pub(super) failed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The request of the transfer is not made yet.
    Starting,
    /// The packets of the transfer are being sent, or completions are outstanding.
    Moving,
    /// All completions have arrived, or the request has failed.
    Answered,
}

impl Transfer {
    /// A transfer for the access `one` of sequence `work`. Its data is in the card's memory at `card`. Without `card`, the pattern of the
    /// sequence makes the data of writes, and reads are checked against it.
    pub(super) fn new(work: usize, one: OneAccess, card: Option<u64>) -> Self {
        Transfer {
            work,
            one,
            card,
            stage: Stage::Starting,
            intact: true,
            failed: false,
        }
    }

    /// The atomic operation and its operands (little-endian); none if the transfer is a read or a write.
    pub(super) fn atomic(&self) -> Option<Atomic> {
        let AccessKind::Atomic(kind) = self.one.kind else {
            return None;
        };
        Some(atomic(kind, self.one.size as usize))
    }

    /// Fills a packet with the data of a write, from `offset` on.
    pub(super) fn fill(&self, offset: u64, into: &mut [u8], what: &Accesses, memory: &Memory) {
        match self.card {
            Some(card) => memory.read(card + offset, into),
            None => what.pattern.fill(self.one.offset + offset, into),
        }
    }

    /// Takes the data of a read, from `offset` on: stores it in the card's memory if the transfer uses it, and compares it with the pattern of
    /// the sequence if the sequence is checked.
    pub(super) fn keep(&mut self, offset: u64, bytes: &[u8], what: &Accesses, memory: &mut Memory) {
        if self.one.kind == AccessKind::Read
            && let Some(card) = self.card
        {
            memory.write(card + offset, bytes);
        }
        let pattern = what.expected(self.one);
        self.intact &= pattern.is_none_or(|all| all.matches(self.one.offset + offset, bytes));
    }

    /// Takes the end of the request: all its completions have arrived, or it has failed.
    pub(super) fn answered(&mut self, ended: &Ended<()>) {
        self.stage = Stage::Answered;
        self.failed = ended.failed.is_some();
    }

    pub(super) fn flow(&self, what: &Accesses) -> Option<FlowId> {
        self.one.measured.then_some(what.flow)
    }

    /// Ends the transfer at `at`; returns the observation to report, if there is one.
    pub(super) fn end(&self, work: &mut AccessLoop, at: Time) -> Option<Observation> {
        if self.failed {
            work.fail(self.one, at)
        } else {
            work.end(self.one, at, self.intact)
        }
    }
}

/// An atomic operation on a value of `width` bytes, with its operands.
fn atomic(kind: AtomicAccess, width: usize) -> Atomic {
    let operation = kind.operation();
    let mut operands = vec![0; operation.operands() * width];
    if operation == AtomicOperation::FetchAdd {
        operands[0] = 1;
    }
    (operation, operands)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::Span;
    use peerlane_device::Failure;
    use transaction::{AccessOrder, Pattern};

    fn accesses(size: u64) -> Accesses {
        Accesses {
            flow: FlowId(0),
            kind: AccessKind::Read,
            address: 0x1000,
            region: size,
            size,
            count: 1,
            warm_up: 0,
            order: AccessOrder::Local,
            start: Time::ZERO,
            interval: Span::ZERO,
            turnaround: Span::ZERO,
            pattern: Pattern::new(1, 0),
            check: true,
            driven: false,
        }
    }

    #[test]
    fn an_atomic_operation_has_its_operands() {
        let one = [1, 0, 0, 0];
        for (kind, operation, operands) in [
            (AtomicAccess::Store, AtomicOperation::FetchAdd, &one[..]),
            (AtomicAccess::Load, AtomicOperation::FetchAdd, &one[..]),
            (AtomicAccess::Swap, AtomicOperation::Swap, &[0; 4]),
            (
                AtomicAccess::Compare,
                AtomicOperation::CompareAndSwap,
                &[0; 8],
            ),
        ] {
            assert_eq!(atomic(kind, 4), (operation, operands.to_vec()));
        }
    }

    #[test]
    fn a_read_is_intact_only_if_every_byte_is_what_was_there() {
        let what = accesses(8);
        for (wrong, failed) in [(0, None), (1, None), (0, Some(Failure::Unsupported))] {
            let one = AccessLoop::new(what.clone()).begin(Time::ZERO);
            let mut transfer = Transfer::new(0, one, None);
            let mut bytes = [0; 8];
            what.pattern.fill(0, &mut bytes);
            bytes[7] ^= wrong;
            transfer.keep(0, &bytes, &what, &mut Memory::new(0));
            transfer.answered(&Ended { what: (), failed });
            let told = transfer.end(&mut AccessLoop::new(what.clone()), Time::ZERO);
            let good = failed.is_none();
            match told {
                Some(Observation::Delivered { intact, .. }) if good => {
                    assert_eq!(intact, wrong == 0);
                }
                Some(Observation::Failed { .. }) => assert!(!good),
                other => panic!("{other:?} is told of a transfer at its end"),
            }
        }
    }
}
