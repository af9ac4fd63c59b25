//! The requests of one function of a device, in order. A request has any length and is divided into packets by the rules of PCI Express.

use std::collections::VecDeque;

use kernel::Effects;
use packet::Stamp;
use peerlane_device::Failure;
use protocol::{AtomicOperation, Header, MemoryRequest, Severity, TrafficClass};
use transaction::{AnsweredPart, FunctionPlace, Memory};

use super::Tags;
use crate::Endpoint;
use crate::endpoint::Device;

/// The requests of one function. `P` is the type for the purpose of a read, and `W` the type for the purpose of a write.
#[derive(Debug)]
pub(crate) struct Lane<P, W> {
    /// Posted requests, oldest first, each with its number in the order of all requests.
    posted: VecDeque<(u64, Posted<W>)>,
    /// The slots of reads and atomic operations that are not completely requested, oldest first.
    to_send: VecDeque<usize>,
    /// Reads and atomic operations in progress.
    slots: Vec<Option<NonPosted<P>>>,
    free: Vec<usize>,
    /// Bytes of all requests in progress.
    bytes: u64,
}

/// The traffic class of the packets of a request, and the stamp for the first byte of the request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    pub(crate) class: TrafficClass,
    pub(crate) stamp: Stamp,
}

impl Mark {
    /// The stamp of the packet whose first byte is byte `at` of the request. If the request belongs to a flow, the `last` flag of its last
    /// packet is the flag of the mark.
    fn stamp(&self, at: u64, is_last: bool) -> Stamp {
        let stamp = self.stamp;
        if stamp.flow.is_none() {
            return stamp;
        }
        Stamp {
            offset: stamp.offset + at,
            last: stamp.last && is_last,
            ..stamp
        }
    }
}

#[derive(Debug)]
pub(crate) enum Posted<W> {
    Write {
        what: W,
        mark: Mark,
        address: u64,
        len: u64,
        /// The number of bytes that were sent.
        sent: u64,
    },
    Interrupt(u16),
    /// An `ERR_COR`, `ERR_NONFATAL` or `ERR_FATAL` message about an internal error of the device.
    Message(Severity),
}

impl<W> Posted<W> {
    pub(crate) fn write(what: W, mark: Mark, (address, len): (u64, u64)) -> Self {
        Posted::Write {
            what,
            mark,
            address,
            len,
            sent: 0,
        }
    }
}

/// An atomic operation and its operands. The operation changes a value in memory and returns the previous value.
pub(crate) type Atomic = (AtomicOperation, Vec<u8>);

/// A read or an atomic operation.
#[derive(Debug)]
struct NonPosted<P> {
    /// The number of the request in the order of all requests.
    order: u64,
    what: P,
    mark: Mark,
    address: u64,
    len: u64,
    /// The number of bytes that were requested in packets.
    asked: u64,
    /// The number of bytes that have arrived or are lost.
    ended: u64,
    failed: Option<Failure>,
    atomic: Option<Atomic>,
}

/// The part of a read or an atomic operation that one packet requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    slot: usize,
    offset: u64,
}

/// A read or an atomic operation that has ended, and the reason if it has failed.
#[derive(Debug)]
pub(crate) struct Ended<P> {
    pub(crate) what: P,
    pub(crate) failed: Option<Failure>,
}

impl<P, W> Lane<P, W> {
    pub(crate) fn new() -> Self {
        Lane {
            posted: VecDeque::new(),
            to_send: VecDeque::new(),
            slots: Vec::new(),
            free: Vec::new(),
            bytes: 0,
        }
    }

    /// Number of posted requests that are not completely sent.
    pub(crate) fn posted(&self) -> usize {
        self.posted.len()
    }

