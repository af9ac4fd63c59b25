//! The read master and the write master, with the FIFO between them.
//!
//! The read master requests the data of one descriptor after the other, as long as the FIFO has space. The write master writes arrived data in
//! order. Each entry of the FIFO is one burst, which is read and written as a whole. A burst is at most as long as the descriptor allows, and
//! does not cross a multiple of this length in host memory.

use kernel::Time;

use crate::fpga_card::Shell;
use crate::fpga_card::misuse::LINE;
use crate::fpga_card::msgdma::{
    Block, Descriptor, Dispatcher, Endings, Engine, MemoryAddress, Outcome, ReadFifo,
};

#[derive(Debug)]
pub(super) struct Masters {
    pub(super) fifo: ReadFifo<MemoryAddress>,
    pub(super) ending: Endings<Descriptor>,
    /// The time at which the write master has finished its last burst.
    write_free: Time,
}

impl Default for Masters {
    fn default() -> Self {
        Masters {
            fifo: ReadFifo::new(MemoryAddress::Magic),
            ending: Endings::default(),
            write_free: Time::ZERO,
        }
    }
}

impl Masters {
    /// The state of the masters for the dispatcher's status registers.
    pub(super) fn state(&self) -> Engine {
        let engine = self.fifo.engine();
        Engine {
            begun: engine.begun + self.ending.len(),
            ..engine
        }
    }

    pub(super) fn discard(&mut self) {
        self.fifo.discard();
        self.ending.clear();
    }

    /// Continues all work that can continue at this time.
    pub(super) fn go_on(&mut self, block: &mut Block, shell: &mut Shell<'_>) {
        loop {
            self.end(block, shell);
            // A waiting interrupt is sent before further data. Otherwise data would fill the queue again and again.
            block.interrupt(shell);
            let fetched = block.fetch(shell);
            let owes = block.waits_to_write();
            let dispatcher = &mut block.dispatcher;
            let goes_on = !dispatcher.is_stopped();
            let wrote = goes_on && !owes && self.write_next(dispatcher, shell);
            let read = goes_on && self.read_next(dispatcher, shell);
            if !(fetched || wrote || read) {
                return;
            }
        }
    }

    /// Reads the next burst. Returns false if no burst can be read now.
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
        let Some(ready) = from.read(data, number, shell) else {
            return false;
        };
        self.fifo.push(to, (len, ready), len == left, dispatcher);
        true
    }

    /// Writes the next burst. Returns false if no burst can be written now.
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
        if burst.what.is_host() && !data.is_empty() && !shell.can_write() {
            return false;
        }
        let done = burst.what.write(data, number, shell);
        self.write_free = now + shell.cycle() * (data.len() as u64).div_ceil(LINE);
        if let Some(descriptor) = self.fifo.pop() {
            dispatcher.sequence[1] = descriptor.sequence;
            self.ending.push(done, descriptor);
        }
        true
    }

    /// Ends the descriptors whose data is written, in their order.
    fn end(&mut self, block: &mut Block, shell: &mut Shell<'_>) {
        while let Some(Descriptor { control, len, .. }) = self.ending.next(shell) {
            let outcome = Outcome {
                control,
                len,
                came: len,
                ends_packet: false,
            };
            block.end(outcome, outcome.interrupts());
        }
    }
}

/// Longest transfer in bytes: the length register has 24 bits, and data is transferred in lines.
const LONGEST_DESCRIPTOR: u32 = (1 << 24) - LINE as u32;

/// Length in bytes of the next burst of a descriptor, which is read at address `from` and written at address `to`.
fn burst(descriptor: &Descriptor, from: MemoryAddress, to: MemoryAddress) -> u64 {
    let within = |place: MemoryAddress, lines: u8| {
        let lines = match lines {
            0 | 4.. => 4,
            2 | 3 => 2,
            1 => 1,
        };
        place.burst(LINE * lines)
    };
    let [read, write] = descriptor.bursts;
    // A transfer between host memory and the card's memory has bursts as long as the limit for the host's side allows, because bursts in host
    // memory cost more.
    match (from.is_host(), to.is_host()) {
        (true, false) => within(from, read),
        (false, true) => within(to, write),
        _ => within(from, read).min(within(to, write)),
    }
}
