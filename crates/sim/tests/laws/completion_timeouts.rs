//! Completion timeouts as Device Control 2 shows and selects them (PCIe Base 2.8, 7.5.3.15, 7.5.3.16).

use protocol::FunctionId;
use protocol::register::{DEVICE_CAPABILITIES_2, DEVICE_CONTROL_2};
use sim::Simulation;
use transaction::FunctionPlace;

use crate::fixture::*;

/// A device with the keys `device`, below a host with the keys `host` whose memory has the read latency `latency`.
fn machine(latency: &str, host: &str, device: &str) -> Simulation {
    simulation(&format!(
        "[hosts.h0]\nmemory_read_latency = \"{latency}\"\n{host}\n[devices.a]\nupstream = \"h0\"\n{device}\n"
    ))
}

/// Completion Timeout Value and Completion Timeout Disable of a function.
fn shown(simulation: &Simulation, node: &str, place: FunctionPlace) -> u32 {
    let functions = simulation.functions(node).expect("a node");
    functions.space(place).read(DEVICE_CONTROL_2) & 0x1f
}

fn select(simulation: &mut Simulation, function: FunctionId, value: u32) {
    let control = (u64::from(DEVICE_CONTROL_2) * 4, 1);
    let written = simulation.config_write("h0", function, control, value, &mut || true);
    written.expect("the function answers");
}

fn reads(simulation: &mut Simulation) -> bool {
    let read = simulation.read_back("a", 0x1000, 4, &mut || true);
    read.is_ok()
}

#[test]
fn the_time_of_a_scenario_shows_in_device_control_2_of_every_model() {
    let models = [
        "dma",
        "block-dma",
        "sg-dma",
        "nvme",
        "accelerator",
        "fpga-card",
        "reflector",
    ];
    for model in models {
        for (time, value) in [
            ("50 us", 0b0001),
            ("500 us", 0),
            ("5 ms", 0b0010),
            ("10 ms", 0),
            ("20 ms", 0b0101),
            ("60 ms", 0b0110),
            ("100 ms", 0b0110),
            ("500 ms", 0b1001),
            ("64 s", 0b1110),
        ] {
            let keys = format!("completion_timeout = \"{time}\"");
            let device = format!("model = \"{model}\"\n{keys}");
            let coherent = if model == "accelerator" {
                "coherent = true"
            } else {
                ""
            };
            let simulation = machine("100 ns", &format!("{keys}\n{coherent}"), &device);
            let root = FunctionPlace::Port(0);
            assert_eq!(
                shown(&simulation, "a", FunctionPlace::Own),
                value,
                "{model} {time}"
            );
            assert_eq!(shown(&simulation, "h0", root), value, "{time}");
            let functions = simulation.functions("a").expect("a node");
            let offered = functions
                .space(FunctionPlace::Own)
                .read(DEVICE_CAPABILITIES_2);
            assert_eq!(offered & 0x1f, 0x1f);
        }
    }
}

/// The memory answers after 300 us, and the default timeout of the device is 10 ms.
#[test]
fn software_selects_the_completion_timeout_of_a_device() {
    let mut simulation = machine("300 us", "", "");
    let a = simulation.plan().nodes[1].id;
    assert!(reads(&mut simulation), "10 ms");
    for (value, is_answered) in [(0b0001, false), (0b0010, true), (0b0001, false), (0, true)] {
        select(&mut simulation, a, value);
        assert_eq!(shown(&simulation, "a", FunctionPlace::Own), value);
        assert_eq!(reads(&mut simulation), is_answered, "{value:#b}");
    }
}

#[test]
fn a_time_between_two_ranges_is_used_as_it_is_written() {
    for (latency, is_answered) in [("59 ms", true), ("61 ms", false)] {
        let keys = "completion_timeout = \"60 ms\"\ntag_quarantine = \"0 ns\"";
        let mut simulation = machine(latency, "", keys);
        assert_eq!(reads(&mut simulation), is_answered, "{latency}");
    }
}

#[test]
fn a_device_with_completion_timeout_disabled_waits_for_its_answer() {
    let mut simulation = machine("300 us", "", "completion_timeout = \"50 us\"");
    let a = simulation.plan().nodes[1].id;
    assert!(!reads(&mut simulation));
    select(&mut simulation, a, 0x10 | 0b0001);
    for _ in 0..3 {
        assert!(reads(&mut simulation));
    }
    select(&mut simulation, a, 0b0001);
    assert!(!reads(&mut simulation));
}

/// A configuration request and its completion take 120 us on the wires.
#[test]
fn software_selects_the_completion_timeout_of_a_root_port() {
    let mut simulation =
        simulation("[links]\ndelay = \"60 us\"\n[hosts.h0]\n[devices.a]\nupstream = \"h0\"\n");
    let a = simulation.plan().nodes[1].id;
    let functions = simulation.functions("h0").expect("the host");
    let port = functions.id_of(FunctionPlace::Port(0));
    let answers = |simulation: &mut Simulation| {
        let read = simulation.config_read("h0", a, 0, 4, &mut || true);
        read.expect("a host") != u32::MAX
    };
    for (value, is_answered) in [(0, true), (0b0001, false), (0b0010, true)] {
        select(&mut simulation, port, value);
        assert_eq!(answers(&mut simulation), is_answered, "{value:#b}");
    }
}
