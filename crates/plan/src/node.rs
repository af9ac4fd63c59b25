//! The nodes of a plan with their registers, and the links between them.

use device::{CircuitChoice, GpuParameters, NicParameters, SgDmaParameters, StartMode};
use fabric::{CoherenceParameters, IommuParameters};
use host::firmware::Setting;
use host::interrupts::VectorEntries;
use host::queue_pair::REQUESTS;
use kernel::Time;
use link::PortParameters;
use nvme::NvmeParameters;
use protocol::{Bar, FunctionId};
use transaction::{FunctionPlace, Functions};

use crate::scenario::{LinkParameters, NodeKind};

use super::address::Region;
use super::controllers::Attachment;

/// The MSI-X table of a function, as firmware has placed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionVectors {
    /// Address of the table.
    pub table: u64,
    /// Address of the pending bits.
    pub pending: u64,
    pub count: u16,
    /// The message of vector 0. The messages of the other vectors have the following numbers.
    pub first: u32,
}

/// One host, I/O port, switch or device.
#[derive(Clone, Debug)]
pub struct NodePlan {
    /// The node's name in the scenario.
    pub name: String,
    /// The kind of node, with its parameters.
    pub kind: NodeKind,
    /// The ID of the host bridge, of a switch's upstream port, or of a device's physical function.
    pub id: FunctionId,
    /// The node at the top of the tree that this node is in; a host is its own root. Nodes with the same root share an address space.
    pub root: usize,
    /// The software that drives the node.
    pub driver: DriverPlace,
    /// The parameters of every PCI Express port of the node.
    pub port: PortParameters,
    /// Max payload size in Device Control, in bytes.
    pub max_payload: u32,
    /// Max read request size in bytes; 0 at a switch, which makes no requests.
    pub max_read_request: u32,
    /// The BARs of a device, by number.
    pub bars: [Option<Region>; Bar::COUNT],
    /// The message of vector 0 of each function with MSI-X, by number; empty without MSI-X.
    pub vectors: Vec<u32>,
    /// The region with BAR 0 of all virtual functions of a device, one after the other.
    pub virtual_bars: Option<Region>,
    /// The memory region of a host.
    pub memory: Option<Region>,
    /// The network of a router, and the router's number in it.
    pub member: Option<(usize, u16)>,
    /// The place of a network interface controller at its controller.
    pub attachment: Option<Attachment>,
    /// The place of an I/O port at its controller.
    pub io_port: Option<Attachment>,
    /// The link to the node above; none at a host.
    pub upstream: Option<usize>,
    /// The links below, in the order of their ports.
    pub downstream: Vec<usize>,
    /// The functions after enumeration and settings; their ports are in the order of `downstream`.
    pub functions: Functions,
    /// The coherence parameters of a host.
    pub coherence: CoherenceParameters,
    /// The IOMMU parameters of a host.
    pub iommu: IommuParameters,
    /// The settings made after enumeration.
    pub settings: Vec<(FunctionId, Setting)>,
}

impl NodePlan {
    /// Whether the node's requests carry virtual addresses.
    pub fn has_virtual_addresses(&self) -> bool {
        self.kind.properties().has_virtual_addresses
    }

    /// Whether the node requests address translations itself (ATS).
    pub fn asks_for_translations(&self) -> bool {
        self.kind.properties().address_translation.is_some()
    }

    /// The parameters of a scatter/gather engine, whose flows a driver moves; none for any other node.
    pub fn engine(&self) -> Option<&SgDmaParameters> {
        self.kind.device()
    }

    /// The parameters of the NVM Express drive, if the node is one.
    pub fn drive(&self) -> Option<&NvmeParameters> {
        self.kind.device()
    }

    /// The parameters of a GPU; none for any other node.
    pub fn gpu(&self) -> Option<&GpuParameters> {
        self.kind.device()
    }

    /// Whether a simulated circuit replaces the node's model.
    pub fn is_circuit(&self) -> bool {
        matches!(&self.kind, NodeKind::Device(core, _) if core.circuit_width().is_some())
    }

    /// Whether a circuit replaces the node's model and generates the data of the node's flows, from a start value in a register.
    pub fn makes_data_as_circuit(&self) -> bool {
        self.circuit().is_some_and(|choice| choice.makes_data)
    }

    /// Whether a circuit replaces the node's model and answers reads of BAR 0 with Unsupported Request.
    pub fn refuses_reads_as_circuit(&self) -> bool {
        self.circuit().is_some_and(|choice| choice.refuses_reads)
    }

    /// The circuit that replaces the node's model, if there is one.
    fn circuit(&self) -> Option<CircuitChoice> {
        let NodeKind::Device(core, device) = &self.kind else {
            return None;
        };
        device.circuit_choice(core)?.ok()
    }

    /// The maximum number of outstanding requests of the host library at each function of a network interface controller.
    pub fn requests(&self) -> u32 {
        let nic = self.kind.device::<NicParameters>();
        nic.map_or(0, |nic| nic.doorbell_fifo.min(REQUESTS))
    }

    /// Whether software stores descriptors in the network interface controller, not in memory.
    pub fn pushes_descriptors(&self) -> bool {
        let nic = self.kind.device::<NicParameters>();
        nic.is_some_and(|nic| nic.start_mode == StartMode::Descriptor)
    }

    /// The address of the doorbells of `function` of a network interface controller; none if there is no such function.
    pub fn doorbells(&self, function: u8) -> Option<u64> {
        self.registers(function).map(|region| region.base)
    }

