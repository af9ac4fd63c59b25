//! A configuration access as software means it, before it is a packet.

use protocol::{ConfigKind, ConfigRequest, FunctionId, Tag};

/// An access to a configuration space. A read that nobody answers gives all ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigAccess {
    /// The function.
    pub target: FunctionId,
    /// The dword, 0..=1023.
    pub register: u16,
    /// What is done with it.
    pub action: Action,
}

/// What is done with a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is read.
    Read,
    /// Those bytes of it are written that `enables` names, bit 0 the lowest. The answer means nothing.
    Write {
        /// All four bytes.
        value: u32,
        /// Byte enables.
        enables: u8,
    },
}

impl ConfigAccess {
    /// The request that a root complex makes of it.
    pub fn request(&self, requester: FunctionId, tag: Tag) -> ConfigRequest {
        let first_be = match self.action {
            Action::Read => 0b1111,
            Action::Write { enables, .. } => enables,
        };
        ConfigRequest {
            requester,
            tag,
            target: self.target,
            register: self.register,
            first_be,
            kind: ConfigKind::Type1,
        }
    }
}
