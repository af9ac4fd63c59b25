//! A host's memory behind the controllers of its sockets: lines in order, reads after a latency.

use kernel::{Agenda, Port, Span, Stream, Time};
use packet::{Packet, PacketId};
use protocol::MemoryRequest;
use transaction::{Memory, written};

use crate::RootComplexParameters;
use crate::root_parameters::MOST_SOCKETS;

/// The controllers and the bytes behind them.
#[derive(Debug)]
pub(crate) struct MemoryController {
    /// The first address.
    base: u64,
    bytes: Memory,
    /// How much of the memory each socket has.
    share: u64,
    /// When the memory of each socket is free for the next line.
    free: [Time; MOST_SOCKETS],
    /// Time a line takes, and the bits of an address within it.
    line: Span,
    line_bits: u32,
    /// What a write pays for each line of which it has a part only.
    partial_line: Span,
    read_latency: Span,
    /// A read takes up to this much longer.
    read_jitter: Span,
    jitter: Stream,
    /// Reads under way, and the ports whose buffers hold them.
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

    /// Whether a request is for bytes of this memory, rather than for what a translation agent knows of them.
    pub(crate) fn holds(&self, request: &MemoryRequest) -> bool {
        if request.translations() > 0 {
            return false;
        }
        let offset = request.first_byte().checked_sub(self.base);
        offset.is_some_and(|offset| self.bytes.holds(offset, u64::from(request.byte_len())))
    }

    /// The socket whose memory a request is for, which this memory holds.
    #[inline]
    pub(crate) fn socket_of(&self, request: &MemoryRequest) -> usize {
        let offset = request.first_byte() - self.base;
        // A division takes longer than to see that one socket needs none.
        if offset < self.share {
            0
        } else {
            (offset / self.share) as usize
        }
    }

    /// When something that is there at `there` comes after all writes that were there before it, in any socket.
    pub(crate) fn after_writes(&self, there: Time) -> Time {
        self.free.into_iter().fold(there, Time::max)
    }

    /// Gives the next lines to a write that is there at `there`: when they are done.
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

    /// Gives the next lines to a request that is there at `there`: when they are done.
    fn take_lines(&mut self, request: &MemoryRequest, there: Time) -> Time {
        let first = request.first_byte();
        let last = first + u64::from(request.byte_len()).max(1) - 1;
        let lines = (last >> self.line_bits) - (first >> self.line_bits) + 1;
        let free = &mut self.free[self.socket_of(request)];
        *free = (*free).max(there) + self.line * lines;
        *free
    }

    /// The line at `address` is fetched for something that is there at `there`: when it is.
    pub(crate) fn fetch(&mut self, address: u64, there: Time) -> Time {
        let late = self.late();
        let socket = ((address - self.base) / self.share) as usize;
        let free = &mut self.free[socket];
        *free = (*free).max(there) + self.line;
        *free + self.read_latency + late
    }

    /// How much longer a read takes than it must.
    fn late(&mut self) -> Span {
        match self.read_jitter.as_fs() {
            0 => Span::ZERO,
            most => Span::from_fs(self.jitter.below(most)),
        }
    }

    /// Takes in a store of the CPU that is made at `now`: nobody waits for it.
    pub(crate) fn store(&mut self, packet: &Packet, request: &MemoryRequest, now: Time) {
        self.take_write(request, now);
        self.bytes
            .write(request.first_byte() - self.base, written(packet, request));
    }

    /// Begins to answer a read that is there at `there`: when the answer is.
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

    /// The next read whose answer is there by `now`, and its port.
    pub(crate) fn next_read(&mut self, now: Time) -> Option<(PacketId, Port)> {
        self.reads.pop(now)
    }
}
