//! The function-level reset of a circuit that has ports for it (PCIe Base 6.6.2). The reset lasts until the outstanding reads of the circuit
//! have ended and its state is the state after reset, and at least as long as the function-level reset of a device model.

use cosim::Failure;
use kernel::{Effects, Span, Time};
use packet::Observation;
use transaction::FunctionPlace;

use super::{Circuit, flow_of};

impl Circuit {
    /// Begins a function-level reset. Its flows are abandoned, and arriving packets are dropped, but completions of outstanding reads still
    /// reach the circuit.
    pub(super) fn begin_function_reset(&mut self, end: Time, fx: &mut Effects<'_, Self>) {
        self.advance(fx);
        for label in self.labels.disown() {
            if let Some(flow) = flow_of(label) {
                fx.observe(Observation::Forgotten { flow });
            }
        }
        self.resetting = Some((end, fx.now() + LONGEST_RESET));
        self.endpoint
            .set_function_reset_end(FunctionPlace::Own, Time::NEVER);
        self.configure();
    }

    /// Ends the function-level reset if its time is over, the circuit has taken all packets that had arrived before, and its state is the state
    /// after reset.
    pub(super) fn end_function_reset(&mut self, fx: &mut Effects<'_, Self>) {
        let (Some((end, latest)), now) = (self.resetting, fx.now()) else {
            return;
        };
        if !self.core.is_reset_done() || !self.arrivals.is_empty() {
            if now >= latest && self.failure.is_none() {
                let failure = Failure {
                    circuit: self.choice.name.clone(),
                    cycle: self.core.cycle(),
                    message:
                        "it has not ended a function-level reset within 100 ms (PCIe Base 6.6.2)"
                            .into(),
                };
                self.stop(failure, fx);
            }
            return self.endpoint.wake_engine(latest, fx);
        }
        if now < end {
            return self.endpoint.wake_engine(end, fx);
        }
        self.resetting = None;
        self.endpoint
            .set_function_reset_end(FunctionPlace::Own, now);
        let _ = self.labels.forget();
        self.configure();
        self.preset(self.cycle_at(now));
        self.advance(fx);
    }
}

/// The time within which a function-level reset must end (PCIe Base 6.6.2).
const LONGEST_RESET: Span = Span::from_us(100_000);
