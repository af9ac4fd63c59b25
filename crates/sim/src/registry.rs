//! The registry: every component of a fabric, and one line for each device model.
//!
//! A line gives a device model its help text, its name in scenarios, its type and that of its parameters; with `built by`, the function that builds it
//! where that needs the plan. From the lines come the parameters that a scenario can set, the list of models, and the dispatch of
//! events.

use std::any::Any;

use device::{AnyLeaf, EndpointConfig, Leaf, LeafParameters};
use kernel::{Action, Component, ComponentId, Declaration, Label, Occurrence, Parameters, World};
use packet::{Frame, Pcie};

use crate::build::{self, LeafContext};

macro_rules! registry {
    (
        $($(#[doc = $component_help:literal])+ $component:ident($component_type:ty);)+
        leaves {
            $($(#[doc = $help:literal])+ $name:literal => $leaf:ident($type:ty, $parameters:ty)$(, built by $builder:expr)?;)+
        }
    ) => {
        /// Any component of a fabric.
        #[derive(Debug)]
        #[expect(clippy::large_enum_variant, reason = "models stand side by side, and most of a network are routers")]
        pub enum Model {
            $($(#[doc = $component_help])+ $component($component_type),)+
            $($(#[doc = $help])+ $leaf($type),)+
        }

        impl Model {
            /// Starts component `id`.
            pub fn start(&mut self, id: ComponentId, world: &mut World<Pcie>) {
                match self {
                    $(Model::$component(model) => model.start(&mut world.effects(id)),)+
                    $(Model::$leaf(model) => model.start(&mut world.effects(id)),)+
                }
            }

            /// Passes an event to component `id`.
            pub fn happen(&mut self, id: ComponentId, what: Occurrence<Frame>, world: &mut World<Pcie>) {
                match self {
                    $(Model::$component(model) => pass(model, id, what, world),)+
                    $(Model::$leaf(model) => pass(model, id, what, world),)+
                }
            }

            /// The device of any model; none for a component that is no device.
            pub fn leaf(&self) -> Option<&dyn AnyLeaf> {
                match self {
                    $(Model::$leaf(leaf) => Some(leaf),)+
                    $(Model::$component(_) => None,)+
                }
            }

            /// The device of any model, mutable; none for a component that is no device.
            pub fn leaf_mut(&mut self) -> Option<&mut dyn AnyLeaf> {
                match self {
                    $(Model::$leaf(leaf) => Some(leaf),)+
                    $(Model::$component(_) => None,)+
                }
            }
        }

        /// The model of a device, with its parameters.
        #[derive(Clone, Debug, PartialEq)]
        pub enum DeviceParameters {
            $($(#[doc = $help])+ $leaf($parameters),)+
        }

        impl DeviceParameters {
            /// The name of the model in scenarios.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$leaf(_) => $name,)+ }
            }

            /// The parameters of the model.
            pub fn parameters(&self) -> &dyn LeafParameters {
                match self { $(Self::$leaf(parameters) => parameters,)+ }
            }

            /// The parameters of the model, mutable.
            pub fn parameters_mut(&mut self) -> &mut dyn LeafParameters {
                match self { $(Self::$leaf(parameters) => parameters,)+ }
            }

            /// Builds the device.
            pub(crate) fn build(&self, endpoint: EndpointConfig, context: LeafContext<'_>) -> Model {
                match self {
                    $(Self::$leaf(parameters) => {
                        Model::$leaf(built!($type, endpoint, parameters, context $(, $builder)?))
                    })+
                }
            }
        }

        $(impl From<$parameters> for DeviceParameters {
            fn from(parameters: $parameters) -> Self {
                Self::$leaf(parameters)
            }
        })+

        /// All device models, in the order in which they are listed.
        pub const LEAVES: &[LeafModel] = &[$(LeafModel {
            name: $name,
            help: concat!($($help),+).trim_ascii(),
            make: || DeviceParameters::$leaf(Default::default()),
            declarations: <$parameters>::declarations,
        }),+];
    };
}

/// Builds a device by its constructor, or by a function that gets the plan as well.
macro_rules! built {
    ($type:ty, $endpoint:ident, $parameters:ident, $context:ident) => {{
        let _ = $context;
        <$type>::new($endpoint, $parameters)
    }};
    ($type:ty, $endpoint:ident, $parameters:ident, $context:ident, $builder:expr) => {
        with_plan($builder, $context, $endpoint, $parameters)
    };
}

registry! {
    /// A host.
    Host(host::Host);
    /// A port of a controller for an endpoint.
    IoPort(fabric::IoPort);
    /// A switch.
    Switch(fabric::Switch);
    /// A crossbar between network interface controllers.
    Controller(fabric::Controller);

    leaves {
        /// Reads and writes host memory and other devices, many requests at once.
        "dma" => Dma(device::Dma, device::DmaParameters);
        /// Moves blocks of host memory, and makes atomic operations on it, as software asks: one transfer after the other.
        "block-dma" => BlockDma(device::BlockDma, device::BlockDmaParameters);
        /// Works through lists of descriptors that a driver on the host writes, with FIFOs and a circuit of the user's behind it.
        "sg-dma" => SgDma(device::SgDma, device::SgDmaParameters);
        /// A card with a slot for accelerator functional units, which reach host memory and memory of its own: an Intel PAC.
        "fpga-card" => FpgaCard(device::FpgaCard, device::FpgaCardParameters);
        /// Joins hosts by fibres: takes what is written to its window, or made by its user logic, through a network of its kind.
        "router" => Router(device::Router, device::RouterParameters), built by |of, end, own| build::network::router(of.plan, of.index, end, own, of.fibres);
        /// Sends messages between the memories of hosts that share a controller, for programs that own its queue pairs.
        "nic" => Nic(device::Nic, device::NicParameters), built by |of, end, own| build::controller::nic(of.plan, of.index, end, own);
        /// Accesses the memory of a coherent host through a cache of its own, by virtual addresses if need be.
        "accelerator" => Accelerator(device::Accelerator, device::AcceleratorParameters), built by |of, end, own| build::sharing::accelerator(of.plan, of.index, end, own);
        /// Answers each write with a write of its own, for the measurement of latencies.
        "reflector" => Reflector(device::Reflector, device::ReflectorParameters), built by |of, end, _| device::Reflector::new(end, build::replies(of.plan, of.index));
    }
}

/// A device model of the registry.
#[derive(Clone, Copy, Debug)]
pub struct LeafModel {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Its help text.
    pub help: &'static str,
    /// A device of the model with default parameters.
    pub make: fn() -> DeviceParameters,
    /// The parameters of the model.
    pub declarations: fn() -> Vec<Declaration>,
}

impl DeviceParameters {
    /// The parameters of the model, if they are of type `P`.
    pub fn downcast<P: LeafParameters>(&self) -> Option<&P> {
        let any: &dyn Any = self.parameters();
        any.downcast_ref()
    }
}

impl Model {
    /// The device, if it is of type `L`.
    pub fn device<L: Leaf + 'static>(&self) -> Option<&L> {
        let any: &dyn Any = self.leaf()?;
        any.downcast_ref()
    }

    /// The device, mutable, if it is of type `L`.
    pub fn device_mut<L: Leaf + 'static>(&mut self) -> Option<&mut L> {
        let any: &mut dyn Any = self.leaf_mut()?;
        any.downcast_mut()
    }
}

/// Calls `builder`; the signature gives a closure's parameters their types.
fn with_plan<L: Leaf>(
    builder: impl FnOnce(LeafContext<'_>, EndpointConfig, &L::Parameters) -> L,
    context: LeafContext<'_>,
    endpoint: EndpointConfig,
    parameters: &L::Parameters,
) -> L {
    builder(context, endpoint, parameters)
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
