//! The queues of the controller: their places in host memory, and the positions of their heads and tails (NVM Express 1.4, section 4.1).

use std::collections::VecDeque;

use crate::command::{COMPLETION, Completion, SUBMISSION};

#[derive(Clone, Debug, Default)]
pub struct SubmissionQueue {
    /// Address of the first entry.
    pub base: u64,
    /// Number of entries, at least 2.
    pub entries: u32,
    /// The identifier of the completion queue for the commands of this queue.
    pub completions: u16,
    /// The index of the entry that the controller reads next.
    pub head: u32,
    /// The index of the entry that software writes next.
    pub tail: u32,
    /// Whether entries are being read.
    pub is_fetching: bool,
    /// The command identifier of the admin command that deletes the queue, if software has sent one.
    pub deleted_by: Option<u16>,
}

impl SubmissionQueue {
    pub fn new(base: u64, entries: u32, completions: u16) -> Self {
        SubmissionQueue {
            base,
            entries,
            completions,
            ..SubmissionQueue::default()
        }
    }

    /// Moves the tail to the value of a doorbell. Returns false if the value is invalid: no entry has this index, or the tail does not change.
    pub fn ring(&mut self, tail: u32) -> bool {
        let is_right = tail < self.entries && tail != self.tail;
        if is_right {
            self.tail = tail;
        }
        is_right
    }

    /// The address and the number of the next entries to read. They are contiguous in memory, and at most `most`. None if no entry can be read.
    pub fn next(&self, most: u32) -> Option<(u64, u32)> {
        if self.is_fetching || self.deleted_by.is_some() {
            return None;
        }
        let end = if self.tail < self.head {
            self.entries
        } else {
            self.tail
        };
        let count = (end - self.head).min(most);
        let address = self.base + u64::from(self.head) * SUBMISSION;
        (count > 0).then_some((address, count))
    }

    /// Moves the head behind `count` entries that were read.
    pub fn take(&mut self, count: u32) {
        self.head = (self.head + count) % self.entries;
    }
}

#[derive(Clone, Debug, Default)]
pub struct CompletionQueue {
    /// Address of the first entry.
    base: u64,
    /// Number of entries, at least 2.
    entries: u32,
    /// The interrupt vector, if interrupts are enabled.
    pub vector: Option<u16>,
    /// The index of the entry that software reads next.
    head: u32,
    /// The index of the entry that the controller writes next.
    tail: u32,
    phase: bool,
    /// Ends of commands whose completion entries are not written yet, oldest first.
    pub waiting: VecDeque<Completion>,
    /// Number of entries for which no interrupt was signalled, because coalescing delays it.
    pub held: u32,
    /// The timer for the longest time for which coalescing delays the interrupt.
    pub timer: Option<u64>,
    /// Whether an interrupt waits until software clears the mask of its vector with `INTMC`.
    pub is_pending: bool,
}

impl CompletionQueue {
    pub fn new(base: u64, entries: u32, vector: Option<u16>) -> Self {
        CompletionQueue {
            base,
            entries,
            vector,
            phase: true,
            ..CompletionQueue::default()
        }
    }

    /// Whether software has taken all entries.
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Moves the head to the value of a doorbell. Returns false if the value is invalid: no entry has this index, the head does not change, or
    /// the head would pass entries that are not written.
    pub fn ring(&mut self, head: u32) -> bool {
        if head >= self.entries || head == self.head {
            return false;
        }
        let ahead = |from: u32| (from + self.entries - self.head) % self.entries;
        let is_right = ahead(head) <= ahead(self.tail);
        if is_right {
            self.head = head;
        }
        is_right
    }

    /// Removes the oldest waiting end of a command if the queue has space for its entry. Returns it with the address of the entry and the phase
    /// tag.
    pub fn next(&mut self) -> Option<(Completion, u64, bool)> {
        let after = (self.tail + 1) % self.entries;
        if after == self.head {
            return None;
        }
        let completion = self.waiting.pop_front()?;
        let address = self.base + u64::from(self.tail) * COMPLETION;
        let phase = self.phase;
        self.tail = after;
        self.phase ^= after == 0;
        Some((completion, address, phase))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_to_the_end_of_the_queue_and_then_from_its_beginning() {
        let mut queue = SubmissionQueue::new(0x1000, 4, 0);
        assert_eq!(queue.next(8), None);
        assert!(queue.ring(3) && !queue.ring(3) && !queue.ring(4));
        assert_eq!(queue.next(2), Some((0x1000, 2)));
        queue.take(3);
        assert!(queue.ring(1));
        assert_eq!(queue.next(8), Some((0x10c0, 1)));
        queue.take(1);
        assert_eq!(queue.next(8), Some((0x1000, 1)));
    }

    #[test]
    fn a_full_queue_waits_for_its_doorbell_and_the_phase_changes_at_each_pass() {
        let mut queue = CompletionQueue::new(0x1000, 2, None);
        let end = Completion {
            queue: 1,
            id: 0,
            outcome: Ok(0),
        };
        queue.waiting.extend([end; 3]);
        assert_eq!(queue.next(), Some((end, 0x1000, true)));
        assert_eq!(queue.next(), None);
        assert!(queue.ring(1) && !queue.ring(1) && !queue.ring(0) && !queue.ring(2));
        assert_eq!(queue.next(), Some((end, 0x1010, true)));
        assert!(queue.ring(0));
        assert_eq!(queue.next(), Some((end, 0x1000, false)));
    }
}
