//! Configuration accesses by software, independent of packets.

use protocol::{ConfigKind, ConfigRequest, FunctionId, Tag};

/// An access to a configuration space. A read without a completion returns all ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigAccess {
    /// The function.
    pub target: FunctionId,
    /// The number of the dword register, 0..=1023.
    pub register: u16,
    /// The operation on the register.
    pub action: Action,
}

/// The operation of a configuration access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Reads the register.
    Read,
    /// Writes the bytes of the register that `enables` selects; bit 0 is the lowest byte. The returned value has no meaning.
    Write {
        /// The value of all four bytes.
        value: u32,
        /// Byte enables.
        enables: u8,
    },
}

impl ConfigAccess {
    /// The configuration request that a root complex sends for this access.
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
