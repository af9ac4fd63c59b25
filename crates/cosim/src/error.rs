//! Circuits that are not there, and circuits that stop.

use thiserror::Error;

/// The reason why there is no circuit to run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Missing {
    /// The build has no circuits.
    #[error("this build has no circuits; `make gateware` builds it with them")]
    Build,
    /// No circuit has this name.
    #[error("there is no circuit '{name}'; the circuits are: {}", known.join(", "))]
    Name {
        /// The name that was asked for.
        name: String,
        /// The names of all circuits.
        known: Vec<String>,
    },
    /// The circuit is not built for this width.
    #[error("the circuit '{name}' is not built for beats of {width} bits; its widths are: {}", known.join(", "))]
    Width {
        /// The circuit.
        name: String,
        /// The width that was asked for, in bits.
        width: u32,
        /// The widths of the circuit, in bits.
        known: Vec<String>,
    },
}

/// The end of a circuit that cannot go on: an assertion has failed, or it has broken a rule of its ports.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the circuit '{circuit}' has stopped in cycle {cycle}: {message}")]
pub struct Failure {
    /// The circuit.
    pub circuit: String,
    /// The cycle, from the creation of the circuit.
    pub cycle: u64,
    /// The message of the assertion, with its place, or the rule.
    pub message: String,
}
