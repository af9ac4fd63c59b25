//! One test of the native loopback, from its start to its status line.

use std::collections::VecDeque;

use kernel::Time;

use super::Mode;
use super::registers::{Counts, Registers};
use crate::fpga_card::host_interface::{LINE, LONGEST};
use crate::fpga_card::{ReadError, Shell};

/// A test in progress, or the rest of a stopped one.
#[derive(Debug, Default)]
pub(super) struct Run {
    state: State,
    mode: Mode,
    counts: Counts,
    /// The next line to read, and the next line to write.
    next_read: u32,
    next_write: u32,
    /// Lines that were read and are not yet written.
    held: VecDeque<Held>,
    /// Outstanding lines of reads of a stopped test, to be dropped.
    discarded: u32,
    /// Number of failed reads.
    failures: u32,
    began: Time,
    /// The time of the first data in either direction.
    first: Option<Time>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    Running,
    /// The data is complete; the status line is not written.
    Done,
    /// The status line is written; the interrupt is not sent.
    Told,
}

#[derive(Clone, Debug)]
struct Held {
    line: u32,
    len: usize,
    data: [u8; LONGEST],
}

/// Most lines in the buffer for read data.
const ROOM: usize = 128;

/// The tag of a write: its number of lines.
fn tag_of(len: usize) -> u32 {
    (len as u64 / LINE) as u32
}

impl Run {
    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    /// Begins a test; only outstanding answers remain of the previous one.
    pub(super) fn start(&mut self, mode: Mode, registers: &Registers, shell: &Shell<'_>) {
        self.stop();
        self.mode = mode;
        self.state = State::Running;
        self.began = shell.now();
        if registers.lines == 0 {
            self.state = State::Done;
        }
    }

    /// Ends a test without a status line.
    pub(super) fn stop(&mut self) {
        let Counts {
            pending_reads,
            pending_writes,
            ..
        } = self.counts;
        *self = Run {
            discarded: pending_reads,
            counts: Counts {
                pending_reads,
                pending_writes,
                ..Counts::default()
            },
            ..Run::default()
        };
    }

    /// Handles the end of a read; its tag has the first line and the number of lines.
    pub(super) fn answered(&mut self, tag: u32, data: Result<&[u8], ReadError>, shell: &Shell<'_>) {
        let (line, lines) = unpack(tag);
        self.counts.pending_reads -= lines;
        if self.discarded > 0 {
            self.discarded -= lines;
            return;
        }
        self.first.get_or_insert(shell.now());
        let Ok(data) = data else {
            self.failures += 1;
            return;
        };
        self.counts.reads = self.counts.reads.wrapping_add(lines);
        if self.mode == Mode::Copy {
            let mut held = Held {
                line,
                len: data.len(),
                data: [0; LONGEST],
            };
            held.data[..data.len()].copy_from_slice(data);
            self.held.push_back(held);
        }
    }

    /// Handles the transmission of lines.
    pub(super) fn written(&mut self, lines: u32) {
        self.counts.pending_writes = self.counts.pending_writes.saturating_sub(lines);
    }

    /// Continues all work that can continue now.
    pub(super) fn go_on(&mut self, registers: &Registers, shell: &mut Shell<'_>) {
        if self.discarded > 0 {
            return;
        }
        if self.state == State::Running {
            while self.write_held(registers, shell)
                | self.read_next(registers, shell)
                | self.write_next(registers, shell)
            {}
            if self.is_over(registers) {
                self.state = State::Done;
            }
        }
        if self.state == State::Done && shell.can_write() {
            let status = self.status(shell);
            // A write to an invalid address of the status memory is lost.
            let _ = shell.write(registers.status_line(), &status, 0);
            self.state = State::Told;
        }
        if self.state == State::Told && shell.can_write() {
            if let Some(vector) = registers.interrupt() {
                let _ = shell.interrupt(vector);
            }
            self.state = State::Idle;
        }
    }

    /// Writes the oldest lines that were read. False if there are none or they must wait.
    fn write_held(&mut self, registers: &Registers, shell: &mut Shell<'_>) -> bool {
        if self.held.is_empty() || !shell.can_write() {
            return false;
        }
        let Some(held) = self.held.pop_front() else {
            return false;
        };
        let to = registers.destination(held.line);
        self.write(to, &held.data[..held.len], shell);
        true
    }

