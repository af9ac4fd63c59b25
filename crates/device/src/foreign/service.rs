//! Packets that arrive: accesses to the registers of the model, and completions of its requests.

use kernel::Effects;
use packet::{Observation, PacketId, Refusal};
use peerlane_device::{Access, Answer, Failure, Ticket};
use protocol::{Completion, Kind, MemoryRequest, Status};
use transaction::{AnsweredPart, FunctionPlace, written};

use super::core::Open;
use super::defect::with_defect;
use super::tags::Part;
use super::{Foreign, PAGE, function_of};

/// The registers that a request is for.
#[derive(Clone, Copy, Debug)]
struct Target {
    place: FunctionPlace,
    bar: u8,
    offset: u64,
}

impl Foreign {
    pub(super) fn take(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let header = *fx.store()[packet].header();
        if let Err(why) = self.endpoint.check_size(&header) {
            return self.endpoint.refuse(packet, why, fx);
        }
        match &header.kind {
            Kind::Completion(completion) => self.complete(packet, completion, fx),
            Kind::MemoryWrite(request) if let Some(target) = self.target(request) => {
                if self.must_refuse(target.place, packet, fx) {
                    return;
                }
                self.write(packet, request, target, fx);
            }
            Kind::MemoryRead(request) if let Some(target) = self.target(request) => {
                if self.must_refuse(target.place, packet, fx) {
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

    /// The registers that a request is for, if they are all in one BAR of the model.
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
            let offset = first.checked_sub(self.endpoint.base_of(bar.index.into()))?;
            let is_inside = offset.checked_add(len)? <= bar.size;
            is_inside.then_some(Target {
                place: FunctionPlace::Own,
                bar: bar.index,
                offset,
            })
        })
    }

    /// Refuses a request while its function is in reset, or after the model has failed; returns whether it did.
    fn must_refuse(
        &mut self,
        place: FunctionPlace,
        packet: PacketId,
        fx: &mut Effects<'_, Self>,
    ) -> bool {
        let is_down = self.endpoint.has_resets() && self.endpoint.is_in_reset(place, fx.now());
        let must_refuse = is_down || self.core.failed.is_some();
        if must_refuse {
            self.endpoint
                .refuse(packet, Refusal::UnsupportedRequest, fx);
        }
        must_refuse
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
        let now = fx.now();
        let mut piece = |from: usize, to: usize| {
            let access = access(target, from, to - from, Ticket(0));
            let bytes = &bytes[from..to];
            self.call(now, |model, shell| model.write(access, bytes, shell));
        };
        match gaps(request) {
            None => piece(0, bytes.len()),
            Some(is_enabled) => {
                let mut from = 0;
                while from < bytes.len() {
                    let run = (from..bytes.len()).take_while(|at| is_enabled(*at)).count();
                    if run > 0 {
                        piece(from, from + run);
                    }
                    from += run.max(1);
                }
            }
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
        // The model may answer within this call.
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
                let (endpoint, page) = (&mut self.endpoint, &self.page);
                match defect {
                    None => endpoint.answer_at(now, packet, page, base, fx),
                    Some(defect) => endpoint.answer_altered(
                        (now, packet, page, base),
                        |packet, packets| with_defect(packet, defect, packets),
                        fx,
                    ),
                }
            }
            fx.store().release(packet);
        }
    }

    fn complete(&mut self, packet: PacketId, completion: &Completion, fx: &mut Effects<'_, Self>) {
        let requester = self.endpoint.functions().place_of(completion.requester);
        let part = requester.and_then(|place| self.core.tags.take(place, completion));
        let Some(part) = part else {
            return self
                .endpoint
                .refuse(packet, Refusal::UnexpectedCompletion, fx);
        };
        let failure = match completion.status {
            Status::Successful => None,
            Status::CompleterAbort => Some(Failure::Aborted),
            Status::Poisoned => Some(Failure::Poisoned),
            _ => Some(Failure::Unsupported),
        };
        let lead = usize::from(completion.lower_address) % 4;
        let payload = fx.store()[packet].payload();
        let data = payload.get(lead..lead + part.len as usize);
        match data.filter(|_| failure.is_none()) {
            Some(data) => self.keep(&part, data),
            None => self.lose(&part, failure.unwrap_or(Failure::Aborted)),
        }
        fx.store().release(packet);
        self.end_part(&part, fx);
    }

    fn keep(&mut self, part: &AnsweredPart<Part>, data: &[u8]) {
        if let Some(one) = &mut self.core.slots[part.what.slot] {
            let at = (part.what.offset + u64::from(part.offset)) as usize;
            one.bytes[at..at + data.len()].copy_from_slice(data);
        }
    }

    /// Notes the failure of a part. Nothing more is asked for of a request that has failed.
    fn lose(&mut self, part: &AnsweredPart<Part>, why: Failure) {
        let slot = part.what.slot;
        if let Some(one) = &mut self.core.slots[slot] {
            one.failed.get_or_insert(why);
            self.core.to_send.retain(|other| *other != slot);
        }
    }

    /// Ends a request of which nothing was sent.
    pub(super) fn fail(&mut self, what: Part, why: Failure, fx: &mut Effects<'_, Self>) {
        let part = AnsweredPart {
            what,
            offset: 0,
            len: 0,
            last: true,
        };
        self.lose(&part, why);
        self.end_part(&part, fx);
    }

    /// Counts a part that has come or is lost; the last one ends the request.
    fn end_part(&mut self, part: &AnsweredPart<Part>, fx: &mut Effects<'_, Self>) {
        let slot = part.what.slot;
        let Some(one) = &mut self.core.slots[slot] else {
            return;
        };
        one.ended += u64::from(part.len);
        // A request that has failed ends when none of its packets is outstanding, even if not all of it was asked for.
        let is_over = one.ended == one.len || one.failed.is_some() && one.ended == one.asked;
        if !is_over {
            return;
        }
        let Some(one) = self.core.slots[slot].take() else {
            return;
        };
        self.core.free_slots.push(slot);
        self.core.bytes -= one.len;
        let outcome = one.failed.map_or(Ok(&*one.bytes), Err);
        self.call(fx.now(), |model, shell| {
            model.completed(one.tag, outcome, shell);
        });
    }

    /// Ends requests that have timed out; returns whether there were any.
    pub(super) fn give_up(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let mut any = false;
        while let Some(part) = self.core.tags.give_up(fx.now()) {
            self.endpoint.record_timeout(part.what.place, fx);
            fx.observe(Observation::gave_up(part.len));
            self.lose(&part, Failure::TimedOut);
            self.end_part(&part, fx);
            any = true;
        }
        any
    }
}

fn access(target: Target, from: usize, len: usize, ticket: Ticket) -> Access {
    Access {
        function: function_of(target.place),
        bar: target.bar,
        offset: target.offset + from as u64,
        len: len as u32,
        ticket,
    }
}

/// Whether a byte of a write is enabled, by its offset from the first one; none if all are.
fn gaps(request: &MemoryRequest) -> Option<impl Fn(usize) -> bool> {
    let (first_be, last_be) = (request.first_be(), request.last_be());
    let dwords = u64::from(request.dwords());
    let lead = request.first_byte() - request.address();
    let is_enabled = move |at: usize| {
        let at = at as u64 + lead;
        let enables = match at / 4 {
            0 => first_be,
            last if last + 1 == dwords => last_be,
            _ => 0xf,
        };
        enables >> (at % 4) & 1 != 0
    };
    let len = request.byte_len() as usize;
    (!(0..len.min(4))
        .chain(len.saturating_sub(4)..len)
        .all(is_enabled))
    .then_some(is_enabled)
}
