//! Attributes: information about an object in addition to its properties. An attribute has the name of the file by which the drivers of these cards
//! show it. If the card's own driver and the kernel's driver use different names for a file, the attribute has both names.

use session::{Attribute as Register, Counter, ErrorRegister, Kind, Object, Reply, Request};

use crate::abi::Code;
use crate::state::State;
use crate::token::Token;

#[derive(Debug)]
pub struct Attribute {
    /// The path of the attribute, relative to the object.
    pub path: &'static str,
    source: Source,
    access: Access,
    /// Whether the attribute counts as an error of the object. It is false for the second name of an error.
    is_error: bool,
    /// The number of the port to which the attribute belongs, if it belongs to a port. A device that has no port of this number does not have the
    /// attribute.
    port: Option<u8>,
}

#[derive(Debug)]
enum Source {
    Text(fn(&Object) -> String),
    Register(Register),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    /// A write of the value that was read clears the register.
    Clear,
    /// A write of ones clears errors. The attribute cannot be read.
    ClearOnly,
    /// A write injects errors.
    Inject,
    /// A number that software can write.
    Set,
}

use Access::{Clear, ClearOnly, Inject, Read, Set};
use ErrorRegister::{
    Fatal, FirstManagement, FirstPort, Injected, Link, MalformedRequest, Management,
    NextManagement, Nonfatal, Port, SecondLink,
};

/// The bits of errors that software can inject.
const INJECTABLE: u64 = 7;

const fn text(path: &'static str, text: fn(&Object) -> String) -> Attribute {
    Attribute {
        path,
        source: Source::Text(text),
        access: Read,
        is_error: false,
        port: None,
    }
}

const fn register(path: &'static str, register: Register, access: Access) -> Attribute {
    Attribute {
        path,
        source: Source::Register(register),
        access,
        is_error: false,
        port: None,
    }
}

const fn error(path: &'static str, register: ErrorRegister, access: Access) -> Attribute {
    Attribute {
        is_error: true,
        ..other_name(path, register, access)
    }
}

const fn other_name(path: &'static str, register: ErrorRegister, access: Access) -> Attribute {
    self::register(path, Register::Error(register), access)
}

/// The performance counters in the directory of a port or of all ports, and the attribute that enables them.
macro_rules! counters {
    ($folder:literal, $port:expr) => {
        [
            counters!($folder, "/enable", Register::IsCounting($port), Set, $port),
            counters!($folder, "/pcie0_read", of LinkRead, $port),
            counters!($folder, "/pcie0_write", of LinkWrite, $port),
            counters!($folder, "/mmio_read", of RegisterRead, $port),
            counters!($folder, "/mmio_write", of RegisterWrite, $port),
        ]
    };
    ($folder:literal, $name:literal, of $counter:ident, $port:expr) => {
        counters!($folder, $name, Register::Counter(Counter::$counter, $port), Read, $port)
    };
    ($folder:literal, $name:literal, $register:expr, $access:expr, $port:expr) => {
        Attribute {
            port: $port,
            ..register(concat!($folder, $name), $register, $access)
        }
    };
}

static DEVICE: [Attribute; 23] = [
    text("bitstream_id", |object| {
        format!("{:#x}", object.bitstream_id)
    }),
    // The metadata attributes do not exist, because they would contain the date and the seed of a synthesis, which a simulated card does not have.
    // The card also has no cache, and no versions of an FPGA fabric.
    text("bitstream_metadata", |_| "0x0".to_owned()),
    text("cache_size", |_| "0".to_owned()),
    text("fabric_version", |_| "0".to_owned()),
    text("ports_num", |object| object.slots.to_string()),
    text("socket_id", |object| object.socket.to_string()),
    text("pr/interface_id", |object| digits(&object.guid)),
    error("errors/fme-errors/errors", Management, Clear),
    error("errors/fme-errors/first_error", FirstManagement, Read),
    error("errors/fme-errors/next_error", NextManagement, Read),
    error("errors/pcie0_errors", Link, Clear),
    error("errors/pcie1_errors", SecondLink, Clear),
    error("errors/nonfatal_errors", Nonfatal, Read),
    error("errors/catfatal_errors", Fatal, Read),
    error("errors/inject_error", Injected, Inject),
    other_name("errors/fme-errors/clear", Management, ClearOnly),
    other_name("errors/fme_errors", Management, Clear),
    other_name("errors/first_error", FirstManagement, Read),
    other_name("errors/next_error", NextManagement, Read),
    other_name("errors/inject_errors", Injected, Inject),
    text("dperf/revision", |_| "0".to_owned()),
    register("dperf/clock", Register::ClockCounter, Read),
    register("dperf/fabric/freeze", Register::IsFrozen, Set),
];

/// The performance counters of a device: of all ports together, and of each port.
static COUNTERS: [[Attribute; 5]; 5] = [
    counters!("dperf/fabric", None),
    counters!("dperf/fabric/port0", Some(0)),
    counters!("dperf/fabric/port1", Some(1)),
    counters!("dperf/fabric/port2", Some(2)),
    counters!("dperf/fabric/port3", Some(3)),
];

