//! The read master and the write master, and the FIFO between them.
//!
//! The read master asks for the data of one descriptor after the other, as far as the FIFO has room for it; the write master
//! writes what has come, in order. A chunk of the FIFO is one burst of either: no longer than the descriptor says, and
//! never across a multiple of its length in host memory.

use std::collections::VecDeque;

use kernel::Time;

use super::INTERRUPT;
use super::address::{MAGIC, Place};
use crate::fpga_card::Shell;
use crate::fpga_card::host_interface::{LINE, LONGEST};
use crate::fpga_card::msgdma::{Descriptor, Dispatcher, Engine};

/// Both masters.
#[derive(Debug)]
pub(super) struct Masters {
    chunks: Vec<Chunk>,
    /// Numbers of the chunk to be written next, and of the one to be read next; it is at that index modulo their count.
    next_write: u32,
    next_read: u32,
    /// The descriptor that is being read, and how far.
    reading: Option<(Descriptor, u32)>,
    /// Descriptors that are read in full and not written in full.
    unwritten: usize,
    /// Descriptors that are written, and when that is done.
    ending: VecDeque<Ending>,
    /// Answers of the host that are to come.
    awaited: u32,
    /// Those of them that nobody needs any more.
    forgotten: u32,
    /// When all that was read so far from elsewhere has come.
    reads_done: Time,
    /// Whether the next descriptor must wait until everything was read.
    holds: bool,
    /// When the write master is done with its last burst.
    write_free: Time,
}

/// Data on its way through the FIFO.
#[derive(Clone, Debug)]
struct Chunk {
    to: Place,
    len: u16,
    /// When it is there; never while the host has not answered.
    ready: Time,
    /// The descriptor that ends with it.
    ends: Option<Descriptor>,
    data: [u8; LONGEST],
}

/// A descriptor whose last byte was written.
#[derive(Clone, Copy, Debug)]
struct Ending {
    done: Done,
    descriptor: Descriptor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    At(Time),
    /// When the write with that tag is off.
    With(u32),
}

/// Chunks of the FIFO: 32 KiB.
const CHUNKS: usize = 128;

impl Default for Masters {
    fn default() -> Self {
        let chunk = Chunk {
            to: Place::Magic,
            len: 0,
            ready: Time::NEVER,
            ends: None,
            data: [0; LONGEST],
        };
        Masters {
            chunks: vec![chunk; CHUNKS],
            next_write: 0,
            next_read: 0,
            reading: None,
            unwritten: 0,
            ending: VecDeque::new(),
            awaited: 0,
            forgotten: 0,
            reads_done: Time::ZERO,
            holds: false,
            write_free: Time::ZERO,
        }
    }
}

impl Masters {
    /// What the dispatcher shows of them.
    pub(super) fn state(&self) -> Engine {
        let reading = usize::from(self.reading.is_some());
        Engine {
            begun: reading + self.unwritten + self.ending.len(),
            unwritten: reading + self.unwritten,
            awaited: self.awaited > 0,
            resetting: self.forgotten > 0,
            ..Engine::default()
        }
    }

    /// Forgets all that is under way. What the host will answer yet goes nowhere, and nothing is read before.
    pub(super) fn forget(&mut self) {
        self.forgotten = self.awaited;
        self.next_write = self.next_read;
        self.reading = None;
        self.unwritten = 0;
        self.ending.clear();
        self.reads_done = Time::ZERO;
        self.holds = false;
    }

    /// The host has answered the read of chunk `number`. A read that failed gives all ones.
    pub(super) fn answered(&mut self, number: u32, data: Option<&[u8]>, now: Time) {
        self.awaited -= 1;
        if self.forgotten > 0 {
            self.forgotten -= 1;
            return;
        }
        let chunk = &mut self.chunks[number as usize % CHUNKS];
        match data {
            Some(data) => chunk.data[..data.len()].copy_from_slice(data),
            None => chunk.data.fill(0xff),
        }
        chunk.ready = now;
    }

    /// The write of chunk `number` is off to the wire. Whether a descriptor ends with it.
    pub(super) fn written(&mut self, number: u32) -> bool {
        let mut endings = self.ending.iter_mut();
        let ending = endings.find(|ending| ending.done == Done::With(number));
        let found = ending.is_some();
        if let Some(ending) = ending {
            ending.done = Done::At(Time::ZERO);
        }
        found
    }

    /// Does all that can be done now.
    pub(super) fn go_on(&mut self, dispatcher: &mut Dispatcher, shell: &mut Shell<'_>) {
        loop {
            self.end(dispatcher, shell);
            // An interrupt goes before any more data, which would take all room for as long as there is some.
            dispatcher.interrupt(INTERRUPT, shell);
            let may_write = !dispatcher.is_stopped() && !dispatcher.owes_interrupt();
            let wrote = may_write && self.write_next(dispatcher, shell);
            let read = !dispatcher.is_stopped() && self.read_next(dispatcher, shell);
            if !(wrote || read) {
                return;
            }
        }
    }

