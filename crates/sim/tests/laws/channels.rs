//! Virtual channels (PCIe Base 2.5, 6.3, 7.9.1): maps, arbitration, initialisation, and traffic classes that map to no channel.

use std::fmt::Write;

use kernel::{Span, Time};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestCaseResult;
use protocol::{FunctionId, register};
use sim::Simulation;
use sim::result::{ChannelResult, RunResult};
use transaction::FunctionPlace;

use crate::cases::cases;
use crate::fixture::*;

/// A scenario in which two devices write to memory. Their links are twice as fast as the upstream link of the switch above them.
struct Pair<'a> {
    /// Keys of the switch.
    switch: &'a str,
    /// `tc_vc_map` of all links.
    map: &'a str,
    /// Keys of the flows of devices 1 and 2.
    flows: [&'a str; 2],
}

impl Pair<'_> {
    fn text(&self) -> String {
        let Pair { switch, map, flows } = self;
        let device = |number: usize| {
            format!(
                "[devices.d{number}]\nupstream = {{ to = \"s\", lanes = 8 }}\nextended_vc_count = 1\n[[flows]]\nid = \"f{number}\"\nfrom = \"d{number}\"\nto = \"h\"\nrequest_size = \"256 B\"\n{}\n",
                flows[number - 1]
            )
        };
        format!(
            "[links]\ngeneration = 3\nlanes = 4\ntc_vc_map = \"{map}\"\n[hosts.h]\nextended_vc_count = 1\n[switches.s]\nupstream = \"h\"\nextended_vc_count = 1\n{switch}\n{}{}[measure]\nfrom = \"20 us\"\nuntil = \"120 us\"\n",
            device(1),
            device(2)
        )
    }

    fn run(&self) -> RunResult {
        run(&self.text())
    }
}

const TWO: &str = "TC0-5: VC0, TC6-7: VC1";
const LASTING: &str = "duration = \"150 us\"\nwindow = \"64 KiB\"";
const HIGH: &str = "duration = \"150 us\"\nwindow = \"64 KiB\"\ntraffic_class = 7";

fn channel(result: &RunResult, link: &str, vc: u8) -> ChannelResult {
    let channels = &result.link(link, "up").channels;
    let found = channels.iter().find(|channel| channel.vc == vc);
    found.expect("an enabled channel").clone()
}

/// The share of VC1 among the TLPs that the switch has sent upwards.
fn share(result: &RunResult) -> f64 {
    let [low, high] = [0, 1].map(|vc| channel(result, "h-s", vc).tlps as f64);
    high / (low + high)
}

/// PCIe Base 6.3.3.2: each phase is one packet, so channels that always have packets share the link in proportion to their phases.
#[test]
fn channels_share_the_wire_as_their_phases() {
    for (arbitration, table, expected) in [
        ("wrr-32", "(0 0 0 1)*8", 0.25),
        ("wrr-64", "0*63 1", 1.0 / 64.0),
        ("wrr-128", "(0 1 1)*42 1 1", 86.0 / 128.0),
        ("wrr-32", "0*16 1*16", 0.5),
    ] {
        let switch =
            format!("vc_arbitration = \"{arbitration}\"\nvc_arbitration_table = \"{table}\"");
        let pair = Pair {
            switch: &switch,
            map: TWO,
            flows: [LASTING, HIGH],
        };
        let result = pair.run();
        let sent: u64 = [0, 1]
            .map(|vc| channel(&result, "h-s", vc).tlps)
            .iter()
            .sum();
        // The tolerance: at both ends of the window, a round of the table may be incomplete.
        let rest = 128.0 / sent as f64;
        assert!(
            (share(&result) - expected).abs() < rest,
            "{table}: {}",
            share(&result)
        );
        assert!(sent > 1000);
    }
}

