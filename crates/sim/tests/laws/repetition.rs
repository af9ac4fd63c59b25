//! The same scenario and seed give the same run.

use crate::fixture::*;

fn json(result: &sim::result::RunResult) -> String {
    serde_json::to_string(result).expect("a result is JSON")
}

#[test]
fn the_same_seed_gives_the_same_trace_and_result() {
    let (first, again) = (trace_bytes(BUSY), trace_bytes(BUSY));
    assert_eq!(json(&first.0), json(&again.0));
    assert!(first.1 == again.1, "the traces differ");
    assert!(first.1.len() > 100_000);
}

#[test]
fn looking_changes_nothing() {
    assert_eq!(json(&trace_bytes(BUSY).0), json(&run(BUSY)));
}

#[test]
fn stopping_on_the_way_changes_nothing() {
    let mut simulation = simulation(BUSY);
    for step in 1..200 {
        simulation.run_until(kernel::Time::from_fs(step * 500_000_000), &mut || true);
    }
    simulation.run(&mut |_| true);
    let (stopped, whole) = (simulation.result(), run(BUSY));
    for (stopped, whole) in stopped.flows.iter().zip(&whole.flows) {
        assert_eq!(stopped.last_byte_ns, whole.last_byte_ns);
        assert_eq!(stopped.bytes, whole.bytes);
    }
}

#[test]
fn another_seed_gives_another_run() {
    let other = BUSY.replace("seed = 7", "seed = 8");
    assert_ne!(json(&run(&other)), json(&run(BUSY)));
}
