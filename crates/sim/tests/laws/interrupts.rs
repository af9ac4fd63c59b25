//! Interrupts by MSI-X over a fabric: tables that hosts write, masks, pending bits, and drivers that receive their vectors.

use host::queue_pair::ENTRIES;
use std::collections::{BTreeMap, BTreeSet};

use device::VectorCounts;
use device::nic::descriptor::Body;
use device::nic::registers::{offset as nic_offset, register};
use device::sg_dma::registers::{Descriptor, Unit, offset};
use kernel::Span;
use proptest::collection::vec;
use proptest::prelude::*;
use protocol::FunctionId;
use protocol::register::{
    BUS_MASTER, COMMAND, MEMORY_SPACE, MSIX, MSIX_ENABLE, MSIX_FUNCTION_MASK,
};
use sim::{Afu, AfuId, Failure, Shell, Simulation};
use transaction::FunctionPlace;

use crate::cases::cases;
use crate::fixture::*;
use crate::fpga_card::{MEMORY, Machine, machine_below};
use crate::nic;

/// A scenario with a host, and an engine with three vectors below a switch.
fn machine(host: &str, engine: &str, flows: &str) -> String {
    format!(
        r#"{HOST}
{host}
[switches.s]
upstream = "h0"
[devices.e]
model = "sg-dma"
upstream = "s"
bar = "1 MiB"
{engine}
{flows}"#
    )
}

/// The engine of a scenario, which the test controls by its registers.
struct Bench {
    simulation: Simulation,
    registers: u64,
    table: u64,
    pending: u64,
    id: FunctionId,
}

impl Bench {
    fn new(engine: &str) -> Self {
        let simulation = simulation(&machine("", engine, ""));
        let node = simulation.plan().nodes.iter().find(|node| node.name == "e");
        let node = node.expect("the engine is there");
        let space = node.functions.space(FunctionPlace::Own);
        let place = space.msix_table().expect("the engine has MSI-X");
        let bar = |number: u8| {
            node.bars[usize::from(number)]
                .expect("the BAR is there")
                .base
        };
        Bench {
            registers: bar(2),
            table: bar(place.bar) + u64::from(place.table),
            pending: bar(place.bar) + u64::from(place.pending),
            id: node.id,
            simulation,
        }
    }

    fn write(&mut self, address: u64, bytes: &[u8]) {
        let done = self.simulation.write("h0", address, bytes.to_vec());
        done.expect("the host can write");
        self.pass();
    }

    fn read(&mut self, address: u64, len: u64) -> u64 {
        let read = self.simulation.read_back("h0", address, len, &mut || true);
        let mut bytes = read.expect("the host can read");
        bytes.resize(8, 0);
        u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
    }

    fn pass(&mut self) {
        let until = self.simulation.now() + Span::from_us(20);
        self.simulation.run_until(until, &mut || true);
    }

    fn mask(&mut self, vector: u64, on: bool) {
        self.write(self.table + 16 * vector + 12, &u32::from(on).to_le_bytes());
    }

    fn set(&mut self, vector: u64, address: u64, data: u32) {
        self.write(self.table + 16 * vector, &address.to_le_bytes());
        self.write(self.table + 16 * vector + 8, &u64::from(data).to_le_bytes());
    }

    fn control(&mut self, bits: u32) {
        let place = (u64::from(MSIX) * 4, 4);
        let id = self.id;
        self.simulation
            .config_write("h0", id, place, bits, &mut || true)
            .expect("the host configures");
    }

    /// Starts a transfer of 64 bytes by a unit. The transfer ends with an interrupt.
    fn work(&mut self, unit: Unit) {
        let list = Descriptor {
            address: 0x10_0000,
            len: 64,
        };
        self.write(self.registers + unit.list(), &list.emit());
        let block = self.registers + unit.base();
        self.write(block + offset::LENGTH, &1_u64.to_le_bytes());
        self.write(block + offset::START, &[0; 4]);
    }

    /// Takes the interrupts that have arrived, and returns the message and count of each.
    fn take(&mut self) -> Vec<(u32, u32)> {
        self.simulation.take_interrupts("h0").expect("a host")
    }

