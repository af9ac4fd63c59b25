//! What threads load across the fabric: one read request each.

use std::collections::VecDeque;

use kernel::Time;
use packet::{PacketId, Packets, Stamp};
use protocol::{Completion, FunctionId, Header, Status};
use transaction::{Outstanding, RequesterLimits};

use crate::ThreadId;

/// Loads of threads, under tags of their own: those of a phantom function beside that of flows (PCIe Base 2.2.6.2).
#[derive(Debug)]
pub(crate) struct Loads {
    id: FunctionId,
    waiting: VecDeque<(ThreadId, u64, u32)>,
    open: Outstanding<ThreadId>,
}

/// A part of what a thread loads.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) thread: ThreadId,
    /// Its bytes; none if it could not be read.
    pub(crate) bytes: Option<Vec<u8>>,
    /// Whether nothing more is to come.
    pub(crate) last: bool,
}

/// Beside the function of flows.
const PHANTOM: u8 = 1;

impl Loads {
    pub(crate) fn new(id: FunctionId, limits: &RequesterLimits) -> Self {
        Self {
            id: FunctionId::new(id.bus(), id.device(), PHANTOM),
            waiting: VecDeque::new(),
            open: Outstanding::new(limits.tags, limits.completion_timeout),
        }
    }

    /// A thread wants so many bytes from an address.
    pub(crate) fn push(&mut self, thread: ThreadId, address: u64, len: u32) {
        self.waiting.push_back((thread, address, len));
    }

    /// The next request, if there is a tag for it.
    pub(crate) fn next(&mut self, now: Time, packets: &mut Packets) -> Option<PacketId> {
        let (thread, address, len) = self.waiting.pop_front_if(|_| self.open.is_open())?;
        let tag = self.open.begin(thread, len, now);
        let header =
            Header::memory_read(self.id, tag, address, len).expect("a program loads within a page");
        let packet = packets.claim();
        let stamp = Stamp {
            born: now,
            ..Stamp::default()
        };
        packets[packet].write(header, stamp);
        Some(packet)
    }

    /// What a completion brings; `None` when no load waits for it.
    pub(crate) fn take(&mut self, completion: &Completion, payload: &[u8]) -> Option<Loaded> {
        let own = completion.requester == self.id;
        let part = own.then(|| self.open.take(completion)).flatten()?;
        let lead = usize::from(completion.lower_address) % 4;
        let bytes = payload.get(lead..lead + part.len as usize);
        let has_come = completion.status == Status::Successful;
        Some(Loaded {
            thread: part.what,
            bytes: bytes.filter(|_| has_come).map(<[u8]>::to_vec),
            last: part.last,
        })
    }

    /// The thread whose load was not answered in time.
    pub(crate) fn give_up(&mut self, now: Time) -> Option<ThreadId> {
        self.open.give_up(now).map(|part| part.what)
    }

    /// When the oldest load is given up.
    pub(crate) fn deadline(&mut self) -> Time {
        self.open.oldest_deadline()
    }
}
