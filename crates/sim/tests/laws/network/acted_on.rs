//! Simulations that the test changes after a run on several threads: they keep their state, and each interrupt and trace record occurs once.

use std::fs::{File, read_to_string, remove_file};

use kernel::Span;
use sim::{CaptureFormat, FilterOptions, Simulation};

use super::threads::two_flows;
use crate::fixture::*;

fn on(threads: usize, text: &str) -> Simulation {
    let mut simulation = simulation(text);
    simulation.use_threads(threads);
    simulation.use_threads_always();
    simulation
}

#[test]
fn allocated_memory_stays_allocated() {
    for size in 4..12 {
        let mut simulation = on(2, &two_flows(size));
        let before = simulation.allocate("t-0-host", 4096);
        assert!(simulation.run(&mut |_| true));
        assert_ne!(simulation.allocate("t-0-host", 4096), before);
    }
}

#[test]
fn an_interrupt_is_taken_once() {
    let text = two_flows(4)
        + "[devices.d]\nupstream = \"t-0-host\"\n[[flows]]\nfrom = \"d\"\nto = \"0xfee00000\"\nsize = \"4 B\"\n";
    let mut simulation = on(2, &text);
    assert!(simulation.run(&mut |_| true));
    assert_eq!(simulation.threads().0, 2);
    let mut taken = || {
        let all = simulation.take_interrupts("t-0-host").expect("a host");
        simulation
            .fill("t-0-host", 1 << 32, &[1])
            .expect("there is memory");
        all.iter().map(|(_, count)| count).sum::<u32>()
    };
    assert_eq!((taken(), taken()), (1, 0));
}

/// The run on two threads is interrupted at each call of the watch function in turn. It then continues on one thread.
#[test]
fn a_trace_has_each_record_once() {
    let path = std::env::temp_dir().join(format!("peerlane-again-{}.jsonl", std::process::id()));
    let traced = |simulation: &mut Simulation| {
        trace_to(simulation, File::create(&path).expect("a file"));
    };
    let read = |simulation: &mut Simulation| {
        flush(simulation);
        read_to_string(&path).expect("the trace is there")
    };
    let mut interrupted = 0;
    for size in 4..8 {
        let text = two_flows(size);
        let mut one = on(1, &text);
        traced(&mut one);
        assert!(one.run(&mut |_| true));
        let whole = read(&mut one);
        for stop in 1.. {
            let mut two = on(2, &text);
            traced(&mut two);
            let mut looks = 0;
            let has_ended = two.run(&mut |simulation| {
                looks += u32::from(simulation.shares().windows > 0);
                looks < stop
            });
            if has_ended {
                break;
            }
            interrupted += 1;
            assert!(
                whole.starts_with(&read(&mut two)),
                "{size} KiB, {stop} looks"
            );
            two.fill("t-0-host", 1 << 32, &[1])
                .expect("there is memory");
            assert!(two.run(&mut |_| true));
            assert!(read(&mut two) == whole, "{size} KiB, {stop} looks");
        }
    }
    assert!(interrupted > 0);
    remove_file(&path).expect("the trace can be removed");
}

#[test]
fn samples_of_a_run_that_goes_on_begin_where_they_are_asked_for() {
    let mut simulation = on(2, &two_flows(8));
    assert!(!simulation.run(&mut |_| false));
    assert_eq!(simulation.threads().0, 2);
    let asked = simulation.now();
    simulation.sample(Span::from_us(1));
    simulation
        .fill("t-0-host", 1 << 32, &[1])
        .expect("there is memory");
    assert!(simulation.run(&mut |_| true));
    let series = simulation.result().series.expect("it is sampled");
    close(series.begin_ns, asked.as_ns(), 0.0001);
}

#[test]
fn a_capture_that_needs_one_thread_begins_before_a_run_on_several() {
    let mut simulation = on(2, &two_flows(4));
    assert!(simulation.run(&mut |_| true));
    let path = std::env::temp_dir().join(format!("peerlane-late-{}.vcd", std::process::id()));
    let file = File::create(&path).expect("a file");
    let begun = simulation.capture(CaptureFormat::Vcd, &FilterOptions::default(), file);
    let why = begun.expect_err("several threads").to_string();
    assert!(why.contains("begin the capture before the run"), "{why}");
    remove_file(&path).expect("the file can be removed");
}

#[test]
fn an_access_after_a_run_has_the_times_of_one_after_a_run_on_one_thread() {
    let after = |threads| {
        let mut simulation = on(threads, &two_flows(6));
        assert!(simulation.run(&mut |_| true));
        let address = simulation.allocate("t-1-host", 4096).expect("memory");
        simulation
            .fill("t-1-host", address, &[7; 64])
            .expect("there is memory");
        let window = simulation.window("t-0-host", "t-1-host").unwrap_or(address);
        let read = simulation.read_back("t-0-host", window, 64, &mut || true);
        let (now, events) = (simulation.now(), simulation.events());
        (format!("{read:?}"), now, events, simulation.threads().0)
    };
    let (one, two) = (after(1), after(2));
    assert_eq!((&one.0, one.1, one.2), (&two.0, two.1, two.2));
    assert_eq!((one.3, two.3), (1, 2));
}