    fn counts(&self) -> Vec<VectorCounts> {
        self.simulation.interrupt_counts("e").expect("a device")[0].clone()
    }
}

const VECTORS: &str = "msix_vectors = 3";

#[test]
fn each_unit_signals_the_vector_that_its_driver_has_set_up() {
    let flows = "[[flows]]\nid = \"w\"\nfrom = \"e\"\nto = \"h0\"\nsize = \"64 KiB\"\n[[flows]]\nid = \"r\"\nfrom = \"e\"\nto = \"h0\"\nsize = \"64 KiB\"\ndirection = \"read\"\n";
    for host in ["", "interrupt_masking = true"] {
        let mut simulation = simulation(&machine(host, VECTORS, flows));
        assert!(simulation.run(&mut |_| true));
        simulation.result().all_intact();
        let sent: Vec<u64> = simulation.interrupt_counts("e").expect("a device")[0]
            .iter()
            .map(|one| one.sent)
            .collect();
        assert_eq!(sent, [1, 1, 0]);
    }
}

#[test]
fn an_interrupt_under_a_mask_of_its_vector_is_pending_and_comes_once() {
    let mut bench = Bench::new(VECTORS);
    bench.pass();
    bench.mask(0, true);
    bench.work(Unit::Write);
    bench.work(Unit::Write);
    bench.work(Unit::Read);
    let first = bench
        .simulation
        .interrupt_message("e", 0)
        .expect("a device");
    let first = first.expect("MSI-X is enabled");
    assert_eq!(bench.take(), [(first + 1, 1)]);
    assert_eq!(bench.read(bench.pending, 8), 0b01);
    bench.mask(0, false);
    assert_eq!(bench.take(), [(first, 1)]);
    assert_eq!(bench.read(bench.pending, 4), 0);
    bench.work(Unit::Write);
    assert_eq!(bench.take(), [(first, 1)]);
    let counts = bench.counts();
    assert_eq!((counts[0].sent, counts[0].held), (2, 2));
    assert_eq!((counts[1].sent, counts[1].held), (1, 0));
}

#[test]
fn function_mask_and_enable_are_obeyed_at_once() {
    let mut bench = Bench::new(VECTORS);
    bench.pass();
    let first = bench
        .simulation
        .interrupt_message("e", 0)
        .expect("a device");
    let first = first.expect("MSI-X is enabled");
    bench.control(MSIX_ENABLE | MSIX_FUNCTION_MASK);
    bench.work(Unit::Write);
    bench.work(Unit::Read);
    assert_eq!(bench.take(), []);
    assert_eq!(bench.read(bench.pending, 8), 0b11);
    bench.control(0);
    bench.work(Unit::Peer);
    assert_eq!(bench.simulation.interrupt_message("e", 0), Ok(None));
    bench.pass();
    assert_eq!(bench.take(), []);
    bench.control(MSIX_ENABLE);
    bench.pass();
    assert_eq!(bench.take(), [(first, 1), (first + 1, 1)]);
    assert_eq!(bench.counts()[2].dropped, 1);
}

#[test]
fn a_function_that_is_no_bus_master_holds_its_interrupts_back() {
    let mut bench = Bench::new(VECTORS);
    bench.pass();
    bench.mask(0, true);
    bench.work(Unit::Write);
    let (id, place) = (bench.id, (u64::from(COMMAND) * 4, 2));
    let mut command = |bits: u32| {
        let done = bench
            .simulation
            .config_write("h0", id, place, bits, &mut || true);
        done.expect("the host configures");
    };
    command(MEMORY_SPACE);
    bench.mask(0, false);
    assert_eq!(bench.take(), []);
    assert_eq!(bench.read(bench.pending, 8), 1);
    let done =
        bench
            .simulation
            .config_write("h0", id, place, MEMORY_SPACE | BUS_MASTER, &mut || true);
    done.expect("the host configures");
    bench.pass();
    assert_eq!(bench.take().len(), 1);
}

