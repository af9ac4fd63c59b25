//! Advice about quantities that cannot be read: the same amount in the correct notation or, if the amount is not clear, an example.

use super::Value;
use super::scale::{Decimal, Scale};

/// Prefixes of units as words, and the notation of each prefix in scenarios.
const PREFIXES: [(&str, &str); 14] = [
    ("femto", "f"),
    ("pico", "p"),
    ("nano", "n"),
    ("micro", "u"),
    ("milli", "m"),
    ("centi", "c"),
    ("kilo", "k"),
    ("mega", "M"),
    ("giga", "G"),
    ("tera", "T"),
    ("kibi", "Ki"),
    ("mebi", "Mi"),
    ("gibi", "Gi"),
    ("tebi", "Ti"),
];

/// Units as words, without the ending of a plural, and the notation of each unit in scenarios.
const WORDS: [(&str, &str); 7] = [
    ("second", "s"),
    ("sec", "s"),
    ("byte", "B"),
    ("bit", "bit"),
    ("hertz", "Hz"),
    ("metre", "m"),
    ("meter", "m"),
];

/// Units of time that a scenario does not accept, without the ending of a plural, and their length in seconds.
const LONG_TIMES: [(&str, u64); 4] = [("minute", 60), ("min", 60), ("hour", 3600), ("h", 3600)];

impl Scale {
    /// The error for a number without a unit.
    pub(super) fn unitless(&self, value: &Value<'_>) -> String {
        match self.meant(&plain(value)) {
            Some(meant) => format!("{value} has no unit; write {meant:?}"),
            None => self.refusal(value),
        }
    }

    /// The error for a value that is not a quantity of this scale.
    pub(super) fn refusal(&self, value: &Value<'_>) -> String {
        if self.is_beyond(&plain(value)) {
            let most = self.show(self.most);
            return format!("{value} is too large; write {most} at most");
        }
        let names: Vec<&str> = self.units.iter().rev().map(|(name, _)| *name).collect();
        let advice = match self.meant(&plain(value)) {
            Some(meant) => format!("write {meant:?}"),
            None => format!("write one like {:?}", format!("150 {}", self.usual)),
        };
        let (noun, names) = (self.noun, names.join(", "));
        format!("{value} is not {noun}; {advice} (units: {names})")
    }

    /// Whether `text` has a unit whose prefix is larger than that of each unit here, such as "8 EiB".
    fn is_beyond(&self, text: &str) -> bool {
        let split = text.find(char::is_alphabetic).unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let Some(rest) = unit.trim().strip_prefix(['T', 'P', 'E', 'Z', 'Y']) else {
            return false;
        };
        let smaller = format!("G{rest}");
        Decimal::parse(number.trim()).is_some()
            && self.units.iter().any(|(name, _)| *name == smaller)
    }

    /// The amount in `text`, in the correct notation, if its number and its unit are unambiguous.
    fn meant(&self, text: &str) -> Option<String> {
        let (number, unit) = split(text)?;
        if unit.is_empty() {
            return self.with_a_unit(&number);
        }
        if let Some(bytes) = self.in_bytes(&number, unit) {
            return Some(bytes);
        }
        if let Some((_, seconds)) = LONG_TIMES.iter().find(|(name, _)| *name == singular(unit)) {
            let (amount, _) = number.value.times(*seconds)?;
            return self.within(amount.checked_mul(self.multiple("s")?)?);
        }
        let (name, multiple) = self.alike(unit)?;
        self.written(&number, name, multiple)
    }

    /// A number that has no unit, written with the usual unit, or with the smallest unit if the usual unit would make the value too large.
    fn with_a_unit(&self, number: &Number) -> Option<String> {
        let (smallest, one) = *self.units.last()?;
        self.written(number, self.usual, self.multiple(self.usual)?)
            .or_else(|| self.written(number, smallest, one))
    }

    fn written(&self, number: &Number, unit: &str, multiple: u64) -> Option<String> {
        let (amount, exact) = number.value.times(multiple)?;
        let shown = self.within(amount).filter(|_| exact || self.rounds)?;
        Some(match &number.digits {
            Some(digits) => format!("{digits} {unit}"),
            None => shown,
        })
    }

    fn within(&self, amount: u64) -> Option<String> {
        (amount <= self.most).then(|| self.show(amount))
    }

