//! The plan that is made from a correct scenario: ports, buses, addresses, payload sizes and flows.

use std::fmt::Write;

use protocol::{ConfigSpace, FunctionId, Generation};
use sim::Plan;
use sim::plan::{NodePlan, Region};
use sim::setup::catalogue;
use sim::workload::flow::{Amount, FlowPlan};
use transaction::FunctionPlace;

fn plan(text: &str) -> Plan {
    Plan::read(text, "dir/right.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn node<'p>(plan: &'p Plan, name: &str) -> &'p NodePlan {
    plan.nodes.iter().find(|node| node.name == name).unwrap()
}

/// A scenario with two boards below one host, each with two devices.
const BOARDS: &str = r#"
[links]
generation = 2
lanes = 4

[hosts.h0]
memory = "2 GiB"

[switches.top]
upstream = { to = "h0", lanes = "x8", generation = "8 GT/s" }

[switches.left]
upstream = { to = "top", delay = "20 ns" }

[switches.right]
upstream = { to = "top", port = 0 }

[devices.l0]
upstream = "left"
bar = "1 MiB"

[devices.l1]
upstream = "left"
bar = "16 MiB"

[devices.r0]
upstream = { to = "right", port = 2 }
max_payload_supported = "256 B"

[devices.r1]
upstream = "right"
bar = "1 GiB"
bar_address_bits = 64
max_payload = "512 B"
max_payload_mismatch = true
"#;

#[test]
fn ports_that_are_not_written_are_the_next_free_ones() {
    let plan = plan(BOARDS);
    let links: Vec<_> = plan
        .links
        .iter()
        .map(|link| (link.id.as_str(), link.upstream.1))
        .collect();
    assert_eq!(
        links,
        [
            ("h0-top", 0),
            ("top-right", 0),
            ("right-r1", 0),
            ("right-r0", 2),
            ("top-left", 1),
            ("left-l0", 0),
            ("left-l1", 1)
        ]
    );
}

#[test]
fn a_link_has_the_defaults_and_what_its_upstream_says() {
    let plan = plan(BOARDS);
    let link = |id: &str| {
        let link = plan.links.iter().find(|link| link.id == id).unwrap();
        &link.parameters
    };
    assert_eq!(
        (link("h0-top").generation.0, link("h0-top").lanes.0),
        (Generation::Gen3, 8)
    );
    assert_eq!(
        (link("left-l0").generation.0, link("left-l0").lanes.0),
        (Generation::Gen2, 4)
    );
    assert_eq!(link("top-left").delay, kernel::Span::from_ns(20));
}

#[test]
fn buses_are_numbered_depth_first() {
    let plan = plan(BOARDS);
    let id = |name: &str| node(&plan, name).id;
    assert_eq!(id("h0"), FunctionId::new(0, 0, 0));
    assert_eq!(id("top"), FunctionId::new(1, 0, 0));
    assert_eq!(id("right"), FunctionId::new(3, 0, 0));
    assert_eq!(id("r1"), FunctionId::new(5, 0, 0));
    assert_eq!(id("r0"), FunctionId::new(6, 0, 0));
    assert_eq!(id("left"), FunctionId::new(7, 0, 0));
    assert_eq!(id("l1"), FunctionId::new(10, 0, 0));
    let first = FunctionPlace::Port(0);
    let port = |name: &str| {
        let functions = &node(&plan, name).functions;
        (functions.id_of(first), functions.space(first).buses())
    };
    assert_eq!(port("h0"), (FunctionId::new(0, 1, 0), (1, 10)));
    assert_eq!(port("top"), (FunctionId::new(2, 0, 0), (3, 6)));
}

#[test]
fn each_bar_is_aligned_and_inside_every_window_above_and_no_other() {
    let plan = plan(BOARDS);
    let leaves = ["l0", "l1", "r0", "r1"].map(|name| node(&plan, name));
    for leaf in leaves {
        let bar = leaf.bars[0].unwrap();
        assert_eq!(bar.base % bar.size, 0);
        let mut link = leaf.upstream;
        while let Some(index) = link {
            let above = &plan.nodes[plan.links[index].upstream.0];
            let open = |(port, _): &(&ConfigSpace, _)| {
                let windows = [port.memory_window(), port.prefetchable_window()];
                let mut windows = windows.into_iter().filter_map(Region::of);
                windows.any(|window| window.contains(bar.base) && window.contains(bar.end() - 1))
            };
            let ports = above.functions.ports().zip(&above.downstream);
            let through: Vec<usize> = ports.filter(open).map(|(_, link)| *link).collect();
            assert_eq!(through, [index]);
            link = above.upstream;
        }
    }
    assert_eq!(
        node(&plan, "l1").bars[0],
        Some(Region {
            base: 0xC000_0000,
            size: 16 << 20
        })
    );
    assert_eq!(node(&plan, "r1").bars[0].unwrap().base, 1 << 40);
}

#[test]
fn max_payload_is_the_smallest_of_the_tree_but_for_what_is_written_over_it() {
    let plan = plan(BOARDS);
    assert_eq!(node(&plan, "l0").max_payload, 256);
    assert_eq!(node(&plan, "r1").max_payload, 512);
    let link = plan
        .links
        .iter()
        .find(|link| link.id == "right-r1")
        .unwrap();
    assert_eq!(link.max_payload, 256);
}

#[test]
fn each_host_has_its_own_tree() {
    let plan = plan(&format!(
        "{BOARDS}[hosts.h1]\n[devices.x]\nupstream = \"h1\"\n"
    ));
    assert_eq!(node(&plan, "x").id, FunctionId::new(1, 0, 0));
    assert_eq!(node(&plan, "x").max_payload, 512);
    assert_eq!(node(&plan, "x").bars[0].unwrap().base, 0xC000_0000);
    assert_eq!(plan.nodes[node(&plan, "x").root].name, "h1");
}

#[test]
fn a_scenario_is_called_after_its_file() {
    assert_eq!(plan("[hosts.h0]").name, "right");
    assert_eq!(plan("name = \"x\"\n[hosts.h0]").name, "x");
}

fn flow(text: &str) -> FlowPlan {
    plan(&format!("{BOARDS}[[flows]]\nfrom = \"l0\"\n{text}"))
        .flows()
        .next()
        .expect("a flow")
        .clone()
}

#[test]
fn a_flow_uses_the_largest_requests_there_are() {
    let flow = flow("to = \"l1\"\nsize = \"4 MiB\"\noffset = \"4 KiB\"");
    assert_eq!(
        (flow.id.as_str(), flow.write_size, flow.read_size),
        ("flow-1", 256, 512)
    );
    assert_eq!(flow.address, 0xC000_1000);
    assert_eq!(
        (flow.amount, flow.window),
        (Amount::Bytes(4 << 20), 4 << 20)
    );
}

#[test]
fn flows_to_one_target_have_buffers_of_their_own_while_there_is_room() {
    let one = "[[flows]]\nfrom = \"l0\"\nto = \"r0\"\ncount = 100\n";
    let plan = plan(&format!("{BOARDS}{one}{one}{one}{one}offset = \"256 B\"\n"));
    let bar = node(&plan, "r0").bars[0].unwrap();
    let offsets: Vec<u64> = plan.flows().map(|flow| flow.address - bar.base).collect();
    assert_eq!(offsets, [0, 28 << 10, 0, 256]);
}

#[test]
fn the_answers_of_a_round_trip_go_to_the_node_that_asks() {
    let plan = plan(&format!(
        "{BOARDS}[devices.r]\nmodel = \"reflector\"\nupstream = \"left\"\n[[flows]]\nfrom = \"l0\"\nto = \"r\"\ndirection = \"round-trip\"\ncount = 5"
    ));
    let flow = plan.flows().next().expect("a flow");
    assert_eq!(flow.reply, Some(node(&plan, "l0").bars[0].unwrap().base));
    assert_eq!((flow.write_size, flow.window), (4, 20));
}

#[test]
fn a_window_is_used_again_in_whole_requests() {
    let over = flow("to = \"l1\"\nsize = \"4 MiB\"\nwindow = \"1000 B\"\nrequest_size = \"96 B\"");
    assert_eq!(over.window, 960);
    let lasting = flow("to = \"l1\"\nduration = \"1 ms\"");
    assert_eq!(
        (lasting.amount, lasting.window),
        (Amount::Lasting(kernel::Span::from_us(1000)), 1 << 20)
    );
}

#[test]
fn an_offset_lies_within_the_memory_of_a_host() {
    let flow = flow("to = \"h0\"\ncount = 4\noffset = \"1 GiB\"");
    assert_eq!(flow.address, (4 << 30) + (1 << 30));
    assert_eq!(flow.window, 4 * 256);
}

#[test]
fn an_address_is_a_target_of_its_own() {
    for written in ["\"0xdead_0000\"", "0xdead_0000"] {
        let flow = flow(&format!("to = {written}\ncount = 4"));
        assert_eq!((flow.to, flow.address), (None, 0xdead_0000));
    }
}

#[test]
fn profiles_build_on_each_other_in_any_order() {
    let plan = plan(
        "[profiles.a]\nbase = \"b\"\nposted_headers = 9\n[profiles.b]\nack_limit_fraction = 0.25\n[hosts.h0]\nprofile = \"a\"\nposted_headers = 10",
    );
    let port = &plan.nodes[0].port;
    assert_eq!(
        (port.ack_limit_fraction, port.posted_headers),
        (0.25, Some(10))
    );
}

#[test]
fn five_hundred_and_twelve_devices_are_planned() {
    let mut text = String::new();
    for switch in 0..16 {
        let host = switch / 4;
        if switch % 4 == 0 {
            writeln!(text, "[hosts.h{host}]").unwrap();
        }
        writeln!(text, "[switches.s{switch}]\nupstream = \"h{host}\"").unwrap();
        for device in 0..32 {
            let name = format!("d{switch}x{device}");
            writeln!(text, "[devices.{name}]\nupstream = \"s{switch}\"").unwrap();
            writeln!(
                text,
                "[[flows]]\nfrom = \"{name}\"\nto = \"h{host}\"\nsize = \"4 MiB\""
            )
            .unwrap();
        }
    }
    let plan = plan(&text);
    assert_eq!((plan.nodes.len(), plan.flows().count()), (532, 512));
}

/// A scenario with `count` devices below each of four hosts, behind three levels of switches.
fn deep(count: usize) -> String {
    let mut text = String::new();
    for host in 0..4 {
        writeln!(
            text,
            "[hosts.h{host}]\n[switches.h{host}top]\nupstream = \"h{host}\""
        )
        .unwrap();
        for middle in 0..2 {
            let name = format!("h{host}m{middle}");
            writeln!(text, "[switches.{name}]\nupstream = \"h{host}top\"").unwrap();
            for leaf in 0..4 {
                writeln!(text, "[switches.{name}l{leaf}]\nupstream = \"{name}\"").unwrap();
            }
        }
        for device in 0..count {
            let (middle, leaf) = (device % 2, device / 2 % 4);
            writeln!(
                text,
                "[devices.h{host}d{device}]\nupstream = \"h{host}m{middle}l{leaf}\""
            )
            .unwrap();
        }
    }
    text
}

#[test]
fn five_hundred_and_twelve_devices_behind_three_levels_of_switches_are_enumerated() {
    let plan = plan(&deep(128));
    let devices = plan.nodes.iter().filter(|node| node.bars[0].is_some());
    assert_eq!(devices.count(), 512);
}

#[test]
fn ports_beyond_the_devices_of_a_bus_are_functions_of_devices_that_are_there() {
    let mut text = "[hosts.h0]\n[switches.s]\nupstream = \"h0\"\n".to_owned();
    for port in [1, 33, 40] {
        writeln!(
            text,
            "[devices.d{port}]\nupstream = {{ to = \"s\", port = {port} }}"
        )
        .unwrap();
    }
    let plan = plan(&text);
    let functions = &node(&plan, "s").functions;
    let ports = (0..3).map(|port| functions.id_of(FunctionPlace::Port(port)).to_string());
    let ports: Vec<String> = ports.collect();
    assert_eq!(ports, ["02:01.0", "02:01.1", "02:08.0"]);
}

#[test]
fn the_catalogue_names_every_parameter_with_help_and_source() {
    let catalogue = catalogue();
    assert_eq!(catalogue.models[0]["name"], "dma");
    assert!(
        catalogue
            .profiles
            .iter()
            .any(|profile| profile["name"] == "generic")
    );
    for entry in &catalogue.parameters {
        assert!(
            !entry.declaration.help.is_empty() && !entry.declaration.source.is_empty(),
            "{entry:?}"
        );
    }
    let lanes = catalogue
        .parameters
        .iter()
        .find(|entry| entry.declaration.key == "lanes")
        .unwrap();
    assert_eq!(
        (lanes.place().as_str(), lanes.declaration.default.as_str()),
        ("links, upstream", "16")
    );
}
