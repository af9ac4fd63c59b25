//! Functions that run scenarios to their end, and functions that read the results.

use std::fs::File;
use std::sync::atomic::{AtomicU32, Ordering};

use kernel::{Span, Time};
use scenario::{Scenario, path, read_value};
use serde_json::Value;
use sim::result::{FlowResult, LinkResult, RunResult};
use sim::{CaptureFormat, FilterOptions, Models, Simulation, setup};

/// A host with fixed times, which do not depend on the defaults.
pub const HOST: &str = r#"
[hosts.h0]
latency = "100 ns"
peer_latency = "200 ns"
memory_read_latency = "80 ns"
memory_bandwidth = "25.6 GB/s"
memory_line = "64 B"
"#;

/// Reads, writes and peers below a switch, with bit errors.
pub const BUSY: &str = r#"
    seed = 7
    [links]
    generation = 3
    lanes = 4
    bit_error_rate = 1e-5
    [hosts.h0]
    memory_read_jitter = "50 ns"
    [switches.s]
    upstream = "h0"
    [devices.a]
    upstream = "s"
    [devices.b]
    upstream = "s"
    [[flows]]
    from = "a"
    to = "h0"
    direction = "both"
    size = "128 KiB"
    [[flows]]
    from = "b"
    to = "a"
    direction = "both"
    size = "32 KiB"
"#;

/// The first line of a scenario whose links and hosts keep their default values.
pub const DEFAULT_LINKS: &str = "# default links\n";

pub fn simulation(text: &str) -> Simulation {
    simulation_with(text, None, &Models::default())
}

