//! The fabric between the devices: switches, root complexes and host memory.

mod controller;
mod io_port;
mod root_complex;
mod routes;
mod switch;

pub use controller::{Controller, ControllerConfig, ControllerParameters, ControllerTimer, Plane};
pub use io_port::{IoPort, IoPortConfig, IoPortParameters, IoPortTimer, Owned};
pub use root_complex::coherent::{
    CoherenceConfig, CoherenceParameters, CoreAccess, CoreAtomics, CoreOperation, PacketHeader,
};
pub use root_complex::translation::iommu::{
    DescriptorReads, Iommu, IommuAnswer, IommuCounters, IommuParameters, IommuRequest, PageTable,
    PageTableError, Purpose, Step, TranslationFault, TranslationTable,
};
pub use root_complex::translation::{TableChange, TranslationConfig, TranslationOrder};
pub use root_complex::{
    Cpu, INTERRUPTS, Ram, RootComplex, RootComplexConfig, RootComplexParameters, RootTimer,
};
pub use routes::{Route, Routes};
pub use switch::{PortTimer, Switch, SwitchConfig, SwitchParameters};
