//! The release of a library.

use kernel::{Quantity, Value};

/// The release of a library, written as "2.14.0".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// Major version.
    pub major: u8,
    /// Minor version.
    pub minor: u8,
    /// Patch.
    pub patch: u16,
}

impl Quantity for Release {
    fn read(value: &Value<'_>) -> Result<Self, String> {
        let parsed = || {
            let Value::Text(text) = value else {
                return None;
            };
            let mut numbers = text.split('.');
            let release = Release {
                major: numbers.next()?.parse().ok()?,
                minor: numbers.next()?.parse().ok()?,
                patch: numbers.next()?.parse().ok()?,
            };
            numbers.next().is_none().then_some(release)
        };
        parsed().ok_or_else(|| {
            format!(
                "{value} is not a release; write three numbers with points between, such as \"2.14.0\""
            )
        })
    }

    fn show(&self) -> String {
        format!("{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_has_three_numbers() {
        let read = |text| Release::read(&Value::Text(text));
        assert_eq!(
            read("1.1.2").map(|release| release.show()),
            Ok("1.1.2".to_owned())
        );
        for wrong in ["1.1", "1.1.2.3", "256.0.0", "1..2", "v1.1.2"] {
            let message = format!(
                "{wrong:?} is not a release; write three numbers with points between, such as \"2.14.0\""
            );
            assert_eq!(read(wrong), Err(message));
        }
        assert!(Release::read(&Value::Float(1.1)).is_err());
    }
}
