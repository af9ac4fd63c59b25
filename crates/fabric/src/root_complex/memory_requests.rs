//! Requests to the root complex's own memory.

use kernel::{Effects, Port};
use packet::PacketId;
use protocol::{AtomicRequest, Header, Kind, MemoryRequest};
use transaction::{Completions, deliver};

use super::cpu::Notice;
use super::sockets::Crossing;
use crate::{Cpu, RootComplex};

impl<C: Cpu> RootComplex<C> {
    /// Performs a write. Its end is known once its lines are reserved. Its bytes are visible at once: an outstanding read that
    /// began earlier may return them, as in a memory with several banks.
    pub(crate) fn write(
        &mut self,
        port: Port,
        packet: PacketId,
        request: &MemoryRequest,
        fx: &mut Effects<'_, Self>,
    ) {
        let done = self
            .memory
            .take_write(request, fx.now() + self.parameters.latency);
        let content = &fx.store()[packet];
        let charge = content.charge();
        let base = self.memory.base();
        let memory = self.memory.bytes_mut();
        if let Some(told) = deliver(content, request, memory, base, &self.patterns) {
            fx.foresee(done, told);
        }
        let flow = fx.store()[packet].stamp.flow;
        fx.store().release(packet);
        let (first, len) = (request.first_byte(), request.byte_len());
        if self.cpu.watches(first, len) {
            self.notify(done, Notice::Written(first, len), fx);
        }
        let left = self.leaves(port, done);
        self.ports.free_later(port, charge, left, fx);
        if flow.is_some_and(|flow| self.cpu.came_back(flow, done)) {
            self.ask(fx);
        }
    }

    /// The completions of a read.
    fn answers(
        &self,
        port: Port,
        packet: PacketId,
        request: &Header,
        fx: &mut Effects<'_, Self>,
    ) -> Vec<PacketId> {
        let max_payload = self.ports.max_payload(port);
        let largest = max_payload.min(self.parameters.largest_completion.0 as u32);
        let boundary = self.parameters.read_completion_boundary.0 as u32;
        let answers = Completions::of(request, self.functions.id(), largest, boundary);
        let (bytes, base) = (self.memory.bytes(), self.memory.base());
        answers.packets(packet, bytes, base, fx.store()).collect()
    }

    /// Executes an atomic operation; returns the completion with the previous value.
    fn change(
        &mut self,
        packet: PacketId,
        request: &AtomicRequest,
        fx: &mut Effects<'_, Self>,
    ) -> PacketId {
        let atomic = request.on_line(fx.store()[packet].payload());
        let offset = request.address() - self.memory.base();
        let mut bytes = [0; 16];
        let value = &mut bytes[..atomic.width()];
        self.memory.bytes().read(offset, value);
        let old = u128::from_le_bytes(bytes);
        let new = atomic.applied(old).to_le_bytes();
        let memory = self.memory.bytes_mut();
        memory.write(offset, &new[..atomic.width()]);
        self.atomic_completion(packet, request, old, fx)
    }

    /// The completion of an executed atomic operation with the previous value `old`; the CPU is notified of the write.
    pub(crate) fn atomic_completion(
        &mut self,
        packet: PacketId,
        request: &AtomicRequest,
        old: u128,
        fx: &mut Effects<'_, Self>,
    ) -> PacketId {
        let width = request.width();
        self.notify_write(request.address(), width, fx);
        let content = &fx.store()[packet];
        let (header, stamp) = (*content.header(), content.stamp);
        let answer = Header::completion_with_data(&header, self.functions.id(), 0, width)
            .expect("an atomic operation's completion has the width of its value");
        let completion = fx.store().claim();
        fx.store()[completion]
            .write(answer, stamp)
            .copy_from_slice(&old.to_le_bytes()[..width as usize]);
        completion
    }

    /// Notifies the CPU of a write at the current time, if it watches these bytes.
    pub(crate) fn notify_write(&mut self, first: u64, len: u32, fx: &mut Effects<'_, Self>) {
        if self.cpu.watches(first, len) {
            self.notify(fx.now(), Notice::Written(first, len), fx);
        }
    }

    pub(crate) fn finish_reads(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some((packet, port)) = self.memory.next_read(fx.now()) {
            let header = *fx.store()[packet].header();
            let from = self.socket_ahead(&header);
            let answers = if let Kind::Atomic(request) = &header.kind {
                vec![self.change(packet, request, fx)]
            } else {
                self.answers(port, packet, &header, fx)
            };
            for answer in answers {
                if let Some(from) = from
                    && self.crosses(
                        Crossing::Answer { from, to: port },
                        self.socket_of(port),
                        answer,
                        fx,
                    )
                {
                    continue;
                }
                self.put_down(port, answer, fx);
            }
            fx.store().release(packet);
            self.free(port, &header, fx);
        }
    }
}
