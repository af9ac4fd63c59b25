//! Packets that wait for the path from the quadrant of their root port to the rest of the host.

use kernel::{Effects, Port, Time};
use packet::PacketId;

use super::{Inbound, Stage, Step, Target};
use crate::root_complex::RootComplex;
use crate::root_complex::cpu::Cpu;
use crate::root_complex::timer::RootTimer;

impl<C: Cpu> RootComplex<C> {
    /// Keeps a packet until it has left the quadrant of its root port.
    #[inline(always)]
    pub(super) fn leave(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) -> Step {
        if self.quadrants.is_some() {
            self.leave_quadrant(inbound, fx)
        } else {
            Step::Pass
        }
    }

    fn leave_quadrant(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) -> Step {
        let Inbound {
            port,
            packet,
            passed,
            ..
        } = inbound;
        let to = match self.target(port, inbound.header) {
            Target::Peer(to) => Some(to),
            Target::Memory | Target::Cpu | Target::RootComplex => None,
            Target::Nobody(_) => return Step::Pass,
        };
        let Some(quadrants) = &mut self.quadrants else {
            return Step::Pass;
        };
        let now = fx.now();
        let content = &fx.store()[packet];
        let Some(due) = quadrants.leave((port, to), packet, content, (passed, now)) else {
            return Step::Pass;
        };
        fx.wake(RootTimer::Quadrant, due.since(now));
        Step::Kept
    }

    /// The time, from now on, at which a packet from another root port, or from the rest of the host, enters the quadrant of root port `to`.
    #[inline(always)]
    pub(in crate::root_complex) fn enters(
        &mut self,
        from: Option<Port>,
        to: Port,
        packet: PacketId,
        fx: &mut Effects<'_, Self>,
    ) -> Time {
        let now = fx.now();
        match &mut self.quadrants {
            Some(quadrants) => {
                let bytes = fx.store()[packet].bytes().len();
                quadrants.enter(from, to, bytes, now)
            }
            None => now,
        }
    }

    /// Continues the path of packets that have left their quadrants.
    pub(in crate::root_complex) fn release_from_quadrants(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        while let Some((port, packet)) = self
            .quadrants
            .as_mut()
            .and_then(|all| all.under_way.pop(now))
        {
            let header = *fx.store()[packet].header();
            let inbound = Inbound::new(port, packet, &header, now);
            self.go_on(Stage::Cross, inbound, fx);
        }
    }
}