#[test]
fn software_finds_in_the_table_what_it_has_written() {
    for place in [
        "msix_vectors = 200",
        "msix_vectors = 2048\nmsix_bar = 4",
        "msix_vectors = 3\nmsix_table = \"64 KiB\"\nmsix_pending = \"128 KiB\"",
    ] {
        let mut bench = Bench::new(place);
        bench.pass();
        let last = bench.counts().len() as u64 - 1;
        assert_eq!(
            bench.read(bench.table + 16 * last + 12, 4),
            u64::from(last > 2)
        );
        bench.set(last, 0x1234_5678_9abc_def3, 0x55aa_1234);
        assert_eq!(
            bench.read(bench.table + 16 * last, 8),
            0x1234_5678_9abc_def0
        );
        assert_eq!(bench.read(bench.table + 16 * last + 8, 8), 0x55aa_1234);
        bench.write(bench.table + 16 * last + 9, &[0xee]);
        assert_eq!(bench.read(bench.table + 16 * last + 8, 4), 0x55aa_ee34);
        bench.write(bench.pending, &[0xff; 8]);
        assert_eq!(bench.read(bench.pending, 8), 0);
    }
}

#[test]
fn each_virtual_function_has_a_table_of_its_own() {
    for place in ["virtual_bar = \"8 KiB\"", "msix_bar = 4"] {
        let text = format!(
            "{HOST}\n[devices.d]\nupstream = \"h0\"\nvirtual_functions = 3\nmsix_vectors = 4\n{place}\n"
        );
        let mut simulation = simulation(&text);
        let node = &simulation.plan().nodes[1];
        let own = node.functions.space(FunctionPlace::Own);
        let tables: Vec<u64> = (0..3)
            .map(|number| {
                let space = node.functions.space(FunctionPlace::Virtual(number));
                let place = space.msix_table().expect("it has MSI-X");
                let bar = own.virtual_bar(place.bar).expect("it has the BAR");
                bar.base + bar.share * number as u64 + u64::from(place.table)
            })
            .collect();
        for (number, table) in tables.iter().enumerate() {
            let address = (0xfee0_0000 + 16 * number as u64).to_le_bytes();
            simulation
                .write("h0", *table, address.to_vec())
                .expect("a host");
        }
        for (number, table) in tables.iter().enumerate() {
            let read = simulation.read_back("h0", *table, 16, &mut || true);
            let read = read.expect("the host can read");
            assert_eq!(read[0], 16 * number as u8);
            assert_eq!(read[12], 1, "{number}");
        }
        assert!(simulation.result().errors.is_empty());
    }
}

/// A unit that sends the interrupt that software requests.
#[derive(Debug)]
struct Bell;

