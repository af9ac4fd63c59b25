//! The base address registers of functions, sized by firmware.

use protocol::{Bar, FunctionId};

use super::access::Registers;

/// The address space that a BAR needs, of the function itself or of its virtual functions.
#[derive(Clone, Copy, Debug)]
pub(super) struct BarRequest {
    /// The register of the BAR's lower half.
    pub(super) register: u16,
    pub(super) bar: Bar,
    /// The number of functions with this BAR, at consecutive addresses.
    pub(super) count: u64,
}

/// Sizes each BAR from register `first` on by writing all ones (PCIe Base 7.5.1.2.1). `count` functions have these BARs.
pub(super) async fn bars(
    registers: &Registers,
    id: FunctionId,
    first: u16,
    count: u64,
) -> Vec<BarRequest> {
    let mut asks = Vec::new();
    let mut index = 0;
    while usize::from(index) < Bar::COUNT {
        let (low, mut high) = (first + u16::from(index), 0);
        registers.write(id, low, u32::MAX).await;
        let read = registers.read(id, low).await;
        if Bar::is_wide(read) {
            registers.write(id, low + 1, u32::MAX).await;
            high = registers.read(id, low + 1).await;
        }
        let bar = Bar::sized(index, read, high);
        asks.extend(bar.map(|bar| BarRequest {
            register: low,
            bar,
            count,
        }));
        index += bar.map_or(1, Bar::registers);
    }
    asks
}
