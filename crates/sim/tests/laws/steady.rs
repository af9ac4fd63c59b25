//! A run that measures the steady state continues until the rate of each workload is known, for all amounts of the workloads.

use sim::result::{RunResult, SteadyState};

use crate::bad_input::refusal;
use crate::fixture::*;

/// A scenario with a card and a drive below one switch, whose amounts take very different times, and a device that reads.
fn mixed(measure: &str) -> String {
    format!(
        r#"
        {measure}
        [links]
        generation = 3
        lanes = 4
        [hosts.h]
        memory = "256 MiB"
        [switches.s]
        upstream = "h"
        [devices.card]
        upstream = "s"
        [devices.drive]
        model = "nvme"
        upstream = "s"
        [devices.reader]
        upstream = "h"
        [[flows]]
        id = "card"
        from = "card"
        to = "h"
        size = "64 KiB"
        [[flows]]
        id = "drive"
        from = "drive"
        to = "h"
        size = "1 MiB"
        [[flows]]
        id = "reader"
        from = "reader"
        to = "h"
        direction = "read"
        count = 3
        "#
    )
}

const STEADY: &str = "[measure]\nsteady = true\n";

fn rates(result: &RunResult) -> Vec<(String, f64, f64)> {
    let all = result.flows.iter().map(|flow| {
        let rate = flow.bytes_per_second.expect("bytes arrived");
        let half = flow.half_width_bytes_per_second;
        (
            flow.id.clone(),
            rate,
            half.expect("the rate has an interval"),
        )
    });
    all.collect()
}

#[test]
fn every_flow_goes_on_until_the_rate_of_each_is_known() {
    let result = run(&mixed(STEADY));
    assert!(!result.partial && result.steady && result.simulated_ns < 20e6);
    for (id, rate, half) in rates(&result) {
        assert!(half <= 0.05 * rate, "{id}: {rate} +- {half}");
        let flow = result.flow(&id);
        assert!(
            flow.completed && flow.intact && flow.bytes > 2 << 20,
            "{flow:?}"
        );
        let (from, until) = flow.under_way_ns.expect("the rate is over a time");
        assert!(from > 0.0 && until <= result.simulated_ns);
    }
    // The card and the drive share the uplink, which is full.
    let up = result.link("h-s", "up");
    let sum: f64 = rates(&result)[..2].iter().map(|(_, rate, _)| rate).sum();
    assert!(sum > 3.0e9 && sum < 3.95e9, "{sum}");
    assert!(up.full > 0.8, "{up:?}");
}

#[test]
fn the_steady_rate_is_that_of_a_long_run() {
    let steady = run(&mixed(STEADY));
    let long = mixed("[measure]\nfrom = \"200 us\"\nuntil = \"1000 us\"\n");
    let long = long.replace("count = 3", "duration = \"1100 us\"");
    let rate = |result: &RunResult| result.flow("reader").steady_bytes_per_second;
    let long = rate(&run(&long)).expect("it was under way all the time");
    let (_, found, half) = rates(&steady).remove(2);
    assert!((found - long).abs() < half + 0.01 * long, "{found} {long}");
}

#[test]
fn a_run_whose_rates_stay_uncertain_ends_at_its_limit() {
    let seldom = mixed("[measure]\nsteady = true\nlimit = \"1 ms\"\n");
    let result = run(&seldom.replace("count = 3", "count = 3\ninterval = \"130 us\""));
    assert!(!result.partial && (result.simulated_ns - 1e6).abs() < 2e4);
    let reader = result.flow("reader");
    let rate = reader.bytes_per_second.expect("bytes arrived");
    assert!(
        reader
            .half_width_bytes_per_second
            .expect("there are batches")
            > 0.05 * rate
    );
    let card = result.flow("card").bytes_per_second;
    assert!(card.is_some_and(|rate| rate > 1e9));
}

#[test]
fn the_steady_state_is_the_same_on_several_threads() {
    let text = mixed(STEADY);
    let mut simulation = simulation(&text);
    simulation.use_threads(2);
    simulation.use_threads_always();
    assert!(simulation.run(&mut |_| true));
    assert!(simulation.threads().0 == 2);
    assert_eq!(rates(&simulation.result()), rates(&run(&text)));
}

