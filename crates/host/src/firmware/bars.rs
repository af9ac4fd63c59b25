//! The base address registers of functions, sized as firmware does it.

use protocol::{Bar, FunctionId};

use super::access::Registers;

/// Addresses that a function asks for, with a BAR of its own or of its virtual functions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    /// The register of the BAR's low half.
    pub(super) register: u16,
    pub(super) bar: Bar,
    /// How many functions have that BAR, one after the other.
    pub(super) count: u64,
}

/// Sizes each BAR from the register `first` on by writing all ones to it (PCIe Base 7.5.1.2.1); `count` functions have them.
pub(super) async fn bars(
    registers: &Registers,
    id: FunctionId,
    first: u16,
    count: u64,
) -> Vec<Ask> {
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
        asks.extend(bar.map(|bar| Ask {
            register: low,
            bar,
            count,
        }));
        index += bar.map_or(1, Bar::registers);
    }
    asks
}
