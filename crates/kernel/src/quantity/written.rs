//! A quantity of any kind as written: a number and its unit.

use super::Kind;
use super::scale::{BANDWIDTH, BIT_RATE, FREQUENCY, LENGTH, SIZE, Scale, TIME};

/// A number and its unit, such as "166 ns", whatever kind of quantity it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The number: digits that may have a sign, a fraction and an exponent.
    pub number: String,
    /// The unit; `None` for a plain number.
    pub unit: Option<Unit>,
}

/// A unit of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The name of the unit.
    pub name: &'static str,
    /// The kind of quantity that the unit is for.
    pub kind: Kind,
    /// The size of the unit in units of the kind's base unit, as a fraction.
    pub size: (u64, u64),
}

impl Written {
    /// Reads a number that may have a unit.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let (number, unit) = text.split_at(end_of_number(text)?);
        let unit = unit.trim_start();
        let known = Unit::named(unit);
        (unit.is_empty() || known.is_some()).then(|| Self {
            number: number.replace('_', ""),
            unit: known,
        })
    }
}

impl Unit {
    /// The names of the units of a kind of quantity.
    pub fn of(kind: Kind) -> impl Iterator<Item = &'static str> {
        let scales = SCALES.iter().filter(move |scale| scale.kind == kind);
        scales.flat_map(|scale| scale.units.iter().map(|(name, _)| *name))
    }

    /// The unit of this name.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.replace(['µ', 'μ'], "u");
        SCALES.iter().find_map(|scale| {
            let (name, size) = scale.units.iter().find(|(unit, _)| *unit == name)?;
            Some(Self {
                name,
                kind: scale.kind,
                size: (*size, scale.multiple(scale.base)?),
            })
        })
    }
}

const SCALES: &[Scale] = &[TIME, SIZE, BANDWIDTH, BIT_RATE, FREQUENCY, LENGTH];

/// The end of the number at the beginning of a text: a sign, digits, a fraction, and an exponent of up to three digits.
fn end_of_number(text: &str) -> Option<usize> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let sign = |text: &str| usize::from(text.starts_with(['-', '+']));
    let mut end = sign(text);
    if digits(&text[end..]) == 0 {
        return None;
    }
    let whole = |byte: &u8| byte.is_ascii_digit() || *byte == b'_';
    end += text[end..].bytes().take_while(whole).count();
    let fraction = text[end..].strip_prefix('.').map_or(0, digits);
    end += if fraction > 0 { fraction + 1 } else { 0 };
    if let Some(exponent) = text[end..].strip_prefix(['e', 'E']) {
        let sign = sign(exponent);
        let length = digits(&exponent[sign..]);
        end += if (1..=3).contains(&length) {
            1 + sign + length
        } else {
            0
        };
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_its_unit_are_read_whatever_their_kind() {
        for (text, number, unit, size) in [
            ("166 ns", "166", "ns", (1_000_000, 1_000_000_000_000_000)),
            ("-1_000.5e-3KiB", "-1000.5e-3", "KiB", (1024, 1)),
            ("2 µs", "2", "us", (1_000_000_000, 1_000_000_000_000_000)),
            ("3 cm", "3", "cm", (10, 1000)),
            ("8 Gbit/s", "8", "Gbit/s", (1_000_000_000, 1)),
        ] {
            let found = Written::read(text).expect(text);
            let of = found.unit.expect(text);
            assert_eq!(
                (found.number.as_str(), of.name, of.size),
                (number, unit, size)
            );
        }
        assert_eq!(Written::read(" 1e9 ").expect("it is a number").unit, None);
        for text in ["", "ns", "1 parsec", ".5", "1 2", "1e1000", "1..2", "x1"] {
            assert_eq!(Written::read(text), None, "{text}");
        }
    }
}
