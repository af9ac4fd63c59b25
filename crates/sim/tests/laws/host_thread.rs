//! A host thread whose loads, stores and waits are calls from outside the simulation.

use std::fs::File;
use std::sync::{Arc, Mutex};

use kernel::{Span, Time};
use sim::{Backing, CaptureFormat, FilterOptions, HostThread, Memory, Simulation, Until, Woken};

use crate::fixture::simulation;

const PAIR: &str = r#"
    [hosts.h0]
    memory = "4 MiB"
    [devices.a]
    model = "dma"
    upstream = { to = "h0" }
    "#;

fn pair() -> (Simulation, HostThread, u64) {
    let mut simulation = simulation(PAIR);
    let thread = HostThread::new(&mut simulation, "h0").expect("a host");
    let mut nodes = simulation.plan().nodes.iter();
    let device = nodes.find(|node| node.name == "a");
    let bar = device.and_then(|device| device.bars[0]);
    let bar = bar.expect("it has a BAR").base;
    (simulation, thread, bar)
}

#[test]
fn what_is_stored_is_loaded_and_a_load_takes_a_round_trip() {
    let (mut simulation, thread, bar) = pair();
    let stored = thread.store(&mut simulation, bar + 8, &[1, 2, 3, 4], &mut || true);
    stored.expect("a register");
    let before = simulation.now();
    let loaded = thread.load(&mut simulation, bar + 8, 4, &mut || true);
    assert_eq!(loaded, Ok(vec![1, 2, 3, 4]));
    assert!(simulation.now().since(before) > Span::from_ns(200));
}

#[test]
fn a_load_that_nobody_answers_is_all_ones() {
    let (mut simulation, thread, bar) = pair();
    let loaded = thread.load(&mut simulation, bar + (1 << 24), 8, &mut || true);
    assert_eq!(loaded, Ok(vec![0xff; 8]));
}

#[test]
fn work_and_waits_take_as_long_as_they_say() {
    let (mut simulation, thread, _) = pair();
    let before = simulation.now();
    let worked = thread.work(&mut simulation, Span::from_ns(70), &mut || true);
    worked.expect("nobody stops it");
    assert_eq!(simulation.now().since(before), Span::from_ns(70));
    let limit = simulation.now() + Span::from_us(3);
    let woken = thread.wait(&mut simulation, &Until::Limit, limit, &mut || true);
    assert_eq!((woken, simulation.now()), (Woken::Limit, limit));
}

#[test]
fn more_threads_than_cores_work_in_turn_and_threads_at_rest_hold_no_core() {
    let text = PAIR.replace("memory", "cores = 2\nmemory");
    let mut simulation = simulation(&text);
    let thread = |simulation: &mut Simulation| HostThread::new(simulation, "h0").expect("a host");
    let threads: Vec<HostThread> = (0..9).map(|_| thread(&mut simulation)).collect();
    let before = simulation.now();
    for thread in &threads[4..] {
        thread.begin(&mut simulation, sim::Order::Work(Span::from_ns(100)));
    }
    let mut ends = Vec::new();
    let mut working: Vec<&HostThread> = threads[4..].iter().collect();
    while let Some(done) = simulation.advance(&working, &mut || true) {
        working.remove(done);
        ends.push(simulation.now().since(before));
    }
    assert_eq!(ends, [100, 100, 200, 200, 300].map(Span::from_ns));
}

#[test]
fn a_wait_for_bytes_is_over_when_a_device_writes_one_of_them_and_no_other() {
    let (mut simulation, thread, _) = pair();
    let base = simulation.allocate("h0", 8192).expect("room");
    for (address, bytes) in [(base + 4096, 4096), (base + 64, 64)] {
        let bytes = vec![9; bytes];
        let written = simulation.write("a", address, bytes);
        written.expect("the host's memory");
    }
    let until = Until::Written(base + 100..base + 108);
    let woken = thread.wait(&mut simulation, &until, Time::NEVER, &mut || true);
    assert_eq!(woken, Woken::Happened);
    let memory = simulation.memory("h0", base + 96, 8);
    assert_eq!(memory, Ok(vec![9; 8]));
    let woken = thread.wait(&mut simulation, &until, Time::NEVER, &mut || true);
    assert_eq!(woken, Woken::Quiet);
    let beyond = Until::Written(base..base + 64);
    simulation
        .write("a", base + 64, vec![1])
        .expect("the host's memory");
    let limit = simulation.now() + Span::from_us(5);
    let woken = thread.wait(&mut simulation, &beyond, limit, &mut || true);
    assert_eq!((woken, simulation.now()), (Woken::Limit, limit));
}

/// A device writes a megabyte that ends with the watched word, so that the wait takes many steps.
#[test]
fn a_wait_that_is_broken_off_and_begun_again_misses_no_write() {
    let written_at = |patience: u32| {
        let (mut simulation, thread, _) = pair();
        let base = simulation.allocate("h0", 2 << 20).expect("room");
        let written = simulation.write("a", base, vec![9; 1 << 20]);
        written.expect("the host's memory");
        let until = Until::Written(base + (1 << 20) - 8..base + (1 << 20));
        let mut looks = 0;
        loop {
            let mut watch = || {
                looks += 1;
                looks % patience != 0
            };
            match thread.wait(&mut simulation, &until, Time::NEVER, &mut watch) {
                Woken::Broken => {}
                woken => break (woken, simulation.now()),
            }
        }
    };
    assert_eq!(written_at(1), written_at(u32::MAX));
    assert_eq!(written_at(1).0, Woken::Happened);
}

