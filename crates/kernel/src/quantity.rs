//! Quantities as people write them: "150 ns", "4 KiB", "12.8 GB/s".
//!
//! A quantity is always written with its unit, so that no number in a scenario is ambiguous. Decimals are read exactly, without
//! floating point.

mod advice;
mod scale;
mod written;

use std::fmt;

use crate::time::Span;
pub use written::{Unit, Written};

use scale::{BANDWIDTH, BIT_RATE, FREQUENCY, FS_PER_SECOND, LENGTH, SIZE, TIME};

/// A value in a scenario, before the kind of its quantity is determined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A bare whole number.
    Integer(i64),
    /// A bare number with a fraction or an exponent.
    Float(f64),
    /// A text. For a quantity it holds a number and its unit.
    Text(&'a str),
    /// True or false.
    Flag(bool),
}

impl<'a> Value<'a> {
    /// Reads `text`, which has no quotes, as a scenario would: as a number or a flag, otherwise as a text.
    pub fn written(text: &'a str) -> Self {
        let number = text.parse().map(Value::Integer).ok();
        let number = number.or_else(|| text.parse().map(Value::Float).ok());
        let value = number.or_else(|| text.parse().map(Value::Flag).ok());
        value.unwrap_or(Value::Text(text))
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(number) => write!(f, "{number}"),
            Value::Float(number) => write!(f, "{number:?}"),
            Value::Text(text) => write!(f, "{text:?}"),
            Value::Flag(flag) => write!(f, "{flag}"),
        }
    }
}

crate::choices! {
    /// The kind of value that a key of a scenario has.
    pub enum Kind {
        /// A number of bytes.
        Size = "size",
        /// A time.
        Time = "time",
        /// Bytes per second.
        Bandwidth = "bandwidth",
        /// Bits per second.
        BitRate = "bit rate",
        /// Cycles per second.
        Frequency = "frequency",
        /// The length of a cable.
        Length = "length",
        /// A whole number.
        Count = "count",
        /// A number that may have a fraction.
        Ratio = "ratio",
        /// True or false.
        Flag = "flag",
        /// A choice among the names that the key permits.
        Choice = "choice",
        /// A text.
        Text = "text",
        /// A list of texts.
        List = "list",
        /// A table of keys.
        Table = "table",
    }
}

/// A type that a scenario can set.
pub trait Quantity: Sized {
    /// The usual unit of this type; empty for plain numbers and texts.
    const UNIT: &'static str = "";

    /// The kind of quantity.
    const KIND: Kind = Kind::Text;

    /// All values, as a scenario writes them; empty if the type has no list of values.
    fn choices() -> Vec<&'static str> {
        Vec::new()
    }

    /// Reads a value of a scenario. The error explains what is wrong and what to write instead.
    fn read(value: &Value<'_>) -> Result<Self, String>;

    /// The shortest text that `read` reads as the same value.
    fn show(&self) -> String;
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Bytes {
    /// `n` times 1024 bytes.
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }

    /// `n` times 1024 KiB.
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }

    /// `n` times 1024 MiB.
    pub const fn gib(n: u64) -> Self {
        Self(n << 30)
    }
}

/// Cycles per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frequency(pub u64);

impl Frequency {
    /// `n` million cycles per second.
    pub const fn mhz(n: u64) -> Self {
        Self(n * 1_000_000)
    }

    /// The time of one cycle, rounded to the nearest femtosecond; zero for a frequency of zero.
    pub fn period(self) -> Span {
        let rounded = (FS_PER_SECOND + self.0 / 2).checked_div(self.0);
        Span::from_fs(rounded.unwrap_or(0))
    }
}

/// Bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bandwidth(pub u64);

impl Bandwidth {
    /// The time to transfer `bytes`, rounded to the nearest femtosecond; zero for a bandwidth of zero.
    pub fn time_of(self, bytes: u64) -> Span {
        let rate = u128::from(self.0);
        let work = u128::from(bytes) * u128::from(FS_PER_SECOND);
        let rounded = (work + rate / 2).checked_div(rate).unwrap_or(0);
        Span::from_fs(u64::try_from(rounded).unwrap_or(u64::MAX))
    }
}

