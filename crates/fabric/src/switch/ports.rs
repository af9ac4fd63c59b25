//! The ports of a switch: their registers, the state of their links, and the actions of software and incidents on them.

use kernel::{Effects, Port, Time};
use link::{At, DownCause, LinkChange, LinkCommand, LinkEnd};
use packet::{Incident, Observation, Site};
use transaction::{FunctionPlace, Functions, PortAction};

use super::{Switch, SwitchPort, UPSTREAM, place};
use crate::{Routes, held_links};

impl Switch {
    /// The functions of the switch's ports at `now`, including the events that their links have recorded. If the upstream link has failed,
    /// the switch is reset (PCIe Base 2.9.1).
    pub fn functions(&self, now: Time) -> Functions {
        let mut functions = self.functions.clone();
        for (index, port) in self.ports.iter().enumerate() {
            let place = place(Port(index as u16));
            if self.fails_alone(port, now) {
                functions.show_failure(place);
            }
            functions.show_link(place, &port.link, now);
        }
        if self.ports[UPSTREAM.index()].link.has_failed(now) {
            functions.hot_reset();
        }
        functions
    }

    /// Resets the registers of all ports. Sticky registers are reset only if the switch has no power.
    fn reset(&mut self, is_powered: bool, fx: &mut Effects<'_, Self>) {
        if is_powered {
            self.functions.hot_reset();
            fx.observe(Observation::Incident {
                site: Site::Port(UPSTREAM.0),
                what: Incident::Event("hot reset"),
            });
        } else {
            self.functions.cold_reset();
        }
        self.apply_registers();
    }

    /// Whether the link of a downstream port has failed by `now` for a reason other than a reset of the switch.
    fn fails_alone(&self, port: &SwitchPort, now: Time) -> bool {
        let reset_at = self.ports[UPSTREAM.index()].link.fails_at();
        port.link.fails_at() <= now && port.link.fails_at() < reset_at
    }

    /// Records the errors and the changes of state of the ports' links.
    pub(super) fn record_links(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        for index in 0..self.ports.len() {
            let place = place(Port(index as u16));
            if self.fails_alone(&self.ports[index], now) {
                self.functions.record_surprise_down(place, fx);
            }
            while let Some(change) = self.ports[index].link.take_change() {
                let link = &self.ports[index].link;
                self.functions.record_change(place, link, change, fx);
                if Port(index as u16) == UPSTREAM {
                    self.follow_upstream_link(change, fx);
                }
            }
            let link = &mut self.ports[index].link;
            self.functions.record_link(place, link, now);
        }
    }

    /// Records and reports the errors and the changes of state of the ports' links.
    pub(super) fn report_links(&mut self, fx: &mut Effects<'_, Self>) {
        self.record_links(fx);
        self.report_errors(fx);
        self.follow_links_below(fx);
    }

    /// Resets the switch and everything below it when its upstream link has gone down (PCIe Base 2.9.1, 6.6.1). If the switch itself was
    /// commanded down, it has no power. The links below train when the upstream link is up again.
    fn follow_upstream_link(&mut self, change: LinkChange, fx: &mut Effects<'_, Self>) {
        let command = match change {
            LinkChange::Down(cause) => {
                let is_powered = cause != DownCause::Command;
                self.reset(is_powered, fx);
                if is_powered {
                    LinkCommand::HotReset
                } else {
                    LinkCommand::TakeDown
                }
            }
            LinkChange::Up => LinkCommand::Train,
            LinkChange::Retrained { .. } | LinkChange::Power => return,
        };
        for port in (1..self.ports.len() as u16).map(Port) {
            if command == LinkCommand::Train && self.functions.holds_link_down(place(port)) {
                continue;
            }
            self.on_link(port, fx, |link, at| link.command(command, at));
        }
    }

    /// Permits L1 on the upstream link while every link below is in L1 or down. The upstream link leaves L1 as soon as a link below leaves
    /// L1 (PCIe Base 5.4.1.2.1, 5.4.1.2.2).
    pub(super) fn follow_links_below(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let rests = |link: &LinkEnd| link.is_in_l1(now) || link.has_failed(now);
        let permits = self.links().skip(1).all(rests);
        self.on_link(UPSTREAM, fx, |link, at| link.permit_l1(permits, at));
    }

    pub(super) fn apply_registers(&mut self) {
        self.routes = Routes::of_switch(&self.functions);
        let up = self.functions.space(FunctionPlace::Own).bus_master_enable();
        for (index, (port, filter)) in self.ports.iter_mut().zip(&mut self.filters).enumerate() {
            let place = place(Port(index as u16));
            let space = self.functions.space(place);
            port.max_payload = space.max_payload();
            let holds = !up || !space.bus_master_enable() || space.has_access_control();
            filter.restricts = place != FunctionPlace::Own && holds;
            let id = self.functions.id_of(place);
            port.link.apply_registers(space, id, false);
        }
        let mut spaces = self.functions.places().map(|at| self.functions.space(at));
        let stops_atomics = spaces.any(|space| !space.routes_atomics() || space.blocks_atomics());
        let filters = stops_atomics || self.links().any(|link| !link.maps_all_classes());
        for (port, filter) in self.ports.iter().zip(&mut self.filters) {
            filter.checked_from = match (filters, self.damages) {
                (true, _) => 0,
                (false, 0) => port.max_payload + 1,
                (false, _) => 1,
            };
        }
    }

    /// Begins the initialisation of channels that a configuration request has enabled.
    pub(super) fn initialize_channels(&mut self, fx: &mut Effects<'_, Self>) {
        for port in (0..self.ports.len() as u16).map(Port) {
            self.on_link(port, fx, |link, at| link.initialize_channels(at));
        }
    }

    /// Retrains the link below a downstream port, because software has written its Retrain Link bit.
    pub(super) fn retrain(&mut self, port: Port, fx: &mut Effects<'_, Self>) {
        self.on_link(port, fx, |link, at| link.retrain_for_software(at));
    }

    /// Executes the actions on links that registers of downstream ports request.
    pub(super) fn act_on_ports(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some((index, action)) = self.functions.take_port_action() {
            self.act_on_port(Port(index as u16 + 1), action, fx);
        }
    }

    fn act_on_port(&mut self, port: Port, action: PortAction, fx: &mut Effects<'_, Self>) {
        if let Some(command) = held_links::begin(port, action, fx) {
            self.on_link(port, fx, |link, at| link.command(command, at));
        }
        if let Some(message) = self.functions.port_message(place(port), action)
            && self.functions.space(place(UPSTREAM)).bus_master_enable()
        {
            let packet = self
                .functions
                .message_packet(place(port), message, fx.store());
            self.answer(UPSTREAM, packet, fx.now(), fx);
        }
    }

    /// Presses the attention button of the slot at `port`.
    pub fn press_attention_button(&mut self, port: Port, fx: &mut Effects<'_, Self>) {
        self.functions.press_attention_button(place(port));
        self.act_on_ports(fx);
    }

    /// Passes a command from outside the fabric to the link end at `port`.
    pub fn command_link(&mut self, port: Port, command: LinkCommand, fx: &mut Effects<'_, Self>) {
        self.link(port)
            .command_later(command, &mut At::new(fx, port));
    }

    /// Announces that an incident will interrupt the reception of packets at the link end at `port` at `time`.
    pub fn expect_cut(&mut self, port: Port, time: Time) {
        self.link(port).expect_cut(time);
    }
}
