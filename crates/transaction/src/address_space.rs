//! The address spaces to which the addresses of requests belong.

use protocol::{FunctionId, Header, Pasid};

/// The address space of a request: the address space of the function that sends the request, or of a process on whose behalf the function
/// sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressSpace {
    /// The function.
    pub function: FunctionId,
    /// The process. The permissions that a request needs are not part of it.
    pub pasid: Option<Pasid>,
}

impl AddressSpace {
    /// The address space of a request of `function` with this header.
    pub fn of(function: FunctionId, header: &Header) -> Self {
        let pasid = header.pasid.map(|pasid| pasid.requesting(false, false));
        AddressSpace { function, pasid }
    }

    /// A number by which a cache chooses a set for the address space. It differs between the address spaces of one function, and between
    /// most address spaces of different functions.
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
