//! Firmware: it finds the functions of a host, assigns bus numbers and addresses, and enables the functions.
//!
//! Firmware uses only configuration requests, one at a time, and has no other access to the fabric.

mod access;
mod bars;
mod channels;
mod error;
mod layout;
mod scan;
mod setting;
mod virtual_functions;

pub use channels::ChannelSetting;
pub use error::FirmwareError;
pub use layout::Zone;
pub use setting::{Setting, apply};

use fabric::INTERRUPTS;
use protocol::{Express, FunctionId, register};
use transaction::ConfigAccess;

use crate::Desk;
use access::Registers;
use layout::Layout;
use scan::{
    FoundFunction, FoundMessages, all_complete_ten_bit_tags, messages, passes_prefixes,
    reaches_atomic_completer, scan,
};

/// The address of message signalled interrupts. The interrupt controllers are above the BARs.
pub const MSI_ADDRESS: u64 = INTERRUPTS.start;

/// The first interrupt vector for devices. Processors use lower vectors for exceptions.
pub const FIRST_VECTOR: u32 = 32;

/// The interrupt vectors of a function with MSI-X. The function's driver writes the MSI-X table, because configuration requests cannot access
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssignedVectors {
    /// The function.
    pub function: FunctionId,
    /// The Message Data of vector 0. The other vectors have the next numbers.
    pub first: u32,
}

/// The enumeration program: it scans bus 0 and all buses below, assigns addresses, and configures every function.
///
/// Returns the vectors of functions with MSI-X. A function that has MSI-X and MSI uses MSI-X.
///
/// Max payload size is set to the largest value that a root port and all functions below it support, because every port on a route must
/// accept the packets.
pub async fn enumerate(
    desk: Desk<ConfigAccess, u32>,
) -> Result<Vec<AssignedVectors>, FirmwareError> {
    let free = Free {
        bus: 1,
        vector: FIRST_VECTOR,
        wide: Zone::BEYOND,
    };
    Ok(enumerate_from(desk, free).await?.0)
}

/// The buses, vectors and addresses that are free in a tree before its enumeration.
#[derive(Clone, Copy, Debug)]
pub struct Free {
    /// The first bus below bus 0.
    pub bus: u8,
    /// The first interrupt vector.
    pub vector: u32,
    /// The zone of 64-bit BARs.
    pub wide: Zone,
}

/// Enumerates a tree as [`enumerate`] does, and assigns the buses, vectors and addresses in `free`. Also returns the next free vector.
pub async fn enumerate_from(
    desk: Desk<ConfigAccess, u32>,
    free: Free,
) -> Result<(Vec<AssignedVectors>, u32), FirmwareError> {
    let registers = Registers(desk);
    let found = scan(&registers, free.bus).await?;
    for zone in [Zone::BELOW_4_GIB, free.wide] {
        let layout = Layout::new(&found, zone)?;
        place(&registers, &found, &layout, zone).await;
    }
    let max_payloads = max_payloads(&found);
    let mut vectors = Vectors {
        next: free.vector,
        assigned: Vec::new(),
    };
    let wide_tags = all_complete_ten_bit_tags(&found);
    for (index, one) in found.iter().enumerate() {
        configure(&registers, one, max_payloads[index], wide_tags).await;
        if passes_prefixes(&found, index) {
            registers.enable_address_spaces(one.id, true).await;
        }
        if reaches_atomic_completer(&found, index) {
            enable_atomics(&registers, one).await;
        }
        vectors.assign(&registers, one.id, &one.messages).await?;
        let command = register::MEMORY_SPACE | register::BUS_MASTER;
        registers.set(one.id, register::COMMAND, command).await;
        forget_errors(&registers, one).await;
        enable_virtual_functions(&registers, one, &mut vectors).await?;
    }
    Ok((vectors.assigned, vectors.next))
}

/// The max payload size of each function: the largest size that all functions of its hierarchy support. A hierarchy is a function of bus 0
/// with all functions below it.
fn max_payloads(found: &[FoundFunction]) -> Vec<u32> {
    let mut tops: Vec<usize> = Vec::with_capacity(found.len());
    let mut smallest = vec![u32::MAX; found.len()];
    for (index, one) in found.iter().enumerate() {
        let top = one.above.map_or(index, |above| tops[above]);
        tops.push(top);
        if let Some(express) = &one.express {
            smallest[top] = smallest[top].min(express.max_payload_supported);
        }
    }
    tops.into_iter().map(|top| smallest[top]).collect()
}

/// Writes the addresses of `layout` to BARs and bridge windows. Windows without addresses are closed.
async fn place(registers: &Registers, found: &[FoundFunction], layout: &Layout, zone: Zone) {
    for (owner, ask, base) in &layout.asks {
        let (id, first) = (found[*owner].id, ask.register);
        registers.write(id, first, *base as u32).await;
        if ask.bar.wide {
            registers.write(id, first + 1, (base >> 32) as u32).await;
        }
    }
    for (one, window) in found.iter().zip(&layout.windows) {
        if !one.is_bridge {
            continue;
        }
        let (first, last) = window.unwrap_or(CLOSED);
        let low = last as u32 & 0xfff0_0000 | first as u32 >> 16 & 0xfff0;
        if !zone.wide {
            registers.write(one.id, register::MEMORY_WINDOW, low).await;
            continue;
        }
        let [base, limit] = [(first >> 32) as u32, (last >> 32) as u32];
        let halves = [
            (register::PREFETCHABLE_WINDOW, low),
            (register::PREFETCHABLE_BASE_HIGH, base),
            (register::PREFETCHABLE_LIMIT_HIGH, limit),
        ];
        for (register, value) in halves {
            registers.write(one.id, register, value).await;
        }
    }
}

