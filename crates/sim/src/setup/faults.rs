//! All errors of a scenario that do not follow from each other, as far as that can be known.

use std::collections::BTreeSet;

use ::scenario::ScenarioError;

use super::{Plan, Scenario};
use crate::scenario::Models;

/// The most errors that are looked for.
const MOST: usize = 20;

/// The errors of a scenario, in the order in which they are found.
///
/// The key of each error is taken away, so that its default counts, and the rest is checked again. An error at the beginning of a table follows
/// from the key that was taken from the table, such as that it is missing, and is left out.
pub fn faults(written: &::scenario::Scenario, models: &Models) -> Vec<ScenarioError> {
    let mut written = written.clone();
    let mut found: Vec<ScenarioError> = Vec::new();
    let mut begun = BTreeSet::new();
    for _ in 0..MOST {
        let planned = Scenario::of(&written, models).and_then(|one| Plan::new(&one));
        let Err(error) = planned else {
            break;
        };
        let line = error.line;
        let follows = line.is_some_and(|line| begun.contains(&line));
        if !follows && !found.contains(&error) {
            found.push(error);
        }
        let Some(line) = line else {
            break;
        };
        begun.extend(written.beginning_of(line));
        if !written.forget(line) {
            break;
        }
    }
    found
}
