//! Accesses to buffers, one after the other.

use host::commanded::Completion;
use kernel::{Bytes, Span};
use transaction::AccessKind;

use crate::workload::entry;

kernel::choices! {
    /// Order of the places of accesses.
    pub enum Order {
        /// Each access behind the last one.
        Sequential = "sequential",
        /// Random places in the buffer.
        Random = "random",
        /// Always the beginning of the buffer.
        Local = "local",
    }
}

kernel::choices! {
    /// The starter of the accesses of a device, as written.
    pub enum Driven {
        /// The device itself.
        Device = "device",
        /// A program on the host above it, by its registers.
        Program = "program",
    }
}

kernel::parameters! {
    /// Accesses one after the other, besides their `id`, the node that makes them (`by`), and their `buffer`.
    pub struct AccessParameters {
        /// Kind of access: "read", "write", "atomic-store", "atomic-load", "atomic-swap" or "atomic-compare".
        kind: AccessKind = AccessKind::Read, from "a common choice";
        /// Bytes of each access: of an atomic operation 4, 8 or 16; of a block-dma only an atomic-compare has 16.
        size: Bytes = Bytes(64), within Bytes(1)..=Bytes(1 << 30), from "a cache line";
        /// Number of measured accesses, on each core.
        count: u64 = 1000, within 1..=1_000_000_000, from "our choice";
        /// Number of accesses before the measured ones.
        warm_up: u64 = 0, from "our choice: all are measured";
        /// Order of places: "sequential", behind the last one, "random", at any multiple of the size in the buffer, or "local", at the beginning.
        order: Order = Order::Random, from "random places force misses";
        /// Number of cores of a host that make accesses at the same time.
        cores: u32 = 1, within 1..=62, from "our choice";
        /// Number of the first core.
        first_core: u32 = 0, within 0..=61, from "our choice";
        /// Time of the first access.
        start: Span = Span::ZERO, from "the beginning of the run";
        /// Time from the end of each access to the beginning of the next.
        interval: Span = Span::ZERO, from "as fast as possible";
        /// Software time around each access (call, doorbell, interrupt or poll, return): it passes with the interval, and rates count it, but no latency.
        turnaround: Span = Span::ZERO, from "our choice: whoever makes them starts them itself";
        /// Starter of each access of a device: "device", itself, or "program": a program on the host writes the device's registers by a system call, and waits for the end. Rates then count the time of the program.
        driven: Driven = Driven::Device, from "our choice: the device alone, without software";
        /// How the program learns of the end of an access: "poll", by reads of the status register, or "interrupt".
        completion: Completion = Completion::Poll, from "our choice: the shorter one for small accesses";
        /// Whether an accelerator starts with the translations of the buffer, as far as it can keep them.
        warm_translations: bool = false, from "our choice: it asks for what it needs";
    }
}

entry! {
    /// One `[[accesses]]` entry.
    pub struct Access, called "accesses" {
        /// The coherent host, or the accelerator or block-dma, that makes them.
        by: String, of "a host, an accelerator or a block-dma";
        /// The buffer that they are to.
        buffer: String, of "a [buffers.NAME]";
        ..parameters: AccessParameters, in "accesses";
    }
}
