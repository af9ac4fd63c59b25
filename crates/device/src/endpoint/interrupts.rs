//! The interrupts of an endpoint's functions, by MSI or MSI-X, for all device models.
//!
//! A model requests the message when it would pass it to the datapath. The message therefore follows all data before it, and masks that software
//! has read back are in effect. The endpoint itself sends the messages that a mask has held back.

use kernel::Effects;
use packet::{PacketId, Stamp};
use protocol::register::{MSI, MSI_CAPABLE_SHIFT};
use protocol::{Header, Kind, MemoryRequest, TrafficClass};
use transaction::{Completions, FunctionPlace, Memory, written};

use super::vectors::{Message, Raised, VectorCounts, VectorTable};
use super::{BOUNDARY, CLOSED, Device, Endpoint};
use crate::place::{number_of, place_of};

/// The MSI-X tables of an endpoint with that capability.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    /// The table of the physical function, and then the tables of all virtual functions that have existed.
    all: Vec<Table>,
    is_pending: bool,
}

#[derive(Clone, Debug)]
struct Table {
    /// Address of the BAR with the table.
    base: u64,
    /// Whether the function exists now.
    is_there: bool,
    vectors: VectorTable,
}

impl Endpoint {
    /// Signals the interrupt `vector` of the function at `place`. Returns the packet that must be handed over now; none if a mask holds the
    /// message back, or if the function may not signal the interrupt.
    pub(crate) fn interrupt<C: Device>(
        &mut self,
        place: FunctionPlace,
        vector: u16,
        fx: &mut Effects<'_, C>,
    ) -> Option<PacketId> {
        let message = self.message_now(place, vector)?;
        Some(self.message_packet(place, message, fx))
    }

    pub(crate) fn interrupt_class(&self) -> TrafficClass {
        self.parameters.interrupt_class()
    }

    /// The message of an interrupt, if it may be sent now. The interrupt is counted; if the message is held back, its pending bit is set.
    fn message_now(&mut self, place: FunctionPlace, vector: u16) -> Option<Message> {
        let Some(tables) = &mut self.tables else {
            return self.msi_of(place, u8::try_from(vector).ok()?);
        };
        let table = tables.all.get_mut(number_of(place))?;
        if !table.is_there || vector >= table.vectors.place().vectors {
            return None;
        }
        if !table.vectors.is_used() {
            return self.msi_of(place, u8::try_from(vector).ok()?);
        }
        match table.vectors.raise(vector) {
            Raised::Sent(message) => Some(message),
            Raised::Held => {
                tables.is_pending = true;
                None
            }
            Raised::Dropped => None,
        }
    }

    /// Whether the function at `place` exists and has `vector` in its MSI-X table, or among the MSI vectors that it requests.
    pub(crate) fn has_vector(&self, place: FunctionPlace, vector: u16) -> bool {
        if !self.functions.places().any(|one| one == place) {
            return false;
        }
        let space = self.functions.space(place);
        let count = match space.msix_table() {
            Some(table) => table.vectors,
            None => 1 << (space.read(MSI) >> MSI_CAPABLE_SHIFT & 7),
        };
        vector < count
    }

    /// Number of interrupt vectors that the function at `place` can have.
    pub(crate) fn vectors_of(&self, place: FunctionPlace) -> u16 {
        (0..=u16::MAX)
            .find(|vector| !self.has_vector(place, *vector))
            .unwrap_or(u16::MAX)
    }

    /// Clears the pending bit of `vector`, because software has served the cause of the interrupt (PCIe Base 6.1.4).
    pub(crate) fn withdraw_interrupt(&mut self, place: FunctionPlace, vector: u16) {
        let tables = self.tables.as_mut();
        let table = tables.and_then(|tables| tables.all.get_mut(number_of(place)));
        if let Some(table) = table.filter(|table| vector < table.vectors.place().vectors) {
            table.vectors.withdraw(vector);
        }
    }

