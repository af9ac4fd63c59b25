//! The read master and the write master, and the FIFO between them.
//!
//! The read master asks for the data of one descriptor after the other, as far as the FIFO has room for it; the write master
//! writes what has come, in order. What is in the FIFO at once is one burst of either: no longer than the descriptor says, and
//! never across a multiple of its length in host memory.

use std::collections::VecDeque;

use kernel::Time;

use super::INTERRUPT;
use super::address::{MAGIC, Place};
use crate::fpga_card::Shell;
use crate::fpga_card::host_interface::LINE;
use crate::fpga_card::msgdma::{Descriptor, Dispatcher, Engine, ReadFifo};

/// Both masters.
#[derive(Debug)]
pub(super) struct Masters {
    fifo: ReadFifo<Place>,
    /// Descriptors that are written, and when that is done.
    ending: VecDeque<Ending>,
    /// When the write master is done with its last burst.
    write_free: Time,
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

impl Default for Masters {
    fn default() -> Self {
        Masters {
            fifo: ReadFifo::new(Place::Magic),
            ending: VecDeque::new(),
            write_free: Time::ZERO,
        }
    }
}

impl Masters {
    /// What the dispatcher shows of them.
    pub(super) fn state(&self) -> Engine {
        let unwritten = self.fifo.unfinished();
        let (awaited, resetting) = self.fifo.awaits();
        Engine {
            begun: unwritten + self.ending.len(),
            unwritten,
            awaited,
            resetting,
            ..Engine::default()
        }
    }

    /// Forgets all that is under way.
    pub(super) fn forget(&mut self) {
        self.fifo.forget();
        self.ending.clear();
    }

    /// The host has answered the read of burst `number`.
    pub(super) fn answered(&mut self, number: u32, data: Option<&[u8]>, now: Time) {
        self.fifo.answered(number, data, now);
    }

    /// The write of burst `number` is off to the wire. Whether a descriptor ends with it.
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

    /// Reads the next burst. False if that must wait.
    fn read_next(&mut self, dispatcher: &mut Dispatcher, shell: &mut Shell<'_>) -> bool {
        let Some((descriptor, offset)) = self.fifo.next(dispatcher, shell) else {
            return false;
        };
        let from = Place::of(descriptor.from.wrapping_add(u64::from(offset)));
        let to = Place::of(descriptor.to.wrapping_add(u64::from(offset)));
        let whole = descriptor
            .len
            .min(LONGEST_DESCRIPTOR)
            .next_multiple_of(LINE as u32);
        let left = u64::from(whole - offset);
        let len = burst(&descriptor, from, to).min(left);
        let (number, data) = self.fifo.room(len as usize);
        let ready = match from {
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
        self.fifo.push(to, (len, ready), len == left, dispatcher);
        true
    }

    /// Writes the next burst. False if that must wait.
    fn write_next(&mut self, dispatcher: &mut Dispatcher, shell: &mut Shell<'_>) -> bool {
        let Some((number, burst)) = self.fifo.front() else {
            return false;
        };
        let now = shell.now();
        let due = burst.ready.max(self.write_free);
        if due > now {
            if burst.ready < Time::NEVER {
                shell.wake_at(due);
            }
            return false;
        }
        let data = burst.data();
        let done = match burst.what {
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
        if let Some(descriptor) = self.fifo.pop() {
            dispatcher.sequence[1] = descriptor.sequence;
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
