//! The actions on links below that registers of downstream ports require from their component: containment, and resets by software.

use kernel::{Component, Effects};
use packet::{PacketId, Packets, Pcie, Refusal, Stamp};
use protocol::register::ATTENTION_BUTTON_PRESSED;
use protocol::{
    Class, ConfigRequest, FunctionId, Header, LinkHold, Severity, TriggerReason, UncorrectableError,
};

use super::{FunctionPlace, Functions};
use crate::refuse;

/// An action of a component on the link of one of its downstream ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortAction {
    /// Containment begins: the link goes down, and the port signals it.
    Contain(TriggerReason),
    /// The link is held in hot reset, or is disabled, until it is released.
    Hold(LinkHold),
    /// No register holds the link down any longer, and the link trains.
    Release,
    /// The port sends its interrupt for an event of its slot or for the bandwidth of its link.
    Interrupt,
}

impl Functions {
    /// The next action that registers require on the link of a downstream port, with the index of the port.
    pub fn take_port_action(&mut self) -> Option<(usize, PortAction)> {
        self.actions.pop_front()
    }

    /// Whether registers hold the link of the port at `place` down. The link is held if the port is contained, in reset or disabled, or if
    /// Secondary Bus Reset of the switch's upstream port is set.
    pub fn holds_link_down(&self, place: FunctionPlace) -> bool {
        let space = self.space(place);
        let is_held_from_above =
            matches!(place, FunctionPlace::Port(_)) && self.own.link_hold().is_some();
        space.is_contained() || space.link_hold().is_some() || is_held_from_above
    }

    /// Drops a request that is routed through the port at `place`, whose link is down. The caller sends the completion, if there is one. A
    /// contained port answers according to DPC Completion Control, and records nothing (PCIe Base 2.9.3). Any other port records an
    /// unsupported request (PCIe Base 2.9.1).
    pub fn refuse_below<C: Component<Traffic = Pcie>>(
        &mut self,
        place: FunctionPlace,
        packet: PacketId,
        fx: &mut Effects<'_, C>,
    ) -> Option<PacketId> {
        let space = self.space(place);
        if !space.is_contained() {
            return self.refuse(place, packet, Refusal::UnsupportedRequest, fx);
        }
        let is_answered = fx.store()[packet].header().class() == Class::NonPosted;
        let why = match (is_answered, space.completes_as_unsupported()) {
            (false, _) => Refusal::Contained,
            (true, true) => Refusal::UnsupportedRequest,
            (true, false) => Refusal::CompleterAbort,
        };
        refuse(packet, self.id_of(place), why, fx)
    }

    /// The interrupt message of the port at `place` for `action`, if it sends one.
    pub fn port_message(&self, place: FunctionPlace, action: PortAction) -> Option<(u64, u32)> {
        let space = self.space(place);
        let has_reason = match action {
            PortAction::Contain(_) => space.has_containment_interrupt(),
            PortAction::Interrupt => true,
            PortAction::Hold(_) | PortAction::Release => false,
        };
        let sends = has_reason && space.bus_master_enable();
        sends.then(|| space.msi(0)).flatten()
    }

    /// Records that the attention button of the slot at the port at `place` is pressed.
    pub fn press_attention_button(&mut self, place: FunctionPlace) {
        self.record_slot(place, ATTENTION_BUTTON_PRESSED, None);
    }

    /// Records events of the slot at the port at `place`, and whether a card is present. `is_present` is none if presence has not changed.
    pub(super) fn record_slot(
        &mut self,
        place: FunctionPlace,
        events: u32,
        is_present: Option<bool>,
    ) {
        let FunctionPlace::Port(index) = place else {
            return;
        };
        if self.ports[index].space.record_slot(events, is_present) {
            self.actions.push_back((index, PortAction::Interrupt));
        }
    }

    /// Records that the bandwidth of the link of the port at `place` has changed, or that the link has retrained for software.
    pub(super) fn record_bandwidth(&mut self, place: FunctionPlace) {
        let FunctionPlace::Port(index) = place else {
            return;
        };
        if self.ports[index].space.record_bandwidth_management() {
            self.actions.push_back((index, PortAction::Interrupt));
        }
    }

    /// The memory write of an interrupt message of the port at `place`.
    pub fn message_packet(
        &self,
        place: FunctionPlace,
        (address, data): (u64, u32),
        packets: &mut Packets,
    ) -> PacketId {
        let header = Header::memory_write(self.id_of(place), address, 4)
            .expect("a message is one aligned dword");
        packets.make(header, Stamp::default(), &data.to_le_bytes())
    }

    /// Begins containment of everything below the port at `place`, if containment is enabled for `reason`.
    pub(super) fn contain(&mut self, place: FunctionPlace, reason: TriggerReason) -> bool {
        let FunctionPlace::Port(index) = place else {
            return false;
        };
        let source = match reason {
            TriggerReason::Message(_, source) => source,
            TriggerReason::Uncorrectable(_) | TriggerReason::Software => FunctionId::default(),
        };
        let space = &mut self.ports[index].space;
        if !space.trigger_containment(reason, source) {
            return false;
        }
        self.actions.push_back((index, PortAction::Contain(reason)));
        if self.ports[index].space.signals_containment() {
            self.report(place, Severity::Correctable);
        }
        true
    }

    /// Begins containment for an error that the port at `place` itself has detected, if the error is not masked. Containment for a
    /// completion timeout of the host's own request belongs to the Root Port extensions, which are not modelled (PCIe Base 6.2.10.3).
    pub(super) fn contain_error(
        &mut self,
        place: FunctionPlace,
        error: UncorrectableError,
        severity: Severity,
    ) -> bool {
        let is_exempt = error == UncorrectableError::CompletionTimeout
            || self.space(place).error_control().masks(error);
        !is_exempt && self.contain(place, TriggerReason::Uncorrectable(severity))
    }

    /// Writes to a register of the upstream port of a switch, or of a device. Secondary Bus Reset of the upstream port resets the downstream
    /// ports and all links below (PCIe Base 6.6.1).
    pub(super) fn write_own(&mut self, request: &ConfigRequest, value: u32) {
        let was_held = self.own.link_hold().is_some();
        self.own.write(request.register, value, request.first_be);
        let is_held = self.own.link_hold().is_some();
        if was_held == is_held {
            return;
        }
        for index in 0..self.ports.len() {
            if is_held {
                self.ports[index].space.hot_reset();
                let hold = PortAction::Hold(LinkHold::Reset);
                self.actions.push_back((index, hold));
            } else if !self.holds_link_down(FunctionPlace::Port(index)) {
                self.actions.push_back((index, PortAction::Release));
            }
        }
    }

    /// Writes to a register of the downstream port with this index. The resulting actions on its link must be read by
    /// [`take_port_action`](Self::take_port_action).
    pub(super) fn write_port(&mut self, index: usize, request: &ConfigRequest, value: u32) {
        let place = FunctionPlace::Port(index);
        let (register, enables) = (request.register, request.first_be);
        let was_held = self.holds_link_down(place);
        let held_by = self.space(place).link_hold();
        let space = &mut self.ports[index].space;
        space.write(register, value, enables);
        let is_triggered = space.triggers_containment(register, value, enables);
        let holds = space.link_hold();
        if is_triggered {
            self.contain(place, TriggerReason::Software);
        }
        let is_held = self.holds_link_down(place);
        match holds {
            Some(hold) if held_by != Some(hold) => {
                self.actions.push_back((index, PortAction::Hold(hold)));
            }
            _ if was_held && !is_held => self.actions.push_back((index, PortAction::Release)),
            _ => {}
        }
    }
}
