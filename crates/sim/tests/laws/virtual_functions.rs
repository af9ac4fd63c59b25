//! Virtual functions in a running fabric: the functions that answer, and the registers that control them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use kernel::Span;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use protocol::register::{
    AER, BUS_MASTER, COMMAND, NUM_VFS, SRIOV_CONTROL, SYSTEM_PAGE_SIZE, VF_ENABLE, VF_MEMORY_SPACE,
};
use protocol::{FunctionId, UncorrectableError};
use sim::AccessError;
use transaction::FunctionPlace;

use crate::cases::cases;
use crate::fixture::*;

const PAIR: &str = "[hosts.h0]\n[switches.s]\nupstream = \"h0\"\n[devices.a]\nupstream = \"s\"\n[devices.b]\nupstream = \"s\"\nvirtual_functions = 3\nvirtual_bar = \"8 KiB\"\n";

const B: FunctionId = FunctionId::new(4, 0, 0);
const SHARE: u64 = 8 << 10;

fn virtual_base(simulation: &sim::Simulation) -> u64 {
    let bars = simulation.plan().nodes[3].virtual_bars;
    let bars = bars.expect("b has virtual functions");
    assert_eq!(bars.size, 3 * SHARE);
    bars.base
}

fn set(simulation: &mut sim::Simulation, register: u16, value: u32) {
    let place = (u64::from(register) * 4, 4);
    simulation
        .config_write("h0", B, place, value, &mut || true)
        .expect("a host");
}

fn read(simulation: &mut sim::Simulation, address: u64) -> Result<Vec<u8>, AccessError> {
    simulation.read_back("h0", address, 4, &mut || true)
}

#[test]
fn each_virtual_function_has_memory_of_its_own_that_hosts_and_peers_reach() {
    for model in ["dma", "reflector", "sg-dma"] {
        let mut simulation = simulation(&format!("{PAIR}model = \"{model}\"\n"));
        let base = virtual_base(&simulation);
        for number in 0..3 {
            let address = base + SHARE * u64::from(number) + 4096;
            let who = if number == 1 { "a" } else { "h0" };
            simulation
                .write(who, address, vec![number + 1; 300])
                .expect("both make requests");
        }
        while simulation.step() {}
        for number in 0..3 {
            let address = base + SHARE * u64::from(number) + 4096;
            for who in ["h0", "a"] {
                let read = simulation.read_back(who, address, 300, &mut || true);
                assert_eq!(read, Ok(vec![number + 1; 300]), "{model}");
            }
            assert_eq!(read(&mut simulation, address - 4096), Ok(vec![0; 4]));
        }
        assert!(simulation.result().errors.is_empty());
    }
}

#[test]
fn virtual_functions_answer_while_the_physical_function_lets_them() {
    let mut simulation = simulation(PAIR);
    let base = virtual_base(&simulation);
    assert!(read(&mut simulation, base).is_ok());
    // Memory Space Enable of the physical function has no effect on virtual functions.
    set(&mut simulation, 1, 0);
    assert!(read(&mut simulation, base).is_ok());
    let refused = Err(AccessError::UnsupportedRequest(base));
    for control in [VF_ENABLE, VF_MEMORY_SPACE, 0] {
        set(&mut simulation, SRIOV_CONTROL, control);
        assert_eq!(read(&mut simulation, base), refused);
    }
    set(&mut simulation, NUM_VFS, 1);
    set(&mut simulation, SRIOV_CONTROL, VF_ENABLE | VF_MEMORY_SPACE);
    assert!(read(&mut simulation, base).is_ok());
    let second = base + SHARE;
    let refused = Err(AccessError::UnsupportedRequest(second));
    assert_eq!(read(&mut simulation, second), refused);
}

#[test]
fn a_virtual_function_that_is_not_enabled_is_not_there() {
    let mut simulation = simulation(PAIR);
    let there = |simulation: &mut sim::Simulation| -> Vec<u8> {
        let functions = 1..8;
        let is_there = |function: &u8| {
            let id = FunctionId::new(4, 0, *function);
            // A virtual function has no vendor ID, so the class code is read.
            let class = simulation.config_read("h0", id, 8, 4, &mut || true);
            class != Ok(u32::MAX)
        };
        functions.filter(is_there).collect()
    };
    assert_eq!(there(&mut simulation), [1, 2, 3]);
    set(&mut simulation, SRIOV_CONTROL, 0);
    assert!(there(&mut simulation).is_empty());
    set(&mut simulation, NUM_VFS, 2);
    set(&mut simulation, SRIOV_CONTROL, VF_ENABLE);
    assert_eq!(there(&mut simulation), [1, 2]);
}

