//! A run in the steady state goes on until the rate of each flow is known, whatever the amounts of the flows are.

use sim::result::RunResult;

use crate::bad_input::refusal;
use crate::fixture::*;

/// A card and a drive below one switch, whose amounts take very different times, and a card that reads.
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

#[test]
fn other_workloads_than_flows_end_before_the_run_does() {
    let accesses = r#"
        [buffers.b]
        host = "h"
        size = "4 KiB"
        [[accesses]]
        by = "h"
        buffer = "b"
        count = 1000
        interval = "900 ns"
    "#;
    let text = mixed(STEADY).replace(
        "memory = \"256 MiB\"",
        "memory = \"256 MiB\"\ncoherent = true",
    );
    let result = run(&format!("{text}{accesses}"));
    assert!(result.accesses[0].completed && result.simulated_ns > 900_000.0);
    assert!(
        rates(&result)
            .iter()
            .all(|(_, rate, half)| half <= &(0.05 * rate))
    );
    let none = format!("{STEADY}[hosts.h]\n");
    assert_eq!(
        refusal(&none),
        "bad.toml:2: measure, steady: there is no flow to measure; write [[flows]], or leave it out"
    );
}