/// PCIe Base 6.3.3.2.1: a channel above the low-priority group has strict priority. As long as it has packets, other channels send nothing.
#[test]
fn strict_priority_starves_the_lower_channel() {
    let strict = Pair {
        switch: "low_priority_vcs = 0",
        map: TWO,
        flows: [LASTING, HIGH],
    };
    let result = strict.run();
    assert_eq!(channel(&result, "h-s", 0).tlps, 0);
    assert!(channel(&result, "h-s", 1).tlps > 1000);
    // With round robin, both channels send the same number of packets.
    let turns = Pair {
        switch: "",
        ..strict
    };
    assert!((share(&turns.run()) - 0.5).abs() < 0.002);
}

/// A request on a channel with strict priority waits at most for the packet on the wire. With weighted phases, it also waits for packets of other
/// channels.
#[test]
fn a_class_with_priority_does_not_wait_for_the_load_of_the_others() {
    let latency = |switch| {
        let pair = Pair {
            switch,
            map: TWO,
            flows: [
                LASTING,
                "count = 20\ninterval = \"5 us\"\ntraffic_class = 7",
            ],
        };
        let result = pair.run();
        let latency = result.flow("f2").latency_ns.as_ref();
        latency.expect("requests").max
    };
    let strict = latency("low_priority_vcs = 0");
    let phases = latency("vc_arbitration = \"wrr-32\"\nvc_arbitration_table = \"0*31 1\"");
    // A packet of 280 bytes takes 71 ns on four lanes of 8 GT/s. A round of the table has up to 31 packets of the other channel.
    assert!(phases - strict > 15.0 * 71.0, "{phases} {strict}");
    assert!(phases - strict < 31.0 * 72.0, "{phases} {strict}");
}

/// PCIe Base 6.3.3.3: ports share a channel in proportion to their phases in the port arbitration table.
#[test]
fn ports_share_a_channel_as_their_phases() {
    for (table, expected) in [
        ("(1 1 1 2)*8", 0.25),
        ("(1 2)*16", 0.5),
        ("1*31 2", 1.0 / 32.0),
    ] {
        let switch = format!("port_arbitration = \"wrr-32\"\nport_arbitration_table = \"{table}\"");
        let pair = Pair {
            switch: &switch,
            map: TWO,
            flows: [HIGH, HIGH],
        };
        let result = pair.run();
        let [one, two] = ["s-d1", "s-d2"].map(|link| channel(&result, link, 1).tlps as f64);
        let share = two / (one + two);
        let rest = 64.0 / (one + two);
        assert!((share - expected).abs() < rest, "{table}: {share}");
    }
}

/// PCIe Base 7.9.1.8: each port can have its own table. Two devices send to the host, or to a device whose port has its own table.
#[test]
fn a_port_has_a_table_of_its_own_or_that_of_its_switch() {
    let text = |above: &str, to: &str| {
        let flows = ["d1", "d2"].map(|from| {
            format!(
                "[[flows]]\nid = \"{from}\"\nfrom = \"{from}\"\nto = \"{to}\"\nrequest_size = \"256 B\"\nduration = \"100 us\"\nwindow = \"64 KiB\"\n"
            )
        });
        format!(
            "[measure]\nfrom = \"30 us\"\nuntil = \"90 us\"\n[links]\nlanes = 8\n[hosts.h]\n[switches.s]\nupstream = {{ to = \"h\", lanes = 1 }}\nport_arbitration = \"wrr-32\"\nport_arbitration_table = \"(1 2)*16\"\n[devices.d1]\nupstream = \"s\"\n[devices.d2]\nupstream = \"s\"\n[devices.e]\nupstream = {{ to = \"s\", lanes = 1 }}\nbar = \"1 MiB\"\n{above}{}",
            flows.concat()
        )
    };
    let own =
        "port_arbitration_above = \"wrr-64\"\nport_arbitration_table_above = \"(1 1 1 2)*16\"\n";
    for (above, to, expected) in [
        ("", "h", 0.5),
        ("", "e", 0.5),
        (own, "h", 0.5),
        (own, "e", 0.25),
    ] {
        let result = run(&text(above, to)).all_intact();
        let [one, two] = ["d1", "d2"].map(|flow| steady(result.flow(flow)));
        close(two / (one + two), expected, 5.0);
    }
    // A port has the Virtual Channel capability if it has its own table, even if the switch has none.
    let alone = text(own, "h").replace(
        "port_arbitration = \"wrr-32\"\nport_arbitration_table = \"(1 2)*16\"\n",
        "",
    );
    let functions = simulation(&alone).functions("s").expect("a switch");
    let has = |place| {
        functions.space(place).read(register::CHANNELS) & 0xffff == u32::from(register::CHANNELS_ID)
    };
    let ports = [
        FunctionPlace::Own,
        FunctionPlace::Port(0),
        FunctionPlace::Port(2),
    ];
    assert_eq!(ports.map(has), [false, false, true]);
}