    /// The unit of which `written` is another spelling, and its size. For example, "gbytes/sec" is another spelling of "GB/s".
    fn alike(&self, written: &str) -> Option<(&'static str, u64)> {
        let written = written.replace(['µ', 'μ'], "u");
        let a_second = self.usual.ends_with("/s");
        let shortened = written.strip_suffix("ps").filter(|_| a_second);
        let (amount, per) = match (written.split_once('/'), shortened) {
            (Some((amount, per)), _) => (amount, format!("/{}", unit_of(per))),
            (None, Some(amount)) => (amount, "/s".to_owned()),
            (None, None) => (&*written, String::new()),
        };
        // In a bit rate, "b" is a bit. In a bandwidth in bytes, `in_bytes` has already handled units of bits.
        let bits = self.usual.contains("bit") && amount.ends_with('b');
        let amount = if bits {
            format!("{amount}it")
        } else {
            unit_of(amount)
        };
        let name = format!("{amount}{per}");
        let exact = self.units.iter().find(|(unit, _)| *unit == name);
        let alike = || {
            let mut units = self.units.iter();
            units.find(|(unit, _)| unit.eq_ignore_ascii_case(&name))
        };
        exact.or_else(alike).copied()
    }

    /// Converts bits per second, such as "8 Gbit/s", to bytes per second, if this scale is a bandwidth in bytes.
    fn in_bytes(&self, number: &Number, unit: &str) -> Option<String> {
        let bits = ["bit/s", "b/s", "bps"];
        let prefix = bits.iter().find_map(|bit| unit.strip_suffix(bit))?;
        let unit = format!("{prefix}B/s");
        let multiple = self.multiple(&unit).filter(|multiple| *multiple >= 8)?;
        let (eighth, _) = number.value.times(multiple / 8)?;
        self.within(eighth)
    }
}

/// A number as people write it.
struct Number {
    value: Decimal,
    /// The number in the notation of a scenario; `None` if it has an exponent, so that another unit may be needed.
    digits: Option<String>,
}

/// The text of a value without quotes.
fn plain(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) => text.trim().to_owned(),
        _ => value.to_string(),
    }
}

/// The number at the beginning of `text`, and the unit after it.
fn split(text: &str) -> Option<(Number, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || " .,_'".contains(c)));
    let (written, mut unit) = text.split_at(end.unwrap_or(text.len()));
    let digits = grouped(written.trim())?;
    let value = Decimal::parse(&digits)?;
    let mut number = Number {
        value,
        digits: Some(digits),
    };
    if let Some(power) = unit.strip_prefix(['e', 'E']) {
        let signed = power.strip_prefix(['+', '-']).unwrap_or(power);
        let after = signed.find(|c: char| !c.is_ascii_digit());
        let rest = &signed[after.unwrap_or(signed.len())..];
        let exponent: i32 = power[..power.len() - rest.len()].parse().ok()?;
        number = Number {
            value: number.value.shifted(exponent)?,
            digits: None,
        };
        unit = rest;
    }
    let unit = unit.trim();
    let known = unit.chars().all(|c| c.is_alphabetic() || c == '/');
    known.then_some((number, unit))
}

/// A number without the separators between groups of three digits, and with a decimal point instead of a decimal comma.
fn grouped(written: &str) -> Option<String> {
    let point = written.find('.').unwrap_or(written.len());
    let (whole, fraction) = written.split_at(point);
    let mut groups = whole.split([',', ' ', '\'', '_']);
    let first = groups.next()?;
    let rest: Vec<&str> = groups.collect();
    if rest.iter().all(|group| group.len() == 3) {
        return Some(format!("{first}{}{fraction}", rest.concat()));
    }
    match rest[..] {
        [digits] if whole.contains(',') && fraction.is_empty() => Some(format!("{first}.{digits}")),
        _ => None,
    }
}

/// A word without the ending of a plural.
fn singular(word: &str) -> &str {
    word.strip_suffix('s').unwrap_or(word)
}

