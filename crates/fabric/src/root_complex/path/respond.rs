//! Writes that wait for the responses of earlier writes of their root port to other targets.

use kernel::{Effects, Time};

use super::{Inbound, Stage, Step, Target, accessed};
use crate::root_complex::RootComplex;
use crate::root_complex::cpu::Cpu;
use crate::root_complex::responses::Destination;
use crate::root_complex::timer::RootTimer;

impl<C: Cpu> RootComplex<C> {
    /// Keeps a packet that must wait for the responses of earlier writes.
    #[inline(always)]
    pub(super) fn respond(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) -> Step {
        if self.responses.is_some() {
            self.wait_for_responses(inbound, fx)
        } else {
            Step::Pass
        }
    }

    fn wait_for_responses(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) -> Step {
        let Inbound {
            port,
            packet,
            header,
            ..
        } = inbound;
        let to = match self.target(port, header) {
            Target::Peer(to) => Destination::Port(to),
            Target::Memory => {
                let bytes = accessed(header);
                Destination::Memory(bytes.map_or(0, |bytes| self.memory.socket_of(&bytes)))
            }
            Target::Cpu | Target::RootComplex => Destination::Cpu,
            Target::Nobody(_) => return Step::Pass,
        };
        let Some(responses) = &mut self.responses else {
            return Step::Pass;
        };
        if responses.accept(port, (packet, header), to, fx.now()) {
            return Step::Pass;
        }
        self.wake_for_responses(fx);
        Step::Kept
    }

    /// Records that a packet arrives at its target at `done`, or ends at that time.
    #[inline(always)]
    pub(super) fn answer_write(
        &mut self,
        inbound: &Inbound<'_>,
        done: Time,
        fx: &mut Effects<'_, Self>,
    ) {
        if let Some(responses) = &mut self.responses {
            responses.arrive(inbound.port, inbound.packet, done);
            self.wake_for_responses(fx);
        }
    }

    /// Continues the path of packets that do not wait for responses any more.
    pub(in crate::root_complex) fn release_after_responses(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        if let Some(responses) = &mut self.responses {
            responses.expire(now);
        }
        while let Some((port, packet)) =
            (self.responses.as_mut()).and_then(|responses| responses.release(now))
        {
            let header = *fx.store()[packet].header();
            let inbound = Inbound::new(port, packet, &header, now);
            self.go_on(Stage::Leave, inbound, fx);
        }
        self.wake_for_responses(fx);
    }

    fn wake_for_responses(&mut self, fx: &mut Effects<'_, Self>) {
        let responses = self.responses.as_mut();
        if let Some(after) = responses.and_then(|responses| responses.wake_after(fx.now())) {
            fx.wake(RootTimer::Response, after);
        }
    }
}
