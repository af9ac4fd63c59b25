//! A host's memory behind the memory controllers of its sockets. Lines are served in order, and reads have an additional latency.

use std::collections::VecDeque;
use std::ops::Range;

use kernel::{Agenda, Bandwidth, Port, Span, Stream, Time};
use packet::{Observation, Packet, PacketId, Packets};
use protocol::coherence::{LINE_BYTES, Line, LineData, POISON_WORD};
use protocol::{AtomicRequest, FunctionId, Header, Kind, MemoryRequest};
use transaction::{Completions, Memory, Pattern, deliver, deliver_poisoned, written};

use super::parameters::{MOST_SOCKETS, RootComplexParameters};

/// The host's memory, for reads by the CPU.
#[derive(Clone, Copy, Debug)]
pub struct Ram<'m> {
    /// The first address.
    pub base: u64,
    /// The bytes.
    pub bytes: &'m Memory,
}

/// The limits with which a memory system accepts writes from root ports: its rate, and its write buffers.
#[derive(Debug)]
struct Ingest {
    rate: Bandwidth,
    buffers: usize,
    /// The time at which each socket can accept the next write.
    free: [Time; MOST_SOCKETS],
    /// For each socket, the times at which its last writes are in memory. There are as many times as write buffers.
    done: [VecDeque<Time>; MOST_SOCKETS],
}

impl Ingest {
    /// The limits, or none if there is neither a rate nor a buffer.
    fn new(parameters: &RootComplexParameters) -> Option<Self> {
        let (rate, buffers) = (
            parameters.ingest_bandwidth,
            parameters.write_buffers as usize,
        );
        (rate.is_some() || buffers > 0).then(|| Ingest {
            rate: rate.unwrap_or(Bandwidth(0)),
            buffers,
            free: [Time::ZERO; MOST_SOCKETS],
            done: Default::default(),
        })
    }

    fn take(&mut self, socket: usize, request: &MemoryRequest, there: Time) -> Time {
        let free = &mut self.free[socket];
        let begun = there.max(*free);
        // Without a rate, a write takes no time.
        *free = begun + self.rate.time_of(u64::from(request.byte_len()));
        begun
    }

    fn is_late(&self, sockets: Range<usize>, bytes: u64, now: Time, there: Time) -> bool {
        let least = there + self.rate.time_of(bytes);
        let is_full = |done: &VecDeque<Time>| {
            self.buffers > 0
                && done.len() == self.buffers
                && done.front().is_some_and(|first| *first > now)
        };
        let is_busy = self.free[sockets.clone()].iter().any(|free| *free > least);
        is_busy || self.done[sockets].iter().any(is_full)
    }

    fn buffer(&mut self, socket: usize, taken: Time, done: Time) -> Time {
        if self.buffers == 0 {
            return done;
        }
        let earlier = &mut self.done[socket];
        let oldest = (earlier.len() == self.buffers).then(|| earlier.pop_front());
        let last = earlier.back().copied().unwrap_or(Time::ZERO);
        earlier.push_back(done.max(last));
        oldest.flatten().map_or(taken, |oldest| taken.max(oldest))
    }
}

#[derive(Debug)]
pub(super) struct MemoryController {
    /// The first address.
    base: u64,
    bytes: Memory,
    /// The bytes of memory of each socket.
    share: u64,
    /// Time at which each socket's memory can start the next line.
    free: [Time; MOST_SOCKETS],
    /// The total time of all lines of each socket's memory, including reserved lines.
    taken: [Span; MOST_SOCKETS],
    /// The time at which each socket's memory has served the last line of a page-table walk.
    walked: [Time; MOST_SOCKETS],
    ingest: Option<Box<Ingest>>,
    /// The time of a line, and the number of address bits within a line.
    line: Span,
    line_bits: u32,
    /// The additional time for each line that a write covers only partly.
    partial_line: Span,
    read_latency: Span,
    /// Largest additional delay of a read.
    read_jitter: Span,
    jitter: Stream,
    /// Largest payload of a completion, and the addresses at which a read may be divided (Read Completion Boundary).
    largest_completion: u32,
    completion_boundary: u32,
    /// The outstanding reads, and the ports whose buffers they occupy.
    pub(super) reads: Agenda<(PacketId, Port)>,
    /// The number of reads to be answered next whose bytes will be poisoned.
    bad_reads: u32,
}