    /// The address of a BAR of the physical function, at the host of its driver; 0 without this BAR.
    pub fn driven_bar(&self, bar: usize) -> u64 {
        self.bars[bar].map_or(0, |bar| bar.base + self.driver.window)
    }

    /// BAR 0 of `function` of a device; 0 is the physical function. None if there is no such function or no such BAR.
    pub fn registers(&self, function: u8) -> Option<Region> {
        let NodeKind::Device(endpoint, _) = &self.kind else {
            return None;
        };
        let place = match usize::from(function).checked_sub(1) {
            None => FunctionPlace::Own,
            Some(number) => FunctionPlace::Virtual(number),
        };
        let region = match place {
            FunctionPlace::Virtual(number) => {
                let (bars, number) = (self.virtual_bars?, number as u64);
                let there = number < u64::from(endpoint.virtual_functions);
                there.then(|| Region {
                    base: bars.base + number * endpoint.virtual_bar.0,
                    size: endpoint.virtual_bar.0,
                })?
            }
            _ => self.bars[0]?,
        };
        Some(self.before_table(place, region))
    }

    /// Whether the node is a device whose model stores its registers itself.
    pub fn keeps_registers(&self) -> bool {
        self.kind.properties().keeps_registers
    }

    /// Bytes of registers at the beginning of BAR 0 of a device.
    pub fn bar_registers(&self) -> u64 {
        self.kind.properties().bar_registers
    }

    /// Whether data that is written to BAR 0 of the device enters a FIFO.
    pub fn has_fifo(&self) -> bool {
        self.kind.properties().has_fifo
    }

    /// The node's own addresses: a host's memory, or a device's BAR 0 up to an MSI-X table in it.
    pub fn region(&self) -> Option<Region> {
        let bar = self.bars[0];
        self.memory
            .or(bar.map(|region| self.before_table(FunctionPlace::Own, region)))
    }

    /// The part of `bar` before an MSI-X table and its pending bits. `bar` is BAR 0 of the function at `place`.
    fn before_table(&self, place: FunctionPlace, bar: Region) -> Region {
        let there = self.functions.places().any(|one| one == place);
        let table = there.then(|| self.functions.space(place).msix_table());
        match table.flatten().filter(|table| table.bar == 0) {
            Some(table) => Region {
                size: bar.size.min(table.table.min(table.pending).into()),
                ..bar
            },
            None => bar,
        }
    }

    /// The message of interrupt `vector` of a device's physical function, as firmware has chosen it; `None` if the function has fewer vectors.
    pub fn interrupt_message(&self, vector: u16) -> Option<u32> {
        let own = self.functions.space(FunctionPlace::Own);
        match (self.vectors.first(), own.msix_table()) {
            (Some(first), Some(table)) => {
                (vector < table.vectors).then(|| first + u32::from(vector))
            }
            _ => Some(own.msi(u8::try_from(vector).ok()?)?.1),
        }
    }

    /// Address of the MSI-X table of a device's physical function, at the host of its driver.
    pub fn vector_table(&self) -> Option<u64> {
        Some(self.vectors_of(0)?.table + self.driver.window)
    }

    /// The entries that a driver writes into the MSI-X table of a device's physical function, if there are any.
    pub fn vector_entries(&self) -> Option<VectorEntries> {
        let entries = VectorEntries {
            address: self.vector_table()?,
            count: self.kind.properties().interrupts as u16,
            first: *self.vectors.first()?,
        };
        (entries.count > 0).then_some(entries)
    }

    /// The MSI-X table of `function` of a device; 0 is the physical function. None if there is no such function, or no such table.
    pub fn vectors_of(&self, function: u8) -> Option<FunctionVectors> {
        let own = self.functions.space(FunctionPlace::Own);
        let (table, bar) = match usize::from(function).checked_sub(1) {
            None => {
                let table = own.msix_table()?;
                (table, self.bars[usize::from(table.bar)]?.base)
            }
            Some(number) => {
                let place = FunctionPlace::Virtual(number);
                let mut places = self.functions.virtual_places();
                let table = places.find(|one| *one == place);
                let table = self.functions.space(table?).msix_table()?;
                let bar = own.virtual_bar(table.bar)?;
                (table, bar.base + bar.share * number as u64)
            }
        };
        Some(FunctionVectors {
            table: bar + u64::from(table.table),
            pending: bar + u64::from(table.pending),
            count: table.vectors,
            first: *self.vectors.get(usize::from(function))?,
        })
    }
}

/// The software that drives a device: that of the host above it, or that of the owner of its physical function below an I/O port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverPlace {
    /// The host.
    pub host: usize,
    /// The address at the host at which the addresses of the device's tree begin.
    pub window: u64,
}

/// A PCI Express link.
#[derive(Clone, Debug)]
pub struct LinkPlan {
    /// The names of the upper and the lower node with a hyphen between.
    pub id: String,
    /// The parameters of the link.
    pub parameters: LinkParameters,
    /// The time at which this link, or a link above it, fails first; `Time::NEVER` if none of them fails.
    pub fails_at: Time,
    /// The socket of the root port above, if the host has several sockets.
    pub socket: Option<u32>,
    /// The quadrant of the root port above in its socket, if the host's sockets have several quadrants.
    pub quadrant: Option<u32>,
    /// The node above and the number of its port.
    pub upstream: (usize, u32),
    /// The node below and its port 0.
    pub downstream: (usize, u32),
    /// The smaller max payload size of the two ends, in bytes.
    pub max_payload: u32,
}
