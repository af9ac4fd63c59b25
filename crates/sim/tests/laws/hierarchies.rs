//! The max payload size of each hierarchy, which is a root port with all functions below it, and packets between hierarchies.

use std::collections::BTreeMap;
use std::fmt::Write;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use crate::bad_input::refusal;
use crate::cases::cases;
use crate::fixture::*;

/// A scenario with two devices at root ports of one host. The device `old` supports only smaller payloads.
fn two(host: &str, flow: &str) -> String {
    format!(
        "[links]\ngeneration = 3\nlanes = 8\n{HOST}{host}\n[devices.old]\nupstream = \"h0\"\nmax_payload_supported = \"128 B\"\n[devices.new]\nupstream = \"h0\"\n[[flows]]\nid = \"f\"\nsize = \"64 KiB\"\n{flow}\n"
    )
}

/// The largest payload on each link, in bytes.
fn largest(lines: &[Value]) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for line in lines {
        let has_data = ["MWr", "CplD"].iter().any(|kind| line["tlp"] == *kind);
        if let (true, Some(link), Some(bytes)) =
            (has_data, line["link"].as_str(), line["bytes"].as_u64())
        {
            let largest = all.entry(link.to_owned()).or_insert(0);
            *largest = bytes.max(*largest);
        }
    }
    all
}

#[test]
fn a_card_does_not_change_the_payloads_at_another_root_port() {
    let flow = "from = \"new\"\nto = \"h0\"";
    let beside = run(&two("", flow)).all_intact();
    let alone = run(&two("", flow).replace("max_payload_supported = \"128 B\"", "")).all_intact();
    assert_eq!(beside.flow("f").last_byte_ns, alone.flow("f").last_byte_ns);
    let plan = simulation(&two("", flow));
    let sizes = plan.plan().nodes.iter().map(|node| node.max_payload);
    assert_eq!(sizes.collect::<Vec<_>>(), [512, 128, 512]);
    let links = plan.plan().links.iter().map(|link| link.max_payload);
    assert_eq!(links.collect::<Vec<_>>(), [128, 512]);
}

#[test]
fn a_root_complex_cuts_packets_for_the_hierarchy_that_they_go_to() {
    for (flow, old, new) in [
        ("from = \"new\"\nto = \"old\"", 128, 512),
        (
            "from = \"old\"\nto = \"new\"\ndirection = \"read\"",
            128,
            512,
        ),
        (
            "from = \"new\"\nto = \"old\"\ndirection = \"read\"",
            128,
            128,
        ),
        ("from = \"old\"\nto = \"new\"", 128, 128),
    ] {
        let (result, lines) = trace(&two("", flow));
        result.all_intact();
        let largest = largest(&lines);
        assert_eq!((largest["h0-old"], largest["h0-new"]), (old, new), "{flow}");
    }
}

#[test]
fn software_obeys_the_payloads_of_the_hierarchy_that_it_writes_to() {
    for (device, size) in [("old", 128), ("new", 512)] {
        let flow = format!("from = \"h0\"\nto = \"{device}\"");
        let (result, lines) = trace(&two("sockets = 2", &flow));
        result.all_intact();
        assert_eq!(largest(&lines)[&format!("h0-{device}")], size);
    }
}

#[test]
fn completions_from_memory_obey_the_hierarchy_of_the_requester() {
    for (device, size) in [("old", 128), ("new", 512)] {
        let flow = format!("from = \"{device}\"\nto = \"h0\"\ndirection = \"read\"");
        let (result, lines) = trace(&two("", &flow));
        result.all_intact();
        assert_eq!(largest(&lines)[&format!("h0-{device}")], size);
    }
}

#[test]
fn a_mismatch_on_a_link_is_an_error_unless_it_is_on_purpose() {
    let machine = |host: &str, device: &str| {
        format!("[hosts.h]\n{host}\n[devices.d]\nupstream = \"h\"\n{device}\n")
    };
    let [small, large] = ["max_payload = \"256 B\"", "max_payload = \"512 B\""];
    let purpose = "and larger packets are malformed; leave out max_payload, and firmware gives both 512 B, or write one value for all nodes below the root port; write max_payload_mismatch = true for";
    assert_eq!(
        refusal(&machine(small, large)),
        format!(
            "bad.toml:5: d.max_payload: 512 B, but h at the other end of the link h-d has 256 B, {purpose} d if the mismatch is on purpose"
        )
    );
    assert_eq!(
        refusal(&machine(small, "")),
        format!(
            "bad.toml:2: h.max_payload: 256 B, but d at the other end of the link h-d has 512 B, {purpose} h if the mismatch is on purpose"
        )
    );
    let wanted = "\nmax_payload_mismatch = true";
    for text in [
        machine(small, small),
        machine(&format!("{small}{wanted}"), large),
        machine(small, &format!("{large}{wanted}")),
        machine("max_payload_supported = \"256 B\"", ""),
    ] {
        simulation(&text);
    }
}

proptest! {
    #![proptest_config(cases(60))]

    /// For all supported payload sizes and all sources and destinations of flows, no packet is larger than the max payload size of its link, and
    /// every byte arrives.
    #[test]
    fn every_packet_fits_the_hierarchy_that_it_is_in(
        supported in prop::collection::vec(select(vec![128, 256, 512, 1024]), 5),
        peer in select(vec![64, 256, 4096]),
        sockets in 1_u32..3,
        flows in prop::collection::vec(
            (select(vec!["a", "b", "c", "h"]), select(vec!["a", "b", "c", "h"]), select(vec!["write", "read", "both"]), 0_u32..64),
            1..5,
        ),
    ) {
        let mut text = format!(
            "[links]\ngeneration = 3\nlanes = 4\n[hosts.h]\nsockets = {sockets}\nlargest_peer_payload = \"{peer} B\"\nmax_read_request = \"1 KiB\"\nmax_payload_supported = \"{} B\"\n[switches.s]\nupstream = \"h\"\nmax_payload_supported = \"{} B\"\n",
            supported[0], supported[1]
        );
        for (number, (device, above)) in [("a", "s"), ("b", "s"), ("c", "h")].iter().enumerate() {
            let far = if *device == "c" { sockets - 1 } else { 0 };
            let upstream = if sockets > 1 && *device == "c" {
                format!("{{ to = \"{above}\", socket = {far} }}")
            } else {
                format!("\"{above}\"")
            };
            let _ = writeln!(
                text,
                "[devices.{device}]\nupstream = {upstream}\nmax_read_request = \"1 KiB\"\nmax_payload_supported = \"{} B\"",
                supported[2 + number]
            );
        }
        for (from, to, direction, offset) in flows.iter().filter(|(from, to, ..)| from != to) {
            let _ = writeln!(text, "[[flows]]\nfrom = \"{from}\"\nto = \"{to}\"\ndirection = \"{direction}\"\nsize = \"9 KiB\"\noffset = \"{offset} B\"");
        }
        let (result, lines) = trace(&text);
        for flow in &result.flows {
            prop_assert!(flow.completed && flow.intact, "{flow:?}\n{text}");
        }
        prop_assert!(result.errors.is_empty(), "{:?}\n{text}", result.errors);
        let simulation = simulation(&text);
        let largest = largest(&lines);
        for link in &simulation.plan().links {
            let found = largest.get(&link.id).copied().unwrap_or(0);
            prop_assert!(found <= u64::from(link.max_payload), "{found} B on {}\n{text}", link.id);
        }
    }
}