    /// Number of reads and atomic operations that have not ended.
    pub(crate) fn reads(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Number of posted requests that are not completely sent, and of reads and atomic operations that have not ended.
    pub(super) fn waiting(&self) -> usize {
        self.posted() + self.reads()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn is_sent(&self) -> bool {
        self.posted.is_empty() && self.to_send.is_empty()
    }

    /// Whether a read or an atomic operation is not completely requested.
    pub(super) fn has_to_read(&self) -> bool {
        !self.to_send.is_empty()
    }

    /// Adds a read, or an atomic operation.
    pub(crate) fn begin(
        &mut self,
        order: u64,
        (what, mark): (P, Mark),
        (address, len): (u64, u64),
        atomic: Option<Atomic>,
    ) {
        let slot = self.free.pop().unwrap_or(self.slots.len());
        if slot == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[slot] = Some(NonPosted {
            order,
            what,
            mark,
            address,
            len,
            asked: 0,
            ended: 0,
            failed: None,
            atomic,
        });
        self.to_send.push_back(slot);
        self.bytes += len;
    }

    /// Adds a posted request.
    pub(crate) fn post(&mut self, order: u64, posted: Posted<W>) {
        if let Posted::Write { len, .. } = &posted {
            self.bytes += len;
        }
        self.posted.push_back((order, posted));
    }

    /// Whether the next posted request is a write; none if there is no posted request.
    pub(crate) fn next_is_write(&self) -> Option<bool> {
        let (_, posted) = self.posted.front()?;
        Some(matches!(posted, Posted::Write { .. }))
    }

    /// The number in the order of all requests, and the traffic class, of the next posted request, if it may be sent. Error messages do not need
    /// Bus Master Enable (PCIe Base 7.5.1.1.3), and wait for earlier writes.
    pub(super) fn next_post(
        &self,
        place: FunctionPlace,
        endpoint: &Endpoint,
    ) -> Option<(u64, TrafficClass)> {
        let (order, posted) = self.posted.front()?;
        let class = match posted {
            Posted::Write { .. } if !endpoint.is_bus_master_at(place) => return None,
            Posted::Write { mark, .. } => mark.class,
            Posted::Interrupt(_) => endpoint.interrupt_class(),
            Posted::Message(_) => TrafficClass::default(),
        };
        Some((*order, class))
    }

    /// The next read or atomic operation, if it may be sent: its number in the order of all requests, its traffic class, and its next range. It
    /// still needs a tag. It does not pass posted requests (PCIe Base 2.4.1).
    pub(crate) fn next_read(
        &self,
        place: FunctionPlace,
        endpoint: &Endpoint,
    ) -> Option<(u64, TrafficClass, (u64, u32))> {
        let one = self.slots[*self.to_send.front()?].as_ref()?;
        let mut posted = self.posted.front().into_iter();
        let is_behind_posted = posted.any(|(order, _)| *order < one.order);
        let may_send = !is_behind_posted && endpoint.is_bus_master_at(place);
        may_send.then(|| (one.order, one.mark.class, one.next_range(endpoint)))
    }

    /// Sends the next packet of the oldest read or atomic operation; `purpose` makes the purpose of its tag. If atomic operations are not
    /// enabled, an atomic operation is not sent and fails (PCIe Base 7.5.3.16).
    pub(crate) fn send_read<C: Device, Q: Copy>(
        &mut self,
        place: FunctionPlace,
        (tags, purpose): (&mut Tags<Q>, impl FnOnce(Part) -> Q),
        endpoint: &mut Endpoint,
        fx: &mut Effects<'_, C>,
    ) -> Option<Ended<P>> {
        let slot = *self.to_send.front()?;
        let one = self.slots[slot].as_mut()?;
        if one.atomic.is_some() && !endpoint.is_atomic_requester_at(place) {
            one.failed = Some(Failure::NotEnabled);
            self.to_send.pop_front();
            return self.end(slot);
        }
        let range = one.next_range(endpoint);
        let offset = one.asked;
        let purpose = purpose(Part { slot, offset });
        one.asked += u64::from(range.1);
        let is_asked = one.asked == one.len;
        let traffic_class = one.mark.class;
        let stamp = one.mark.stamp(offset, true);
        let packet = match &one.atomic {
            None => {
                let (marks, packets) = ((traffic_class, stamp), (fx.now(), fx.store()));
                tags.read(purpose, (place, range), marks, endpoint, packets)
            }
            Some((operation, operands)) => {
                let of_function = tags.of(place)?;
                let tag = of_function.begin(purpose, range, fx.now());
                let transaction = (endpoint.id_of(place), tag);
                let header = Header::atomic(transaction, *operation, range.0, range.1);
                let header = Header {
                    traffic_class,
                    ..header.expect("an atomic operation has a legal width and place")
                };
                fx.store().make(header, stamp, operands)
            }
        };
        if is_asked {
            self.to_send.pop_front();
        }
        endpoint.hand_over(packet, fx);
        None
    }

    /// Sends the next packet of the oldest posted request. `fill` copies the bytes of a write, from an offset on, into a packet; it may use the
    /// memory behind BAR 0. Returns the purpose of a write whose last packet this was.
    pub(crate) fn send_posted<C: Device>(
        &mut self,
        place: FunctionPlace,
        endpoint: &mut Endpoint,
        fx: &mut Effects<'_, C>,
        fill: impl FnOnce(&W, u64, &mut [u8], &Memory),
    ) -> Option<W> {
        let (_, posted) = self.posted.front_mut()?;
        let packet = match posted {
            Posted::Write {
                what,
                mark,
                address,
                len,
                sent,
            } => {
                let (from, left) = (*address + *sent, *len - *sent);
                let part = MemoryRequest::first_len(from, left, endpoint.write_payload());
                let write = Header::memory_write(endpoint.id_of(place), from, part)
                    .expect("a write request stays within its page and the largest payload");
                let header = Header {
                    traffic_class: mark.class,
                    ..write
                };
                let stamp = mark.stamp(*sent, u64::from(part) == left);
                let packet = fx.store().claim();
                let lead = (from % 4) as usize;
                let bytes = fx.store()[packet].write(header, stamp);
                let bytes = &mut bytes[lead..lead + part as usize];
                fill(what, *sent, bytes, endpoint.bar());
                *sent += u64::from(part);
                endpoint.hand_over(packet, fx);
                if *sent < *len {
                    return None;
                }
                self.bytes -= *len;
                None
            }
            Posted::Interrupt(vector) => endpoint.interrupt(place, *vector, fx),
            Posted::Message(severity) => endpoint.own_error(place, *severity, fx),
        };
        if let Some(packet) = packet {
            endpoint.hand_over(packet, fx);
        }
        match self.posted.pop_front()?.1 {
            Posted::Write { what, .. } => Some(what),
            Posted::Interrupt(_) | Posted::Message(_) => None,
        }
    }

    /// Handles a part of a request. If its data has arrived, `keep` gets the bytes and their offset in the request; otherwise the request has
    /// failed, and no more of it is requested. Returns the request if it has ended.
    pub(crate) fn take(
        &mut self,
        part: &AnsweredPart<Part>,
        data: Result<&[u8], Failure>,
        keep: impl FnOnce(&mut P, u64, &[u8]),
    ) -> Option<Ended<P>> {
        let slot = part.what.slot;
        let one = self.slots[slot].as_mut()?;
        match data {
            Ok(bytes) => {
                let offset = part.what.offset + u64::from(part.offset);
                keep(&mut one.what, offset, bytes);
            }
            Err(why) => {
                one.failed.get_or_insert(why);
                self.to_send.retain(|other| *other != slot);
            }
        }
        one.ended += u64::from(part.len);
        self.end(slot)
    }

    /// Ends the request in this slot if all its bytes have arrived or are lost. A failed request ends when none of its packets is outstanding,
    /// even if it was not completely requested.
    fn end(&mut self, slot: usize) -> Option<Ended<P>> {
        let is_over = |one: &mut NonPosted<P>| {
            one.ended == one.len || one.failed.is_some() && one.ended == one.asked
        };
        let one = self.slots[slot].take_if(is_over)?;
        self.free.push(slot);
        self.bytes -= one.len;
        Some(Ended {
            what: one.what,
            failed: one.failed,
        })
    }

    /// The purpose of the request that contains a part.
    pub(super) fn of(&self, part: &Part) -> Option<&P> {
        self.slots[part.slot].as_ref().map(|one| &one.what)
    }
}

impl<P> NonPosted<P> {
    /// The address and the length of the next packet of the request.
    fn next_range(&self, endpoint: &Endpoint) -> (u64, u32) {
        let (address, left) = (self.address + self.asked, self.len - self.asked);
        let largest = match self.atomic {
            Some(_) => return (address, left as u32),
            None => endpoint.max_read_request(),
        };
        (address, MemoryRequest::first_len(address, left, largest))
    }
}