/// Bits per second on a serial lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(pub u64);

impl BitRate {
    /// `n` million bits per second.
    pub const fn mbit(n: u64) -> Self {
        Self(n * 1_000_000)
    }

    /// The time of `bits` bits, rounded to the nearest femtosecond; zero for a bit rate of zero.
    pub fn time_of(self, bits: u32) -> Span {
        Span::from_fs(
            (u64::from(bits) * FS_PER_SECOND + self.0 / 2)
                .checked_div(self.0)
                .unwrap_or(0),
        )
    }
}

/// The length of a cable, in millimetres.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Length(pub u64);

impl Length {
    /// `n` metres.
    pub const fn m(n: u64) -> Self {
        Self(n * 1000)
    }
}

/// Reads the name of an enumeration's value: a text that must be in `names`.
pub fn choice<T: Copy>(value: &Value<'_>, names: &[(&str, T)]) -> Result<T, String> {
    if let Value::Text(text) = value
        && let Some((_, found)) = names.iter().find(|(name, _)| name == text)
    {
        return Ok(*found);
    }
    let all: Vec<String> = names.iter().map(|(name, _)| format!("{name:?}")).collect();
    Err(format!("{value} is not known; write {}", all.join(" or ")))
}

/// Declares an enumeration whose values have names in scenarios and results, and makes it a quantity. Each variant is followed by its name.
///
/// The second form gives names to the values of an existing type, whose variants may have fields.
///
/// ```
/// kernel::choices! {
///     /// The colour of a lamp.
///     pub enum Colour {
///         /// Red.
///         Red = "red",
///         /// Dark green.
///         Green = "dark-green",
///     }
/// }
/// use kernel::{Quantity, Value};
/// assert_eq!(Colour::read(&Value::Text("dark-green")), Ok(Colour::Green));
/// assert_eq!(Colour::Red.name(), "red");
/// ```
#[macro_export]
macro_rules! choices {
    (
        $(#[$outer:meta])*
        $visibility:vis enum $type:ident {
            $($(#[$inner:meta])* $variant:ident = $name:literal,)+
        }
    ) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $type {
            $($(#[$inner])* $variant,)+
        }

        impl $type {
            /// All values, in the order of their declaration.
            #[allow(dead_code, reason = "not every enumeration is counted")]
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];
        }

        $crate::choices!($type: $(Self::$variant => $name,)+);
    };
    ($type:ident: $($value:expr => $name:literal,)+) => {
        impl $type {
            /// All values by their names.
            pub const NAMES: [(&'static str, Self); [$($name),+].len()] = [$(($name, $value)),+];

            /// The name of the value.
            pub fn name(self) -> &'static str {
                let found = Self::NAMES.iter().find(|(_, known)| *known == self);
                found.map_or("", |(name, _)| name)
            }
        }

        impl $crate::Quantity for $type {
            const KIND: $crate::Kind = $crate::Kind::Choice;

            fn choices() -> ::std::vec::Vec<&'static str> {
                Self::NAMES.iter().map(|(name, _)| *name).collect()
            }

            fn read(
                value: &$crate::Value<'_>,
            ) -> ::core::result::Result<Self, ::std::string::String> {
                $crate::choice(value, &Self::NAMES)
            }

            fn show(&self) -> ::std::string::String {
                ::std::borrow::ToOwned::to_owned(self.name())
            }
        }
    };
}

macro_rules! scaled {
    ($type:ty, $scale:ident, $new:expr, $amount:expr) => {
        impl Quantity for $type {
            const UNIT: &'static str = $scale.usual;
            const KIND: Kind = $scale.kind;

            fn read(value: &Value<'_>) -> Result<Self, String> {
                $scale.read(value).map($new)
            }

            fn show(&self) -> String {
                $scale.show($amount(*self))
            }
        }
    };
}

scaled!(Span, TIME, Span::from_fs, |span: Span| span.as_fs());
scaled!(Bytes, SIZE, Bytes, |bytes: Bytes| bytes.0);
scaled!(Frequency, FREQUENCY, Frequency, |clock: Frequency| clock.0);
scaled!(BitRate, BIT_RATE, BitRate, |rate: BitRate| rate.0);
scaled!(Length, LENGTH, Length, |length: Length| length.0);
scaled!(Bandwidth, BANDWIDTH, Bandwidth, |rate: Bandwidth| rate.0);

/// Every whole number below this limit has an exact floating-point value.
const WHOLE: f64 = (1u64 << 53) as f64;

macro_rules! whole {
    ($($type:ty),+) => {$(
        impl Quantity for $type {
            const KIND: Kind = Kind::Count;

            fn read(value: &Value<'_>) -> Result<Self, String> {
                match value {
                    Value::Integer(number) => <$type>::try_from(*number).map_err(|_| {
                        let most = i64::try_from(<$type>::MAX).unwrap_or(i64::MAX);
                        format!("{number} is out of range; write a whole number from 0 to {most}")
                    }),
                    Value::Float(number)
                        if (0.0..WHOLE).contains(number)
                            && number.fract() == 0.0
                            && <$type>::try_from(*number as u64).is_ok() =>
                    {
                        Err(format!("{number:?} has a fraction or an exponent; write {number}"))
                    }
                    _ => Err(format!("{value} is not a whole number; write one without quotes or unit")),
                }
            }

            fn show(&self) -> String {
                self.to_string()
            }
        }
    )+};
}

whole!(u8, u16, u32, u64);

impl Quantity for f64 {
    const KIND: Kind = Kind::Ratio;

    fn read(value: &Value<'_>) -> Result<Self, String> {
        match value {
            Value::Integer(number) => Ok(*number as f64),
            Value::Float(number) if number.is_finite() => Ok(*number),
            _ => Err(format!(
                "{value} is not a plain number; write one without quotes or unit"
            )),
        }
    }

    fn show(&self) -> String {
        if *self != 0.0 && (self.abs() < 1e-3 || self.abs() >= 1e9) {
            format!("{self:e}")
        } else {
            self.to_string()
        }
    }
}

impl Quantity for bool {
    const KIND: Kind = Kind::Flag;

    fn read(value: &Value<'_>) -> Result<Self, String> {
        match value {
            Value::Flag(flag) => Ok(*flag),
            _ => Err(format!("{value} is not a truth value; write true or false")),
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Quantity for String {
    fn read(value: &Value<'_>) -> Result<Self, String> {
        match value {
            Value::Text(text) => Ok((*text).to_owned()),
            _ => Err(format!("{value} is not a text; write it in quotes")),
        }
    }

    fn show(&self) -> String {
        self.clone()
    }
}

/// A quantity that may be absent, written as "none".
impl<Q: Quantity> Quantity for Option<Q> {
    const UNIT: &'static str = Q::UNIT;
    const KIND: Kind = Q::KIND;

    fn choices() -> Vec<&'static str> {
        Q::choices()
    }

    fn read(value: &Value<'_>) -> Result<Self, String> {
        match value {
            Value::Text("none") => Ok(None),
            _ => Q::read(value).map(Some),
        }
    }

    fn show(&self) -> String {
        self.as_ref().map_or_else(|| "none".to_owned(), Q::show)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text<T: Quantity>(text: &str) -> Result<T, String> {
        T::read(&Value::Text(text))
    }

    #[test]
    fn a_number_and_its_unit_are_read_exactly() {
        assert_eq!(text("150 ns"), Ok(Span::from_fs(150_000_000)));
        assert_eq!(text("3.5us"), Ok(Span::from_fs(3_500_000_000)));
        assert_eq!(text("2 µs"), Ok(Span::from_fs(2_000_000_000)));
        assert_eq!(text("4 KiB"), Ok(Bytes(4096)));
        assert_eq!(text("1_000 kB"), Ok(Bytes(1_000_000)));
        assert_eq!(text("250 MHz"), Ok(Frequency::mhz(250)));
        assert_eq!(text("12.8 GB/s"), Ok(Bandwidth(12_800_000_000)));
        assert_eq!(text("1451 MiB/s"), Ok(Bandwidth(1451 << 20)));
    }

    #[test]
    fn a_setting_of_a_profile_is_read_as_a_scenario_would_read_it() {
        assert_eq!(Value::written("64"), Value::Integer(64));
        assert_eq!(Value::written("0.25"), Value::Float(0.25));
        assert_eq!(Value::written("true"), Value::Flag(true));
        assert_eq!(Value::written("512 B"), Value::Text("512 B"));
    }

    #[test]
    fn a_bare_number_is_told_the_unit_it_needs() {
        let bare = Span::read(&Value::Integer(150)).unwrap_err();
        assert_eq!(bare, r#"150 has no unit; write "150 ns""#);
        let quoted = text::<Span>("150").unwrap_err();
        let bits = Bandwidth::read(&Value::written("8 Gbit/s")).expect_err("bits are no bytes");
        assert!(bits.contains(r#"write "1 GB/s""#), "{bits}");
        let small = Bytes::read(&Value::written("64 kb")).expect_err("there is no such unit");
        assert!(small.contains(r#"write "64 kB""#), "{small}");
        let large = Bandwidth::read(&Value::Integer(5_000_000_000)).expect_err("it has no unit");
        assert!(large.contains(r#"write "5000000000 B/s""#), "{large}");
        assert_eq!(quoted, r#""150" has no unit; write "150 ns""#);
    }

    #[test]
    fn a_wrong_unit_is_told_the_right_ones() {
        let wrong = text::<Span>("150 KiB").unwrap_err();
        assert_eq!(
            wrong,
            r#""150 KiB" is not a time; write one like "150 ns" (units: fs, ps, ns, us, ms, s)"#
        );
    }

    #[test]
    fn negative_fractional_and_huge_amounts_are_refused() {
        assert!(text::<Span>("-1 ns").unwrap_err().contains("negative"));
        assert!(text::<Bytes>("0.5 B").unwrap_err().contains("whole"));
        assert!(
            text::<Bytes>("99999999999 GiB")
                .unwrap_err()
                .contains("too large")
        );
        assert!(text::<Span>("1.").is_err());
        assert!(text::<Span>(".").is_err());
        assert!(text::<Span>("").is_err());
        assert!(u32::read(&Value::Integer(-1)).is_err());
        assert_eq!(
            u32::read(&Value::Float(1e3)),
            Err("1000.0 has a fraction or an exponent; write 1000".to_owned())
        );
        assert!(
            u32::read(&Value::Float(f64::NAN)).is_err_and(|message| message.starts_with("NaN"))
        );
        assert!(f64::read(&Value::Float(f64::NAN)).is_err());
    }

    #[test]
    fn the_shortest_text_is_shown() {
        assert_eq!(Span::from_fs(3_500_000_000).show(), "3.5 us");
        assert_eq!(Span::from_fs(0).show(), "0 ns");
        assert_eq!(Bytes(4096).show(), "4 KiB");
        assert_eq!(Bytes(128).show(), "128 B");
        assert_eq!(Bandwidth(12_800_000_000).show(), "12.8 GB/s");
        assert_eq!(Bandwidth(1451 << 20).show(), "1451 MiB/s");
        assert_eq!(1e-6.show(), "1e-6");
    }

    #[test]
    fn a_period_and_a_transfer_time_are_rounded_to_the_nearest_femtosecond() {
        assert_eq!(Frequency::mhz(250).period(), Span::from_fs(4_000_000));
        assert_eq!(Frequency(0).period(), Span::from_fs(0));
        assert_eq!(Bandwidth(3).time_of(2), Span::from_fs(666_666_666_666_667));
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(amount in 0..=1u64 << 50) {
            prop_assert_eq!(text(&Span::from_fs(amount).show()), Ok(Span::from_fs(amount)));
            prop_assert_eq!(text(&Bytes(amount).show()), Ok(Bytes(amount)));
            prop_assert_eq!(text(&Bandwidth(amount).show()), Ok(Bandwidth(amount)));
        }

        #[test]
        fn no_text_is_a_panic(written: String) {
            let _ = text::<Span>(&written);
            let _ = text::<Bytes>(&written);
        }
    }
}
