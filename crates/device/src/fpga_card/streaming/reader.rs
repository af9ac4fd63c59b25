//! The memory-to-stream engine (M2S). It reads the data of descriptors in bursts, and sends it to the stream in order, one beat each cycle.

use kernel::Time;

use super::stream::{BEAT, Beat};
use super::{M2S_INTERRUPT, M2S_PREFETCHER};
use crate::fpga_card::Shell;
use crate::fpga_card::misuse::LONGEST;
use crate::fpga_card::msgdma::{Block, MemoryAddress, Outcome, ReadFifo};

#[derive(Debug)]
pub(super) struct Reader {
    pub(super) block: Block,
    /// The bursts that are read. The value of a burst is true if its first beat starts a packet.
    pub(super) fifo: ReadFifo<bool>,
    /// Number of bytes of the oldest burst that were sent to the stream.
    given: usize,
    /// The time from which the stream is free.
    free: Time,
}

impl Default for Reader {
    fn default() -> Self {
        Reader {
            block: Block::new(M2S_PREFETCHER, M2S_INTERRUPT),
            fifo: ReadFifo::new(false),
            given: 0,
            free: Time::ZERO,
        }
    }
}

impl Reader {
    pub(super) fn discard(&mut self) {
        self.fifo.discard();
        self.block.prefetcher.discard();
        self.given = 0;
    }

    /// Handles the host's answer to the read of burst `number`.
    pub(super) fn answered(&mut self, number: u32, data: Option<&[u8]>, now: Time) {
        if data.is_none() && !self.fifo.drops_answers() {
            self.block.dispatcher.fail();
        }
        self.fifo.answered(number, data, now);
    }

    /// Reads the next burst. Returns false if no burst can be read now.
    pub(super) fn read_next(&mut self, shell: &mut Shell<'_>) -> bool {
        if self.block.dispatcher.is_stopped() {
            return false;
        }
        let Some((descriptor, offset)) = self.fifo.next(&mut self.block.dispatcher, shell) else {
            return false;
        };
        let from = MemoryAddress::without_magic(descriptor.from.wrapping_add(offset.into()));
        let left = u64::from(descriptor.len - offset);
        let len = left.min(from.burst(LONGEST as u64));
        let (number, data) = self.fifo.room(len.next_multiple_of(BEAT as u64) as usize);
        let Some(ready) = from.read(data, number, shell) else {
            return false;
        };
        let is_last = len == left;
        let starts = offset == 0 && descriptor.control.generates_start_of_packet();
        self.fifo
            .push(starts, (len, ready), is_last, &mut self.block.dispatcher);
        true
    }

    /// Whether a beat is available now. If one will be available at a known later time, requests a wake-up.
    pub(super) fn has_beat(&mut self, shell: &mut Shell<'_>) -> bool {
        self.skip_nothing();
        let Some((_, burst)) = self.fifo.front() else {
            return false;
        };
        if burst.ready == Time::NEVER || self.block.dispatcher.is_stopped() {
            return false;
        }
        let due = burst.ready.max(self.free);
        if due > shell.now() {
            shell.wake_at(due);
            return false;
        }
        true
    }

    /// Ends descriptors without data, because they have no beat.
    fn skip_nothing(&mut self) {
        while self
            .fifo
            .front()
            .is_some_and(|(_, burst)| burst.data().is_empty())
        {
            self.finish_burst();
        }
    }

    /// Whether the next beat, which must be [available](Self::has_beat), starts or ends a packet.
    pub(super) fn bounds_packet(&self) -> bool {
        let Some((_, burst)) = self.fifo.front() else {
            return false;
        };
        let starts = burst.what && self.given == 0;
        let is_over = burst.data().len() - self.given <= BEAT;
        let ends = burst.ends.filter(|_| is_over);
        starts || ends.is_some_and(|one| one.control.generates_end_of_packet())
    }

    /// Takes the next beat, which must be [available](Self::has_beat). The stream time of a burst is added with its last beat.
    pub(super) fn take(&mut self, shell: &Shell<'_>) -> Beat {
        let (_, burst) = self
            .fifo
            .front()
            .expect("a beat is taken only when it is available");
        let left = &burst.data()[self.given..];
        let len = left.len().min(BEAT);
        let mut data = [0; BEAT];
        data[..len].copy_from_slice(&left[..len]);
        let is_over = len == left.len();
        let ends = burst.ends.filter(|_| is_over);
        let beat = Beat {
            data,
            len,
            ends_packet: ends.is_some_and(|one| one.control.generates_end_of_packet()),
        };
        self.given += len;
        if is_over {
            self.free = shell.now() + shell.cycle() * self.given.div_ceil(BEAT) as u64;
            self.finish_burst();
        }
        beat
    }

    fn finish_burst(&mut self) {
        self.given = 0;
        let Some(descriptor) = self.fifo.pop() else {
            return;
        };
        let outcome = Outcome {
            control: descriptor.control,
            len: descriptor.len,
            came: descriptor.len,
            ends_packet: descriptor.control.generates_end_of_packet(),
        };
        self.block.end(outcome, descriptor.control.interrupts());
    }
}
