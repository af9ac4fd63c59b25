//! Faults of every kind, alone and combined, at every kind of port: a run ends, no packet remains, and every wrong byte is reported.

mod channels;
mod fault;
mod machine;

use std::collections::BTreeMap;

use kernel::Span;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use protocol::register::{BUS_MASTER, COMMAND};
use transaction::FunctionPlace;

use crate::cases::cases;
use crate::fixture::{Ask, run, simulation};
use fault::{CABLE, FIBRE, Fault, NAMES, NODES};
use machine::{Machine, machine, size};

/// The maximum number of calls of the watch function before a run is considered endless. If a port enters containment again during its setup,
/// software waits up to a second for its link, and links with L0s send refreshes during this time: a thousand calls.
const PATIENCE: u32 = 6000;

/// A scenario with a drive `n` below a switch. The switch damages the write with which the driver enables the drive. The ECRC detects the damage, and
/// the write is not repeated.
fn disabled_drive(drive: &str) -> String {
    format!(
        "[links]\ngeneration = 3\nlanes = 4\n[hosts.h]\necrc = true\n[switches.s]\nupstream = \"h\"\n[devices.n]\nmodel = \"nvme\"\nupstream = \"s\"\n{drive}[[flows]]\nid = \"f\"\nfrom = \"n\"\nto = \"h\"\nsize = \"16 KiB\"\n[[incidents]]\nat = \"1200 ns\"\nwhat = \"damage\"\nnode = \"s\"\n"
    )
}

/// The driver polls the drive only at intervals until the drive is ready.
#[test]
fn a_driver_does_not_keep_the_links_busy_while_its_drive_is_not_ready() {
    let result = run(&disabled_drive(""));
    assert_eq!(result.errors("n", "ECRC error"), 1);
    assert!(!result.flow("f").completed);
    assert_eq!(result.standing_packets, 0);
    let looks = result.link("s-n", "down").tlps;
    assert!((90..200).contains(&looks), "{looks}");
}

/// With this latency, a read of the driver is in flight when the run ends.
#[test]
fn a_driver_that_looks_at_its_drive_to_the_end_is_no_deadlock() {
    let result = run(&disabled_drive("receive_latency = \"10 us\"\n"));
    assert!(!result.flow("f").completed);
    assert_eq!(result.standing_packets, 0);
}

/// Every kind of fault, every setting, every pair of kinds and every kind of port is drawn. With `--nocapture`, the test prints the counts.
#[test]
fn the_faults_are_of_every_kind_in_pairs_and_at_every_kind_of_port() {
    let mut runner = TestRunner::deterministic();
    let mut drawn: BTreeMap<String, u32> = BTreeMap::new();
    let mut count = |what: String| *drawn.entry(what).or_default() += 1;
    for _ in 0..4000 {
        let tree = machine().new_tree(&mut runner).expect("nothing is refused");
        let Machine {
            settings, faults, ..
        } = tree.current();
        settings
            .names()
            .iter()
            .for_each(|name| count(format!("with {name}")));
        for (number, fault) in faults.iter().enumerate() {
            let name = fault.what.name();
            count(name.to_owned());
            for variant in fault.what.variants() {
                count(format!("{name}, {variant}"));
            }
            for port in ports(fault.node) {
                count(format!("at {port}: {name}"));
                count(format!("at {port}"));
            }
            for other in &faults[..number] {
                let mut pair = [name, other.what.name()];
                pair.sort_unstable();
                count(format!("{} and {}", pair[0], pair[1]));
                if (other.node, other.at) == (fault.node, fault.at) {
                    count("two at one port and one time".to_owned());
                }
                if other.node == fault.node && other.at.abs_diff(fault.at) > 20_000 {
                    count("one at the port while an earlier one is made good".to_owned());
                }
            }
            let same = |other: &&Fault| (other.node, other.at) == (fault.node, fault.at);
            if faults[..number].iter().filter(same).count() == 2 {
                count("three at one port and one time".to_owned());
            }
        }
    }
    for (what, number) in &drawn {
        println!("{number:6} {what}");
    }
    let mut missing: Vec<String> = Vec::new();
    let mut expect = |what: String| {
        if !drawn.contains_key(&what) {
            missing.push(what);
        }
    };
    for (number, name) in NAMES.iter().enumerate() {
        expect((*name).to_owned());
        for other in &NAMES[..=number] {
            let mut pair = [name, other];
            pair.sort_unstable();
            expect(format!("{} and {}", pair[0], pair[1]));
        }
    }
    for node in NODES.iter().map(|node| node.name).chain([FIBRE, CABLE]) {
        for port in ports(node) {
            expect(format!("at {port}"));
            for name in ["bit errors", "failing link"] {
                expect(format!("at {port}: {name}"));
            }
            if ![FIBRE, CABLE].contains(&node) {
                expect(format!("at {port}: removal"));
                expect(format!("at {port}: degrade"));
            }
            if !["e", FIBRE, CABLE].contains(&node) {
                for name in [
                    "retrain",
                    "bus reset",
                    "containment",
                    "attention button",
                    "changed channels",
                ] {
                    expect(format!("at {port}: {name}"));
                }
            }
        }
    }
    for what in OTHERS {
        expect(what.to_owned());
    }
    assert!(missing.is_empty(), "never drawn: {missing:?}");
}

