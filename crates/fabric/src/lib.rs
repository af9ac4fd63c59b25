//! The fabric between the devices: switches, root complexes and host memory.

mod coherent;
mod configuration;
mod controller;
mod cpu;
mod io_port;
mod iommu;
mod memory_controller;
mod memory_requests;
mod root_complex;
mod root_parameters;
mod root_timer;
mod routes;
mod sockets;
mod switch;
mod translation;
mod untranslated;

pub use coherent::{
    CoherenceConfig, CoherenceParameters, CoreAccess, CoreAtomics, CoreOperation, PacketHeader,
};
pub use controller::{Controller, ControllerConfig, ControllerParameters, ControllerTimer, Plane};
pub use cpu::{Cpu, INTERRUPTS, Ram};
pub use io_port::{IoPort, IoPortConfig, IoPortParameters, IoPortTimer, Owned};
pub use iommu::{
    DescriptorReads, Iommu, IommuAnswer, IommuCounters, IommuParameters, IommuRequest, PageTable,
    PageTableError, Purpose, Step, TranslationFault, TranslationTable,
};
pub use root_complex::{RootComplex, RootComplexConfig};
pub use root_parameters::RootComplexParameters;
pub use root_timer::RootTimer;
pub use routes::{Route, Routes};
pub use switch::{PortTimer, Switch, SwitchConfig, SwitchParameters};
pub use translation::{TableChange, TranslationConfig, TranslationOrder};
