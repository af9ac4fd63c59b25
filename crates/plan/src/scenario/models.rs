//! The device models that a scenario can name: the models of the registry, and models from outside.

use device::{EndpointParameters, ForeignModel};

use super::device::{DeviceParameters, LEAVES};
use super::entries::keys_of_devices;

/// The device models from outside that a scenario can name, besides the models of the registry. The caller loads them; a scenario cannot load a
/// model.
#[derive(Clone, Debug, Default)]
pub struct Models(Vec<ForeignModel>);

impl Models {
    /// Checks these models and collects them. Returns an error message if two of them have the same name, or if one has the name of a built-in model
    /// or a parameter with the name of a key of all devices.
    pub fn new(models: Vec<ForeignModel>) -> Result<Self, String> {
        for (number, model) in models.iter().enumerate() {
            let name = model.name();
            if Models::default().names().contains(&name) {
                return Err(format!(
                    "{name:?} is the name of a built-in model; write another one"
                ));
            }
            Self::check(model)?;
            if models[..number].iter().any(|other| other.name() == name) {
                return Err(format!(
                    "there are two models {name:?}; give each its own name"
                ));
            }
        }
        Ok(Models(models))
    }

    /// Checks that no parameter of a model has the same name as a key of all devices, because the key would hide the parameter.
    pub fn check(model: &ForeignModel) -> Result<(), String> {
        let keys = keys_of_devices();
        let hidden = model.description().parameters.iter();
        let hidden = hidden
            .map(|one| &one.key)
            .find(|key| keys.contains(&key.as_str()));
        hidden.map_or(Ok(()), |key| {
            Err(format!(
                "the model {:?}: its parameter {key:?} has the name of a key of all devices; give it another one",
                model.name()
            ))
        })
    }

    /// All models.
    pub fn all(&self) -> &[ForeignModel] {
        &self.0
    }

    /// The default parameters of the model with this name, and the default parameters of the core of its devices.
    pub(super) fn device(&self, name: &str) -> Option<(EndpointParameters, DeviceParameters)> {
        if let Some(model) = LEAVES.iter().find(|model| model.name == name) {
            return Some((EndpointParameters::default(), (model.make)()));
        }
        let model = self.0.iter().find(|model| model.name() == name)?;
        let parameters = DeviceParameters::Foreign(model.parameters());
        Some((model.core(), parameters))
    }

    pub(super) fn names(&self) -> Vec<&str> {
        let built_in = LEAVES.iter().map(|model| model.name);
        let outside = self.0.iter().map(ForeignModel::name);
        built_in.chain(outside).collect()
    }
}
