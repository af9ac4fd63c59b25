//! Packets that leave: the requests of the model in their order, cut by the rules of PCI Express.

use kernel::Effects;
use packet::PacketId;
use peerlane_device::{Failure, Mark, Operation, Severity};
use protocol::{AtomicOperation, FunctionId, Header, MemoryRequest, Tag, TrafficClass};
use transaction::FunctionPlace;

use super::core::{NonPosted, Posted, stamp};
use super::tags::Part;
use super::{Behaviour, Foreign, function_of};
use crate::endpoint_parameters::class;

/// The functions whose next request may not be sent.
#[derive(Default)]
struct Held([u64; 4]);

impl Held {
    fn bit(place: FunctionPlace) -> (usize, u64) {
        let function = function_of(place);
        (usize::from(function / 64), 1 << (function % 64))
    }

    fn has(&self, place: FunctionPlace) -> bool {
        let (word, bit) = Self::bit(place);
        self.0[word] & bit != 0
    }

    fn add(&mut self, place: FunctionPlace) {
        let (word, bit) = Self::bit(place);
        self.0[word] |= bit;
    }
}

impl<M: Behaviour> Foreign<M> {
    /// Sends a packet, if one may be sent. Returns whether the queues have changed.
    pub(super) fn send_one(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let is_open = self.endpoint.is_open(fx);
        if !is_open && !self.endpoint.has_channels() {
            return false;
        }
        let now = fx.now();
        let may_go = |one: &Self, class| is_open || one.endpoint.is_open_besides(class, now);
        let post = self.next_post();
        let post = post.filter(|at| may_go(self, self.class_of_post(*at)));
        if self.core.is_turn_of_reads || post.is_none() {
            let read = self.next_read(fx);
            if let Some(at) = read.filter(|at| may_go(self, self.class_of_read(*at))) {
                self.core.is_turn_of_reads = false;
                self.send_part(at, fx);
                return true;
            }
        }
        let Some(at) = post else { return false };
        self.core.is_turn_of_reads = true;
        self.post(at, fx);
        true
    }

    /// The traffic class of the posted request at this place in the queue.
    fn class_of_post(&self, at: usize) -> TrafficClass {
        match &self.core.posted[at].1 {
            Posted::Write { mark, .. } => class_of(*mark),
            Posted::Interrupt(..) => self.endpoint.interrupt_class(),
            Posted::Message(..) => TrafficClass::default(),
        }
    }

    /// The traffic class of the read or the atomic operation at this place in the queue.
    fn class_of_read(&self, at: usize) -> TrafficClass {
        let one = self.core.slots[self.core.to_send[at]].as_ref();
        one.map_or(TrafficClass::default(), |one| class_of(one.mark))
    }

    /// The place in the queue of the first posted request that may be sent. Functions do not wait for each other: each has its own Bus
    /// Master Enable. Error messages need no bus mastering (PCIe Base 7.5.1.1.3), and wait for earlier writes of their function.
    fn next_post(&self) -> Option<usize> {
        let mut held = Held::default();
        for (at, (_, posted)) in self.core.posted.iter().enumerate() {
            let place = posted.place();
            if held.has(place) {
                continue;
            }
            match posted {
                Posted::Write { .. } if !self.endpoint.is_bus_master_at(place) => held.add(place),
                _ => return Some(at),
            }
            if !self.has_virtual_functions {
                return None;
            }
        }
        None
    }

    /// The place in the queue of the first non-posted request that may be sent. It overtakes no posted one of its function (PCIe Base 2.4.1).
    fn next_read(&self, fx: &mut Effects<'_, Self>) -> Option<usize> {
        let mut held = Held::default();
        for (at, slot) in self.core.to_send.iter().enumerate() {
            let Some(one) = &self.core.slots[*slot] else {
                continue;
            };
            if held.has(one.place) {
                continue;
            }
            let may_send = self.endpoint.is_bus_master_at(one.place) && !self.is_behind_posted(one);
            let range = self.next_range(one);
            if may_send && self.core.tags.fits(one.place, range, fx.now()) {
                return Some(at);
            }
            if !self.has_virtual_functions {
                return None;
            }
            held.add(one.place);
        }
        None
    }

    /// Whether an earlier posted request of its function is not sent yet.
    fn is_behind_posted(&self, one: &NonPosted) -> bool {
        let posted = self.core.posted.iter();
        let mut earlier = posted.take_while(|(order, _)| *order < one.order);
        earlier.any(|(_, posted)| posted.place() == one.place)
    }

    /// The address and the length of the next packet of a request.
    fn next_range(&self, one: &NonPosted) -> (u64, u32) {
        let (address, left) = (one.address + one.asked, one.len - one.asked);
        if one.atomic.is_some() {
            return (address, left as u32);
        }
        // An unaligned packet is shorter, so that it has no more dwords than an aligned one.
        let largest = u64::from(self.endpoint.max_read_request()) - address % 4;
        let room = MemoryRequest::room_at(address).min(largest);
        (address, left.min(room) as u32)
    }

