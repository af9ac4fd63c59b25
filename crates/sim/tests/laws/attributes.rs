//! Traffic class and attributes of requests and completions: flows request them, and registers permit them.

use serde_json::Value;

use crate::fixture::*;

/// The attributes that flows can request: their keys, and their names in traces.
const ATTRIBUTES: [(&str, &str); 3] = [
    ("relaxed_ordering", "RO"),
    ("id_ordering", "IDO"),
    ("no_snoop", "NS"),
];

/// The device models that make requests for flows, each with a flow.
const MODELS: [(&str, &str); 5] = [
    (
        "model = \"dma\"",
        "direction = \"both\"\nrequest_size = \"256 B\"\ncount = 4",
    ),
    (
        "model = \"sg-dma\"",
        "direction = \"write\"\nsize = \"8 KiB\"",
    ),
    (
        "model = \"sg-dma\"",
        "direction = \"read\"\nsize = \"8 KiB\"",
    ),
    (
        "model = \"nvme\"",
        "direction = \"write\"\nsize = \"8 KiB\"\nrequest_size = \"4 KiB\"",
    ),
    (
        "model = \"nvme\"",
        "direction = \"read\"\nsize = \"8 KiB\"\nrequest_size = \"4 KiB\"",
    ),
];

/// The attributes of a packet in the trace, in the order of [`ATTRIBUTES`].
fn attributes(line: &Value) -> Vec<&str> {
    let written = line["attributes"].as_array();
    let has = |name: &str| written.is_some_and(|all| all.iter().any(|one| one == name));
    let names = ATTRIBUTES.iter().map(|(_, name)| *name);
    names.filter(|name| has(name)).collect()
}

fn is_one(line: &Value, kinds: &[&str]) -> bool {
    line["tlp"]
        .as_str()
        .is_some_and(|kind| kinds.contains(&kind))
}

/// The trace lines of packets of these kinds that carry data of flow `f`.
fn of_flow<'l>(lines: &'l [Value], kinds: &[&str]) -> Vec<&'l Value> {
    let of_flow = |line: &&Value| is_one(line, kinds) && line["flow"] == "f";
    lines.iter().filter(of_flow).collect()
}

#[test]
fn requests_of_a_flow_have_its_attributes_at_every_device_that_makes_requests() {
    for (model, flow) in MODELS {
        for (key, name) in ATTRIBUTES {
            let text = format!(
                "[hosts.h]\n[devices.d]\nupstream = \"h\"\n{model}\nid_ordering_enable = true\n[[flows]]\nid = \"f\"\nfrom = \"d\"\nto = \"h\"\n{flow}\n{key} = true\n"
            );
            let (result, lines) = trace(&text);
            result.all_intact();
            let requests = of_flow(&lines, &["MRd", "MWr"]);
            assert!(!requests.is_empty(), "{text}");
            for line in requests {
                assert_eq!(attributes(line), [name], "{text}{line}");
            }
            // At the host, ID-based ordering of completions is disabled.
            let copied: &[&str] = if name == "IDO" { &[] } else { &[name] };
            for line in of_flow(&lines, &["CplD", "Cpl"]) {
                assert_eq!(attributes(line), copied, "{text}{line}");
            }
            // Interrupts, descriptors and queue entries do not belong to the data of the flow.
            let others = lines
                .iter()
                .filter(|line| is_one(line, &["MRd", "MWr", "CplD"]));
            for line in others.filter(|line| line["flow"].is_null()) {
                assert!(attributes(line).is_empty(), "{text}{line}");
            }
        }
    }
}

#[test]
fn a_cpu_sets_attributes_as_its_root_ports_allow() {
    for (enables, expected) in [
        ("", &["RO", "NS"][..]),
        ("relaxed_ordering_enable = false\n", &["NS"]),
        (
            "id_ordering_enable = true\nno_snoop_enable = false\n",
            &["RO", "IDO"],
        ),
    ] {
        let text = format!(
            "[hosts.h]\n{enables}[devices.d]\nupstream = \"h\"\nbar = \"1 MiB\"\n[[flows]]\nid = \"f\"\nfrom = \"h\"\nto = \"d\"\ndirection = \"both\"\ncount = 4\nrequest_size = \"64 B\"\nrelaxed_ordering = true\nid_ordering = true\nno_snoop = true\n"
        );
        let (result, lines) = trace(&text);
        result.all_intact();
        let requests = of_flow(&lines, &["MRd", "MWr"]);
        assert_eq!(requests.len(), 8);
        for line in requests {
            assert_eq!(attributes(line), expected, "{text}{line}");
        }
    }
}

