//! Packets that must be transferred from one socket to another.

use kernel::{Effects, Port, Time};
use packet::PacketId;
use protocol::Header;

use super::{Inbound, Stage, Step, Target, accessed};
use crate::root_complex::RootComplex;
use crate::root_complex::cpu::Cpu;
use crate::root_complex::sockets::{CPU, Crossing};
use crate::root_complex::timer::RootTimer;

impl<C: Cpu> RootComplex<C> {
    /// Keeps a packet until it arrives at the socket of its target, if this is another socket.
    pub(super) fn cross(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) -> Step {
        match self.socket_ahead(inbound.port, inbound.header) {
            Some(to) if self.crosses(Crossing::In(inbound.port), to, inbound.packet, fx) => {
                Step::Kept
            }
            _ => Step::Pass,
        }
    }

    pub(in crate::root_complex) fn socket_of(&self, port: Port) -> usize {
        let sockets = self.sockets.as_ref();
        sockets.map_or(CPU, |sockets| sockets.of_port(port))
    }

    /// The socket of the target of a packet that arrived at `port`. None if there is only one socket, or if the root complex itself handles or
    /// refuses the packet.
    pub(super) fn socket_ahead(&self, port: Port, header: &Header) -> Option<usize> {
        let sockets = self.sockets.as_ref()?;
        match self.target(port, header) {
            Target::Peer(to) => Some(sockets.of_port(to)),
            Target::Memory => Some(self.memory.socket_of(&accessed(header)?)),
            Target::Cpu => Some(CPU),
            Target::RootComplex | Target::Nobody(_) => None,
        }
    }

    /// Transfers a packet to socket `to`. Returns true if the packet is kept until it arrives there.
    pub(in crate::root_complex) fn crosses(
        &mut self,
        crossing: Crossing,
        to: usize,
        packet: PacketId,
        fx: &mut Effects<'_, Self>,
    ) -> bool {
        let Some(sockets) = &mut self.sockets else {
            return false;
        };
        let now = fx.now();
        let Some(due) = sockets.begin(crossing, to, packet, &fx.store()[packet], now) else {
            return false;
        };
        fx.wake(RootTimer::Across, due.since(now));
        true
    }

    /// Continues the path of packets that have arrived at their sockets.
    pub(in crate::root_complex) fn release_from_connections(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        while let Some((crossing, packet)) =
            self.sockets.as_mut().and_then(|all| all.under_way.pop(now))
        {
            match crossing {
                Crossing::In(port) => {
                    let header = *fx.store()[packet].header();
                    let inbound = Inbound::new(port, packet, &header, now);
                    self.go_on(Stage::Cohere, inbound, fx);
                }
                Crossing::Down(port) => self.enqueue_request_down(port, packet, fx),
                Crossing::Answer { to, .. } => self.enqueue_down(to, packet, fx),
                Crossing::Store => {
                    self.requests.leave();
                    self.end_store(packet, fx);
                    self.ask(fx);
                }
            }
        }
    }

    /// The time at which a write from `port` that is complete at `done` leaves its receive buffer.
    pub(super) fn leaves(&mut self, port: Port, done: Time) -> Time {
        match &mut self.sockets {
            Some(sockets) => sockets.leaves(port, done),
            None => done,
        }
    }
}
