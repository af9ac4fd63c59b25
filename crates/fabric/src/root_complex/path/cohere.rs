//! Accesses of cores and coherence messages in a coherent host, and packets from below that must wait for caches.

use kernel::{Effects, Port};
use packet::Observation;
use protocol::Kind;

use super::{Inbound, Stage, Step};
use crate::root_complex::RootComplex;
use crate::root_complex::coherent::{CoherentEffect, OldValue, Released};
use crate::root_complex::cpu::Cpu;
use crate::root_complex::timer::RootTimer;

impl<C: Cpu> RootComplex<C> {
    /// Whether there is a coherent agent below `port`.
    pub(in crate::root_complex) fn is_coherent(&self, port: Port) -> bool {
        let coherent = self.coherent.as_ref();
        coherent.is_some_and(|coherent| coherent.is_below(port))
    }

    /// Sends the messages of a packet from below a root port to the home agent.
    pub(super) fn take_messages(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let Some(coherent) = &mut self.coherent else {
            return;
        };
        let payload = fx.store()[inbound.packet].payload();
        if coherent.receive(payload, now) > now {
            self.wake_coherence(fx);
        } else {
            self.advance_coherence(fx);
        }
        self.finish(inbound, fx);
    }

    /// Begins the accesses of programs to the caches of their cores.
    pub(in crate::root_complex) fn begin_accesses(&mut self, fx: &mut Effects<'_, Self>) {
        let Some(coherent) = &mut self.coherent else {
            return;
        };
        let mut any = false;
        while let Some(access) = self.cpu.next_access() {
            any = true;
            coherent.begin(access, fx.now());
        }
        if any {
            self.advance_coherence(fx);
        }
    }

    /// Handles all events of the coherent part that are due.
    pub(in crate::root_complex) fn advance_coherence(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let mut told = false;
        while let Some(coherent) = &mut self.coherent
            && let Some(effect) = coherent.advance(&mut self.memory, now)
        {
            match effect {
                CoherentEffect::Io => self.release_from_caches(fx),
                CoherentEffect::Accessed(ticket, bytes) => {
                    if bytes.is_none() {
                        fx.observe(POISON_LOADED);
                    }
                    self.cpu.accessed(ticket, bytes.unwrap_or_default(), now);
                    told = true;
                }
            }
        }
        let coherent = self.coherent.as_ref();
        let ports = coherent.map(|coherent| coherent.addressed_ports());
        for port in ports.into_iter().flatten() {
            self.send_messages(port, fx);
        }
        self.wake_coherence(fx);
        if told {
            self.ask(fx);
        }
    }

    /// Keeps a packet if it must wait for caches.
    pub(super) fn cohere(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) -> Step {
        let Some(coherent) = &mut self.coherent else {
            return Step::Pass;
        };
        let there = (&self.memory, &*fx.store());
        if coherent.admit(inbound.port, inbound.packet, inbound.header, there) {
            return Step::Pass;
        }
        self.release_from_caches(fx);
        self.advance_coherence(fx);
        Step::Kept
    }

    /// Delivers the packets that no longer have to wait for caches.
    fn release_from_caches(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        while let Some(coherent) = &mut self.coherent
            && let Some(released) = coherent.release(&self.routes, &self.memory, fx.store(), now)
        {
            let Released {
                port,
                packet,
                lines,
                old,
            } = released;
            let header = *fx.store()[packet].header();
            let inbound = Inbound::new(port, packet, &header, fx.now());
            match (&header.kind, old) {
                (Kind::Atomic(request), Some(OldValue::Poisoned)) => {
                    self.answer_poisoned_atomic((packet, port), request, fx);
                }
                (Kind::Atomic(request), Some(OldValue::Known(old))) => {
                    let completion = self.complete_atomic(packet, request, old, fx);
                    self.finish(inbound, fx);
                    self.enqueue_down(port, completion, fx);
                }
                (Kind::MemoryWrite(_), _) => {
                    // The home agent has already written these lines, and another agent may have written them afterwards. Therefore, the
                    // bytes of the lines are kept.
                    let kept = self.memory.lines(&lines);
                    self.go_on(Stage::Deliver, inbound, fx);
                    self.memory.restore(&kept);
                }
                _ => self.go_on(Stage::Deliver, inbound, fx),
            }
        }
    }

    /// Sends coherence messages that are due to the wire below a root port, as many as the wire accepts.
    fn send_messages(&mut self, port: Port, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        while let Some(coherent) = &mut self.coherent
            && let Some(packet) = coherent.next_packet(port, now, fx.store())
        {
            let sent = self.ports.send(port, packet, now, fx);
            self.settle(sent, fx);
        }
    }

    /// Handles the end of a transmission of coherence messages by a root port.
    pub(in crate::root_complex) fn sent_messages(
        &mut self,
        port: Port,
        fx: &mut Effects<'_, Self>,
    ) {
        if let Some(coherent) = &mut self.coherent {
            coherent.sent(port);
        }
        self.send_messages(port, fx);
        self.wake_coherence(fx);
    }

    pub(in crate::root_complex) fn wake_coherence(&mut self, fx: &mut Effects<'_, Self>) {
        let coherent = self.coherent.as_mut();
        if let Some(after) = coherent.and_then(|coherent| coherent.wake_after(fx.now())) {
            fx.wake(RootTimer::Coherence, after);
        }
    }
}

/// A core loads a poisoned part of a line, and receives no data. A real processor would raise a machine check.
const POISON_LOADED: Observation = Observation::event("a core loads poisoned data");
