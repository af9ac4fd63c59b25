//! The closed list of device models, and what every node has.

use device::LeafParameters;
use kernel::{Bytes, Parameters};

use super::Code;

macro_rules! models {
    ($($(#[doc = $help:literal])+ $name:literal => $variant:ident($parameters:ty);)+) => {
        /// A device's model and its parameters.
        #[derive(Clone, Debug, PartialEq)]
        pub enum DeviceParameters {
            $($(#[doc = $help])+ $variant($parameters),)+
        }

        /// Every model, in the order in which it is listed.
        pub const MODELS: &[Model] = &[$(Model {
            name: $name,
            help: concat!($($help),+).trim_ascii(),
            make: || DeviceParameters::$variant(<$parameters>::default()),
            declarations: <$parameters as Parameters>::declarations,
        }),+];

        impl DeviceParameters {
            /// The name that a scenario calls the model by.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)+ }
            }

            /// The model's own parameters.
            pub fn parameters(&self) -> &dyn LeafParameters {
                match self { $(Self::$variant(parameters) => parameters,)+ }
            }

            /// The model's own parameters, to be set.
            pub fn parameters_mut(&mut self) -> &mut dyn Parameters {
                match self { $(Self::$variant(parameters) => parameters,)+ }
            }
        }
    };
}

/// An entry of the closed list.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// What a scenario calls it by.
    pub name: &'static str,
    /// What it does.
    pub help: &'static str,
    /// One of it with default parameters.
    pub make: fn() -> DeviceParameters,
    /// What can be set.
    pub declarations: fn() -> Vec<kernel::Declaration>,
}

models! {
    /// Reads and writes host memory and other devices, many requests at once.
    "dma" => Dma(device::DmaParameters);
    /// Moves blocks of host memory, and makes atomic operations on it, as software asks: one transfer after the other.
    "block-dma" => BlockDma(device::BlockDmaParameters);
    /// Works through lists of descriptors that a driver on the host writes, with FIFOs and a circuit of the user's behind it.
    "sg-dma" => SgDma(device::SgDmaParameters);
    /// A card with a slot for accelerator functional units, which reach host memory and memory of its own: an Intel PAC.
    "fpga-card" => FpgaCard(device::FpgaCardParameters);
    /// Joins hosts by fibres: takes what is written to its window, or made by its user logic, through a network of its kind.
    "router" => Router(device::RouterParameters);
    /// Sends messages between the memories of hosts that share a controller, for programs that own its queue pairs.
    "nic" => Nic(device::NicParameters);
    /// Accesses the memory of a coherent host through a cache of its own, by virtual addresses if need be.
    "accelerator" => Accelerator(device::AcceleratorParameters);
    /// Answers each write with a write of its own, for the measurement of latencies.
    "reflector" => Reflector(device::ReflectorParameters);
}

kernel::parameters! {
    /// What every host, switch and device may set besides its own parameters.
    pub struct NodeParameters {
        /// Max payload size in Device Control, set after enumeration as `setpci` would; none leaves what enumeration chose.
        max_payload: Option<Bytes> = None, from "the smallest supported in the tree, as firmware chooses";
        /// Memory Space Enable in the Command register, set after enumeration: without it requests to its addresses, or to
        /// those below a port, are unsupported requests.
        memory_enable: bool = true, from "as firmware leaves it";
        /// Vendor ID of every function, such as "0x10ee"; none for that of a common model of the kind.
        vendor_id: Option<Code> = None, within None..=Some(Code(0xfffe)), from "PLX switches, Xilinx devices, QEMU hosts";
        /// Device ID of every function.
        device_id: Option<Code> = None, within None..=Some(Code(0xffff)), from "PLX switches, Xilinx devices, QEMU hosts";
        /// Class code of a device: base class, subclass and programming interface, such as "0x020000" for Ethernet.
        class_code: Option<Code> = None, within None..=Some(Code(0xff_ffff)), from "0x120000, a processing accelerator";
    }
}