/// PCIe Base 2.5.3: a packet whose class maps to no channel of the egress port is malformed. The ingress port records the error.
#[test]
fn a_class_that_maps_to_no_channel_is_malformed() {
    let text = "[hosts.h]\nextended_vc_count = 1\n[switches.s]\nupstream = { to = \"h\", tc_vc_map = \"TC0-6: VC0, TC7: none\" }\nextended_vc_count = 1\n[devices.d]\nupstream = { to = \"s\", tc_vc_map = \"TC0-6: VC0, TC7: VC1\" }\nextended_vc_count = 1\n[[flows]]\nid = \"low\"\nfrom = \"d\"\nto = \"h\"\ncount = 100\n[[flows]]\nid = \"f\"\nfrom = \"d\"\nto = \"h\"\ncount = 10\ntraffic_class = 7\n";
    let mut simulation = simulation(text);
    assert!(simulation.run(&mut |_| true));
    let result = simulation.result();
    assert_eq!(result.errors("s", "malformed TLP"), 10);
    assert!(result.flow("low").intact && !result.flow("f").intact);
    let functions = simulation.functions("s").expect("a switch");
    let status = |place| functions.space(place).read(register::AER + 1);
    assert_eq!(status(FunctionPlace::Port(0)), 1 << 18);
    assert_eq!(status(FunctionPlace::Own), 0);
}

/// A map with every class on VC0 does not change the result.
#[test]
fn one_channel_is_as_fast_with_the_capability_as_without() {
    let with = Pair {
        switch: "",
        map: "TC0-7: VC0",
        flows: [LASTING, LASTING],
    };
    let text = with.text();
    let without: String = text
        .lines()
        .filter(|line| !line.starts_with("tc_vc_map") && !line.starts_with("extended"))
        .fold(String::new(), |text, line| text + line + "\n");
    let [with, without] = [run(&text), run(&without)];
    for (one, other) in with.flows.iter().zip(&without.flows) {
        assert_eq!(
            (one.bytes, one.latency_ns.as_ref().map(|one| one.max)),
            (other.bytes, other.latency_ns.as_ref().map(|one| one.max))
        );
    }
}

/// If software sets up a switch again after a reset, it also loads the arbitration tables, as Linux does.
#[test]
fn a_switch_that_is_set_up_again_has_its_tables_of_arbitration() {
    let tables = "vc_arbitration = \"wrr-32\"\nvc_arbitration_table = \"(0 0 0 1)*8\"\nport_arbitration = \"wrr-64\"\nport_arbitration_table = \"(1 2 0 1)*16\"";
    let pair = Pair {
        switch: tables,
        map: TWO,
        flows: [
            "count = 50\nstart = \"500 us\"",
            "count = 50\nstart = \"500 us\"\ntraffic_class = 7",
        ],
    };
    let text = pair
        .text()
        .replace("[hosts.h]\n", "[hosts.h]\nlink_up_wait = \"20 us\"\n");
    let (text, _) = text.split_once("[measure]").expect("a measured interval");
    let reset = "[[incidents]]\nat = \"5 us\"\nwhat = \"secondary-bus-reset\"\nnode = \"s\"\nhold = \"5 us\"\n";
    let mut simulation = simulation(&(text.to_owned() + reset));
    assert!(simulation.run(&mut |_| true));
    let planned = &simulation.plan().nodes[1];
    let functions = simulation.functions("s").expect("a switch");
    for place in planned.functions.places() {
        let [now, planned] =
            [&functions, &planned.functions].map(|of| of.space(place).channels_control());
        assert_eq!(now, planned, "{place:?}");
    }
    let result = simulation.result();
    assert!(
        result.flow("f1").intact && result.flow("f2").intact,
        "{:?}",
        result.flows
    );
}

