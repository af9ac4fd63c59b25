//! The ID of an accelerator functional unit (AFU): a UUID, by which software finds the AFU for which it was written.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The UUID of an accelerator functional unit, or of a feature in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AfuId(pub u128);

impl AfuId {
    /// The upper 64 bits, the register `AFU_ID_H`.
    pub const fn high(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// The lower 64 bits, the register `AFU_ID_L`.
    pub const fn low(self) -> u64 {
        self.0 as u64
    }
}

impl fmt::Display for AfuId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |shift: u32, digits: u32| self.0 >> shift & ((1 << (4 * digits)) - 1);
        write!(
            formatter,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            part(96, 8),
            part(80, 4),
            part(64, 4),
            part(48, 4),
            part(0, 12)
        )
    }
}

impl FromStr for AfuId {
    type Err = NotAnAfuId;

    fn from_str(text: &str) -> Result<Self, NotAnAfuId> {
        let wrong = || NotAnAfuId(text.to_owned());
        let groups = text.split('-').map(str::len);
        if !groups.eq(GROUPS) {
            return Err(wrong());
        }
        let digits: String = text.split('-').collect();
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let number = u128::from_str_radix(&digits, 16);
        number.map(Self).map_err(|_| wrong())
    }
}

/// Hexadecimal digits of each group of a UUID.
const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

/// The error for a text that is not a UUID.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not a UUID; write it like \"d8424dc4-a4a3-c413-f89e-433683f9040b\"")]
pub struct NotAnAfuId(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_written_as_it_is_read() {
        let text = "d8424dc4-a4a3-c413-f89e-433683f9040b";
        let id: AfuId = text.to_uppercase().parse().expect("it is a UUID");
        assert_eq!(id.to_string(), text);
        assert_eq!(id.high(), 0xd842_4dc4_a4a3_c413);
        assert_eq!(id.low(), 0xf89e_4336_83f9_040b);
    }

    #[test]
    fn what_is_no_uuid_is_told_what_would_be() {
        for text in [
            "",
            "d8424dc4",
            "d8424dc4-a4a3-c413-f89e-433683f9040g",
            "+8424dc4-a4a3-c413-f89e-433683f9040b",
        ] {
            let wrong = text.parse::<AfuId>().expect_err("it is no UUID");
            assert!(wrong.to_string().contains("write it like"));
        }
    }
}