#[test]
fn a_wait_for_an_interrupt_says_once_that_the_fabric_is_at_rest() {
    let (mut simulation, thread, bar) = pair();
    let stored = thread.store(&mut simulation, bar, &[1; 4], &mut || true);
    stored.expect("a register");
    let limit = simulation.now() + Span::from_us(500);
    let wait = |simulation: &mut Simulation| {
        thread.wait(simulation, &Until::Interrupt, limit, &mut || true)
    };
    assert_eq!(wait(&mut simulation), Woken::Quiet);
    assert!(simulation.now() < limit);
    assert_eq!(wait(&mut simulation), Woken::Limit);
    assert_eq!(simulation.now(), limit);
}

#[test]
fn what_somebody_did_not_wait_for_is_done_before_the_next_order() {
    let (mut simulation, thread, bar) = pair();
    let left = thread.load(&mut simulation, bar, 4, &mut || false);
    assert!(left.is_ok(), "it is done before anybody looks");
    thread.begin(&mut simulation, sim::Order::Work(Span::from_us(5)));
    let before = simulation.now();
    simulation.fill("a", bar, &[4; 4]).expect("it is there");
    let loaded = thread.load(&mut simulation, bar, 4, &mut || true);
    assert_eq!(loaded, Ok(vec![4; 4]));
    assert!(simulation.now().since(before) > Span::from_us(5));
}

#[derive(Debug)]
struct Outside(Mutex<Vec<u8>>);

impl Backing for Outside {
    fn read(&self, offset: usize, bytes: &mut [u8]) {
        let all = self.0.lock().expect("no test panics with it");
        bytes.copy_from_slice(&all[offset..][..bytes.len()]);
    }
    fn write(&self, offset: usize, bytes: &[u8]) {
        let mut all = self.0.lock().expect("no test panics with it");
        all[offset..][..bytes.len()].copy_from_slice(bytes);
    }
}

#[test]
fn a_device_reads_and_writes_memory_that_somebody_outside_has() {
    let (mut simulation, _, _) = pair();
    let size = 2 * Memory::SHARED_PAGE;
    let allocated = simulation.allocate_aligned("h0", size, 1 << 21);
    let base = allocated.expect("room");
    assert_eq!(base % (1 << 21), 0);
    let outside = Arc::new(Outside(Mutex::new(vec![5; size as usize])));
    let backing: Arc<dyn Backing> = outside.clone();
    simulation
        .share("h0", base, size, &backing)
        .expect("it is allocated");
    let read = simulation.read_back("a", base + 70_000, 4, &mut || true);
    assert_eq!(read, Ok(vec![5; 4]));
    simulation
        .write("a", base + 70_002, vec![6])
        .expect("it is the host's");
    while simulation.step() {}
    assert_eq!(
        outside.0.lock().expect("no test panics with it")[70_001..70_004],
        [5, 6, 5]
    );
}

/// In an hour, each credit limit is refreshed 120 million times.
#[test]
fn an_hour_of_work_takes_few_events_and_counts_all_refreshes() {
    let (mut simulation, thread, bar) = pair();
    let hour = Span::from_us(3_600_000_000);
    thread
        .work(&mut simulation, hour, &mut || true)
        .expect("it works");
    assert!(simulation.events() < 10_000, "{}", simulation.events());
    thread
        .store(&mut simulation, bar, &[1; 4], &mut || true)
        .expect("the link is awake");
    let result = simulation.result();
    let rounds = 3_600_000_000.0 / 30.0;
    for link in &result.links {
        // A host refreshes the credit limits of three classes, or of two classes if one class has infinite credit. A device refreshes two.
        let dllps = link.dllp_bytes as f64 / 8.0;
        let classes = dllps / rounds;
        assert!((1.99..3.01).contains(&classes), "{}: {classes}", link.id);
    }
}

/// Whether the fabric is at rest at each nanosecond of the microsecond from `from` on.
fn restful(simulation: &mut Simulation, from: Time) -> Vec<bool> {
    let times = (0..1000).map(|ns| from + Span::from_ns(ns));
    times
        .map(|time| {
            simulation.run_until(time, &mut || true);
            simulation.is_at_rest()
        })
        .collect()
}

#[test]
fn a_trace_makes_no_difference_to_whether_the_fabric_is_at_rest() {
    let after = |is_traced| {
        let (mut simulation, thread, bar) = pair();
        if is_traced {
            let nowhere = File::create("/dev/null").expect("the system has it");
            let (format, all) = (CaptureFormat::Trace, FilterOptions::default());
            let captured = simulation.capture(format, &all, nowhere);
            captured.expect("the filter names nothing that is not there");
        }
        let stored = thread.store(&mut simulation, bar, &[1; 4], &mut || true);
        stored.expect("a register");
        // Refreshes are sent every 30 us, counted from the last new limit.
        let begins = (0..70).map(|step| Time::ZERO + Span::from_us(980 + step));
        let late = begins.chain((0..32).map(|step| Time::ZERO + Span::from_us(3000 + step)));
        let rest = late.map(|from| restful(&mut simulation, from));
        rest.collect::<Vec<_>>()
    };
    let (plain, traced) = (after(false), after(true));
    assert_eq!(plain, traced);
    assert!(plain.iter().flatten().any(|is_at_rest| *is_at_rest));
}
