//! Devices with foreign models: all their requests are executed in order, and no packet remains.

use std::sync::{Arc, Mutex};

use kernel::Span;
use peerlane_device::{
    Access, Answer, Bar, Description, Failure, Model, Operation, Settings, Shell,
};
use proptest::collection::vec;
use proptest::prelude::*;
use protocol::register::BUS_MASTER;
use sim::plan::NodePlan;
use sim::{ForeignModel, Maker, Models, Simulation};

use crate::cases::cases;
use crate::fixture::simulation_with;

/// A step of the model in these tests. Addresses are offsets in memory of the host.
#[derive(Clone, Debug)]
enum Step {
    Write(u64, Vec<u8>),
    Read(u64, u64),
    Add(u64, u64),
    Nobody(u64),
    Interrupt,
    Wait(u64),
}

/// The number and the result of a request that has ended.
type Ended = (u64, Result<Vec<u8>, Failure>);

/// A model that executes its steps when its register is written. After a step `Wait`, it continues when a timer has expired.
struct Script {
    steps: Vec<Step>,
    next: usize,
    ended: Arc<Mutex<Vec<Ended>>>,
}

impl Script {
    fn go_on(&mut self, shell: &mut Shell<'_>) {
        while let Some(step) = self.steps.get(self.next) {
            let tag = self.next as u64;
            self.next += 1;
            let asked = match step {
                Step::Write(at, bytes) => shell.write(BASE + at, bytes),
                Step::Read(at, len) => shell.read(tag, BASE + at, *len),
                Step::Add(at, one) => {
                    shell.atomic(tag, Operation::FetchAdd, BASE + at, &one.to_le_bytes())
                }
                Step::Nobody(len) => shell.read(tag, NOBODY, *len),
                Step::Interrupt => shell.interrupt(0),
                Step::Wait(fs) => {
                    shell.wake_after(0, *fs).unwrap();
                    return;
                }
            };
            asked.unwrap();
        }
    }
}

impl Model for Script {
    fn reset(&mut self, _: u8, _: &mut Shell<'_>) {
        self.next = self.steps.len();
    }

    fn read(&mut self, _: Access, _: &mut [u8], _: &mut Shell<'_>) -> Answer {
        Answer::Unsupported
    }

    fn write(&mut self, _: Access, _: &[u8], shell: &mut Shell<'_>) {
        self.next = 0;
        self.go_on(shell);
    }

    fn completed(&mut self, tag: u64, outcome: Result<&[u8], Failure>, _: &mut Shell<'_>) {
        let outcome = outcome.map(<[u8]>::to_vec);
        self.ended.lock().unwrap().push((tag, outcome));
    }

    fn expired(&mut self, _: u64, shell: &mut Shell<'_>) {
        self.go_on(shell);
    }
}

struct Scripts(Vec<Step>, Arc<Mutex<Vec<Ended>>>);

impl Maker for Scripts {
    fn make(&self, _: &str, _: &Settings) -> Result<Box<dyn Model>, String> {
        Ok(Box::new(Script {
            steps: self.0.clone(),
            next: 0,
            ended: self.1.clone(),
        }))
    }
}

/// The memory of the host that the model uses. It has a part for writes, a part for reads and a part for atomic additions.
const BASE: u64 = 4 << 20;
const PART: u64 = 1 << 15;
const WRITTEN: u64 = 0;
const READ: u64 = PART;
const ADDED: u64 = 2 * PART;

/// An address at which there is no memory and no device.
const NOBODY: u64 = 1 << 50;

/// The model with these steps, and the list of the requests that have ended.
fn script(steps: &[Step]) -> (Models, Arc<Mutex<Vec<Ended>>>) {
    let ended = Arc::new(Mutex::new(Vec::new()));
    let description = Description {
        bars: vec![Bar::new(0, 4096)],
        vectors: 1,
        tags: 8,
        ..Description::default()
    };
    let maker = Box::new(Scripts(steps.to_vec(), ended.clone()));
    let model = ForeignModel::new("script", description, maker).unwrap();
    (Models::new(vec![model]).unwrap(), ended)
}

/// The simulation of a host with a device with these steps below a switch, and the list of the requests that have ended.
fn machine(steps: &[Step], keys: &str) -> (Simulation, Arc<Mutex<Vec<Ended>>>) {
    let (models, ended) = script(steps);
    let text = format!(
        "[hosts.h0]\nmemory = \"64 MiB\"\n[switches.s]\nupstream = \"h0\"\n\
         [devices.d]\nupstream = \"s\"\nmodel = \"script\"\n{keys}\n"
    );
    let mut simulation = simulation_with(&text, None, &models);
    let bytes: Vec<u8> = (0..PART).map(pattern).collect();
    simulation.fill("h0", BASE + READ, &bytes).unwrap();
    (simulation, ended)
}

/// Writes to the register of the device, and runs to the end.
fn ring(simulation: &mut Simulation) {
    let register = device(simulation).region().unwrap().base;
    simulation.write("h0", register, vec![1, 0, 0, 0]).unwrap();
    assert!(simulation.run(&mut |_| true));
    assert_eq!(simulation.failed_model(), None);
}

