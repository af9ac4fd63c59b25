//! Links that enter Recovery: changes of rate and width, retraining by software, and retraining under load (PCIe Base 4.2.6.4, 7.5.3.7).

use kernel::{Span, Time};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use protocol::FunctionId;
use protocol::register::{
    BANDWIDTH_MANAGEMENT, LINK_CONTROL, LINK_CONTROL_2, LINK_SPEED, LINK_TRAINING, LINK_WIDTH,
    LINK_WIDTH_SHIFT,
};
use transaction::FunctionPlace;

use crate::cases::cases;
use crate::fixture::*;

/// A scenario with a host and a DMA engine below a switch. Both links have 16 GT/s and 16 lanes.
fn machine(incidents: &str, flows: &str) -> String {
    format!(
        "[links]\ngeneration = 4\nlanes = 16\n{HOST}[switches.s]\nupstream = \"h0\"\n[devices.d]\nupstream = \"s\"\n{incidents}{flows}"
    )
}

fn incident(at: &str, what: &str, keys: &str) -> String {
    format!("[[incidents]]\nat = \"{at}\"\nwhat = \"{what}\"\nnode = \"d\"\n{keys}\n")
}

fn flow(direction: &str) -> String {
    format!(
        "[[flows]]\nid = \"{direction}\"\nfrom = \"d\"\nto = \"h0\"\ndirection = \"{direction}\"\nsize = \"2 MiB\"\n"
    )
}

/// The rate, the width, Link Training and Link Bandwidth Management Status in the Link Status register of the function at `place`.
fn status(
    simulation: &sim::Simulation,
    node: &str,
    place: FunctionPlace,
) -> (u32, u32, bool, bool) {
    let functions = simulation.functions(node).expect("a node");
    let status = functions.space(place).read(LINK_CONTROL);
    (
        (status & LINK_SPEED) >> LINK_SPEED.trailing_zeros(),
        (status & LINK_WIDTH) >> LINK_WIDTH_SHIFT,
        status & LINK_TRAINING != 0,
        status & BANDWIDTH_MANAGEMENT != 0,
    )
}

const ABOVE: FunctionPlace = FunctionPlace::Port(0);
const BELOW: FunctionPlace = FunctionPlace::Own;

fn entry(what: &str) -> (String, String) {
    crate::fixture::entry("s to d", what)
}

#[test]
fn a_link_that_degrades_goes_on_with_fewer_lanes_and_loses_nothing() {
    let text = machine(
        &(incident("20 us", "degrade", "lanes = 4") + &incident("80 us", "restore", "")),
        &(flow("read") + &flow("write")),
    );
    let mut simulation = simulation(&text);
    // All links are up within the first microsecond. The times of incidents are counted from then.
    let [before, degraded, restored] = [19, 26, 86].map(|us| Time::ZERO + Span::from_us(us));
    simulation.run_until(before, &mut || true);
    assert_eq!(status(&simulation, "s", ABOVE), (4, 16, false, false));
    simulation.run_until(degraded, &mut || true);
    assert_eq!(status(&simulation, "s", ABOVE), (4, 4, false, true));
    assert_eq!(status(&simulation, "d", BELOW), (4, 4, false, false));
    assert_eq!(status(&simulation, "h0", ABOVE), (4, 16, false, false));
    simulation.run_until(restored, &mut || true);
    assert_eq!(status(&simulation, "s", ABOVE), (4, 16, false, true));
    assert_eq!(status(&simulation, "d", BELOW), (4, 16, false, false));
    assert!(simulation.run(&mut |_| true));
    let result = simulation.result().all_intact();
    assert!(result.errors.is_empty());
    assert_eq!(
        log(&simulation),
        [
            entry("link retrained, 16 GT/s x4"),
            entry("link retrained, 16 GT/s x16")
        ]
    );
}

#[test]
fn a_link_carries_as_much_as_its_rate_and_width_allow() {
    let whole = |keys: &str| {
        let text = machine(&incident("1 ns", "degrade", keys), &flow("write"));
        rate(run(&text).all_intact().flow("write"))
    };
    let fixed = |link: &str| {
        let text = machine("", &flow("write"));
        let text = text.replace(
            "upstream = \"s\"",
            &format!("upstream = {{ to = \"s\", {link} }}"),
        );
        rate(run(&text).all_intact().flow("write"))
    };
    close(whole("lanes = 4"), fixed("lanes = 4"), 2.0);
    close(whole("generation = 3"), fixed("generation = 3"), 2.0);
    close(
        whole("generation = 1\nlanes = 2"),
        fixed("generation = 1, lanes = 2"),
        2.0,
    );
}

