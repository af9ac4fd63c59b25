//! One test of the native loopback, from its start to its status line.

use std::collections::VecDeque;

use kernel::Time;
use peerlane_device::Failure;

use super::Mode;
use super::exchange::Exchange;
use super::registers::{AtomicTest, Counts, Registers};
use crate::fpga_card::Shell;
use crate::fpga_card::misuse::{LINE, LONGEST};

/// A test in progress, or the outstanding requests of a stopped test.
#[derive(Debug, Default)]
pub(super) struct Run {
    state: State,
    mode: Mode,
    pub(super) counts: Counts,
    /// The number of the next line to read, and of the next line to write.
    next_read: u32,
    next_write: u32,
    /// Lines that were read and are not yet written.
    held: VecDeque<Held>,
    /// Number of outstanding lines that a stopped test has requested. Their data is dropped.
    discarded: u32,
    /// Number of failed reads.
    pub(super) failures: u32,
    began: Time,
    /// The time of the first data in either direction.
    first: Option<Time>,
    /// The times from which the next read and the next write of host memory may be requested. Each line occupies its direction for a cycle.
    free: [Time; 2],
    /// The time at which the last line has arrived. Each line that arrives occupies a cycle.
    arrived: Time,
    /// Whether the test has written to host memory. If so, the test ends when its last write has left the card.
    has_written: bool,
    /// Whether the next read is atomic, in a test that has both atomic and ordinary reads.
    atomic_next: bool,
    /// The reads and the writes of the card's memory that are in progress.
    memory: [MemoryAccesses; 2],
    /// The data exchange with software, in mode 7.
    exchange: Exchange,
    /// Number of status lines that were written so far.
    told: u16,
}

/// The accesses to the card's memory in one direction: the end of each, and the time from which the next one may begin.
#[derive(Debug, Default)]
struct MemoryAccesses {
    ends: VecDeque<Time>,
    free: Time,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    Running,
    /// All data is transferred; the status line is not written yet.
    Done,
    /// The status line is written; the interrupt is not sent yet.
    Told,
}

#[derive(Clone, Debug)]
struct Held {
    line: u32,
    /// The time at which the data can be written.
    ready: Time,
    len: usize,
    data: [u8; LONGEST],
}

const READS: usize = 0;
const WRITES: usize = 1;

/// Most outstanding accesses of each direction to the card's memory.
const MEMORY_ACCESSES: usize = 64;

/// Most lines of read data that are requested or stored.
const ROOM: usize = 128;

/// The tag of a write, which is its number of lines.
fn tag_of(len: usize) -> u32 {
    (len as u64 / LINE) as u32
}

impl Run {
    /// Begins a test. Only the outstanding requests of the previous test remain. A test with a mode that the design does not have fails at once.
    pub(super) fn start(&mut self, registers: &Registers, shell: &Shell<'_>) {
        self.stop();
        self.state = State::Running;
        self.began = shell.now();
        match registers.mode() {
            Some(mode) => self.mode = mode,
            None => self.failures += 1,
        }
        let is_refused = registers.atomic().is_some() && !shell.has_atomics();
        self.failures += u32::from(is_refused);
        if self.failures > 0 || registers.lines() == 0 && self.mode != Mode::Software {
            self.state = State::Done;
        }
    }

