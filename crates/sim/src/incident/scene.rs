//! A fabric at the time of an incident, and what an incident can do to it.

use host::recovery::{Informed, SavedState};
use host::{System, ThreadId};
use kernel::{ComponentId, World};
use packet::Pcie;

use crate::model::Model;
use crate::plan::FabricPlan;
use crate::scenario::NodeKind;

/// A fabric at the time of an incident.
pub struct Scene<'a> {
    /// The plan of the fabric.
    pub plan: &'a FabricPlan,
    pub(crate) models: &'a mut [Model],
    pub(crate) world: &'a mut World<Pcie>,
    /// The programs that incidents have started, with the host of each.
    pub(crate) programs: &'a mut Vec<(usize, ThreadId)>,
}

impl Scene<'_> {
    /// What firmware has set in the registers of all functions of `node`: the physical function, then the virtual ones.
    pub(crate) fn saved(&self, node: usize) -> Vec<SavedState> {
        let functions = &self.plan.nodes[node].functions;
        let places = functions.places();
        let saved =
            places.map(|place| SavedState::of(functions.id_of(place), functions.space(place)));
        saved.collect()
    }

    /// The drivers of the device `node`, which its host tells of a reset.
    pub(crate) fn drivers_of(&self, node: usize) -> Option<Informed> {
        let planned = &self.plan.nodes[node];
        let NodeKind::Host(_, costs) = &self.plan.nodes[planned.root].kind else {
            return None;
        };
        let NodeKind::Device(_, device) = &planned.kind else {
            return None;
        };
        let interrupts = 0..device.parameters().interrupts() as u16;
        Some(Informed {
            messages: interrupts
                .filter_map(|vector| planned.interrupt_message(vector))
                .collect(),
            vectors: planned.vector_entries(),
            costs: costs.clone(),
        })
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
            self.programs.push((host, thread));
        }
        self.models[host].ask(ComponentId(host as u32), self.world);
    }
}