/// The simulation of the scenario `text`, with the seed `seed` if there is one. Devices may have the foreign models `models`.
pub fn simulation_with(text: &str, seed: Option<u64>, models: &Models) -> Simulation {
    let read = || {
        let mut written = setup::written(text, "law.toml", models)?;
        if !text.starts_with(DEFAULT_LINKS) {
            make_plain(&mut written);
        }
        Simulation::of(&written, seed, models)
    };
    read().unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Sets values that the scenario does not set: clocks of links at their nominal rates, ports of hosts and devices without pipelines, and memory of
/// hosts from address 0 on. Times are then sums that can be calculated by hand.
fn make_plain(written: &mut Scenario) {
    const PLAIN: [(&str, &str, &str); 5] = [
        ("hosts", "receive_pipeline_symbols", "0"),
        ("hosts", "transmit_pipeline_symbols", "0"),
        ("hosts", "memory_address_bits", "32"),
        ("devices", "receive_pipeline_symbols", "0"),
        ("devices", "transmit_pipeline_symbols", "0"),
    ];
    let mut plain = vec![("links.spread_spectrum".to_owned(), "false")];
    for (section, key, value) in PLAIN {
        let members = written.members(section).into_iter();
        plain.extend(members.map(|member| (path::join([section, member.as_str(), key]), value)));
    }
    for (path, value) in plain {
        if written.get(&path).expect("a path").is_none() {
            let set = written.set(&path, Some(&read_value(value)));
            set.expect("a key of the fabric");
        }
    }
}

pub fn run(text: &str) -> RunResult {
    let mut simulation = simulation(text);
    assert!(simulation.run(&mut |_| true));
    simulation.result()
}

/// Runs the scenario to its end, and 100 us longer, so that acknowledgements and credits arrive.
pub fn run_to_rest(text: &str) -> RunResult {
    let mut simulation = simulation(text);
    assert!(simulation.run(&mut |_| true));
    let rest = Time::from_fs(simulation.now().as_fs() + Span::from_us(100).as_fs());
    simulation.run_until(rest, &mut || true);
    simulation.result()
}

/// Runs the scenario to its end, and on until no packet is in use and no credit is held. If this state is not reached, the test fails. Links with bit
/// errors report errors continuously, so the state is checked 200 us after the end and then each microsecond.
pub fn rested(text: &str) -> Simulation {
    let mut simulation = simulation(text);
    assert!(simulation.run(&mut |_| true), "{text}");
    let mut rest = simulation.now() + Span::from_us(200);
    let last = rest + Span::from_us(200);
    loop {
        simulation.run_until(rest, &mut || true);
        let left = (simulation.packets_in_use(), simulation.credits_held());
        if left == (0, 0) {
            return simulation;
        }
        assert!(rest < last, "{left:?} packets and credits left\n{text}");
        rest += Span::from_us(1);
    }
}

/// The place and the event of each incident in the log.
pub fn log(simulation: &Simulation) -> Vec<(String, String)> {
    let log = simulation.result().incidents.into_iter();
    log.map(|one| (one.place, one.what)).collect()
}

/// An entry of the log.
pub fn entry(place: &str, what: &str) -> (String, String) {
    (place.to_owned(), what.to_owned())
}

pub trait Ask {
    fn flow(&self, id: &str) -> &FlowResult;
    fn link(&self, id: &str, direction: &str) -> &LinkResult;
    /// How often `place` ended a packet for the reason `what`.
    fn errors(&self, place: &str, what: &str) -> u64;
    /// Asserts that every flow is complete and every byte right.
    fn all_intact(self) -> Self;
}

impl Ask for RunResult {
    fn flow(&self, id: &str) -> &FlowResult {
        let found = self.flows.iter().find(|flow| flow.id == id);
        found.unwrap_or_else(|| panic!("there is no flow {id}"))
    }

    fn link(&self, id: &str, direction: &str) -> &LinkResult {
        let mut links = self.links.iter();
        let found = links.find(|link| link.id == id && link.direction == direction);
        found.unwrap_or_else(|| panic!("there is no link {id} {direction}"))
    }

    fn errors(&self, place: &str, what: &str) -> u64 {
        let mut errors = self.errors.iter();
        errors
            .find(|error| error.place == place && error.what == what)
            .map_or(0, |error| error.count)
    }

    fn all_intact(self) -> Self {
        for flow in &self.flows {
            assert!(flow.completed && flow.intact, "{flow:?}");
        }
        assert!(self.errors.is_empty(), "{:?}", self.errors);
        self
    }
}

/// Latency of the only request of flow `f`, in nanoseconds.
pub fn latency(text: &str) -> f64 {
    let result = run(text).all_intact();
    let latency = result.flow("f").latency_ns.as_ref();
    latency.expect("a request came to its end").max
}

/// The result of a run and its trace, with one value for each line.
pub fn trace(text: &str) -> (RunResult, Vec<Value>) {
    let (result, bytes) = trace_bytes(text);
    let text = String::from_utf8(bytes).expect("a trace is text");
    let line = |line: &str| serde_json::from_str(line).expect("a line is a JSON object");
    (result, text.lines().map(line).collect())
}

/// Traces everything to `file`.
pub fn trace_to(simulation: &mut Simulation, file: File) {
    let everything = FilterOptions::default();
    let traced = simulation.capture(CaptureFormat::Trace, &everything, file);
    traced.expect("the filter lets everything pass");
}

/// Writes the buffered trace data to the file.
pub fn flush(simulation: &mut Simulation) {
    simulation.flush_captures();
    let failure = simulation.take_capture_failure();
    assert!(failure.is_none(), "the trace is not written: {failure:?}");
}

/// The result of a run and the bytes of its trace file.
pub fn trace_bytes(text: &str) -> (RunResult, Vec<u8>) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("peerlane-law-{}-{number}.jsonl", std::process::id());
    let path = std::env::temp_dir().join(name);
    let mut simulation = simulation(text);
    let file = File::create(&path).expect("a file in the temporary folder");
    trace_to(&mut simulation, file);
    assert!(simulation.run(&mut |_| true));
    flush(&mut simulation);
    let bytes = std::fs::read(&path).expect("the trace is there");
    std::fs::remove_file(&path).expect("the trace can be removed");
    (simulation.result(), bytes)
}

/// Asserts that `actual` differs from `expected` by at most `percent` percent.
pub fn close(actual: f64, expected: f64, percent: f64) {
    let error = (actual / expected - 1.0).abs() * 100.0;
    assert!(
        error <= percent,
        "{actual} is {error:.3} % off {expected}, more than {percent} %"
    );
}

pub fn rate(flow: &FlowResult) -> f64 {
    flow.bytes_per_second.expect("the flow moved bytes")
}

pub fn steady(flow: &FlowResult) -> f64 {
    let rate = flow.steady_bytes_per_second;
    rate.expect("the scenario measures a window")
}