impl MemoryController {
    pub(super) fn new(parameters: &RootComplexParameters, jitter: Stream) -> Self {
        MemoryController {
            base: parameters.memory_base(),
            bytes: Memory::new(parameters.memory.0),
            share: parameters.memory_share(),
            free: [Time::ZERO; MOST_SOCKETS],
            taken: [Span::ZERO; MOST_SOCKETS],
            walked: [Time::ZERO; MOST_SOCKETS],
            ingest: Ingest::new(parameters).map(Box::new),
            line: parameters
                .memory_bandwidth
                .time_of(parameters.memory_line.0),
            line_bits: parameters.memory_line.0.trailing_zeros(),
            partial_line: parameters.memory_partial_line,
            read_latency: parameters.memory_read_latency,
            read_jitter: parameters.memory_read_jitter,
            jitter,
            largest_completion: parameters.largest_completion.0 as u32,
            completion_boundary: parameters.read_completion_boundary.0 as u32,
            reads: Agenda::default(),
            bad_reads: 0,
        }
    }

    /// The time at which a write that arrives at the memory system at `there` is accepted.
    #[inline]
    pub(super) fn ingest(&mut self, request: &MemoryRequest, there: Time) -> Time {
        if self.ingest.is_none() {
            return there;
        }
        let socket = self.socket_of(request);
        let ingest = self.ingest.as_mut();
        ingest.map_or(there, |ingest| ingest.take(socket, request, there))
    }

    /// The time at which a write leaves its receive buffer. It has passed its port at `taken`, and is in memory at `done`.
    #[inline]
    pub(super) fn buffer(&mut self, request: &MemoryRequest, taken: Time, done: Time) -> Time {
        if self.ingest.is_none() {
            return done;
        }
        let socket = self.socket_of(request);
        let ingest = self.ingest.as_mut();
        ingest.map_or(done, |ingest| ingest.buffer(socket, taken, done))
    }

    /// Whether the memory of any of these sockets is busy for longer than a request for `bytes` that arrives at `there` needs.
    pub(super) fn is_late(
        &self,
        sockets: Range<usize>,
        bytes: u64,
        now: Time,
        there: Time,
    ) -> bool {
        let taken = there + self.longest(bytes);
        let is_busy = self.free[sockets.clone()].iter().any(|free| *free > taken);
        let ingest = self.ingest.as_ref();
        is_busy || ingest.is_some_and(|ingest| ingest.is_late(sockets, bytes, now, there))
    }