impl Afu for Bell {
    fn id(&self) -> AfuId {
        AfuId(9)
    }
    fn reset(&mut self) {}
    fn load(&mut self, _: u64, _: u32, _: &mut Shell<'_>) -> u64 {
        0
    }
    fn store(&mut self, _: u64, bytes: &[u8], shell: &mut Shell<'_>) {
        let _ = shell.interrupt(bytes[0]);
    }
    fn read_done(&mut self, _: u32, _: Result<&[u8], Failure>, _: &mut Shell<'_>) {}
    fn write_done(&mut self, _: u32, _: &mut Shell<'_>) {}
    fn wake(&mut self, _: &mut Shell<'_>) {}
}

/// A card with a [`Bell`], below a link with the further keys `link`, and the address of its MSI-X table.
fn bell(link: &str) -> (Machine, u64) {
    let upstream = format!("{{ to = \"h0\"{link} }}");
    let mut machine = machine_below(&upstream, 256, "msix_vectors = 6\nmsix_bar = 4");
    let loaded = machine.simulation.load_afu("card", 0, Box::new(Bell));
    assert_eq!(loaded, Ok(()));
    machine.pass(Span::from_us(100));
    let table = machine.bar(4);
    (machine, table)
}

#[test]
fn a_message_goes_to_any_64_bit_address() {
    let (mut machine, table) = bell("");
    let address = MEMORY + (33 << 30) + 0x40;
    let entry = [address, 0xcafe_f00d].map(u64::to_le_bytes).concat();
    machine
        .simulation
        .write("h0", table + 16, entry)
        .expect("a host");
    machine.set(0x80, 1);
    machine.pass(Span::from_us(20));
    assert_eq!(
        machine.memory((33 << 30) + 0x40, 4),
        0xcafe_f00d_u32.to_le_bytes()
    );
    assert_eq!(machine.interrupts(), 0);
    machine.rests();
}

/// An action of a host at a card. The order of the actions is random.
#[derive(Clone, Copy, Debug)]
enum Step {
    Raise(u8),
    Mask(u8, bool),
    FunctionMask(bool),
    /// Reads from the card, so that all earlier writes have reached the card and all interrupts that it sent before have arrived.
    Flush,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (0..4_u8).prop_map(Step::Raise),
        4 => (0..4_u8, any::<bool>()).prop_map(|(vector, on)| Step::Mask(vector, on)),
        1 => any::<bool>().prop_map(Step::FunctionMask),
        3 => Just(Step::Flush),
    ]
}

impl Step {
    fn take(self, machine: &mut Machine, table: u64) {
        let simulation = &mut machine.simulation;
        match self {
            Step::Raise(vector) => machine.set(0x80, vector.into()),
            Step::Mask(vector, on) => {
                let at = table + 16 * u64::from(vector) + 12;
                let mask = u32::from(on).to_le_bytes();
                simulation.write("h0", at, mask.to_vec()).expect("a host");
            }
            Step::FunctionMask(on) => {
                let id = card(simulation);
                let bits = MSIX_ENABLE | if on { MSIX_FUNCTION_MASK } else { 0 };
                let place = (u64::from(MSIX) * 4, 4);
                simulation
                    .config_write("h0", id, place, bits, &mut || true)
                    .expect("a host");
            }
            Step::Flush => {
                machine.load(4, 12, 4);
                // An interrupt that arrives before the completion still needs the latency of the root complex until it reaches the processor.
                machine.pass(Span::from_ns(150));
            }
        }
    }
}

fn card(simulation: &Simulation) -> FunctionId {
    let nodes = &simulation.plan().nodes;
    nodes
        .iter()
        .find(|node| node.name == "card")
        .expect("it is there")
        .id
}

/// The number of interrupts of the bell that arrived since the last call, by vector.
fn come(machine: &mut Machine, first: u32) -> BTreeMap<u8, u32> {
    let taken = machine.simulation.take_interrupts("h0").expect("a host");
    taken
        .into_iter()
        .map(|(message, count)| ((message - first) as u8, count))
        .collect()
}

fn first(machine: &Machine) -> u32 {
    let first = machine.simulation.interrupt_message("card", 0);
    first.expect("a card").expect("MSI-X is enabled")
}

proptest! {
    #![proptest_config(cases(48))]
    /// With a pause after each step, the number of interrupts can be predicted.
    #[test]
    fn a_host_gets_each_interrupt_that_is_not_masked_and_one_for_all_that_were(
        steps in vec(step(), 1..40),
        errors in prop::sample::select(vec!["", ", bit_error_rate = 1e-5", ", bit_error_rate = 1e-4"]),
    ) {
        let (mut machine, table) = bell(errors);
        let first = first(&machine);
        let (mut masked, mut owed) = (BTreeSet::new(), BTreeSet::new());
        let mut is_function_masked = false;
        come(&mut machine, first);
        for step in steps {
            let mut expected = BTreeMap::new();
            step.take(&mut machine, table);
            match step {
                Step::Raise(vector) if is_function_masked || masked.contains(&vector) => {
                    owed.insert(vector);
                }
                Step::Raise(vector) => {
                    expected.insert(vector, 1);
                }
                Step::Mask(vector, true) => {
                    masked.insert(vector);
                }
                Step::Mask(vector, false) => {
                    masked.remove(&vector);
                }
                Step::FunctionMask(on) => is_function_masked = on,
                Step::Flush => {}
            }
            if !is_function_masked {
                expected.extend(owed.difference(&masked).map(|vector| (*vector, 1)));
                owed.retain(|vector| masked.contains(vector));
            }
            machine.pass(Span::from_us(60));
            prop_assert_eq!(come(&mut machine, first), expected, "{:?}", step);
            let bits = owed.iter().fold(0, |bits, vector| bits | 1 << vector);
            prop_assert_eq!(machine.load(4, 2048, 8), bits);
        }
        machine.rests();
    }

    /// Without pauses, steps may overtake packets in flight, but no interrupt is lost or arrives twice.
    #[test]
    fn no_interrupt_is_lost_or_comes_twice_however_fast_masks_change(
        steps in vec(step(), 1..60),
        errors in prop::sample::select(vec!["", ", bit_error_rate = 1e-5", ", bit_error_rate = 1e-4"]),
    ) {
        let (mut machine, table) = bell(errors);
        let first = first(&machine);
        let mut raised: BTreeMap<u8, u32> = BTreeMap::new();
        let mut all: BTreeMap<u8, u32> = BTreeMap::new();
        let mut silent: BTreeSet<u8> = BTreeSet::new();
        let mut masked: BTreeSet<u8> = BTreeSet::new();
        come(&mut machine, first);
        for step in steps {
            step.take(&mut machine, table);
            match step {
                Step::Raise(vector) => *raised.entry(vector).or_default() += 1,
                Step::Mask(vector, true) => {
                    masked.insert(vector);
                }
                Step::Mask(vector, false) => {
                    masked.remove(&vector);
                    silent.remove(&vector);
                }
                _ => {}
            }
            for (vector, count) in come(&mut machine, first) {
                prop_assert!(!silent.contains(&vector), "{vector} was masked and read back");
                *all.entry(vector).or_default() += count;
            }
            if matches!(step, Step::Flush) {
                silent.clone_from(&masked);
            }
        }
        Step::FunctionMask(false).take(&mut machine, table);
        for vector in 0..4 {
            Step::Mask(vector, false).take(&mut machine, table);
        }
        machine.pass(Span::from_us(400));
        for (vector, count) in come(&mut machine, first) {
            *all.entry(vector).or_default() += count;
        }
        for (vector, count) in &all {
            prop_assert!(*count <= raised[vector], "{vector}");
        }
        prop_assert_eq!(all.keys().collect::<Vec<_>>(), raised.keys().collect::<Vec<_>>());
        let counts = machine.simulation.interrupt_counts("card").expect("a card");
        for (vector, one) in (0_u8..).zip(&counts[0]) {
            prop_assert_eq!(one.sent, u64::from(all.get(&vector).copied().unwrap_or(0)));
            let raised = u64::from(raised.get(&vector).copied().unwrap_or(0));
            prop_assert!(one.sent <= raised && raised <= one.sent + one.held);
        }
        prop_assert_eq!(machine.load(4, 2048, 8), 0);
        machine.rests();
    }

    /// If a link fails, interrupts may be lost, but no more interrupts arrive than were sent.
    #[test]
    fn a_link_that_fails_ends_interrupts_without_inventing_any(
        steps in vec(step(), 1..40),
        us in 101_u32..160,
    ) {
        let (mut machine, table) = bell(&format!(", fails_at = \"{us} us\""));
        let first = first(&machine);
        for step in steps {
            if let Step::Raise(_) | Step::Mask(..) = step {
                let simulation = &mut machine.simulation;
                let (at, bytes) = match step {
                    Step::Mask(vector, on) => (
                        table + 16 * u64::from(vector) + 12,
                        u32::from(on).to_le_bytes().to_vec(),
                    ),
                    Step::Raise(vector) => (
                        bar(simulation, 2) + crate::fpga_card::AFU + 0x80,
                        u64::from(vector).to_le_bytes().to_vec(),
                    ),
                    _ => continue,
                };
                simulation.write("h0", at, bytes).expect("a host");
                machine.pass(Span::from_us(2));
            }
        }
        machine.pass(Span::from_us(100));
        let come = come(&mut machine, first);
        let counts = machine.simulation.interrupt_counts("card").expect("a card");
        for (vector, count) in come {
            prop_assert!(u64::from(count) <= counts[0][usize::from(vector)].sent);
        }
    }
}

fn bar(simulation: &Simulation, number: usize) -> u64 {
    let nodes = &simulation.plan().nodes;
    let card = nodes.iter().find(|node| node.name == "card");
    card.expect("it is there").bars[number]
        .expect("the BAR is there")
        .base
}

/// The keys of controllers that have four vectors for each function.
const NICS: &str = "msix_vectors = 4\nmsix_bar = 4";

#[test]
fn a_function_of_a_controller_signals_what_arrives_by_the_vector_that_its_owner_chose() {
    let mut simulation = simulation(&nic::hosts(2, "", NICS));
    let from = simulation
        .open_pair("n0", (1, 0), 7, ENTRIES)
        .expect("it is there");
    let other = simulation
        .open_pair("n0", (1, 1), 7, ENTRIES)
        .expect("it is there");
    let to = simulation
        .open_pair("n1", (1, 2), 7, ENTRIES)
        .expect("it is there");
    let vector = simulation.vector("n1", 3, 1).expect("it is there");
    let entry = [0xfee0_0000, u64::from(vector.message)].map(u64::to_le_bytes);
    simulation
        .write("h1", vector.entry, entry.concat())
        .expect("a host");
    let interrupt = to.page + register(2, nic_offset::INTERRUPT);
    let wanted = (1_u64 | 3 << 16).to_le_bytes().to_vec();
    simulation.write("h1", interrupt, wanted).expect("a host");
    let pass = |simulation: &mut Simulation| {
        let until = simulation.now() + Span::from_us(50);
        simulation.run_until(until, &mut || true);
    };
    pass(&mut simulation);
    let nap = |label| nic::descriptor(&to, label, Body::NapImmediate(vec![5; 100]));
    nic::send(&mut simulation, "h0", from, vec![nap(1)]);
    pass(&mut simulation);
    let come = simulation.take_interrupts("h1").expect("a host");
    assert_eq!(come, [(vector.message, 1)]);
    // While the vector is masked, two more messages arrive. The owner then takes all events, so no interrupt is pending.
    let control = vector.entry + 12;
    simulation
        .write("h1", control, vec![1, 0, 0, 0])
        .expect("a host");
    pass(&mut simulation);
    nic::send(&mut simulation, "h0", other, vec![nap(2), nap(3)]);
    pass(&mut simulation);
    let pending = simulation.read_back("h1", vector.pending, 8, &mut || true);
    assert_eq!(pending, Ok((1_u64 << 3).to_le_bytes().to_vec()));
    let taken = to.page + register(2, nic_offset::ARRIVED + nic_offset::TAKEN);
    simulation
        .write("h1", taken, 3_u64.to_le_bytes().to_vec())
        .expect("a host");
    pass(&mut simulation);
    simulation.write("h1", control, vec![0; 4]).expect("a host");
    pass(&mut simulation);
    assert_eq!(simulation.take_interrupts("h1"), Ok(Vec::new()));
    let counts = simulation.interrupt_counts("n1").expect("a controller")[1][3];
    assert_eq!((counts.sent, counts.held, counts.withdrawn), (1, 2, 1));
    assert_eq!(
        simulation
            .faults("n1", 1)
            .expect("a controller")
            .iter()
            .sum::<u64>(),
        0
    );
}

#[test]
fn a_vector_beyond_the_table_is_a_fault_of_the_owner() {
    let mut simulation = simulation(&nic::hosts(2, "", NICS));
    let to = simulation
        .open_pair("n1", (1, 2), 7, ENTRIES)
        .expect("it is there");
    let interrupt = to.page + register(2, nic_offset::INTERRUPT);
    for (vector, faults) in [(3_u64, 0), (4, 1)] {
        let wanted = (1 | vector << 16).to_le_bytes().to_vec();
        simulation.write("h1", interrupt, wanted).expect("a host");
        let until = simulation.now() + Span::from_us(20);
        simulation.run_until(until, &mut || true);
        let all = simulation.faults("n1", 1).expect("a controller");
        assert_eq!(all.iter().sum::<u64>(), faults);
    }
    let beyond = simulation.vector("n1", 4, 1).expect_err("there are four");
    assert_eq!(
        beyond.to_string(),
        "vector 4 of n1: msix_vectors is 4; use 0 to 3, or write a larger one"
    );
}
