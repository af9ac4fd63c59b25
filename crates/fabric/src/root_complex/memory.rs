//! A host's memory behind the controllers of its sockets: lines are served in order, reads have an additional latency.

use kernel::{Agenda, Port, Span, Stream, Time};
use packet::{Packet, PacketId};
use protocol::MemoryRequest;
use transaction::{Memory, written};

use super::parameters::MOST_SOCKETS;
use crate::RootComplexParameters;

/// The memory controllers and their memory.
#[derive(Debug)]
pub(crate) struct MemoryController {
    /// The first address.
    base: u64,
    bytes: Memory,
    /// Bytes of memory for each socket.
    share: u64,
    /// Time at which each socket's memory can start the next line.
    free: [Time; MOST_SOCKETS],
    /// Time of a line, and the number of address bits within a line.
    line: Span,
    line_bits: u32,
    /// Additional time of a write for each line that it writes partly.
    partial_line: Span,
    read_latency: Span,
    /// Largest additional delay of a read.
    read_jitter: Span,
    jitter: Stream,
    /// Outstanding reads, and the ports whose buffers hold them.
    reads: Agenda<(PacketId, Port)>,
}

impl MemoryController {
    pub(crate) fn new(parameters: &RootComplexParameters, jitter: Stream) -> Self {
        MemoryController {
            base: parameters.memory_base(),
            bytes: Memory::new(parameters.memory.0),
            share: parameters.memory_share(),
            free: [Time::ZERO; MOST_SOCKETS],
            line: parameters
                .memory_bandwidth
                .time_of(parameters.memory_line.0),
            line_bits: parameters.memory_line.0.trailing_zeros(),
            partial_line: parameters.memory_partial_line,
            read_latency: parameters.memory_read_latency,
            read_jitter: parameters.memory_read_jitter,
            jitter,
            reads: Agenda::default(),
        }
    }

    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    pub(crate) fn bytes(&self) -> &Memory {
        &self.bytes
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut Memory {
        &mut self.bytes
    }

    /// Whether a request is for bytes of this memory; a translation request is not.
    pub(crate) fn holds(&self, request: &MemoryRequest) -> bool {
        if request.translations() > 0 {
            return false;
        }
        let offset = request.first_byte().checked_sub(self.base);
        offset.is_some_and(|offset| self.bytes.holds(offset, u64::from(request.byte_len())))
    }

    /// The socket of the memory that a request accesses; the request must be for this memory.
    #[inline]
    pub(crate) fn socket_of(&self, request: &MemoryRequest) -> usize {
        let offset = request.first_byte() - self.base;
        // The comparison avoids a slower division where there is one socket.
        if offset < self.share {
            0
        } else {
            (offset / self.share) as usize
        }
    }

    /// Time at which something that arrives at `there` is after all earlier writes, in every socket.
    pub(crate) fn after_writes(&self, there: Time) -> Time {
        self.free.into_iter().fold(there, Time::max)
    }

    /// Reserves the next lines for a write that arrives at `there`; returns the time at which the write is complete.
    pub(crate) fn take_write(&mut self, request: &MemoryRequest, there: Time) -> Time {
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
        let free = &mut self.free[self.socket_of(request)];
        *free += self.partial_line * parts;
        *free
    }

    /// Reserves the next lines for a request that arrives at `there`; returns the time at which they are complete.
    fn take_lines(&mut self, request: &MemoryRequest, there: Time) -> Time {
        let first = request.first_byte();
        let last = first + u64::from(request.byte_len()).max(1) - 1;
        let lines = (last >> self.line_bits) - (first >> self.line_bits) + 1;
        let free = &mut self.free[self.socket_of(request)];
        *free = (*free).max(there) + self.line * lines;
        *free
    }

    /// Reads the line at `address` for a request that arrives at `there`; returns the time of the data.
    pub(crate) fn fetch(&mut self, address: u64, there: Time) -> Time {
        let late = self.late();
        let socket = ((address - self.base) / self.share) as usize;
        let free = &mut self.free[socket];
        *free = (*free).max(there) + self.line;
        *free + self.read_latency + late
    }

    /// A random additional delay of a read.
    fn late(&mut self) -> Span {
        match self.read_jitter.as_fs() {
            0 => Span::ZERO,
            most => Span::from_fs(self.jitter.below(most)),
        }
    }

    /// Performs a store of the CPU at `now`; the CPU does not wait for its end.
    pub(crate) fn store(&mut self, packet: &Packet, request: &MemoryRequest, now: Time) {
        self.take_write(request, now);
        self.bytes
            .write(request.first_byte() - self.base, written(packet, request));
    }

    /// Begins a read that arrives at `there`; returns the time of its answer.
    pub(crate) fn begin_read(
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

    /// The next read with an answer due by `now`, and its port.
    pub(crate) fn next_read(&mut self, now: Time) -> Option<(PacketId, Port)> {
        self.reads.pop(now)
    }
}
