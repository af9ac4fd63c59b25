//! Attributes: information about an object besides its properties. Their names are those of the files in which drivers of such
//! cards show them. Where the card's own driver and the kernel's driver use different names, both exist.

use session::{ErrorRegister, Kind, Object, Reply, Request};

use crate::abi::Code;
use crate::state::State;
use crate::token::Token;

/// An attribute.
#[derive(Debug)]
pub struct Attribute {
    /// The path of the attribute, relative to the object.
    pub path: &'static str,
    source: Source,
    access: Access,
    /// Whether the attribute is one of the object's errors, and not a second name of one.
    is_error: bool,
}

#[derive(Debug)]
enum Source {
    Text(fn(&Object) -> String),
    Register(ErrorRegister),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    /// Writing the value that was read clears it.
    Clear,
    /// Writing ones clears errors; the attribute cannot be read.
    ClearOnly,
    /// Writing injects errors.
    Inject,
}

/// The bits of errors that software can inject.
const INJECTABLE: u64 = 7;

const fn text(path: &'static str, text: fn(&Object) -> String) -> Attribute {
    Attribute {
        path,
        source: Source::Text(text),
        access: Access::Read,
        is_error: false,
    }
}

const fn error(path: &'static str, register: ErrorRegister, access: Access) -> Attribute {
    Attribute {
        path,
        source: Source::Register(register),
        access,
        is_error: true,
    }
}

const fn other_name(path: &'static str, register: ErrorRegister, access: Access) -> Attribute {
    let mut attribute = error(path, register, access);
    attribute.is_error = false;
    attribute
}

static DEVICE: [Attribute; 17] = [
    text("bitstream_id", |object| {
        format!("{:#x}", object.bitstream_id)
    }),
    text("ports_num", |object| object.slots.to_string()),
    text("socket_id", |object| object.socket.to_string()),
    text("pr/interface_id", |object| digits(&object.guid)),
    error(
        "errors/fme-errors/errors",
        ErrorRegister::Management,
        Access::Clear,
    ),
    error(
        "errors/fme-errors/first_error",
        ErrorRegister::FirstManagement,
        Access::Read,
    ),
    error(
        "errors/fme-errors/next_error",
        ErrorRegister::NextManagement,
        Access::Read,
    ),
    error("errors/pcie0_errors", ErrorRegister::Link, Access::Clear),
    error(
        "errors/pcie1_errors",
        ErrorRegister::SecondLink,
        Access::Clear,
    ),
    error(
        "errors/nonfatal_errors",
        ErrorRegister::Nonfatal,
        Access::Read,
    ),
    error("errors/catfatal_errors", ErrorRegister::Fatal, Access::Read),
    error(
        "errors/inject_error",
        ErrorRegister::Injected,
        Access::Inject,
    ),
    other_name(
        "errors/fme-errors/clear",
        ErrorRegister::Management,
        Access::ClearOnly,
    ),
    other_name(
        "errors/fme_errors",
        ErrorRegister::Management,
        Access::Clear,
    ),
    other_name(
        "errors/first_error",
        ErrorRegister::FirstManagement,
        Access::Read,
    ),
    other_name(
        "errors/next_error",
        ErrorRegister::NextManagement,
        Access::Read,
    ),
    other_name(
        "errors/inject_errors",
        ErrorRegister::Injected,
        Access::Inject,
    ),
];

static ACCELERATOR: [Attribute; 6] = [
    text("afu_id", |object| digits(&object.guid)),
    text("id", |_| "0".to_owned()),
    error("errors/errors", ErrorRegister::Port, Access::Clear),
    error("errors/first_error", ErrorRegister::FirstPort, Access::Read),
    error(
        "errors/first_malformed_req",
        ErrorRegister::MalformedRequest,
        Access::Read,
    ),
    other_name("errors/clear", ErrorRegister::Port, Access::ClearOnly),
];

/// The attributes of an object of this kind.
pub fn attributes(kind: Kind) -> &'static [Attribute] {
    match kind {
        Kind::Device => &DEVICE,
        Kind::Accelerator => &ACCELERATOR,
    }
}

/// The errors of an object of this kind, in the order of their numbers.
pub fn errors(kind: Kind) -> impl Iterator<Item = &'static Attribute> {
    attributes(kind)
        .iter()
        .filter(|attribute| attribute.is_error)
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
        self.access != Access::Read
    }
}

impl State {
    /// The current text of an attribute's file.
    pub fn text_of(&mut self, token: Token, attribute: &Attribute) -> Result<String, Code> {
        if attribute.access == Access::ClearOnly {
            return Ok(String::new());
        }
        match attribute.source {
            Source::Text(text) => {
                let (objects, place) = self.object(token)?;
                Ok(text(&objects[place]) + "\n")
            }
            Source::Register(_) => Ok(format!("{:#x}\n", self.error(token, attribute)?)),
        }
    }

    /// The current value of an error register.
    pub fn error(&mut self, token: Token, attribute: &Attribute) -> Result<u64, Code> {
        let (object, register) = self.error_register(token, attribute)?;
        match self.call(Request::LoadErrors { object, register }, None)? {
            Reply::Value(value) => Ok(value),
            _ => Err(Code::Exception),
        }
    }

    /// Clears all errors in an error register.
    pub fn clear_error(&mut self, token: Token, attribute: &Attribute) -> Result<(), Code> {
        let value = match attribute.access {
            Access::Read => return Err(Code::NotSupported),
            Access::Inject => 0,
            Access::Clear | Access::ClearOnly => self.error(token, attribute)?,
        };
        self.store_errors(token, attribute, value)
    }

    /// Writes to the file of an attribute. As with the driver, only the recorded errors can be cleared.
    pub fn write(&mut self, token: Token, attribute: &Attribute, value: u64) -> Result<(), Code> {
        let is_right = match attribute.access {
            Access::Read => false,
            Access::Inject => value & !INJECTABLE == 0,
            Access::Clear | Access::ClearOnly => self.error(token, attribute)? == value,
        };
        if !is_right {
            return Err(Code::Exception);
        }
        self.store_errors(token, attribute, value)
    }

    fn store_errors(
        &mut self,
        token: Token,
        attribute: &Attribute,
        value: u64,
    ) -> Result<(), Code> {
        let (object, register) = self.error_register(token, attribute)?;
        let request = Request::StoreErrors {
            object,
            register,
            value,
        };
        self.call(request, None).map(drop)
    }

    fn error_register(
        &mut self,
        token: Token,
        attribute: &Attribute,
    ) -> Result<(u32, ErrorRegister), Code> {
        let Source::Register(register) = attribute.source else {
            return Err(Code::NotSupported);
        };
        let (_, place) = self.object(token)?;
        Ok((place as u32, register))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_names_that_fit_and_no_two_attributes_the_same_path() {
        for kind in [Kind::Device, Kind::Accelerator] {
            let mut paths: Vec<_> = attributes(kind).iter().map(|one| one.path).collect();
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
