//! The depth-first scan of all buses, which finds functions, assigns bus numbers, and sizes BARs.

use protocol::{Express, FunctionId, PortType, register};

use super::FirmwareError;
use super::access::Registers;
use super::bars::{BarRequest, bars};
use super::virtual_functions::FoundVirtual;

/// A function that the scan has found.
#[derive(Clone, Debug)]
pub(super) struct FoundFunction {
    pub(super) id: FunctionId,
    /// The index of the bridge above. It is smaller than the index of this function.
    pub(super) above: Option<usize>,
    pub(super) is_bridge: bool,
    /// The BARs of the function; empty for a bridge.
    pub(super) asks: Vec<BarRequest>,
    pub(super) express: Option<FoundExpress>,
    pub(super) messages: FoundMessages,
    pub(super) virtual_functions: Option<FoundVirtual>,
}

impl BarRequest {
    pub(super) fn size(self) -> u128 {
        u128::from(self.bar.size) * u128::from(self.count)
    }
}

/// The PCI Express capability of a function.
#[derive(Clone, Debug)]
pub(super) struct FoundExpress {
    pub(super) register: u16,
    pub(super) max_payload_supported: u32,
    pub(super) extended_tags: bool,
    pub(super) ten_bit_tags: bool,
    completes_ten_bit_tags: bool,
    supports_prefixes: bool,
    routes_atomics: bool,
    completes_atomics: bool,
    supports_ari_forwarding: bool,
    port: Option<PortType>,
}

/// A capability of a function for interrupts, with the number of vectors that it can use.
#[derive(Clone, Debug)]
pub(super) struct FoundVectors {
    pub(super) register: u16,
    pub(super) count: u32,
}

/// The ways in which a function can signal interrupts.
#[derive(Clone, Debug)]
pub(super) struct FoundMessages {
    pub(super) msi: Option<FoundVectors>,
    pub(super) msix: Option<FoundVectors>,
}

/// A bus during the scan.
struct Bus {
    number: u8,
    /// The index of the bridge above.
    above: Option<usize>,
    /// The number of possible devices: one below a PCI Express port (PCIe Base 7.3.1).
    devices: u8,
    /// The next device to scan.
    device: u8,
    function: u8,
    /// The number of possible functions of the device.
    functions: u8,
}

impl Bus {
    fn new(number: u8, above: Option<usize>, devices: u8) -> Self {
        Bus {
            number,
            above,
            devices,
            device: 0,
            function: 0,
            functions: 1,
        }
    }

    fn next(&mut self) -> Option<FunctionId> {
        if self.function == self.functions {
            (self.function, self.functions) = (0, 1);
            self.device += 1;
        }
        if self.device == self.devices {
            return None;
        }
        let id = FunctionId::new(self.number, self.device, self.function);
        self.function += 1;
        Some(id)
    }
}

/// Finds every function of a host, and assigns bus numbers from `first_bus` on to all bridges. In the result, each function is after the bridge above it.
pub(super) async fn scan(
    registers: &Registers,
    first_bus: u8,
) -> Result<Vec<FoundFunction>, FirmwareError> {
    let mut found: Vec<FoundFunction> = Vec::new();
    let mut open = vec![Bus::new(0, None, 32)];
    let mut last_bus = first_bus - 1;
    while let Some(bus) = open.last_mut() {
        let Some(id) = bus.next() else {
            if let Some(above) = bus.above {
                let bridge = found[above].id;
                number(registers, bridge, bus.number, last_bus).await;
            }
            open.pop();
            continue;
        };
        if registers.read(id, register::ID).await & 0xffff == NOBODY {
            continue;
        }
        let header = registers.read(id, register::HEADER_TYPE).await;
        if id.function() == 0 && header & register::MULTIFUNCTION != 0 {
            bus.functions = 8;
        }
        let port = bus.above.map(|above| &found[above]);
        let has_ari = enable_ari(registers, port, id).await;
        let is_bridge = header & register::HEADER_LAYOUT == register::TYPE_1;
        let one = examine(registers, id, bus.above, is_bridge, has_ari).await;
        let devices = one.devices_below();
        if let Some(virtual_functions) = &one.virtual_functions {
            let last = u8::try_from(virtual_functions.last_bus(id));
            last_bus = last_bus.max(last.map_err(|_| FirmwareError::NoBusForVirtual(id))?);
        }
        let is_bridge = one.is_bridge;
        found.push(one);
        if is_bridge {
            last_bus = u8::checked_add(last_bus, 1).ok_or(FirmwareError::NoBus(id))?;
            number(registers, id, last_bus, u8::MAX).await;
            open.push(Bus::new(last_bus, Some(found.len() - 1), devices));
        }
    }
    Ok(found)
}

async fn number(registers: &Registers, bridge: FunctionId, secondary: u8, subordinate: u8) {
    let value = u32::from(subordinate) << 16 | u32::from(secondary) << 8 | u32::from(bridge.bus());
    registers
        .write_bytes(bridge, register::BUSES, value, 0b0111)
        .await;
}

