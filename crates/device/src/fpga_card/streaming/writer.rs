//! The stream-to-memory engine (S2M). It writes the beats of a stream to the addresses of descriptors, and makes a response for each descriptor.
//!
//! A descriptor ends when it is full, or at the end of a packet if its control bits request this; the length of the data is then in the response
//! only. Only whole lines are written; the bytes after the last data byte are zero.

use std::collections::VecDeque;

use kernel::Time;

use super::stream::{BEAT, Beat};
use super::valve::Valve;
use super::{S2M_INTERRUPT, S2M_PREFETCHER};
use crate::fpga_card::Shell;
use crate::fpga_card::misuse::LONGEST;
use crate::fpga_card::msgdma::prefetcher::TAGS;
use crate::fpga_card::msgdma::{Block, Descriptor, Done, Endings, Engine, MemoryAddress, Outcome};

#[derive(Debug)]
pub(super) struct Writer {
    pub(super) block: Block,
    pub(super) valve: Valve,
    writing: Option<Writing>,
    data: [u8; LONGEST],
    /// Number of bytes in the current burst.
    filled: usize,
    /// The bytes of a beat that did not fit into the last burst or descriptor.
    rest: Option<Beat>,
    ending: Endings<Writing>,
    responses: VecDeque<Response>,
    number: u32,
    /// The time at which the write master has finished its last burst.
    free: Time,
}

#[derive(Clone, Copy, Debug)]
struct Writing {
    descriptor: Descriptor,
    /// Number of bytes that were received.
    came: u32,
    written: u32,
    ends_packet: bool,
}

#[derive(Clone, Copy, Debug)]
struct Response {
    bytes: u32,
    ends_packet: bool,
}

/// Most responses that wait for software.
const RESPONSES: usize = 256;

const END_OF_PACKET: u32 = 1 << 9;

impl Default for Writer {
    fn default() -> Self {
        Writer {
            block: Block::new(S2M_PREFETCHER, S2M_INTERRUPT),
            valve: Valve::default(),
            writing: None,
            data: [0; LONGEST],
            filled: 0,
            rest: None,
            ending: Endings::default(),
            responses: VecDeque::new(),
            number: 0,
            free: Time::ZERO,
        }
    }
}

impl Writer {
    /// The state of the write master for the dispatcher's status registers.
    pub(super) fn state(&self) -> Engine {
        let begun = usize::from(self.writing.is_some()) + self.ending.len();
        Engine {
            begun,
            unwritten: usize::from(self.writing.is_some()),
            responses: self.responses.len(),
            responses_full: self.responses.len() >= RESPONSES,
            ..Engine::default()
        }
    }

    /// Discards all work; also discards the waiting responses if `responses` is set.
    pub(super) fn discard(&mut self, responses: bool) {
        self.writing = None;
        self.filled = 0;
        self.rest = None;
        self.ending.clear();
        self.block.prefetcher.discard();
        if responses {
            self.responses.clear();
        }
    }

    /// Number of bytes in the oldest response.
    pub(super) fn response_bytes(&self) -> u32 {
        self.responses.front().map_or(0, |one| one.bytes)
    }

    /// Removes the oldest response, and returns its status.
    pub(super) fn take_response(&mut self) -> u32 {
        let response = self.responses.pop_front();
        let ends_packet = response.is_some_and(|one| one.ends_packet);
        if ends_packet { END_OF_PACKET } else { 0 }
    }

    /// Whether a beat can be accepted now. If a beat can be accepted at a known later time, requests a wake-up.
    pub(super) fn has_room(&mut self, shell: &mut Shell<'_>) -> bool {
        if self.block.dispatcher.is_stopped() || self.rest.is_some() || !self.begin() {
            return false;
        }
        if !self.valve.is_open() || !shell.can_write() {
            return false;
        }
        if self.free > shell.now() {
            shell.wake_at(self.free);
            return false;
        }
        true
    }