    /// The interrupt counts of each function with an MSI-X table, by vector. The first function is the physical one.
    pub fn interrupt_counts(&self) -> impl Iterator<Item = &[VectorCounts]> {
        let tables = self.tables.iter().flat_map(|tables| &tables.all);
        tables.map(|table| table.vectors.counts())
    }

    /// Copies the MSI-X table and the pending bits of the physical function into `bytes`, which are the bytes from `offset` of BAR 0 on. Bytes
    /// outside of them do not change.
    pub fn show_table(&self, offset: u64, bytes: &mut [u8]) {
        let table = self.tables.iter().filter_map(|tables| tables.all.first());
        for table in table.filter(|table| table.vectors.place().bar == 0) {
            for (at, byte) in (offset..).zip(bytes.iter_mut()) {
                if table.vectors.holds(at, 1) {
                    *byte = table.vectors.read(at);
                }
            }
        }
    }

    /// Writes to the MSI-X table of the physical function, outside a run. `bytes` are for offset `offset` of BAR 0 and up; bytes outside the
    /// table are ignored. Messages that a mask held back before are sent with the next packet.
    pub fn fill_table(&mut self, offset: u64, bytes: &[u8]) {
        let tables = self.tables.iter_mut();
        let table = tables.filter_map(|tables| tables.all.first_mut());
        for table in table.filter(|table| table.vectors.place().bar == 0) {
            for (at, byte) in (offset..).zip(bytes) {
                table.vectors.write(at, *byte);
            }
        }
    }

    /// Applies the configuration registers of all functions to their MSI-X tables.
    pub(super) fn apply_to_tables(&mut self) {
        let own = self.functions.space(FunctionPlace::Own);
        if self.tables.is_none() {
            let Some(place) = own.msix_table() else {
                return;
            };
            self.tables = Some(Box::new(Tables {
                all: vec![Table::new(VectorTable::new(place))],
                is_pending: false,
            }));
        }
        let Some(tables) = &mut self.tables else {
            return;
        };
        let there = 1 + self.functions.virtual_places().count();
        for place in self.functions.virtual_places().skip(tables.all.len() - 1) {
            let space = self.functions.space(place);
            let place = space.msix_table().or_else(|| own.msix_table());
            let vectors = place.map(VectorTable::new);
            tables.all.extend(vectors.map(Table::new));
        }
        for (number, table) in tables.all.iter_mut().enumerate() {
            let was_there = std::mem::replace(&mut table.is_there, number < there);
            if !table.is_there {
                if was_there {
                    table.vectors.reset();
                }
                table.base = CLOSED;
                continue;
            }
            let bar = table.vectors.place().bar;
            let place = place_of(number);
            table.base = match place {
                FunctionPlace::Virtual(number) if own.virtual_memory_enable() => {
                    let bar = own.virtual_bar(bar);
                    bar.map_or(CLOSED, |bar| bar.base + bar.share * number as u64)
                }
                FunctionPlace::Virtual(_) => CLOSED,
                FunctionPlace::Own | FunctionPlace::Port(_) => self.bars[usize::from(bar)],
            };
            let space = self.functions.space(place);
            let may_send = space.bus_master_enable();
            table.vectors.apply_registers(space.signalling(), may_send);
        }
    }

    /// Returns the MSI-X table of the function at `place` to its state after reset; the tables of all functions, if `place` is the physical
    /// function.
    pub(super) fn reset_tables(&mut self, place: FunctionPlace) {
        let tables = self.tables.iter_mut().flat_map(|tables| &mut tables.all);
        for (index, table) in tables.enumerate() {
            if place == FunctionPlace::Own || index == number_of(place) {
                table.vectors.reset();
            }
        }
    }

    /// Serves requests for MSI-X tables, as long as such a request is the next packet that has reached the engine. The engine does not receive
    /// these requests.
    pub(super) fn serve_tables<C: Device>(&mut self, fx: &mut Effects<'_, C>) {
        while let Some((due, packet)) = self.inbound.front().copied()
            && due <= fx.now()
            && let Some(number) = self.table_of(fx.store()[packet].header())
        {
            self.inbound.pop_front();
            let charge = fx.store()[packet].charge();
            self.free(charge, fx);
            self.serve_table(number, packet, fx);
        }
    }

