//! Base address registers (BARs): how a function requests addresses, and which addresses software has assigned.

use super::ConfigSpace;
use super::header::BARS;

/// A memory BAR as its function declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bar {
    /// The register's index, 0..=5; a 64-bit BAR also occupies the next register.
    pub index: u8,
    /// Size in bytes, a power of two.
    pub size: u64,
    /// Whether the BAR is 64 bits wide and prefetchable.
    pub wide: bool,
}

impl Bar {
    /// Number of BARs in a type 0 header.
    pub const COUNT: usize = 6;

    /// The BAR at `index`, from the values `low` and `high` that its register and the next one return after software has written
    /// all ones to both; `None` when the BAR is not implemented (PCIe Base 7.5.1.2.1).
    pub fn sized(index: u8, low: u32, high: u32) -> Option<Self> {
        let wide = Self::is_wide(low);
        let address = u64::from(low & !FLAGS);
        let high = if wide { high } else { u32::MAX };
        let mask = u64::from(high) << 32 | address;
        let implemented = if wide { mask != 0 } else { address != 0 };
        implemented.then(|| Self {
            index,
            size: mask.wrapping_neg(),
            wide,
        })
    }

    /// Whether a BAR with the value `low` in its register also occupies the next register.
    pub fn is_wide(low: u32) -> bool {
        low & TYPE == WIDE
    }

    /// Number of registers that the BAR occupies.
    pub fn registers(self) -> u8 {
        if self.wide { 2 } else { 1 }
    }
}

impl ConfigSpace {
    /// Declares `bar`. The registers of `bar` must not be declared yet.
    pub(super) fn declare_bar(&mut self, bar: Bar) {
        self.declare_bar_at(BARS + u16::from(bar.index), bar);
    }

    /// Declares `bar` with its low half in `register`.
    pub(super) fn declare_bar_at(&mut self, register: u16, bar: Bar) {
        let mask = !(bar.size - 1);
        if bar.wide {
            let flags = WIDE | PREFETCHABLE;
            self.declare(register, flags, mask as u32 & !FLAGS, 0);
            self.declare(register + 1, 0, (mask >> 32) as u32, 0);
        } else {
            self.declare(register, 0, mask as u32 & !FLAGS, 0);
        }
    }

    /// The address in the registers of BAR `index`.
    pub fn bar_base(&self, index: u8) -> u64 {
        self.bar_base_at(BARS + u16::from(index))
    }

    pub(super) fn bar_base_at(&self, register: u16) -> u64 {
        let low = self.read(register);
        let high = if Bar::is_wide(low) {
            self.read(register + 1)
        } else {
            0
        };
        u64::from(high) << 32 | u64::from(low & !FLAGS)
    }

    /// The size of BAR `index`; `None` if the function does not have it.
    pub fn bar_size(&self, index: u8) -> Option<u64> {
        self.bar_size_at(BARS + u16::from(index))
    }

    /// Changes the size of the wide BAR whose low half is in `register`. Of its address, the bits below the size become 0.
    pub(super) fn set_bar_size(&mut self, register: u16, size: u64) {
        let mask = !(size - 1);
        for (register, writable, fixed) in [
            (register, mask as u32 & !FLAGS, FLAGS),
            (register + 1, (mask >> 32) as u32, 0),
        ] {
            self.set_writable(register, writable);
            self.update(register, !(writable | fixed), 0);
        }
    }

    /// The size of the BAR whose low half is in `register`: the value of its lowest writable address bit.
    pub(super) fn bar_size_at(&self, register: u16) -> Option<u64> {
        let mut mask = u64::from(self.writable(register));
        if Bar::is_wide(self.read(register)) {
            mask |= u64::from(self.writable(register + 1)) << 32;
        }
        (mask != 0).then(|| 1 << mask.trailing_zeros())
    }
}

/// Low bits of a BAR, which contain its type and no address.
pub(super) const FLAGS: u32 = 0xf;
const TYPE: u32 = 0b0111;
const WIDE: u32 = 0b0100;
const PREFETCHABLE: u32 = 0b1000;

#[cfg(test)]
mod tests {
    use super::*;

    fn sized(bar: Bar) -> Option<Bar> {
        let mut space = ConfigSpace::empty();
        space.declare_bar(bar);
        let register = BARS + u16::from(bar.index);
        space.write(register, u32::MAX, 0xf);
        space.write(register + 1, u32::MAX, 0xf);
        Bar::sized(bar.index, space.read(register), space.read(register + 1))
    }

    #[test]
    fn a_bar_tells_its_size_when_all_ones_are_written() {
        for size in 7..31 {
            for wide in [false, true] {
                let bar = Bar {
                    index: 2,
                    size: 1 << size,
                    wide,
                };
                assert_eq!(sized(bar), Some(bar));
            }
        }
        for size in 31..63 {
            let bar = Bar {
                index: 0,
                size: 1 << size,
                wide: true,
            };
            assert_eq!(sized(bar), Some(bar));
        }
        assert_eq!(Bar::sized(0, 0, 0), None);
    }

    #[test]
    fn a_base_is_written_above_the_hardwired_bits() {
        let mut space = ConfigSpace::empty();
        space.declare_bar(Bar {
            index: 0,
            size: 1 << 20,
            wide: true,
        });
        space.write(BARS, 0x8012_3456, 0xf);
        space.write(BARS + 1, 0x100, 0xf);
        assert_eq!(space.bar_base(0), 0x100_8010_0000);
        assert_eq!(space.read(BARS) & 0xf, 0b1100);
    }
}
