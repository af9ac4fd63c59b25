//! Packets that leave: the requests of the model in their order, cut by the rules of PCI Express.

use kernel::Effects;
use packet::{PacketId, Stamp};
use peerlane_device::{Operation, Severity};
use protocol::{AtomicOperation, FunctionId, Header, MemoryRequest, Tag};
use transaction::FunctionPlace;

use super::Foreign;
use super::core::{NonPosted, Part, Posted};

impl Foreign {
    /// Sends a packet, if one may be sent. Returns whether the queues have changed.
    pub(super) fn send_one(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        if !self.endpoint.is_open(fx) {
            return false;
        }
        let can_post = self.can_post();
        let can_read = self.can_read(fx);
        if can_read && (self.core.is_turn_of_reads || !can_post) {
            self.core.is_turn_of_reads = false;
            self.send_part(fx);
            return true;
        }
        if can_post {
            self.core.is_turn_of_reads = true;
            self.post(fx);
            return true;
        }
        false
    }

    /// Whether the next posted request may be sent. Error messages need no bus mastering (PCIe Base 7.5.1.1.3).
    fn can_post(&self) -> bool {
        match self.core.posted.front() {
            Some((_, Posted::Write { place, .. })) => self.endpoint.is_bus_master_at(*place),
            Some((_, Posted::Interrupt(..) | Posted::Message(..))) => true,
            None => false,
        }
    }

    /// Whether the next non-posted request may be sent. It does not overtake posted ones (PCIe Base 2.4.1).
    fn can_read(&self, fx: &mut Effects<'_, Self>) -> bool {
        let Some(one) = self.next_non_posted() else {
            return false;
        };
        if let Some((order, _)) = self.core.posted.front()
            && *order < one.order
        {
            return false;
        }
        let is_allowed = if one.atomic.is_some() {
            self.endpoint.is_atomic_requester()
        } else {
            self.endpoint.is_bus_master_at(one.place)
        };
        let (address, len) = self.next_range(one);
        is_allowed && self.core.outstanding.fits(address, len, fx.now())
    }

    fn next_non_posted(&self) -> Option<&NonPosted> {
        let slot = *self.core.to_send.front()?;
        self.core.slots[slot].as_ref()
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

    /// Sends the next packet of a read or an atomic operation.
    fn send_part(&mut self, fx: &mut Effects<'_, Self>) {
        let Some(one) = self.next_non_posted() else {
            return;
        };
        let (address, len) = self.next_range(one);
        let slot = self.core.to_send[0];
        let Some(one) = &mut self.core.slots[slot] else {
            return;
        };
        if one.bytes.is_empty() {
            one.bytes = vec![0; one.len as usize];
        }
        let part = Part {
            slot,
            offset: one.asked,
            place: one.place,
        };
        one.asked += u64::from(len);
        if one.asked == one.len {
            self.core.to_send.pop_front();
        }
        let tag = self.core.outstanding.begin(part, (address, len), fx.now());
        let id = self.endpoint.id_of(one.place);
        let packet = fx.store().claim();
        let content = &mut fx.store()[packet];
        if let Some((operation, operands)) = &one.atomic {
            let header = atomic((id, tag), *operation, (address, len));
            content
                .write(header, Stamp::default())
                .copy_from_slice(operands);
        } else {
            let header = Header::memory_read(id, tag, address, len).expect(IN_PAGE);
            content.write(header, Stamp::default());
        }
        self.endpoint.hand_over(packet, fx);
    }

    /// Sends the next packet of the posted requests.
    fn post(&mut self, fx: &mut Effects<'_, Self>) {
        match self.core.posted.front_mut() {
            Some((
                _,
                Posted::Write {
                    place,
                    tag,
                    address,
                    bytes,
                    sent,
                },
            )) => {
                let id = self.endpoint.id_of(*place);
                let at = *address + *sent as u64;
                let largest = u64::from(self.endpoint.max_payload()) - at % 4;
                let room = MemoryRequest::room_at(at).min(largest) as usize;
                let len = room.min(bytes.len() - *sent);
                let header = Header::memory_write(id, at, len as u32).expect(IN_PAGE);
                let packet = fx.store().claim();
                let lead = (at % 4) as usize;
                fx.store()[packet].write(header, Stamp::default())[lead..lead + len]
                    .copy_from_slice(&bytes[*sent..*sent + len]);
                *sent += len;
                let (is_last, size, tag) = (*sent == bytes.len(), bytes.len(), *tag);
                if is_last {
                    self.core.posted.pop_front();
                    self.core.bytes -= size as u64;
                }
                self.endpoint.hand_over(packet, fx);
                if let Some(tag) = tag.filter(|_| is_last) {
                    self.call(fx.now(), |model, shell| model.sent(tag, shell));
                }
            }
            Some((_, Posted::Interrupt(place, vector))) => {
                let (place, vector) = (*place, *vector);
                self.core.posted.pop_front();
                if let Some(packet) = self.endpoint.interrupt(place, vector, fx) {
                    self.endpoint.hand_over(packet, fx);
                }
            }
            Some((_, Posted::Message(place, severity))) => {
                let (place, severity) = (*place, severity_of(*severity));
                self.core.posted.pop_front();
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

fn severity_of(severity: Severity) -> protocol::Severity {
    match severity {
        Severity::Correctable => protocol::Severity::Correctable,
        Severity::NonFatal => protocol::Severity::NonFatal,
        Severity::Fatal => protocol::Severity::Fatal,
    }
}

const IN_PAGE: &str = "a request stays within its page and the largest size";
