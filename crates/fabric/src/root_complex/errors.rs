//! Error messages that reach root ports, and errors of root ports themselves: root error registers and their interrupt (PCIe Base
//! 6.2.4.1).

use kernel::{Effects, Port};
use packet::{Incident, Observation, Site};
use protocol::{FunctionId, Severity};
use transaction::{FunctionPlace, PortAction};

use super::RootComplex;
use super::cpu::{Cpu, Notice};
use crate::held_links;

impl<C: Cpu> RootComplex<C> {
    /// Handles an error message from below that the function `source` has sent. The root port forwards it to its root error registers under
    /// the same conditions as a bridge forwards it upstream (PCIe Base 6.2.6).
    pub(super) fn handle_error_message(
        &mut self,
        port: Port,
        (severity, source): (Severity, FunctionId),
        fx: &mut Effects<'_, Self>,
    ) {
        let place = FunctionPlace::Port(port.index());
        if self.functions.forwards_error(place, (severity, source)) {
            self.record_error(place, (severity, source), fx);
        }
        self.act_on_ports(fx);
    }

    /// Records the errors that functions of the root complex report. Root ports record errors in their own root error registers.
    pub(super) fn report_errors(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some(report) = self.functions.take_report() {
            if report.place != FunctionPlace::Own {
                let source = self.functions.id_of(report.place);
                self.record_error(report.place, (report.severity, source), fx);
            }
        }
        self.act_on_ports(fx);
    }

    /// Presses the attention button of the slot at `port`.
    pub fn press_attention_button(&mut self, port: Port, fx: &mut Effects<'_, Self>) {
        self.functions
            .press_attention_button(FunctionPlace::Port(port.index()));
        self.act_on_ports(fx);
    }

    /// Executes the actions on links that registers of root ports request.
    pub(super) fn act_on_ports(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some((index, action)) = self.functions.take_port_action() {
            self.act_on_port(Port(index as u16), action, fx);
        }
    }

    fn act_on_port(&mut self, port: Port, action: PortAction, fx: &mut Effects<'_, Self>) {
        if let Some(command) = held_links::begin(port, action, fx) {
            self.on_link(port, fx, |link, at| link.command(command, at));
        }
        let place = FunctionPlace::Port(port.index());
        if let Some((_, message)) = self.functions.port_message(place, action) {
            let due = fx.now() + self.parameters.latency;
            self.notify(due, Notice::Interrupt(message), fx);
        }
    }

    fn record_error(
        &mut self,
        place: FunctionPlace,
        (severity, source): (Severity, FunctionId),
        fx: &mut Effects<'_, Self>,
    ) {
        let FunctionPlace::Port(port) = place else {
            return;
        };
        let had_reason = self.functions.space(place).has_error_interrupt();
        self.functions.record_error_message(place, severity, source);
        fx.observe(Observation::Incident {
            site: Site::Port(port as u16),
            what: Incident::Message(severity, source),
        });
        self.interrupt_for_errors(place, had_reason, fx);
    }

    /// Sends the interrupt of the root port at `place` if the port has a reason for it, and had none before.
    pub(super) fn interrupt_for_errors(
        &mut self,
        place: FunctionPlace,
        had_reason: bool,
        fx: &mut Effects<'_, Self>,
    ) {
        let space = self.functions.space(place);
        if had_reason || !space.has_error_interrupt() || !space.bus_master_enable() {
            return;
        }
        if let Some((_, message)) = space.msi(0) {
            let due = fx.now() + self.parameters.latency;
            self.notify(due, Notice::Interrupt(message), fx);
        }
    }
}
