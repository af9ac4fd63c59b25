//! The prefetcher of the later DMA designs. Descriptors are stored in host memory, in blocks, and are written back when they are done.
//!
//! Software writes the address of the first block and enables fetching. The prefetcher reads the first descriptor of a block again and again
//! until software has set its bit "owned by hardware". Then it reads the other descriptors of the block, which follow in memory, passes all of
//! them to the dispatcher, and continues with the next block, whose address is in the first descriptor. A descriptor that is done is written
//! back with its number of transferred bytes and a cleared bit "owned by hardware". The layout is that of the published drivers.
//!
//! Our choices: if no time-out is set, the first descriptor is read again as soon as its last read has ended. The other descriptors of a block
//! are processed whatever their bit "owned by hardware" is, because the bit of the first one applies to the whole block. A block is not read
//! again before its first descriptor is written back, because the bit in memory is set until then. After a failed read the prefetcher stops
//! until software enables fetching again.

use std::collections::VecDeque;

use kernel::{Span, Time};

use super::descriptor::Control;
use super::{Descriptor, Dispatcher};
use crate::fpga_card::Shell;
use crate::fpga_card::misuse::{LINE, LONGEST};
use crate::fpga_card::words::{half, merged};

#[derive(Debug, Default)]
pub(crate) struct Prefetcher {
    /// The lowest tag of the prefetcher's requests. The tag of a request is this tag plus the index of the first requested descriptor in its
    /// block.
    tag: u32,
    /// Whether software has written the prefetcher's registers since the reset.
    is_used: bool,
    control: u64,
    start: u64,
    /// The address of the block that is being fetched, and the address of the descriptor that was written back last.
    fetch: u64,
    store: u64,
    state: State,
    block: Block,
    /// Number of outstanding reads, and number of outstanding reads whose answers will be dropped.
    awaited: u32,
    discarded: u32,
    /// Descriptors that the prefetcher has passed to the dispatcher and that are not done, in order.
    begun: VecDeque<Fetched>,
    /// Descriptors that are done and wait to be written back.
    ended: VecDeque<Ended>,
    /// Addresses of the write-backs that are requested and not transmitted yet, in order.
    unsent: VecDeque<u64>,
    irq: bool,
    interrupts: u32,
}

/// The progress of fetching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing is fetched.
    #[default]
    Idle,
    /// The first descriptor of a block will be read, but not before this time.
    Due(Time),
    /// The read of the first descriptor of a block is outstanding.
    First,
    /// The other descriptors of a block are being read.
    Rest,
}

/// The descriptors of the block that is being fetched.
#[derive(Debug, Default)]
struct Block {
    lines: Vec<Option<Line>>,
    /// Number of descriptors that were requested, and number of descriptors that were passed to the dispatcher.
    asked: usize,
    given: usize,
    /// The address of the next block.
    next: u64,
}

#[derive(Clone, Copy, Debug)]
struct Fetched {
    address: u64,
    line: Line,
}

#[derive(Clone, Copy, Debug)]
struct Ended {
    fetched: Fetched,
    interrupts: bool,
}

/// The result of a descriptor that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) control: Control,
    /// Length of the descriptor, and number of bytes that were transferred.
    pub(crate) len: u32,
    pub(crate) came: u32,
    pub(crate) ends_packet: bool,
}

impl Outcome {
    /// Whether the end of the descriptor signals an interrupt.
    pub(crate) fn interrupts(&self) -> bool {
        let control = self.control;
        control.interrupts() || self.ends_packet && control.end_of_packet_interrupts()
    }
}

/// The bytes of a descriptor in memory.
type Line = [u8; LINE as usize];

/// Size of the registers in bytes.
pub(crate) const SIZE: u64 = 0x40;

/// The lowest tag that a prefetcher may use; the requests of masters have lower tags.
pub(crate) const TAGS: u32 = 1 << 30;

const CONTROL: u64 = 0x00;
const START: u64 = 0x08;
const FETCH: u64 = 0x10;
const STORE: u64 = 0x18;
const STATUS: u64 = 0x20;

const FETCH_ENABLE: u64 = 1;
const FLUSH: u64 = 1 << 1;
const INTERRUPT_ENABLE: u64 = 1 << 2;
const TIMEOUT_ENABLE: u64 = 1 << 3;

const IRQ: u64 = 1;

/// Indices of fields in the bytes of a descriptor.
const BLOCK_SIZE: usize = 1;
const OWNED: usize = 2;
const TRANSFERRED: usize = 40;
const END_OF_PACKET: usize = 45;
const EARLY_END: usize = 46;

/// The address bits of host memory; the bits above select a memory.
const ADDRESS: u64 = (1 << 48) - 1;

impl Prefetcher {
    /// A prefetcher whose requests have tags from `tag` on, at least [`TAGS`].
    pub(crate) fn new(tag: u32) -> Self {
        Prefetcher {
            tag,
            ..Prefetcher::default()
        }
    }

