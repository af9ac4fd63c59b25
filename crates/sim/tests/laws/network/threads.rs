//! A run on several threads has the same results, events and trace as a run on one thread.

use std::fs::File;
use std::num::NonZero;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use sim::{Shares, Simulation};

use super::any_network::network;
use crate::cases::cases;
use crate::fixture::*;

/// The output of a run.
#[derive(Debug, PartialEq)]
struct Run {
    result: String,
    events: u64,
    end: u64,
    trace: String,
}

/// Runs a scenario on `threads` threads. Returns the output, the number of threads in use, and how the threads shared the events.
fn run_on(text: &str, threads: usize, is_traced: bool) -> (Run, usize, Shares) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("peerlane-threads-{}-{number}.jsonl", std::process::id());
    let path = std::env::temp_dir().join(name);
    let mut simulation = simulation(text);
    if is_traced {
        let file = File::create(&path).expect("a file in the temporary folder");
        trace_to(&mut simulation, file);
    }
    simulation.use_threads(threads);
    simulation.use_threads_always();
    assert!(simulation.run(&mut |_| true));
    let mut trace = String::new();
    if is_traced {
        flush(&mut simulation);
        trace = std::fs::read_to_string(&path).expect("the trace is there");
        std::fs::remove_file(&path).expect("the trace can be removed");
    }
    let run = told(&simulation, trace);
    (run, simulation.threads().0, simulation.shares())
}

fn told(simulation: &Simulation, trace: String) -> Run {
    let result = serde_json::to_string(&simulation.result()).expect("a result is plain");
    Run {
        result,
        events: simulation.events(),
        end: simulation.now().as_fs(),
        trace,
    }
}

/// Asserts that a run has the same output on one thread and on two threads, and that the two threads share some windows.
pub fn assert_two_are_as_one(text: &str) {
    let (one, ..) = run_on(text, 1, true);
    let (two, threads, shares) = run_on(text, 2, true);
    assert!(
        threads == 2 && shares.windows > 0,
        "{threads} {shares:?}\n{text}"
    );
    assert!(two == one, "{text}");
}

/// Whether a run has the same output on one, two and three threads, or on as many threads as its fabric permits.
pub fn is_the_same_on_threads(text: &str, is_traced: bool) -> bool {
    /// A run with more events is not repeated on three threads, because it takes many seconds. A link with many bit errors may retrain so often.
    const LONG: u64 = 1 << 20;
    let (one, ..) = run_on(text, 1, is_traced);
    let several = if one.events < LONG { 2..=3 } else { 2..=2 };
    let mut several = several.map(|threads| run_on(text, threads, is_traced).0);
    several.all(|run| run == one)
}

#[test]
fn an_end_that_goes_to_electrical_idle_sends_a_frame_shorter_than_a_dllp() {
    let text = "
        [links]
        generation = 1
        lanes = 1
        [hosts.h0]
        aspm_l1 = true
        [switches.s0]
        upstream = \"h0\"
        l1_exit_latency = \"300 ns\"
        [switches.s1]
        upstream = \"s0\"
        [devices.d0]
        upstream = \"h0\"
        [devices.d1]
        upstream = \"h0\"
        [devices.r]
        upstream = \"s0\"
        l1_exit_latency = \"4 us\"
        [[flows]]
        from = \"d0\"
        to = \"d1\"
        size = \"6076 B\"
    ";
    assert!(is_the_same_on_threads(text, true));
}

/// A scenario with a torus whose routers send messages to each other.
fn torus(side: usize, lines: &str) -> String {
    format!(
        "[networks.t]\nshape = \"torus\"\nsize = \"{side}x{side}\"\n[[traffic]]\nnetwork = \"t\"\nmessage = \"256 B\"\nfrom = \"routers\"\nto = \"routers\"\n{lines}"
    )
}

#[test]
fn a_torus_runs_in_windows_on_each_thread() {
    let text = torus(6, "load = \"1 GB/s\"\nduration = \"20 us\"\n");
    let (one, threads, shares) = run_on(&text, 1, true);
    assert_eq!((threads, shares.windows), (1, 0));
    for wished in [2, 3, 4] {
        let (several, threads, shares) = run_on(&text, wished, true);
        assert_eq!(threads, wished);
        assert!(
            shares.events > one.events / 2,
            "{shares:?} of {}",
            one.events
        );
        assert!(several == one, "{wished} threads");
    }
}

