//! Errors of circuits: a library cannot be used, there is no circuit to run, or a circuit stops.

use thiserror::Error;

use crate::abi::{Model, VERSION};

/// The reason why a file cannot be used as a library of circuits.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoadError {
    /// The file does not exist.
    #[error(
        "there is no such file; write the path of the library that `peerlane circuit build` makes"
    )]
    Missing,
    /// The operating system does not load the file as a library.
    #[error("it cannot be loaded as a shared library ({0}); `peerlane circuit build` makes one")]
    NotALibrary(String),
    /// The library has no circuits.
    #[error("the library has no circuit; `peerlane circuit build` makes one that has")]
    NoCircuit,
    /// The library was built for another version of the interface.
    #[error(
        "the circuit was built for version {0} of the interface of circuits, and this Peerlane has version {VERSION}; build it again with `peerlane circuit build`"
    )]
    Version(u32),
    /// The models of the table have another size than the models of its version.
    #[error("the library says that a circuit has {0} bytes in its table, and in version {VERSION} it has {right}; build it again with `peerlane circuit build`", right = size_of::<Model>())]
    Size(u32),
}

impl From<library::OpenError> for LoadError {
    fn from(error: library::OpenError) -> Self {
        match error {
            library::OpenError::Missing => LoadError::Missing,
            library::OpenError::NotALibrary(why) => LoadError::NotALibrary(why),
            library::OpenError::NoSymbol => LoadError::NoCircuit,
        }
    }
}

/// The reason why there is no circuit to run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Missing {
    /// No circuit has this name.
    #[error("there is no circuit '{name}'{}", there_are(known))]
    Name {
        /// The requested name.
        name: String,
        /// The names of all circuits.
        known: Vec<String>,
    },
    /// The library of the circuit cannot be loaded.
    #[error("the library of the circuit '{name}' cannot be used: {why}")]
    Library {
        /// The requested name.
        name: String,
        /// The reason.
        why: LoadError,
    },
    /// The circuit is not built for this width.
    #[error("the circuit '{name}' has no beats of {width} bits; it has: {}", known.join(", "))]
    Width {
        /// The circuit.
        name: String,
        /// The requested width, in bits.
        width: u32,
        /// The widths of the circuit, in bits.
        known: Vec<String>,
    },
    /// The circuit was built without the copy that can write waveforms.
    #[error("the circuit '{name}' was built without waves; build it again without --no-waves")]
    Waves {
        /// The circuit.
        name: String,
    },
}

/// The circuits that can be named, or the ways to get one.
fn there_are(known: &[String]) -> String {
    let ways = "--circuit NAME=FILE loads a library of `peerlane circuit build`, and `make gateware` builds the circuits of gateware/";
    if known.is_empty() {
        return format!(", because none is loaded; {ways}");
    }
    format!("; there are: {}; {ways}", known.join(", "))
}

/// The failure of a circuit that cannot continue: an assertion has failed, or the circuit has broken a rule of its ports.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the circuit '{circuit}' has stopped in cycle {cycle}: {message}")]
pub struct Failure {
    /// The circuit.
    pub circuit: String,
    /// The cycle, from the creation of the circuit.
    pub cycle: u64,
    /// The message of the assertion, with its location, or the broken rule.
    pub message: String,
}

impl Failure {
    /// The reason in the output of a circuit: the first line that Verilator printed, without its time, which does not advance.
    pub(crate) fn reason(printed: &str) -> String {
        let line = printed.trim().lines().next().unwrap_or_default();
        let (_, reason) = line.split_once("%Error: ").unwrap_or(("", line));
        reason.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_assertion_with_its_place() {
        let printed = "[0] %Error: core.sv:97: Assertion failed in top.core.a_rule: 3 of 2\n%Error: core.sv:97: Verilog $stop\n";
        assert_eq!(
            Failure::reason(printed),
            "core.sv:97: Assertion failed in top.core.a_rule: 3 of 2"
        );
        assert_eq!(Failure::reason("a beat too many"), "a beat too many");
    }

    #[test]
    fn a_circuit_that_is_not_there_names_the_commands_that_build_one() {
        for known in [vec![], vec!["loopback".to_owned()]] {
            let missing = Missing::Name {
                name: "engine".into(),
                known,
            };
            let message = missing.to_string();
            assert!(message.contains("`make gateware`"), "{message}");
            assert!(message.contains("`peerlane circuit build`"), "{message}");
        }
    }
}
