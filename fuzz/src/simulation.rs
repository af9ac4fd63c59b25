//! Simulations: every plan can be built and run.

use sim::{Plan, Simulation};

/// The largest number of nodes. Larger fabrics are also valid, but take too long.
const NODES: usize = 16;

/// Takes the text of a scenario.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(plan) = Plan::read(text, "fuzz.toml") else {
        return;
    };
    if plan.nodes.len() > NODES {
        return;
    }
    let mut simulation = Simulation::new(plan);
    let mut looks = 0;
    simulation.run(&mut |_| {
        looks += 1;
        looks < 4
    });
}
