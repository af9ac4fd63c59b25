//! The declaration of a model from outside, as parameters of scenarios, and its maker. Both exist before any device of the model.

use std::fmt;
use std::sync::Arc;

use kernel::{
    Bandwidth, Bytes, Declaration, Frequency, Kind, Lift, Parameters, Quantity, Span, Value,
};
use peerlane_device::{Description, Model, Setting, Settings};
use protocol::{Bar, Identity};

use super::Behaviour;
use crate::{EndpointParameters, LeafParameters, Properties};

/// Makes the models for devices of one kind.
pub trait Maker: Send + Sync {
    /// Makes the model for the device with this name and these parameter values. Returns the reason if that fails.
    fn make(&self, device: &str, settings: &Settings) -> Result<Box<dyn Model>, String>;
}

/// A model from outside, with its name in scenarios.
///
/// The texts of its declaration exist until the process ends, as the code of a library does.
#[derive(Clone)]
pub struct ForeignModel(Arc<Content>);

struct Content {
    name: &'static str,
    help: &'static str,
    description: Description,
    keys: &'static [&'static str],
    declarations: Vec<Declaration>,
    maker: Box<dyn Maker>,
}

impl ForeignModel {
    /// Creates a model with the name `name` in scenarios. Fails if no device can have this description.
    pub fn new(
        name: &str,
        description: Description,
        maker: Box<dyn Maker>,
    ) -> Result<Self, peerlane_device::Fault> {
        description.check()?;
        let declarations: Vec<Declaration> = description
            .parameters
            .iter()
            .map(|one| Declaration {
                key: kept(&one.key),
                kind: kind(&one.default),
                choices: Vec::new(),
                unit: unit(&one.default),
                default: show(&one.default),
                help: kept(&one.help),
                source: kept(&one.source),
                lifts: lift(kind(&one.default)),
                range: &[],
            })
            .collect();
        let keys: Vec<&'static str> = declarations.iter().map(|one| one.key).collect();
        Ok(ForeignModel(Arc::new(Content {
            name: kept(name),
            help: kept(&description.help),
            description,
            keys: keys.leak(),
            declarations,
            maker,
        })))
    }

    /// The name of the model in scenarios.
    pub fn name(&self) -> &'static str {
        self.0.name
    }

    /// The model's help text.
    pub fn help(&self) -> &'static str {
        self.0.help
    }

    /// The declaration of the model.
    pub fn description(&self) -> &Description {
        &self.0.description
    }

    /// The declarations of the model's parameters.
    pub fn declarations(&self) -> Vec<Declaration> {
        self.0.declarations.clone()
    }

    /// The default parameters of a device of the model.
    pub fn parameters(&self) -> ForeignParameters {
        let declared = self.description().parameters.iter();
        ForeignParameters {
            model: self.clone(),
            values: declared.map(|one| one.default.clone()).collect(),
        }
    }

    /// The default parameters of the PCI Express core of the model's devices.
    pub fn core(&self) -> EndpointParameters {
        let mut core = EndpointParameters::default();
        let description = self.description();
        if let Some(bar) = description.vector_bar()
            && description.vectors > 0
        {
            core.msix_vectors = description.vectors.into();
            core.msix_bar = bar.into();
        }
        core
    }

    /// Makes the model for the device with this name and these parameter values. Returns the reason if that fails.
    pub fn make(&self, device: &str, settings: &Settings) -> Result<Box<dyn Model>, String> {
        self.0.maker.make(device, settings)
    }

    pub(super) fn bars(&self) -> impl Iterator<Item = Bar> {
        let bars = self.description().bars.iter();
        bars.map(|bar| Bar {
            index: bar.index,
            size: bar.size,
            wide: bar.wide,
        })
    }
}

impl fmt::Debug for ForeignModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("ForeignModel")
            .field(&self.name())
            .finish()
    }
}

impl PartialEq for ForeignModel {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The parameters of a device with a model from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignParameters {
    model: ForeignModel,
    /// The values of the parameters, in the order of their declarations.
    values: Vec<Setting>,
}

impl ForeignParameters {
    /// The model whose parameters these are.
    pub fn model(&self) -> &ForeignModel {
        &self.model
    }

    fn make(&self, device: &str) -> Result<Box<dyn Model>, String> {
        let keys = self.model.0.keys.iter();
        let named = keys.zip(&self.values);
        let named = named.map(|(key, value)| ((*key).to_owned(), value.clone()));
        self.model.make(device, &Settings::new(named.collect()))
    }
}

impl Parameters for ForeignParameters {
    /// There are no declarations for the type, because each model has its own: [`ForeignModel::declarations`].
    fn declarations() -> Vec<Declaration> {
        Vec::new()
    }

