//! The declaration of a model: identity, BARs, interrupts and parameters.

use std::fmt;

/// The declaration of a device model. It cannot change, and must exist before any device of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The function of the device, in one sentence.
    pub help: String,
    /// Vendor ID.
    pub vendor: u16,
    /// Device ID.
    pub device: u16,
    /// Revision ID.
    pub revision: u8,
    /// Class code: base class, sub-class and programming interface, 24 bits.
    pub class: u32,
    /// The BARs of the physical function.
    pub bars: Vec<Bar>,
    /// Number of MSI-X vectors of each function. The MSI-X table is in a BAR that contains nothing else.
    pub vectors: u16,
    /// Most outstanding reads and atomic operations of each function, 1 to 768.
    pub tags: u16,
    /// Most virtual functions (SR-IOV) that a device of the model can have.
    pub virtual_functions: u8,
    /// The parameters that a scenario can set.
    pub parameters: Vec<Parameter>,
}

impl Default for Description {
    /// The default declaration: a processing accelerator of no vendor, without BARs, interrupts and parameters.
    fn default() -> Self {
        Description {
            help: "A device model of one's own.".to_owned(),
            vendor: 0xfff0,
            device: 1,
            revision: 0,
            class: 0x12_0000,
            bars: Vec::new(),
            vectors: 0,
            tags: 32,
            virtual_functions: 0,
            parameters: Vec::new(),
        }
    }
}

/// A memory BAR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bar {
    /// The number of the BAR, 0 to 5.
    pub index: u8,
    /// The size in bytes: a power of two, at least 128.
    pub size: u64,
    /// Whether the address has 64 bits. If so, the BAR also occupies the next number.
    pub wide: bool,
}

impl Bar {
    /// A BAR with an address of 32 bits.
    pub const fn new(index: u8, size: u64) -> Self {
        Bar {
            index,
            size,
            wide: false,
        }
    }

    /// A BAR with an address of 64 bits.
    pub const fn wide(index: u8, size: u64) -> Self {
        Bar {
            index,
            size,
            wide: true,
        }
    }

    /// The BAR numbers that the BAR occupies.
    fn numbers(self) -> std::ops::Range<u8> {
        self.index..self.index.saturating_add(1 + u8::from(self.wide))
    }
}

/// A parameter of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The name of the parameter in scenarios, such as `queue_depth`.
    pub key: String,
    /// The value if a scenario sets none. It also determines the type of all values.
    pub default: Setting,
    /// The meaning of the parameter, in one or two sentences.
    pub help: String,
    /// The source of the default.
    pub source: String,
    /// The least and the greatest possible value; none if there are no limits.
    pub within: Option<(Setting, Setting)>,
}

impl Parameter {
    /// A parameter without limits; its values have the type of `default`.
    pub fn new(key: &str, default: Setting, help: &str) -> Self {
        Parameter {
            key: key.to_owned(),
            default,
            help: help.to_owned(),
            source: "the model's author".to_owned(),
            within: None,
        }
    }

    /// Returns the parameter with limits: its values are from `least` to `most`.
    #[must_use]
    pub fn within(self, least: Setting, most: Setting) -> Self {
        Parameter {
            within: Some((least, most)),
            ..self
        }
    }

    /// Returns the parameter with `source` as the source of its default.
    #[must_use]
    pub fn from(self, source: &str) -> Self {
        Parameter {
            source: source.to_owned(),
            ..self
        }
    }
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub enum Setting {
    /// A whole number.
    Integer(u64),
    /// A floating-point number.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// A text.
    Text(String),
    /// A number of bytes, such as "4 KiB" in a scenario.
    Bytes(u64),
    /// A time in femtoseconds, such as "150 ns" in a scenario.
    Time(u64),
    /// Bytes per second, such as "2 GB/s" in a scenario.
    Bandwidth(u64),
    /// Cycles per second, such as "250 MHz" in a scenario.
    Frequency(u64),
}

impl Setting {
    /// Whether two values are of the same type.
    pub fn is_like(&self, other: &Setting) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// The values of all parameters of one device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings(Vec<(String, Setting)>);

impl Settings {
    /// The settings with these values, in the order of declaration.
    pub fn new(values: Vec<(String, Setting)>) -> Self {
        Settings(values)
    }

