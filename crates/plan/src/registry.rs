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
            /// Moves blocks of host memory, and makes atomic operations on it, as software requests: one transfer after the other.
            "block-dma" => BlockDma(device::BlockDma, device::BlockDmaParameters);
            /// Works through lists of descriptors that a driver on the host writes, with FIFOs and a circuit of the user's behind it.
            "sg-dma" => SgDma(device::SgDma, device::SgDmaParameters);
            /// A card with a slot for accelerator functional units, which reach host memory and memory of its own: an Intel PAC.
            "fpga-card" => FpgaCard(device::FpgaCard, device::FpgaCardParameters);
            /// Joins hosts by fibres: takes what is written to its window, or made by its user logic, through a network of its kind.
            "router" => Router(device::Router, device::RouterParameters), built by |of, end, own| network::router(of.plan, of.index, end, own, of.fibres);
            /// Sends messages between the memories of hosts that share a controller, for programs that own its queue pairs.
            "nic" => Nic(device::Nic, device::NicParameters), built by |of, end, own| controller::nic(of.plan, of.index, end, own);
            /// Accesses the memory of a coherent host through a cache of its own, by virtual addresses if need be.
            "accelerator" => Accelerator(device::Accelerator, device::AcceleratorParameters), built by |of, end, own| sharing::accelerator(of.plan, of.index, end, own);
            /// An NVM Express drive: moves blocks between its media and host memory, as commands in queues say, which a driver writes.
            "nvme" => Nvme(device::Drive, nvme::NvmeParameters), built by |of, end, own| device::Drive::new(end, own, &of.plan.nodes[of.index].name);
            /// Answers each write with a write of its own, for the measurement of latencies.
            "reflector" => Reflector(device::Reflector, device::ReflectorParameters), built by |of, end, _| device::Reflector::new(end, replies(&of));
        }
    };
}
