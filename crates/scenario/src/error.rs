//! Errors in scenarios.

use thiserror::Error;

/// An error in a scenario, shown as `FILE:LINE: what is wrong; what to write instead`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{file}{}{}: {message}",
    line.map(|line| format!(":{line}")).unwrap_or_default(),
    with.as_ref().map(|with| format!(" with {with}")).unwrap_or_default()
)]
pub struct ScenarioError {
    /// The file name, or another name of the text's source.
    pub file: String,
    /// The line number, counted from one, if the error is at a line.
    pub line: Option<usize>,
    /// The keys that were set to other values than in the text, as the message shows them.
    pub with: Option<String>,
    /// The message: what is wrong; what to write instead.
    pub message: String,
}

impl ScenarioError {
    /// Creates an error at a line; 0 stands for an error without a line.
    pub fn new(file: &str, line: usize, message: String) -> Self {
        Self {
            file: file.to_owned(),
            line: (line > 0).then_some(line),
            with: None,
            message,
        }
    }
}
