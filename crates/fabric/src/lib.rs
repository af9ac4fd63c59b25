//! The fabric between the devices: switches, root complexes and host memory.

mod access_control;
mod crossbar;
mod held_links;
mod io_port;
mod output_queues;
mod root_complex;
mod routes;
mod switch;

pub use crossbar::{Controller, ControllerConfig, ControllerParameters, ControllerTimer, Plane};
pub use io_port::{CONFIGURATION, IoPort, IoPortConfig, IoPortParameters, IoPortTimer, Owned};
pub use root_complex::{
    CoherenceConfig, CoherenceParameters, CoreAccess, CoreAtomics, CoreOperation, Cpu,
    DescriptorReads, INTERRUPTS, IdentityMapping, InvalidationScope, Iommu, IommuAnswer,
    IommuCounters, IommuParameters, IommuRequest, PacketHeader, PageTable, PageTableError,
    PeerToPeer, Processes, Purpose, Ram, RootComplex, RootComplexConfig, RootComplexParameters,
    RootEnd, RootTimer, RootWay, Step, TableChange, TranslationConfig, TranslationCounters,
    TranslationFault, TranslationOrder, TranslationTable, UnsnoopedLine, host_profiles,
};
pub use routes::{Route, Routes};
pub use switch::{PortTimer, Switch, SwitchConfig, SwitchParameters, UPSTREAM, switch_profiles};
