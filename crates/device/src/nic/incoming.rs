//! Packets that arrive by PCI Express: stores to registers, and completions of read requests.

use kernel::Effects;
use packet::{Fault, PacketId, Refusal};
use protocol::{Header, Kind, MemoryRequest, QueuePairId};
use transaction::{Place, written};

use super::Nic;
use super::doorbells::Bell;
use super::reads::Purpose;
use super::registers::{Doorbell, located, offset};
use super::sending::stream::Stream;

impl Nic {
    /// Handles packets that have arrived by PCI Express: register accesses and completions.
    pub(super) fn take_in(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let mut any = false;
        while let Some((packet, charge)) = self.endpoint.take_held(fx) {
            any = true;
            let header = *fx.store()[packet].header();
            if let Some(address) = self.in_window(&header) {
                self.enter((packet, charge), address, fx);
                continue;
            }
            self.endpoint.free(charge, fx);
            if let Err(why) = self.endpoint.verdict(&header) {
                self.endpoint.refuse(packet, why, fx);
                continue;
            }
            match &header.kind {
                Kind::Completion(_) => self.take_answer(packet, &header, fx),
                Kind::MemoryWrite(request) => self.write_register(packet, request, fx),
                _ => {
                    self.endpoint.serve(packet, fx);
                    if header.is_config() {
                        self.obey();
                    }
                }
            }
        }
        any
    }

    /// Accepts a completion of a read request.
    fn take_answer(&mut self, packet: PacketId, header: &Header, fx: &mut Effects<'_, Self>) {
        let Kind::Completion(completion) = &header.kind else {
            return;
        };
        let now = fx.now();
        let own = completion.requester.is_beside(self.endpoint.id());
        if own && self.reads.take(completion, packet, now, fx.store()) {
            fx.store().release(packet);
        } else {
            self.endpoint
                .refuse(packet, Refusal::UnexpectedCompletion, fx);
        }
    }

    /// Handles a store to the page of a function.
    fn write_register(
        &mut self,
        packet: PacketId,
        request: &MemoryRequest,
        fx: &mut Effects<'_, Self>,
    ) {
        let content = &fx.store()[packet];
        let born = content.stamp.born;
        let value = written(content, request).as_array::<8>().copied();
        fx.store().release(packet);
        let Some((place, at)) = self.endpoint.function_of(request.first_byte()) else {
            return;
        };
        let function = match place {
            Place::Virtual(number) => number as u8 + 1,
            Place::Own | Place::Port(_) => 0,
        };
        let (Some(value), Some((pair, offset))) = (value, located(at)) else {
            return self.stop(function, Fault::Doorbell, (None, 0), fx);
        };
        let owner = QueuePairId::new(self.processor, function, pair);
        if offset != offset::DOORBELL {
            if self.set_register(owner, offset, u64::from_le_bytes(value)) {
                self.endpoint.store(place, at, &value);
            } else {
                self.stop(function, Fault::Doorbell, (None, 0), fx);
            }
            return;
        }
        if !self.pair(owner).is_open {
            return self.stop(function, Fault::ClosedPair, (None, 0), fx);
        }
        let bell = Bell {
            pair,
            doorbell: Doorbell::parse(u64::from_le_bytes(value)),
            born,
            due: fx.now() + self.cycles(self.parameters.doorbell_cycles),
        };
        if !self.doorbells.ring(function, bell) {
            self.stop(function, Fault::TooManyRequests, (None, 0), fx);
        }
    }

    /// Gives answers to the parts of the engine that requested them.
    pub(super) fn hear_answers(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let now = fx.now();
        let mut any = false;
        while let Some((part, bytes)) = self.reads.next(now) {
            any = true;
            let lost = part.len - bytes.len() as u32;
            match part.what {
                Purpose::Stream { number, slot, .. } => {
                    if let Some(stream) = self.stream(number) {
                        stream.arrive(slot, &bytes, lost);
                    }
                }
                Purpose::Buffers { owner, epoch } if self.pair(owner).epoch == epoch => {
                    self.pair(owner).buffers.arrive(&bytes, lost);
                    self.look_for_buffers(owner);
                    if lost > 0 {
                        self.stop(owner.function(), Fault::Buffer, (None, 0), fx);
                    }
                }
                Purpose::Buffers { .. } => {}
                Purpose::Load(number) => {
                    let when = (now, self.endpoint.max_payload());
                    let bridge = &mut self.window.bridge;
                    bridge.answer(number, &part, &bytes, when, fx.store());
                }
            }
        }
        any
    }

    fn stream(&mut self, number: u64) -> Option<&mut Stream> {
        let jobs = self.jobs.iter_mut();
        let mut jobs = jobs.map(|job| (job.number, &mut job.stream));
        let fetches = self.fetches.iter_mut();
        let mut fetches = fetches.map(|fetch| (fetch.number, &mut fetch.stream));
        let found = jobs.find(|(other, _)| *other == number);
        let found = found.or_else(|| fetches.find(|(other, _)| *other == number));
        found.map(|(_, stream)| stream)
    }
}
