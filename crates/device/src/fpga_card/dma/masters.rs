//! The read master and the write master, with the FIFO between them.
//!
//! The read master requests the data of one descriptor after the other, as long as the FIFO has space. The write master writes
//! arrived data in order. An entry of the FIFO is one burst of both: at most as long as the descriptor allows, and without crossing
//! a multiple of this length in host memory.

use std::collections::VecDeque;

use kernel::Time;

use super::INTERRUPT;
use super::address::{MAGIC, MemoryAddress};
use crate::fpga_card::Shell;
use crate::fpga_card::misuse::LINE;
use crate::fpga_card::msgdma::{Descriptor, Dispatcher, Engine, Outcome, Prefetcher, ReadFifo};

/// The two masters.
#[derive(Debug)]
pub(super) struct Masters {
    fifo: ReadFifo<MemoryAddress>,
    /// Descriptors with all data written, and when each write ends.
    ending: VecDeque<Ending>,
    /// The time at which the write master has finished its last burst.
    write_free: Time,
}

/// A descriptor with its last byte written.
#[derive(Clone, Copy, Debug)]
struct Ending {
    done: Done,
    descriptor: Descriptor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    At(Time),
    /// The descriptor ends when the write with this tag is transmitted.
    With(u32),
}

impl Default for Masters {
    fn default() -> Self {
        Masters {
            fifo: ReadFifo::new(MemoryAddress::Magic),
            ending: VecDeque::new(),
            write_free: Time::ZERO,
        }
    }
}

impl Masters {
    /// The state that the dispatcher shows of the masters.
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

    /// Discards all work.
    pub(super) fn discard(&mut self) {
        self.fifo.discard();
        self.ending.clear();
    }

    /// Handles the host's answer to the read of burst `number`.
    pub(super) fn answered(&mut self, number: u32, data: Option<&[u8]>, now: Time) {
        self.fifo.answered(number, data, now);
    }

    /// Handles the transmission of the write of burst `number`; returns whether a descriptor ends with it.
    pub(super) fn written(&mut self, number: u32) -> bool {
        let mut endings = self.ending.iter_mut();
        let ending = endings.find(|ending| ending.done == Done::With(number));
        let found = ending.is_some();
        if let Some(ending) = ending {
            ending.done = Done::At(Time::ZERO);
        }
        found
    }

    /// Continues all work that can continue now.
    pub(super) fn go_on(
        &mut self,
        (dispatcher, prefetcher): (&mut Dispatcher, &mut Prefetcher),
        shell: &mut Shell<'_>,
    ) {
        loop {
            self.end(dispatcher, prefetcher, shell);
            // An interrupt goes before further data, which would otherwise always fill the queue.
            dispatcher.interrupt(INTERRUPT, shell);
            let fetched = prefetcher.go_on(dispatcher, INTERRUPT, shell);
            let owes = dispatcher.owes_interrupt() || prefetcher.waits_to_write();
            let goes_on = !dispatcher.is_stopped();
            let wrote = goes_on && !owes && self.write_next(dispatcher, shell);
            let read = goes_on && self.read_next(dispatcher, shell);
            if !(fetched || wrote || read) {
                return;
            }
        }
    }

    /// Reads the next burst. False if that must wait.
    fn read_next(&mut self, dispatcher: &mut Dispatcher, shell: &mut Shell<'_>) -> bool {
        let Some((descriptor, offset)) = self.fifo.next(dispatcher, shell) else {
            return false;
        };
        let from = MemoryAddress::of(descriptor.from.wrapping_add(u64::from(offset)));
        let to = MemoryAddress::of(descriptor.to.wrapping_add(u64::from(offset)));
        let whole = descriptor
            .len
            .min(LONGEST_DESCRIPTOR)
            .next_multiple_of(LINE as u32);
        let left = u64::from(whole - offset);
        let len = burst(&descriptor, from, to).min(left);
        let (number, data) = self.fifo.room(len as usize);
        let ready = match from {
            _ if len == 0 => shell.now(),
            MemoryAddress::Host(_) if !shell.can_read() => return false,
            MemoryAddress::Host(address) => match shell.read(address, len as usize, number) {
                Ok(()) => Time::NEVER,
                Err(_) => nothing(data, shell.now()),
            },
            MemoryAddress::Local(address) => match shell.memory().read(address, data) {
                Ok(done) => done,
                Err(_) => nothing(data, shell.now()),
            },
            MemoryAddress::Magic => {
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
            match burst.what {
                _ if burst.ready == Time::NEVER => {}
                MemoryAddress::Host(_) => shell.wake_to_write_at(due),
                _ => shell.wake_at(due),
            }
            return false;
        }
        let data = burst.data();
        let done = match burst.what {
            _ if data.is_empty() => Done::At(now),
            MemoryAddress::Host(_) if !shell.can_write() => return false,
            MemoryAddress::Host(address) => match shell.write(address, data, number) {
                Ok(()) => Done::With(number),
                Err(_) => Done::At(now),
            },
            // Without a memory there, the write has no effect.
            MemoryAddress::Local(address) => {
                Done::At(shell.memory().write(address, data).unwrap_or(now))
            }
            MemoryAddress::Magic => Done::At(now),
        };
        self.write_free = now + shell.cycle() * (data.len() as u64).div_ceil(LINE);
        if let Some(descriptor) = self.fifo.pop() {
            dispatcher.sequence[1] = descriptor.sequence;
            self.ending.push_back(Ending { done, descriptor });
        }
        true
    }

    /// Ends the complete descriptors, in order.
    fn end(
        &mut self,
        dispatcher: &mut Dispatcher,
        prefetcher: &mut Prefetcher,
        shell: &mut Shell<'_>,
    ) {
        while let Some(ending) = self.ending.front() {
            match ending.done {
                Done::With(_) => return,
                Done::At(time) if time > shell.now() => return shell.wake_at(time),
                Done::At(_) => {}
            }
            let Descriptor { control, len, .. } = ending.descriptor;
            let outcome = Outcome {
                control,
                len,
                came: len,
                ends_packet: false,
            };
            if !prefetcher.end(outcome) && control.interrupts() {
                dispatcher.raise();
            }
            self.ending.pop_front();
        }
    }
}

/// Longest transfer in bytes: the length register has 24 bits, and data is transferred in lines.
const LONGEST_DESCRIPTOR: u32 = (1 << 24) - LINE as u32;

/// Length in bytes of the next burst of a descriptor between these addresses.
fn burst(descriptor: &Descriptor, from: MemoryAddress, to: MemoryAddress) -> u64 {
    let within = |place: MemoryAddress, lines: u8| {
        let lines = match lines {
            0 | 4.. => 4,
            2 | 3 => 2,
            1 => 1,
        };
        let longest = LINE * lines;
        match place {
            MemoryAddress::Host(address) => longest - address % longest,
            MemoryAddress::Local(_) | MemoryAddress::Magic => longest,
        }
    };
    let [read, write] = descriptor.bursts;
    // The host's limits decide the burst of a transfer with the card's memory, as its bursts cost more.
    match (from.is_host(), to.is_host()) {
        (true, false) => within(from, read),
        (false, true) => within(to, write),
        _ => within(from, read).min(within(to, write)),
    }
}

/// The data of a failed read: all ones.
fn nothing(data: &mut [u8], now: Time) -> Time {
    data.fill(0xff);
    now
}