const ROOT_PORT: FunctionId = FunctionId::new(0, 1, 0);
const DEVICE: FunctionId = FunctionId::new(1, 0, 0);
const VC1_CONTROL: u16 = register::CHANNEL_RESOURCES + register::RESOURCE_REGISTERS + 1;

fn enable(simulation: &mut Simulation, function: FunctionId, is_enabled: bool) {
    let enable = if is_enabled {
        register::CHANNEL_ENABLE
    } else {
        0
    };
    let value = enable | 1 << register::CHANNEL_ID_SHIFT | 0x80;
    let place = (u64::from(VC1_CONTROL) * 4, 4);
    let done = simulation.config_write("h", function, place, value, &mut || true);
    done.expect("a host");
}

fn is_pending(simulation: &mut Simulation, function: FunctionId) -> bool {
    let rest = Time::from_fs(simulation.now().as_fs() + Span::from_us(100).as_fs());
    simulation.run_until(rest, &mut || true);
    let place = u64::from(VC1_CONTROL + 1) * 4;
    let status = simulation.config_read("h", function, place, 4, &mut || true);
    status.expect("a host") & register::NEGOTIATION_PENDING != 0
}

/// PCIe Base 7.9.1.9: VC Negotiation Pending is set until both ends have initialised the flow control of the channel.
#[test]
fn a_channel_waits_until_both_ends_have_enabled_it() {
    let text =
        "[hosts.h]\nextended_vc_count = 1\n[devices.d]\nupstream = \"h\"\nextended_vc_count = 1\n";
    for [first, second] in [[ROOT_PORT, DEVICE], [DEVICE, ROOT_PORT]] {
        let mut simulation = simulation(text);
        simulation.run_until(Time::ZERO + Span::from_us(10), &mut || true);
        enable(&mut simulation, first, true);
        assert!(is_pending(&mut simulation, first));
        enable(&mut simulation, second, true);
        for function in [first, second] {
            assert!(!is_pending(&mut simulation, function));
        }
        enable(&mut simulation, first, false);
        enable(&mut simulation, first, true);
        assert!(is_pending(&mut simulation, first));
    }
}

/// A scenario with a device below a root port: flows of two classes, then a secondary bus reset after all requests have completed or timed out, then
/// the same flows again.
fn reset_under_load() -> String {
    let mut text = format!(
        "[links]\nlanes = 2\ntc_vc_map = \"{TWO}\"\n[hosts.h]\nextended_vc_count = 1\ncompletion_timeout = \"100 us\"\nlink_up_wait = \"20 us\"\n[devices.d]\nupstream = \"h\"\nextended_vc_count = 1\ncompletion_timeout = \"200 us\"\nposted_headers = 8\n[[incidents]]\nat = \"1 ms\"\nwhat = \"secondary-bus-reset\"\nnode = \"d\"\nhold = \"5 us\"\n"
    );
    for (start, when) in [("0 ns", "early"), ("2 ms", "late")] {
        for class in [0, 7] {
            for (from, to, direction) in
                [("d", "h", "write"), ("d", "h", "read"), ("h", "d", "write")]
            {
                let _ = write!(
                    text,
                    "[[flows]]\nid = \"{when} {class} {from} {direction}\"\nfrom = \"{from}\"\nto = \"{to}\"\ndirection = \"{direction}\"\nsize = \"16 KiB\"\nstart = \"{start}\"\ntraffic_class = {class}\n"
                );
            }
        }
    }
    text
}

fn control_of(classes: u8, is_enabled: bool) -> u32 {
    let enable = if is_enabled {
        register::CHANNEL_ENABLE
    } else {
        0
    };
    enable | 1 << register::CHANNEL_ID_SHIFT | u32::from(classes & 0xfe)
}

