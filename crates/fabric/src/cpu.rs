//! The software of a host as its root complex sees it.

use std::fmt::Debug;

use kernel::Time;
use link::{FlowId, Packets};
use protocol::Completion;
use transaction::{Next, Requester, Taken};

/// Who makes requests at the top of the tree.
pub trait Cpu: Debug {
    /// What it does next. Asked again after everything that may have changed the answer.
    fn next(&mut self, now: Time, packets: &mut Packets) -> Next;
    /// A completion with its payload; `None` when no request waits for it.
    fn take(&mut self, completion: &Completion, payload: &[u8]) -> Option<Taken>;
    /// A round trip of `flow` is back. False when none of that flow is away.
    fn came_back(&mut self, flow: FlowId, at: Time) -> bool;
    /// From now on its packets carry so many bytes at most.
    fn follow(&mut self, max_payload: u32);
    /// The first address of `flow`.
    fn address_of(&self, flow: FlowId) -> Option<u64>;
    /// A message signalled interrupt has arrived: the 32 bits that its function wrote.
    fn interrupt(&mut self, message: u32);
}

/// A host that runs flows and no programs: interrupts find nobody.
impl Cpu for Requester {
    fn next(&mut self, now: Time, packets: &mut Packets) -> Next {
        Requester::next(self, now, packets)
    }
    fn take(&mut self, completion: &Completion, payload: &[u8]) -> Option<Taken> {
        Requester::take(self, completion, payload)
    }
    fn came_back(&mut self, flow: FlowId, at: Time) -> bool {
        Requester::came_back(self, flow, at)
    }
    fn follow(&mut self, max_payload: u32) {
        self.set_max_payload(max_payload);
    }
    fn address_of(&self, flow: FlowId) -> Option<u64> {
        Requester::address_of(self, flow)
    }
    fn interrupt(&mut self, _: u32) {}
}
