//! Resets of an endpoint: function level resets (PCIe Base 6.6.2), resets of virtual functions that are disabled (9.3.3.3.1), and the reset of
//! all functions when the link goes down (2.9.1). A reset changes registers, interrupts, and packets that are not sent yet.
//!
//! After the event with the reset request, the engine takes each reset, and drops its work for the function.

use kernel::{Effects, Time};
use link::DownCause;
use packet::{Incident, Observation, PacketId, Packets, Site};
use protocol::{FunctionId, Kind};
use transaction::FunctionPlace;

use super::{Device, Endpoint, PORT};

/// The resets of an endpoint. Only an endpoint that had a reset has them.
#[derive(Clone, Debug, Default)]
pub(super) struct Resets {
    /// The functions that had a function level reset, each with the end of its last one.
    ends: Vec<(FunctionPlace, Time)>,
    /// The resets that the engine has not taken, latest first.
    pending: Vec<FunctionPlace>,
}

impl Endpoint {
    /// Whether the endpoint has ever had a reset.
    pub(crate) fn has_resets(&self) -> bool {
        self.resets.is_some()
    }

    /// Takes the next reset that the engine has not handled. A reset of the physical function resets all functions.
    pub(crate) fn take_reset(&mut self) -> Option<FunctionPlace> {
        self.resets.as_mut()?.pending.pop()
    }

    /// Whether the function at `place` is in a function level reset at `now`, and drops the packets that arrive.
    pub(crate) fn is_in_reset(&self, place: FunctionPlace, now: Time) -> bool {
        let ends = self.resets.iter().flat_map(|resets| &resets.ends);
        ends.filter(|(one, _)| [place, FunctionPlace::Own].contains(one))
            .any(|(_, end)| now < *end)
    }

    /// The end of the last reset of the function at `place`, if that was a function level reset.
    pub(crate) fn function_reset_end(&self, place: FunctionPlace) -> Option<Time> {
        let mut ends = self.resets.iter().flat_map(|resets| &resets.ends);
        ends.find(|(one, _)| *one == place).map(|(_, end)| *end)
    }

    /// Sets the end of the function level reset of the function at `place`.
    pub(crate) fn set_function_reset_end(&mut self, place: FunctionPlace, end: Time) {
        let ends = self.resets.iter_mut().flat_map(|resets| &mut resets.ends);
        for (_, old) in ends.filter(|(one, _)| *one == place) {
            *old = end;
        }
    }

    /// Begins a function level reset of the function at `place`. The configuration write that requests the reset is being handled.
    pub(super) fn begin_reset<C: Device>(&mut self, place: FunctionPlace, fx: &mut Effects<'_, C>) {
        self.drop_answers(place, fx);
        self.functions.function_level_reset(place);
        self.reset_tables(place);
        self.apply_registers();
        let end = fx.now() + self.parameters.function_level_reset_time;
        let resets = self.resets.get_or_insert_default();
        resets.ends.retain(|(one, _)| *one != place);
        resets.ends.push((place, end));
        resets.pending.insert(0, place);
        fx.observe(Observation::incident(
            self.functions.site(place),
            Incident::Event("Function Level Reset"),
        ));
    }

    /// Resets the virtual functions that a configuration write has disabled; there were `before` of them. They cease to exist at once. If
    /// software enables virtual functions again, they are in their initial state (PCIe Base 9.3.3.3.1).
    pub(super) fn end_virtual_functions<C: Device>(
        &mut self,
        before: usize,
        fx: &mut Effects<'_, C>,
    ) {
        let left = self.functions.virtual_places().count();
        if left >= before {
            return;
        }
        let (functions, packets) = (&self.functions, fx.store());
        self.answers.retain(|(_, packet)| {
            let is_kept = functions.place_of(completer(*packet, packets)).is_some();
            if !is_kept {
                packets.release(*packet);
            }
            is_kept
        });
        let resets = self.resets.get_or_insert_default();
        for ended in (left..before).map(FunctionPlace::Virtual) {
            resets.ends.retain(|(one, _)| *one != ended);
            resets.pending.insert(0, ended);
        }
    }

    /// Begins a reset of all functions, because the link has gone down. If the cause is a command at this end, the device was removed and has no
    /// power.
    pub(super) fn begin_reset_of_link<C: Device>(
        &mut self,
        cause: DownCause,
        fx: &mut Effects<'_, C>,
    ) {
        self.drop_answers(FunctionPlace::Own, fx);
        self.drop_inbound(fx);
        if cause == DownCause::Command {
            self.functions.cold_reset();
        } else {
            self.functions.hot_reset();
            fx.observe(Observation::incident(
                Site::Port(PORT.0),
                Incident::Event("hot reset"),
            ));
        }
        self.reset_tables(FunctionPlace::Own);
        self.apply_registers();
        let resets = self.resets.get_or_insert_default();
        resets.ends.clear();
        resets.pending = vec![FunctionPlace::Own];
    }

    /// Drops the packets that have arrived and have not reached the engine.
    fn drop_inbound<C: Device>(&mut self, fx: &mut Effects<'_, C>) {
        for (_, packet) in std::mem::take(&mut self.inbound) {
            let charge = fx.store()[packet].charge();
            fx.store().release(packet);
            self.free(charge, fx);
        }
    }

    /// Drops the completions that wait for the datapath and come from the function at `place`; the completions of all functions, if `place` is
    /// the physical function.
    fn drop_answers<C: Device>(&mut self, place: FunctionPlace, fx: &mut Effects<'_, C>) {
        let own = self.functions.id_of(place);
        let packets = fx.store();
        self.answers.retain(|(_, packet)| {
            let is_kept = place != FunctionPlace::Own && completer(*packet, packets) != own;
            if !is_kept {
                packets.release(*packet);
            }
            is_kept
        });
    }
}

fn completer(packet: PacketId, packets: &Packets) -> FunctionId {
    match packets[packet].header().kind {
        Kind::Completion(completion) => completion.completer,
        _ => FunctionId::default(),
    }
}