    /// Handles a notice that software has given in a register.
    pub(super) fn notice(&mut self, registers: &Registers) {
        self.exchange.notice(registers);
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
            told: self.told,
            counts: Counts {
                pending_reads,
                pending_writes,
                ..Counts::default()
            },
            ..Run::default()
        };
    }

    /// Handles the end of a read. The tag contains the first line and the number of lines.
    pub(super) fn answered(
        &mut self,
        tag: u32,
        data: Result<&[u8], Failure>,
        registers: &Registers,
        shell: &mut Shell<'_>,
    ) {
        let (line, lines) = unpack(tag);
        self.counts.pending_reads -= lines;
        if self.discarded > 0 {
            self.discarded -= lines;
            return;
        }
        self.first.get_or_insert(shell.now());
        self.arrived = self.arrived.max(shell.now()) + shell.cycle() * u64::from(lines);
        let Ok(data) = data else {
            self.failures += 1;
            return;
        };
        self.counts.reads = self.counts.reads.wrapping_add(lines);
        if self.mode == Mode::Software {
            self.exchange.answered(line, data, registers);
        }
        if self.mode == Mode::Copy {
            let mut held = Held {
                line,
                ready: self.arrived,
                len: (u64::from(lines) * LINE) as usize,
                data: [0; LONGEST],
            };
            held.data[..data.len()].copy_from_slice(data);
            if registers.has_memory() {
                self.pass_memory(&mut held, shell);
            }
            self.held.push_back(held);
        }
    }

    /// Writes the data to the card's memory and reads it back from there.
    fn pass_memory(&mut self, held: &mut Held, shell: &mut Shell<'_>) {
        let at = u64::from(held.line) * LINE;
        let data = &mut held.data[..held.len];
        let written = shell.write_memory(at, data);
        match written.and_then(|_| shell.read_memory(at, data)) {
            Ok(ready) => held.ready = held.ready.max(ready),
            Err(_) => self.failures += 1,
        }
    }

    /// Handles the transmission of a write with `lines` lines.
    pub(super) fn written(&mut self, lines: u32) {
        self.counts.pending_writes = self.counts.pending_writes.saturating_sub(lines);
    }

    /// Continues all work that can continue at this time.
    pub(super) fn go_on(&mut self, registers: &Registers, shell: &mut Shell<'_>) {
        if self.discarded > 0 {
            return;
        }
        if self.state == State::Running {
            self.end_memory_accesses(shell.now());
            while self.write_held(registers, shell)
                | self.read_next(registers, shell)
                | self.write_next(registers, shell)
                | self.exchange_next(registers, shell)
            {}
            self.await_memory(shell);
            if self.is_over(registers) {
                // The test ends when the cycles of the last lines have passed.
                let end = self.free[READS].max(self.free[WRITES]).max(self.arrived);
                if end > shell.now() {
                    shell.wake_at(end);
                } else if !self.has_written || shell.writes_are_gone() {
                    self.state = State::Done;
                }
            }
        }
        if self.state == State::Done && shell.can_write() {
            let status = if registers.design.is_exerciser() {
                self.exerciser_status(shell)
            } else {
                self.status(shell)
            };
            self.told = self.told.wrapping_add(1);
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

    /// Whether the unit may request lines in this direction now. If not, it is woken when it may.
    fn is_paced(&self, way: usize, shell: &mut Shell<'_>) -> bool {
        if self.free[way] > shell.now() {
            shell.wake_at(self.free[way]);
            return false;
        }
        true
    }

    /// Continues the data exchange with software. Returns false if there is nothing to do now.
    fn exchange_next(&mut self, registers: &Registers, shell: &mut Shell<'_>) -> bool {
        if self.mode != Mode::Software || self.is_exchange_over(registers) {
            return false;
        }
        if let Some((to, data)) = self.exchange.next_write(registers) {
            if !self.is_paced(WRITES, shell) || !shell.can_write() {
                return false;
            }
            self.exchange.wrote(registers);
            self.write(to, &data, shell);
            return true;
        }
        let Some((from, line)) = self.exchange.next_read(registers) else {
            return false;
        };
        if !self.is_paced(READS, shell) || !shell.can_read() {
            return false;
        }
        self.exchange.asked();
        if shell.read(from, LINE as usize, pack(line, 1)).is_ok() {
            self.counts.pending_reads += 1;
        } else {
            self.failures += 1;
        }
        self.free[READS] = shell.now() + shell.cycle();
        true
    }

    /// Writes the oldest line, or lines of one request, that were read. Returns false if there are none or they must wait.
    fn write_held(&mut self, registers: &Registers, shell: &mut Shell<'_>) -> bool {
        if self.held.is_empty() || !self.is_paced(WRITES, shell) || !shell.can_write() {
            return false;
        }
        if let Some(held) = self.held.front()
            && held.ready > shell.now()
        {
            shell.wake_at(held.ready);
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
        self.free[WRITES] = shell.now() + shell.cycle() * u64::from(lines);
        if shell.write(to, data, lines).is_ok() {
            self.counts.writes = self.counts.writes.wrapping_add(lines);
            self.counts.pending_writes += lines;
            self.has_written = true;
            self.first.get_or_insert(shell.now());
        } else {
            self.failures += 1;
        }
    }

    /// Requests the next lines. Returns false if there are none or they must wait.
    fn read_next(&mut self, registers: &Registers, shell: &mut Shell<'_>) -> bool {
        let may = self.mode.reads() && !self.is_at_end(self.next_read, registers);
        if may && self.mode != Mode::Copy && registers.has_memory() {
            return self.access_memory(READS, registers, shell);
        }
        let has_room = self.held.len() + (self.counts.pending_reads as usize) < ROOM;
        if !may || !has_room || !self.is_paced(READS, shell) || !shell.can_read() {
            return false;
        }
        let line = self.next_read;
        let atomic = registers.atomic().filter(|_| self.takes_atomic());
        let mut lines = request_lines(registers, registers.source(line), line);
        if self.mode == Mode::Copy {
            lines = lines.min(request_lines(registers, registers.destination(line), line));
        }
        if atomic.is_some() {
            lines = 1;
        }
        if read(registers.source(line), (line, lines), atomic, shell) {
            self.counts.pending_reads += lines;
        } else {
            self.failures += 1;
        }
        self.free[READS] = shell.now() + shell.cycle() * u64::from(lines);
        self.next_read = step(line, lines, registers);
        true
    }

    /// Whether the next read of a test with an atomic function is atomic. All reads of a copy are atomic, and every second read of another test.
    fn takes_atomic(&mut self) -> bool {
        self.atomic_next = self.mode == Mode::Copy || !self.atomic_next;
        self.atomic_next
    }

    /// Writes the next lines of generated data. Returns false if there are none or they must wait.
    fn write_next(&mut self, registers: &Registers, shell: &mut Shell<'_>) -> bool {
        let may = self.mode.writes() && !self.is_at_end(self.next_write, registers);
        if may && registers.has_memory() {
            return self.access_memory(WRITES, registers, shell);
        }
        if !may || !self.is_paced(WRITES, shell) || !shell.can_write() {
            return false;
        }
        let line = self.next_write;
        let to = registers.destination(line);
        let lines = request_lines(registers, to, line);
        let mut data = [0; LONGEST];
        let data = &mut data[..(u64::from(lines) * LINE) as usize];
        make(line, data);
        self.write(to, data, shell);
        self.next_write = step(line, lines, registers);
        true
    }

    /// Reads or writes the next lines in the card's memory. Returns false if no access can begin now.
    fn access_memory(&mut self, way: usize, registers: &Registers, shell: &mut Shell<'_>) -> bool {
        let (now, cycle) = (shell.now(), shell.cycle());
        let accesses = &mut self.memory[way];
        if accesses.free > now || accesses.ends.len() >= MEMORY_ACCESSES {
            let end = accesses.ends.front().copied().unwrap_or(accesses.free);
            shell.wake_at(end.min(accesses.free).max(now));
            return false;
        }
        let next = if way == READS {
            &mut self.next_read
        } else {
            &mut self.next_write
        };
        let line = *next;
        let at = u64::from(line) * LINE;
        let lines = request_lines(registers, at, line);
        *next = step(line, lines, registers);
        let mut data = [0; LONGEST];
        let data = &mut data[..(u64::from(lines) * LINE) as usize];
        let (ended, count) = if way == READS {
            (shell.read_memory(at, data), &mut self.counts.reads)
        } else {
            make(line, data);
            (shell.write_memory(at, data), &mut self.counts.writes)
        };
        accesses.free = now + cycle * u64::from(lines);
        match ended {
            Ok(end) => {
                accesses.ends.push_back(end);
                *count = count.wrapping_add(lines);
                self.first.get_or_insert(end);
            }
            Err(_) => self.failures += 1,
        }
        true
    }

    /// Ends the accesses to the card's memory that are complete.
    fn end_memory_accesses(&mut self, now: Time) {
        for MemoryAccesses { ends, .. } in &mut self.memory {
            while ends.front().is_some_and(|end| *end <= now) {
                ends.pop_front();
            }
        }
    }

    /// Requests a wake-up at the end of the next access to the card's memory.
    fn await_memory(&self, shell: &mut Shell<'_>) {
        for end in self.memory.iter().filter_map(|one| one.ends.front()) {
            shell.wake_at(*end);
        }
    }

    /// Whether no further access begins at line `next`. A continuous test repeats until software completes it, or an error occurs.
    fn is_at_end(&self, next: u32, registers: &Registers) -> bool {
        let told = registers.control().forces_completion();
        next >= registers.lines() || told || self.failures > 0 && registers.is_continuous()
    }

    fn is_over(&self, registers: &Registers) -> bool {
        let reads = self.mode.reads() && !self.is_at_end(self.next_read, registers);
        let writes = self.mode.writes() && !self.is_at_end(self.next_write, registers);
        let is_memory_done = self.memory.iter().all(|one| one.ends.is_empty());
        let is_host_done = self.held.is_empty() && self.counts.pending_reads == 0;
        if self.mode == Mode::Software && !self.is_exchange_over(registers) {
            return false;
        }
        !reads && !writes && is_host_done && is_memory_done
    }

    /// Whether the exchange begins no further access. A failed access ends the exchange, because it needs the data of each read.
    fn is_exchange_over(&self, registers: &Registers) -> bool {
        self.failures > 0 || self.exchange.is_over(registers)
    }

    /// The status line of the native loopback: complete; error; cycles; reads and writes in lines; cycles before the first and after the last
    /// data.
    fn status(&self, shell: &Shell<'_>) -> [u8; LINE as usize] {
        let all = self.cycles_to(shell.now(), shell);
        let first = self.cycles_to(self.first.unwrap_or(shell.now()), shell);
        let mut line = [0; LINE as usize];
        let fields = [
            1,
            self.failures | self.exchange.error(),
            all as u32,
            (all >> 32) as u32,
            self.counts.reads,
            self.counts.writes,
            first as u32,
            0,
        ];
        put(&mut line, fields);
        put(&mut line[fields.len() * 4..], self.exchange.details());
        line
    }

    /// The value of the test's cycle counter at `time`: the number of cycles that have begun.
    fn cycles_to(&self, time: Time, shell: &Shell<'_>) -> u64 {
        let cycle = shell.cycle().as_fs().max(1);
        time.since(self.began).as_fs().div_ceil(cycle)
    }

    /// The status line of an exerciser: complete, and the number of the status line; errors; cycles; reads and writes in lines.
    fn exerciser_status(&self, shell: &Shell<'_>) -> [u8; LINE as usize] {
        let cycles = self.cycles_to(shell.now(), shell);
        let mut line = [0; LINE as usize];
        let fields = [
            1 | u32::from(self.told) << 1 & 0xfffe,
            self.failures,
            cycles as u32,
            (cycles >> 32) as u32 & 0xff,
            self.counts.reads,
            self.counts.writes,
        ];
        put(&mut line, fields);
        line
    }
}

/// Requests lines of host memory, or an atomic operation on the first of them. Returns false if the shell rejects the request.
fn read(
    from: u64,
    (line, lines): (u32, u32),
    atomic: Option<AtomicTest>,
    shell: &mut Shell<'_>,
) -> bool {
    let tag = pack(line, lines);
    let Some(atomic) = atomic else {
        return shell
            .read(from, (u64::from(lines) * LINE) as usize, tag)
            .is_ok();
    };
    let (operands, len) = atomic.operands(line);
    let asked = shell.atomic(from, atomic.operation, &operands[..len], tag);
    asked.is_ok()
}

fn put<const N: usize>(line: &mut [u8], fields: [u32; N]) {
    let (words, _) = line.as_chunks_mut::<4>();
    for (word, field) in words.iter_mut().zip(fields) {
        *word = field.to_le_bytes();
    }
}

/// Makes the data of lines from `line` on. All words of a line are the number of the line.
fn make(line: u32, data: &mut [u8]) {
    for (number, line) in (line..).zip(data.chunks_mut(LINE as usize)) {
        let (words, _) = line.as_chunks_mut::<4>();
        words.fill(number.to_le_bytes());
    }
}

/// Number of lines in the request that begins at `line` and `address`. The request does not cross a multiple of the longest request.
fn request_lines(registers: &Registers, address: u64, line: u32) -> u32 {
    let longest = registers.lines_of_request();
    let before = (address / LINE) as u32 % longest;
    let mut most = longest - before;
    if registers.strides() > 0 {
        most = most.min(longest - line % longest);
    }
    most.min(registers.lines().saturating_sub(line))
}

/// The line that follows `lines` lines from `line` on. In a continuous test, the first line follows the last one.
fn step(line: u32, lines: u32, registers: &Registers) -> u32 {
    let next = line.saturating_add(lines);
    if registers.is_continuous() && next >= registers.lines() {
        0
    } else {
        next
    }
}

/// The tag of a read: the number of its first line, and the number of its lines in two bits. Tests of more than 2^30 lines, 64 GiB, use tags
/// more than once.
fn pack(line: u32, lines: u32) -> u32 {
    line << 2 | (lines - 1) & 3
}

fn unpack(tag: u32) -> (u32, u32) {
    (tag >> 2, (tag & 3) + 1)
}