#[test]
fn a_run_on_threads_is_looked_at_as_it_goes_on() {
    let mut simulation = simulation(&torus(6, "load = \"1 GB/s\"\nduration = \"20 us\"\n"));
    simulation.use_threads(2);
    simulation.use_threads_always();
    let mut shares = vec![0.0];
    assert!(simulation.run(&mut |simulation| {
        shares.push(simulation.share_done());
        true
    }));
    assert!(simulation.shares().events > simulation.events() / 2);
    let largest = shares.windows(2).map(|two| two[1] - two[0]);
    let largest = largest.fold(0.0, f64::max);
    assert!(largest < 0.5, "{shares:?}");
}

#[test]
fn a_run_chooses_threads_by_its_amount_of_work_and_by_what_happens_in_a_delay() {
    let run = |text: &str, chooses: bool| {
        let mut simulation = simulation(text);
        if chooses {
            simulation.choose_threads();
        }
        assert!(simulation.run(&mut |_| true));
        (told(&simulation, String::new()), simulation.threads().0)
    };
    let text = |side, duration| {
        let lines = format!("load = \"1 GB/s\"\nduration = \"{duration} us\"\n");
        torus(side, &lines)
    };
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    for (text, is_worth_threads) in [
        (text(8, 20), false),
        (text(8, 400), true),
        (text(2, 3000), false),
    ] {
        let (one, ..) = run(&text, false);
        let (chosen, threads) = run(&text, true);
        assert_eq!(threads > 1, is_worth_threads && processors > 1, "{text}");
        assert!(chosen == one, "{text}");
    }
}

#[test]
fn a_run_has_as_many_threads_as_it_is_told_whatever_the_machine_has() {
    for (threads, regions) in [(2, 2), (5, 5), (1000, 32)] {
        let mut simulation = simulation(&torus(4, "load = \"1 GB/s\"\nduration = \"2 us\"\n"));
        simulation.use_threads(threads);
        assert!(simulation.run(&mut |_| true));
        let (count, fewer) = simulation.threads();
        assert_eq!((count, fewer.is_some()), (regions, threads > regions));
    }
}

/// A scenario with two flows. The second flow begins shortly before the end of the first, and takes a short time.
pub fn two_flows(size: u32) -> String {
    let flow = |from, to, lines: &str| {
        format!("[[flows]]\nfrom = \"t-{from}-host\"\nto = \"t-{to}-host\"\n{lines}\n")
    };
    let slow = "size = \"10 KiB\"\nrequest_size = \"256 B\"\ninterval = \"1 us\"";
    String::from("[networks.t]\nshape = \"torus\"\nsize = \"4\"\n")
        + &flow(0, 2, slow)
        + &flow(1, 3, &format!("size = \"{size} KiB\"\nstart = \"39 us\""))
}

#[test]
fn a_run_ends_with_its_last_flow_in_whatever_region_that_ends() {
    for size in 4..12 {
        let text = two_flows(size);
        let (one, ..) = run_on(&text, 1, true);
        let (two, threads, shares) = run_on(&text, 2, true);
        assert!(two == one, "{size} KiB");
        assert!(threads == 2 && shares.windows > 0, "{shares:?}");
    }
}

/// The link of a device fails. The driver waits for the reset of the device, and this wait is the last activity of the run.
#[test]
fn a_run_ends_with_the_reset_of_a_device_however_it_is_looked_at() {
    let text = "
        [hosts.h]
        driver_recovery = true
        error_reporting = true
        [buffers.u]
        host = \"h\"
        [switches.s]
        upstream = { to = \"h\", delay = \"200 ns\" }
        [devices.k]
        upstream = { to = \"s\", fails_at = \"11096 ns\" }
        model = \"block-dma\"
        [[accesses]]
        by = \"k\"
        buffer = \"u\"
        driven = \"program\"
    ";
    let (one, ..) = run_on(text, 1, false);
    let (traced, ..) = run_on(text, 1, true);
    let (two, ..) = run_on(text, 2, false);
    assert_eq!((traced.end, &traced.result), (one.end, &one.result));
    assert!(two == one);
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2000, ..cases(16) })]
    #[test]
    fn the_number_of_threads_changes_nothing(network in network(false), is_traced: bool) {
        prop_assert!(is_the_same_on_threads(&network.text(), is_traced));
    }

    #[test]
    fn the_number_of_threads_changes_nothing_over_bad_and_cut_fibres(network in network(true), is_traced: bool) {
        prop_assert!(is_the_same_on_threads(&network.text(), is_traced));
    }
}
