//! The virtual functions of an endpoint: their addresses, their memory, and the permissions that their registers give.
//!
//! The registers of the physical function determine payload size, read request size and tags.

use protocol::{ConfigSpace, FunctionId, Header, Kind, MemoryRequest, MessageRouting};
use transaction::{FunctionPlace, Memory, RequestControl, Requester};

use super::Endpoint;
use crate::EndpointParameters;

/// The memory behind BAR 0 of all virtual functions, one function after the other.
#[derive(Clone, Debug)]
pub(super) struct VirtualMemory {
    memory: Memory,
    /// Bytes of memory of each function.
    size: u64,
    /// Number of functions that answer memory requests now.
    functions: u64,
    /// Address of the first function's BAR 0.
    base: u64,
    /// Distance in bytes between the BARs 0 of two successive functions.
    share: u64,
}

impl VirtualMemory {
    pub(super) fn of(parameters: &EndpointParameters) -> Option<Box<Self>> {
        let size = parameters.virtual_bar()?.size;
        Some(Box::new(Self {
            memory: Memory::new(parameters.virtual_bytes()),
            size,
            functions: 0,
            base: 0,
            share: size,
        }))
    }

    pub(super) fn apply_registers(&mut self, physical: &ConfigSpace) {
        self.functions = 0;
        if let Some(bar) = physical.virtual_bar(0)
            && physical.virtual_memory_enable()
        {
            self.functions = physical.virtual_functions() as u64;
            (self.base, self.share) = (bar.base, bar.share);
        }
    }

    /// The virtual function that answers at `address`, and the offset in its BAR 0.
    fn locate(&self, address: u64) -> Option<(usize, u64)> {
        let distance = address.checked_sub(self.base)?;
        let number = distance / self.share;
        (number < self.functions).then_some((number as usize, distance % self.share))
    }

    /// The memory of all functions, if the BAR of a function contains the whole request. The address is the one at which the memory must begin
    /// so that the request finds the bytes of its function.
    pub(super) fn for_request(&self, request: &MemoryRequest) -> Option<(&Memory, u64)> {
        let base = self.base_for(request)?;
        Some((&self.memory, base))
    }

    /// The memory that [`for_request`](Self::for_request) returns, mutable.
    pub(super) fn for_request_mut(
        &mut self,
        request: &MemoryRequest,
    ) -> Option<(&mut Memory, u64)> {
        let base = self.base_for(request)?;
        Some((&mut self.memory, base))
    }

    /// The address at which the memory of all functions must begin so that the request finds the bytes of its function; none if no BAR contains
    /// the whole request.
    fn base_for(&self, request: &MemoryRequest) -> Option<u64> {
        let first = request.first_byte();
        let (number, offset) = self.locate(first)?;
        let held = offset + u64::from(request.byte_len()) <= self.size;
        held.then(|| first - (self.size * number as u64 + offset))
    }
}

impl Endpoint {
    /// The function with a BAR 0 that answers at `address` now, and the offset in this BAR.
    pub fn function_of(&self, address: u64) -> Option<(FunctionPlace, u64)> {
        if let Some((number, offset)) = self.locate(address) {
            return Some((FunctionPlace::Virtual(number), offset));
        }
        let offset = address.checked_sub(self.bars[0])?;
        self.bar
            .holds(offset, 1)
            .then_some((FunctionPlace::Own, offset))
    }

    /// Size of BAR 0 of each virtual function.
    pub(crate) fn virtual_size(&self) -> u64 {
        let behind = self.virtual_memory.as_ref();
        behind.map_or(0, |behind| behind.size)
    }

    /// The ID of the function at `place`.
    pub fn id_of(&self, place: FunctionPlace) -> FunctionId {
        self.functions.id_of(place)
    }

    /// Whether the function at `place` exists and may send memory requests; if not, it keeps its requests.
    pub fn is_bus_master_at(&self, place: FunctionPlace) -> bool {
        self.space_of(place)
            .is_some_and(ConfigSpace::bus_master_enable)
    }