    /// Whether software uses the prefetcher. The earlier designs have other registers in place of the prefetcher's registers.
    pub(crate) fn is_used(&self) -> bool {
        self.is_used
    }

    /// Loads the dword at `offset` of the registers.
    pub(crate) fn load(&self, offset: u64) -> u32 {
        let register = match offset & !7 {
            CONTROL => self.control,
            START => self.start,
            FETCH => self.fetch,
            STORE => self.store,
            STATUS => self.status(),
            _ => 0,
        };
        half(register, offset)
    }

    /// The status register: bit 0 interrupt, bit 1 fetching idle, bit 2 storing idle, bits 16 to 31 the number of descriptors that the
    /// dispatcher has.
    fn status(&self) -> u64 {
        let is_fetching = self.state != State::Idle || self.awaited > 0;
        let is_storing = !self.ended.is_empty() || !self.unsent.is_empty();
        let outstanding = self.begun.len().min(0xffff) as u64;
        u64::from(self.irq)
            | u64::from(!is_fetching) << 1
            | u64::from(!is_storing) << 2
            | outstanding << 16
    }

    /// Stores a dword at `offset` of the registers.
    pub(crate) fn store(&mut self, offset: u64, value: u32, now: Time) {
        self.is_used = true;
        let put = |register: u64| merged(register, offset, &value.to_le_bytes()).0;
        match offset & !7 {
            CONTROL => {
                let was = self.control;
                self.control = put(was) & !FLUSH;
                let enabled = [was, self.control].map(|control| control & FETCH_ENABLE != 0);
                if put(was) & FLUSH != 0 || enabled == [true, false] {
                    self.stop_fetching();
                }
                if enabled == [false, true] {
                    self.fetch = self.start;
                    self.state = State::Due(now);
                }
            }
            START => self.start = put(self.start),
            STATUS => self.irq &= u64::from(value) & IRQ == 0,
            _ => {}
        }
    }

    fn stop_fetching(&mut self) {
        self.state = State::Idle;
        self.block = Block::default();
        self.discarded = self.awaited;
    }

    /// Discards the descriptors that the dispatcher has, without writing them back.
    pub(crate) fn discard(&mut self) {
        self.begun.clear();
    }

    /// Handles the end of the oldest descriptor that the prefetcher has passed to the dispatcher. Returns false if there is no such descriptor.
    pub(crate) fn end(&mut self, outcome: Outcome) -> bool {
        let Some(mut fetched) = self.begun.pop_front() else {
            return false;
        };
        let line = &mut fetched.line;
        line[OWNED] = 0;
        line[TRANSFERRED..TRANSFERRED + 4].copy_from_slice(&outcome.came.to_le_bytes());
        line[END_OF_PACKET] = outcome.ends_packet.into();
        line[EARLY_END] = (outcome.came < outcome.len).into();
        let may = self.control & INTERRUPT_ENABLE != 0;
        self.ended.push_back(Ended {
            fetched,
            interrupts: may && outcome.interrupts(),
        });
        true
    }

    /// Handles the host's answer to the read with `tag`.
    pub(crate) fn answered(&mut self, tag: u32, data: Option<&[u8]>, shell: &Shell<'_>) {
        self.awaited -= 1;
        if self.discarded > 0 {
            self.discarded -= 1;
            return;
        }
        let Some(data) = data else {
            self.control &= !FETCH_ENABLE;
            return self.stop_fetching();
        };
        let (lines, _) = data.as_chunks::<{ LINE as usize }>();
        match (self.state, lines) {
            (State::First, [first, ..]) if first[OWNED] & 1 != 0 => {
                let mut lines = vec![None; usize::from(first[BLOCK_SIZE]) + 1];
                lines[0] = Some(*first);
                self.block = Block {
                    lines,
                    asked: 1,
                    given: 0,
                    next: quadword(first, 56),
                };
                self.state = State::Rest;
            }
            (State::First, _) => {
                self.state = State::Due(shell.now() + self.interval(shell.cycle()));
            }
            (State::Rest, lines) => {
                let place = (tag - self.tag) as usize;
                for (kept, line) in self.block.lines[place..].iter_mut().zip(lines) {
                    *kept = Some(*line);
                }
            }
            _ => {}
        }
    }

    /// The time from the end of a read of a first descriptor that is not ready to the next read.
    fn interval(&self, cycle: Span) -> Span {
        let cycles = if self.control & TIMEOUT_ENABLE != 0 {
            self.control >> 16 & 0xffff
        } else {
            0
        };
        cycle * cycles
    }

    /// Handles the transmission of a write-back.
    pub(crate) fn written(&mut self) {
        self.unsent.pop_front();
    }

    /// Continues all work that can continue at this time. Returns whether there was any work.
    pub(crate) fn go_on(
        &mut self,
        dispatcher: &mut Dispatcher,
        vector: u8,
        shell: &mut Shell<'_>,
    ) -> bool {
        if self.state == State::Idle && !self.waits_to_write() {
            return false;
        }
        let mut any = false;
        while self.store_next(shell)
            | self.interrupt(vector, shell)
            | self.fetch_next(dispatcher, shell)
        {
            any = true;
        }
        any
    }