#[test]
fn software_retrains_a_link_and_finds_it_in_link_status() {
    let text = machine("", &flow("write"));
    for port in [FunctionId::new(0, 1, 0), FunctionId::new(2, 0, 0)] {
        let mut simulation = simulation(&text);
        let name = if port.bus() == 0 { "h0" } else { "s" };
        let functions = simulation.functions(name).expect("a node");
        assert_eq!(functions.id_of(ABOVE), port);
        simulation.run_until(Time::ZERO + Span::from_us(10), &mut || true);
        let control = u64::from(LINK_CONTROL) * 4;
        let write = (control, 1);
        simulation
            .config_write("h0", port, write, 1 << 5, &mut || true)
            .expect("a host");
        let later = simulation.now() + Span::from_us(5);
        simulation.run_until(later, &mut || true);
        assert_eq!(status(&simulation, name, ABOVE), (4, 16, false, true));
        // Retrain Link reads as 0, and writing a one clears the status.
        let read = simulation.config_read("h0", port, control, 4, &mut || true);
        let read = read.expect("a host");
        assert_eq!(read >> 5 & 1, 0);
        simulation
            .config_write("h0", port, (control + 2, 2), 1 << 14, &mut || true)
            .expect("a host");
        assert_eq!(status(&simulation, name, ABOVE), (4, 16, false, false));
        assert!(simulation.run(&mut |_| true));
        simulation.result().all_intact();
        let log = log(&simulation);
        assert_eq!(log.len(), 1);
        assert_eq!(log[0].1, "link retrained, 16 GT/s x16");
    }
}

/// PCIe Base 7.5.3.7, 7.5.3.8: the port interrupts when the width of its link changes, and interrupts again only after software has cleared the
/// status.
#[test]
fn a_port_interrupts_for_the_bandwidth_of_its_link_where_that_is_enabled() {
    let what = "link bandwidth notification";
    for is_enabled in [false, true] {
        let text = machine(
            &(incident("20 us", "degrade", "lanes = 4") + &incident("80 us", "restore", "")),
            &flow("write"),
        );
        let keys = format!("[hosts.h0]\nbandwidth_notification = {is_enabled}\n");
        let text = text.replacen("[hosts.h0]\n", &keys, 1);
        let mut simulation = simulation(&text);
        assert!(simulation.run(&mut |_| true));
        let later = simulation.now() + Span::from_us(100);
        simulation.run_until(later, &mut || true);
        simulation.result().all_intact();
        let log = log(&simulation);
        let served = log.iter().filter(|(place, is)| place == "h0" && is == what);
        assert_eq!(served.count(), if is_enabled { 2 } else { 0 }, "{log:?}");
        assert_eq!(status(&simulation, "s", ABOVE).3, !is_enabled);
    }
}

#[test]
fn a_target_link_speed_holds_from_the_next_retraining_on() {
    let text = machine("", &flow("write"));
    let mut simulation = simulation(&text);
    simulation.run_until(Time::ZERO + Span::from_us(10), &mut || true);
    let port = FunctionId::new(2, 0, 0);
    let mut retrain = |target: u32, expected: u32| {
        let mut write = |register: u16, value: u32| {
            let register = (u64::from(register) * 4, 1);
            let written = simulation.config_write("h0", port, register, value, &mut || true);
            written.expect("a host");
        };
        write(LINK_CONTROL_2, target);
        write(LINK_CONTROL, 1 << 5);
        let later = simulation.now() + Span::from_us(100);
        simulation.run_until(later, &mut || true);
        let (speed, width, training, changed) = status(&simulation, "s", ABOVE);
        assert_eq!((speed, width), (expected, 16), "target {target}");
        assert!(!training && changed);
    };
    retrain(2, 2);
    retrain(3, 3);
    // If the Target Link Speed is not a rate of the port, the port selects the rate.
    retrain(7, 4);
    retrain(1, 1);
    retrain(0, 4);
    assert!(simulation.run(&mut |_| true));
    simulation.result().all_intact();
}

/// A switch begins to forward a packet before its last bit has arrived, at a time that it calculates from both rates. If the wire below
/// becomes faster before the packet leaves, the packet waits until it has arrived.
#[test]
fn a_packet_that_still_arrives_does_not_run_empty_on_a_wire_that_becomes_faster() {
    for lanes in [1, 2, 4] {
        for at in (0..40).map(|step| 20_000 + step * 37) {
            let incidents = incident("1 ns", "degrade", "lanes = 1")
                + &incident(&format!("{at} ns"), "restore", "");
            let above = format!("upstream = {{ to = \"h0\", generation = 1, lanes = {lanes} }}");
            let text = machine(&incidents, &flow("read"));
            let text = text.replace("upstream = \"h0\"", &above);
            run(&text.replace("2 MiB", "16 KiB")).all_intact();
        }
    }
}

