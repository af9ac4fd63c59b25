//! The packets that arrive at a device with a model: accesses to the registers of the model, and completions of its requests.

use kernel::Effects;
use packet::{PacketId, Refusal};
use peerlane_device::{Access, Answer, Ticket};
use protocol::{Completion, Kind, MemoryRequest};
use transaction::{FunctionPlace, Memory, written};

use super::core::{Open, Read};
use super::defect::with_defect;
use super::{Behaviour, Foreign, PAGE};
use crate::endpoint::is_enabled;
use crate::place::number_of;

/// The registers that a request is for.
#[derive(Clone, Copy, Debug)]
struct Target {
    place: FunctionPlace,
    bar: u8,
    offset: u64,
}

impl<M: Behaviour> Foreign<M> {
    pub(super) fn take(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let header = *fx.store()[packet].header();
        if let Err(why) = self.endpoint.check_size(&header) {
            return self.endpoint.refuse(packet, why, fx);
        }
        match &header.kind {
            Kind::Completion(completion) => self.complete(packet, completion, fx),
            Kind::MemoryWrite(request) if let Some(target) = self.target(request) => {
                if self.must_refuse(target.place, (packet, request), fx) {
                    return;
                }
                self.write(packet, request, target, fx);
            }
            Kind::MemoryRead(request) if let Some(target) = self.target(request) => {
                if self.must_refuse(target.place, (packet, request), fx) {
                    return;
                }
                self.read(packet, request, target, fx);
            }
            _ => {
                self.endpoint.serve(packet, fx);
                if header.is_config() {
                    self.apply_registers();
                }
            }
        }
    }

    /// The registers that a request is for, if one BAR of the model contains all of them.
    fn target(&self, request: &MemoryRequest) -> Option<Target> {
        let (first, len) = (request.first_byte(), u64::from(request.byte_len()));
        if self.has_virtual_functions
            && let Some((place @ FunctionPlace::Virtual(_), offset)) =
                self.endpoint.function_of(first)
        {
            let is_inside = offset + len <= self.endpoint.virtual_size();
            return is_inside.then_some(Target {
                place,
                bar: 0,
                offset,
            });
        }
        self.bars.iter().find_map(|bar| {
            Some(Target {
                place: FunctionPlace::Own,
                bar: bar.index,
                offset: self.endpoint.offset_in(bar.index, bar.size, request)?,
            })
        })
    }

    /// Refuses a request while its function is in reset, after the model has failed, or if the registers cannot be accessed. Returns whether the
    /// request was refused.
    fn must_refuse(
        &mut self,
        place: FunctionPlace,
        (packet, request): (PacketId, &MemoryRequest),
        fx: &mut Effects<'_, Self>,
    ) -> bool {
        let is_down = self.endpoint.has_resets() && self.endpoint.is_in_reset(place, fx.now());
        let why = if is_down || self.core.failed.is_some() {
            Refusal::UnsupportedRequest
        } else if self.endpoint.aborts(request) {
            Refusal::CompleterAbort
        } else {
            return false;
        };
        self.endpoint.refuse(packet, why, fx);
        true
    }

    fn write(
        &mut self,
        packet: PacketId,
        request: &MemoryRequest,
        target: Target,
        fx: &mut Effects<'_, Self>,
    ) {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        bytes.extend_from_slice(written(&fx.store()[packet], request));
        self.endpoint.end_write(packet, request, fx);
        let (now, has_gaps) = (fx.now(), has_gaps(request));
        let mut piece = |from: usize, to: usize| {
            let access = access(target, from, to - from, Ticket(0));
            let bytes = &bytes[from..to];
            self.call(now, |model, shell| model.write(access, bytes, shell));
        };
        if has_gaps {
            let mut from = 0;
            while from < bytes.len() {
                let enabled = (from..bytes.len()).take_while(|at| is_enabled(request, *at));
                let run = enabled.count();
                if run > 0 {
                    piece(from, from + run);
                }
                from += run.max(1);
            }
        } else {
            piece(0, bytes.len());
        }
        self.bytes = bytes;
    }

    fn read(
        &mut self,
        packet: PacketId,
        request: &MemoryRequest,
        target: Target,
        fx: &mut Effects<'_, Self>,
    ) {
        let len = request.byte_len();
        let ticket = self.core.ticket();
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        bytes.resize(len as usize, 0);
        let open = Open {
            packet,
            place: target.place,
            len,
        };
        // The read is recorded before the call, because the model may answer during the call.
        self.core.open.insert(ticket, open);
        let access = access(target, 0, len as usize, ticket);
        let answer = self.call(fx.now(), |model, shell| {
            model.read(access, &mut bytes, shell)
        });
        let answer = match answer {
            _ if self.core.failed.is_some() => Answer::Abort,
            answer => answer.unwrap_or(Answer::Abort),
        };
        if answer != Answer::Later && self.core.open.remove(&ticket).is_some() {
            match answer {
                Answer::Now => {
                    let (base, at) = (request.first_byte() & !(PAGE - 1), request.first_byte());
                    self.page.write(at - base, &bytes);
                    self.endpoint.answer(packet, &self.page, base, fx);
                    fx.store().release(packet);
                }
                Answer::Unsupported => {
                    self.endpoint
                        .refuse(packet, Refusal::UnsupportedRequest, fx);
                }
                Answer::Abort | Answer::Later => {
                    self.endpoint.refuse(packet, Refusal::CompleterAbort, fx);
                }
            }
        }
        self.bytes = bytes;
    }

    /// Sends the answers that the model has given.
    pub(super) fn answer_reads(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some((open, bytes, defect)) = self.core.answers.pop_front() {
            let packet = open.packet;
            let Some(bytes) = bytes else {
                self.endpoint.refuse(packet, Refusal::CompleterAbort, fx);
                continue;
            };
            if let Kind::MemoryRead(request) = &fx.store()[packet].header().kind {
                let at = request.first_byte();
                let base = at & !(PAGE - 1);
                self.page.write(at - base, &bytes);
                let now = fx.now();
                let first = self.endpoint.answer_at(now, packet, &self.page, base, fx);
                if let (Some(defect), Some(first)) = (defect, first) {
                    *first = with_defect(*first, defect, fx.store());
                }
            }
            fx.store().release(packet);
        }
    }

    fn complete(&mut self, packet: PacketId, completion: &Completion, fx: &mut Effects<'_, Self>) {
        let keep = |read: &mut Read, offset: u64, bytes: &[u8], _: &mut Memory| {
            read.keep(offset, bytes);
        };
        let requests = &mut self.core.requests;
        let ended = requests.take(packet, completion, &mut self.endpoint, fx, keep);
        if let Some(ended) = ended {
            self.end(&ended, fx.now());
        }
    }
}

fn access(target: Target, from: usize, len: usize, ticket: Ticket) -> Access {
    Access {
        function: number_of(target.place) as u8,
        bar: target.bar,
        offset: target.offset + from as u64,
        len: len as u32,
        ticket,
    }
}

/// Whether some bytes of a write are not enabled. Only bytes of its first and its last dword can be disabled.
fn has_gaps(request: &MemoryRequest) -> bool {
    let len = request.byte_len() as usize;
    let mut ends = (0..len.min(4)).chain(len.saturating_sub(4)..len);
    !ends.all(|at| is_enabled(request, at))
}