    /// The index of the table that contains all bytes of a memory request.
    fn table_of(&self, header: &Header) -> Option<usize> {
        let (Kind::MemoryRead(request) | Kind::MemoryWrite(request)) = &header.kind else {
            return None;
        };
        self.check_size(header).ok()?;
        let (first, len) = (request.first_byte(), u64::from(request.byte_len()));
        let mut tables = self.tables.iter().flat_map(|tables| &tables.all);
        tables.position(|table| {
            let offset = first.checked_sub(table.base);
            offset.is_some_and(|offset| table.vectors.holds(offset, len))
        })
    }

    fn serve_table<C: Device>(&mut self, number: usize, packet: PacketId, fx: &mut Effects<'_, C>) {
        let Some(tables) = &mut self.tables else {
            return;
        };
        let table = &mut tables.all[number];
        let content = &fx.store()[packet];
        let header = *content.header();
        match &header.kind {
            Kind::MemoryWrite(request) => {
                let first = request.first_byte() - table.base;
                for (at, value) in written(content, request).iter().enumerate() {
                    if is_enabled(request, at) {
                        table.vectors.write(first + at as u64, *value);
                    }
                }
                self.end_write(packet, request, fx);
            }
            Kind::MemoryRead(request) => {
                let (first, len) = (request.first_byte(), request.byte_len());
                let bytes =
                    (0..u64::from(len)).map(|at| table.vectors.read(first - table.base + at));
                let mut copy = Memory::new(len.into());
                copy.write(0, &bytes.collect::<Vec<u8>>());
                let completer = self.functions.id_of(place_of(number));
                let answers = Completions::of(&header, completer, self.max_payload, BOUNDARY);
                let due = fx.now() + self.parameters.read_latency;
                let answers = answers.packets(packet, &copy, first, fx.store());
                self.answers.extend(answers.map(|answer| (due, answer)));
                fx.store().release(packet);
            }
            _ => {}
        }
    }

    /// The next message that was held back and may be sent now.
    pub(super) fn released<C: Device>(&mut self, fx: &mut Effects<'_, C>) -> Option<PacketId> {
        let tables = self.tables.as_mut().filter(|tables| tables.is_pending)?;
        let mut all = tables.all.iter_mut().enumerate();
        let found = all.find_map(|(number, table)| {
            let message = table.vectors.release()?;
            Some((place_of(number), message))
        });
        let Some((place, message)) = found else {
            let mut all = tables.all.iter();
            tables.is_pending = all.any(|table| table.vectors.has_pending());
            return None;
        };
        Some(self.message_packet(place, message, fx))
    }

    /// The memory write that signals an interrupt.
    fn message_packet<C: Device>(
        &self,
        place: FunctionPlace,
        (address, data): Message,
        fx: &mut Effects<'_, C>,
    ) -> PacketId {
        let write = Header::memory_write(self.id_of(place), address, 4)
            .expect("a message is one aligned dword");
        let header = Header {
            traffic_class: self.parameters.interrupt_class(),
            ..write
        };
        let data = data.to_le_bytes();
        fx.store().make(header, Stamp::default(), &data)
    }
}

impl Table {
    fn new(vectors: VectorTable) -> Self {
        Table {
            base: CLOSED,
            is_there: true,
            vectors,
        }
    }
}

/// Whether byte `at` of a write, counted from the first byte of the write, is enabled.
pub(crate) fn is_enabled(request: &MemoryRequest, at: usize) -> bool {
    let at = request.first_byte() - request.address() + at as u64;
    let enables = match at / 4 {
        0 => request.first_be(),
        last if last + 1 == u64::from(request.dwords()) => request.last_be(),
        _ => 0xf,
    };
    enables >> (at % 4) & 1 != 0
}
