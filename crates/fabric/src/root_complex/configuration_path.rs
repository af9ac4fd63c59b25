//! Accesses of the CPU to configuration spaces, at the root ports themselves and below them.

use kernel::{Effects, Port, Span, Time};
use link::LinkCommand;
use packet::{Observation, Refusal};
use protocol::Tag;
use transaction::{Action, ConfigAccess, FunctionPlace, Reach};

use super::RootComplex;
use super::cpu::Cpu;
use super::timer::RootTimer;

impl<C: Cpu> RootComplex<C> {
    /// Whether an access of the CPU to a configuration space has begun and its result was not taken yet.
    pub fn is_configuring(&self) -> bool {
        self.configuration.is_busy()
    }

    /// Begins an access of the CPU to a configuration space; the previous one must be complete.
    pub fn configure(&mut self, access: &ConfigAccess, fx: &mut Effects<'_, Self>) {
        self.begin_configuration(None, access, fx);
    }

    /// Begins a configuration access of the program with the ticket `program`, or, without a ticket, from outside the simulation.
    fn begin_configuration(
        &mut self,
        program: Option<u32>,
        access: &ConfigAccess,
        fx: &mut Effects<'_, Self>,
    ) {
        self.configuration.start(program);
        let mut request = access.request(self.functions.id(), Tag::default());
        match self.functions.reach(&request) {
            Reach::Nobody => self.configuration.answer(None),
            Reach::Here(place) => {
                self.record_links(fx);
                let had_reason = self.functions.space(place).has_error_interrupt();
                let value = self.functions.access(place, &request, access.action);
                if self.functions.retrains_link(place, &request, access.action) {
                    self.retrain_link(place, fx);
                }
                if access.action != Action::Read {
                    self.apply_registers();
                    for sent in self.ports.initialize_channels(fx) {
                        self.settle(Some(sent), fx);
                    }
                    self.interrupt_for_errors(place, had_reason, fx);
                    self.report_errors(fx);
                }
                self.configuration.answer(Some(value));
            }
            Reach::Below(port, kind) => {
                request.kind = kind;
                let place = FunctionPlace::Port(port);
                request.requester = self.functions.id_of(place);
                let timeout = self.functions.space(place).completion_timeout();
                self.configuration
                    .send_below((port, timeout), request, access.action);
                self.advance_configuration(fx);
            }
        }
    }

    /// Retrains the link of the root port at `place`.
    fn retrain_link(&mut self, place: FunctionPlace, fx: &mut Effects<'_, Self>) {
        if let FunctionPlace::Port(index) = place {
            let sent = self.ports.retrain(Port(index as u16), fx);
            self.settle(sent, fx);
        }
    }

    /// Gives the end of the link at `port` a command from outside the fabric.
    pub fn command_link(&mut self, port: Port, command: LinkCommand, fx: &mut Effects<'_, Self>) {
        self.ports.command_link(port, command, fx);
    }

    /// Takes the result of the access to a configuration space that was begun from outside: the value, or none if no function served
    /// it. `None` while that access is outstanding.
    pub fn configured(&mut self) -> Option<Option<u32>> {
        let is_complete = self.configuration.is_complete() && !self.configuration.is_of_program();
        is_complete.then(|| self.configuration.take_result())
    }

    /// Begins the accesses of programs to configuration spaces, one after the other.
    pub(super) fn begin_configurations(&mut self, fx: &mut Effects<'_, Self>) {
        while !self.configuration.is_busy()
            && let Some((ticket, access)) = self.cpu.next_configuration()
        {
            self.begin_configuration(Some(ticket), &access, fx);
            self.end_configuration(fx);
        }
    }

    /// Gives the result of a complete access of a program to it.
    pub(super) fn end_configuration(&mut self, fx: &mut Effects<'_, Self>) {
        if let Some((ticket, result)) = self.configuration.take_result_of_program() {
            self.cpu.configured(ticket, result, fx.now());
            fx.wake(RootTimer::Cpu, Span::ZERO);
        }
    }

    /// Ends the access if its request has timed out, or sends its request once a tag is free.
    pub(super) fn advance_configuration(&mut self, fx: &mut Effects<'_, Self>) {
        if let Some(port) = self.configuration.give_up(fx.now()) {
            self.functions.record_timeout(FunctionPlace::Port(port), fx);
            self.report_errors(fx);
            fx.observe(Observation::Refused {
                why: Refusal::CompletionTimeout,
                flow: None,
                bytes: 0,
                offset: None,
            });
            self.end_configuration(fx);
        }
        let now = fx.now();
        let request = self.configuration.next_request(now, fx.store());
        let next = self.configuration.next_change(now);
        if next < Time::NEVER && self.configuration_wake.schedule(next) {
            fx.wake(RootTimer::Configuration, next.since(now));
        }
        if let Some((port, packet)) = request {
            self.send_down(Port(port as u16), packet, fx);
        }
    }
}
