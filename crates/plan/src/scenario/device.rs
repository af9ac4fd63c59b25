//! The device models that a scenario can name, and their parameters, generated from the registry.

use std::any::Any;

use cosim::Missing;
use device::{CircuitChoice, EndpointParameters, ForeignParameters, LeafParameters, Properties};
use kernel::{Declaration, Parameters};

use crate::registry;

macro_rules! device_parameters {
    (
        $($(#[doc = $help:literal])+ $name:literal => $leaf:ident($type:ty, $parameters:ty)$(, built by $builder:expr)?;)+
    ) => {
        /// A device model with its parameters.
        #[derive(Clone, Debug, PartialEq)]
        pub enum DeviceParameters {
            $($(#[doc = $help])+ $leaf($parameters),)+
            /// A device model from outside the simulator.
            Foreign(ForeignParameters),
        }

        impl DeviceParameters {
            /// The name of the model in scenarios.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$leaf(_) => $name,)+
                    Self::Foreign(parameters) => parameters.model().name(),
                }
            }

            /// The parameters of the model.
            pub fn parameters(&self) -> &dyn LeafParameters {
                match self {
                    $(Self::$leaf(parameters) => parameters,)+
                    Self::Foreign(parameters) => parameters,
                }
            }

            /// The parameters of the model, mutable.
            pub fn parameters_mut(&mut self) -> &mut dyn LeafParameters {
                match self {
                    $(Self::$leaf(parameters) => parameters,)+
                    Self::Foreign(parameters) => parameters,
                }
            }
        }

        $(impl From<$parameters> for DeviceParameters {
            fn from(parameters: $parameters) -> Self {
                Self::$leaf(parameters)
            }
        })+

        /// All device models, in the order in which lists show them.
        pub const LEAVES: &[LeafModel] = &[$(LeafModel {
            name: $name,
            help: concat!($($help),+).trim_ascii(),
            make: || DeviceParameters::$leaf(Default::default()),
            declarations: <$parameters>::declarations,
        }),+];
    };
}

registry!(device_parameters);

/// A device model of the registry.
#[derive(Clone, Copy, Debug)]
pub struct LeafModel {
    /// The model's name in scenarios.
    pub name: &'static str,
    /// The model's help text.
    pub help: &'static str,
    /// Makes a device of the model with default parameters.
    pub make: fn() -> DeviceParameters,
    /// Lists the parameters of the model.
    pub declarations: fn() -> Vec<Declaration>,
}

/// The description of a circuit that replaces a device model, and the circuit itself.
pub type ChosenCircuit = (CircuitChoice, cosim::Circuit);

impl DeviceParameters {
    /// The properties of the device.
    pub fn properties(&self) -> Properties {
        self.parameters().properties()
    }

    /// The circuit that replaces the model, if the parameters of the core request one. If there is no such circuit, the error has the key that is
    /// wrong and a message.
    pub fn circuit(
        &self,
        core: &EndpointParameters,
    ) -> Option<Result<ChosenCircuit, (&'static str, String)>> {
        let width = core.circuit_width()?;
        let choice = self.circuit_choice(core)?;
        let period_ps = core.clock.period().as_fs() / 1000;
        Some(choice.and_then(|choice| {
            let waves = match core.waves {
                Some(_) => cosim::Waves::Possible,
                None => cosim::Waves::Never,
            };
            let circuit = cosim::Circuit::new(&choice.name, width, period_ps, waves);
            let circuit = circuit.map_err(|missing| {
                let key = match (&missing, &core.circuit) {
                    (_, None) => "implementation",
                    (Missing::Name { .. } | Missing::Library { .. }, Some(_)) => "circuit",
                    (Missing::Width { .. }, Some(_)) => "datapath",
                    (Missing::Waves { .. }, Some(_)) => "waves",
                };
                (key, missing.to_string())
            })?;
            Ok((choice, circuit))
        }))
    }

    /// The description of the circuit that replaces the model, even if the build does not contain this circuit.
    pub fn circuit_choice(
        &self,
        core: &EndpointParameters,
    ) -> Option<Result<CircuitChoice, (&'static str, String)>> {
        core.circuit_width()?;
        if let Some(name) = &core.circuit {
            return Some(Ok(CircuitChoice::named(name)));
        }
        Some(self.parameters().circuit(core).unwrap_or_else(|| {
            let message = format!("model = {:?} has no circuit; write \"model\"", self.name());
            Err(("implementation", message))
        }))
    }

    /// The parameters of the model, if they are of type `P`.
    pub fn downcast<P: LeafParameters>(&self) -> Option<&P> {
        let any: &dyn Any = self.parameters();
        any.downcast_ref()
    }
}
