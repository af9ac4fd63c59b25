//! Firmware: finds the functions below a host, numbers buses, gives out addresses and switches everything on.
//!
//! It does all of it by configuration requests, one at a time, and knows nothing of the fabric but their answers.

mod access;
mod bars;
mod error;
mod layout;
mod scan;
mod setting;
mod virtual_functions;

pub use error::FirmwareError;
pub use layout::Zone;
pub use setting::{Setting, apply};

use fabric::INTERRUPTS;
use protocol::{Express, FunctionId, register};
use transaction::ConfigAccess;

use crate::Desk;
use access::Registers;
use layout::Layout;
use scan::{Found, FoundMsi, msi, reaches_atomic_completer, scan};

/// Where interrupts of every function are written to; the interrupt controllers are above the BARs.
pub const MSI_ADDRESS: u64 = INTERRUPTS.start;

/// The first vector given out: processors keep those below for exceptions.
pub const FIRST_VECTOR: u32 = 32;

/// The program: scans bus 0 and all below, lays out addresses, and sets every function up.
///
/// Max payload size becomes the smallest that any function supports, as no packet may be larger than what the ports on its
/// way take.
pub async fn enumerate(desk: Desk<ConfigAccess, u32>) -> Result<(), FirmwareError> {
    let registers = Registers(desk);
    let found = scan(&registers).await?;
    for zone in Zone::ALL {
        let layout = Layout::new(&found, zone)?;
        place(&registers, &found, &layout, zone).await;
    }
    let supported = found.iter().filter_map(|one| one.express.as_ref());
    let max_payload = supported
        .map(|express| express.max_payload_supported)
        .min()
        .unwrap_or(128);
    let mut vector = FIRST_VECTOR;
    for (index, one) in found.iter().enumerate() {
        configure(&registers, one, max_payload).await;
        if reaches_atomic_completer(&found, index) {
            enable_atomics(&registers, one).await;
        }
        vector = signal(&registers, one.id, one.msi.as_ref(), vector).await;
        let command = register::MEMORY_SPACE | register::BUS_MASTER;
        registers
            .replace(one.id, register::COMMAND, (command, command))
            .await;
        forget_errors(&registers, one).await;
        vector = enable_virtual_functions(&registers, one, vector).await;
    }
    Ok(())
}

/// Writes the addresses of `layout` to BARs and windows; windows with nothing behind are closed.
async fn place(registers: &Registers, found: &[Found], layout: &Layout, zone: Zone) {
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

/// A window that ends before it begins.
const CLOSED: (u64, u64) = (0xfff0_0000, 0);

/// Max payload size, and tags of as many bits as the function can use: every completer takes tags of ten.
async fn configure(registers: &Registers, one: &Found, max_payload: u32) {
    let Some(express) = &one.express else { return };
    let control = express.register + (register::DEVICE_CONTROL - register::EXPRESS);
    let payload = Express::max_payload_field(max_payload);
    registers.replace(one.id, control, payload).await;
    if express.extended_tags {
        let tags = Express::EXTENDED_TAG_FIELD;
        registers.replace(one.id, control, tags).await;
    }
    if express.ten_bit_tags {
        let control = express.register + (register::DEVICE_CONTROL_2 - register::EXPRESS);
        let tags = Express::TEN_BIT_TAG_FIELD;
        registers.replace(one.id, control, tags).await;
    }
    if !one.is_bridge {
        enable_translation(registers, one.id).await;
    }
}

/// Lets a function ask for translations and pages, as many as it can.
async fn enable_translation(registers: &Registers, id: FunctionId) {
    let Some(ats) = registers.extended(id, register::ATS_ID).await else {
        return;
    };
    let enable = (register::ATS_ENABLE, register::ATS_ENABLE);
    registers.replace(id, ats + 1, enable).await;
    if let Some(pages) = registers.extended(id, register::PAGE_REQUESTS_ID).await {
        let capacity = registers.read(id, pages + 2).await;
        registers.write(id, pages + 3, capacity).await;
        let enable = (register::PAGE_REQUEST_ENABLE, register::PAGE_REQUEST_ENABLE);
        registers.replace(id, pages + 1, enable).await;
    }
}

/// Lets a function ask for atomic operations.
async fn enable_atomics(registers: &Registers, one: &Found) {
    let Some(express) = &one.express else { return };
    let control = express.register + (register::DEVICE_CONTROL_2 - register::EXPRESS);
    let field = Express::ATOMIC_REQUESTER_FIELD;
    registers.replace(one.id, control, field).await;
}

/// Gives a function the interrupt vectors that it asks for, from `next` on; the next free one.
async fn signal(registers: &Registers, id: FunctionId, msi: Option<&FoundMsi>, next: u32) -> u32 {
    let Some(msi) = msi else { return next };
    let count = 1 << msi.capable;
    let first = next.next_multiple_of(count);
    registers
        .write(id, msi.register + 1, MSI_ADDRESS as u32)
        .await;
    registers.write(id, msi.register + 2, 0).await;
    registers.write(id, msi.register + 3, first).await;
    let enable = register::MSI_ENABLE | msi.capable << register::MSI_COUNT_SHIFT;
    let field = register::MSI_ENABLE | 7 << register::MSI_COUNT_SHIFT;
    registers.replace(id, msi.register, (field, enable)).await;
    first + count
}

/// Enables the virtual functions of a function, with interrupt vectors from `next` on; the next free one.
async fn enable_virtual_functions(registers: &Registers, one: &Found, mut next: u32) -> u32 {
    let Some(virtual_functions) = &one.virtual_functions else {
        return next;
    };
    for id in virtual_functions.enable(registers, one.id).await {
        let msi = msi(registers, id).await;
        next = signal(registers, id, msi.as_ref(), next).await;
        let master = (register::BUS_MASTER, register::BUS_MASTER);
        registers.replace(id, register::COMMAND, master).await;
    }
    next
}

/// Clears what the scan itself has left: functions that are not there are unsupported requests.
async fn forget_errors(registers: &Registers, one: &Found) {
    let status = register::COMMAND;
    registers
        .write_bytes(one.id, status, u32::MAX, 0b1100)
        .await;
    if one.is_bridge {
        let status = register::SECONDARY_STATUS;
        registers
            .write_bytes(one.id, status, u32::MAX, 0b1100)
            .await;
    }
    let Some(express) = &one.express else { return };
    let control = express.register + (register::DEVICE_CONTROL - register::EXPRESS);
    registers
        .write_bytes(one.id, control, u32::MAX, 0b1100)
        .await;
    if let Some(errors) = registers.extended(one.id, register::AER_ID).await {
        for status in [errors + 1, errors + 4] {
            registers.write(one.id, status, u32::MAX).await;
        }
    }
}

#[cfg(test)]
mod tests;