    fn write(&mut self, to: u64, data: &[u8], shell: &mut Shell<'_>) {
        let lines = tag_of(data.len());
        if shell.write(to, data, lines).is_ok() {
            self.counts.writes = self.counts.writes.wrapping_add(lines);
            self.counts.pending_writes += lines;
            self.first.get_or_insert(shell.now());
        } else {
            self.failures += 1;
        }
    }

    /// Requests the next lines. False if there are none or they must wait.
    fn read_next(&mut self, registers: &Registers, shell: &mut Shell<'_>) -> bool {
        let may = self.mode.reads() && !self.is_at_end(self.next_read, registers);
        let has_room = self.held.len() + (self.counts.pending_reads as usize) < ROOM;
        if !may || !has_room || !shell.can_read() {
            return false;
        }
        let line = self.next_read;
        let mut lines = request_lines(registers, registers.source(line), line);
        if self.mode == Mode::Copy {
            lines = lines.min(request_lines(registers, registers.destination(line), line));
        }
        let len = (u64::from(lines) * LINE) as usize;
        if shell
            .read(registers.source(line), len, pack(line, lines))
            .is_ok()
        {
            self.counts.pending_reads += lines;
        } else {
            self.failures += 1;
        }
        self.next_read = step(line, lines, registers);
        true
    }

    /// Writes the next lines of generated data. False if there are none or they must wait.
    fn write_next(&mut self, registers: &Registers, shell: &mut Shell<'_>) -> bool {
        let may = self.mode.writes() && !self.is_at_end(self.next_write, registers);
        if !may || !shell.can_write() {
            return false;
        }
        let line = self.next_write;
        let to = registers.destination(line);
        let lines = request_lines(registers, to, line);
        let mut data = [0; LONGEST];
        let data = &mut data[..(u64::from(lines) * LINE) as usize];
        for (number, line) in (line..).zip(data.chunks_mut(LINE as usize)) {
            let (words, _) = line.as_chunks_mut::<4>();
            words.fill(number.to_le_bytes());
        }
        self.write(to, data, shell);
        self.next_write = step(line, lines, registers);
        true
    }

    /// Whether no further line begins at `next`. A continuous test repeats until software completes it, or an error occurs.
    fn is_at_end(&self, next: u32, registers: &Registers) -> bool {
        let told = registers.control.forces_completion();
        next >= registers.lines || told || self.failures > 0 && registers.is_continuous()
    }

    fn is_over(&self, registers: &Registers) -> bool {
        let reads = self.mode.reads() && !self.is_at_end(self.next_read, registers);
        let writes = self.mode.writes() && !self.is_at_end(self.next_write, registers);
        !reads && !writes && self.held.is_empty() && self.counts.pending_reads == 0
    }

    /// The status line: complete; error; cycles; reads and writes in lines; cycles before the first and after the last data.
    fn status(&self, shell: &Shell<'_>) -> [u8; LINE as usize] {
        let cycle = shell.cycle().as_fs().max(1);
        let cycles = |from: Time, to: Time| to.since(from).as_fs() / cycle;
        let first = self.first.unwrap_or(shell.now());
        let mut line = [0; LINE as usize];
        let fields = [
            1,
            self.failures,
            cycles(self.began, shell.now()) as u32,
            (cycles(self.began, shell.now()) >> 32) as u32,
            self.counts.reads,
            self.counts.writes,
            cycles(self.began, first) as u32,
            0,
        ];
        let (words, _) = line.as_chunks_mut::<4>();
        for (word, field) in words.iter_mut().zip(fields) {
            *word = field.to_le_bytes();
        }
        line
    }
}

/// Number of lines in the request at `line` and `address`: it does not cross a multiple of the longest request.
fn request_lines(registers: &Registers, address: u64, line: u32) -> u32 {
    let longest = registers.lines_of_request();
    let before = (address / LINE) as u32 % longest;
    (longest - before).min(registers.lines.saturating_sub(line))
}

/// The line after `lines` lines from `line`; a continuous test returns to the first line after the last.
fn step(line: u32, lines: u32, registers: &Registers) -> u32 {
    let next = line.saturating_add(lines);
    if registers.is_continuous() && next >= registers.lines {
        0
    } else {
        next
    }
}

/// The tag of a read: two bits have the number of lines. Tests of more than 2^30 lines, 64 GiB, reuse tags.
fn pack(line: u32, lines: u32) -> u32 {
    line << 2 | (lines - 1) & 3
}

fn unpack(tag: u32) -> (u32, u32) {
    (tag >> 2, (tag & 3) + 1)
}