/// Enables ARI Forwarding at `port`, if it supports it and the function `id` below has ARI (PCIe Base 6.13). Returns whether it is enabled.
async fn enable_ari(registers: &Registers, port: Option<&FoundFunction>, id: FunctionId) -> bool {
    let express = port.and_then(|port| Some((port.id, port.express.as_ref()?)));
    let express = express.filter(|(_, express)| express.supports_ari_forwarding);
    let Some((port, express)) = express else {
        return false;
    };
    if registers.extended(id, register::ARI_ID).await.is_none() {
        return false;
    }
    let control = express.register + (register::DEVICE_CONTROL_2 - register::EXPRESS);
    registers
        .set(port, control, register::ARI_FORWARDING_ENABLE)
        .await;
    true
}

async fn examine(
    registers: &Registers,
    id: FunctionId,
    above: Option<usize>,
    is_bridge: bool,
    has_ari: bool,
) -> FoundFunction {
    let mut asks = Vec::new();
    let mut virtual_functions = None;
    if !is_bridge {
        asks = bars(registers, id, register::BARS, 1).await;
        virtual_functions = FoundVirtual::of(registers, id, has_ari).await;
    }
    if let Some(found) = &virtual_functions {
        asks.extend(found.asks(registers, id).await);
    }
    FoundFunction {
        id,
        above,
        is_bridge,
        asks,
        express: express(registers, id).await,
        messages: messages(registers, id).await,
        virtual_functions,
    }
}

async fn express(registers: &Registers, id: FunctionId) -> Option<FoundExpress> {
    let at = registers.capability(id, register::EXPRESS_ID).await?;
    let beyond = |register| at + (register - register::EXPRESS);
    let port = PortType::in_register(registers.read(id, at).await);
    let capabilities = registers
        .read(id, beyond(register::DEVICE_CAPABILITIES))
        .await;
    let more = registers
        .read(id, beyond(register::DEVICE_CAPABILITIES_2))
        .await;
    Some(FoundExpress {
        register: at,
        port,
        max_payload_supported: Express::supported_in(capabilities),
        extended_tags: capabilities & register::EXTENDED_TAGS != 0,
        ten_bit_tags: more & register::TEN_BIT_TAG_REQUESTER != 0,
        completes_ten_bit_tags: more & register::TEN_BIT_TAG_COMPLETER != 0,
        supports_ari_forwarding: more & register::ARI_FORWARDING != 0,
        supports_prefixes: more & register::END_TO_END_PREFIX != 0,
        routes_atomics: more & register::ATOMIC_ROUTING != 0,
        completes_atomics: !more & register::ATOMIC_COMPLETER_BASE == 0,
    })
}

pub(super) async fn messages(registers: &Registers, id: FunctionId) -> FoundMessages {
    let msi = |control| 1_u32 << (control >> register::MSI_CAPABLE_SHIFT & 7);
    let msix = |control| (control >> register::MSIX_SIZE_SHIFT & 0x7ff) + 1;
    FoundMessages {
        msi: vectors(registers, id, register::MSI_ID, msi).await,
        msix: vectors(registers, id, register::MSIX_ID, msix).await,
    }
}

/// The capability with the ID `capability` of a function, if it has one. `count` reads the number of vectors from Message Control.
async fn vectors(
    registers: &Registers,
    id: FunctionId,
    capability: u8,
    count: impl Fn(u32) -> u32,
) -> Option<FoundVectors> {
    let register = registers.capability(id, capability).await?;
    let count = count(registers.read(id, register).await);
    Some(FoundVectors { register, count })
}

impl FoundFunction {
    /// The number of possible devices on the bus below.
    fn devices_below(&self) -> u8 {
        let port = self.express.as_ref().and_then(|express| express.port);
        if port.is_some_and(PortType::is_downstream) {
            1
        } else {
            32
        }
    }
}

/// Whether atomic operations of the endpoint at `index` can be completed: its root port completes them, and all ports between route
/// them (PCIe Base 6.15.3).
pub(super) fn reaches_atomic_completer(found: &[FoundFunction], index: usize) -> bool {
    let port = |index: usize| found[index].express.as_ref();
    if port(index).and_then(|express| express.port) != Some(PortType::Endpoint) {
        return false;
    }
    let mut above = found[index].above;
    while let Some(bridge) = above {
        let Some(express) = port(bridge) else {
            return false;
        };
        if express.port == Some(PortType::RootPort) {
            return express.completes_atomics;
        }
        if !express.routes_atomics {
            return false;
        }
        above = found[bridge].above;
    }
    false
}

/// Whether the function at `index`, and all ports above it up to its root port, support End-End TLP prefixes (PCIe Base 2.2.10.2).
pub(super) fn passes_prefixes(found: &[FoundFunction], index: usize) -> bool {
    let mut next = Some(index);
    while let Some(index) = next {
        let express = found[index].express.as_ref();
        if !express.is_some_and(|express| express.supports_prefixes) {
            return false;
        }
        next = found[index].above;
    }
    true
}

/// Whether every function that completes requests supports 10-bit tags: root ports complete requests to the memory of the host, and endpoints
/// may complete requests of other endpoints (PCIe Base 2.2.6.2).
///
/// All completers must support 10-bit tags because firmware cannot predict the targets of a requester, and a requester with 10-bit tags uses
/// them for all requests.
pub(super) fn all_complete_ten_bit_tags(found: &[FoundFunction]) -> bool {
    let mut completers = found.iter().filter_map(|one| one.express.as_ref());
    completers.all(|express| express.completes_ten_bit_tags)
}

const NOBODY: u32 = 0xffff;