#[test]
fn a_virtual_function_records_what_it_refuses() {
    let mut simulation = simulation(PAIR);
    let base = virtual_base(&simulation);
    set(&mut simulation, SYSTEM_PAGE_SIZE, 1 << 4);
    let base = base.next_multiple_of(64 << 10);
    set(&mut simulation, protocol::register::VF_BARS, base as u32);
    // The address is beyond the BAR of the second virtual function, but within its page.
    let beyond = base + (64 << 10) + SHARE;
    assert!(read(&mut simulation, beyond - 4).is_ok());
    simulation.write("h0", beyond, vec![1; 4]).expect("a host");
    while simulation.step() {}
    let functions = simulation.functions("b").expect("a node");
    let recorded = |place| functions.space(place).read(AER + 1);
    let unsupported = 1 << UncorrectableError::UnsupportedRequest as u32;
    assert_eq!(recorded(FunctionPlace::Virtual(1)), unsupported);
    let others = [
        FunctionPlace::Own,
        FunctionPlace::Virtual(0),
        FunctionPlace::Virtual(2),
    ];
    assert_eq!(others.map(recorded), [0; 3]);
}

#[test]
fn virtual_functions_that_are_ended_forget_their_work_and_others_take_their_places() {
    let flow = |function: u32, direction: &str| {
        format!(
            "[[flows]]\nid = \"{direction}{function}\"\nfrom = \"b\"\nto = \"h0\"\nfunction = {function}\ndirection = \"{direction}\"\nsize = \"256 KiB\"\n"
        )
    };
    let flows = [flow(0, "read"), flow(1, "read"), flow(2, "write")].concat();
    let mut simulation = simulation(&format!("{PAIR}{flows}"));
    let begun = simulation.now() + Span::from_us(5);
    simulation.run_until(begun, &mut || true);
    set(&mut simulation, SRIOV_CONTROL, 0);
    set(&mut simulation, SRIOV_CONTROL, VF_ENABLE | VF_MEMORY_SPACE);
    for function in 1..=2 {
        let id = FunctionId::new(4, 0, function);
        let place = (u64::from(COMMAND) * 4, 2);
        let written = simulation.config_write("h0", id, place, BUS_MASTER, &mut || true);
        written.expect("the function is there again");
    }
    while simulation.step() {}
    let result = simulation.result();
    assert!(result.flow("read0").intact);
    for id in ["read1", "write2"] {
        let flow = result.flow(id);
        assert!(
            !flow.completed && flow.bytes > 0 && flow.bytes < 256 << 10,
            "{flow:?}"
        );
    }
    // Completions for requests of functions that no longer exist are unexpected.
    assert!(result.errors("b", "unexpected completion") > 0);
    assert_eq!(simulation.packets_in_use(), 0);
}

/// A host and a chain of switches. At the end of the chain there are a device with virtual functions and a device without.
#[derive(Clone, Debug)]
struct Chain {
    /// Whether the host, and then each switch, supports ARI Forwarding.
    ari: Vec<bool>,
    total: u8,
    /// The functions that send, and whether they read; the physical function is 0.
    senders: Vec<(Index, bool)>,
    targets: Vec<Index>,
}

/// The name of the node with this number in a chain.
fn above(number: usize) -> String {
    match number {
        0 => "h".to_owned(),
        number => format!("s{number}"),
    }
}

impl Chain {
    /// The functions that send, and whether they read.
    fn senders(&self) -> BTreeMap<usize, bool> {
        let functions = usize::from(self.total) + 1;
        let senders = self.senders.iter();
        senders
            .map(|(sender, reads)| (sender.index(functions), *reads))
            .collect()
    }

