//! What is wrong with a scenario, and where.

use thiserror::Error;

/// A scenario that cannot be understood or built, shown as `FILE:LINE: what is wrong; what would be right`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}{}: {message}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct ScenarioError {
    /// The file, or what else the text came from.
    pub file: String,
    /// The line, counted from one, where there is one to blame.
    pub line: Option<usize>,
    /// What is wrong; then what would be right.
    pub message: String,
}
