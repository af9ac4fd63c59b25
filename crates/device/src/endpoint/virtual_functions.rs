//! The virtual functions of an endpoint: where they answer and from which memory, and what each of them may do.
//!
//! Payload size, read request size and tags are those of the physical function.

use kernel::Effects;
use packet::PacketId;
use protocol::{ConfigSpace, FunctionId, Header, Kind, MemoryRequest, MessageRouting};
use transaction::{Memory, Place, Requester, deliver};

use super::{Device, Endpoint};
use crate::EndpointParameters;

/// The bytes behind BAR 0 of all virtual functions, one after the other.
#[derive(Clone, Debug)]
pub(super) struct VirtualMemory {
    memory: Memory,
    /// Bytes of each function.
    size: u64,
    /// How many functions answer.
    functions: u64,
    /// The first address of the first function.
    base: u64,
    /// Bytes from there to that of the next.
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

    /// Takes over what the registers of the physical function say.
    pub(super) fn obey(&mut self, physical: &ConfigSpace) {
        self.functions = 0;
        if let Some(bar) = physical.virtual_bar(0)
            && physical.virtual_memory_enable()
        {
            self.functions = physical.virtual_functions() as u64;
            (self.base, self.share) = (bar.base, bar.share);
        }
    }

    /// The virtual function that answers at `address`, and how far into its BAR 0 that is.
    fn locate(&self, address: u64) -> Option<(usize, u64)> {
        let distance = address.checked_sub(self.base)?;
        let number = distance / self.share;
        (number < self.functions).then_some((number as usize, distance % self.share))
    }

    /// The address at which the memory would begin for the function that `request` is for, if its BAR holds the whole request.
    fn base_for(&self, request: &MemoryRequest) -> Option<u64> {
        let first = request.first_byte();
        let (number, offset) = self.locate(first)?;
        let held = offset + u64::from(request.byte_len()) <= self.size;
        held.then(|| first - (self.size * number as u64 + offset))
    }
}

impl Endpoint {
    /// The function with a BAR 0 that answers at `address` now, and how far into that BAR it is.
    pub fn function_of(&self, address: u64) -> Option<(Place, u64)> {
        if let Some((number, offset)) = self.locate(address) {
            return Some((Place::Virtual(number), offset));
        }
        let offset = address.checked_sub(self.bars[0])?;
        self.bar.holds(offset, 1).then_some((Place::Own, offset))
    }

    /// The ID of the function at `place`.
    pub fn id_of(&self, place: Place) -> FunctionId {
        self.functions.id_of(place)
    }

    /// Whether the function at `place` is there and may make memory requests: if not, it holds them.
    pub fn is_bus_master_at(&self, place: Place) -> bool {
        self.space_of(place)
            .is_some_and(ConfigSpace::bus_master_enable)
    }

    /// Where the write goes that signals interrupt `vector` of the function at `place`, and its data: none while that is not
    /// there, its MSI is disabled, or it has fewer vectors.
    pub fn msi_of(&self, place: Place, vector: u8) -> Option<(u64, u32)> {
        self.space_of(place)?.msi(vector)
    }

    /// Tells a requester of the function at `place` what the registers say.
    pub fn instruct_as(&self, place: Place, requester: &mut Requester) {
        let tags = match place {
            Place::Virtual(_) => self.tags_allowed().min(EIGHT_BIT_TAGS),
            Place::Own | Place::Port(_) => self.tags_allowed(),
        };
        let sizes = (self.max_payload(), self.max_read_request());
        requester.follow(self.id_of(place), sizes, tags, self.is_bus_master_at(place));
    }

    fn space_of(&self, place: Place) -> Option<&ConfigSpace> {
        let there = self.functions.places().any(|one| one == place);
        there.then(|| self.functions.space(place))
    }

    /// The function that a packet is for: that of its address, the requester of a completion, or whom a message names.
    pub(super) fn addressee(&self, header: &Header) -> Place {
        let found = match &header.kind {
            Kind::MemoryRead(request) | Kind::MemoryWrite(request) => self
                .locate(request.first_byte())
                .map(|(number, _)| Place::Virtual(number)),
            Kind::Completion(completion) => self.functions.place_of(completion.requester),
            Kind::Message(request) => match request.message.routing() {
                MessageRouting::ById(target) => self.functions.place_of(target),
                MessageRouting::ToRoot => None,
            },
            _ => None,
        };
        found.unwrap_or(Place::Own)
    }

    /// Whether the BAR 0 that a request begins in holds all of it.
    pub(super) fn holds(&self, request: &MemoryRequest) -> bool {
        let first = request.first_byte();
        if let Some(behind) = &self.virtual_memory
            && behind.locate(first).is_some()
        {
            return behind.base_for(request).is_some();
        }
        let start = first.checked_sub(self.bars[0]);
        start.is_some_and(|start| self.bar.holds(start, u64::from(request.byte_len())))
    }

    /// Whether a packet may be served, and by the physical function.
    pub(crate) fn is_own(&self, header: &Header) -> bool {
        self.addressee(header) == Place::Own && self.verdict(header).is_ok()
    }

    /// Puts `bytes` into the memory behind BAR 0 of the function at `place`, which has as many at `offset`.
    pub fn store(&mut self, place: Place, offset: u64, bytes: &[u8]) {
        match (place, &mut self.virtual_memory) {
            (Place::Virtual(number), Some(behind)) => {
                let start = behind.size * number as u64;
                behind.memory.write(start + offset, bytes);
            }
            _ => self.bar.write(offset, bytes),
        }
    }

    /// The bytes behind the virtual functions, to be filled before a run, and where those of one of them begin.
    pub fn virtual_memory_mut(&mut self, number: usize) -> Option<(&mut Memory, u64)> {
        let behind = self.virtual_memory.as_mut()?;
        let start = behind.size * number as u64;
        Some((&mut behind.memory, start))
    }

    fn locate(&self, address: u64) -> Option<(usize, u64)> {
        self.virtual_memory.as_ref()?.locate(address)
    }

    /// Whether a packet is a memory request to a virtual function.
    pub(super) fn is_for_virtual_memory(&self, header: &Header) -> bool {
        let is_memory = matches!(&header.kind, Kind::MemoryRead(_) | Kind::MemoryWrite(_));
        is_memory && self.addressee(header) != Place::Own
    }

    /// Serves a memory request that BAR 0 of a virtual function holds from the memory behind it.
    pub(super) fn serve_virtual<C: Device>(&mut self, packet: PacketId, fx: &mut Effects<'_, C>) {
        let content = &fx.store()[packet];
        let header = *content.header();
        match &header.kind {
            Kind::MemoryWrite(request) => {
                if let Some(behind) = &mut self.virtual_memory
                    && let Some(base) = behind.base_for(request)
                    && let Some(told) =
                        deliver(content, request, &mut behind.memory, base, &self.patterns)
                {
                    fx.observe(told);
                }
            }
            Kind::MemoryRead(request) => {
                if let Some(behind) = &self.virtual_memory
                    && let Some(base) = behind.base_for(request)
                {
                    let due = fx.now() + self.parameters.read_latency;
                    let answers = self.completions(packet, &behind.memory, base, fx.store());
                    self.answers.extend(answers.map(|answer| (due, answer)));
                }
            }
            _ => {}
        }
        fx.store().release(packet);
    }
}

/// Virtual functions ask for no tags of ten bits.
const EIGHT_BIT_TAGS: u16 = 256;

#[cfg(test)]
mod tests;