/// The unit of a word such as "kilobytes", or the word itself.
fn unit_of(word: &str) -> String {
    let lower = word.to_ascii_lowercase();
    let lower = singular(&lower);
    let mut words = WORDS.iter();
    let found = words.find_map(|(name, unit)| Some((lower.strip_suffix(name)?, unit)));
    let Some((lower, unit)) = found else {
        return word.to_owned();
    };
    let prefix = &word[..lower.len()];
    let mut prefixes = PREFIXES.iter();
    let letter = prefixes.find(|(long, _)| *long == lower);
    format!("{}{unit}", letter.map_or(prefix, |(_, letter)| letter))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::scale::{BANDWIDTH, BIT_RATE, FREQUENCY, LENGTH, SIZE, TIME};
    use super::*;

    fn advice(scale: &Scale, text: &str) -> String {
        let message = scale.read(&Value::Text(text)).expect_err("it is not read");
        let (_, advice) = message.split_once("; ").expect("there is advice");
        advice
            .split(" (units")
            .next()
            .unwrap_or_default()
            .to_owned()
    }

    #[test]
    fn an_amount_with_a_larger_prefix_is_too_large() {
        for (scale, text) in [(&SIZE, "8 EiB"), (&SIZE, "1.5 PB"), (&BANDWIDTH, "2 EB/s")] {
            let message = scale.read(&Value::Text(text)).expect_err("it is not read");
            assert!(message.contains("is too large; write"), "{message}");
        }
    }

    #[test]
    fn a_number_is_advised_as_it_was_meant() {
        assert_eq!(advice(&SIZE, "65,536 B"), r#"write "65536 B""#);
        assert_eq!(advice(&SIZE, "1 048 576 B"), r#"write "1048576 B""#);
        assert_eq!(advice(&SIZE, "65,536"), r#"write "65536 B""#);
        assert_eq!(advice(&SIZE, "1,5 KiB"), r#"write "1.5 KiB""#);
        assert_eq!(advice(&SIZE, "1e3 B"), r#"write "1 kB""#);
        assert_eq!(advice(&TIME, "2.5e-6 s"), r#"write "2.5 us""#);
        assert_eq!(advice(&TIME, "1e3"), r#"write "1 us""#);
    }

    #[test]
    fn a_unit_is_advised_as_it_was_meant() {
        assert_eq!(advice(&TIME, "5 sec"), r#"write "5 s""#);
        assert_eq!(advice(&TIME, "5 seconds"), r#"write "5 s""#);
        assert_eq!(advice(&TIME, "5 µsec"), r#"write "5 us""#);
        assert_eq!(advice(&TIME, "5 nanoseconds"), r#"write "5 ns""#);
        assert_eq!(advice(&TIME, "2 min"), r#"write "120 s""#);
        assert_eq!(advice(&SIZE, "4 megabytes"), r#"write "4 MB""#);
        assert_eq!(advice(&SIZE, "4 MiBytes"), r#"write "4 MiB""#);
        assert_eq!(advice(&SIZE, "128 b"), r#"write "128 B""#);
        assert_eq!(advice(&FREQUENCY, "250 megahertz"), r#"write "250 MHz""#);
        assert_eq!(advice(&BANDWIDTH, "12 GBps"), r#"write "12 GB/s""#);
        assert_eq!(advice(&BANDWIDTH, "12 gb/sec"), r#"write "12 GB/s""#);
        assert_eq!(advice(&BANDWIDTH, "8 Gbps"), r#"write "1 GB/s""#);
        assert_eq!(advice(&BIT_RATE, "10 Gbps"), r#"write "10 Gbit/s""#);
        assert_eq!(advice(&BIT_RATE, "10 Gb/s"), r#"write "10 Gbit/s""#);
        assert_eq!(advice(&LENGTH, "3 metres"), r#"write "3 m""#);
    }

    #[test]
    fn what_is_not_clear_gets_an_example_that_is_marked_as_one() {
        for text in [
            "NaN B",
            "inf",
            "64 k",
            "4 M",
            "0x10 B",
            "1.5e B",
            "1e400 B",
            "1e99999999999 B",
            "5 sec",
            "1,23,4 B",
            "64 B B",
            "1/2 B",
            "1e-3 B",
            "99999999999999999999999 bytes",
        ] {
            assert_eq!(advice(&SIZE, text), r#"write one like "150 B""#, "{text}");
        }
        for text in [
            "nan ns",
            "infinity",
            "5 m",
            "5 KiB",
            "",
            "ns",
            "1e30 sec",
            "1000 hours",
        ] {
            assert_eq!(advice(&TIME, text), r#"write one like "150 ns""#, "{text}");
        }
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.5, 1e300] {
            let message = TIME.read(&Value::Float(number)).expect_err("it is no time");
            assert!(message.contains(r#"write one like "150 ns""#), "{message}");
        }
    }

    proptest! {
        #[test]
        fn what_is_advised_is_read(text in "[-0-9.,_ e+]{1,8} ?(k|M|ki|mega|u|m)?(b|byte|sec|S|bps|it/s|/s|min|h)?") {
            for scale in [&SIZE, &TIME, &BANDWIDTH, &BIT_RATE] {
                let message = scale.read(&Value::Text(&text)).err().unwrap_or_default();
                let meant = message.split_once(r#"; write ""#).map(|(_, advice)| advice);
                if let Some((meant, _)) = meant.and_then(|advice| advice.split_once('"')) {
                    prop_assert!(scale.read(&Value::Text(meant)).is_ok(), "{message}");
                }
            }
        }
    }
}
