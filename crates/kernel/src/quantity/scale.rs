//! Units: a number with its unit is read exactly and shown in its shortest form.

use super::Value;

/// A kind of quantity and its units.
pub(super) struct Scale {
    /// The name of the quantity with its article: "a time".
    noun: &'static str,
    /// The unit that error messages suggest when none is written.
    pub(super) usual: &'static str,
    /// The units, largest first, with their size in the quantity's own unit.
    units: &'static [(&'static str, u64)],
    /// The largest value. Larger ones are typing errors, and their sums might overflow.
    most: u64,
    /// Whether a value between two multiples of the quantity's own unit is rounded. Otherwise it is an error.
    rounds: bool,
}

pub(super) const FS_PER_SECOND: u64 = 1_000_000_000_000_000;

pub(super) const TIME: Scale = Scale {
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

    fn unitless(&self, value: &Value<'_>) -> String {
        format!("{value} has no unit; write {:?}", self.example(value))
    }

    fn multiple(&self, unit: &str) -> Option<u64> {
        let unit = unit.replace(['µ', 'μ'], "u");
        let known = self.units.iter().find(|(name, _)| *name == unit);
        known.map(|(_, multiple)| *multiple)
    }

    fn refusal(&self, value: &Value<'_>) -> String {
        let names: Vec<&str> = self.units.iter().rev().map(|(name, _)| *name).collect();
        format!(
            "{value} is not {}; write {:?} (units: {})",
            self.noun,
            self.example(value),
            names.join(", ")
        )
    }

    /// An example for error messages: `value` with a unit if its number is usable, otherwise an example number.
    fn example(&self, value: &Value<'_>) -> String {
        if let Value::Text(text) = value
            && let Some(meant) = self.in_bytes(text.trim())
        {
            return meant;
        }
        let number = match value {
            Value::Integer(number) if *number >= 0 => number.to_string(),
            Value::Float(number) if *number >= 0.0 && number.is_finite() => number.to_string(),
            Value::Text(text) => {
                let digits = text.trim();
                let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.');
                let digits = &digits[..end.unwrap_or(digits.len())];
                let usable = Decimal::parse(digits).is_some() && digits.len() <= 20;
                if usable { digits } else { "150" }.to_owned()
            }
            _ => "150".to_owned(),
        };
        let unit = match value {
            Value::Text(text) => text.trim().trim_start_matches(|c: char| !c.is_alphabetic()),
            _ => "",
        };
        let alike = self
            .units
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(unit));
        let smallest = self.units.last().map_or(self.usual, |(name, _)| name);
        let usual = self.multiple(self.usual).unwrap_or(1);
        let product = Decimal::parse(&number).and_then(|number| number.times(usual));
        let unit = match alike {
            Some((name, _)) => name,
            None if product.is_some_and(|(whole, _)| whole <= self.most) => self.usual,
            None => smallest,
        };
        format!("{number} {unit}")
    }

    /// Converts bits per second, such as "8 Gbit/s", to bytes per second, if this scale is a bandwidth in bytes.
    fn in_bytes(&self, text: &str) -> Option<String> {
        let split = text.find(char::is_alphabetic)?;
        let (number, unit) = (text[..split].trim(), &text[split..]);
        let bits = ["bit/s", "b/s", "bps"];
        let prefix = bits.iter().find_map(|bit| unit.strip_suffix(bit))?;
        let unit = format!("{prefix}B/s");
        let multiple = self.multiple(&unit).filter(|multiple| *multiple >= 8)?;
        let (eighth, _) = Decimal::parse(number)?.times(multiple / 8)?;
        Some(self.show(eighth))
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
struct Decimal {
    digits: u128,
    fraction_len: u32,
}

impl Decimal {
    fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        if whole.is_empty() || text.ends_with('.') {
            return None;
        }
        let mut digits: u128 = 0;
        let mut fraction_len = 0;
        for c in whole.chars().filter(|c| *c != '_') {
            digits = digits
                .checked_mul(10)?
                .checked_add(c.to_digit(10)?.into())?;
        }
        for c in fraction.chars() {
            digits = digits
                .checked_mul(10)?
                .checked_add(c.to_digit(10)?.into())?;
            fraction_len += 1;
        }
        Some(Self {
            digits,
            fraction_len,
        })
    }

    /// The product rounded to the nearest whole number, and whether the product is exact.
    fn times(&self, multiple: u64) -> Option<(u64, bool)> {
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
