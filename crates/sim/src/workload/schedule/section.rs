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
        /// The steps of the `[[steps]]` that name the schedule.
        Steps = "steps",
    }
}

impl Operation {
    /// The share of a vector that each of `count` devices must exchange, as nccl-tests define it.
    pub(super) fn share(self, count: usize) -> f64 {
        let others = (count - 1) as f64 / count as f64;
        match self {
            Operation::AllReduce => 2.0 * others,
            Operation::AllGather | Operation::ReduceScatter | Operation::AllToAll => others,
            Operation::Broadcast | Operation::Steps => 1.0,
        }
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

kernel::choices! {
    /// The work of a step.
    pub enum StepWork {
        /// Writes bytes of the device to its peer.
        Push = "push",
        /// Reads bytes of the peer into the device.
        Pull = "pull",
        /// Adds 32-bit words of the device to other words of it.
        Reduce = "reduce",
        /// Copies bytes within the device.
        Copy = "copy",
        /// Works for a time without requests.
        Compute = "compute",
    }
}

kernel::parameters! {
    /// Parameters of a `[[steps]]` entry, besides its `id`, its `schedule`, its `device` and the steps `after` which it begins.
    pub struct StepParameters {
        /// "push", write to the peer; "pull", read from the peer; "reduce", add words at `peer_offset` of the device itself to the words at `offset`; "copy", copy bytes from `offset` to `peer_offset` of the device itself; or "compute", work without requests.
        work: StepWork = StepWork::Push, from "our choice";
        /// The other end of a push or a pull: a device of the schedule, or the host above.
        peer: Option<String> = None, from "our choice: none";
        /// Number of bytes; none for the whole vector of the schedule.
        size: Option<Bytes> = None, within None..=Some(Bytes(1 << 34)), from "our choice: everything";
        /// Offset of the first byte in the vector of the device.
        offset: Bytes = Bytes(0), within Bytes(0)..=Bytes(1 << 34), from "our choice: the first byte";
        /// Offset of the first byte in the vector of the peer; of a reduce or a copy, in the vector of the device itself.
        peer_offset: Bytes = Bytes(0), within Bytes(0)..=Bytes(1 << 34), from "our choice: the first byte";
        /// "kernel", loads and stores, or "copy", a copy engine, for a push or a pull; none for the engine of the schedule.
        engine: Option<Engine> = None, from "our choice: the engine of the schedule";
        /// The time of a compute step.
        time: Span = Span::ZERO, within Span::ZERO..=Span::from_us(50_000), from "our choice: none";
    }
}

entry! {
    /// One `[[steps]]` entry.
    pub struct Step, called "step" {
        /// The schedule with operation = "steps" that the step belongs to.
        schedule: String, of "a [[schedules]] with operation = \"steps\"";
        /// The GPU that makes the step.
        device: String, of "a device of the schedule";
        optional lists {
            /// The steps that must have ended before this one begins. If a step is one of another device, that device stores a flag.
            after: String;
        }
        ..parameters: StepParameters, in "steps";
    }
}

kernel::parameters! {
    /// Parameters of a `[[schedules]]` entry, besides its `id` and its `devices`.
    pub struct ScheduleParameters {
        /// "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast" or "steps", for the steps in `[[steps]]`. Sums are sums of 32-bit words.
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