    fn keys(&self) -> &'static [&'static str] {
        self.model.0.keys
    }

    fn set(&mut self, key: &str, value: &Value<'_>) -> Result<bool, String> {
        let Some(place) = self.keys().iter().position(|one| *one == key) else {
            return Ok(false);
        };
        let declared = &self.model.description().parameters[place];
        let read = read_setting(&declared.default, value)?;
        if let Some((least, most)) = &declared.within
            && (read < *least || read > *most)
        {
            return Err(format!(
                "{} is out of range; write a value from {} up to {}",
                show(&read),
                show(least),
                show(most)
            ));
        }
        self.values[place] = read;
        Ok(true)
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        let keys = self.keys().iter();
        keys.zip(&self.values)
            .map(|(key, value)| (*key, show(value)))
            .collect()
    }
}

impl LeafParameters for ForeignParameters {
    fn bars(&self, _: &EndpointParameters, _: Option<Bar>) -> Vec<Bar> {
        self.model.bars().collect()
    }

    fn properties(&self) -> Properties {
        let description = self.model.description();
        Properties {
            tags: description.tags.into(),
            most_virtual_functions: description.virtual_functions.into(),
            // The number of MSI vectors, which is 32 at most. With MSI-X the function has all vectors of the model.
            interrupts: u32::from(description.vectors).min(MOST_MSI),
            identity: Identity {
                vendor: description.vendor,
                device: description.device,
                revision: description.revision,
                class: description.class,
            },
            bar_registers: u64::MAX,
            keeps_registers: true,
            ..Properties::default()
        }
    }
}

impl Behaviour for Box<dyn Model> {
    type Parameters = ForeignParameters;

    fn make(parameters: &ForeignParameters, device: &str) -> Result<Self, String> {
        parameters.make(device)
    }

    fn has_virtual_functions(parameters: &ForeignParameters) -> bool {
        parameters.model.description().virtual_functions > 0
    }
}

/// The most vectors of MSI (PCIe Base 7.7.1.2).
const MOST_MSI: u32 = 32;

fn kept(text: &str) -> &'static str {
    text.to_owned().leak()
}

/// Evaluates `$run`, in which `$value` is the value of a setting. The value has a type with a unit if the setting has a unit.
macro_rules! each {
    ($setting:expr, $value:ident => $run:expr) => {
        match $setting {
            Setting::Integer($value) => $run,
            Setting::Number($value) => $run,
            Setting::Flag($value) => $run,
            Setting::Text($value) => $run,
            Setting::Bytes(value) => {
                let $value = &Bytes(*value);
                $run
            }
            Setting::Time(value) => {
                let $value = &Span::from_fs(*value);
                $run
            }
            Setting::Bandwidth(value) => {
                let $value = &Bandwidth(*value);
                $run
            }
            Setting::Frequency(value) => {
                let $value = &Frequency(*value);
                $run
            }
        }
    };
}

/// A value as it is written in a scenario.
fn show(setting: &Setting) -> String {
    each!(setting, value => value.show())
}

/// The usual unit of a value.
fn unit(setting: &Setting) -> &'static str {
    fn of<Q: Quantity>(_: &Q) -> &'static str {
        Q::UNIT
    }
    each!(setting, value => of(value))
}

fn kind(setting: &Setting) -> Kind {
    fn of<Q: Quantity>(_: &Q) -> Kind {
        Q::KIND
    }
    each!(setting, value => of(value))
}

/// The limit that a parameter of a model from outside may lift. Its model decides when to continue, so each parameter that is a quantity may be
/// the reason why it waits.
fn lift(kind: Kind) -> Option<Lift> {
    let is_quantity = !matches!(kind, Kind::Flag | Kind::Text);
    is_quantity.then_some(Lift::of("software", kind))
}

/// Reads a value of the type of `like`.
pub fn read_setting(like: &Setting, value: &Value<'_>) -> Result<Setting, String> {
    Ok(match like {
        Setting::Integer(_) => Setting::Integer(u64::read(value)?),
        Setting::Number(_) => Setting::Number(f64::read(value)?),
        Setting::Flag(_) => Setting::Flag(bool::read(value)?),
        Setting::Text(_) => Setting::Text(String::read(value)?),
        Setting::Bytes(_) => Setting::Bytes(Bytes::read(value)?.0),
        Setting::Time(_) => Setting::Time(Span::read(value)?.as_fs()),
        Setting::Bandwidth(_) => Setting::Bandwidth(Bandwidth::read(value)?.0),
        Setting::Frequency(_) => Setting::Frequency(Frequency::read(value)?.0),
    })
}
