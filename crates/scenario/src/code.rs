//! Identification numbers of functions (vendor, device and class), written like "0x10ee".

use kernel::{Quantity, Value};

/// A vendor, device or class number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Code(pub u32);

impl Quantity for Code {
    fn read(value: &Value<'_>) -> Result<Self, String> {
        let number = match value {
            Value::Integer(number) => u32::try_from(*number).ok(),
            Value::Text(text) => text
                .trim()
                .strip_prefix("0x")
                .and_then(|digits| u32::from_str_radix(digits, 16).ok()),
            _ => None,
        };
        number.map(Self).ok_or_else(|| {
            format!("{value} is not an identification number; write it like \"0x10ee\"")
        })
    }

    fn show(&self) -> String {
        format!("0x{:04x}", self.0)
    }
}
