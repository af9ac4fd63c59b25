//! Sizes of buffers that cover their loops, for a scenario as it is written.

use super::shortages::shortages;
use super::{Plan, Scenario};
use crate::scenario::Models;

/// The keys of the node in the table at `path` whose buffers do not cover their loops, each with the size that does; none if the scenario
/// cannot be planned without models from outside.
pub fn sizes_that_do(written: &::scenario::Scenario, path: &str) -> Vec<(&'static str, String)> {
    let planned = Scenario::of(written, &Models::default()).and_then(|one| Plan::new(&one));
    let Ok(plan) = planned else {
        return Vec::new();
    };
    let found = shortages(&plan, plan.flows()).into_iter();
    let here = found.filter(|one| {
        let name = &plan.nodes[one.node].name;
        !one.shortage.is_unscaled && written.path_of_node(name).as_deref() == Some(path)
    });
    here.map(|one| (one.shortage.key, one.enough())).collect()
}
