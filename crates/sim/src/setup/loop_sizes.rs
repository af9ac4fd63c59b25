//! Buffer sizes that cover the credit loop or the replay loop of a link, for a scenario as it is written.

use super::shortages::shortages;
use super::{Plan, Scenario};
use crate::scenario::Models;

/// For the node whose table is at `path`: returns the key of each buffer that is too small to keep its link busy during the round trip of credit or
/// acknowledgement, with a size that is sufficient. The list is empty if the scenario cannot be planned without device models from outside.
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