static ACCELERATOR: [Attribute; 7] = [
    text("afu_id", |object| digits(&object.guid)),
    text("id", |object| object.slot.to_string()),
    register("dfl_dev.0/userclk/frequency", Register::UserClock, Read),
    error("errors/errors", Port, Clear),
    error("errors/first_error", FirstPort, Read),
    error("errors/first_malformed_req", MalformedRequest, Read),
    other_name("errors/clear", Port, ClearOnly),
];

/// The attributes of an object of this kind; a device has `slots` slots.
pub fn attributes(kind: Kind, slots: u32) -> impl Iterator<Item = &'static Attribute> {
    let all: [&[Attribute]; 2] = match kind {
        Kind::Device => [&DEVICE, COUNTERS.as_flattened()],
        Kind::Accelerator => [&ACCELERATOR, &[]],
    };
    all.into_iter()
        .flatten()
        .filter(move |one| one.port.is_none_or(|port| u32::from(port) < slots))
}

/// The attributes of a device that are its metrics, in the order of their numbers: its clock, and the counters of all ports.
pub fn metrics() -> impl Iterator<Item = &'static Attribute> {
    let is_metric = |one: &&Attribute| {
        matches!(
            one.source,
            Source::Register(Register::ClockCounter | Register::Counter(_, None))
        )
    };
    attributes(Kind::Device, 0).filter(is_metric)
}

/// The errors of an object of this kind, in the order of their numbers.
pub fn errors(kind: Kind) -> impl Iterator<Item = &'static Attribute> {
    attributes(kind, 0).filter(|attribute| attribute.is_error)
}

/// The hexadecimal digits of a UUID, without separators.
fn digits(guid: &[u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(*guid))
}

impl Attribute {
    /// The name of the attribute: the last part of its path.
    pub fn name(&self) -> &'static str {
        self.path.rsplit('/').next().unwrap_or(self.path)
    }

    /// Whether the attribute can be cleared.
    pub fn can_clear(&self) -> bool {
        self.access != Read
    }
}

impl State {
    /// The current text of an attribute's file.
    pub fn text_of(&mut self, token: Token, attribute: &Attribute) -> Result<String, Code> {
        if attribute.access == ClearOnly {
            return Ok(String::new());
        }
        match attribute.source {
            Source::Text(text) => {
                let (objects, place) = self.object(token)?;
                Ok(text(&objects[place]) + "\n")
            }
            Source::Register(register) => {
                let value = self.value(token, attribute)?;
                Ok(match register {
                    Register::IsFrozen | Register::IsCounting(_) => format!("{value}\n"),
                    // The text of this attribute has the lower and the higher clock, in kHz.
                    Register::UserClock => format!("{} {}\n", value / 2000, value / 1000),
                    _ => format!("{value:#x}\n"),
                })
            }
        }
    }

    /// The current value of an attribute that is a register.
    pub fn value(&mut self, token: Token, attribute: &Attribute) -> Result<u64, Code> {
        let Source::Register(register) = attribute.source else {
            return Err(Code::NotSupported);
        };
        self.load_attribute(token, register)
    }

    /// The current value of a register.
    pub fn load_attribute(&mut self, token: Token, attribute: Register) -> Result<u64, Code> {
        let object = self.object(token)?.1 as u32;
        match self.call(Request::LoadAttribute { object, attribute }, None)? {
            Reply::Value(value) => Ok(value),
            _ => Err(Code::Exception),
        }
    }

    /// Clears all errors in an error register.
    pub fn clear_error(&mut self, token: Token, attribute: &Attribute) -> Result<(), Code> {
        let value = match attribute.access {
            Read | Set => return Err(Code::NotSupported),
            Inject => 0,
            Clear | ClearOnly => self.value(token, attribute)?,
        };
        self.store_register(token, attribute, value)
    }

    /// Writes to the file of an attribute. As in the driver, a write clears errors only if it writes exactly the recorded errors.
    pub fn write(&mut self, token: Token, attribute: &Attribute, value: u64) -> Result<(), Code> {
        let is_right = match attribute.access {
            Read => false,
            Inject => value & !INJECTABLE == 0,
            Clear | ClearOnly => self.value(token, attribute)? == value,
            Set => true,
        };
        if !is_right {
            return Err(Code::Exception);
        }
        let stored = self.store_register(token, attribute, value);
        // If the driver refuses a value, it returns an error of the operating system.
        stored.map_err(|code| match code {
            Code::InvalidParam => Code::Exception,
            code => code,
        })
    }

    fn store_register(
        &mut self,
        token: Token,
        attribute: &Attribute,
        value: u64,
    ) -> Result<(), Code> {
        let Source::Register(attribute) = attribute.source else {
            return Err(Code::NotSupported);
        };
        let request = Request::StoreAttribute {
            object: self.object(token)?.1 as u32,
            attribute,
            value,
        };
        self.call(request, None).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_names_that_fit_and_no_two_attributes_the_same_path() {
        for kind in [Kind::Device, Kind::Accelerator] {
            let mut paths: Vec<_> = attributes(kind, 4).map(|one| one.path).collect();
            let all = paths.len();
            paths.sort_unstable();
            paths.dedup();
            assert_eq!(paths.len(), all);
            let mut names: Vec<_> = errors(kind).map(Attribute::name).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all);
        }
    }
}
