//! Identifiers of a transaction: functions, and the tags of their requests.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Routing ID of a function: bus, device and function number (PCIe Base 2.2.4.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u16);

impl FunctionId {
    /// The ID of `function` (0..=7) of `device` (0..=31) on `bus`; higher bits of `function` and `device` are dropped.
    pub const fn new(bus: u8, device: u8, function: u8) -> Self {
        Self((bus as u16) << 8 | (device as u16 & 0x1f) << 3 | function as u16 & 0x7)
    }

    /// Whether both IDs belong to functions of the same device.
    pub const fn is_beside(self, other: Self) -> bool {
        self.0 >> 3 == other.0 >> 3
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

impl FromStr for FunctionId {
    type Err = NotAFunction;

    /// Reads "03:00.0": bus and device number in hexadecimal, then the function number.
    fn from_str(text: &str) -> Result<Self, NotAFunction> {
        let parts = text
            .split_once(':')
            .and_then(|(bus, rest)| Some((bus, rest.split_once('.')?)));
        let number = |digits: &str| u8::from_str_radix(digits, 16).ok();
        parts
            .and_then(|(bus, (device, function))| {
                Some((number(bus)?, number(device)?, number(function)?))
            })
            .filter(|(_, device, function)| *device < 32 && *function < 8)
            .map(|(bus, device, function)| Self::new(bus, device, function))
            .ok_or_else(|| NotAFunction(text.to_owned()))
    }
}

/// The error for a text that is not a function's ID.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not a function's ID; write bus, device and function like \"03:00.0\"")]
pub struct NotAFunction(String);

/// Tag of a request, up to 10 bits: T9 and T8 are apart from the low eight bits in the header (PCIe Base 2.2.6.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub u16);

impl Tag {
    /// Number of 10-bit tags.
    pub const COUNT: u16 = 1 << 10;

    /// The tag with this `number`; `None` if `number` does not fit in ten bits.
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
    fn a_function_is_read_as_it_is_shown() {
        for id in [0, 0x0300, 0xffff, 0x1234].map(FunctionId) {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        for wrong in ["", "3", "03:00", "03:20.0", "03:00.8", "100:00.0", "x:y.z"] {
            assert!(wrong.parse::<FunctionId>().is_err());
        }
    }

    #[test]
    fn a_function_is_written_as_bus_device_function() {
        assert_eq!(FunctionId::new(2, 0, 0).to_string(), "02:00.0");
        assert_eq!(FunctionId::new(0xff, 31, 7).to_string(), "ff:1f.7");
    }

    #[test]
    fn functions_of_one_device_are_beside_each_other() {
        let id = FunctionId::new(2, 3, 4);
        assert!(id.is_beside(FunctionId::new(2, 3, 0)));
        assert!(!id.is_beside(FunctionId::new(2, 4, 4)));
        assert!(!id.is_beside(FunctionId::new(3, 3, 4)));
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
