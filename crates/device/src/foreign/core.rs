//! The state that a model reaches through the shell: its requests, timers and answers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use kernel::Time;
use packet::{PacketId, Packets};
use peerlane_device::limits::{MOST_WAITING, MOST_WAITING_BYTES, timer_due};
use peerlane_device::{Defect, Failure, Misuse, Operation, Port, Request, Severity, Ticket};
use transaction::{FunctionPlace, OutstandingLimits};

use super::tags::Tags;
use super::{function_of, place_of};
use crate::leaf::Engine;

/// The requests, timers and answers of a model.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) now: Time,
    /// The reason why the model cannot go on.
    pub(super) failed: Option<String>,
    /// The number of interrupt vectors of each function.
    pub(super) has_vectors: u16,
    /// The number of virtual functions that there are now.
    pub(super) virtual_functions: usize,
    /// Posted requests and interrupts, oldest first, each with its place in the order of all requests.
    pub(super) posted: VecDeque<(u64, Posted)>,
    /// Number of requests so far.
    requests: u64,
    /// The slots of reads and atomic operations with parts that are not sent, oldest first.
    pub(super) to_send: VecDeque<usize>,
    /// Reads and atomic operations in progress.
    pub(super) slots: Vec<Option<NonPosted>>,
    pub(super) free_slots: Vec<usize>,
    pub(super) tags: Tags,
    /// Whether the next packet is a non-posted request, if there is one: they take turns with posted ones.
    pub(super) is_turn_of_reads: bool,
    /// Reads of registers that the model has not answered.
    pub(super) open: BTreeMap<Ticket, Open>,
    /// Answers of the model that are not sent, oldest first; no bytes for a refusal.
    pub(super) answers: VecDeque<(Open, Option<Vec<u8>>, Option<Defect>)>,
    tickets: u64,
    /// Timers with time, order, number and function.
    timers: BinaryHeap<Reverse<(Time, u64, u64, u8)>>,
    timers_set: u64,
    /// Bytes of all requests in progress.
    pub(super) bytes: u64,
}

/// A posted request of a model.
#[derive(Debug)]
pub(super) enum Posted {
    Write {
        place: FunctionPlace,
        tag: Option<u64>,
        address: u64,
        bytes: Vec<u8>,
        /// The number of bytes that are sent.
        sent: usize,
    },
    Interrupt(FunctionPlace, u16),
    Message(FunctionPlace, Severity),
}

impl Posted {
    pub(super) fn place(&self) -> FunctionPlace {
        match self {
            Posted::Write { place, .. }
            | Posted::Interrupt(place, _)
            | Posted::Message(place, _) => *place,
        }
    }
}

/// A read or an atomic operation of a model.
#[derive(Debug)]
pub(super) struct NonPosted {
    /// The place in the order of all requests.
    pub(super) order: u64,
    pub(super) place: FunctionPlace,
    pub(super) tag: u64,
    pub(super) address: u64,
    pub(super) len: u64,
    /// The number of bytes that packets have asked for.
    pub(super) asked: u64,
    /// The number of bytes that have come or are lost.
    pub(super) ended: u64,
    /// The bytes that have come; empty before the first request.
    pub(super) bytes: Vec<u8>,
    pub(super) failed: Option<Failure>,
    /// The operation and its operands, if it is not a read.
    pub(super) atomic: Option<(Operation, Vec<u8>)>,
}

/// A read of registers that waits for the model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) packet: PacketId,
    pub(super) place: FunctionPlace,
    pub(super) len: u32,
}

impl Core {
    pub(super) fn new(limits: OutstandingLimits) -> Self {
        Core {
            now: Time::ZERO,
            failed: None,
            has_vectors: 0,
            virtual_functions: 0,
            posted: VecDeque::new(),
            requests: 0,
            to_send: VecDeque::new(),
            slots: Vec::new(),
            free_slots: Vec::new(),
            tags: Tags::new(limits),
            is_turn_of_reads: false,
            open: BTreeMap::new(),
            answers: VecDeque::new(),
            tickets: 0,
            timers: BinaryHeap::new(),
            timers_set: 0,
            bytes: 0,
        }
    }

