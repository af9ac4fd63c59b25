//! A fabric at the time of an incident, and the actions that an incident can perform on it.

use fabric::Switch;
use host::containment::PortBelow;
use host::recovery::{Informed, SavedState};
use host::{DriverParameters, System, ThreadId};
use kernel::{ComponentId, World};
use link::LinkCommand;
use packet::{Observation, Pcie};
use protocol::FunctionId;
use transaction::FunctionPlace;

use crate::build::errors::{drivers_below, drivers_of, saved, saved_below};
use crate::model::Model;
use crate::plan::ports::ends;
use crate::plan::{FabricPlan, NodePlan};

/// A fabric at the time of an incident.
pub struct Scene<'a> {
    pub plan: &'a FabricPlan,
    pub(crate) models: &'a mut [Model],
    pub(crate) world: &'a mut World<Pcie>,
    /// The number of the incident that happens.
    pub(crate) number: usize,
    pub(crate) programs: &'a mut Vec<Started>,
}

/// A program that an incident has started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Started {
    pub(crate) incident: usize,
    /// The host on which the program runs, and its thread.
    pub(crate) host: usize,
    pub(crate) thread: ThreadId,
}

impl Scene<'_> {
    /// The register values that firmware has set in all functions of `node`, virtual functions last.
    pub(crate) fn saved(&self, node: usize) -> Vec<SavedState> {
        saved(&self.plan.nodes[node])
    }

    /// The register values that firmware has set in the functions of `node` and of all nodes below it, upper nodes first.
    pub(crate) fn saved_below(&self, node: usize) -> Vec<Vec<SavedState>> {
        saved_below(self.plan, node)
    }

    /// The downstream port above `node`.
    pub(crate) fn port_above(&self, node: usize) -> Option<FunctionId> {
        let (above, port) = self.plan.port_above(node)?;
        Some(above.functions.id_of(FunctionPlace::Port(port)))
    }

    /// The port `function` with everything below it, from `node` on. With `drivers`, the result has the drivers of the devices below, so that the
    /// host notifies them of a reset.
    pub(crate) fn port_below(&self, function: FunctionId, node: usize, drivers: bool) -> PortBelow {
        let drivers = drivers.then(|| drivers_below(self.plan, node));
        PortBelow {
            function,
            below: saved_below(self.plan, node),
            has_link: true,
            drivers: drivers.unwrap_or_default(),
        }
    }

    /// Whether `node` is in a slot that software of its host handles.
    pub(crate) fn is_slot_served(&self, node: usize) -> bool {
        let has_slot = |(above, port): (&NodePlan, usize)| {
            let place = FunctionPlace::Port(port);
            above.functions.space(place).has_slot()
        };
        let serves = self.costs(node).is_some_and(|costs| costs.hot_plug);
        serves && self.plan.port_above(node).is_some_and(has_slot)
    }

    /// The parameters of the software of the host above `node`, such as the times that it takes.
    pub(crate) fn costs(&self, node: usize) -> Option<DriverParameters> {
        let root = &self.plan.nodes[self.plan.nodes[node].root];
        root.kind.costs().cloned()
    }

    /// Presses the attention button of the slot above `node`.
    pub(crate) fn press_attention_button(&mut self, node: usize) {
        let Some(link) = self.plan.nodes[node].upstream else {
            return;
        };
        let [upper, _] = ends(self.plan, &self.plan.links[link]);
        let (node, port) = (upper.0.0 as usize, upper.1 as u16);
        self.models[node].press_attention_button((upper.0, port), self.world);
    }

    pub(crate) fn command_upper_end(&mut self, link: usize, command: LinkCommand) {
        let [upper, _] = ends(self.plan, &self.plan.links[link]);
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

    /// The drivers of the device `node`, which its host notifies of a reset.
    pub(crate) fn drivers_of(&self, node: usize) -> Option<Informed> {
        drivers_of(self.plan, node)
    }

    /// The drivers of the devices at and below `node`.
    pub(crate) fn drivers_below(&self, node: usize) -> Vec<Informed> {
        drivers_below(self.plan, node)
    }

    /// Starts a program on the host above `node` now. The run continues until the program has ended, as long as the program makes progress.
    pub fn spawn<F>(&mut self, node: usize, program: impl FnOnce(System) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.spawn_for((node, 0), program);
    }

    /// Starts a program on the host that configures a function of a node now.
    pub fn spawn_for<F>(
        &mut self,
        (node, function): (usize, usize),
        program: impl FnOnce(System) -> F,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let Some((host, below)) = self.plan.configuring_host(node, function) else {
            return;
        };
        let now = self.world.now();
        let program = |system: System| match below {
            Some(base) => program(system.below(base)),
            None => program(system),
        };
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