/// Asserts that a workload other than a flow has a steady rate that is known to 5 %, and returns the rate.
fn steady_rate(state: Option<&SteadyState>) -> f64 {
    let state = state.expect("its rate is known");
    assert!(
        state.half_width_per_second <= 0.05 * state.per_second,
        "{state:?}"
    );
    assert!(state.from_ns < state.until_ns);
    state.per_second
}

#[test]
fn accesses_and_work_under_locks_go_on_until_their_rates_are_known() {
    let text = |count: u32| {
        format!(
            r#"
            {STEADY}
            [hosts.h]
            coherent = true
            latency = "100 ns"
            [buffers.rows]
            host = "h"
            size = "64 KiB"
            [buffers.table]
            host = "h"
            size = "4 KiB"
            [buffers.free]
            host = "h"
            size = "4 KiB"
            [[accesses]]
            by = "h"
            buffer = "free"
            cores = 2
            count = {count}
            interval = "300 ns"
            [[locks]]
            by = "h"
            buffer = "table"
            cores = 2
            count = {count}
            hold = "200 ns"
            [[transactions]]
            by = "h"
            buffer = "rows"
            locks = "table"
            cores = 2
            count = {count}
            "#
        )
    };
    let (few, many) = (run(&text(1)), run(&text(1000)));
    for result in [&few, &many] {
        let (accesses, locks) = (&result.accesses[0], &result.locks[0]);
        let transactions = &result.transactions[0];
        let bytes = steady_rate(accesses.steady.as_ref());
        assert_eq!(accesses.bytes_per_second, Some(bytes));
        // A core waits for 300 ns after the end of each access before it begins the next.
        let one = 2.0 * accesses.size as f64 / 300e-9;
        assert!(bytes < one && bytes > 0.3 * one, "{bytes}");
        assert!(steady_rate(locks.steady.as_ref()) < 2.0 / 200e-9);
        let committed = steady_rate(transactions.steady.as_ref());
        assert_eq!(transactions.committed_per_second, Some(committed));
        assert!(accesses.completed && accesses.intact && locks.completed);
        assert!(transactions.completed && transactions.intact);
        assert!(!result.partial);
    }
    // The amounts in the scenario make no difference.
    assert_eq!(few.simulated_ns.to_bits(), many.simulated_ns.to_bits());
}

#[test]
fn traffic_goes_on_until_its_rate_is_known() {
    let network = "[networks.n]\nshape = \"ring\"\nsize = \"4\"\n";
    let controller = "[controllers.n]\nports = 2\n[hosts.\"h{i}\"]\neach = \"i = 0..1\"\n\
        [devices.\"n{i}\"]\neach = \"i = 0..1\"\nmodel = \"nic\"\nupstream = \"h{i}\"\n";
    for fabric in [network, controller] {
        let text = format!(
            "{STEADY}{fabric}[[traffic]]\nnetwork = \"n\"\nload = \"400 MB/s\"\nduration = \"1 us\"\n"
        );
        let result = run(&text);
        let traffic = &result.traffic[0];
        let rate = steady_rate(traffic.steady.as_ref()) / traffic.nodes as f64;
        assert_eq!(traffic.accepted_bytes_per_second, Some(rate));
        assert!((rate / 400e6 - 1.0).abs() < 0.1, "{rate}");
        assert!(traffic.completed && traffic.intact && !result.partial);
    }
}

#[test]
fn a_collective_ends_before_the_run_does() {
    let collective = "[networks.n]\nshape = \"ring\"\nsize = \"4\"\n\
        [[collectives]]\nnetwork = \"n\"\nalgorithm = \"ring\"\nsize = \"64 KiB\"\nstart = \"900 us\"\n";
    let flow = "[hosts.h]\n[devices.d]\nupstream = \"h\"\n\
        [[flows]]\nfrom = \"d\"\nto = \"h\"\nsize = \"4 KiB\"\n";
    let result = run(&format!("{STEADY}{collective}{flow}"));
    assert!(result.collectives[0].joint.completed);
    assert!(result.simulated_ns > 900_000.0);
    assert!(!result.partial && result.flows[0].half_width_bytes_per_second.is_some());
    assert_eq!(
        refusal(&format!("{STEADY}{collective}")),
        "bad.toml:2: measure, steady: no workload goes on until its rate is known; write [[flows]], or leave it out"
    );
}
