//! One transfer: its requests and its progress.

use kernel::Time;
use packet::{Observation, PacketId, Packets, Stamp};
use protocol::{AtomicOperation, Completion, FunctionId, Header, MemoryRequest, Status};
use transaction::{
    AccessKind, AccessLoop, Accesses, AnsweredPart, AtomicAccess, Memory, OneAccess, Outstanding,
};

/// The requester's ID, and the largest requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) id: FunctionId,
    pub(super) max_payload: u32,
    pub(super) max_read_request: u32,
}

/// A transfer in progress.
#[derive(Debug)]
pub(super) struct Transfer {
    work: usize,
    one: OneAccess,
    /// Address of the first byte.
    address: u64,
    /// Address of the first byte in the card's memory, if the data is there.
    card: Option<u64>,
    /// Bytes requested, or written.
    issued: u64,
    /// Requests that are not complete.
    open: u32,
    intact: bool,
    /// Whether a request has failed, so that no further request is sent.
    failed: bool,
}

impl Transfer {
    /// A transfer for the access `one` of sequence `work`, with data made and checked by the sequence's pattern.
    pub(super) fn new(work: usize, one: OneAccess, what: &Accesses) -> Self {
        Transfer {
            work,
            one,
            address: what.address + one.offset,
            card: None,
            issued: 0,
            open: 0,
            intact: true,
            failed: false,
        }
    }

    /// Lets the transfer move its data from and to the card's memory, from `address` there on.
    pub(super) fn with_card_memory(mut self, address: u64) -> Self {
        self.card = Some(address);
        self
    }

    /// The access.
    pub(super) fn one(&self) -> OneAccess {
        self.one
    }

    /// The number of its sequence.
    pub(super) fn work(&self) -> usize {
        self.work
    }

    /// Whether all its requests were sent.
    pub(super) fn is_asked(&self) -> bool {
        self.failed || self.issued == self.one.size
    }

    /// Whether completions are outstanding.
    pub(super) fn is_awaited(&self) -> bool {
        self.open > 0
    }

    /// The next request; if it needs a tag, one must be free.
    pub(super) fn next(
        &mut self,
        what: &Accesses,
        limits: Limits,
        outstanding: &mut Outstanding<u64>,
        now: Time,
        (memory, packets): (&Memory, &mut Packets),
    ) -> PacketId {
        let (id, address) = (limits.id, self.address + self.issued);
        let packet = packets.claim();
        let content = &mut packets[packet];
        let len = match self.one.kind {
            AccessKind::Read => {
                let len = self.room(limits.max_read_request);
                let tag = self.begin(outstanding, len, now);
                let header = Header::memory_read(id, tag, address, len).expect(LEGAL);
                content.write(header, Stamp::default());
                len
            }
            AccessKind::Write => {
                let len = self.room(limits.max_payload);
                let header = Header::memory_write(id, address, len).expect(LEGAL);
                let lead = (address % 4) as usize;
                let bytes = content.write(header, Stamp::default());
                let bytes = &mut bytes[lead..lead + len as usize];
                match self.card {
                    Some(card) => memory.read(card + self.issued, bytes),
                    None => what.pattern.fill(self.one.offset + self.issued, bytes),
                }
                len
            }
            AccessKind::Atomic(kind) => {
                let len = self.one.size as u32;
                let tag = self.begin(outstanding, len, now);
                let header = Header::atomic((id, tag), kind.operation(), address, len);
                let header = header.expect("a plan has atomic operations of valid widths");
                set_operands(kind, content.write(header, Stamp::default()));
                len
            }
        };
        self.issued += u64::from(len);
        packet
    }

    /// The address and the length of the next request, if it is non-posted.
    pub(super) fn next_range(&self, limits: Limits) -> Option<(u64, u32)> {
        let len = match self.one.kind {
            AccessKind::Write => return None,
            AccessKind::Read => self.room(limits.max_read_request),
            AccessKind::Atomic(_) => self.one.size as u32,
        };
        Some((self.address + self.issued, len))
    }

    fn begin(&mut self, outstanding: &mut Outstanding<u64>, len: u32, now: Time) -> protocol::Tag {
        self.open += 1;
        let address = self.address + self.issued;
        outstanding.begin(self.issued, (address, len), now)
    }

    /// Size of the next request: at most `largest`, within a page.
    fn room(&self, largest: u32) -> u32 {
        let address = self.address + self.issued;
        // An unaligned packet is shorter, so that it has no more dwords than an aligned one.
        let largest = u64::from(largest) - address % 4;
        let room = MemoryRequest::room_at(address).min(largest);
        room.min(self.one.size - self.issued) as u32
    }

    /// Handles a completion of a request with `payload`, or a failure; read data must match the pattern of the sequence, if it is
    /// checked, or goes to the card's memory.
    pub(super) fn take(
        &mut self,
        part: &AnsweredPart<u64>,
        (completion, payload): (&Completion, &[u8]),
        what: &Accesses,
        memory: &mut Memory,
    ) {
        self.open -= u32::from(part.last);
        if completion.status != Status::Successful {
            self.failed = true;
            return;
        }
        let lead = usize::from(completion.lower_address) % 4;
        let bytes = payload.get(lead..lead + part.len as usize);
        let done = part.what + u64::from(part.offset);
        let Some(bytes) = bytes else {
            self.intact = false;
            return;
        };
        if self.one.kind == AccessKind::Read
            && let Some(card) = self.card
        {
            memory.write(card + done, bytes);
        }
        let pattern = what.expected(self.one);
        self.intact &= pattern.is_none_or(|all| all.matches(self.one.offset + done, bytes));
    }

