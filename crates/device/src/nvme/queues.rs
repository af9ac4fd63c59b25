//! The pair of queues, as the controller sees it.

use super::entries::{COMPLETION, CompletionEntry, SUBMISSION, Status};

/// A ring of entries in host memory.
#[derive(Clone, Copy, Debug)]
struct Ring {
    address: u64,
    entries: u32,
    head: u32,
    tail: u32,
}

impl Ring {
    fn new(address: u64, entries: u32) -> Self {
        Ring {
            address,
            entries,
            head: 0,
            tail: 0,
        }
    }

    fn is_full(&self) -> bool {
        (self.tail + 1) % self.entries == self.head
    }
}

/// The queues of an enabled controller.
#[derive(Clone, Debug)]
pub(super) struct Queues {
    submission: Ring,
    completion: Ring,
    /// The phase tag of the next completion entry.
    phase: bool,
    /// Number of submission entries that are being read.
    fetching: u32,
}

impl Queues {
    /// Empty queues, each with its address and number of entries; none if a queue has less than two entries.
    pub(super) fn new(submission: (u64, u32), completion: (u64, u32)) -> Option<Self> {
        let is_valid = submission.1 >= 2 && completion.1 >= 2;
        is_valid.then(|| Queues {
            submission: Ring::new(submission.0, submission.1),
            completion: Ring::new(completion.0, completion.1),
            phase: true,
            fetching: 0,
        })
    }

    /// Moves the tail of the submission queue; the controller ignores a value beyond the queue.
    pub(super) fn set_tail(&mut self, tail: u32) {
        if tail < self.submission.entries {
            self.submission.tail = tail;
        }
    }

    /// Moves the head of the completion queue; the controller ignores a value beyond the queue.
    pub(super) fn set_head(&mut self, head: u32) {
        if head < self.completion.entries {
            self.completion.head = head;
        }
    }

    /// Whether software has taken every completion entry.
    pub(super) fn are_completions_taken(&self) -> bool {
        self.completion.head == self.completion.tail
    }

    /// The next read of submission entries, if there are any and none is in progress: address and number. The read has at most `most`
    /// entries, and stays within a page and before the end of the ring.
    pub(super) fn fetch(&mut self, most: u32) -> Option<(u64, u32)> {
        let ring = &self.submission;
        let end = if ring.tail < ring.head {
            ring.entries
        } else {
            ring.tail
        };
        let address = ring.address + u64::from(ring.head) * SUBMISSION;
        let page = protocol::MemoryRequest::room_at(address) / SUBMISSION;
        let count = (end - ring.head).min(most).min(page as u32);
        if self.fetching > 0 || count == 0 {
            return None;
        }
        self.fetching = count;
        Some((address, count))
    }

    /// Records that the entries of the last read have arrived.
    pub(super) fn fetched(&mut self) {
        let ring = &mut self.submission;
        ring.head = (ring.head + self.fetching) % ring.entries;
        self.fetching = 0;
    }

    /// The address and the bytes of the next completion entry, if the queue has space for it.
    pub(super) fn complete(
        &mut self,
        id: u16,
        status: Status,
    ) -> Option<(u64, [u8; COMPLETION as usize])> {
        let ring = &mut self.completion;
        if ring.is_full() {
            return None;
        }
        let entry = CompletionEntry {
            head: self.submission.head as u16,
            id,
            phase: self.phase,
            status,
        };
        let address = ring.address + u64::from(ring.tail) * COMPLETION;
        ring.tail = (ring.tail + 1) % ring.entries;
        self.phase ^= ring.tail == 0;
        Some((address, entry.emit()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(entries: u32) -> Queues {
        Queues::new((0x1000, entries), (0x2000, entries)).expect("the queues are long enough")
    }

    #[test]
    fn a_queue_of_one_entry_is_refused() {
        assert!(Queues::new((0x1000, 1), (0x2000, 2)).is_none());
        assert!(Queues::new((0x1000, 2), (0x2000, 1)).is_none());
    }

    #[test]
    fn a_read_of_entries_ends_at_the_end_of_the_ring() {
        let mut queues = queues(4);
        queues.set_tail(3);
        assert_eq!(queues.fetch(2), Some((0x1000, 2)));
        assert_eq!(queues.fetch(2), None);
        queues.fetched();
        queues.set_tail(1);
        assert_eq!(queues.fetch(8), Some((0x1080, 2)));
        queues.fetched();
        assert_eq!(queues.fetch(8), Some((0x1000, 1)));
        queues.fetched();
        assert_eq!(queues.fetch(8), None);
    }

    #[test]
    fn the_phase_is_inverted_at_each_pass_and_a_full_queue_takes_nothing() {
        let mut queues = queues(3);
        let mut complete = |head| {
            queues.set_head(head);
            let (address, bytes) = queues.complete(7, Status::Success)?;
            let entry = CompletionEntry::parse(&bytes).expect("the drive's own status");
            Some((address, entry.phase))
        };
        assert_eq!(complete(0), Some((0x2000, true)));
        assert_eq!(complete(0), Some((0x2010, true)));
        assert_eq!(complete(0), None);
        assert_eq!(complete(1), Some((0x2020, true)));
        assert_eq!(complete(2), Some((0x2000, false)));
        assert_eq!(complete(9), None);
        assert_eq!(complete(0), Some((0x2010, false)));
    }

    #[test]
    fn a_tail_beyond_the_queue_is_ignored() {
        let mut queues = queues(4);
        queues.set_tail(4);
        assert_eq!(queues.fetch(8), None);
    }
}
