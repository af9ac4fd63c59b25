//! Declarations of parameters: type, default, help text and the source of the default, each written once.
//!
//! The scenario reader, the catalogue and the error messages read these declarations, so that they always agree with the model.

use std::ops::RangeBounds;

use crate::quantity::{Kind, Quantity, Value};

/// The declaration of one parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The name of the parameter in a scenario.
    pub key: &'static str,
    /// The kind of the value.
    pub kind: Kind,
    /// All possible values, if the parameter has a list of them.
    pub choices: Vec<String>,
    /// The usual unit; empty for plain numbers.
    pub unit: &'static str,
    /// The default value, as a scenario would write it.
    pub default: String,
    /// The meaning of the parameter, in one or two sentences.
    pub help: &'static str,
    /// The source of the default.
    pub source: &'static str,
    /// The limit on flows that another value of the parameter lifts, if there is one.
    pub lifts: Option<Lift>,
    /// The smallest and the largest value in real machines, as a scenario would write them, if no document states the default and
    /// these values are known. For a choice, all other values.
    pub range: &'static [&'static str],
}

/// How another value of a parameter lifts a limit on flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lift {
    /// The kind of the limit, as explanations name it. A blank and a detail follow if only the limit with this detail is lifted. Four names
    /// are not limits at one place: for "way", the path is shortened for the packets of any flow that passes the node; for "order", an
    /// order of packets is given up; for "payload", the payload of packets grows; and "mapping" is the work of software with an I/O MMU.
    pub limit: &'static str,
    /// The factors by which the value is multiplied, tried one after the other.
    pub times: &'static [u32],
    /// The largest value that a multiplication may reach, if there is one.
    pub most: Option<&'static str>,
    /// The values that are tried after the factors, as a scenario would write them; 0 stands for no limit.
    pub to: &'static [&'static str],
}

impl Lift {
    /// The usual way to lift a limit with a parameter of this kind: a time becomes 0, a flag becomes false, a bandwidth or frequency is
    /// multiplied by up to 8, and any other value by up to 4096.
    pub const fn of(limit: &'static str, kind: Kind) -> Self {
        let (times, to): (&[u32], &[&str]) = match kind {
            Kind::Time => (&[], &["0 ns"]),
            Kind::Flag => (&[], &["false"]),
            Kind::Bandwidth | Kind::Frequency => (&[2, 4, 8], &[]),
            _ => (&[16, 256, 4096], &[]),
        };
        let most = None;
        Self {
            limit,
            times,
            most,
            to,
        }
    }
}

/// A set of parameters made by [`parameters!`](crate::parameters).
pub trait Parameters {
    /// The declarations of all parameters, in order.
    fn declarations() -> Vec<Declaration>
    where
        Self: Sized;

