//! The interface between a host's software and its root complex.

mod configuration;
mod page_tables;
mod requests;

use std::fmt::Debug;

use kernel::Time;
use packet::{FlowId, PacketId, Packets};
use protocol::{Completion, CompletionTimeout};
use transaction::{ConfigAccess, FunctionPlace, Next, Taken};

use crate::{CoreAccess, Ram, TranslationOrder};

pub(super) use configuration::Configuration;

/// The software of a host, which sends requests from the top of the tree.
pub trait Cpu: Debug {
    /// The next action of the software. This function is called again after each event that may change the result.
    fn next(&mut self, now: Time, packets: &mut Packets, memory: Ram<'_>) -> Next;
    /// The next action of programs only, while the window of requests is full. The programs continue to run. Of their requests, the caller
    /// holds back the first store.
    fn next_of_programs(&mut self, now: Time, packets: &mut Packets, memory: Ram<'_>) -> Next;
    /// Handles a completion with its payload. Returns `None` if no request waits for it.
    fn take(&mut self, completion: &Completion, payload: &[u8]) -> Option<Taken>;
    /// Handles a completion of a program's load. Returns false if no load waits for it.
    fn take_load(&mut self, completion: &Completion, payload: &[u8], now: Time) -> bool;
    /// Ends a load of a program whose completion timeout has expired. Returns the load's address, and the number of bytes that have not
    /// arrived.
    fn give_up_load(&mut self, now: Time) -> Option<(u64, u32)>;
    /// Handles the end of a round trip of `flow`. Returns false if no round trip of this flow is outstanding.
    fn complete_round_trip(&mut self, flow: FlowId, at: Time) -> bool;
    /// Limits the payload of the CPU's packets to `max_payload` bytes from now on.
    fn set_max_payload(&mut self, max_payload: u32);
    /// Selects the completion timeout of the CPU's requests from now on.
    fn time_out_after(&mut self, timeout: CompletionTimeout);
    /// The first address that `flow` accesses.
    fn address_of(&self, flow: FlowId) -> Option<u64>;
    /// Handles a message signalled interrupt: the 32 bits that the function wrote.
    fn interrupt(&mut self, message: u32);
    /// The next access to a line in the cache of a core, if memory is coherent.
    fn next_access(&mut self) -> Option<CoreAccess>;
    /// Reports the completion of an access, with the bytes that it read, or none if they are poisoned.
    fn accessed(&mut self, ticket: u32, bytes: Vec<u8>, now: Time);
    /// The next change of the page tables of devices with virtual addresses.
    fn next_order(&mut self) -> Option<TranslationOrder>;
    /// Reports the end of a change of page tables, after all devices have confirmed it.
    fn ordered(&mut self, ticket: u32, now: Time);
    /// The next access of a program to a configuration space, with the ticket of the program.
    fn next_configuration(&mut self) -> Option<(u32, ConfigAccess)>;
    /// Reports the result of an access to a configuration space: the value, or none if no function answered.
    fn configured(&mut self, ticket: u32, result: Option<u32>, now: Time);
    /// Whether the software needs a notification when a device writes any of these `len` bytes of memory.
    fn watches(&self, address: u64, len: u32) -> bool;
    /// Reports that a device has written these `len` bytes.
    fn written(&mut self, address: u64, len: u32);
}

/// An event that the root complex reports to the CPU.
#[derive(Clone, Copy, Debug)]
pub(super) enum Notice {
    /// An interrupt with this message.
    Interrupt(u32),
    /// A write to an address, with its number of bytes.
    Written(u64, u32),
    /// A request of the CPU that ends at this function: at a root port whose link is down, or at the host bridge, because no function has
    /// the address.
    Undeliverable(FunctionPlace, PacketId),
}

/// The requests of the CPU that wait for a wire or are in transmission.
#[derive(Debug)]
pub(super) struct RequestWindow {
    count: u32,
    most: u32,
    /// A store of a program that waits until the window has space.
    pub(super) waiting: Option<PacketId>,
}

impl RequestWindow {
    pub(super) fn new(most: u32) -> Self {
        Self {
            count: 0,
            most,
            waiting: None,
        }
    }

    /// Whether the CPU may send another request.
    pub(super) fn is_open(&self) -> bool {
        self.count < self.most
    }

    pub(super) fn enter(&mut self) {
        self.count += 1;
    }

    pub(super) fn leave(&mut self) {
        self.count -= 1;
    }
}
