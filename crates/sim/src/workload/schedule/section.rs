//! The `[[schedules]]` section: collective operations of GPUs, whose steps depend on each other.

use device::gpu::program::Engine;
use kernel::{Bytes, Span};

use crate::workload::entry;

kernel::choices! {
    /// A collective operation, as in MPI and NCCL.
    pub enum Operation {
        /// Every device gets the sum of the vectors of all devices.
        AllReduce = "all-reduce",
        /// Every device gets the segments of all devices.
        AllGather = "all-gather",
        /// Each device gets one segment of the sum of the vectors of all devices.
        ReduceScatter = "reduce-scatter",
        /// Each device sends a different segment to each other device.
        AllToAll = "all-to-all",
        /// Every device gets the vector of the first device.
        Broadcast = "broadcast",
    }
}

kernel::choices! {
    /// The algorithm of a collective operation.
    pub enum Algorithm {
        /// Each device exchanges data with its neighbours in a ring.
        Ring = "ring",
        /// Each device exchanges data with all other devices at once.
        OneShot = "one-shot",
        /// A one-shot reduce-scatter, then a one-shot all-gather.
        TwoShot = "two-shot",
        /// A reduce-scatter in each island, an all-reduce across the islands, then an all-gather in each island.
        Islands = "islands",
    }
}

kernel::choices! {
    /// The end of a transfer that makes its requests.
    pub enum By {
        /// The source writes to the destination.
        Push = "push",
        /// The destination reads from the source.
        Pull = "pull",
    }
}

kernel::parameters! {
    /// Parameters of a `[[schedules]]` entry, besides its `id` and its `devices`.
    pub struct ScheduleParameters {
        /// "all-reduce", "all-gather", "reduce-scatter", "all-to-all" or "broadcast". Sums are sums of 32-bit words.
        operation: Operation = Operation::AllReduce, from "our choice: the most common one";
        /// "ring", "one-shot", "two-shot" or "islands". The last two are for an all-reduce only.
        algorithm: Algorithm = Algorithm::Ring, from "our choice: the least data on each link";
        /// Bytes of the vector of each device.
        size: Bytes = Bytes(1 << 20), within Bytes(4)..=Bytes(1 << 34), from "our choice";
        /// Largest part of a vector that is moved, signalled and reduced on its own, so that transfers and sums overlap.
        chunk: Bytes = Bytes(512 << 10), within Bytes(4)..=Bytes(1 << 34), from "NCCL: a buffer of 4 MiB in 8 steps";
        /// "push", the source writes, or "pull", the destination reads.
        by: By = By::Push, from "our choice: writes need no round trip";
        /// "kernel", loads and stores, or "copy", the copy engines.
        engine: Engine = Engine::Kernel, from "our choice: as collective libraries move data without other links";
        /// Number of devices in each island, in the order of `devices`; for the algorithm "islands" only.
        island: u32 = 2, within 1..=1024, from "our choice: the smallest island";
        /// Start time of the schedule.
        start: Span = Span::ZERO, from "the beginning of the run";
    }
}

entry! {
    /// One `[[schedules]]` entry.
    pub struct Schedule, called "schedule" {
        lists {
            /// The GPUs that take part, in the order of their ranks.
            devices: String, of "devices with model = \"gpu\"";
        }
        ..parameters: ScheduleParameters, in "schedules";
    }
}