    /// The longest time that a request for `bytes` takes in the memory, without any latency.
    pub(super) fn longest(&self, bytes: u64) -> Span {
        self.line * (bytes >> self.line_bits).max(1) + self.partial_line * 2
    }

    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// The memory, for reads by the CPU.
    pub(super) fn ram(&self) -> Ram<'_> {
        Ram {
            base: self.base,
            bytes: &self.bytes,
        }
    }

    pub(super) fn bytes(&self) -> &Memory {
        &self.bytes
    }

    pub(super) fn bytes_mut(&mut self) -> &mut Memory {
        &mut self.bytes
    }

    /// Whether a request accesses bytes of this memory. Translation requests do not.
    #[inline]
    pub(super) fn holds(&self, request: &MemoryRequest) -> bool {
        if request.translations() > 0 {
            return false;
        }
        let offset = request.first_byte().checked_sub(self.base);
        offset.is_some_and(|offset| self.bytes.holds(offset, u64::from(request.byte_len())))
    }

    /// The socket of the memory that a request accesses. The request must be for this memory.
    pub(super) fn socket_of(&self, request: &MemoryRequest) -> usize {
        let offset = request.first_byte() - self.base;
        // With one socket, the comparison avoids a slower division.
        if offset < self.share {
            0
        } else {
            (offset / self.share) as usize
        }
    }

    /// The earliest time, from `there` on, at which all earlier writes are complete in every socket.
    pub(super) fn after_writes(&self, there: Time) -> Time {
        self.free.into_iter().fold(there, Time::max)
    }

    /// Reserves the next lines for a write that arrives at `there`. Returns the time at which the write is complete.
    #[inline]
    pub(super) fn take_write(&mut self, request: &MemoryRequest, there: Time) -> Time {
        let done = self.take_lines(request, there);
        if self.partial_line == Span::ZERO || request.is_zero_length() {
            return done;
        }
        let (first, last) = (
            request.first_byte(),
            request.first_byte() + u64::from(request.byte_len()),
        );
        let line = 1 << self.line_bits;
        let parts = if first / line == last / line {
            1
        } else {
            u64::from(first % line > 0) + u64::from(last % line > 0)
        };
        let socket = self.socket_of(request);
        let time = self.partial_line * parts;
        self.taken[socket] += time;
        self.free[socket] += time;
        self.free[socket]
    }

    /// Reserves the next lines for a request that arrives at `there`. Returns the time at which the lines are complete.
    #[inline]
    fn take_lines(&mut self, request: &MemoryRequest, there: Time) -> Time {
        let first = request.first_byte();
        let last = first + u64::from(request.byte_len()).max(1) - 1;
        let lines = (last >> self.line_bits) - (first >> self.line_bits) + 1;
        self.reserve(self.socket_of(request), self.line * lines, there)
    }

    /// Reserves the memory of a socket for the duration `time`, from `there` on or as soon as it is free. Returns the end.
    #[inline]
    fn reserve(&mut self, socket: usize, time: Span, there: Time) -> Time {
        self.taken[socket] += time;
        let free = &mut self.free[socket];
        *free = (*free).max(there) + time;
        *free
    }

    /// The time during which the memory of a socket was busy until `now`. Reservations beyond `now` are assumed to have no gaps between
    /// them.
    pub(super) fn busy(&self, socket: usize, now: Time) -> Span {
        let ahead = Span::from_fs(self.free[socket].as_fs().saturating_sub(now.as_fs()));
        self.taken[socket].saturating_sub(ahead)
    }

    /// Reads the line at `address` for a request that arrives at `there`. Returns the time of the data.
    pub(super) fn fetch(&mut self, address: u64, there: Time) -> Time {
        let late = self.late();
        let socket = ((address - self.base) / self.share) as usize;
        self.reserve(socket, self.line, there) + self.read_latency + late
    }

    /// Reads the line at `address` for a page-table walk whose request is at the memory at `there`. Returns the time of the data. Other
    /// requests reserve their lines when they arrive at their root ports, which is `lead` before they arrive at the memory. The walk is
    /// therefore served before requests that arrive at the memory after it, although they have reserved lines already.
    pub(super) fn fetch_descriptor(&mut self, address: u64, there: Time, lead: Span) -> Time {
        let late = self.late();
        let socket = ((address - self.base) / self.share) as usize;
        let free = &mut self.free[socket];
        let ahead = Time::from_fs(free.as_fs().saturating_sub(lead.as_fs()));
        let walked = &mut self.walked[socket];
        *walked = there.max(ahead).max(*walked) + self.line;
        let data = *walked + self.read_latency + late;
        self.reserve(socket, self.line, there);
        data
    }

    /// A random additional delay of a read.
    fn late(&mut self) -> Span {
        match self.read_jitter.as_fs() {
            0 => Span::ZERO,
            most => Span::from_fs(self.jitter.below(most)),
        }
    }

    /// Stores the bytes of a write. Returns the observation of its flow. The bytes are visible at once: an outstanding read that began
    /// earlier may return them, as in a memory with several banks.
    #[inline(always)]
    pub(super) fn write(
        &mut self,
        packet: &Packet,
        request: &MemoryRequest,
        patterns: &[Pattern],
    ) -> Option<Observation> {
        deliver(packet, request, &mut self.bytes, self.base, patterns)
    }

    /// Stores the bytes of a poisoned write and marks them as poisoned. Returns the observation of its flow.
    pub(super) fn write_poisoned(
        &mut self,
        packet: &Packet,
        request: &MemoryRequest,
    ) -> Option<Observation> {
        deliver_poisoned(packet, request, &mut self.bytes, self.base)
    }

    /// Begins to load the bytes that a write changes.
    pub(super) fn prefetch(&self, request: &MemoryRequest) {
        let place = request.first_byte().wrapping_sub(self.base);
        self.bytes.prefetch(place, request.byte_len());
    }

    /// Performs a store of the CPU. Later loads of the CPU return its bytes at once from the caches, in whatever socket the memory is.
    pub(super) fn store(&mut self, packet: &Packet, request: &MemoryRequest) {
        self.bytes
            .write(request.first_byte() - self.base, written(packet, request));
    }

    /// Begins a read that arrives at `there`. Returns the time of its answer.
    pub(super) fn begin_read(
        &mut self,
        packet: PacketId,
        port: Port,
        request: &MemoryRequest,
        there: Time,
    ) -> Time {
        let late = self.late();
        let due = self.take_lines(request, there) + self.read_latency + late;
        self.reads.push(due, (packet, port));
        due
    }

    /// Poisons the bytes that the next `count` reads request.
    pub(super) fn poison_next_reads(&mut self, count: u32) {
        self.bad_reads += count;
    }

    /// Whether the bytes of the next read will be poisoned.
    pub(super) fn has_bad_reads(&self) -> bool {
        self.bad_reads > 0
    }

    /// Whether a request accesses poisoned bytes. The request must be for this memory.
    pub(super) fn is_poisoned(&self, request: &MemoryRequest) -> bool {
        let offset = request.first_byte() - self.base;
        self.bytes.is_poisoned(offset, request.byte_len().into())
    }

    /// Poisons the bytes that a read requests.
    pub(super) fn spoil(&mut self, request: &Header) {
        if let Kind::MemoryRead(read) = &request.kind {
            let offset = read.first_byte() - self.base;
            self.bytes.poison(offset, read.byte_len().into());
            self.bad_reads -= 1;
        }
    }

    /// The completions of a read by this completer, with at most `max_payload` bytes each.
    pub(super) fn completions(
        &self,
        packet: PacketId,
        (completer, max_payload): (FunctionId, u32),
        packets: &mut Packets,
    ) -> Vec<PacketId> {
        let request = *packets[packet].header();
        let largest = max_payload.min(self.largest_completion);
        let completions = Completions::of(&request, completer, largest, self.completion_boundary);
        completions
            .packets(packet, &self.bytes, self.base, packets)
            .collect()
    }

    /// The data of these lines, with the offset of each.
    pub(super) fn lines(&self, lines: &[Line]) -> Vec<(u64, LineData)> {
        let at = |one: &Line| one.address() - self.base;
        let lines = lines.iter().map(at);
        lines.map(|at| (at, line(&self.bytes, at))).collect()
    }

    /// Writes lines that [`Self::lines`] has read.
    pub(super) fn restore(&mut self, lines: &[(u64, LineData)]) {
        for (offset, data) in lines {
            set_line(&mut self.bytes, *offset, data);
        }
    }

    /// Executes an atomic operation with these operands. Returns the previous value.
    pub(super) fn execute(&mut self, request: &AtomicRequest, operands: &[u8]) -> u128 {
        let atomic = request.on_line(operands);
        let offset = request.address() - self.base;
        let mut bytes = [0; 16];
        self.bytes.read(offset, &mut bytes[..atomic.width()]);
        let old = u128::from_le_bytes(bytes);
        let new = atomic.applied(old).to_le_bytes();
        self.bytes.write(offset, &new[..atomic.width()]);
        old
    }
}