fn device(simulation: &Simulation) -> &NodePlan {
    let mut nodes = simulation.plan().nodes.iter();
    nodes.find(|node| node.name == "d").unwrap()
}

fn run(steps: &[Step], keys: &str) -> (Simulation, Vec<Ended>) {
    let (mut simulation, ended) = machine(steps, keys);
    ring(&mut simulation);
    let ended = ended.lock().unwrap().clone();
    (simulation, ended)
}

fn pattern(at: u64) -> u8 {
    (at * 7 + at / 256) as u8
}

fn step() -> impl Strategy<Value = Step> {
    let span = |most: u64| (0..PART - most, 1..=most);
    prop_oneof![
        (0..PART - 5000, vec(any::<u8>(), 1..5000))
            .prop_map(|(at, bytes)| Step::Write(WRITTEN + at, bytes)),
        span(9000).prop_map(|(at, len)| Step::Read(READ + at, len)),
        (0..8_u64, any::<u64>()).prop_map(|(place, one)| Step::Add(ADDED + 8 * place, one)),
        (1..2000_u64).prop_map(Step::Nobody),
        Just(Step::Interrupt),
        (0..10_000_000_000_u64).prop_map(Step::Wait),
    ]
}

/// The expected bytes of the memory after all writes and additions of the steps.
fn expected(steps: &[Step]) -> Vec<u8> {
    let mut memory = vec![0; 3 * PART as usize];
    for step in steps {
        match step {
            Step::Write(at, bytes) => {
                memory[*at as usize..][..bytes.len()].copy_from_slice(bytes);
            }
            Step::Add(at, one) => {
                let place = &mut memory[*at as usize..][..8];
                let old = u64::from_le_bytes(place.try_into().unwrap());
                place.copy_from_slice(&old.wrapping_add(*one).to_le_bytes());
            }
            _ => {}
        }
    }
    memory
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn every_request_of_a_model_ends_once_and_the_memory_is_as_its_order_says(
        steps in vec(step(), 1..40),
        datapath in prop_oneof![Just(""), Just("datapath = \"16 B\"\nsend_latency = \"80 ns\"")],
    ) {
        let (simulation, mut ended) = run(&steps, datapath);
        ended.sort_by_key(|(tag, _)| *tag);
        let mut ended = ended.into_iter();
        for (number, step) in steps.iter().enumerate() {
            let wanted = match step {
                Step::Read(at, len) => {
                    let from = at - READ;
                    Ok((from..from + len).map(pattern).collect::<Vec<u8>>())
                }
                Step::Nobody(_) => Err(Failure::Unsupported),
                Step::Add(..) => {
                    let (tag, outcome) = ended.next().unwrap();
                    prop_assert_eq!(tag, number as u64);
                    prop_assert_eq!(outcome.map(|bytes| bytes.len()), Ok(8));
                    continue;
                }
                _ => continue,
            };
            prop_assert_eq!(ended.next(), Some((number as u64, wanted)));
        }
        prop_assert_eq!(ended.next(), None);
        let memory = expected(&steps);
        for part in [WRITTEN, ADDED] {
            let found = simulation.memory("h0", BASE + part, PART).unwrap();
            let wanted = &memory[part as usize..][..PART as usize];
            prop_assert!(found == wanted, "the memory differs");
        }
        prop_assert_eq!(simulation.packets_in_use(), 0);
        prop_assert_eq!(simulation.credits_held(), 0);
    }
}

#[test]
fn a_read_sees_the_write_that_was_made_before_it() {
    let bytes: Vec<u8> = (0..6000).map(|at| (at * 3) as u8).collect();
    let steps = [
        Step::Read(READ, 64),
        Step::Write(WRITTEN + 3, bytes.clone()),
        Step::Read(WRITTEN + 3, 6000),
    ];
    let (_, ended) = run(&steps, "");
    assert!(ended.contains(&(2, Ok(bytes))));
}

#[test]
fn a_device_without_bus_mastering_keeps_its_requests() {
    let steps = [Step::Read(READ, 64), Step::Write(WRITTEN, vec![1; 64])];
    let (mut simulation, ended) = machine(&steps, "");
    let function = device(&simulation).id;
    let set = |simulation: &mut Simulation, command| {
        simulation
            .config_write("h0", function, (4, 2), command, &mut || true)
            .unwrap();
    };
    set(&mut simulation, MEMORY_ONLY);
    ring(&mut simulation);
    assert_eq!(*ended.lock().unwrap(), []);
    let written = |simulation: &Simulation| simulation.memory("h0", BASE + WRITTEN, 64).unwrap();
    assert_eq!(written(&simulation), [0; 64]);
    set(&mut simulation, MEMORY_ONLY | BUS_MASTER);
    assert!(simulation.run(&mut |_| true));
    assert_eq!(ended.lock().unwrap().len(), 1);
    assert_eq!(written(&simulation), [1; 64]);
}