    /// A ticket for a read of registers.
    pub(super) fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }

    /// The time of the next timer.
    pub(super) fn next_timer(&self) -> Time {
        let next = self.timers.peek();
        next.map_or(Time::NEVER, |Reverse((due, ..))| *due)
    }

    /// Takes the next timer whose time has come.
    pub(super) fn take_timer(&mut self, now: Time) -> Option<u64> {
        if self.next_timer() > now {
            return None;
        }
        self.timers.pop().map(|Reverse((_, _, timer, _))| timer)
    }

    pub(super) fn is_busy(&self) -> bool {
        !self.posted.is_empty() || self.slots.len() > self.free_slots.len()
    }

    pub(super) fn engine(&self, now: Time) -> Engine {
        if !self.is_busy() {
            Engine::Idle
        } else if self.waits_for_tags(now) {
            Engine::Tags
        } else {
            Engine::Busy
        }
    }

    /// Whether there are requests to send, and no function with one has a free tag.
    fn waits_for_tags(&self, now: Time) -> bool {
        let mut waiting = self
            .to_send
            .iter()
            .filter_map(|slot| self.slots[*slot].as_ref());
        !self.to_send.is_empty() && waiting.all(|one| !self.tags.is_open(one.place, now))
    }

    /// Drops all requests, timers and unanswered reads of some functions.
    pub(super) fn forget(
        &mut self,
        is_forgotten: impl Fn(FunctionPlace) -> bool,
        packets: &mut Packets,
    ) {
        let is_kept = |one: FunctionPlace| !is_forgotten(one);
        self.posted.retain(|(_, posted)| is_kept(posted.place()));
        let slots = &mut self.slots;
        for slot in slots.iter_mut() {
            if slot.as_ref().is_some_and(|one| !is_kept(one.place)) {
                *slot = None;
            }
        }
        self.to_send.retain(|slot| slots[*slot].is_some());
        self.free_slots = (0..slots.len())
            .rev()
            .filter(|slot| slots[*slot].is_none())
            .collect();
        self.tags.forget(|one| !is_kept(one));
        let mut release = |open: &Open| {
            let kept = is_kept(open.place);
            if !kept {
                packets.release(open.packet);
            }
            kept
        };
        self.open.retain(|_, open| release(open));
        self.answers.retain(|(open, ..)| release(open));
        self.timers
            .retain(|Reverse((_, _, _, function))| is_kept(place_of(*function)));
        self.bytes = self.waiting_bytes();
    }

    fn waiting_bytes(&self) -> u64 {
        let posted = self.posted.iter().map(|(_, posted)| match posted {
            Posted::Write { bytes, .. } => bytes.len() as u64,
            Posted::Interrupt(..) | Posted::Message(..) => 0,
        });
        let reads = self.slots.iter().flatten().map(|one| one.len);
        posted.chain(reads).sum()
    }

    fn waiting(&self) -> usize {
        self.posted.len() + self.slots.len() - self.free_slots.len()
    }

    /// Counts the bytes of one more request, unless too many requests or bytes are in progress.
    fn take_in(&mut self, bytes: u64) -> Result<(), Misuse> {
        if self.waiting() >= MOST_WAITING || self.bytes + bytes > MOST_WAITING_BYTES {
            return Err(Misuse::TooMany);
        }
        self.bytes += bytes;
        Ok(())
    }

    fn post(&mut self, request: Posted) {
        self.requests += 1;
        self.posted.push_back((self.requests, request));
    }

    /// Takes in a read, or an atomic operation with its operands.
    fn begin(
        &mut self,
        place: FunctionPlace,
        tag: u64,
        (address, len): (u64, u64),
        atomic: Option<(Operation, Vec<u8>)>,
    ) -> Result<(), Misuse> {
        self.take_in(len)?;
        self.requests += 1;
        let request = NonPosted {
            order: self.requests,
            place,
            tag,
            address,
            len,
            asked: 0,
            ended: 0,
            bytes: Vec::new(),
            failed: None,
            atomic,
        };
        let slot = self.free_slots.pop().unwrap_or(self.slots.len());
        if slot == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[slot] = Some(request);
        self.to_send.push_back(slot);
        Ok(())
    }
}

impl Core {
    /// Takes the answer to a read of registers.
    fn answer(
        &mut self,
        ticket: Ticket,
        bytes: Option<&[u8]>,
        defect: Option<Defect>,
    ) -> Result<(), Misuse> {
        let open = *self.open.get(&ticket).ok_or(Misuse::NoSuchTicket)?;
        if bytes.is_some_and(|bytes| bytes.len() != open.len as usize) {
            return Err(Misuse::AnswerLength);
        }
        self.open.remove(&ticket);
        let bytes = bytes.map(<[u8]>::to_vec);
        self.answers.push_back((open, bytes, defect));
        Ok(())
    }
}

impl Port for Core {
    fn now_fs(&self) -> u64 {
        self.now.as_fs()
    }

    fn ask(&mut self, function: u8, request: Request<'_>) -> Result<(), Misuse> {
        request.check()?;
        if usize::from(function) > self.virtual_functions {
            return Err(Misuse::NoSuchFunction);
        }
        let place = place_of(function);
        match request {
            Request::Read { tag, address, len } => {
                self.begin(place, tag, (address, len), None)?;
            }
            Request::Atomic {
                tag,
                operation,
                address,
                operands,
            } => {
                let len = (operands.len() / operation.operands()) as u64;
                let atomic = Some((operation, operands.to_vec()));
                self.begin(place, tag, (address, len), atomic)?;
            }
            Request::Write {
                tag,
                address,
                bytes,
            } => {
                self.take_in(bytes.len() as u64)?;
                self.post(Posted::Write {
                    place,
                    tag,
                    address,
                    bytes: bytes.to_vec(),
                    sent: 0,
                });
            }
            Request::Interrupt { vector } => {
                if vector >= self.has_vectors {
                    return Err(Misuse::NoSuchVector);
                }
                self.take_in(0)?;
                self.post(Posted::Interrupt(place, vector));
            }
            Request::Message { severity } => {
                self.take_in(0)?;
                self.post(Posted::Message(place, severity));
            }
            Request::Timer { timer, after_fs } => {
                if self.timers.len() >= MOST_WAITING {
                    return Err(Misuse::TooMany);
                }
                let due = Time::from_fs(timer_due(self.now.as_fs(), after_fs)?);
                self.timers_set += 1;
                let timer = (due, self.timers_set, timer, function_of(place));
                self.timers.push(Reverse(timer));
            }
            Request::Answer { ticket, bytes } => self.answer(ticket, bytes, None)?,
            Request::Malformed {
                ticket,
                bytes,
                defect,
            } => self.answer(ticket, Some(bytes), Some(defect))?,
            Request::Fail { why } => {
                self.failed.get_or_insert_with(|| why.to_owned());
            }
        }
        Ok(())
    }
}