    /// The settings with the default values of a model.
    pub fn defaults(description: &Description) -> Self {
        let parameters = description.parameters.iter();
        Settings(
            parameters
                .map(|one| (one.key.clone(), one.default.clone()))
                .collect(),
        )
    }

    /// Sets the value of the parameter `key`. Panics if the model has no such parameter.
    #[must_use]
    #[track_caller]
    pub fn with(mut self, key: &str, value: Setting) -> Self {
        *self.find_mut(key) = value;
        self
    }

    /// All names and values, in the order of declaration.
    pub fn all(&self) -> &[(String, Setting)] {
        &self.0
    }

    /// The value of the parameter `key`. Panics if the model has no such parameter.
    #[track_caller]
    pub fn get(&self, key: &str) -> &Setting {
        let found = self.0.iter().find(|(name, _)| name == key);
        // A `match` and not a closure, so that the panic's message has the line of the caller.
        match found {
            Some((_, value)) => value,
            None => panic!("the model has no parameter {key:?}"),
        }
    }

    /// The value of `key` as a whole number: an integer, bytes, femtoseconds, bytes per second or cycles per second. Panics if the parameter has
    /// another type.
    #[track_caller]
    pub fn integer(&self, key: &str) -> u64 {
        match self.get(key) {
            Setting::Integer(value)
            | Setting::Bytes(value)
            | Setting::Time(value)
            | Setting::Bandwidth(value)
            | Setting::Frequency(value) => *value,
            other => panic!("the parameter {key:?} is {other:?}, not a whole number"),
        }
    }

    /// The value of `key` as a floating-point number. Panics if the parameter has another type.
    #[track_caller]
    pub fn number(&self, key: &str) -> f64 {
        match self.get(key) {
            Setting::Number(value) => *value,
            other => panic!("the parameter {key:?} is {other:?}, not a number with a fraction"),
        }
    }

    /// The value of `key` as true or false. Panics if the parameter has another type.
    #[track_caller]
    pub fn flag(&self, key: &str) -> bool {
        match self.get(key) {
            Setting::Flag(value) => *value,
            other => panic!("the parameter {key:?} is {other:?}, not a flag"),
        }
    }

    /// The value of `key` as a text. Panics if the parameter has another type.
    #[track_caller]
    pub fn text(&self, key: &str) -> &str {
        match self.get(key) {
            Setting::Text(value) => value,
            other => panic!("the parameter {key:?} is {other:?}, not a text"),
        }
    }

    #[track_caller]
    fn find_mut(&mut self, key: &str) -> &mut Setting {
        let found = self.0.iter_mut().find(|(name, _)| name == key);
        match found {
            Some((_, value)) => value,
            None => panic!("the model has no parameter {key:?}"),
        }
    }
}

/// An error in a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(String);

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

impl Description {
    /// Checks that a device with this description is possible. The error says what to write instead.
    pub fn check(&self) -> Result<(), Fault> {
        let fault = self.fault_of_bars().or_else(|| self.fault_of_numbers());
        let fault = fault.or_else(|| self.fault_of_parameters());
        fault.map_or(Ok(()), |fault| Err(Fault(fault)))
    }

    /// The number of the BAR for the MSI-X table: 4 if it is free, otherwise another free number from 1 to 5. None if none of these is free.
    pub fn vector_bar(&self) -> Option<u8> {
        let is_free = |number: &u8| !self.bars.iter().any(|bar| bar.numbers().contains(number));
        [4, 5, 3, 2, 1].into_iter().find(is_free)
    }

