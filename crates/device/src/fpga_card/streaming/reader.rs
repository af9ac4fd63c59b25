//! Memory to stream (M2S): reads what descriptors name, in bursts, and gives it out in order, a beat each cycle.

use kernel::Time;

use super::stream::{BEAT, Beat, Place};
use crate::fpga_card::Shell;
use crate::fpga_card::host_interface::LONGEST;
use crate::fpga_card::msgdma::{Descriptor, Dispatcher, Engine};

/// The read master.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) dispatcher: Dispatcher,
    bursts: Vec<Burst>,
    /// Numbers of the burst to be given out next, of which so many bytes are, and of the one to be read next.
    next_out: u32,
    given: usize,
    next_read: u32,
    reading: Option<(Descriptor, u32)>,
    /// Descriptors that are read in full and not given out in full.
    unfinished: usize,
    awaited: u32,
    forgotten: u32,
    /// When all that was read so far from the card's memory has come.
    reads_done: Time,
    holds: bool,
    /// When the stream is free.
    free: Time,
}

#[derive(Clone, Debug)]
struct Burst {
    len: u16,
    ready: Time,
    ends: Option<Descriptor>,
    data: [u8; LONGEST],
}

/// Bursts of the FIFO: 32 KiB.
const BURSTS: usize = 128;

impl Default for Reader {
    fn default() -> Self {
        let burst = Burst {
            len: 0,
            ready: Time::NEVER,
            ends: None,
            data: [0; LONGEST],
        };
        Reader {
            dispatcher: Dispatcher::default(),
            bursts: vec![burst; BURSTS],
            next_out: 0,
            given: 0,
            next_read: 0,
            reading: None,
            unfinished: 0,
            awaited: 0,
            forgotten: 0,
            reads_done: Time::ZERO,
            holds: false,
            free: Time::ZERO,
        }
    }
}

impl Reader {
    /// What its dispatcher shows of it.
    pub(super) fn state(&self) -> Engine {
        let begun = usize::from(self.reading.is_some()) + self.unfinished;
        Engine {
            begun,
            unwritten: begun,
            awaited: self.awaited > 0,
            resetting: self.forgotten > 0,
            ..Engine::default()
        }
    }

    /// Forgets all that is under way.
    pub(super) fn forget(&mut self) {
        self.forgotten = self.awaited;
        self.next_out = self.next_read;
        self.given = 0;
        self.reading = None;
        self.unfinished = 0;
        self.reads_done = Time::ZERO;
        self.holds = false;
    }

    /// The host has answered the read of burst `number`. A read that failed gives all ones.
    pub(super) fn answered(&mut self, number: u32, data: Option<&[u8]>, now: Time) {
        self.awaited -= 1;
        if self.forgotten > 0 {
            self.forgotten -= 1;
            return;
        }
        let burst = &mut self.bursts[number as usize % BURSTS];
        if let Some(data) = data {
            burst.data[..data.len()].copy_from_slice(data);
        } else {
            burst.data.fill(0xff);
            self.dispatcher.fail();
        }
        burst.ready = now;
    }

    /// Reads the next burst. False if that must wait.
    pub(super) fn read_next(&mut self, shell: &mut Shell<'_>) -> bool {
        let is_full = self.next_read.wrapping_sub(self.next_out) as usize == BURSTS;
        if is_full || self.forgotten > 0 || self.dispatcher.is_stopped() {
            return false;
        }
        if self.reading.is_none() && !self.begin(shell) {
            return false;
        }
        let Some((descriptor, offset)) = self.reading else {
            return false;
        };
        let from = Place::of(descriptor.from.wrapping_add(offset.into()));
        let left = u64::from(descriptor.len - offset);
        let len = left.min(from.burst());
        let number = self.next_read;
        let burst = &mut self.bursts[number as usize % BURSTS];
        let data = &mut burst.data[..len.next_multiple_of(BEAT as u64) as usize];
        let (now, nothing) = (shell.now(), data.is_empty());
        let answer = match from {
            _ if nothing => Some(now),
            Place::Host(_) if !shell.can_read() => return false,
            Place::Host(address) => match shell.read(address, data.len(), number) {
                Ok(()) => Some(Time::NEVER),
                Err(_) => None,
            },
            Place::Local(address) => shell.memory().read(address, data).ok(),
        };
        burst.ready = answer.unwrap_or_else(|| {
            data.fill(0xff);
            now
        });
        if burst.ready == Time::NEVER {
            self.awaited += 1;
        } else {
            self.reads_done = self.reads_done.max(burst.ready);
        }
        let is_last = len == left;
        burst.len = len as u16;
        burst.ends = is_last.then_some(descriptor);
        self.next_read = number.wrapping_add(1);
        if is_last {
            self.dispatcher.sequence[0] = descriptor.sequence;
            self.holds = !descriptor.control.is_done_early();
            self.unfinished += 1;
            self.reading = None;
        } else {
            self.reading = Some((descriptor, offset + len as u32));
        }
        true
    }

    fn begin(&mut self, shell: &mut Shell<'_>) -> bool {
        if !self.dispatcher.has_next() || self.holds && self.awaited > 0 {
            return false;
        }
        if self.holds && self.reads_done > shell.now() {
            shell.wake_at(self.reads_done);
            return false;
        }
        self.reading = self.dispatcher.begin().map(|descriptor| (descriptor, 0));
        self.reading.is_some()
    }

    /// Whether the stream has a beat now. If it has one later, it asks to be woken.
    pub(super) fn has_beat(&mut self, shell: &mut Shell<'_>) -> bool {
        self.skip_nothing();
        if self.next_out == self.next_read || self.dispatcher.is_stopped() {
            return false;
        }
        let burst = &self.bursts[self.next_out as usize % BURSTS];
        if burst.ready == Time::NEVER {
            return false;
        }
        let due = burst.ready.max(self.free);
        if due > shell.now() {
            shell.wake_at(due);
            return false;
        }
        true
    }

    /// Descriptors of no bytes end without a beat.
    fn skip_nothing(&mut self) {
        while self.next_out != self.next_read
            && self.bursts[self.next_out as usize % BURSTS].len == 0
        {
            self.finish_burst();
        }
    }

    /// The next beat, if [there is one](Self::has_beat). The time of a burst on the stream is counted at its end.
    pub(super) fn take(&mut self, shell: &Shell<'_>) -> Beat {
        let burst = &self.bursts[self.next_out as usize % BURSTS];
        let len = (usize::from(burst.len) - self.given).min(BEAT);
        let mut data = [0; BEAT];
        data[..len].copy_from_slice(&burst.data[self.given..self.given + len]);
        self.given += len;
        let is_over = self.given == usize::from(burst.len);
        let ends = burst.ends.filter(|_| is_over);
        let beat = Beat {
            data,
            len,
            ends_packet: ends.is_some_and(|one| one.control.generates_end_of_packet()),
        };
        if is_over {
            self.free = shell.now() + shell.cycle() * self.given.div_ceil(BEAT) as u64;
            self.finish_burst();
        }
        beat
    }

    fn finish_burst(&mut self) {
        let ends = self.bursts[self.next_out as usize % BURSTS].ends;
        self.next_out = self.next_out.wrapping_add(1);
        self.given = 0;
        if let Some(descriptor) = ends {
            self.unfinished -= 1;
            if descriptor.control.interrupts() {
                self.dispatcher.raise();
            }
        }
    }
}
