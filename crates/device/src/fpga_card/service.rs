//! The packets that arrive at the card: accesses to the registers of its parts, and completions.

use kernel::Effects;
use packet::PacketId;
use protocol::{Completion, Kind, MemoryRequest};
use transaction::written;

use super::errors::{LinkError, PortError};
use super::features::{FeatureKind, feature_register, header};
use super::performance::Event;
use super::slot::Unit;
use super::words::{load_pieces, part_of, store_pieces};
use super::{FpgaCard, PORT_BAR, management, port};
use crate::requests::failure;

/// The part of the card that has the accessed registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Region {
    Management,
    /// The port of a slot.
    Port(usize),
    /// The unit in a slot.
    Afu(usize),
}

#[derive(Clone, Copy, Debug)]
struct Target {
    bar: usize,
    /// Offset from the beginning of the BAR.
    at: u64,
    part: Region,
    /// Offset of the part in the BAR.
    begin: u64,
}

impl FpgaCard {
    /// Handles all arrived packets.
    pub(super) fn receive_all(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some(packet) = self.endpoint.take(fx) {
            self.take(packet, fx);
        }
    }

    fn take(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let header = *fx.store()[packet].header();
        if let Err(why) = self.endpoint.check_size(&header) {
            return self.endpoint.refuse(packet, why, fx);
        }
        match &header.kind {
            Kind::Completion(completion) => self.complete(packet, completion, fx),
            Kind::MemoryWrite(request) if let Some(target) = self.target(request) => {
                self.write(packet, request, target, fx);
            }
            Kind::MemoryRead(request) if let Some(target) = self.target(request) => {
                self.read(packet, request, target, fx);
            }
            _ => self.endpoint.serve(packet, fx),
        }
        if header.is_config() {
            self.tags.apply_registers(&self.endpoint);
        }
    }

    /// Passes the data of a completion to the slot that has sent the request.
    fn complete(&mut self, packet: PacketId, completion: &Completion, fx: &mut Effects<'_, Self>) {
        let taken = self.tags.take(packet, completion, &mut self.endpoint, fx);
        let Some((_, part)) = taken else {
            let unexpected = LinkError::UnexpectedCompletion;
            return self.management.errors.record(unexpected);
        };
        let slot = usize::from(part.what.slot);
        let data = part.data(completion, fx.store()[packet].payload());
        let ended = self.slots[slot].host.put(&part, data.map_err(failure));
        fx.store().release(packet);
        if let Some(ended) = ended {
            if let Some(why) = ended.failed {
                self.management.errors.record(why.into());
            }
            self.report(slot, &ended, fx);
        }
    }

    /// The registers that a request accesses; none if there are no registers at its address.
    fn target(&self, request: &MemoryRequest) -> Option<Target> {
        let within = |bar: usize, from: u64, to: u64| {
            let at = self.endpoint.offset_in(bar as u8, to, request)?;
            (at >= from).then_some(at)
        };
        if let Some(at) = within(0, 0, management::SIZE) {
            return Some(Target {
                bar: 0,
                at,
                part: Region::Management,
                begin: 0,
            });
        }
        (0..self.slots.len()).find_map(|slot| {
            let first = slot as u64 * port::DISTANCE;
            let unit = first + port::AFU;
            let parts = [
                (first, unit, Region::Port(slot)),
                (unit, first + port::DISTANCE, Region::Afu(slot)),
            ];
            parts.into_iter().find_map(|(begin, end, part)| {
                Some(Target {
                    bar: PORT_BAR,
                    at: within(PORT_BAR, begin, end)?,
                    part,
                    begin,
                })
            })
        })
    }

    // Writes are handled in a function of their own, so that its buffer for the longest write is not allocated for completions.
    fn write(
        &mut self,
        packet: PacketId,
        request: &MemoryRequest,
        target: Target,
        fx: &mut Effects<'_, Self>,
    ) {
        let bytes = written(&fx.store()[packet], request);
        let mut data = [0; LONGEST_STORE];
        let len = bytes.len().min(LONGEST_STORE);
        data[..len].copy_from_slice(&bytes[..len]);
        self.endpoint.end_write(packet, request, fx);
        self.count(target.part, Event::RegisterWrite);
        for (at, piece) in store_pieces(target.at, &data[..len]) {
            self.store(target.part, at - target.begin, piece, fx);
        }
    }

    fn read(
        &mut self,
        packet: PacketId,
        request: &MemoryRequest,
        target: Target,
        fx: &mut Effects<'_, Self>,
    ) {
        self.count(target.part, Event::RegisterRead);
        for (at, len) in load_pieces(target.at, u64::from(request.byte_len())) {
            let value = self.load_part(target.part, at - target.begin, len, fx);
            let bytes = value.to_le_bytes();
            self.loaded.write(at, &bytes[..len as usize]);
        }
        let base = self.endpoint.base_of(target.bar);
        self.endpoint.answer(packet, &self.loaded, base, fx);
        fx.store().release(packet);
    }

    /// Counts an access to the registers of a unit.
    fn count(&mut self, part: Region, event: Event) {
        if let Region::Afu(slot) = part {
            self.management.performance.count(slot as u8, event);
        }
    }

    fn store(&mut self, part: Region, offset: u64, bytes: &[u8], fx: &mut Effects<'_, Self>) {
        match part {
            Region::Management => self.management.store(offset, bytes),
            Region::Port(slot) => {
                if let Some(change) = self.slots[slot].port.store(offset, bytes) {
                    self.change_reset(slot, change, fx);
                }
            }
            Region::Afu(slot) if self.slots[slot].port.is_in_reset() => {
                let errors = &mut self.slots[slot].port.errors;
                errors.record(PortError::MmioWriteInReset);
            }
            Region::Afu(slot) => {
                self.with_afu(slot, fx, |afu, shell| afu.store(offset, bytes, shell));
            }
        }
    }

    fn load_part(
        &mut self,
        part: Region,
        offset: u64,
        len: u32,
        fx: &mut Effects<'_, Self>,
    ) -> u64 {
        match part {
            Region::Management => self.management.load(offset, len, fx.now()),
            Region::Port(slot) => {
                let slot = &self.slots[slot];
                slot.port.load(offset, len, slot.host.is_quiet())
            }
            Region::Afu(slot) if self.slots[slot].port.is_in_reset() => {
                let errors = &mut self.slots[slot].port.errors;
                errors.record(PortError::MmioReadInReset);
                u64::MAX
            }
            Region::Afu(slot) => match self.slots[slot].unit.header(offset & !7) {
                Some(value) => part_of(value, offset, len),
                None => self
                    .with_afu(slot, fx, |afu, shell| afu.load(offset, len, shell))
                    .unwrap_or(u64::MAX),
            },
        }
    }
}

/// Size in bytes of the registers at the beginning of every unit: header, ID, and two reserved registers.
const HEADER: u64 = 0x28;

/// Longest write in bytes: the largest payload.
const LONGEST_STORE: usize = 4096;

impl Unit {
    /// The registers at the beginning of every AFU; none at other offsets or in an empty slot.
    fn header(&self, offset: u64) -> Option<u64> {
        let id = self.id.filter(|_| offset < HEADER)?;
        let header = header(FeatureKind::Afu, 0, self.next_feature.map(u64::from));
        Some(feature_register(offset, header, id))
    }
}