    fn fault_of_bars(&self) -> Option<String> {
        let mut taken: Vec<u8> = Vec::new();
        for bar in &self.bars {
            if bar.numbers().end > BARS {
                let most = BARS - 1 - u8::from(bar.wide);
                return Some(format!(
                    "there is no BAR {}; write 0 to {most}",
                    display(bar)
                ));
            }
            if !bar.size.is_power_of_two() || bar.size < SMALLEST_BAR {
                return Some(format!(
                    "BAR {} has {} bytes; write a power of two, {SMALLEST_BAR} at least",
                    bar.index, bar.size
                ));
            }
            if bar.size > LARGEST_NARROW_BAR && !bar.wide {
                return Some(format!(
                    "BAR {} of 32 bits has {} bytes; write {LARGEST_NARROW_BAR} (2 GiB) at most, or declare a BAR of 64 bits",
                    bar.index, bar.size
                ));
            }
            if let Some(number) = bar.numbers().find(|number| taken.contains(number)) {
                return Some(format!(
                    "BAR {number} is declared twice; give each BAR its own number, and leave the number after a BAR of 64 bits free"
                ));
            }
            taken.extend(bar.numbers());
        }
        let needs_bar = self.vectors > 0 && self.vector_bar().is_none();
        needs_bar.then(|| "no BAR is left for the MSI-X table; leave one of 1 to 5 free".to_owned())
    }

    fn fault_of_numbers(&self) -> Option<String> {
        if self.vendor == NO_VENDOR {
            return Some(
                "the vendor ID 0xffff says that no function is there; write one up to 0xfffe"
                    .to_owned(),
            );
        }
        if self.vectors > MOST_VECTORS {
            return Some(format!(
                "{} MSI-X vectors are too many; write 0 to {MOST_VECTORS}",
                self.vectors
            ));
        }
        if !(1..=MOST_TAGS).contains(&self.tags) {
            return Some(format!(
                "{} tags are not possible; write 1 to {MOST_TAGS}",
                self.tags
            ));
        }
        (self.class > MOST_CLASS).then(|| {
            format!(
                "the class code {:#x} has more than 24 bits; write base class, sub-class and interface, such as 0x120000",
                self.class
            )
        })
    }

    fn fault_of_parameters(&self) -> Option<String> {
        for (number, one) in self.parameters.iter().enumerate() {
            let key = &one.key;
            let is_name = key.starts_with(|sign: char| sign.is_ascii_lowercase())
                && key
                    .chars()
                    .all(|sign| sign == '_' || sign.is_ascii_lowercase() || sign.is_ascii_digit());
            if !is_name {
                return Some(format!(
                    "{key:?} is no name of a parameter; write a small letter, then small letters, digits and _"
                ));
            }
            if self.parameters[..number]
                .iter()
                .any(|other| other.key == *key)
            {
                return Some(format!(
                    "the parameter {key} is declared twice; remove or rename one of them"
                ));
            }
            if let Some((least, most)) = &one.within {
                if !least.is_like(&one.default) || !most.is_like(&one.default) {
                    return Some(format!(
                        "the limits of the parameter {key} do not have the type of its default; write limits of that type"
                    ));
                }
                if one.default < *least || one.default > *most {
                    return Some(format!(
                        "the default of the parameter {key} is not within its limits; write a default within them, or wider limits"
                    ));
                }
            }
        }
        None
    }
}

fn display(bar: &Bar) -> String {
    if bar.wide {
        format!("{} of 64 bits", bar.index)
    } else {
        bar.index.to_string()
    }
}

/// The number of BARs of a function (PCIe Base 7.5.1.2.1).
const BARS: u8 = 6;

/// The smallest memory BAR of a device (PCIe Base 7.5.1.2.1).
const SMALLEST_BAR: u64 = 128;

/// The largest BAR of 32 bits (PCIe Base 7.5.1.2.1).
const LARGEST_NARROW_BAR: u64 = 2 << 30;

/// The largest MSI-X table (PCIe Base 7.7.2.2).
const MOST_VECTORS: u16 = 2048;

/// The number of 10-bit tags (PCIe Base 2.2.6.2).
const MOST_TAGS: u16 = 768;

/// The vendor ID that no device has, because a read of an absent function returns it (PCIe Base 7.5.1.1.1).
const NO_VENDOR: u16 = 0xffff;

const MOST_CLASS: u32 = 0xff_ffff;