    /// Handles a completion timeout.
    pub(super) fn lose(&mut self) {
        self.open -= 1;
        self.failed = true;
    }

    /// Whether a request has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Ends the transfer at `at`; returns what to report, if anything.
    pub(super) fn end(&self, work: &mut AccessLoop, at: Time) -> Option<Observation> {
        if self.failed {
            work.fail(self.one, at)
        } else {
            work.end(self.one, at, self.intact)
        }
    }
}

/// The operands of an atomic operation, little-endian.
fn set_operands(kind: AtomicAccess, operands: &mut [u8]) {
    operands.fill(0);
    if kind.operation() == AtomicOperation::FetchAdd {
        operands[0] = 1;
    }
}

const LEGAL: &str = "a request of a transfer stays within its page and the largest request";

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::Span;
    use packet::FlowId;
    use protocol::{Kind, Tag};
    use transaction::{AccessOrder, Pattern};
    use transaction::{CompletionBuffer, OutstandingLimits};

    const LIMITS: Limits = Limits {
        id: FunctionId(0x100),
        max_payload: 128,
        max_read_request: 512,
    };

    fn accesses(kind: AccessKind, address: u64, size: u64) -> Accesses {
        Accesses {
            flow: FlowId(0),
            kind,
            address,
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

    /// A transfer of which all requests were made: headers and payloads.
    fn requests(what: &Accesses) -> (Transfer, Vec<(Header, Vec<u8>)>) {
        let one = AccessLoop::new(what.clone()).begin(Time::ZERO);
        let mut transfer = Transfer::new(0, one, what);
        let mut outstanding = Outstanding::new(OutstandingLimits {
            tags: 32,
            completion_timeout: Span::from_us(50),
            tag_quarantine: Span::from_us(50),
            completion_buffer: CompletionBuffer::default(),
        });
        let mut packets = Packets::default();
        let mut all = Vec::new();
        while !transfer.is_asked() {
            let now = Time::ZERO;
            let stores = (&Memory::new(0), &mut packets);
            let packet = transfer.next(what, LIMITS, &mut outstanding, now, stores);
            let content = &packets[packet];
            all.push((*content.header(), content.payload().to_vec()));
        }
        (transfer, all)
    }

    fn range(header: &Header) -> (u64, u32) {
        match &header.kind {
            Kind::MemoryRead(request) | Kind::MemoryWrite(request) => {
                (request.first_byte(), request.byte_len())
            }
            other => panic!("{other:?} is no memory request"),
        }
    }

    #[test]
    fn writes_are_cut_at_the_max_payload_and_the_page() {
        let what = accesses(AccessKind::Write, 0xfbe, 200);
        let (transfer, all) = requests(&what);
        let ranges: Vec<_> = all.iter().map(|(header, _)| range(header)).collect();
        assert_eq!(ranges, [(0xfbe, 66), (0x1000, 128), (0x1080, 6)]);
        assert!(what.pattern.matches(66, &all[1].1));
        assert!(!transfer.is_awaited());
    }

    #[test]
    fn reads_are_cut_at_the_max_read_request_and_the_page() {
        let (transfer, all) = requests(&accesses(AccessKind::Read, 0xf01, 1000));
        let ranges: Vec<_> = all.iter().map(|(header, _)| range(header)).collect();
        assert_eq!(ranges, [(0xf01, 255), (0x1000, 512), (0x1200, 233)]);
        assert!(transfer.is_awaited());
    }

    #[test]
    fn an_atomic_operation_is_one_request_with_its_operands() {
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
            let (transfer, all) = requests(&accesses(AccessKind::Atomic(kind), 0x44, 4));
            let [(header, payload)] = &all[..] else {
                panic!("{all:?} are not one request")
            };
            let Kind::Atomic(request) = &header.kind else {
                panic!("{header:?} is no atomic operation")
            };
            assert_eq!((request.operation(), request.address()), (operation, 0x44));
            assert_eq!(payload, operands);
            assert!(transfer.is_awaited());
        }
    }

    #[test]
    fn a_read_is_intact_only_if_every_byte_is_what_was_there() {
        let what = accesses(AccessKind::Read, 0x1000, 8);
        for (wrong, status) in [
            (0, Status::Successful),
            (1, Status::Successful),
            (0, Status::UnsupportedRequest),
        ] {
            let (mut transfer, _) = requests(&what);
            let completion = Completion {
                completer: FunctionId(0),
                requester: LIMITS.id,
                tag: Tag(0),
                status,
                byte_count: 8,
                lower_address: 0,
                dwords: 2,
            };
            let part = AnsweredPart {
                what: 0,
                offset: 0,
                len: 8,
                last: true,
            };
            let mut bytes = [0; 8];
            what.pattern.fill(0, &mut bytes);
            bytes[7] ^= wrong;
            transfer.take(&part, (&completion, &bytes), &what, &mut Memory::new(0));
            assert!(!transfer.is_awaited());
            let told = transfer.end(&mut AccessLoop::new(what.clone()), Time::ZERO);
            let good = status == Status::Successful;
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
