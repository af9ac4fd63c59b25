//! Scenarios: a text results in a plan, or in an error that contains the place of the error.

use sim::Plan;

const FILE: &str = "fuzz.toml";

/// Takes the text of a scenario.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Err(error) = Plan::read(text, FILE) {
        assert_eq!(error.file, FILE);
        assert!(!error.message.contains('\n'), "{error}");
        let lines = 1..=text.split('\n').count();
        let is_within = error.line.is_none_or(|line| lines.contains(&line));
        assert!(is_within, "{error}");
    }
}