    /// Reads the next chunk. False if that must wait.
    fn read_next(&mut self, dispatcher: &mut Dispatcher, shell: &mut Shell<'_>) -> bool {
        let is_full = self.next_read.wrapping_sub(self.next_write) as usize == CHUNKS;
        if is_full || self.forgotten > 0 {
            return false;
        }
        if self.reading.is_none() && !self.begin(dispatcher, shell) {
            return false;
        }
        let Some((descriptor, offset)) = self.reading else {
            return false;
        };
        let from = Place::of(descriptor.from.wrapping_add(u64::from(offset)));
        let to = Place::of(descriptor.to.wrapping_add(u64::from(offset)));
        let left = descriptor.len.next_multiple_of(LINE as u32) - offset;
        let len = burst(&descriptor, from, to).min(u64::from(left));
        let number = self.next_read;
        let chunk = &mut self.chunks[number as usize % CHUNKS];
        let data = &mut chunk.data[..len as usize];
        chunk.ready = match from {
            _ if len == 0 => shell.now(),
            Place::Host(_) if !shell.can_read() => return false,
            Place::Host(address) => match shell.read(address, len as usize, number) {
                Ok(()) => Time::NEVER,
                Err(_) => nothing(data, shell.now()),
            },
            Place::Local(address) => match shell.memory().read(address, data) {
                Ok(done) => done,
                Err(_) => nothing(data, shell.now()),
            },
            Place::Magic => {
                let (words, _) = data.as_chunks_mut::<8>();
                words.fill(MAGIC.to_le_bytes());
                shell.now()
            }
        };
        if chunk.ready == Time::NEVER {
            self.awaited += 1;
        } else {
            self.reads_done = self.reads_done.max(chunk.ready);
        }
        let is_last = len == u64::from(left);
        chunk.to = to;
        chunk.len = len as u16;
        chunk.ends = is_last.then_some(descriptor);
        self.next_read = number.wrapping_add(1);
        if is_last {
            dispatcher.sequence[0] = descriptor.sequence;
            self.holds = !descriptor.control.is_done_early();
            self.unwritten += 1;
            self.reading = None;
        } else {
            self.reading = Some((descriptor, offset + len as u32));
        }
        true
    }

    /// Begins the next descriptor, if there is one and the last one lets it.
    fn begin(&mut self, dispatcher: &mut Dispatcher, shell: &mut Shell<'_>) -> bool {
        if !dispatcher.has_next() {
            return false;
        }
        if self.holds && self.awaited > 0 {
            return false;
        }
        if self.holds && self.reads_done > shell.now() {
            shell.wake_at(self.reads_done);
            return false;
        }
        self.reading = dispatcher.begin().map(|descriptor| {
            let len = descriptor.len.min(LONGEST_DESCRIPTOR);
            (Descriptor { len, ..descriptor }, 0)
        });
        self.reading.is_some()
    }

    /// Writes the next chunk. False if that must wait.
    fn write_next(&mut self, dispatcher: &mut Dispatcher, shell: &mut Shell<'_>) -> bool {
        if self.next_write == self.next_read {
            return false;
        }
        let number = self.next_write;
        let chunk = &self.chunks[number as usize % CHUNKS];
        let now = shell.now();
        let due = chunk.ready.max(self.write_free);
        if due > now {
            if chunk.ready < Time::NEVER {
                shell.wake_at(due);
            }
            return false;
        }
        let data = &chunk.data[..usize::from(chunk.len)];
        let done = match chunk.to {
            _ if data.is_empty() => Done::At(now),
            Place::Host(_) if !shell.can_write() => return false,
            Place::Host(address) => match shell.write(address, data, number) {
                Ok(()) => Done::With(number),
                Err(_) => Done::At(now),
            },
            // Where there is no memory, nobody takes it.
            Place::Local(address) => Done::At(shell.memory().write(address, data).unwrap_or(now)),
            Place::Magic => Done::At(now),
        };
        self.write_free = now + shell.cycle() * (data.len() as u64).div_ceil(LINE);
        self.next_write = number.wrapping_add(1);
        if let Some(descriptor) = chunk.ends {
            dispatcher.sequence[1] = descriptor.sequence;
            self.unwritten -= 1;
            self.ending.push_back(Ending { done, descriptor });
        }
        true
    }

    /// Ends the descriptors that are done, in their order.
    fn end(&mut self, dispatcher: &mut Dispatcher, shell: &mut Shell<'_>) {
        while let Some(ending) = self.ending.front() {
            match ending.done {
                Done::With(_) => return,
                Done::At(time) if time > shell.now() => return shell.wake_at(time),
                Done::At(_) => {}
            }
            if ending.descriptor.control.interrupts() {
                dispatcher.raise();
            }
            self.ending.pop_front();
        }
    }
}

/// Bytes of the longest transfer: the length register has 24 bits, and data is moved by lines.
const LONGEST_DESCRIPTOR: u32 = (1 << 24) - LINE as u32;

/// Bytes of the next burst of a descriptor, from and to these places.
fn burst(descriptor: &Descriptor, from: Place, to: Place) -> u64 {
    let within = |place: Place, lines: u8| {
        let lines = match lines {
            0 | 4.. => 4,
            2 | 3 => 2,
            1 => 1,
        };
        let longest = LINE * lines;
        match place {
            Place::Host(address) => longest - address % longest,
            Place::Local(_) | Place::Magic => longest,
        }
    };
    let [read, write] = descriptor.bursts;
    // The bursts of the card's memory follow those of the host, which cost more.
    match (from.is_host(), to.is_host()) {
        (true, false) => within(from, read),
        (false, true) => within(to, write),
        _ => within(from, read).min(within(to, write)),
    }
}

/// What is read where nobody answers.
fn nothing(data: &mut [u8], now: Time) -> Time {
    data.fill(0xff);
    now
}
