//! The FIFO of a read master. It divides descriptors into bursts. The data of the bursts arrives in any order, and leaves in the order of the
//! requests.

use kernel::Time;

use super::prefetcher::TAGS;
use super::{Descriptor, Dispatcher, Engine};
use crate::fpga_card::Shell;
use crate::fpga_card::misuse::LONGEST;

/// The FIFO of a read master. `T` is a value that it stores for each burst besides the data.
#[derive(Debug)]
pub(crate) struct ReadFifo<T> {
    bursts: Vec<Burst<T>>,
    /// Numbers of the next burst to leave and of the next burst to read. The index of a burst is its number modulo the size of the FIFO.
    next_out: u32,
    next_read: u32,
    /// The descriptor that is being read, and the offset of its next burst.
    reading: Option<(Descriptor, u32)>,
    /// Number of descriptors whose reads are all requested, and whose data has not completely left the FIFO.
    unfinished: usize,
    /// Number of outstanding reads of host memory.
    awaited: u32,
    /// Number of outstanding reads of host memory whose answers will be dropped.
    discarded: u32,
    /// The time at which all requested reads from memories other than host memory are complete.
    reads_done: Time,
    /// Whether the next descriptor must wait until all reads are complete.
    holds: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Burst<T> {
    /// The additional value of the burst, besides its data.
    pub(crate) what: T,
    /// The time at which the data is available; never while the read of host memory is outstanding.
    pub(crate) ready: Time,
    pub(crate) ends: Option<Descriptor>,
    len: u16,
    data: [u8; LONGEST],
}

/// Number of bursts in the FIFO: 32 KiB.
const BURSTS: usize = 128;

impl<T> Burst<T> {
    pub(crate) fn data(&self) -> &[u8] {
        &self.data[..usize::from(self.len)]
    }
}

impl<T: Clone> ReadFifo<T> {
    /// An empty FIFO; `what` is the initial value of its bursts.
    pub(crate) fn new(what: T) -> Self {
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
            discarded: 0,
            reads_done: Time::ZERO,
            holds: false,
        }
    }
}

impl<T> ReadFifo<T> {
    /// Number of descriptors that have begun and whose data has not completely left the FIFO.
    pub(crate) fn unfinished(&self) -> usize {
        usize::from(self.reading.is_some()) + self.unfinished
    }

    /// Whether answers to outstanding reads of host memory will be dropped.
    pub(crate) fn drops_answers(&self) -> bool {
        self.discarded > 0
    }

    /// The state for the dispatcher's status registers, if a master has no other state than this FIFO.
    pub(crate) fn engine(&self) -> Engine {
        Engine {
            begun: self.unfinished(),
            unwritten: self.unfinished(),
            awaited: self.awaited > 0,
            resetting: self.discarded > 0,
            ..Engine::default()
        }
    }

    /// Discards all work. Answers to outstanding reads are dropped, and no read begins before they have arrived.
    pub(crate) fn discard(&mut self) {
        self.discarded = self.awaited;
        self.next_out = self.next_read;
        self.reading = None;
        self.unfinished = 0;
        self.reads_done = Time::ZERO;
        self.holds = false;
    }

    /// Handles the host's answer to the read of burst `number`. If the read has failed, all bits of its data are ones.
    pub(crate) fn answered(&mut self, number: u32, data: Option<&[u8]>, now: Time) {
        self.awaited -= 1;
        if self.discarded > 0 {
            self.discarded -= 1;
            return;
        }
        let burst = &mut self.bursts[number as usize % BURSTS];
        match data {
            Some(data) => burst.data[..data.len()].copy_from_slice(data),
            None => burst.data.fill(0xff),
        }
        burst.ready = now;
    }

    /// The next data to read: a descriptor and an offset in it. If no descriptor is being read, the next one begins if possible. Returns none if
    /// no data can be read now.
    pub(crate) fn next(
        &mut self,
        dispatcher: &mut Dispatcher,
        shell: &mut Shell<'_>,
    ) -> Option<(Descriptor, u32)> {
        let is_full = self.next_read.wrapping_sub(self.next_out) as usize == BURSTS;
        if is_full || self.discarded > 0 {
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

    /// The number of the next burst to read, and its buffer of `len` bytes.
    pub(crate) fn room(&mut self, len: usize) -> (u32, &mut [u8]) {
        let burst = &mut self.bursts[self.next_read as usize % BURSTS];
        (self.next_read % TAGS, &mut burst.data[..len])
    }

    /// Adds the burst of `len` bytes whose data [`next`](Self::next) has returned. The data is available at `ready`, which is never if it is
    /// requested from the host. The descriptor ends with this burst if `is_last`.
    pub(crate) fn push(
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

    /// The next burst to leave, and its number.
    pub(crate) fn front(&self) -> Option<(u32, &Burst<T>)> {
        let is_empty = self.next_out == self.next_read;
        (!is_empty).then(|| {
            (
                self.next_out % TAGS,
                &self.bursts[self.next_out as usize % BURSTS],
            )
        })
    }

    /// Removes the burst that leaves, and returns the descriptor if this was its last burst.
    pub(crate) fn pop(&mut self) -> Option<Descriptor> {
        let ends = self.bursts[self.next_out as usize % BURSTS].ends;
        self.next_out = self.next_out.wrapping_add(1);
        self.unfinished -= usize::from(ends.is_some());
        ends
    }
}
