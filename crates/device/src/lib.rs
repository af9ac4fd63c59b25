//! The devices at the leaves of the fabric.
//!
//! Each model is a file or a folder. It contains an [`Endpoint`], the PCI Express core of all devices, and implements [`Leaf`].

pub mod accelerator;
mod block_dma;
mod circuit;
pub mod commands;
mod dma;
mod drive;
mod endpoint;
mod endpoint_parameters;
mod foreign;
pub mod fpga_card;
pub mod gpu;
mod leaf;
mod named;
pub mod nic;
mod place;
mod profiles;
mod reflector;
mod requests;
pub mod router;
pub mod sg_dma;

pub use accelerator::{Accelerator, AcceleratorParameters};
pub use block_dma::{BlockDma, BlockDmaParameters};
pub use circuit::{CIRCUIT_ERRORS, Circuit};
pub use dma::{Dma, DmaParameters};
pub use drive::Drive;
pub use endpoint::{Endpoint, EndpointConfig, EndpointTimer, VectorCounts};
pub use endpoint_parameters::{EndpointParameters, Implementation, Window};
pub use foreign::{Behaviour, Foreign, ForeignModel, ForeignParameters, Maker, read_setting};
pub use fpga_card::{Afu, AfuId, BuiltInAfu, FpgaCard, FpgaCardParameters, Shell};
pub use gpu::{Gpu, GpuParameters};
pub use leaf::{AnyLeaf, CircuitChoice, HasEndpoint, Leaf, LeafParameters, PeerWrites, Properties};
pub use nic::{Nic, NicConfig, NicParameters, Sharing, StartMode, Weights};
pub use peerlane_device::Failure;
pub use profiles::profiles;
pub use reflector::{Reflector, ReflectorParameters, Reply};
pub use router::{Router, RouterConfig, RouterParameters};
pub use sg_dma::{SgDma, SgDmaParameters, UserLogic};