/// Changes VC1 at one end of a link while both classes have traffic. Each change has its time in nanoseconds after 1 us, whether it is made at the
/// root port, the classes, and VC Enable. PCIe Base 7.9.1.8: software must wait until a channel is idle before it changes the map or VC Enable. If it
/// does not wait, packets and credit may be lost, but the run ends, and after a reset the link has all its credit.
fn works_after_a_reset(changes: &[(u64, bool, u8, bool)]) -> TestCaseResult {
    let mut simulation = simulation(&reset_under_load());
    let place = (u64::from(VC1_CONTROL) * 4, 4);
    for &(at, is_upper, classes, is_enabled) in changes {
        simulation.run_until(Time::ZERO + Span::from_ns(1000 + at), &mut || true);
        let function = if is_upper { ROOT_PORT } else { DEVICE };
        let value = control_of(classes, is_enabled);
        // The configuration request to the device may be lost because of an earlier change.
        let _ = simulation.config_write("h", function, place, value, &mut || true);
    }
    simulation.run_until(Time::ZERO + Span::from_us(900), &mut || true);
    let done = simulation.config_write("h", ROOT_PORT, place, control_of(0xc0, true), &mut || true);
    prop_assert!(done.is_ok());
    let mut looks = 0;
    let ended = simulation.run(&mut |_| {
        looks += 1;
        looks < 600
    });
    prop_assert!(ended, "it goes on at {:?}", simulation.now());
    let rest = simulation.now() + Span::from_us(100);
    simulation.run_until(rest, &mut || true);
    prop_assert_eq!(
        (simulation.packets_in_use(), simulation.credits_held()),
        (0, 0)
    );
    let result = simulation.result();
    for flow in result
        .flows
        .iter()
        .filter(|flow| flow.id.starts_with("late"))
    {
        prop_assert!(flow.completed && flow.intact, "{:?}", flow);
    }
    Ok(())
}

/// The configuration requests after the first one are lost, and the host waits for each completion until it times out.
#[test]
fn a_link_works_again_after_a_reset_if_changes_of_its_channels_were_lost() {
    let (disabled, enabled) = ((0, false, 0, false), (0, false, 0x80, true));
    works_after_a_reset(&[disabled, enabled, enabled, enabled]).expect("it works again");
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn a_link_whose_channels_have_changed_under_load_works_again_after_a_reset(
        mut changes in prop::collection::vec((0_u64..40_000, any::<bool>(), any::<u8>(), any::<bool>()), 1..8),
    ) {
        changes.sort_unstable();
        works_after_a_reset(&changes)?;
    }
}

/// A scenario with two devices `d` and `e` below a switch. Flows of two classes begin at the start and after 1 ms. `keys` are the keys of the link
/// above `e`.
fn changing(keys: &str) -> String {
    let device = |name: &str, keys: &str| {
        format!(
            "[devices.{name}]\nupstream = {{ to = \"s\"{keys} }}\nextended_vc_count = 1\ncompletion_timeout = \"100 us\"\nposted_headers = 8\nbar = \"64 KiB\"\n"
        )
    };
    let mut text = format!(
        "[links]\nlanes = 2\ntc_vc_map = \"{TWO}\"\n[hosts.h]\nextended_vc_count = 1\ncompletion_timeout = \"100 us\"\nposted_headers = 8\n[switches.s]\nupstream = \"h\"\nextended_vc_count = 1\nvc_arbitration = \"wrr-32\"\nvc_arbitration_table = \"(0 0 0 1)*8\"\nport_arbitration = \"wrr-32\"\nport_arbitration_table = \"(1 0 0 2)*8\"\n{}{}",
        device("d", ""),
        device("e", keys)
    );
    for (start, when) in [("0 ns", "early"), ("1 ms", "late")] {
        for class in [0, 7] {
            for (from, to, direction) in [
                ("d", "h", "write"),
                ("d", "h", "read"),
                ("d", "e", "write"),
                ("e", "h", "write"),
                ("h", "d", "write"),
            ] {
                let _ = write!(
                    text,
                    "[[flows]]\nid = \"{when} {class} {from} {to} {direction}\"\nfrom = \"{from}\"\nto = \"{to}\"\ndirection = \"{direction}\"\nsize = \"16 KiB\"\nstart = \"{start}\"\ntraffic_class = {class}\n"
                );
            }
        }
    }
    text
}

