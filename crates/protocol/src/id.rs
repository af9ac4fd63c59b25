//! Names of the parties of a transaction: functions and the tags that a requester gives.

use std::fmt;

/// Routing ID of a function: bus, device and function number (PCIe Base 2.2.4.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u16);

impl FunctionId {
    /// The ID of `function` (0..=7) of `device` (0..=31) on `bus`; higher bits of either are dropped.
    pub const fn new(bus: u8, device: u8, function: u8) -> Self {
        Self((bus as u16) << 8 | (device as u16 & 0x1f) << 3 | function as u16 & 0x7)
    }

    /// Bus number.
    pub const fn bus(self) -> u8 {
        (self.0 >> 8) as u8
    }

    /// Device number on its bus, 0..=31.
    pub const fn device(self) -> u8 {
        (self.0 >> 3) as u8 & 0x1f
    }

    /// Function number in its device, 0..=7.
    pub const fn function(self) -> u8 {
        self.0 as u8 & 0x7
    }
}

impl fmt::Display for FunctionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{:02x}:{:02x}.{}",
            self.bus(),
            self.device(),
            self.function()
        )
    }
}

/// Tag of a request, up to 10 bits: T9 and T8 travel apart from the low eight (PCIe Base 2.2.6.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub u16);

impl Tag {
    /// How many tags ten bits give.
    pub const COUNT: u16 = 1 << 10;

    /// The tag, if it fits in ten bits.
    pub const fn new(number: u16) -> Option<Self> {
        if number < Self::COUNT {
            Some(Self(number))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_written_as_bus_device_function() {
        assert_eq!(FunctionId::new(2, 0, 0).to_string(), "02:00.0");
        assert_eq!(FunctionId::new(0xff, 31, 7).to_string(), "ff:1f.7");
    }

    #[test]
    fn bus_device_and_function_come_back() {
        let id = FunctionId::new(0x12, 0x15, 3);
        assert_eq!((id.bus(), id.device(), id.function()), (0x12, 0x15, 3));
    }

    #[test]
    fn a_tag_has_ten_bits() {
        assert_eq!(Tag::new(1023), Some(Tag(1023)));
        assert_eq!(Tag::new(1024), None);
    }
}
