//! Parameters of a GPU.

use kernel::{Bandwidth, Bytes, Span};
use protocol::{Bar, Identity};

use crate::{EndpointParameters, LeafParameters, Properties};

kernel::parameters! {
    /// The parameters of a GPU: its memory, its copy engines, and the loads and stores of its kernels.
    pub struct GpuParameters {
        /// Size of the memory. BAR 0 gives access to the whole memory; its size is the next power of two, and its address has 64 bits. Software can make it smaller (Resizable BAR).
        memory: Bytes = Bytes(16 << 30), within Bytes(1 << 20)..=Bytes(1 << 40), from "our choice: the memory of a small data center card";
        /// Rate of the memory, for reads and writes together. Reductions and local copies take it.
        memory_bandwidth: Bandwidth = Bandwidth(1_000_000_000_000), within Bandwidth(1_000_000)..=Bandwidth(1_000_000_000_000_000), from "our choice: common for GDDR6X and HBM2";
        /// Number of copies that copy engines can make at the same time. Further copies of a schedule wait. Flows do not wait, because each flow
        /// stands for a program with a copy engine of its own.
        copy_engines: u32 = 2, within 1..=64, from "common: one for each direction (CUDA, asyncEngineCount)";
        /// Time from the begin of a copy to its first request.
        copy_latency: Span = Span::from_ns(1_500), within Span::ZERO..=Span::from_us(1_000), ranges ["1 us", "3 us"], from "our choice";
        /// Largest payload of a write of a copy engine, if the max payload size permits it.
        copy_payload: Bytes = Bytes(256), among [Bytes(32), Bytes(64), Bytes(128), Bytes(256), Bytes(512)], lifts "payload" to ["512 B"], ranges ["128 B", "256 B"], from "our choice: the max payload size of most GPUs";
        /// Largest payload of a store of a kernel, after stores of neighbouring threads have been combined, if the max payload size permits it.
        store_payload: Bytes = Bytes(128), among [Bytes(32), Bytes(64), Bytes(128), Bytes(256), Bytes(512)], lifts "payload" to ["512 B"], ranges ["64 B", "128 B"], from "our choice: one line of the cache of a GPU";
        /// Largest request of a load of a kernel, after loads of neighbouring threads have been combined.
        load_size: Bytes = Bytes(128), among [Bytes(32), Bytes(64), Bytes(128), Bytes(256)], lifts "tags" to ["256 B"], ranges ["64 B", "128 B"], from "our choice: one line of the cache of a GPU";
        /// Time from the start of a kernel to its first load or store.
        kernel_latency: Span = Span::from_ns(2_000), within Span::ZERO..=Span::from_us(1_000), ranges ["1 us", "5 us"], from "our choice";
        /// Time from the arrival of a flag in the memory to the next step of the kernel that polls the flag.
        poll_latency: Span = Span::from_ns(500), within Span::ZERO..=Span::from_us(1_000), ranges ["250 ns", "1 us"], from "our choice: a load from the memory of the GPU";
        /// Rate at which the memory takes payloads of writes from other devices and from hosts; none for no limit. Data that the GPU has read is
        /// not limited.
        ingress_bandwidth: Option<Bandwidth> = None, within None..=Some(Bandwidth(1_000_000_000_000_000)), lifts "datapath", from "our choice: the link is the limit";
        /// Most outstanding non-posted requests.
        tags: u32 = 256, within 1..=768, lifts "tags" to ["768"], from "PCIe Base 2.2.6.2: 256 with extended tags";
    }
}

impl GpuParameters {
    /// Size of BAR 0.
    fn aperture(&self) -> u64 {
        self.memory.0.next_power_of_two()
    }

    /// The parameters of the PCI Express core of a GPU, whose BAR 0 is the memory.
    pub(super) fn core(&self, core: EndpointParameters) -> EndpointParameters {
        EndpointParameters {
            bar: Bytes(self.aperture()),
            ..core
        }
    }
}

impl LeafParameters for GpuParameters {
    fn bars(&self, core: &EndpointParameters, window: Option<Bar>) -> Vec<Bar> {
        let memory = Bar {
            index: 0,
            size: self.aperture(),
            wide: true,
        };
        [memory]
            .into_iter()
            .chain(core.msix_bar())
            .chain(window)
            .collect()
    }

    fn properties(&self) -> Properties {
        Properties {
            tags: self.tags,
            begins_flows: true,
            most_virtual_functions: 0,
            has_resizable_bar: true,
            identity: Identity {
                vendor: 0x10de,
                device: 0x20b5,
                revision: 0xa1,
                class: 0x03_0200,
            },
            ..Properties::default()
        }
    }
}