/// All functions with the Virtual Channel capability.
fn functions_with_channels(simulation: &Simulation) -> Vec<FunctionId> {
    let mut found = Vec::new();
    for node in ["h", "s", "d", "e"] {
        let functions = simulation.functions(node).expect("a node");
        let places = functions.places();
        let places = places.filter(|place| functions.space(*place).has_channels());
        found.extend(places.map(|place| functions.id_of(place)));
    }
    found
}

/// A write to the Virtual Channel capability of a function: the time in nanoseconds, the function, the register and the value.
type Change = (u64, Index, u16, u32);

fn change() -> impl Strategy<Value = Change> {
    let enables = any::<bool>().prop_map(|is_enabled| control_of(0xc0, is_enabled));
    let maps = (any::<u8>(), any::<bool>());
    let maps = maps.prop_map(|(classes, is_enabled)| control_of(classes, is_enabled));
    let what = prop_oneof![
        (Just(VC1_CONTROL), enables),
        (Just(VC1_CONTROL), maps),
        // Random values for maps, arbitration and tables.
        (register::CHANNELS..register::CHANNELS + 64, any::<u32>()),
        (register::CHANNELS..register::CHANNELS + 10, any::<u32>()),
    ];
    (0_u64..40_000, any::<Index>(), what)
        .prop_map(|(at, function, (register, value))| (at, function, register, value))
}

proptest! {
    #![proptest_config(cases(24))]

    /// PCIe Base 7.9.1.8: to use a channel again, software disables it at both ends of a link, and then enables it at both ends. After this, all
    /// credit is available, even if software changed channels under load before.
    #[test]
    fn channels_that_are_enabled_again_have_all_their_credit(
        mut changes in prop::collection::vec(change(), 1..10),
        keys in select(&["", ", bit_error_rate = 1e-6", ", bit_error_rate = 1e-5", ", fails_at = \"25 us\""][..]),
    ) {
        changes.sort_unstable_by_key(|change| change.0);
        let mut simulation = simulation(&changing(keys));
        let functions = functions_with_channels(&simulation);
        prop_assert_eq!(functions.len(), 6);
        let set = |simulation: &mut Simulation, function, register: u16, value| {
            let done = simulation.config_write("h", function, (u64::from(register) * 4, 4), value, &mut || true);
            done.expect("a host");
        };
        for (at, function, register, value) in changes {
            simulation.run_until(Time::ZERO + Span::from_ns(1000 + at), &mut || true);
            set(&mut simulation, *function.get(&functions), register, value);
        }
        let vc0 = VC1_CONTROL - register::RESOURCE_REGISTERS;
        for (at, own, is_enabled) in [(200, 0xff, false), (300, 0x3f, true)] {
            simulation.run_until(Time::ZERO + Span::from_us(at), &mut || true);
            for function in &functions {
                let classes = if is_enabled { 0xc0 } else { 0 };
                set(&mut simulation, *function, VC1_CONTROL, control_of(classes, is_enabled));
                set(&mut simulation, *function, vc0, register::CHANNEL_ENABLE | own);
            }
        }
        let mut looks = 0;
        let ended = simulation.run(&mut |_| { looks += 1; looks < 600 });
        prop_assert!(ended, "it goes on at {:?}", simulation.now());
        let is_at_rest = (0..20).any(|_| {
            let rest = simulation.now() + Span::from_us(137);
            simulation.run_until(rest, &mut || true);
            (simulation.packets_in_use(), simulation.credits_held()) == (0, 0)
        });
        prop_assert!(is_at_rest, "{} packets and {} credits are left", simulation.packets_in_use(), simulation.credits_held());
        let result = simulation.result();
        let fails = keys.contains("fails_at");
        for flow in &result.flows {
            let works = !fails || flow.from != "e" && flow.to != "e";
            let is_late = flow.id.starts_with("late");
            prop_assert!(!is_late || !works || flow.completed && flow.intact, "{:?}", flow);
            prop_assert!(!flow.wrong, "{:?}", flow);
        }
    }
}