#[test]
fn a_function_sets_no_attribute_whose_enable_is_clear() {
    for (key, name) in ATTRIBUTES {
        let others: Vec<&str> = ATTRIBUTES
            .iter()
            .map(|(_, name)| *name)
            .filter(|other| *other != name)
            .collect();
        let ids = if name == "IDO" {
            ""
        } else {
            "id_ordering_enable = true\n"
        };
        let text = format!(
            "[hosts.h]\n[switches.s]\nupstream = \"h\"\n[devices.d]\nupstream = \"s\"\n{ids}{key}_enable = false\n[[flows]]\nid = \"f\"\nfrom = \"d\"\nto = \"h\"\ndirection = \"both\"\ncount = 2\nrelaxed_ordering = true\nid_ordering = true\nno_snoop = true\n"
        );
        let mut simulation = simulation(&text);
        let warnings = simulation.plan().warnings.clone();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].contains(&format!("{key}_enable = true")),
            "{warnings:?}"
        );
        assert!(simulation.run(&mut |_| true));
        let (_, lines) = trace(&text);
        for line in of_flow(&lines, &["MRd", "MWr"]) {
            assert_eq!(attributes(line), others, "{line}");
        }
    }
}

/// PCIe Base 2.2.6.4: a completer need not copy the attribute, and sets it only while IDO Completion Enable is set.
#[test]
fn completions_are_ordered_by_id_where_their_completer_may_whatever_the_request_has() {
    for asks in [false, true] {
        for answers in [false, true] {
            for (from, to) in [("d", "h"), ("h", "d"), ("d", "e")] {
                let text = format!(
                    "[hosts.h]\nid_ordering_enable = {asks}\nid_ordering_completion_enable = {answers}\n[switches.s]\nupstream = \"h\"\n[devices.d]\nupstream = \"s\"\nbar = \"1 MiB\"\nid_ordering_enable = {asks}\nid_ordering_completion_enable = {answers}\n[devices.e]\nupstream = \"s\"\nbar = \"1 MiB\"\nid_ordering_completion_enable = {answers}\n[[flows]]\nid = \"f\"\nfrom = \"{from}\"\nto = \"{to}\"\ndirection = \"read\"\ncount = 4\nid_ordering = {asks}\nrequest_size = \"64 B\"\n"
                );
                let (result, lines) = trace(&text);
                result.all_intact();
                let of = |is_set: bool| if is_set { vec!["IDO"] } else { vec![] };
                let answered = of_flow(&lines, &["CplD"]);
                assert!(answered.len() >= 8);
                for line in answered {
                    assert_eq!(attributes(line), of(answers), "{text}{line}");
                }
                for line in of_flow(&lines, &["MRd"]) {
                    assert_eq!(attributes(line), of(asks), "{text}{line}");
                }
            }
        }
    }
}

#[test]
fn requests_and_completions_have_the_traffic_class_of_their_flow() {
    for (from, to) in [("d", "h"), ("h", "d"), ("d", "e")] {
        let text = format!(
            "[hosts.h]\n[switches.s]\nupstream = \"h\"\n[devices.d]\nupstream = \"s\"\nbar = \"1 MiB\"\n[devices.e]\nupstream = \"s\"\nbar = \"1 MiB\"\n[[flows]]\nid = \"f\"\nfrom = \"{from}\"\nto = \"{to}\"\ndirection = \"both\"\ncount = 4\nrequest_size = \"64 B\"\ntraffic_class = 5\n"
        );
        let (result, lines) = trace(&text);
        result.all_intact();
        let packets = of_flow(&lines, &["MRd", "MWr", "CplD"]);
        assert!(packets.len() >= 24);
        for line in packets {
            assert_eq!(line["tc"], 5, "{line}");
        }
    }
}

#[test]
fn attributes_that_nobody_asks_for_change_nothing() {
    let text = "[hosts.h]\n[devices.d]\nupstream = \"h\"\n[[flows]]\nid = \"f\"\nfrom = \"d\"\nto = \"h\"\ndirection = \"both\"\ncount = 9\n";
    let written = format!(
        "{text}relaxed_ordering = false\nid_ordering = false\nno_snoop = false\ntraffic_class = 0\n"
    );
    assert_eq!(trace(text).1, trace(&written).1);
}
