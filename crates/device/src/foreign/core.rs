//! The state of a model's requests, timers and answers. The model uses it through the shell.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

use kernel::Time;
use packet::{FlowId, Observation, PacketId, Packets, Stamp};
use peerlane_device::limits::{MOST_WAITING, MOST_WAITING_BYTES, timer_due};
use peerlane_device::{
    self as device, Defect, Label, Misuse, Operation, Port, Request, Severity, Ticket,
};
use protocol::AtomicOperation;
use transaction::{FunctionPlace, OutstandingLimits, Pattern};

use crate::Endpoint;
use crate::endpoint_parameters::class;
use crate::place::place_of;
use crate::requests::{Mark, Posted, Requests};

/// The requests, timers and answers of a model.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) now: Time,
    /// The reason why the model has failed.
    pub(super) failed: Option<String>,
    /// The number of interrupt vectors of each function.
    pub(super) has_vectors: u16,
    /// The number of virtual functions that exist now.
    pub(super) virtual_functions: usize,
    pub(super) requests: Requests<Read, Write>,
    /// Reads of registers that the model has not answered.
    pub(super) open: BTreeMap<Ticket, Open>,
    /// Answers of the model to reads of registers that are not sent yet, oldest first. An answer without bytes is a refusal.
    pub(super) answers: VecDeque<(Open, Option<Vec<u8>>, Option<Defect>)>,
    tickets: u64,
    /// The timers, each with its time, order, number and function.
    timers: BinaryHeap<Reverse<(Time, u64, u64, u8)>>,
    timers_set: u64,
    /// The pattern of each flow.
    patterns: Arc<[Pattern]>,
    /// Observations of flow data that has arrived, which are not reported yet.
    pub(super) arrivals: VecDeque<Observation>,
    /// Vectors whose pending bits are to be cleared.
    pub(super) withdrawn: Vec<(FunctionPlace, u16)>,
}

/// A read or an atomic operation that a model has requested, with the model's tag.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) tag: u64,
    /// The flow to which the data of the request belongs.
    pub(super) flow: Option<FlowId>,
    len: u64,
    /// The bytes that have arrived; empty before the first completion.
    pub(super) bytes: Vec<u8>,
}

impl Read {
    pub(super) fn keep(&mut self, offset: u64, part: &[u8]) {
        self.bytes.resize(self.len as usize, 0);
        self.bytes[offset as usize..][..part.len()].copy_from_slice(part);
    }
}

/// A write that a model has requested, with a tag if the model waits for its end.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) tag: Option<u64>,
    pub(super) bytes: Vec<u8>,
}

/// A read of registers that the model has not answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) packet: PacketId,
    pub(super) place: FunctionPlace,
    pub(super) len: u32,
}

impl Core {
    pub(super) fn new(limits: OutstandingLimits, endpoint: &Endpoint) -> Self {
        Core {
            now: Time::ZERO,
            failed: None,
            has_vectors: 0,
            virtual_functions: 0,
            requests: Requests::new(limits, endpoint),
            open: BTreeMap::new(),
            answers: VecDeque::new(),
            tickets: 0,
            timers: BinaryHeap::new(),
            timers_set: 0,
            patterns: endpoint.patterns(),
            arrivals: VecDeque::new(),
            withdrawn: Vec::new(),
        }
    }

    /// A ticket for a read of registers.
    pub(super) fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }

    pub(super) fn next_timer(&self) -> Time {
        let next = self.timers.peek();
        next.map_or(Time::NEVER, |Reverse((due, ..))| *due)
    }

    /// Removes the next timer that is due, and returns its number.
    pub(super) fn take_timer(&mut self, now: Time) -> Option<u64> {
        if self.next_timer() > now {
            return None;
        }
        self.timers.pop().map(|Reverse((_, _, timer, _))| timer)
    }

    /// Drops all requests, timers and unanswered reads of some functions.
    pub(super) fn forget(
        &mut self,
        is_forgotten: impl Fn(FunctionPlace) -> bool,
        packets: &mut Packets,
    ) {
        let is_kept = |one: FunctionPlace| !is_forgotten(one);
        self.requests.forget(&is_forgotten);
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
            .retain(|Reverse((_, _, _, function))| is_kept(place_of((*function).into())));
    }

    /// The pattern of the flow in a label, if there is such a flow.
    fn pattern(&self, label: &Label) -> Option<&Pattern> {
        self.patterns.get(label.flow as usize)
    }

    /// The mark of a request. The label may contain the number of no flow, because software can write labels.
    fn mark(&self, mark: device::Mark) -> Mark {
        let label = mark.label.filter(|label| self.pattern(label).is_some());
        Mark {
            class: class(mark.traffic_class.into()),
            stamp: label.map_or(Stamp::default(), |label| Stamp {
                flow: Some(FlowId(label.flow)),
                offset: label.offset,
                born: Time::from_fs(label.born_fs),
                last: label.last,
            }),
        }
    }

    /// Checks that another request with this number of bytes may be in progress.
    fn check_room(&self, bytes: u64) -> Result<(), Misuse> {
        let requests = &self.requests;
        if requests.waiting() >= MOST_WAITING || requests.bytes() + bytes > MOST_WAITING_BYTES {
            return Err(Misuse::TooMany);
        }
        Ok(())
    }
}

