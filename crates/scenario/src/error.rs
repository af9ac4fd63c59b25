//! Errors in scenarios.

use thiserror::Error;

/// An error in a scenario, shown as `FILE:LINE: what is wrong; what to write instead`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}{}: {message}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct ScenarioError {
    /// The file name, or another name of the text's source.
    pub file: String,
    /// The line number, counted from one, if the error is at a line.
    pub line: Option<usize>,
    /// The message: what is wrong; what to write instead.
    pub message: String,
}