    /// Sends the next packet of the read or the atomic operation at this place in the queue. An atomic operation without permission is
    /// not sent, and fails (PCIe Base 7.5.3.16).
    fn send_part(&mut self, at: usize, fx: &mut Effects<'_, Self>) {
        let slot = self.core.to_send[at];
        let Some(one) = &self.core.slots[slot] else {
            return;
        };
        let (address, len) = self.next_range(one);
        let Some(one) = &mut self.core.slots[slot] else {
            return;
        };
        let part = Part {
            slot,
            offset: one.asked,
            place: one.place,
        };
        if one.atomic.is_some() && !self.endpoint.is_atomic_requester_at(one.place) {
            return self.fail(part, Failure::NotEnabled, fx);
        }
        if one.bytes.is_empty() {
            one.bytes = vec![0; one.len as usize];
        }
        one.asked += u64::from(len);
        if one.asked == one.len {
            self.core.to_send.remove(at);
        }
        let tag = self.core.tags.begin(part, (address, len), fx.now());
        let id = self.endpoint.id_of(one.place);
        let (mark, stamp) = (one.mark, stamp(one.mark.label, part.offset, true));
        let packet = fx.store().claim();
        let content = &mut fx.store()[packet];
        if let Some((operation, operands)) = &one.atomic {
            let header = in_class(atomic((id, tag), *operation, (address, len)), mark);
            content.write(header, stamp).copy_from_slice(operands);
        } else {
            let header = Header::memory_read(id, tag, address, len).expect(IN_PAGE);
            content.write(in_class(header, mark), stamp);
        }
        self.endpoint.hand_over(packet, fx);
    }

    /// Sends the next packet of the posted request at this place in the queue.
    fn post(&mut self, at: usize, fx: &mut Effects<'_, Self>) {
        match self.core.posted.get_mut(at) {
            Some((
                _,
                Posted::Write {
                    place,
                    mark,
                    tag,
                    address,
                    bytes,
                    sent,
                },
            )) => {
                let id = self.endpoint.id_of(*place);
                let from = *address + *sent as u64;
                let largest = u64::from(self.endpoint.max_payload()) - from % 4;
                let room = MemoryRequest::room_at(from).min(largest) as usize;
                let len = room.min(bytes.len() - *sent);
                let header = Header::memory_write(id, from, len as u32).expect(IN_PAGE);
                let header = in_class(header, *mark);
                let packet = fx.store().claim();
                let lead = (from % 4) as usize;
                let end = *sent + len;
                let stamp = stamp(mark.label, *sent as u64, end == bytes.len());
                fx.store()[packet].write(header, stamp)[lead..lead + len]
                    .copy_from_slice(&bytes[*sent..end]);
                *sent = end;
                let (is_last, size, tag) = (end == bytes.len(), bytes.len(), *tag);
                if is_last {
                    self.core.posted.remove(at);
                    self.core.bytes -= size as u64;
                }
                self.endpoint.hand_over(packet, fx);
                if let Some(tag) = tag.filter(|_| is_last) {
                    self.call(fx.now(), |model, shell| model.sent(tag, shell));
                }
            }
            Some((_, Posted::Interrupt(place, vector))) => {
                let (place, vector) = (*place, *vector);
                self.core.posted.remove(at);
                if let Some(packet) = self.endpoint.interrupt(place, vector, fx) {
                    self.endpoint.hand_over(packet, fx);
                }
            }
            Some((_, Posted::Message(place, severity))) => {
                let (place, severity) = (*place, severity_of(*severity));
                self.core.posted.remove(at);
                if let Some(packet) = self.message(place, severity, fx) {
                    self.endpoint.hand_over(packet, fx);
                }
            }
            None => {}
        }
    }

    /// The message about an internal error of the device, if software has enabled such messages.
    fn message(
        &mut self,
        place: FunctionPlace,
        severity: protocol::Severity,
        fx: &mut Effects<'_, Self>,
    ) -> Option<PacketId> {
        self.endpoint.own_error(place, severity, fx)
    }
}

fn atomic(
    transaction: (FunctionId, Tag),
    operation: Operation,
    (address, width): (u64, u32),
) -> Header {
    let operation = match operation {
        Operation::FetchAdd => AtomicOperation::FetchAdd,
        Operation::Swap => AtomicOperation::Swap,
        Operation::CompareAndSwap => AtomicOperation::CompareAndSwap,
    };
    Header::atomic(transaction, operation, address, width).expect("the shell has checked it")
}

fn class_of(mark: Mark) -> TrafficClass {
    class(mark.traffic_class.into())
}

/// The header, in the traffic class of a mark.
fn in_class(header: Header, mark: Mark) -> Header {
    Header {
        traffic_class: class_of(mark),
        ..header
    }
}

fn severity_of(severity: Severity) -> protocol::Severity {
    match severity {
        Severity::Correctable => protocol::Severity::Correctable,
        Severity::NonFatal => protocol::Severity::NonFatal,
        Severity::Fatal => protocol::Severity::Fatal,
    }
}

const IN_PAGE: &str = "a request stays within its page and the largest size";