    /// The names of all parameters, in the order of declaration.
    fn keys(&self) -> &'static [&'static str];

    /// Sets the parameter `key` to `value`. Returns false if no parameter has that name. The error for a wrong value lists the possible
    /// values.
    fn set(&mut self, key: &str, value: &Value<'_>) -> Result<bool, String>;

    /// The current values of all parameters, in the order of declaration, as texts that `set` can read.
    fn settings(&self) -> Vec<(&'static str, String)>;
}

/// Declares a struct of parameters.
///
/// `within` and `among` are optional and restrict the values. `lifts` names the limit on flows that another value lifts ([`Lift`]): the
/// value is multiplied by each of the factors after `times`, up to the value after `most`, or becomes one of the values after `to`. If none
/// of these words is given, a time is set to 0, a flag to false, and any other value grows. `ranges` has the range of the values in real
/// machines, for a default that no document states.
///
/// ```
/// kernel::parameters! {
///     /// Parameters of the engine.
///     pub struct EngineParameters {
///         /// Requests that may be waiting for their completion.
///         tags: u32 = 32, within 1..=768, lifts "tags" to ["256", "768"], from "PCIe Base 2.2.6.2, no extended tags";
///         /// Width of the addresses that the engine can send.
///         address_bits: u32 = 64, among [32, 64], from "every current core";
///     }
/// }
/// use kernel::{Parameters, Value};
/// let mut engine = EngineParameters::default();
/// assert_eq!(engine.set("tags", &Value::Integer(256)), Ok(true));
/// assert_eq!(engine.set("colour", &Value::Integer(256)), Ok(false));
/// assert!(engine.set("tags", &Value::Integer(0)).is_err());
/// assert_eq!(engine.tags, 256);
/// ```
#[macro_export]
macro_rules! parameters {
    (
        $(#[$outer:meta])*
        $visibility:vis struct $name:ident {
            $(
                $(#[doc = $help:literal])+
                $key:ident : $type:ty = $default:expr
                    $(, within $range:expr)?
                    $(, among $set:expr)?
                    $(, lifts $limit:literal
                        $(times [$($factor:literal),+])? $(most $most:literal)? $(to [$($free:literal),+])?)?
                    $(, ranges [$($end:literal),+])?
                    , from $source:literal;
            )*
        }
    ) => {
        $(#[$outer])*
        #[derive(Clone, Debug, PartialEq)]
        $visibility struct $name {
            $(
                $(#[doc = $help])+
                pub $key: $type,
            )*
        }

        impl ::core::default::Default for $name {
            fn default() -> Self {
                Self { $($key: $default,)* }
            }
        }

        impl $crate::Parameters for $name {
            fn declarations() -> ::std::vec::Vec<$crate::Declaration> {
                ::std::vec![$(
                    $crate::Declaration {
                        key: ::core::stringify!($key),
                        kind: <$type as $crate::Quantity>::KIND,
                        choices: $crate::chosen::<$type>(&[$(&$set)?]),
                        unit: <$type as $crate::Quantity>::UNIT,
                        default: <$type as $crate::Quantity>::show(&$default),
                        help: ::core::concat!($($help),+).trim_ascii(),
                        source: $source,
                        lifts: $crate::lift!(
                            <$type as $crate::Quantity>::KIND
                            $(, $limit $(times [$($factor),+])? $(most $most)? $(to [$($free),+])?)?
                        ),
                        range: &[$($($end),+)?],
                    },
                )*]
            }

            fn keys(&self) -> &'static [&'static str] {
                &[$(::core::stringify!($key)),*]
            }

            #[allow(unused_variables)]
            fn set(
                &mut self,
                key: &str,
                value: &$crate::Value<'_>,
            ) -> ::core::result::Result<bool, ::std::string::String> {
                match key {
                    $(
                        ::core::stringify!($key) => {
                            let read = <$type as $crate::Quantity>::read(value)?;
                            $($crate::within(&read, &$range, &$default)?;)?
                            $($crate::among(&read, &$set)?;)?
                            self.$key = read;
                            Ok(true)
                        }
                    )*
                    _ => Ok(false),
                }
            }

            fn settings(&self) -> ::std::vec::Vec<(&'static str, ::std::string::String)> {
                ::std::vec![$(
                    (::core::stringify!($key), $crate::Quantity::show(&self.$key)),
                )*]
            }
        }
    };
}

/// The [`Lift`](crate::Lift) of a parameter of some kind, as written in [`parameters!`](crate::parameters).
#[doc(hidden)]
#[macro_export]
macro_rules! lift {
    ($kind:expr) => { ::core::option::Option::None };
    ($kind:expr, $limit:literal) => { ::core::option::Option::Some($crate::Lift::of($limit, $kind)) };
    (
        $kind:expr, $limit:literal
        $(times [$($factor:literal),+])? $(most $most:literal)? $(to [$($free:literal),+])?
    ) => {
        ::core::option::Option::Some($crate::Lift {
            limit: $limit,
            times: &[$($($factor),+)?],
            most: [$(::core::option::Option::Some($most),)? ::core::option::Option::None][0],
            to: &[$($($free),+)?],
        })
    };
}

/// The possible values of a parameter: the set after `among`, or the values of a type whose values have names.
pub fn chosen<Q: Quantity>(sets: &[&[Q]]) -> Vec<String> {
    match sets.first() {
        Some(set) => set.iter().map(Quantity::show).collect(),
        None => Q::choices().into_iter().map(str::to_owned).collect(),
    }
}

/// Returns an error that names the possible values if `value` is outside `range`, and is not the `default`.
pub fn within<T: Quantity + PartialOrd>(
    value: &T,
    range: &impl RangeBounds<T>,
    default: &T,
) -> Result<(), String> {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    if range.contains(value) || value == default {
        return Ok(());
    }
    let least = match range.start_bound() {
        Included(least) if least.show() == NONE => String::new(),
        Included(least) => format!(" from {}", least.show()),
        Excluded(least) => format!(" above {}", least.show()),
        Unbounded => String::new(),
    };
    let most = match range.end_bound() {
        Included(most) => format!(" up to {}", most.show()),
        Excluded(most) => format!(" below {}", most.show()),
        Unbounded => String::new(),
    };
    let or_none = if default.show() == NONE {
        ", or none"
    } else {
        ""
    };
    Err(format!(
        "{} is out of range; write a value{least}{most}{or_none}",
        value.show()
    ))
}

/// The text of an optional value that is absent.
const NONE: &str = "none";

/// Returns an error that names the possible values if `value` is not in `set`.
pub fn among<T: Quantity + PartialEq>(value: &T, set: &[T]) -> Result<(), String> {
    if set.contains(value) {
        return Ok(());
    }
    let right: Vec<String> = set.iter().map(Quantity::show).collect();
    Err(format!(
        "{} is not possible; write one of {}",
        value.show(),
        right.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::Bytes;
    use crate::time::Span;

    crate::parameters! {
        /// Parameters of a test.
        struct Example {
            /// Time from header in
            /// to header out.
            latency: Span = Span::from_fs(150_000_000), from "a data sheet";
            /// Share of the limit after which an ACK is sent.
            ack_limit_fraction: f64 = 1.0, within 0.0..=1.0, ranges ["0.1", "1"], from "PCIe Base 3.5.3.1";
            /// Boundary at which completions are split.
            boundary: Bytes = Bytes(64), among [Bytes(64), Bytes(128)], from "PCIe Base 2.3.1.1";
            /// Bytes after which mappings end.
            invalidated: Option<Bytes> = None, within Some(Bytes(1))..=Some(Bytes(8)), from "our choice";
        }
    }

    #[test]
    fn a_declaration_has_the_range_of_its_default() {
        assert_eq!(Example::declarations()[1].range, ["0.1", "1"]);
    }

    #[test]
    fn a_declaration_says_all_there_is_to_know() {
        assert_eq!(
            Example::declarations()[0],
            Declaration {
                key: "latency",
                kind: Kind::Time,
                choices: Vec::new(),
                unit: "ns",
                default: "150 ns".to_owned(),
                help: "Time from header in to header out.",
                lifts: None,
                range: &[],
                source: "a data sheet",
            }
        );
    }

    #[test]
    fn the_default_may_be_written_even_if_it_is_no_value_of_the_range() {
        let mut example = Example::default();
        assert_eq!(example.set("invalidated", &Value::Text("none")), Ok(true));
        let wrong = example.set("invalidated", &Value::Text("0 B"));
        assert!(wrong.is_err_and(|error| error.ends_with("from 1 B up to 8 B, or none")));
    }

    #[test]
    fn a_set_of_values_is_the_choices_of_its_parameter() {
        let boundary = &Example::declarations()[2];
        assert_eq!(boundary.kind, Kind::Size);
        assert_eq!(boundary.choices, ["64 B", "128 B"]);
    }

    #[test]
    fn a_known_key_is_set_and_an_unknown_one_is_left_to_the_caller() {
        let mut example = Example::default();
        assert_eq!(example.set("latency", &Value::Text("3 us")), Ok(true));
        assert_eq!(example.set("latencies", &Value::Text("3 us")), Ok(false));
        assert_eq!(example.latency, Span::from_fs(3_000_000_000));
        assert_eq!(example.keys()[0], "latency");
        assert_eq!(example.settings()[0], ("latency", "3 us".to_owned()));
    }

    #[test]
    fn a_value_that_is_not_right_changes_nothing_and_says_what_is() {
        let mut example = Example::default();
        assert_eq!(
            example.set("ack_limit_fraction", &Value::Float(1.5)),
            Err("1.5 is out of range; write a value from 0 up to 1".to_owned())
        );
        assert_eq!(
            example.set("boundary", &Value::Text("96 B")),
            Err("96 B is not possible; write one of 64 B, 128 B".to_owned())
        );
        assert_eq!(example, Example::default());
    }
}
