//! Units: a number with its unit is read exactly and shown in its shortest form.

use super::{Kind, Value};

/// A kind of quantity and its units.
pub(super) struct Scale {
    pub(super) kind: Kind,
    /// The name of the quantity with its article: "a time".
    pub(super) noun: &'static str,
    /// The unit that error messages suggest for a value without a unit.
    pub(super) usual: &'static str,
    /// The unit in which amounts of this kind are compared.
    pub(super) base: &'static str,
    /// The units, largest first, with their size in the quantity's own unit.
    pub(super) units: &'static [(&'static str, u64)],
    /// The largest value. Larger ones are typing errors, and their sums might overflow.
    pub(super) most: u64,
    /// Whether a value between two multiples of the quantity's own unit is rounded. Otherwise it is an error.
    pub(super) rounds: bool,
}

pub(super) const FS_PER_SECOND: u64 = 1_000_000_000_000_000;

pub(super) const TIME: Scale = Scale {
    base: "s",
    kind: Kind::Time,
    noun: "a time",
    usual: "ns",
    units: &[
        ("s", FS_PER_SECOND),
        ("ms", 1_000_000_000_000),
        ("us", 1_000_000_000),
        ("ns", 1_000_000),
        ("ps", 1_000),
        ("fs", 1),
    ],
    most: 1_000 * FS_PER_SECOND,
    rounds: true,
};

pub(super) const SIZE: Scale = Scale {
    base: "B",
    kind: Kind::Size,
    noun: "a number of bytes",
    usual: "B",
    units: &[
        ("TiB", 1 << 40),
        ("TB", 1_000_000_000_000),
        ("GiB", 1 << 30),
        ("GB", 1_000_000_000),
        ("MiB", 1 << 20),
        ("MB", 1_000_000),
        ("KiB", 1 << 10),
        ("kB", 1_000),
        ("B", 1),
    ],
    most: 1 << 50,
    rounds: false,
};

pub(super) const FREQUENCY: Scale = Scale {
    base: "Hz",
    kind: Kind::Frequency,
    noun: "a frequency",
    usual: "MHz",
    units: &[
        ("GHz", 1_000_000_000),
        ("MHz", 1_000_000),
        ("kHz", 1_000),
        ("Hz", 1),
    ],
    most: 1_000_000_000_000,
    rounds: true,
};

pub(super) const BANDWIDTH: Scale = Scale {
    base: "B/s",
    kind: Kind::Bandwidth,
    noun: "a bandwidth",
    usual: "GB/s",
    units: &[
        ("GiB/s", 1 << 30),
        ("GB/s", 1_000_000_000),
        ("MiB/s", 1 << 20),
        ("MB/s", 1_000_000),
        ("KiB/s", 1 << 10),
        ("kB/s", 1_000),
        ("B/s", 1),
    ],
    most: 1 << 50,
    rounds: true,
};

pub(super) const BIT_RATE: Scale = Scale {
    base: "bit/s",
    kind: Kind::BitRate,
    noun: "a bit rate",
    usual: "Gbit/s",
    units: &[
        ("Gbit/s", 1_000_000_000),
        ("Mbit/s", 1_000_000),
        ("kbit/s", 1_000),
        ("bit/s", 1),
    ],
    most: 1_000_000_000_000,
    rounds: true,
};

pub(super) const LENGTH: Scale = Scale {
    base: "m",
    kind: Kind::Length,
    noun: "a length",
    usual: "m",
    units: &[("km", 1_000_000), ("m", 1000), ("cm", 10), ("mm", 1)],
    most: 1_000_000_000,
    rounds: true,
};

impl Scale {
    pub(super) fn read(&self, value: &Value<'_>) -> Result<u64, String> {
        let text = match value {
            Value::Text(text) => text.trim(),
            Value::Integer(_) | Value::Float(_) => return Err(self.unitless(value)),
            Value::Flag(_) => return Err(self.refusal(value)),
        };
        let split = text.find(char::is_alphabetic).unwrap_or(text.len());
        let (number, unit) = (text[..split].trim(), text[split..].trim());
        if number.starts_with('-') {
            let noun = self.noun;
            return Err(format!("{value} is negative; write {noun} from 0 up"));
        }
        let number = Decimal::parse(number).ok_or_else(|| self.refusal(value))?;
        if unit.is_empty() {
            return Err(self.unitless(value));
        }
        let multiple = self.multiple(unit).ok_or_else(|| self.refusal(value))?;
        let product = number.times(multiple);
        let Some((whole, exact)) = product.filter(|(whole, _)| *whole <= self.most) else {
            let most = self.show(self.most);
            return Err(format!("{value} is too large; write {most} at most"));
        };
        if !exact && !self.rounds {
            let noun = self.noun;
            return Err(format!(
                "{value} is not {noun} exactly; write a whole number"
            ));
        }
        Ok(whole)
    }

    pub(super) fn multiple(&self, unit: &str) -> Option<u64> {
        let unit = unit.replace(['µ', 'μ'], "u");
        let known = self.units.iter().find(|(name, _)| *name == unit);
        known.map(|(_, multiple)| *multiple)
    }

    pub(super) fn show(&self, amount: u64) -> String {
        let units = self.units.iter();
        units
            .filter(|(_, multiple)| amount >= *multiple)
            .filter_map(|(unit, multiple)| Some(format!("{} {unit}", decimal(amount, *multiple)?)))
            .min_by_key(String::len)
            .unwrap_or_else(|| format!("0 {}", self.usual))
    }
}

/// A non-negative decimal number, stored exactly.
pub(super) struct Decimal {
    digits: u128,
    fraction_len: u32,
}

impl Decimal {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        if whole.is_empty() || text.ends_with('.') {
            return None;
        }
        let mut digits: u128 = 0;
        let whole = whole.chars().filter(|c| *c != '_');
        for c in whole.chain(fraction.chars()) {
            let shifted = digits.checked_mul(10)?;
            digits = shifted.checked_add(c.to_digit(10)?.into())?;
        }
        Some(Self {
            digits,
            fraction_len: u32::try_from(fraction.len()).ok()?,
        })
    }

    /// The number times ten to the power of `exponent`.
    pub(super) fn shifted(&self, exponent: i32) -> Option<Self> {
        let fraction_len = i64::from(self.fraction_len) - i64::from(exponent);
        let more = u32::try_from(-fraction_len.min(0)).ok()?;
        Some(Self {
            digits: self.digits.checked_mul(10u128.checked_pow(more)?)?,
            fraction_len: u32::try_from(fraction_len.max(0)).ok()?,
        })
    }

    /// The product of the number and `multiple`, rounded to the nearest whole number, and whether the product is exact.
    pub(super) fn times(&self, multiple: u64) -> Option<(u64, bool)> {
        let product = self.digits.checked_mul(multiple.into())?;
        let divisor = 10u128.checked_pow(self.fraction_len)?;
        let rounded = product.checked_add(divisor / 2)? / divisor;
        Some((u64::try_from(rounded).ok()?, product % divisor == 0))
    }
}

/// `amount / unit` as a decimal number, if six decimals are enough.
fn decimal(amount: u64, unit: u64) -> Option<String> {
    let micro = u128::from(amount % unit) * 1_000_000;
    if micro % u128::from(unit) != 0 {
        return None;
    }
    let fraction = format!("{:06}", micro / u128::from(unit));
    let text = format!("{}.{fraction}", amount / unit);
    Some(text.trim_end_matches('0').trim_end_matches('.').to_owned())
}