/// A closed window, which ends before it begins.
const CLOSED: (u64, u64) = (0xfff0_0000, 0);

/// Sets max payload size, and enables the widest tags that the function supports. 10-bit tags are enabled only if `wide_tags`: all completers
/// support them.
async fn configure(registers: &Registers, one: &FoundFunction, max_payload: u32, wide_tags: bool) {
    let Some(express) = &one.express else { return };
    let control = express.register + (register::DEVICE_CONTROL - register::EXPRESS);
    let payload = Express::max_payload_field(max_payload);
    registers.replace(one.id, control, payload).await;
    if express.extended_tags {
        let tags = register::EXTENDED_TAGS_ENABLE;
        registers.set(one.id, control, tags).await;
    }
    if express.ten_bit_tags && wide_tags {
        let control = express.register + (register::DEVICE_CONTROL_2 - register::EXPRESS);
        let tags = register::TEN_BIT_TAG_REQUESTER_ENABLE;
        registers.set(one.id, control, tags).await;
    }
    if !one.is_bridge {
        enable_translation(registers, one.id).await;
    }
}

/// Enables address translation of a function, and its page requests with the largest capacity that the function supports.
async fn enable_translation(registers: &Registers, id: FunctionId) {
    let Some(ats) = registers.extended(id, register::ATS_ID).await else {
        return;
    };
    registers.set(id, ats + 1, register::ATS_ENABLE).await;
    if let Some(pages) = registers.extended(id, register::PAGE_REQUESTS_ID).await {
        let capacity = registers.read(id, pages + 2).await;
        registers.write(id, pages + 3, capacity).await;
        let enable = register::PAGE_REQUEST_ENABLE;
        registers.set(id, pages + 1, enable).await;
    }
}

async fn enable_atomics(registers: &Registers, one: &FoundFunction) {
    let Some(express) = &one.express else { return };
    let control = express.register + (register::DEVICE_CONTROL_2 - register::EXPRESS);
    let enable = register::ATOMIC_REQUESTER_ENABLE;
    registers.set(one.id, control, enable).await;
}

/// The next free interrupt vector, and the vectors assigned to functions with MSI-X.
struct Vectors {
    next: u32,
    assigned: Vec<AssignedVectors>,
}

impl Vectors {
    /// Enables the interrupt messages of a function, and assigns vectors to it.
    async fn assign(
        &mut self,
        registers: &Registers,
        id: FunctionId,
        found: &FoundMessages,
    ) -> Result<(), FirmwareError> {
        if let Some(msix) = &found.msix {
            let fields = register::MSIX_ENABLE | register::MSIX_FUNCTION_MASK;
            let enable = (fields, register::MSIX_ENABLE);
            registers.replace(id, msix.register, enable).await;
            self.assigned.push(AssignedVectors {
                function: id,
                first: self.next,
            });
            self.next += msix.count;
            return Ok(());
        }
        let Some(msi) = &found.msi else { return Ok(()) };
        let first = self.next.next_multiple_of(msi.count);
        if first + msi.count > MSI_VECTORS {
            return Err(FirmwareError::NoVector(id));
        }
        registers
            .write(id, msi.register + 1, MSI_ADDRESS as u32)
            .await;
        registers.write(id, msi.register + 2, 0).await;
        registers.write(id, msi.register + 3, first).await;
        let enable = register::MSI_ENABLE | msi.count.ilog2() << register::MSI_COUNT_SHIFT;
        let field = register::MSI_ENABLE | 7 << register::MSI_COUNT_SHIFT;
        registers.replace(id, msi.register, (field, enable)).await;
        self.next = first + msi.count;
        Ok(())
    }
}

/// The number of vectors for MSI, whose Message Data has 16 bits (PCIe Base 7.7.1.6). Message Data of MSI-X has 32 bits.
const MSI_VECTORS: u32 = 1 << 16;

async fn enable_virtual_functions(
    registers: &Registers,
    one: &FoundFunction,
    vectors: &mut Vectors,
) -> Result<(), FirmwareError> {
    let Some(virtual_functions) = &one.virtual_functions else {
        return Ok(());
    };
    for id in virtual_functions.enable(registers, one.id).await {
        let found = messages(registers, id).await;
        vectors.assign(registers, id, &found).await?;
        let master = register::BUS_MASTER;
        registers.set(id, register::COMMAND, master).await;
    }
    Ok(())
}

/// Clears errors that the scan has caused: accesses to functions that do not exist are unsupported requests.
async fn forget_errors(registers: &Registers, one: &FoundFunction) {
    let secondary = one.is_bridge.then_some(register::SECONDARY_STATUS);
    let express = one.express.as_ref();
    let device = express.map(|it| it.register + (register::DEVICE_CONTROL - register::EXPRESS));
    for register in [Some(register::COMMAND), secondary, device]
        .into_iter()
        .flatten()
    {
        let status = 0b1100;
        registers
            .write_bytes(one.id, register, u32::MAX, status)
            .await;
    }
    if express.is_none() {
        return;
    }
    if let Some(errors) = registers.extended(one.id, register::AER_ID).await {
        for status in [errors + 1, errors + 4] {
            registers.write(one.id, status, u32::MAX).await;
        }
    }
}

#[cfg(test)]
mod tests;