    /// Whether write-backs or interrupts wait. They are sent before further data.
    pub(crate) fn waits_to_write(&self) -> bool {
        !self.ended.is_empty() || self.interrupts > 0
    }

    fn store_next(&mut self, shell: &mut Shell<'_>) -> bool {
        if self.ended.is_empty() || !shell.can_write() {
            return false;
        }
        let Some(Ended {
            fetched,
            interrupts,
        }) = self.ended.pop_front()
        else {
            return false;
        };
        self.store = fetched.address;
        // The descriptor was read from this address, so the address is valid for a write too.
        if shell
            .write(fetched.address & ADDRESS, &fetched.line, self.tag)
            .is_ok()
        {
            self.unsent.push_back(fetched.address);
        }
        self.irq |= interrupts;
        self.interrupts += u32::from(interrupts);
        true
    }

    fn interrupt(&mut self, vector: u8, shell: &mut Shell<'_>) -> bool {
        let sends = self.interrupts > 0 && shell.can_write() && shell.interrupt(vector).is_ok();
        self.interrupts -= u32::from(sends);
        sends
    }

    fn fetch_next(&mut self, dispatcher: &mut Dispatcher, shell: &mut Shell<'_>) -> bool {
        if self.discarded > 0 {
            return false;
        }
        match self.state {
            State::Idle | State::First => false,
            State::Due(time) if time > shell.now() => {
                shell.wake_at(time);
                false
            }
            State::Due(_) if self.is_in_progress(self.fetch) => false,
            State::Due(_) => {
                let asks = self.ask(0, 1, shell);
                if asks {
                    self.state = State::First;
                }
                asks
            }
            State::Rest => self.ask_rest(shell) | self.give(dispatcher, shell),
        }
    }

    /// Whether the descriptor at `address` was fetched and is not written back yet.
    fn is_in_progress(&self, address: u64) -> bool {
        let begun = self.begun.iter();
        let ended = self.ended.iter().map(|one| &one.fetched);
        begun.chain(ended).any(|one| one.address == address) || self.unsent.contains(&address)
    }

    /// Requests `count` descriptors of the block, from index `place` on. Returns whether they were requested.
    fn ask(&mut self, place: usize, count: usize, shell: &mut Shell<'_>) -> bool {
        if !shell.can_read() {
            return false;
        }
        let address = self.address(place) & ADDRESS;
        let tag = self.tag + place as u32;
        if shell.read(address, count * LINE as usize, tag).is_err() {
            self.control &= !FETCH_ENABLE;
            self.stop_fetching();
            return false;
        }
        self.awaited += 1;
        true
    }

    /// Requests the next descriptors of the block with the longest possible read. Returns whether any were requested.
    fn ask_rest(&mut self, shell: &mut Shell<'_>) -> bool {
        let place = self.block.asked;
        let left = self.block.lines.len() - place;
        let longest = LONGEST as u64;
        let before = self.address(place) % longest;
        let count = left.min(((longest - before) / LINE) as usize);
        let asks = count > 0 && self.ask(place, count, shell);
        if asks {
            self.block.asked += count;
        }
        asks
    }

    fn address(&self, place: usize) -> u64 {
        self.fetch.wrapping_add(place as u64 * LINE)
    }

    /// Passes the next descriptor to the dispatcher. After the last descriptor of the block, the next block is fetched. Returns whether a
    /// descriptor was passed.
    fn give(&mut self, dispatcher: &mut Dispatcher, shell: &mut Shell<'_>) -> bool {
        let place = self.block.given;
        let Some(Some(line)) = self.block.lines.get(place) else {
            return false;
        };
        let (line, address) = (*line, self.address(place));
        if !dispatcher.push(parse(&line)) {
            return false;
        }
        self.begun.push_back(Fetched { address, line });
        self.block.given += 1;
        if self.block.given == self.block.lines.len() {
            self.fetch = self.block.next;
            self.block = Block::default();
            self.state = State::Due(shell.now());
        }
        true
    }
}

/// Parses the bytes of a descriptor in memory.
fn parse(line: &Line) -> Descriptor {
    Descriptor {
        from: host(quadword(line, 8)),
        to: host(quadword(line, 16)),
        len: quadword(line, 24) as u32,
        sequence: quadword(line, 32) as u16,
        bursts: [line[34], line[35]],
        strides: [quadword(line, 32) >> 32, quadword(line, 32) >> 48].map(|stride| stride as u16),
        control: Control((quadword(line, 0) >> 32) as u32),
    }
}

/// The address with bits that mean host memory in all designs. The drivers of the later designs mark host memory with bit 48 alone, and an
/// earlier design uses another bit.
fn host(address: u64) -> u64 {
    match address >> 48 & 3 {
        0 => address,
        _ => address & ADDRESS | 2 << 48,
    }
}

fn quadword(line: &Line, at: usize) -> u64 {
    let (words, _) = line.as_chunks::<8>();
    u64::from_le_bytes(words[at / 8])
}
