//! The closed list of what stands in a fabric, and the dispatch of what happens to it.

use device::{Accelerator, BlockDma, Dma, FpgaCard, Leaf, Nic, Reflector, Router, SgDma};
use fabric::{Controller, IoPort, Switch};
use host::Host;
use kernel::{Action, Component, ComponentId, Label, Occurrence, World};
use link::LinkEnd;
use packet::{Frame, Pcie};
use transaction::{Flow, Functions, Memory, Requester};

macro_rules! models {
    ($($(#[doc = $help:literal])+ $variant:ident;)+) => {
        /// Any component of a fabric.
        #[derive(Debug)]
        #[expect(clippy::large_enum_variant, reason = "models stand side by side, and most of a network are routers")]
        pub enum Model { $($(#[doc = $help])+ $variant($variant),)+ }

        impl Model {
            /// Time begins for component `id`.
            pub fn start(&mut self, id: ComponentId, world: &mut World<Pcie>) {
                match self { $(Model::$variant(model) => model.start(&mut world.effects(id)),)+ }
            }

            /// Something happens to component `id`.
            pub fn happen(&mut self, id: ComponentId, what: Occurrence<Frame>, world: &mut World<Pcie>) {
                match self { $(Model::$variant(model) => pass(model, id, what, world),)+ }
            }
        }
    };
}

models! {
    /// A host.
    Host;
    /// A port of a controller for an endpoint.
    IoPort;
    /// A switch.
    Switch;
    /// A DMA engine.
    Dma;
    /// A DMA engine for blocks.
    BlockDma;
    /// A scatter/gather DMA engine.
    SgDma;
    /// An FPGA card.
    FpgaCard;
    /// A latency reflector.
    Reflector;
    /// An accelerator with a coherent cache.
    Accelerator;
    /// A router.
    Router;
    /// A network interface controller.
    Nic;
    /// A crossbar between those.
    Controller;
}

fn pass<C: Component<Traffic = Pcie>>(
    model: &mut C,
    id: ComponentId,
    what: Occurrence<Frame>,
    world: &mut World<Pcie>,
) {
    let mut fx = world.effects(id);
    match what.action() {
        Action::Receive(port, frame) => model.receive(C::Port::from_number(port), frame, &mut fx),
        Action::Expire(timer) => model.expire(C::Timer::from_number(timer), &mut fx),
    }
}

impl Model {
    /// The link end at port `index`.
    pub fn link(&self, index: usize) -> Option<&LinkEnd> {
        match self {
            Model::Host(host) => host.links().nth(index),
            Model::IoPort(port) => Some(port.link()),
            Model::Switch(switch) => switch.links().nth(index),
            Model::Dma(dma) => Some(dma.endpoint().link()),
            Model::BlockDma(dma) => Some(dma.endpoint().link()),
            Model::SgDma(dma) => Some(dma.endpoint().link()),
            Model::FpgaCard(card) => Some(card.endpoint().link()),
            Model::Reflector(reflector) => Some(reflector.endpoint().link()),
            Model::Accelerator(one) => Some(one.endpoint().link()),
            Model::Router(router) => Some(router.endpoint().link()),
            Model::Nic(nic) => Some(nic.endpoint().link()),
            Model::Controller(controller) => controller.link(index),
        }
    }

    /// Its functions as they are now, with what its links have repaired.
    pub fn functions(&self) -> Functions {
        let (functions, links): (_, Vec<&LinkEnd>) = match self {
            Model::Host(host) => (host.functions(), host.links().collect()),
            Model::IoPort(port) => (port.functions(), vec![port.link()]),
            Model::Switch(switch) => (switch.functions(), switch.links().collect()),
            Model::Dma(dma) => (dma.endpoint().functions(), vec![dma.endpoint().link()]),
            Model::BlockDma(dma) => (dma.endpoint().functions(), vec![dma.endpoint().link()]),
            Model::SgDma(dma) => (dma.endpoint().functions(), vec![dma.endpoint().link()]),
            Model::FpgaCard(one) => (one.endpoint().functions(), vec![one.endpoint().link()]),
            Model::Reflector(one) => (one.endpoint().functions(), vec![one.endpoint().link()]),
            Model::Accelerator(one) => (one.endpoint().functions(), vec![one.endpoint().link()]),
            Model::Router(one) => (one.endpoint().functions(), vec![one.endpoint().link()]),
            Model::Nic(one) => (one.endpoint().functions(), vec![one.endpoint().link()]),
            Model::Controller(_) => panic!("no host sees a controller"),
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
        match self {
            Model::Host(host) => Some(host.memory()),
            Model::IoPort(_) | Model::Switch(_) | Model::Controller(_) => None,
            Model::Nic(nic) => Some(nic.endpoint().bar()),
            Model::Dma(dma) => Some(dma.endpoint().bar()),
            Model::BlockDma(dma) => Some(dma.endpoint().bar()),
            Model::SgDma(dma) => Some(dma.endpoint().bar()),
            Model::FpgaCard(card) => Some(card.endpoint().bar()),
            Model::Reflector(reflector) => Some(reflector.endpoint().bar()),
            Model::Accelerator(one) => Some(one.endpoint().bar()),
            Model::Router(router) => Some(router.endpoint().bar()),
        }
    }

    /// The same, to be filled.
    pub fn memory_mut(&mut self) -> Option<&mut Memory> {
        match self {
            Model::Host(host) => Some(host.memory_mut()),
            Model::IoPort(_) | Model::Switch(_) | Model::Controller(_) => None,
            Model::Nic(nic) => Some(nic.endpoint_mut().bar_mut()),
            Model::Dma(dma) => Some(dma.endpoint_mut().bar_mut()),
            Model::BlockDma(dma) => Some(dma.endpoint_mut().bar_mut()),
            Model::SgDma(dma) => Some(dma.endpoint_mut().bar_mut()),
            Model::FpgaCard(card) => Some(card.endpoint_mut().bar_mut()),
            Model::Reflector(reflector) => Some(reflector.endpoint_mut().bar_mut()),
            Model::Accelerator(one) => Some(one.endpoint_mut().bar_mut()),
            Model::Router(router) => Some(router.endpoint_mut().bar_mut()),
        }
    }

    /// The memory behind the virtual functions of a device, to be filled, and where that of one of them begins.
    pub fn virtual_memory_mut(&mut self, number: usize) -> Option<(&mut Memory, u64)> {
        let endpoint = match self {
            Model::Dma(dma) => dma.endpoint_mut(),
            Model::BlockDma(dma) => dma.endpoint_mut(),
            Model::SgDma(dma) => dma.endpoint_mut(),
            Model::Reflector(reflector) => reflector.endpoint_mut(),
            _ => return None,
        };
        endpoint.virtual_memory_mut(number)
    }

    /// Who makes requests here.
    pub fn requester(&self) -> Option<&Requester> {
        match self {
            Model::Host(host) => Some(host.cpu().requester()),
            Model::Dma(dma) => dma.requester(0),
            Model::Router(router) => router.requester(0),
            Model::IoPort(_)
            | Model::Switch(_)
            | Model::BlockDma(_)
            | Model::SgDma(_)
            | Model::FpgaCard(_)
            | Model::Reflector(_)
            | Model::Accelerator(_)
            | Model::Nic(_)
            | Model::Controller(_) => None,
        }
    }

    /// The same, to take what it read.
    pub fn requester_mut(&mut self) -> Option<&mut Requester> {
        match self {
            Model::Host(host) => Some(host.cpu_mut().requester_mut()),
            Model::Dma(dma) => dma.requester_mut(0),
            Model::Router(router) => router.requester_mut(0),
            Model::IoPort(_)
            | Model::Switch(_)
            | Model::BlockDma(_)
            | Model::SgDma(_)
            | Model::FpgaCard(_)
            | Model::Reflector(_)
            | Model::Accelerator(_)
            | Model::Nic(_)
            | Model::Controller(_) => None,
        }
    }

    /// One more flow, of a device's function with that number. False where nobody makes requests.
    pub fn add_flow(&mut self, function: u8, flow: Flow) -> bool {
        match self {
            Model::Host(host) => host.cpu_mut().add_flow(flow),
            Model::Dma(dma) => return dma.add_flow(function, flow),
            Model::Router(router) => return router.add_flow(function, flow),
            Model::IoPort(_)
            | Model::Switch(_)
            | Model::BlockDma(_)
            | Model::SgDma(_)
            | Model::FpgaCard(_)
            | Model::Reflector(_)
            | Model::Accelerator(_)
            | Model::Nic(_)
            | Model::Controller(_) => return false,
        }
        true
    }

    /// Lets the requester look at its flows again.
    pub fn ask(&mut self, id: ComponentId, world: &mut World<Pcie>) {
        match self {
            Model::Host(host) => host.ask(&mut world.effects(id)),
            Model::Dma(dma) => dma.run(&mut world.effects(id)),
            Model::BlockDma(dma) => dma.run(&mut world.effects(id)),
            Model::FpgaCard(card) => card.run(&mut world.effects(id)),
            Model::Router(router) => router.run(&mut world.effects(id)),
            Model::Nic(nic) => nic.run(&mut world.effects(id)),
            Model::Accelerator(one) => one.run(&mut world.effects(id)),
            Model::IoPort(_)
            | Model::Switch(_)
            | Model::SgDma(_)
            | Model::Reflector(_)
            | Model::Controller(_) => {}
        }
    }
}