    fn targets(&self) -> BTreeSet<usize> {
        let functions = usize::from(self.total) + 1;
        self.targets
            .iter()
            .map(|target| target.index(functions))
            .collect()
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (number, ari) in self.ari.iter().enumerate() {
            match number {
                0 => text += "[hosts.h]\n",
                number => {
                    let above = above(number - 1);
                    write!(text, "[switches.s{number}]\nupstream = \"{above}\"\n")
                        .expect("a text takes all");
                }
            }
            write!(
                text,
                "ari_forwarding = {ari}\nacs_source_validation = true\n"
            )
            .expect("a text takes all");
        }
        let above = above(self.ari.len() - 1);
        let Chain { total, .. } = self;
        write!(
            text,
            "[devices.b]\nupstream = \"{above}\"\nvirtual_functions = {total}\nmsix_vectors = 2\nmsix_bar = 4\n[devices.c]\nupstream = \"{above}\"\n"
        )
        .expect("a text takes all");
        for (function, reads) in self.senders() {
            let direction = if reads { "read" } else { "write" };
            write!(text, "[[flows]]\nid = \"{function}\"\nfrom = \"b\"\nfunction = {function}\nto = \"h\"\ndirection = \"{direction}\"\nsize = \"1 KiB\"\n").expect("a text takes all");
        }
        text
    }

    /// The ID of a function of the device, which is on bus `bus`.
    fn id(&self, bus: u8, function: usize) -> FunctionId {
        let has_ari = self.ari.last() == Some(&true);
        let own = u16::from(bus) << 8;
        FunctionId(match function {
            0 => own,
            number if has_ari || self.total <= 7 => own + number as u16,
            number => own + 256 + number as u16 - 1,
        })
    }
}

fn chain() -> impl Strategy<Value = Chain> {
    let total = prop_oneof![1..=7_u8, 8..=40_u8, 200..=255_u8];
    let senders = vec(any::<(Index, bool)>(), 1..6);
    let targets = vec(any::<Index>(), 1..6);
    (vec(any::<bool>(), 1..4), total, senders, targets).prop_map(
        |(ari, total, senders, targets)| Chain {
            ari,
            total,
            senders,
            targets,
        },
    )
}

proptest! {
    #![proptest_config(cases(16))]
    #[test]
    fn each_function_asks_with_its_own_id_and_holds_its_own_memory(chain in chain()) {
        let text = chain.text();
        let (result, lines) = trace(&text);
        result.all_intact();
        let node = chain.ari.len();
        let mut simulation = simulation(&text);
        let bus = simulation.plan().nodes[node].id.bus();
        prop_assert_eq!(simulation.plan().nodes[node].name.as_str(), "b");
        let asks = lines.iter().filter(|line| ["MRd", "MWr"].iter().any(|tlp| line["tlp"] == *tlp));
        let asked: BTreeSet<(String, String)> = asks
            .map(|line| [&line["flow"], &line["requester"]].map(|value| value.as_str().expect("both are there").to_owned()))
            .map(|[flow, requester]| (flow, requester))
            .collect();
        let expected = chain.senders().into_keys();
        let expected = expected.map(|function| (function.to_string(), chain.id(bus, function).to_string()));
        prop_assert_eq!(asked, expected.collect());
        let base = |simulation: &sim::Simulation, function: usize| {
            let region = simulation.plan().nodes[node].registers(function as u8);
            region.expect("there is such a function").base
        };
        for (turn, function) in (1..).zip(chain.targets()) {
            let address = base(&simulation, function) + 256;
            let who = ["h", "c"][usize::from(turn % 2_u8)];
            simulation.write(who, address, vec![turn; 300]).expect("both make requests");
        }
        while simulation.step() {}
        for (turn, function) in (1..).zip(chain.targets()) {
            let address = base(&simulation, function) + 256;
            let own = simulation.read_back("h", address, 300, &mut || true);
            prop_assert_eq!(own, Ok(vec![turn; 300]));
            let id = chain.id(bus, function);
            let class = simulation.config_read("h", id, 8, 4, &mut || true);
            prop_assert_eq!(class, Ok(0x1200_0000));
        }
        let neighbours = chain.targets().into_iter().flat_map(|function| [function.wrapping_sub(1), function + 1]);
        let others: Vec<usize> = neighbours
            .filter(|one| *one <= usize::from(chain.total) && !chain.targets().contains(one))
            .collect();
        for function in others {
            let address = base(&simulation, function) + 256;
            let own = simulation.read_back("h", address, 300, &mut || true);
            prop_assert_eq!(own, Ok(vec![0; 300]), "function {}", function);
        }
        prop_assert!(simulation.result().errors.is_empty());
    }
}