/// The value of the Command register with only Memory Space Enable set.
const MEMORY_ONLY: u32 = 2;

#[test]
fn a_read_that_has_failed_asks_for_nothing_more() {
    let (simulation, ended) = run(&[Step::Nobody(256 * 1024)], "");
    assert_eq!(ended, [(0, Err(Failure::Unsupported))]);
    let refused: u64 = simulation.result().errors.iter().map(|one| one.count).sum();
    // The read has 512 parts of 512 bytes, but the device has only 8 tags.
    assert!((1..=8).contains(&refused), "{refused} parts were asked for");
}

/// A model that sets a timer without delay at each call, starting with an access, and counts the calls.
struct Endless(Arc<Mutex<u32>>);

impl Endless {
    fn go_on(&self, shell: &mut Shell<'_>) {
        *self.0.lock().unwrap() += 1;
        shell.wake_after(0, 0).unwrap();
    }
}

impl Model for Endless {
    fn reset(&mut self, _: u8, _: &mut Shell<'_>) {}

    fn read(&mut self, _: Access, _: &mut [u8], _: &mut Shell<'_>) -> Answer {
        Answer::Unsupported
    }

    fn write(&mut self, _: Access, bytes: &[u8], shell: &mut Shell<'_>) {
        match bytes[0] {
            FAIL => shell.fail("asked to"),
            _ => self.go_on(shell),
        }
    }

    fn expired(&mut self, _: u64, shell: &mut Shell<'_>) {
        self.go_on(shell);
    }
}

const FAIL: u8 = 9;

struct EndlessMaker(Arc<Mutex<u32>>);

impl Maker for EndlessMaker {
    fn make(&self, _: &str, _: &Settings) -> Result<Box<dyn Model>, String> {
        Ok(Box::new(Endless(self.0.clone())))
    }
}

/// The simulation of a host, a device of the model [`Endless`] and a flow of another device, and the number of calls of the model.
fn endless() -> (Simulation, Arc<Mutex<u32>>) {
    let calls = Arc::new(Mutex::new(0));
    let description = Description {
        bars: vec![Bar::new(0, 4096)],
        ..Description::default()
    };
    let maker = Box::new(EndlessMaker(calls.clone()));
    let model = ForeignModel::new("endless", description, maker).unwrap();
    let models = Models::new(vec![model]).unwrap();
    let text = "[hosts.h0]\nmemory = \"64 MiB\"\n[switches.s]\nupstream = \"h0\"\n\
         [devices.d]\nupstream = \"s\"\nmodel = \"endless\"\n[devices.a]\nupstream = \"s\"\n\
         [[flows]]\nfrom = \"a\"\nto = \"h0\"\nsize = \"16 MiB\"\n";
    let simulation = simulation_with(text, None, &models);
    (simulation, calls)
}

fn store(simulation: &mut Simulation, what: u8) {
    let register = device(simulation).region().unwrap().base;
    simulation
        .write("h0", register, vec![what, 0, 0, 0])
        .unwrap();
}

#[test]
fn the_service_of_errors_of_a_link_keeps_no_model_from_outside_awake() {
    let (models, _) = script(&[]);
    let text = "[links]\nbit_error_rate = 1e-6\n[hosts.h]\nerror_reporting = true\n[devices.d]\nmodel = \"script\"\nupstream = \"h\"\n";
    let mut simulation = simulation_with(text, None, &models);
    assert!(simulation.run(&mut |_| true));
    assert!(simulation.now().as_ns() < 5e6, "{:?}", simulation.now());
}

#[test]
fn the_call_over_the_limit_is_not_made() {
    let (mut simulation, calls) = endless();
    store(&mut simulation, 1);
    assert!(simulation.run(&mut |_| true));
    let failure = simulation.failed_model().unwrap();
    assert!(
        failure.why.contains("called 100000 times"),
        "{}",
        failure.why
    );
    assert_eq!(*calls.lock().unwrap(), 100_000);
}

#[test]
fn a_run_ends_at_the_time_at_which_a_model_fails() {
    type Way = fn(&mut Simulation);
    let ways: [Way; 4] = [
        |simulation| assert!(simulation.run(&mut |_| true)),
        |simulation| {
            let late = simulation.now() + Span::from_us(10_000);
            simulation.run_until(late, &mut || true);
        },
        |simulation| {
            let memory = simulation.plan().nodes[0].region().unwrap().base;
            let read = simulation.read_back("a", memory, 1 << 15, &mut || true);
            assert!(read.is_err());
        },
        |simulation| {
            let function = device(simulation).id;
            let many = 0..1000;
            let answers = many.map(|_| simulation.config_read("h0", function, 0, 4, &mut || true));
            assert!(answers.last().is_some());
        },
    ];
    for (number, way) in ways.into_iter().enumerate() {
        let (mut simulation, _) = endless();
        store(&mut simulation, FAIL);
        way(&mut simulation);
        let failure = simulation.failed_model().unwrap();
        assert_eq!(failure.why, "asked to");
        assert_eq!(simulation.now(), failure.time, "way {number}");
    }
}