/// The line at `offset` of a memory. If any byte of a word is poisoned, the whole word is poisoned.
pub(super) fn line(memory: &Memory, offset: u64) -> LineData {
    let mut bytes = [0; LINE_BYTES];
    memory.read(offset, &mut bytes);
    let mut data = LineData::from(bytes);
    if memory.is_poisoned(offset, LINE_BYTES as u64) {
        for word in (0..LINE_BYTES).step_by(POISON_WORD) {
            if memory.is_poisoned(offset + word as u64, POISON_WORD as u64) {
                data.spoil(word, POISON_WORD);
            }
        }
    }
    data
}

/// Writes the line at `offset` of a memory, and poisons the words that are poisoned in `data`.
pub(super) fn set_line(memory: &mut Memory, offset: u64, data: &LineData) {
    memory.write(offset, &data.bytes);
    if data.poison != 0 {
        for word in (0..LINE_BYTES).step_by(POISON_WORD) {
            if data.is_poisoned(word, POISON_WORD) {
                memory.poison(offset + word as u64, POISON_WORD as u64);
            }
        }
    }
}

/// The completion by `completer` of an executed atomic operation. It contains the previous value `old`.
pub(super) fn atomic_completion(
    packet: PacketId,
    request: &AtomicRequest,
    old: u128,
    completer: FunctionId,
    packets: &mut Packets,
) -> PacketId {
    let width = request.width();
    let (header, stamp) = (*packets[packet].header(), packets[packet].stamp);
    let answer = Header::completion_with_data(&header, completer, 0, width)
        .expect("an atomic operation's completion has the width of its value");
    packets.make(answer, stamp, &old.to_le_bytes()[..width as usize])
}

