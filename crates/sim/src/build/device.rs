//! Construction of each device model, generated from the registry.

use device::{EndpointConfig, Foreign};

use crate::model::Model;
use crate::scenario::DeviceParameters;
use plan::registry;

use super::{LeafContext, controller, network, replies, sharing};

macro_rules! builders {
    (
        $($(#[doc = $help:literal])+ $name:literal => $leaf:ident($type:ty, $parameters:ty)$(, built by $builder:expr)?;)+
    ) => {
        /// Builds the device with these parameters.
        pub fn build(device: &DeviceParameters, endpoint: EndpointConfig, context: LeafContext<'_>) -> Model {
            match device {
                $(DeviceParameters::$leaf(parameters) => {
                    Model::$leaf(built!($type, endpoint, parameters, context $(, $builder)?))
                })+
                DeviceParameters::Foreign(parameters) => {
                    let name = &context.plan.nodes[context.index].name;
                    Model::Foreign(Foreign::new(endpoint, parameters, name))
                }
            }
        }
    };
}

/// Builds a device by its constructor, or by a function that also receives the plan.
macro_rules! built {
    ($type:ty, $endpoint:ident, $parameters:ident, $context:ident) => {{
        let _ = $context;
        <$type>::new($endpoint, $parameters)
    }};
    ($type:ty, $endpoint:ident, $parameters:ident, $context:ident, $builder:expr) => {
        with_plan($builder, $context, $endpoint, $parameters)
    };
}

registry!(builders);

/// Calls `builder`; this signature gives the types of a closure's parameters.
fn with_plan<L, P>(
    builder: impl FnOnce(LeafContext<'_>, EndpointConfig, &P) -> L,
    context: LeafContext<'_>,
    endpoint: EndpointConfig,
    parameters: &P,
) -> L {
    builder(context, endpoint, parameters)
}