#[test]
fn link_training_is_set_while_a_link_is_in_recovery() {
    let text = machine(&incident("20 us", "retrain", ""), &flow("write"))
        .replace("[devices.d]\n", "[devices.d]\nrecovery_time = \"50 us\"\n");
    let mut simulation = simulation(&text);
    simulation.run_until(Time::ZERO + Span::from_us(40), &mut || true);
    assert_eq!(status(&simulation, "s", ABOVE), (4, 16, true, false));
    assert_eq!(status(&simulation, "d", BELOW), (4, 16, false, false));
    assert!(simulation.run(&mut |_| true));
    assert_eq!(status(&simulation, "s", ABOVE), (4, 16, false, true));
    simulation.result().all_intact();
}

/// A random incident that sends a link into Recovery: the node below the link, the time, and the kind of the incident.
fn anything() -> impl Strategy<Value = String> {
    let what = prop_oneof![
        2 => select(vec![1, 2, 4]).prop_map(|lanes| ("degrade", format!("lanes = {lanes}"))),
        2 => (1_u8..4).prop_map(|number| ("degrade", format!("generation = {number}"))),
        1 => (1_u8..4, select(vec![1, 2, 4])).prop_map(|(number, lanes)| ("degrade", format!("generation = {number}\nlanes = {lanes}"))),
        3 => Just(("restore", String::new())),
        2 => Just(("retrain", String::new())),
        2 => (1_u8..=4).prop_map(|number| ("retrain", format!("generation = {number}"))),
    ];
    (select(vec!["s", "a", "b"]), 0_u32..30_000, what).prop_map(|(node, at, (what, keys))| {
        format!("[[incidents]]\nat = \"{at} ns\"\nwhat = \"{what}\"\nnode = \"{node}\"\n{keys}\n")
    })
}

proptest! {
    #![proptest_config(cases(24))]

    /// Recovery loses no packet, for all rates and widths before and after it, at all links and any number of times.
    #[test]
    fn whatever_retrains_nothing_is_lost(
        incidents in vec(anything(), 1..12),
        cut_through: bool,
        recovery in prop_oneof![Just(String::new()), (0_u32..20_000).prop_map(|ns| format!("recovery_time = \"{ns} ns\"\n"))],
        errors in prop_oneof![2 => Just("0.0"), 1 => Just("1e-6")],
    ) {
        let mut text = format!(
            "[links]\ngeneration = 4\nlanes = 8\nbit_error_rate = {errors}\n{HOST}[switches.s]\nupstream = \"h0\"\ncut_through = {cut_through}\n"
        );
        let device = |device: &str| {
            format!("[devices.{device}]\nupstream = \"s\"\nbar = \"256 KiB\"\n{recovery}")
        };
        let flows = [("a", "h0", "write"), ("a", "h0", "read"), ("b", "a", "write"), ("a", "b", "read"), ("h0", "a", "write")];
        let flows = flows.map(|(from, to, direction)| {
            let size = if from == "h0" { 2 } else { 64 };
            format!("[[flows]]\nfrom = \"{from}\"\nto = \"{to}\"\ndirection = \"{direction}\"\nsize = \"{size} KiB\"\n")
        });
        text += &(device("a") + &device("b") + &flows.concat());
        text += &incidents.concat();
        let mut simulation = simulation(&text);
        prop_assert!(simulation.run(&mut |_| true));
        let rest = simulation.now() + Span::from_us(200);
        simulation.run_until(rest, &mut || true);
        let result = simulation.result();
        for flow in &result.flows {
            prop_assert!(flow.completed && flow.intact, "{}\n{}", flow.id, text);
        }
        prop_assert!(result.errors.is_empty(), "{:?}\n{}", result.errors, text);
        prop_assert_eq!((simulation.packets_in_use(), simulation.credits_held()), (0, 0));
        for node in ["s", "a", "b"] {
            let above = match node {
                "s" => status(&simulation, "h0", ABOVE),
                "a" => status(&simulation, "s", ABOVE),
                _ => status(&simulation, "s", FunctionPlace::Port(1)),
            };
            let below = status(&simulation, node, BELOW);
            prop_assert_eq!((above.0, above.1), (below.0, below.1), "{}", text);
        }
    }
}