impl Core {
    /// Takes the model's answer to a read of registers.
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

    fn vectors(&self) -> Option<u16> {
        Some(self.has_vectors)
    }

    fn ask(&mut self, function: u8, request: Request<'_>) -> Result<(), Misuse> {
        self.ask_marked(function, device::Mark::default(), request)
    }

    fn ask_marked(
        &mut self,
        function: u8,
        mark: device::Mark,
        request: Request<'_>,
    ) -> Result<(), Misuse> {
        let mark = self.mark(mark);
        request.check()?;
        if usize::from(function) > self.virtual_functions {
            return Err(Misuse::NoSuchFunction);
        }
        let place = place_of(function.into());
        let read = |tag, len| Read {
            tag,
            flow: mark.stamp.flow,
            len,
            bytes: Vec::new(),
        };
        match request {
            Request::Read { tag, address, len } => {
                self.check_room(len)?;
                let read = read(tag, len);
                self.requests
                    .begin(place, (read, mark), (address, len), None);
            }
            Request::Atomic {
                tag,
                operation,
                address,
                operands,
            } => {
                let len = (operands.len() / operation.operands()) as u64;
                self.check_room(len)?;
                let atomic = Some((operation_of(operation), operands.to_vec()));
                let read = read(tag, len);
                self.requests
                    .begin(place, (read, mark), (address, len), atomic);
            }
            Request::Write {
                tag,
                address,
                bytes,
            } => {
                let range = (address, bytes.len() as u64);
                self.check_room(range.1)?;
                let bytes = bytes.to_vec();
                let write = Posted::write(Write { tag, bytes }, mark, range);
                self.requests.post(place, write);
            }
            Request::Interrupt { vector } => {
                if vector >= self.has_vectors {
                    return Err(Misuse::NoSuchVector);
                }
                self.check_room(0)?;
                self.requests.post(place, Posted::Interrupt(vector));
            }
            Request::Message { severity } => {
                self.check_room(0)?;
                let message = Posted::Message(severity_of(severity));
                self.requests.post(place, message);
            }
            Request::Timer { timer, after_fs } => {
                if self.timers.len() >= MOST_WAITING {
                    return Err(Misuse::TooMany);
                }
                let due = Time::from_fs(timer_due(self.now.as_fs(), after_fs)?);
                self.timers_set += 1;
                let timer = (due, self.timers_set, timer, function);
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

    fn deliver(&mut self, label: Label, bytes: &[u8]) {
        let Some(pattern) = self.pattern(&label) else {
            return;
        };
        let arrival = Observation::Delivered {
            flow: FlowId(label.flow),
            bytes: bytes.len() as u32,
            offset: label.offset,
            born: Time::from_fs(label.born_fs),
            last: label.last,
            intact: pattern.matches(label.offset, bytes),
        };
        self.arrivals.push_back(arrival);
    }

    fn withdraw(&mut self, function: u8, vector: u16) {
        self.withdrawn.push((place_of(function.into()), vector));
    }
}

fn operation_of(operation: Operation) -> AtomicOperation {
    match operation {
        Operation::FetchAdd => AtomicOperation::FetchAdd,
        Operation::Swap => AtomicOperation::Swap,
        Operation::CompareAndSwap => AtomicOperation::CompareAndSwap,
    }
}

fn severity_of(severity: Severity) -> protocol::Severity {
    match severity {
        Severity::Correctable => protocol::Severity::Correctable,
        Severity::NonFatal => protocol::Severity::NonFatal,
        Severity::Fatal => protocol::Severity::Fatal,
    }
}
