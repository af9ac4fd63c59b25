//! A fabric at the time of an incident, and what an incident can do to it.

use fabric::Switch;
use host::recovery::{Informed, SavedState};
use host::{DriverParameters, System, ThreadId};
use kernel::{ComponentId, World};
use link::LinkCommand;
use packet::{Observation, Pcie};
use protocol::FunctionId;
use transaction::FunctionPlace;

use crate::build::ends;
use crate::build::errors::{drivers_below, drivers_of, saved, saved_below};
use crate::model::Model;
use crate::plan::FabricPlan;
use crate::scenario::NodeKind;

/// A fabric at the time of an incident.
pub struct Scene<'a> {
    /// The plan of the fabric.
    pub plan: &'a FabricPlan,
    pub(crate) models: &'a mut [Model],
    pub(crate) world: &'a mut World<Pcie>,
    /// The number of the incident that happens.
    pub(crate) number: usize,
    /// The programs that incidents have started.
    pub(crate) programs: &'a mut Vec<Started>,
}

/// A program that an incident has started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Started {
    /// The number of the incident.
    pub(crate) incident: usize,
    /// The host on which the program runs, and its thread.
    pub(crate) host: usize,
    pub(crate) thread: ThreadId,
}

impl Scene<'_> {
    /// What firmware has set in the registers of all functions of `node`: the physical function, then the virtual ones.
    pub(crate) fn saved(&self, node: usize) -> Vec<SavedState> {
        saved(&self.plan.nodes[node])
    }

    /// What firmware has set in the registers of the functions of `node` and of all nodes below it, the upper nodes first.
    pub(crate) fn saved_below(&self, node: usize) -> Vec<Vec<SavedState>> {
        saved_below(self.plan, node)
    }

    /// The downstream port above `node`.
    pub(crate) fn port_above(&self, node: usize) -> Option<FunctionId> {
        let link = self.plan.nodes[node].upstream?;
        let above = &self.plan.nodes[self.plan.links[link].upstream.0];
        let index = above.downstream.iter().position(|port| port.link == link)?;
        Some(above.functions.id_of(FunctionPlace::Port(index)))
    }

    /// Whether software of the host serves the slot of `node`, if it is in one.
    pub(crate) fn is_slot_served(&self, node: usize) -> bool {
        let Some(link) = self.plan.nodes[node].upstream else {
            return false;
        };
        let above = &self.plan.nodes[self.plan.links[link].upstream.0];
        let ports = above.functions.ports().zip(&above.downstream);
        let mut slots = ports.filter(|(space, _)| space.has_slot());
        let serves = self.costs(node).is_some_and(|costs| costs.hot_plug);
        serves && slots.any(|(_, port)| port.link == link)
    }

    /// The time that software of the host above `node` takes.
    pub(crate) fn costs(&self, node: usize) -> Option<DriverParameters> {
        match &self.plan.nodes[self.plan.nodes[node].root].kind {
            NodeKind::Host(_, costs) => Some(costs.clone()),
            _ => None,
        }
    }

    /// Presses the attention button of the slot above `node`.
    pub(crate) fn press_attention_button(&mut self, node: usize) {
        let Some(link) = self.plan.nodes[node].upstream else {
            return;
        };
        let (upper, _) = ends(self.plan, &self.plan.links[link]);
        let (node, port) = (upper.0.0 as usize, upper.1 as u16);
        self.models[node].press_attention_button((upper.0, port), self.world);
    }

    /// Gives the upper end of a link a command.
    pub(crate) fn command_upper_end(&mut self, link: usize, command: LinkCommand) {
        let (upper, _) = ends(self.plan, &self.plan.links[link]);
        let (node, port) = (upper.0.0 as usize, upper.1 as u16);
        self.models[node].command_link((upper.0, port), command, self.world);
    }

    /// Gives the lower end of the link above `node` a command.
    pub(crate) fn command_lower_end(&mut self, node: usize, command: LinkCommand) {
        let lower = (ComponentId(node as u32), 0);
        self.models[node].command_link(lower, command, self.world);
    }

    /// Adds a line about `node` to the log of incidents.
    pub(crate) fn log(&mut self, node: usize, what: &'static str) {
        let mut fx = self.world.effects::<Switch>(ComponentId(node as u32));
        fx.observe(Observation::event(what));
    }

    /// The drivers of the device `node`, which its host tells of a reset.
    pub(crate) fn drivers_of(&self, node: usize) -> Option<Informed> {
        drivers_of(self.plan, node)
    }

    /// The drivers of the devices from `node` on down.
    pub(crate) fn drivers_below(&self, node: usize) -> Vec<Informed> {
        drivers_below(self.plan, node)
    }

    /// Starts a program on the host above `node` now. The run goes on until it has ended.
    pub fn spawn<F>(&mut self, node: usize, program: impl FnOnce(System) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let host = self.plan.nodes[node].root;
        let now = self.world.now();
        if let Some(root) = self.models[host].host_mut() {
            let thread = root.cpu_mut().spawn(now, program);
            self.programs.push(Started {
                incident: self.number,
                host,
                thread,
            });
        }
        self.models[host].ask(ComponentId(host as u32), self.world);
    }
}
