//! The access to a component outside events.

use host::Host;
use kernel::{ComponentId, World};
use link::LinkEnd;
use packet::Pcie;
use transaction::{Flow, Functions, Memory, Requester};

pub use crate::registry::Model;

impl Model {
    /// The host; none for any other component.
    pub fn host(&self) -> Option<&Host> {
        match self {
            Model::Host(host) => Some(host),
            _ => None,
        }
    }

    /// The host, mutable; none for any other component.
    pub fn host_mut(&mut self) -> Option<&mut Host> {
        match self {
            Model::Host(host) => Some(host),
            _ => None,
        }
    }

    /// The link end at port `index`.
    pub fn link(&self, index: usize) -> Option<&LinkEnd> {
        match self {
            Model::Host(host) => host.links().nth(index),
            Model::IoPort(port) => Some(port.link()),
            Model::Switch(switch) => switch.links().nth(index),
            Model::Controller(controller) => controller.link(index),
            _ => Some(self.leaf()?.endpoint().link()),
        }
    }

    /// Its functions with their current registers, and the correctable errors of its links recorded there.
    pub fn functions(&self) -> Functions {
        let (functions, links): (_, Vec<&LinkEnd>) = match self {
            Model::Host(host) => (host.functions(), host.links().collect()),
            Model::IoPort(port) => (port.functions(), vec![port.link()]),
            Model::Switch(switch) => (switch.functions(), switch.links().collect()),
            _ => {
                let endpoint = self.leaf().expect("no host sees a controller").endpoint();
                (endpoint.functions(), vec![endpoint.link()])
            }
        };
        let mut functions = functions.clone();
        // A host bridge has no link of its own.
        let own = usize::from(matches!(self, Model::Host(_) | Model::IoPort(_)));
        for (place, link) in functions.places().skip(own).zip(links) {
            functions.record_correctable(place, link.repaired());
        }
        functions
    }

    /// The memory of a host, or behind a device's BAR 0.
    pub fn memory(&self) -> Option<&Memory> {
        let host = self.host().map(Host::memory);
        host.or_else(|| Some(self.leaf()?.endpoint().bar()))
    }

    /// The memory of a host, or behind a device's BAR 0, mutable.
    pub fn memory_mut(&mut self) -> Option<&mut Memory> {
        match self {
            Model::Host(host) => Some(host.memory_mut()),
            _ => Some(self.leaf_mut()?.endpoint_mut().bar_mut()),
        }
    }

    /// The memory behind the virtual functions of a device, mutable, and the offset there of function `number`.
    pub fn virtual_memory_mut(&mut self, number: usize) -> Option<(&mut Memory, u64)> {
        let endpoint = self.leaf_mut()?.endpoint_mut();
        endpoint.virtual_memory_mut(number)
    }

    /// The requester of a host's processor, or of a device's physical function.
    pub fn requester(&self) -> Option<&Requester> {
        let host = self.host().map(|host| host.cpu().requester());
        host.or_else(|| self.leaf()?.requester(0))
    }

    /// The requester of a host's processor, or of a device's physical function, mutable.
    pub fn requester_mut(&mut self) -> Option<&mut Requester> {
        match self {
            Model::Host(host) => Some(host.cpu_mut().requester_mut()),
            _ => self.leaf_mut()?.requester_mut(0),
        }
    }

    /// Adds a flow to a host's processor, or to a device's function of that number. False if it has no requester.
    pub fn add_flow(&mut self, function: u8, flow: Flow) -> bool {
        if let Some(host) = self.host_mut() {
            host.cpu_mut().add_flow(flow);
            return true;
        }
        let leaf = self.leaf_mut();
        leaf.is_some_and(|leaf| leaf.add_flow(function, flow))
    }

    /// Lets component `id` continue with work that it was given outside events.
    pub fn ask(&mut self, id: ComponentId, world: &mut World<Pcie>) {
        if let Some(host) = self.host_mut() {
            host.ask(&mut world.effects(id));
        } else if let Some(leaf) = self.leaf_mut() {
            leaf.run(id, world);
        }
    }
}
