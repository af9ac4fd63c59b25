//! The registry: one line for each device model.
//!
//! A line gives a device model its help text, its name in scenarios, its type and the type of its parameters. A model whose
//! construction needs the plan also names its builder after `built by`. The lines generate the parameters and the list of models
//! (`scenario/device.rs`), and in `sim` the dispatch of events (`model.rs`) and the
//! construction of devices (`build/device.rs`).

/// Expands the macro `$then` with all lines.
#[macro_export]
macro_rules! registry {
    ($then:ident) => {
        $then! {
            /// Reads and writes host memory and other devices, many requests at once.
            "dma" => Dma(device::Dma, device::DmaParameters);
            /// A GPU: copies and kernels that move data between its memory, the memory of hosts and other GPUs.
            "gpu" => Gpu(device::Gpu, device::GpuParameters);
            /// Moves blocks of host memory and makes atomic operations on host memory, as software requests, one transfer after the other.
            "block-dma" => BlockDma(device::BlockDma, device::BlockDmaParameters);
            /// A scatter/gather DMA engine: works through lists of descriptors that a driver on the host writes. Behind the engine are FIFOs and user
            /// logic.
            "sg-dma" => SgDma(device::SgDma, device::SgDmaParameters);
            /// An FPGA card, an Intel PAC: its slot has an accelerator functional unit, which accesses host memory and the memory of the card.
            "fpga-card" => FpgaCard(device::FpgaCard, device::FpgaCardParameters);
            /// Joins hosts by fibres: sends data that is written to its window, or that its user logic generates, through a network of routers.
            "router" => Router(device::Router, device::RouterParameters), built by |of, end, own| network::router(of.plan, of.index, end, own, of.fibres);
            /// Sends messages between the memories of hosts that share a controller, for programs that own its queue pairs.
            "nic" => Nic(device::Nic, device::NicParameters), built by |of, end, own| controller::nic(of.plan, of.index, end, own);
            /// Accesses the memory of a coherent host through a cache of its own, with physical or virtual addresses.
            "accelerator" => Accelerator(device::Accelerator, device::AcceleratorParameters), built by |of, end, own| sharing::accelerator(of.plan, of.index, end, own);
            /// An NVM Express drive: moves blocks between its media and host memory. A driver writes the commands for this into queues.
            "nvme" => Nvme(device::Drive, nvme::NvmeParameters), built by |of, end, own| device::Drive::new(end, own, &of.plan.nodes[of.index].name);
            /// Answers each write with a write of its own, for the measurement of latencies.
            "reflector" => Reflector(device::Reflector, device::ReflectorParameters), built by |of, end, _| device::Reflector::new(end, replies(&of));
        }
    };
}