#[cfg(test)]
mod tests {
    use kernel::{Bandwidth, Bytes};
    use protocol::Tag;

    use super::*;

    const PART: Span = Span::from_ns(50);
    const LINE: Span = Span::from_ns(4);

    /// The time of a write of `len` bytes at `address`. A line takes `LINE`, and a line that is written partly takes `PART` in addition.
    fn time_of_write(address: u64, len: u32) -> Span {
        let parameters = RootComplexParameters {
            memory_line: Bytes(64),
            memory_bandwidth: Bandwidth(16_000_000_000),
            memory_partial_line: PART,
            ..RootComplexParameters::default()
        };
        let mut memory = MemoryController::new(&parameters, Stream::named(1, "memory"));
        let address = memory.base() + address;
        let write = MemoryRequest::new(FunctionId(0), Tag(0), address, len);
        let there = Time::ZERO + Span::from_ns(7);
        let done = memory.take_write(&write.expect("a legal write"), there);
        assert_eq!(
            memory.after_writes(Time::ZERO),
            done,
            "the next write waits"
        );
        done.since(there)
    }

    #[test]
    fn a_write_of_whole_lines_takes_their_time() {
        assert_eq!(time_of_write(0, 64), LINE);
        assert_eq!(time_of_write(192, 64), LINE);
        assert_eq!(time_of_write(64, 256), LINE * 4);
    }

    #[test]
    fn each_end_of_a_write_within_a_line_takes_the_time_of_a_partial_line() {
        // Writes of a part of one line: its beginning, its end, and its middle.
        for (address, len) in [(0, 32), (0, 63), (32, 32), (63, 1), (16, 32)] {
            assert_eq!(
                time_of_write(address, len),
                LINE + PART,
                "{len} at {address}"
            );
        }
        // In order, the partly written lines are the last one, the first one, and both the first and the last one.
        assert_eq!(time_of_write(0, 96), LINE * 2 + PART);
        assert_eq!(time_of_write(32, 96), LINE * 2 + PART);
        assert_eq!(time_of_write(32, 64), LINE * 2 + PART * 2);
        assert_eq!(time_of_write(1, 190), LINE * 3 + PART * 2);
    }

    #[test]
    fn a_walk_waits_for_the_lines_before_it_and_not_for_those_that_arrive_later() {
        let parameters = RootComplexParameters {
            memory_line: Bytes(64),
            memory_bandwidth: Bandwidth(16_000_000_000),
            memory_read_latency: Span::from_ns(80),
            ..RootComplexParameters::default()
        };
        let mut memory = MemoryController::new(&parameters, Stream::named(1, "memory"));
        let (base, lead) = (memory.base(), Span::from_ns(50));
        let at = |ns| Time::ZERO + Span::from_ns(ns);
        let write = MemoryRequest::new(FunctionId(0), Tag(0), base, 256).expect("a legal write");
        // The write arrives at its root port at 100 ns.
        assert_eq!(memory.take_write(&write, at(150)), at(166));
        let read = |memory: &mut MemoryController, ns| memory.fetch_descriptor(base, at(ns), lead);
        assert_eq!(read(&mut memory, 120), at(120 + 4 + 80));
        assert_eq!(
            read(&mut memory, 120),
            at(124 + 4 + 80),
            "one after the other"
        );
        // The lines of the walks delay the writes. A walk waits for a longer queue of lines.
        assert_eq!(memory.take_write(&write, at(150)), at(190));
        for _ in 0..9 {
            memory.take_write(&write, at(150));
        }
        assert_eq!(read(&mut memory, 130), at(334 - 50 + 4 + 80));
    }

    #[test]
    fn a_write_without_bytes_writes_no_line_partly() {
        assert_eq!(time_of_write(32, 0), LINE);
    }
}
