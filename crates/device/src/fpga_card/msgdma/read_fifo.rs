//! What a read master has: descriptors cut into bursts, whose data come in any order and leave in the one in which they were asked for.

use kernel::Time;

use super::{Descriptor, Dispatcher};
use crate::fpga_card::Shell;
use crate::fpga_card::host_interface::LONGEST;

/// The FIFO of a read master; `T` is what it remembers of a burst besides its data.
#[derive(Debug)]
pub(in crate::fpga_card) struct ReadFifo<T> {
    bursts: Vec<Burst<T>>,
    /// Numbers of the burst that leaves next, and of the one that is read next; each is at that index modulo their count.
    next_out: u32,
    next_read: u32,
    /// The descriptor that is being read, and how far.
    reading: Option<(Descriptor, u32)>,
    /// Descriptors that are read in full and have not left in full.
    unfinished: usize,
    /// Answers of the host that are to come.
    awaited: u32,
    /// Those of them that nobody needs any more.
    forgotten: u32,
    /// When all that was read so far from elsewhere has come.
    reads_done: Time,
    /// Whether the next descriptor must wait until everything was read.
    holds: bool,
}

/// Data on its way.
#[derive(Clone, Debug)]
pub(in crate::fpga_card) struct Burst<T> {
    /// What is remembered of it.
    pub(in crate::fpga_card) what: T,
    /// When it is there; never while the host has not answered.
    pub(in crate::fpga_card) ready: Time,
    /// The descriptor that ends with it.
    pub(in crate::fpga_card) ends: Option<Descriptor>,
    len: u16,
    data: [u8; LONGEST],
}

/// Bursts of the FIFO: 32 KiB.
const BURSTS: usize = 128;

impl<T> Burst<T> {
    /// Its bytes.
    pub(in crate::fpga_card) fn data(&self) -> &[u8] {
        &self.data[..usize::from(self.len)]
    }
}

impl<T: Clone> ReadFifo<T> {
    /// An empty one, whose bursts begin with `what`.
    pub(in crate::fpga_card) fn new(what: T) -> Self {
        let burst = Burst {
            what,
            ready: Time::NEVER,
            ends: None,
            len: 0,
            data: [0; LONGEST],
        };
        ReadFifo {
            bursts: vec![burst; BURSTS],
            next_out: 0,
            next_read: 0,
            reading: None,
            unfinished: 0,
            awaited: 0,
            forgotten: 0,
            reads_done: Time::ZERO,
            holds: false,
        }
    }
}

impl<T> ReadFifo<T> {
    /// Descriptors that were begun and have not left in full.
    pub(in crate::fpga_card) fn unfinished(&self) -> usize {
        usize::from(self.reading.is_some()) + self.unfinished
    }

    /// Whether the host is to answer yet, and whether only what nobody needs any more.
    pub(in crate::fpga_card) fn awaits(&self) -> (bool, bool) {
        (self.awaited > 0, self.forgotten > 0)
    }

    /// Forgets all that is under way. What the host will answer yet goes nowhere, and nothing is read before.
    pub(in crate::fpga_card) fn forget(&mut self) {
        self.forgotten = self.awaited;
        self.next_out = self.next_read;
        self.reading = None;
        self.unfinished = 0;
        self.reads_done = Time::ZERO;
        self.holds = false;
    }

    /// The host has answered the read of burst `number`. A read that failed gives all ones.
    pub(in crate::fpga_card) fn answered(&mut self, number: u32, data: Option<&[u8]>, now: Time) {
        self.awaited -= 1;
        if self.forgotten > 0 {
            self.forgotten -= 1;
            return;
        }
        let burst = &mut self.bursts[number as usize % BURSTS];
        match data {
            Some(data) => burst.data[..data.len()].copy_from_slice(data),
            None => burst.data.fill(0xff),
        }
        burst.ready = now;
    }

    /// What is to be read next: a descriptor, and how far it was read. The next one begins if the last one lets it. Nothing if that must
    /// wait.
    pub(in crate::fpga_card) fn next(
        &mut self,
        dispatcher: &mut Dispatcher,
        shell: &mut Shell<'_>,
    ) -> Option<(Descriptor, u32)> {
        let is_full = self.next_read.wrapping_sub(self.next_out) as usize == BURSTS;
        if is_full || self.forgotten > 0 {
            return None;
        }
        if self.reading.is_none() && dispatcher.has_next() && self.may_begin(shell) {
            self.reading = dispatcher.begin().map(|descriptor| (descriptor, 0));
        }
        self.reading
    }

    fn may_begin(&self, shell: &mut Shell<'_>) -> bool {
        if self.holds && self.reads_done > shell.now() {
            shell.wake_at(self.reads_done);
        }
        !self.holds || self.awaited == 0 && self.reads_done <= shell.now()
    }

    /// The number of the burst that is read next, and room for so many bytes.
    pub(in crate::fpga_card) fn room(&mut self, len: usize) -> (u32, &mut [u8]) {
        let burst = &mut self.bursts[self.next_read as usize % BURSTS];
        (self.next_read, &mut burst.data[..len])
    }

    /// That burst is under way: `len` bytes of what is [next](Self::next), there at `ready`, or never if the host is to answer. The
    /// descriptor may end with it.
    pub(in crate::fpga_card) fn push(
        &mut self,
        what: T,
        (len, ready): (u64, Time),
        is_last: bool,
        dispatcher: &mut Dispatcher,
    ) {
        let Some((descriptor, offset)) = self.reading.take() else {
            return;
        };
        if ready == Time::NEVER {
            self.awaited += 1;
        } else {
            self.reads_done = self.reads_done.max(ready);
        }
        let burst = &mut self.bursts[self.next_read as usize % BURSTS];
        burst.what = what;
        burst.ready = ready;
        burst.len = len as u16;
        burst.ends = is_last.then_some(descriptor);
        self.next_read = self.next_read.wrapping_add(1);
        if is_last {
            dispatcher.sequence[0] = descriptor.sequence;
            self.holds = !descriptor.control.is_done_early();
            self.unfinished += 1;
        } else {
            self.reading = Some((descriptor, offset + len as u32));
        }
    }

    /// The burst that leaves next, and its number.
    pub(in crate::fpga_card) fn front(&self) -> Option<(u32, &Burst<T>)> {
        let is_empty = self.next_out == self.next_read;
        (!is_empty).then(|| (self.next_out, &self.bursts[self.next_out as usize % BURSTS]))
    }

    /// It has left: the descriptor that ended with it.
    pub(in crate::fpga_card) fn pop(&mut self) -> Option<Descriptor> {
        let ends = self.bursts[self.next_out as usize % BURSTS].ends;
        self.next_out = self.next_out.wrapping_add(1);
        self.unfinished -= usize::from(ends.is_some());
        ends
    }
}
