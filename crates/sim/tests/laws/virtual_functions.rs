//! Virtual functions in a running fabric: who answers where, under whose control.

use protocol::register::{
    AER, NUM_VFS, SRIOV_CONTROL, SYSTEM_PAGE_SIZE, VF_ENABLE, VF_MEMORY_SPACE,
};
use protocol::{FunctionId, UncorrectableError};
use sim::AccessError;
use transaction::FunctionPlace;

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
    // Memory Space Enable of the physical function is not theirs.
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
            // A virtual function has no vendor ID, but a class.
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
    // Beyond the BAR of the second one, within its page.
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