    /// Whether the function at `place` exists and may send atomic operation requests; if not, it keeps its requests. `AtomicOp` Requester Enable
    /// of the physical function applies to its virtual functions too (PCIe Base 9.3.5).
    pub fn is_atomic_requester_at(&self, place: FunctionPlace) -> bool {
        let space = self.functions.space(FunctionPlace::Own);
        self.is_bus_master_at(place) && space.atomic_requester_enable()
    }

    /// Address and data of the memory write that signals interrupt `vector` of the function at `place`. None if the function does not exist, its
    /// MSI is disabled, or it has no such vector.
    pub fn msi_of(&self, place: FunctionPlace, vector: u8) -> Option<(u64, u32)> {
        self.space_of(place)?.msi(vector)
    }

    /// Applies the registers of the function at `place` to a requester.
    pub fn configure_requester_of(&self, place: FunctionPlace, requester: &mut Requester) {
        let sizes = (self.write_payload(), self.max_read_request());
        let (requests, may) = (
            self.requests_allowed_at(place),
            self.is_bus_master_at(place),
        );
        requester.configure(self.id_of(place), sizes, requests, may);
    }

    /// The tag count and the completion timeout that the registers allow the function at `place`. Virtual functions have the completion
    /// timeout of their physical function.
    pub(crate) fn requests_allowed_at(&self, place: FunctionPlace) -> RequestControl {
        let mut requests = self.requests_allowed();
        if let FunctionPlace::Virtual(_) = place {
            requests.tags = requests.tags.min(EIGHT_BIT_TAGS);
        }
        requests
    }

    pub(super) fn space_of(&self, place: FunctionPlace) -> Option<&ConfigSpace> {
        let there = self.functions.places().any(|one| one == place);
        there.then(|| self.functions.space(place))
    }

    /// The target function of a packet: the function at the address of a memory request, the requester of a completion, or the target of a
    /// message.
    pub(super) fn addressee(&self, header: &Header) -> FunctionPlace {
        let found = match &header.kind {
            Kind::MemoryRead(request) | Kind::MemoryWrite(request) => self
                .locate(request.first_byte())
                .map(|(number, _)| FunctionPlace::Virtual(number)),
            Kind::Completion(completion) => self.functions.place_of(completion.requester),
            Kind::Message(request) => match request.message.routing() {
                MessageRouting::ById(target) => self.functions.place_of(target),
                MessageRouting::ToRoot | MessageRouting::Local => None,
            },
            _ => None,
        };
        found.unwrap_or(FunctionPlace::Own)
    }

    /// Whether the BAR 0 that contains the first byte of a request contains the whole request.
    pub(super) fn holds(&self, request: &MemoryRequest) -> bool {
        let first = request.first_byte();
        if let Some(behind) = &self.virtual_memory
            && behind.locate(first).is_some()
        {
            return behind.base_for(request).is_some();
        }
        self.offset_in(0, self.bar_size, request).is_some()
    }

    /// Whether a packet is for the physical function, and may be served.
    pub(crate) fn is_own(&self, header: &Header) -> bool {
        self.addressee(header) == FunctionPlace::Own && self.verdict(header).is_ok()
    }

    /// Writes `bytes` to the memory behind BAR 0 of the function at `place`; they must fit at `offset`.
    pub fn store(&mut self, place: FunctionPlace, offset: u64, bytes: &[u8]) {
        match (place, &mut self.virtual_memory) {
            (FunctionPlace::Virtual(number), Some(behind)) => {
                let start = behind.size * number as u64;
                behind.memory.write(start + offset, bytes);
            }
            _ => self.bar.write(offset, bytes),
        }
    }

    /// The memory of all virtual functions, mutable, to be filled before a run, and the offset of function `number` in it.
    pub fn virtual_memory_mut(&mut self, number: usize) -> Option<(&mut Memory, u64)> {
        let behind = self.virtual_memory.as_mut()?;
        let start = behind.size * number as u64;
        Some((&mut behind.memory, start))
    }

    fn locate(&self, address: u64) -> Option<(usize, u64)> {
        self.virtual_memory.as_ref()?.locate(address)
    }
}

/// Virtual functions do not support 10-bit tags.
const EIGHT_BIT_TAGS: u16 = 256;

#[cfg(test)]
pub(crate) mod tests;
