//! The path of packets from below through the root complex. It consists of stages, each in its own file. A stage passes a packet to the next
//! stage, or keeps it. A packet that was kept continues later with the next stage.

mod admit;
mod cohere;
mod cross;
mod deliver;
mod leave;
mod respond;
mod translate;

use kernel::{Effects, Port, Time};
use packet::{Between, Charge, PacketId, Refusal};
use protocol::{Header, Kind, MemoryRequest};
use transaction::FunctionPlace;

use super::RootComplex;
use super::cpu::Cpu;
use super::interrupt::is_interrupt;
use crate::Route;

/// A packet that arrived at a root port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inbound<'h> {
    port: Port,
    packet: PacketId,
    header: &'h Header,
    /// The time at which the packet has passed the datapath of the port.
    passed: Time,
}

impl<'h> Inbound<'h> {
    fn new(port: Port, packet: PacketId, header: &'h Header, passed: Time) -> Self {
        Inbound {
            port,
            packet,
            header,
            passed,
        }
    }
}

/// The stages of the path, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// The rules of the root port that received the packet.
    Admit,
    /// The translation of the packet's address. The packet also waits for the translations of earlier packets.
    Translate,
    /// The wait for the responses of earlier writes to other targets.
    Respond,
    /// The wait for the path from the quadrant of the root port to the rest of the host.
    Leave,
    /// The transfer to the socket of the packet's target.
    Cross,
    /// The wait for snoops of caches.
    Cohere,
    /// The delivery to the target.
    Deliver,
}

/// The result of a stage for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The packet continues with the next stage.
    Pass,
    /// The packet does not continue now: the stage keeps it for later, or has ended it.
    Kept,
}

/// The target of a packet with a physical address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// A function below this root port.
    Peer(Port),
    /// The memory.
    Memory,
    /// The CPU, which receives interrupts and completions.
    Cpu,
    /// The root complex itself, which handles translation requests and messages.
    RootComplex,
    /// No target: the packet is refused for this reason.
    Nobody(Refusal),
}

impl<C: Cpu> RootComplex<C> {
    pub(super) fn take(&mut self, port: Port, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let content = &fx.store()[packet];
        let header = *content.header();
        let passed = self.ports.pass_in(port, content.bytes().len(), fx.now());
        self.go_on(
            Stage::Admit,
            Inbound::new(port, packet, &header, passed),
            fx,
        );
    }

    /// Moves a packet through the stages from `first` on, until a stage keeps it.
    fn go_on(&mut self, first: Stage, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) {
        let is_kept = first <= Stage::Admit && self.admit(inbound, fx) == Step::Kept
            || first <= Stage::Translate && self.translate(inbound, fx) == Step::Kept
            || first <= Stage::Respond && self.respond(inbound, fx) == Step::Kept
            || first <= Stage::Leave && self.leave(inbound, fx) == Step::Kept
            || first <= Stage::Cross && self.cross(inbound, fx) == Step::Kept
            || first <= Stage::Cohere && self.cohere(inbound, fx) == Step::Kept;
        if !is_kept {
            self.deliver(inbound, fx);
        }
    }

    /// The target of a packet with a physical address that arrived at `port`.
    #[inline(always)]
    fn target(&self, port: Port, header: &Header) -> Target {
        match (self.routes.of(header), &header.kind) {
            (Route::Down(to), _) if self.forbidden((port, to), header).is_none() => {
                Target::Peer(to)
            }
            (Route::Elsewhere, Kind::MemoryWrite(request)) if self.memory.holds(request) => {
                Target::Memory
            }
            (Route::Elsewhere, Kind::MemoryWrite(request)) if is_interrupt(request) => Target::Cpu,
            (_, Kind::MemoryRead(request)) if request.translations() > 0 => Target::RootComplex,
            (_, Kind::Message(_)) => Target::RootComplex,
            (Route::Elsewhere, Kind::MemoryRead(_) | Kind::Atomic(_))
                if accessed(header).is_some_and(|range| self.memory.holds(&range)) =>
            {
                Target::Memory
            }
            (Route::Elsewhere, Kind::Completion(_)) => Target::Cpu,
            (Route::Down(to), _) => Target::Nobody(match self.forbidden((port, to), header) {
                Some(rule) => Refusal::NotForwarded(rule),
                None => Refusal::UnsupportedRequest,
            }),
            _ => Target::Nobody(Refusal::UnsupportedRequest),
        }
    }

    /// The relation of root ports whose rule forbids to forward a packet with `header` from one root port to another. None if the packet is
    /// forwarded.
    fn forbidden(&self, (from, to): (Port, Port), header: &Header) -> Option<Between> {
        let between = self.between(from, to);
        self.parameters.forbidden_by(between, header.class())
    }

    /// The relation of two root ports.
    fn between(&self, from: Port, to: Port) -> Between {
        let quadrants = self.quadrants.as_ref();
        if self.socket_of(from) != self.socket_of(to) {
            Between::Sockets
        } else if quadrants.is_some_and(|quadrants| !quadrants.are_together(from, to)) {
            Between::Quadrants
        } else {
            Between::Ports
        }
    }

    /// Refuses a packet at the root port that received it: frees its receive buffer, reports the refusal, and answers the packet if it is a
    /// non-posted request.
    fn refuse(&mut self, inbound: Inbound<'_>, why: Refusal, fx: &mut Effects<'_, Self>) {
        let place = FunctionPlace::Port(inbound.port.index());
        let answer = self.functions.refuse(place, inbound.packet, why, fx);
        self.finish_refusal(inbound, answer, fx);
    }

    /// Completes a refusal: reports it, frees the receive buffer of the packet, and sends the answer, if there is one.
    fn finish_refusal(
        &mut self,
        inbound: Inbound<'_>,
        answer: Option<PacketId>,
        fx: &mut Effects<'_, Self>,
    ) {
        self.report_errors(fx);
        self.free(inbound, fx);
        if let Some(answer) = answer {
            self.enqueue_down(inbound.port, answer, fx);
        }
    }

    /// Releases a packet that was handled, and frees its receive buffer.
    fn finish(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) {
        fx.store().release(inbound.packet);
        self.free(inbound, fx);
    }

    /// Frees the receive buffer of a packet.
    fn free(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) {
        self.answer_write(&inbound, fx.now(), fx);
        let charge = Charge::of(inbound.header);
        self.on_link(inbound.port, fx, |link, at| link.free(charge, at));
    }
}

/// The bytes that a request accesses. None for other packets.
fn accessed(header: &Header) -> Option<MemoryRequest> {
    match &header.kind {
        Kind::MemoryRead(request) | Kind::MemoryWrite(request) => Some(*request),
        Kind::Atomic(request) => Some(request.range()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
