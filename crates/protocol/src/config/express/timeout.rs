//! Completion timeouts in Device Capabilities 2 and Device Control 2 (PCIe Base 7.5.3.15, 7.5.3.16).

use super::{ConfigSpace, DEVICE_CONTROL_2, Express};

/// The completion timeout that software selects for a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompletionTimeout {
    /// Completion Timeout Value.
    value: u8,
    /// Completion Timeout Disable.
    is_disabled: bool,
}

/// Completion Timeout Value and Completion Timeout Disable in Device Control 2.
pub(super) const CONTROL: u32 = VALUE | DISABLE;
/// Completion Timeout Ranges Supported, all four, and Completion Timeout Disable Supported in Device Capabilities 2.
pub(super) const CAPABILITIES: u32 = 0xf | 1 << 4;
const VALUE: u32 = 0xf;
const DISABLE: u32 = 1 << 4;

const US: u64 = 1_000_000_000;
const MS: u64 = 1000 * US;

/// The default range, which the value 0 and reserved values select.
const DEFAULT: (u64, u64) = (50 * US, 50 * MS);

/// The values of Completion Timeout Value and the ranges in femtoseconds that they select, the shortest range first.
const RANGES: [(u8, (u64, u64)); 8] = [
    (0b0001, (50 * US, 100 * US)),
    (0b0010, (MS, 10 * MS)),
    (0b0101, (16 * MS, 55 * MS)),
    (0b0110, (65 * MS, 210 * MS)),
    (0b1001, (260 * MS, 900 * MS)),
    (0b1010, (1000 * MS, 3500 * MS)),
    (0b1101, (4000 * MS, 13_000 * MS)),
    (0b1110, (17_000 * MS, 64_000 * MS)),
];

impl CompletionTimeout {
    /// The completion timeout in femtoseconds of a function whose own timeout is `own`: the time nearest to `own` in the selected range.
    /// `None` if requests never time out.
    ///
    /// If `own` is between two ranges, the function uses it unchanged while the value that [represents](Self::value_for) it is selected.
    pub fn nearest_fs(self, own: u64) -> Option<u64> {
        if self.is_disabled {
            return None;
        }
        let range = RANGES.iter().find(|(value, _)| *value == self.value);
        let (shortest, longest) = range.map_or(DEFAULT, |(_, range)| *range);
        Some(if self.value == Self::value_for(own) {
            own
        } else {
            own.clamp(shortest, longest)
        })
    }

    /// The Completion Timeout Value of a time in femtoseconds: the value of the range that contains the time; 0 if only the default range
    /// contains it; otherwise the value of the next longer range.
    fn value_for(own: u64) -> u8 {
        let holds = |(shortest, longest): (u64, u64)| (shortest..=longest).contains(&own);
        let in_default = holds(DEFAULT);
        let found = RANGES.iter().find(|(_, range)| holds(*range));
        let longer = RANGES.iter().find(|(_, range)| range.0 > own);
        match (found, longer) {
            (Some((value, _)), _) => *value,
            (None, Some((value, _))) if !in_default => *value,
            _ => 0,
        }
    }
}

impl ConfigSpace {
    /// Completion Timeout Value and Completion Timeout Disable of the function.
    pub fn completion_timeout(&self) -> CompletionTimeout {
        let control = self.read(DEVICE_CONTROL_2);
        CompletionTimeout {
            value: (control & VALUE) as u8,
            is_disabled: control & DISABLE != 0,
        }
    }
}

impl Express {
    /// Completion Timeout Value in Device Control 2: the mask, and the value that represents a time in femtoseconds.
    pub fn completion_timeout_field(own: u64) -> (u32, u32) {
        (VALUE, CompletionTimeout::value_for(own).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(value: u8) -> CompletionTimeout {
        CompletionTimeout {
            value,
            is_disabled: false,
        }
    }

    /// PCIe Base 7.5.3.16.
    #[test]
    fn a_time_shows_as_the_range_that_has_it() {
        for (own, value) in [
            (50 * US, 0b0001),
            (100 * US, 0b0001),
            (500 * US, 0),
            (MS, 0b0010),
            (10 * MS, 0b0010),
            (12 * MS, 0),
            (50 * MS, 0b0101),
            (60 * MS, 0b0110),
            (100 * MS, 0b0110),
            (250 * MS, 0b1001),
            (1000 * MS, 0b1010),
            (3700 * MS, 0b1101),
            (64_000 * MS, 0b1110),
        ] {
            assert_eq!(Express::completion_timeout_field(own), (0xf, value));
            assert_eq!(selected(value as u8).nearest_fs(own), Some(own));
        }
    }

    #[test]
    fn a_function_uses_the_time_of_the_selected_range_that_is_nearest_to_its_own() {
        for (own, value, used) in [
            (10 * MS, 0b0001, 100 * US),
            (10 * MS, 0b0010, 10 * MS),
            (10 * MS, 0b0110, 65 * MS),
            (10 * MS, 0b1110, 17_000 * MS),
            (10 * MS, 0, 10 * MS),
            (1000 * MS, 0, 50 * MS),
            (50 * US, 0b0010, MS),
            // A reserved value selects the default range.
            (10 * MS, 0b1111, 10 * MS),
        ] {
            assert_eq!(selected(value).nearest_fs(own), Some(used));
        }
    }

    #[test]
    fn a_function_without_completion_timeout_waits_for_ever() {
        let never = CompletionTimeout {
            value: 1,
            is_disabled: true,
        };
        assert_eq!(never.nearest_fs(10 * MS), None);
    }
}
