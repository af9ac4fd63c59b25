//! The address spaces that requests have their addresses in.

use protocol::{FunctionId, Header, Pasid};

/// The address space of a request: that of the function that sends it, or that of a process which the function works for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressSpace {
    /// The function.
    pub function: FunctionId,
    /// The process, without the permissions that a request needs.
    pub pasid: Option<Pasid>,
}

impl AddressSpace {
    /// The address space of a request of `function` with this header.
    pub fn of(function: FunctionId, header: &Header) -> Self {
        let pasid = header.pasid.map(|pasid| pasid.requesting(false, false));
        AddressSpace { function, pasid }
    }

    /// A number that differs between the address spaces of a function, and between functions.
    pub(crate) fn number(self) -> u64 {
        let process = self.pasid.map_or(0, |pasid| u64::from(pasid.number()) + 1);
        u64::from(self.function.0).wrapping_add(process)
    }
}

impl From<FunctionId> for AddressSpace {
    fn from(function: FunctionId) -> Self {
        AddressSpace {
            function,
            pasid: None,
        }
    }
}