/// The variants, settings and coincidences of faults that must be drawn at least once.
const OTHERS: [&str; 24] = [
    "removal, and insertion",
    "function reset, of a virtual function",
    "function reset, with drivers",
    "attention button, twice",
    "two at one port and one time",
    "three at one port and one time",
    "one at the port while an earlier one is made good",
    "with error messages",
    "with store and forward",
    "with containment of non-fatal errors",
    "with network",
    "with SRIS",
    "with L0s",
    "with L1",
    "with ECRC",
    "with ACS",
    "with ACS egress control",
    "with few virtual functions",
    "with virtual functions with ARI",
    "with virtual functions on the next bus",
    "with class maps and VC tables",
    "with slots with button and power",
    "with slots for surprise removal",
    "with served slots",
];

/// The kinds of the two ports of the link above a place. For a host, the only kind is its memory.
fn ports(place: &str) -> Vec<&'static str> {
    match place {
        FIBRE => vec!["fibre of routers"],
        CABLE => vec!["cable of controllers"],
        _ => {
            let found = NODES.iter().find(|node| node.name == place);
            found.map_or(vec!["memory of a host"], |node| {
                vec![node.ports.0, node.ports.1]
            })
        }
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn a_run_with_faults_ends_and_no_byte_is_wrong_that_nobody_has_reported(machine in machine()) {
        let mut simulation = simulation(&machine.text());
        channels::change(&mut simulation, &machine.faults);
        let mut looks = 0;
        let ended = simulation.run(&mut |_| {
            looks += 1;
            looks < PATIENCE
        });
        prop_assert!(ended, "it goes on");
        let result = simulation.result();
        // Without Bus Master Enable, a router or a NIC keeps the packets that other nodes have sent to it.
        let nodes = if machine.settings.network { &["m", "o", "q", "r"][..] } else { &[] };
        let keeps = nodes.iter().any(|node| {
            let functions = simulation.functions(node).expect("a device");
            functions.space(FunctionPlace::Own).read(COMMAND) & BUS_MASTER == 0
        });
        prop_assert!(result.standing_packets == 0 || keeps, "a deadlock of {} packets", result.standing_packets);
        for flow in &result.flows {
            // Wrong bytes are allowed in two kinds of flows if the device has reported an error. A driver writes to registers and receives no
            // confirmation that a write has arrived. A message contains only the bytes that its sender could read.
            let by_driver = ["n", "g"].contains(&&*flow.from);
            let is_message = ["m", "o"].contains(&&*flow.from);
            let has_erred = |place: &str| {
                let mut incidents = result.incidents.iter();
                incidents.any(|one| one.place == place && one.severity == Some("non-fatal"))
                    || is_message && result.errors.iter().any(|one| one.place == place)
            };
            let is_reported = (by_driver || is_message) && has_erred(&flow.from);
            prop_assert!(!flow.wrong || is_reported, "{} has wrong bytes", flow.id);
            let missing: u64 = flow.missing.iter().map(|(_, len)| len).sum();
            let size = size(&flow.from);
            prop_assert!(flow.bytes + missing <= size, "{} has too much", flow.id);
            if !flow.intact {
                let is_told = !result.incidents.is_empty() || !result.errors.is_empty();
                prop_assert!(is_told, "nobody tells why {} failed", flow.id);
            }
            if flow.completed {
                prop_assert_eq!(flow.bytes + missing, size, "{}", flow.id);
            }
        }
        for access in &result.accesses {
            prop_assert!(access.intact || !result.incidents.is_empty(), "{:?}", access);
        }
        if !keeps {
            let is_at_rest = (0..20).any(|_| {
                let rest = simulation.now() + Span::from_us(137);
                simulation.run_until(rest, &mut || true);
                (simulation.packets_in_use(), simulation.credits_held()) == (0, 0)
            });
            prop_assert!(is_at_rest, "{} packets and {} credits are left", simulation.packets_in_use(), simulation.credits_held());
        }
    }
}
