//! Finds several errors of a scenario in one check, and leaves out most errors that are only consequences of other errors.

use std::collections::BTreeSet;

use ::scenario::ScenarioError;

use super::{Plan, Scenario};
use crate::scenario::Models;

/// The largest number of errors that one check finds.
const MOST: usize = 20;

/// Returns the errors of a scenario, in the order in which they are found.
///
/// After each error, the wrong key is removed, so that its default applies, and the scenario is checked again. A later error at the first line of a
/// table from which a key was removed is left out, because it may be a consequence of the removal, for example a missing key.
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
