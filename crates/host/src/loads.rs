//! Loads of threads across the fabric, each with one read request.

use std::collections::VecDeque;

use kernel::Time;
use packet::{PacketId, Packets, Stamp};
use protocol::{Completion, FunctionId, Status, TrafficClass};
use transaction::{Outstanding, RequesterLimits};

use crate::ThreadId;

/// The outstanding loads of threads. They use the tags of a phantom function, separate from the tags of flows (PCIe Base 2.2.6.2).
#[derive(Debug)]
pub(crate) struct Loads {
    id: FunctionId,
    waiting: VecDeque<(Load, u32)>,
    pub(crate) open: Outstanding<Load>,
}

/// The thread that loads, and the address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) thread: ThreadId,
    pub(crate) address: u64,
}

/// A part of the data of a load.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) thread: ThreadId,
    /// The bytes of the part, or the status of its completion if the read has failed.
    pub(crate) bytes: Result<Vec<u8>, Status>,
    /// Whether this is the last part.
    pub(crate) last: bool,
}

/// The reason why a load has no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadFailure {
    /// A completion with this status.
    Status(Status),
    /// No completion arrived in time.
    TimedOut,
}

/// The phantom function number of loads. Flows use the function itself.
const PHANTOM: u8 = 1;

impl Loads {
    pub(crate) fn new(id: FunctionId, limits: &RequesterLimits) -> Self {
        Self {
            id: FunctionId::new(id.bus(), id.device(), PHANTOM),
            waiting: VecDeque::new(),
            open: Outstanding::new(limits.outstanding),
        }
    }

    /// Queues a load of `len` bytes at `address` for a thread.
    pub(crate) fn push(&mut self, thread: ThreadId, address: u64, len: u32) {
        self.waiting.push_back((Load { thread, address }, len));
    }

    /// Returns the next read request, if a tag is free.
    pub(crate) fn next(&mut self, now: Time, packets: &mut Packets) -> Option<PacketId> {
        let (load, len) = self.waiting.pop_front_if(|_| self.open.is_open(now))?;
        let stamp = Stamp {
            born: now,
            ..Stamp::default()
        };
        let range = (self.id, (load.address, len));
        let marks = (TrafficClass::default(), stamp);
        Some(self.open.read(load, range, marks, (now, packets)))
    }

    /// Handles a completion. Returns `None` if no load waits for it.
    pub(crate) fn take(&mut self, completion: &Completion, payload: &[u8]) -> Option<Loaded> {
        let own = completion.requester == self.id;
        let part = own.then(|| self.open.take(completion)).flatten()?;
        let data = part.data(completion, payload);
        Some(Loaded {
            thread: part.what.thread,
            bytes: data.map(<[u8]>::to_vec),
            last: part.last,
        })
    }
}