    /// Begins the next descriptor if none is in progress. Returns whether a descriptor is in progress.
    fn begin(&mut self) -> bool {
        if self.writing.is_none() && self.responses.len() + self.ending.len() < RESPONSES {
            self.writing = self.block.dispatcher.begin().map(|descriptor| Writing {
                descriptor,
                came: 0,
                written: 0,
                ends_packet: false,
            });
        }
        self.writing.is_some()
    }

    /// Accepts a beat; [`has_room`](Self::has_room) must be true.
    pub(super) fn put(&mut self, beat: &Beat, shell: &mut Shell<'_>) {
        self.valve.pass(beat);
        self.put_rest(*beat, shell);
    }

    /// Continues with the remaining bytes of a beat, or ends a descriptor without data. Returns false if it can do neither.
    pub(super) fn go_on(&mut self, shell: &mut Shell<'_>) -> bool {
        if self.block.dispatcher.is_stopped() || !self.begin() || !shell.can_write() {
            return false;
        }
        if self.writing.is_some_and(|one| one.descriptor.len == 0) {
            self.finish(Done::At(shell.now()));
            return true;
        }
        let Some(beat) = self.rest.take() else {
            return false;
        };
        self.put_rest(beat, shell);
        true
    }

    /// Adds as many bytes of a beat to the burst as fit; the remaining bytes wait. If a packet ends within a descriptor, its last beat may be
    /// partly filled, and the next beat follows its last byte.
    fn put_rest(&mut self, beat: Beat, shell: &mut Shell<'_>) {
        let Some(writing) = &mut self.writing else {
            return;
        };
        let to = writing.descriptor.to.wrapping_add(writing.written.into());
        let burst = MemoryAddress::without_magic(to).burst(LONGEST as u64) as usize;
        let room = (writing.descriptor.len - writing.came) as usize;
        let len = beat.len.min(room).min(burst - self.filled);
        self.data[self.filled..self.filled + len].copy_from_slice(&beat.data[..len]);
        self.filled += len;
        writing.came += len as u32;
        let is_all = len == beat.len;
        if !is_all {
            let mut rest = Beat {
                len: beat.len - len,
                ..beat
            };
            rest.data.copy_within(len.., 0);
            self.rest = Some(rest);
        }
        let ends_packet = beat.ends_packet && is_all;
        writing.ends_packet |= ends_packet;
        let ends_early = ends_packet && writing.descriptor.control.ends_on_end_of_packet();
        let is_last = ends_early || writing.came == writing.descriptor.len;
        writing.written += if is_last || self.filled == burst {
            self.filled as u32
        } else {
            return;
        };
        let done = self.write(MemoryAddress::without_magic(to), shell);
        if is_last {
            self.finish(done);
        }
    }

    fn write(&mut self, to: MemoryAddress, shell: &mut Shell<'_>) -> Done {
        let lines = self.filled.next_multiple_of(BEAT);
        self.data[self.filled..lines].fill(0);
        let data = &self.data[..lines];
        self.number = (self.number + 1) % TAGS;
        let done = to.write(data, self.number, shell);
        self.free = shell.now() + shell.cycle() * (lines / BEAT) as u64;
        self.filled = 0;
        done
    }

    fn finish(&mut self, done: Done) {
        if let Some(what) = self.writing.take() {
            self.block.dispatcher.sequence[1] = what.descriptor.sequence;
            self.ending.push(done, what);
        }
    }

    /// Handles the transmission of write `number`. Returns whether it was the last write of a descriptor.
    pub(super) fn written(&mut self, number: u32) -> bool {
        self.ending.written(number)
    }

    /// Ends the descriptors whose data is written, in their order.
    pub(super) fn end(&mut self, shell: &mut Shell<'_>) {
        while let Some(ended) = self.ending.next(shell) {
            let Writing {
                descriptor,
                came,
                ends_packet,
                ..
            } = ended;
            if came < descriptor.len {
                self.block.dispatcher.end_early();
            }
            let control = descriptor.control;
            let outcome = Outcome {
                control,
                len: descriptor.len,
                came,
                ends_packet,
            };
            if !self.block.end(outcome, outcome.interrupts()) {
                let bytes = came;
                self.responses.push_back(Response { bytes, ends_packet });
            }
        }
    }
}
