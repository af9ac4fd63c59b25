//! The type 1 header (PCIe Base 7.5.1.3): the bus numbers and addresses below a bridge.

use super::ConfigSpace;
use super::header::{SECONDARY_STATUS, STATUS_CLEARED};

/// Primary, secondary and subordinate bus number, from the lowest byte up.
pub const BUSES: u16 = 6;
/// Memory Limit and Memory Base.
pub const MEMORY_WINDOW: u16 = 8;
/// Low halves of Prefetchable Memory Limit and Base.
pub const PREFETCHABLE_WINDOW: u16 = 9;
/// Prefetchable Base Upper 32 Bits.
pub const PREFETCHABLE_BASE_HIGH: u16 = 10;
/// Prefetchable Limit Upper 32 Bits.
pub const PREFETCHABLE_LIMIT_HIGH: u16 = 11;
/// Granularity of a bridge's memory windows (PCIe Base 7.5.1.3.8).
pub const WINDOW_BYTES: u64 = 1 << 20;

/// The register with Bridge Control in the upper half; the lower half has interrupt line and pin.
pub const BRIDGE_CONTROL: u16 = 15;
/// SERR# Enable of Bridge Control: the bridge forwards error messages from below.
pub const SERR_FORWARDING: u32 = 1 << 17;
/// Secondary Bus Reset of Bridge Control: as long as it is set, all components below the bridge are in hot reset.
pub const SECONDARY_BUS_RESET: u32 = 1 << 22;
/// Parity Error Response Enable and SERR# Enable of Bridge Control. Secondary Bus Reset is declared separately.
const BRIDGE_CONTROL_BITS: u32 = 0x0003_0000;
/// Address bits 31:20 of limit and base. The low four bits of limit and of base give the type of the window.
const WINDOW_BITS: u32 = 0xfff0_fff0;
const WIDE_WINDOW: u32 = 0x0001_0001;

/// The reason why software holds the link below a bridge down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkHold {
    /// Secondary Bus Reset is set.
    Reset,
    /// Link Disable is set.
    Disabled,
    /// The power of the slot is off.
    PowerOff,
}

/// First and last number of a range; the range is empty when first > last.
pub type Interval<N> = (N, N);

impl ConfigSpace {
    pub(super) fn declare_bridge(&mut self) {
        self.declare(BUSES, 0, 0x00ff_ffff, 0);
        self.declare(SECONDARY_STATUS, 0, 0, STATUS_CLEARED);
        self.declare(MEMORY_WINDOW, 0, WINDOW_BITS, 0);
        self.declare(PREFETCHABLE_WINDOW, WIDE_WINDOW, WINDOW_BITS, 0);
        self.declare(PREFETCHABLE_BASE_HIGH, 0, u32::MAX, 0);
        self.declare(PREFETCHABLE_LIMIT_HIGH, 0, u32::MAX, 0);
        self.declare(BRIDGE_CONTROL, 0, BRIDGE_CONTROL_BITS, 0);
    }

    /// Declares Secondary Bus Reset, which resets the link below a downstream port, or all links below a switch.
    pub(super) fn declare_secondary_bus_reset(&mut self) {
        self.declare(BRIDGE_CONTROL, 0, SECONDARY_BUS_RESET, 0);
    }

    /// The reason why software holds the link below this bridge down, if it does.
    pub fn link_hold(&self) -> Option<LinkHold> {
        if self.is_slot_off() {
            return Some(LinkHold::PowerOff);
        }
        if self.is_link_disabled() {
            return Some(LinkHold::Disabled);
        }
        let is_reset = self.is_bridge() && self.read(BRIDGE_CONTROL) & SECONDARY_BUS_RESET != 0;
        is_reset.then_some(LinkHold::Reset)
    }

    /// The secondary bus number.
    pub fn secondary_bus(&self) -> u8 {
        (self.read(BUSES) >> 8) as u8
    }

    /// Secondary to subordinate bus number; empty when the bridge has no bus numbers yet.
    pub fn buses(&self) -> Interval<u8> {
        let subordinate = (self.read(BUSES) >> 16) as u8;
        match self.secondary_bus() {
            0 => (1, 0),
            secondary => (secondary, subordinate),
        }
    }

    /// First and last address of the memory window, whether Memory Space Enable is set or not.
    pub fn memory_window(&self) -> Interval<u64> {
        let window = self.read(MEMORY_WINDOW);
        (window_base(window), window_last(window))
    }

    /// First and last address of the 64-bit prefetchable window, whether Memory Space Enable is set or not.
    pub fn prefetchable_window(&self) -> Interval<u64> {
        let window = self.read(PREFETCHABLE_WINDOW);
        let high = |register| u64::from(self.read(register)) << 32;
        (
            high(PREFETCHABLE_BASE_HIGH) | window_base(window),
            high(PREFETCHABLE_LIMIT_HIGH) | window_last(window),
        )
    }
}

fn window_base(window: u32) -> u64 {
    u64::from(window & 0xfff0) << 16
}

fn window_last(window: u32) -> u64 {
    u64::from(window & 0xfff0_0000) | (WINDOW_BYTES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bridge() -> ConfigSpace {
        let mut space = ConfigSpace::empty();
        space.declare_bridge();
        space
    }

    #[test]
    fn a_window_is_whole_mib_from_base_to_limit() {
        let mut space = bridge();
        space.write(MEMORY_WINDOW, 0xc01f_c00f, 0xf);
        assert_eq!(space.memory_window(), (0xc000_0000, 0xc01f_ffff));
        space.write(MEMORY_WINDOW, 0x0000_fff0, 0xf);
        let (first, last) = space.memory_window();
        assert!(first > last);
    }

    #[test]
    fn a_prefetchable_window_has_64_bits() {
        let mut space = bridge();
        space.write(PREFETCHABLE_WINDOW, 0x3ff0_0000, 0xf);
        space.write(PREFETCHABLE_BASE_HIGH, 0x100, 0xf);
        space.write(PREFETCHABLE_LIMIT_HIGH, 0x100, 0xf);
        assert_eq!(
            space.prefetchable_window(),
            (0x100_0000_0000, 0x100_3fff_ffff)
        );
        assert_eq!(space.read(PREFETCHABLE_WINDOW) & 0x000f_000f, 0x0001_0001);
    }

    #[test]
    fn a_bridge_without_numbers_has_no_bus_below() {
        let mut space = bridge();
        assert_eq!(space.buses(), (1, 0));
        space.write(BUSES, 0xff07_0502, 0xf);
        assert_eq!((space.buses(), space.secondary_bus()), ((5, 7), 5));
        assert_eq!(space.read(BUSES) >> 24, 0);
    }

    #[test]
    fn a_reset_that_would_not_be_carried_out_cannot_be_written() {
        let mut space = bridge();
        space.write(BRIDGE_CONTROL, u32::MAX, 0xf);
        assert_eq!(space.read(BRIDGE_CONTROL) & SECONDARY_BUS_RESET, 0);
    }
}
