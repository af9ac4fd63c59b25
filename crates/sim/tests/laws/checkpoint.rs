//! A run that goes on from a checkpoint is the run that was never interrupted: trace, events, counters and result.

use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use kernel::{Span, Time};
use sim::{Paused, Simulation};

use crate::fixture::*;

/// The outcome of a run to a time, a checkpoint there, and the run from it.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It went on as if nothing had been, with so many bytes of trace.
    WentOn(usize),
    /// The run ended before the time, when so many bytes of its flows and traffic had arrived.
    Ended { bytes: u64 },
    /// There is no checkpoint, for this reason.
    Refused(String),
}

/// A file in the temporary folder, which goes with it.
struct Traced(PathBuf);

impl Traced {
    /// Traces a simulation from now on.
    fn of(simulation: &mut Simulation) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("peerlane-checkpoint-{}-{number}.jsonl", std::process::id());
        let path = std::env::temp_dir().join(name);
        let file = File::create(&path).expect("a file in the temporary folder");
        trace_to(simulation, file);
        Traced(path)
    }

    fn bytes(&self, simulation: &mut Simulation) -> Vec<u8> {
        flush(simulation);
        std::fs::read(&self.0).expect("the trace is there")
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The course of a run until its end, and on until links are at rest.
#[derive(PartialEq, Eq)]
struct Course {
    result: String,
    wires: String,
    events: u64,
    end: Time,
    trace: Vec<u8>,
}

fn finish(simulation: &mut Simulation, traced: &Traced) -> Course {
    assert!(simulation.run(&mut |_| true));
    let result = serde_json::to_string(&simulation.result()).expect("a result is JSON");
    let wires = format!("{:?}", simulation.wires());
    let (events, end) = (simulation.events(), simulation.now());
    simulation.run_until(end + Span::from_us(20), &mut || true);
    let trace = traced.bytes(simulation);
    Course {
        result,
        wires,
        events,
        end,
        trace,
    }
}

/// Asserts that a run from a checkpoint after this share of its time is the run without one. `probes` are those of each run.
pub fn assert_same_course(text: &str, share: f64, probes: &dyn Fn(&mut Simulation)) -> Outcome {
    let mut whole = simulation(text);
    probes(&mut whole);
    let traced = Traced::of(&mut whole);
    let whole = finish(&mut whole, &traced);
    let time = Time::from_fs((whole.end.as_fs() as f64 * share) as u64);

    let mut interrupted = simulation(text);
    probes(&mut interrupted);
    match interrupted.run_to(time, &mut |_| true) {
        Paused::Reached => {}
        Paused::Ended => {
            let result = interrupted.result();
            let flows = result.flows.iter().map(|flow| flow.bytes);
            let traffic = result.traffic.iter().map(|traffic| traffic.bytes);
            let bytes = flows.chain(traffic).sum();
            return Outcome::Ended { bytes };
        }
        Paused::Interrupted => panic!("nobody has interrupted the run"),
    }
    let checkpoint = match ::checkpoint::write(&mut interrupted) {
        Ok(checkpoint) => checkpoint,
        Err(error) => return Outcome::Refused(error.to_string()),
    };
    let mut resumed =
        ::checkpoint::resume(&checkpoint).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(resumed.now(), interrupted.now());
    let courses = [&mut interrupted, &mut resumed].map(|simulation| {
        let traced = Traced::of(simulation);
        finish(simulation, &traced)
    });
    let [interrupted, resumed] = courses;
    // Idle links need fewer events before somebody traces them, and samples show when: the whole run was traced from its beginning.
    if !whole.result.contains("\"series\":{") {
        assert_eq!(resumed.result, whole.result, "at {time}\n{text}");
    }
    assert_eq!(resumed.wires, whole.wires, "at {time}\n{text}");
    assert_eq!(resumed.end, whole.end, "at {time}\n{text}");
    assert!(
        resumed.result == interrupted.result,
        "another result at {time}\n{text}"
    );
    assert_eq!(resumed.events, interrupted.events, "at {time}\n{text}");
    let is_same = resumed.trace == interrupted.trace;
    assert!(is_same, "another trace after {time}\n{text}");
    Outcome::WentOn(resumed.trace.len())
}

#[test]
fn a_run_goes_on_from_any_time() {
    for share in [0.0, 0.05, 0.217, 0.5, 0.9, 0.99] {
        let outcome = assert_same_course(BUSY, share, &|_| {});
        assert!(matches!(outcome, Outcome::WentOn(1000..)), "{outcome:?}");
    }
    let outcome = assert_same_course(BUSY, 1.1, &|_| {});
    assert!(
        matches!(outcome, Outcome::Ended { bytes: 1.. }),
        "{outcome:?}"
    );
}

#[test]
fn a_checkpoint_of_a_resumed_run_is_that_of_the_whole_run() {
    let [early, late] = [50, 70].map(|us| Time::ZERO + Span::from_us(us));
    let mut simulation = simulation(BUSY);
    assert_eq!(simulation.run_to(early, &mut |_| true), Paused::Reached);
    let first = ::checkpoint::write(&mut simulation).expect("no program runs");
    let resumed = ::checkpoint::resume(&first).expect("it was just written");
    let later = [simulation, resumed].map(|mut one| {
        assert_eq!(one.run_to(late, &mut |_| true), Paused::Reached);
        ::checkpoint::write(&mut one).expect("no program runs")
    });
    assert!(later[0] == later[1] && later[0] != first);
}
