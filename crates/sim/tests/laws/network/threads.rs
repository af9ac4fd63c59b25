//! A run on several threads has the results, the events and the trace of a run on one.

use std::fs::File;
use std::num::NonZero;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use sim::{Shares, Simulation};

use super::any_network::network;
use crate::cases::cases;
use crate::fixture::*;

/// All that a run tells.
#[derive(Debug, PartialEq)]
struct Run {
    result: String,
    events: u64,
    end: u64,
    trace: String,
}

/// Runs a scenario on up to `threads` threads, from the beginning of its flows. Returns what it tells, the number of threads, and how they
/// shared the events.
fn run_on(text: &str, threads: usize, is_traced: bool) -> (Run, usize, Shares) {
    run_divided_after(0, text, threads, is_traced)
}

/// Runs a scenario as [`run_on`] does, undivided for so many events of its flows.
fn run_divided_after(
    events: u32,
    text: &str,
    threads: usize,
    is_traced: bool,
) -> (Run, usize, Shares) {
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
    simulation.use_threads_for(events);
    assert!(simulation.run(&mut |_| true));
    let mut trace = String::new();
    if is_traced {
        flush(&mut simulation);
        trace = std::fs::read_to_string(&path).expect("the trace is there");
        std::fs::remove_file(&path).expect("the trace can be removed");
    }
    let run = told(&simulation, trace);
    let (threads, fewer) = simulation.threads();
    // Nothing takes a link down in the middle of a frame.
    assert!(
        !fewer.is_some_and(|why| why.contains("cut short")),
        "{text}"
    );
    (run, threads, simulation.shares())
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

/// Asserts that a run tells the same on one thread and on two, which share some windows.
pub fn assert_two_are_as_one(text: &str) {
    let (one, ..) = run_on(text, 1, true);
    let (two, threads, shares) = run_on(text, 2, true);
    assert!(
        threads == 2 && shares.windows > 0,
        "{threads} {shares:?}\n{text}"
    );
    assert!(two == one, "{text}");
}

/// Whether a run tells the same on one thread, on two and on three, or on as many as its fabric allows, wherever it is divided.
pub fn is_the_same_on_threads(text: &str, is_traced: bool) -> bool {
    /// A link with many bit errors may retrain this often; the run on threads takes many seconds then, and is not repeated.
    const LONG: u64 = 1 << 20;
    let (one, ..) = run_on(text, 1, is_traced);
    let several = [(0, 2), (200, 3), (1500, 2)];
    let times = if one.events < LONG { 3 } else { 1 };
    let mut several = several[..times].iter().map(|(events, threads)| {
        let (run, ..) = run_divided_after(*events, text, *threads, is_traced);
        run
    });
    several.all(|run| run == one)
}

/// Asserts that a run tells the same on one thread and on two, between which it is divided after so many events.
pub fn assert_two_are_as_one_after(events: u32, text: &str) {
    let (one, ..) = run_on(text, 1, true);
    let (two, threads, _) = run_divided_after(events, text, 2, true);
    assert_eq!(threads, 2, "{events} of {} events\n{text}", one.events);
    assert!(two == one, "{events} events\n{text}");
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

/// A torus whose routers send to each other.
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
    simulation.use_threads_for(0);
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
fn a_long_run_goes_on_on_threads_where_much_happens_in_a_delay() {
    let run = |text: &str, threads| {
        let mut simulation = simulation(text);
        simulation.use_threads(threads);
        assert!(simulation.run(&mut |_| true));
        let (_, fewer) = simulation.threads();
        let is_busy = fewer.is_some_and(|why| why.contains("busy"));
        let told = told(&simulation, String::new());
        (told, simulation.shares(), is_busy)
    };
    let text = |duration| {
        torus(
            8,
            &format!("load = \"1 GB/s\"\nduration = \"{duration} us\"\n"),
        )
    };
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    for (duration, is_long) in [(20, false), (3000, true)] {
        let text = text(duration);
        let (one, ..) = run(&text, 1);
        let (two, shares, is_busy) = run(&text, 2);
        let on_threads = shares.events > 0;
        // Other tests may keep the processors busy.
        let can_have_threads = processors > 1 && !is_busy;
        assert_eq!(on_threads, is_long && can_have_threads, "{shares:?}");
        assert!(two == one, "{duration} us");
    }
}

/// Two flows, of which the second begins when the first is nearly done, and is done at once: a run on threads may look too far.
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
fn a_run_that_ends_earlier_than_it_looked_begins_again() {
    let mut repeated = 0;
    for size in 4..12 {
        let text = two_flows(size);
        let (one, ..) = run_on(&text, 1, true);
        let (two, _, shares) = run_on(&text, 2, true);
        assert!(two == one, "{size} KiB");
        repeated += shares.repeated;
    }
    assert!(repeated > 0);
}

/// A device whose link fails, and whose driver waits longer for its reset than anything else goes on.
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
