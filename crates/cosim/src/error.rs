//! Errors of circuits: a circuit is not in the build, or a circuit stops.

use thiserror::Error;

/// The reason why there is no circuit to run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Missing {
    /// The build has no circuits.
    #[error("this build has no circuits; `make gateware` builds it with them")]
    Build,
    /// No circuit has this name.
    #[error("this build has no circuit '{name}'; `make gateware` builds all circuits of gateware/circuits.toml, and this build has: {}", known.join(", "))]
    Name {
        /// The requested name.
        name: String,
        /// The names of all circuits.
        known: Vec<String>,
    },
    /// The circuit is not built for this width.
    #[error("the circuit '{name}' is not built for beats of {width} bits; its widths are: {}", known.join(", "))]
    Width {
        /// The circuit.
        name: String,
        /// The requested width, in bits.
        width: u32,
        /// The widths of the circuit, in bits.
        known: Vec<String>,
    },
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
    fn a_circuit_that_is_not_built_names_the_command_that_builds_it() {
        let missing = [
            Missing::Build,
            Missing::Name {
                name: "engine".into(),
                known: vec!["loopback".into()],
            },
        ];
        for one in missing {
            assert!(one.to_string().contains("`make gateware`"), "{one}");
        }
    }

    #[cfg(not(feature = "linked"))]
    #[test]
    fn a_build_without_circuits_has_none() {
        let missing = crate::Circuit::new("loopback", 64, 4000, crate::Waves::Never).unwrap_err();
        assert_eq!(missing, Missing::Build);
        assert!(crate::Circuit::all().is_empty());
    }
}
