//! The `[[accesses]]` section: accesses to buffers, each of which begins after the previous one has ended.

use host::commanded::Completion;
use kernel::{Bytes, Span};
use transaction::AccessKind;

use crate::workload::entry;

kernel::choices! {
    /// Order of the addresses of accesses.
    pub enum Order {
        /// Each access begins where the previous one ended.
        Sequential = "sequential",
        /// Each access is at a random place in the buffer.
        Random = "random",
        /// Each access is at the beginning of the buffer.
        Local = "local",
    }
}

kernel::choices! {
    /// The starter of a device's accesses: the device, or a program on the host.
    pub enum Driven {
        /// The device starts its accesses itself.
        Device = "device",
        /// A program on the host above the device starts them by writes to the device's registers.
        Program = "program",
    }
}

kernel::parameters! {
    /// Parameters of an `[[accesses]]` entry, besides its `id`, the node that makes the accesses (`by`), and their `buffer`.
    pub struct AccessParameters {
        /// Kind of access: "read", "write", "atomic-store", "atomic-load", "atomic-swap" or "atomic-compare".
        kind: AccessKind = AccessKind::Read, from "a common choice";
        /// Bytes of each access. An atomic operation has 4, 8 or 16; by a block-dma, only an atomic-compare can have 16.
        size: Bytes = Bytes(64), within Bytes(1)..=Bytes(1 << 30), from "a cache line";
        /// Number of measured accesses, on each core.
        count: u64 = 1000, within 1..=1_000_000_000, from "our choice";
        /// Number of accesses before the measured ones.
        warm_up: u64 = 0, from "our choice: all are measured";
        /// Order of addresses: "sequential", each where the previous access ended; "random", at any multiple of the size in the buffer; or "local",
        /// at the beginning.
        order: Order = Order::Random, from "random places force misses";
        /// Number of cores of a host that make accesses at the same time.
        cores: u32 = 1, within 1..=62, from "our choice";
        /// Number of the first core.
        first_core: u32 = 0, within 0..=61, from "our choice";
        /// Time of the first access.
        start: Span = Span::ZERO, from "the beginning of the run";
        /// Time from the end of each access to the beginning of the next.
        interval: Span = Span::ZERO, from "as fast as possible";
        /// Software time around each access (call, doorbell, interrupt or poll, return). It is added to the interval and lowers the rate, but is no part of the latency.
        turnaround: Span = Span::ZERO, from "our choice: whoever makes them starts them itself";
        /// What starts each access of a device: "device", the device itself; or "program", a program on the host, which writes the device's registers in a system call and waits for the end of the access. With "program", rates include the time of the program.
        driven: Driven = Driven::Device, from "our choice: the device alone, without software";
        /// How the program detects the end of an access: "poll", by reads of the status register, or "interrupt".
        completion: Completion = Completion::Poll, from "our choice: the shorter one for small accesses";
        /// Whether an accelerator has the address translations of the buffer at the start, up to the capacity of its translation cache.
        warm_translations: bool = false, from "our choice: it asks for what it needs";
    }
}

entry! {
    /// One `[[accesses]]` entry.
    pub struct Access, called "accesses" {
        /// The coherent host, accelerator or block-dma that makes the accesses.
        by: String, of "a host, an accelerator or a block-dma";
        /// The buffer that is accessed.
        buffer: String, of "a [buffers.NAME]";
        ..parameters: AccessParameters, in "accesses";
    }
}