fn maps() -> impl Strategy<Value = String> {
    prop::collection::vec(0_u8..4, 7).prop_map(|channels| {
        let entries = (1..).zip(channels);
        let entries = entries.map(|(class, channel)| format!(", TC{class}: VC{channel}"));
        entries.fold("TC0: VC0".to_owned(), |map, entry| map + &entry)
    })
}

fn phases(names: u8) -> impl Strategy<Value = String> {
    // Each name occurs at least once, so that none starves.
    prop::collection::vec(0..names, 32 - usize::from(names)).prop_map(move |rest| {
        let all = (0..names).chain(rest).map(|name| name.to_string());
        all.collect::<Vec<_>>().join(" ")
    })
}

proptest! {
    #![proptest_config(cases(12))]

    /// With any maps, tables and low-priority groups, every byte arrives, and every enabled channel is initialised.
    #[test]
    fn every_byte_arrives_by_any_channels(
        own in maps(),
        shared in maps(),
        low in 0_u32..4,
        vcs in phases(4),
        ports in phases(4),
        is_weighted: bool,
        flows in prop::collection::vec((0_u8..8, any::<bool>(), any::<bool>(), 1_u32..40), 1..6),
        errors: bool,
    ) {
        let weighted = if low == 3 && is_weighted {
            format!("vc_arbitration = \"wrr-32\"\nvc_arbitration_table = \"{vcs}\"\n")
        } else {
            String::new()
        };
        let rate = if errors { "bit_error_rate = 1e-6\n" } else { "" };
        let mut text = format!(
            "[links]\nlanes = 2\n{rate}[hosts.h]\nextended_vc_count = 3\nlow_priority_vcs = {low}\n[switches.s]\nupstream = {{ to = \"h\", tc_vc_map = \"{shared}\" }}\nextended_vc_count = 3\nlow_priority_vcs = {low}\n{weighted}port_arbitration = \"wrr-32\"\nport_arbitration_table = \"{ports}\"\n"
        );
        for device in 0..3 {
            let _ = write!(text, "[devices.d{device}]\nupstream = {{ to = \"s\", tc_vc_map = \"{own}\" }}\nextended_vc_count = 3\nposted_data = \"1 KiB\"\n");
        }
        for (number, (class, reads, peer, size)) in flows.iter().enumerate() {
            let direction = if *reads { "read" } else { "write" };
            let from = number % 3;
            let to = if *peer { format!("d{}", (from + 1) % 3) } else { "h".to_owned() };
            let _ = write!(text, "[[flows]]\nid = \"f{number}\"\nfrom = \"d{from}\"\nto = \"{to}\"\ndirection = \"{direction}\"\ncount = {size}\ntraffic_class = {class}\nrequest_size = \"512 B\"\n");
        }
        let mut simulation = simulation(&text);
        prop_assert!(simulation.run(&mut |_| true));
        let rest = Time::from_fs(simulation.now().as_fs() + Span::from_us(100).as_fs());
        simulation.run_until(rest, &mut || true);
        let result = simulation.result().all_intact();
        prop_assert_eq!(simulation.credits_held(), 0);
        for link in &result.links {
            let tlps: u64 = link.channels.iter().map(|channel| channel.tlps).sum();
            prop_assert_eq!(tlps, link.tlps);
        }
        for node in ["h", "s", "d0", "d1", "d2"] {
            let functions = simulation.functions(node).expect("a node");
            for place in functions.places() {
                let space = functions.space(place);
                for resource in 0..4 {
                    let status = register::CHANNEL_RESOURCES + 3 * resource + 2;
                    let pending = space.read(status) & register::NEGOTIATION_PENDING;
                    prop_assert!(!space.has_channels() || pending == 0);
                }
            }
        }
    }
}
