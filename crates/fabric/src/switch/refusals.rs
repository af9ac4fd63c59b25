//! Packets that a switch refuses or discards, and the errors that it reports for them.

use kernel::{Effects, Port, Time};
use link::{Delivery, Waiting};
use packet::{Charge, PacketId, Refusal};
use protocol::{Class, FunctionId, Severity};
use transaction::FunctionPlace;

use super::{Switch, UPSTREAM, place};

impl Switch {
    /// Ends a packet whose egress link is down (PCIe Base 2.9.1). A downstream port answers a non-posted request with Unsupported Request,
    /// and also reports a posted request as Unsupported Request. Completions are discarded. If the upstream link is down, the switch has
    /// been reset and discards everything.
    pub(super) fn end_at_failed_link(
        &mut self,
        (from, to): (Port, Port),
        delivery: Delivery,
        corrupt: bool,
        fx: &mut Effects<'_, Self>,
    ) {
        let Delivery { packet, complete } = delivery;
        if corrupt {
            return fx.store().release(packet);
        }
        let charge = fx.store()[packet].charge();
        if to != UPSTREAM && charge.class != Class::Completion {
            self.record_links(fx);
            let answer = self.functions.refuse_below(place(to), packet, fx);
            return self.finish_refusal((from, charge), complete, answer, fx);
        }
        self.discard(from, delivery, fx);
    }

    /// Discards a packet, and frees its receive buffer.
    pub(super) fn discard(&mut self, from: Port, delivery: Delivery, fx: &mut Effects<'_, Self>) {
        let Delivery { packet, complete } = delivery;
        let charge = fx.store()[packet].charge();
        fx.store().release(packet);
        self.free_later(from, charge, complete, fx);
    }

    /// Records a poisoned packet that the switch forwards, because the switch is not its destination (PCIe Base 6.2.3.2.4.3).
    pub(super) fn record_poison(
        &mut self,
        from: Port,
        packet: PacketId,
        fx: &mut Effects<'_, Self>,
    ) {
        self.functions.record_poison(place(from), packet, true, fx);
        self.report_errors(fx);
    }

    /// Refuses a packet at the port that received it.
    pub(super) fn refuse(
        &mut self,
        from: Port,
        delivery: Delivery,
        why: Refusal,
        fx: &mut Effects<'_, Self>,
    ) {
        self.refuse_at(place(from), from, delivery, why, fx);
    }

    /// Refuses a packet from `from` at the function at `place`: frees its receive buffer, reports the refusal, and answers the packet if it
    /// is a non-posted request.
    pub(super) fn refuse_at(
        &mut self,
        place: FunctionPlace,
        from: Port,
        delivery: Delivery,
        why: Refusal,
        fx: &mut Effects<'_, Self>,
    ) {
        let Delivery { packet, complete } = delivery;
        let charge = fx.store()[packet].charge();
        let answer = self.functions.refuse(place, packet, why, fx);
        self.finish_refusal((from, charge), complete, answer, fx);
    }

    /// Completes the refusal of a packet from `from`: reports it, frees the packet's receive buffer, and sends the answer, if there is one.
    fn finish_refusal(
        &mut self,
        (from, charge): (Port, Charge),
        complete: Time,
        answer: Option<PacketId>,
        fx: &mut Effects<'_, Self>,
    ) {
        self.report_errors(fx);
        self.free_later(from, charge, complete, fx);
        if let Some(answer) = answer {
            self.answer(from, answer, complete, fx);
        }
    }

    /// Forwards an error message from below, if both the downstream port that received it and the upstream port forward it (PCIe Base
    /// 6.2.6).
    pub(super) fn forward_error(
        &mut self,
        from: Port,
        delivery: Delivery,
        error: (Severity, FunctionId),
        fx: &mut Effects<'_, Self>,
    ) {
        let Delivery { packet, complete } = delivery;
        let goes_on = self.functions.forwards_error(place(from), error)
            && self.functions.forwards_error(place(UPSTREAM), error);
        self.act_on_ports(fx);
        if goes_on && !self.link(UPSTREAM).has_failed(fx.now()) {
            let waiting = Waiting::new(packet, fx.store(), complete + self.latency);
            return self.pass_on((from, UPSTREAM), waiting, complete, fx);
        }
        self.discard(from, delivery, fx);
    }

    /// Sends the messages for errors that functions of the switch report. The upstream port forwards messages of the downstream ports.
    pub(super) fn report_errors(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some(report) = self.functions.take_report() {
            let is_own = report.place == place(UPSTREAM);
            let source = self.functions.id_of(report.place);
            let goes_on = is_own
                || self
                    .functions
                    .forwards_error(place(UPSTREAM), (report.severity, source));
            if goes_on && !self.link(UPSTREAM).has_failed(fx.now()) {
                let message = self.functions.error_message(report, fx.store());
                self.answer(UPSTREAM, message, fx.now(), fx);
            }
        }
        self.act_on_ports(fx);
    }
}
