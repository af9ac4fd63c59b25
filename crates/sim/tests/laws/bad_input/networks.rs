//! Errors in networks, fibres and their workloads.

use sim::Plan;

use super::refusal;

/// Two routers, on lines 1 to 8.
const TWO: &str = "[hosts.h0]\n[hosts.h1]\n[devices.r0]\nmodel = \"router\"\nupstream = \"h0\"\n[devices.r1]\nmodel = \"router\"\nupstream = \"h1\"\n";

/// A fibre between the two routers, on lines 9 to 11.
const FIBRE: &str = "[[fibres]]\nfrom = \"r0\"\nto = \"r1\"\n";

pub fn two(added: &str) -> String {
    refusal(&format!("{TWO}{FIBRE}{added}"))
}

/// A generated network on lines 1 and 2. The settings of its routers are on line 4, and `added` begins on line 5.
fn network(line: &str, routers: &str, added: &str) -> String {
    format!("[networks.n]\n{line}\n[networks.n.routers]\n{routers}\n{added}")
}

pub fn bad_network(line: &str, routers: &str, added: &str) -> String {
    refusal(&network(line, routers, added))
}

pub fn flow(from: &str, to: &str, added: &str) -> String {
    format!("[[flows]]\nid = \"f\"\nfrom = \"{from}\"\nto = \"{to}\"\ncount = 1\n{added}\n")
}

#[test]
fn a_flow_to_a_node_that_does_not_exist_is_refused() {
    assert_eq!(
        two(&flow("r0", "r9", "")),
        "bad.toml:15: flow \"f\", to: there is no host or device \"r9\"; did you mean \"r0\"?"
    );
    assert_eq!(
        bad_network("size = \"4x4\"", "", &flow("n-0-0", "n-9-9", "")),
        "bad.toml:8: flow \"f\", to: there is no host or device \"n-9-9\"; did you mean \"n-0-0\"?"
    );
}

#[test]
fn a_flow_between_trees_that_no_fibre_joins_is_refused() {
    for (from, to, places) in [
        ("r0", "r1", "r1 is below h1 and r0 is below h0"),
        (
            "h0",
            "h1",
            "h1 is a host of its own and h0 is a host of its own",
        ),
    ] {
        assert_eq!(
            refusal(&format!("{TWO}{}", flow(from, to, ""))),
            format!(
                "bad.toml:12: flow \"f\", to: {places}, with no way between; write a target in the same tree, or join routers in both by fibres, or network interface controllers (nic) in both by one controller or by joined ones"
            )
        );
    }
}

#[test]
fn only_writes_go_through_a_network() {
    for (from, to) in [("r0", "r1"), ("h0", "h1"), ("h0", "r1")] {
        for direction in ["read", "both", "round-trip"] {
            let line = format!("direction = \"{direction}\"");
            assert_eq!(
                two(&flow(from, to, &line)),
                "bad.toml:17: flow \"f\", direction: only writes go through a network of routers; write direction = \"write\""
            );
        }
    }
    for direction in ["read", "both"] {
        let line = format!("direction = \"{direction}\"");
        assert_eq!(
            two(&flow("r0", "0x40000", &line)),
            "bad.toml:17: flow \"f\", direction: the user logic of a router only writes to its network; write direction = \"write\""
        );
    }
}

#[test]
fn a_router_has_so_many_targets_behind_its_own_port() {
    let mut text = format!("{TWO}{FIBRE}");
    for name in ["a", "b", "c", "d"] {
        text += "[devices.NAME]\nupstream = \"h1\"\n"
            .replace("NAME", name)
            .as_str();
    }
    for name in ["a", "b", "c", "d"] {
        text += &flow("r0", name, "").replace("\"f\"", &format!("{name:?}"));
    }
    assert_eq!(
        refusal(&text),
        "bad.toml:41: flow \"d\", to: the router r1 leads to 3 other targets already; write fewer targets below h1"
    );
}

#[test]
fn the_two_ends_of_a_fibre_are_set_alike() {
    for (key, other, shown) in [
        ("lane_rate", "\"5 Gbit/s\"", ("10.3125 Gbit/s", "5 Gbit/s")),
        ("optical_lanes", "2", ("4", "2")),
        ("virtual_channels", "4", ("2", "4")),
        ("reliable", "true", ("false", "true")),
        ("flow_control", "\"native\"", ("credits", "native")),
        ("aperture", "\"128 KiB\"", ("1 MiB", "128 KiB")),
    ] {
        let with = format!("[devices.r1]\n{key} = {other}\n");
        let text = format!("{TWO}{FIBRE}").replace("[devices.r1]\n", &with);
        assert_eq!(
            refusal(&text),
            format!(
                "bad.toml:10: the two ends of this fibre differ: {key} is {} at r0 and {} at r1; write the same for both",
                shown.0, shown.1
            )
        );
    }
}

/// Returns the error of `TWO` and `FIBRE` with one more line in each router. In the first router, this is line 5.
fn routers(line: &str) -> String {
    let with = format!("model = \"router\"\n{line}\n");
    refusal(&format!("{TWO}{FIBRE}").replace("model = \"router\"\n", &with))
}

#[test]
fn a_packet_holds_what_comes_by_pci_express_and_no_more_than_the_link_takes() {
    for size in ["8 KiB", "4097 B"] {
        assert_eq!(
            routers(&format!("packet_size = \"{size}\"")),
            format!(
                "bad.toml:5: devices.r0.packet_size: {size} is out of range; write a value from 8 B up to 4 KiB"
            )
        );
    }
    assert_eq!(
        routers("packet_size = \"256 B\""),
        "bad.toml:5: r0.packet_size: 256 B are less than its max payload size of 512 B, which comes by PCI Express; write 512 B at least, or a smaller max_payload"
    );
}

#[test]
fn a_buffer_holds_a_packet_and_no_more_than_credit_can_count() {
    for key in ["channel_buffer", "injection_buffer"] {
        assert_eq!(
            routers(&format!("{key} = \"1 KiB\"")),
            format!(
                "bad.toml:5: r0.{key}: 1 KiB hold no packet of packet_size = \"1536 B\", with its headers; write 1.6 kB at least, or a smaller packet_size"
            )
        );
    }
    assert_eq!(
        routers("optical_lanes = 1\nchannel_buffer = \"1 MiB\""),
        "bad.toml:6: r0.channel_buffer: 1 MiB are more cycles than a credit can count; write 256 kB at most, or more lanes"
    );
}

#[test]
fn what_a_router_can_not_have_is_refused() {
    assert_eq!(
        routers("fibre_ports = 8"),
        "bad.toml:5: devices.r0.fibre_ports: 8 is out of range; write a value from 1 up to 7"
    );
    assert_eq!(
        routers("virtual_channels = 0"),
        "bad.toml:5: devices.r0.virtual_channels: 0 is out of range; write a value from 1 up to 8"
    );
    assert_eq!(
        routers("aperture = \"65 KiB\""),
        "bad.toml:5: r0.aperture: 65 KiB is not a power of two; write \"128 KiB\""
    );
    assert!(
        refusal("[hosts.h0]\n[devices.a]\nupstream = \"h0\"\nlane_rate = \"5 Gbit/s\"\n")
            .starts_with("bad.toml:4: unknown key \"lane_rate\" in devices.a; it is a key of devices, model router")
    );
}

#[test]
fn a_port_takes_one_fibre() {
    assert_eq!(
        two("from_port = 1\n[[fibres]]\nfrom = \"r0\"\nfrom_port = 1\nto = \"r1\"\n"),
        "bad.toml:15: optical port 1 of r0 is already taken; write another one"
    );
    assert_eq!(
        two("from_port = 4\n"),
        "bad.toml:12: r0 has no optical port 4; write one from 0 to 3, or a larger fibre_ports there"
    );
    // A port number that does not fit into 8 bits is an error; its upper bits are not ignored.
    assert_eq!(
        two("to_port = 256\n"),
        "bad.toml:12: r1 has no optical port 256; write one from 0 to 3, or a larger fibre_ports there"
    );
    assert_eq!(
        two(&FIBRE.repeat(4)),
        "bad.toml:22: no optical port of r0 is left (4 in all); write a larger fibre_ports there, up to 7"
    );
}

#[test]
fn a_fibre_joins_two_routers() {
    let fibre = |to: &str| refusal(&format!("{TWO}[[fibres]]\nfrom = \"r0\"\nto = \"{to}\"\n"));
    assert_eq!(
        fibre("r0"),
        "bad.toml:11: this fibre begins and ends at r0; write two routers"
    );
    assert_eq!(
        fibre("h0"),
        "bad.toml:11: h0 is not a router, and a fibre connects routers; did you mean \"r0\"?"
    );
    assert_eq!(
        fibre("r7"),
        "bad.toml:11: there is no router \"r7\"; did you mean \"r0\"?"
    );
    assert_eq!(
        refusal(&format!("{TWO}[[fibres]]\nfrom = \"r0\"\n")),
        "bad.toml:9: fibres 1: there is no to; write to = \"NAME\" of a router"
    );
    assert_eq!(
        refusal("[hosts.h0]\n[[fibres]]\nfrom = \"a\"\nto = \"b\"\n"),
        "bad.toml:3: there is no router \"a\"; write a device with model = \"router\""
    );
}

#[test]
fn a_fibre_that_can_not_be_is_refused() {
    assert_eq!(
        two("severed_at = \"0 us\"\n"),
        "bad.toml:9: fibre r0-r1 is severed before it carries anything; leave it out"
    );
    assert_eq!(
        two("severed_at = \"-1 us\"\n"),
        "bad.toml:12: fibres 1.severed_at: \"-1 us\" is negative; write a time from 0 up"
    );
    assert_eq!(
        two("length = \"2 s\"\n"),
        "bad.toml:12: fibres 1.length: \"2 s\" is not a length; write one like \"150 m\" (units: mm, cm, m, km)"
    );
    assert_eq!(
        two("fibre_bit_error_rate = 0.5\n"),
        "bad.toml:12: fibres 1.fibre_bit_error_rate: 0.5 is out of range; write a value from 0 up to 0.1"
    );
}

#[test]
fn a_size_that_can_not_be_is_refused() {
    for size in ["0x4", "4x4x4x4", "x", "", "4x", "-1", "4X4", "99999"] {
        assert_eq!(
            bad_network(&format!("size = \"{size}\""), "", ""),
            format!(
                "bad.toml:2: networks.n.size: \"{size}\" is not a size; write the nodes along one to three dimensions, such as \"8x8\""
            )
        );
    }
    for (size, nodes) in [("1", 1), ("1x1", 1), ("128x129", 16512)] {
        assert_eq!(
            bad_network(&format!("size = \"{size}\""), "", ""),
            format!(
                "bad.toml:2: networks.n.size: \"{size}\" are {nodes} nodes; write a size of 2 to 16384"
            )
        );
    }
    assert!(
        bad_network("size = 4.5", "", "")
            .starts_with("bad.toml:2: networks.n.size: 4.5 is not a size")
    );
    assert!(bad_network("size = [4, 4]", "", "").contains("a list is not allowed here"));
}

#[test]
fn sides_of_one_and_two_are_right() {
    for (size, ports) in [("1x2", 4), ("2x1", 4), ("2", 2), ("2x2", 4), ("2x1x3", 6)] {
        for shape in ["mesh", "torus"] {
            let text = network(
                &format!("size = \"{size}\"\nshape = \"{shape}\""),
                &format!("fibre_ports = {ports}"),
                "",
            );
            let plan = Plan::read(&text, "right.toml").unwrap();
            assert_eq!(plan.warnings, Vec::<String>::new());
        }
    }
}

#[test]
fn a_shape_has_its_dimensions_and_its_ports() {
    assert_eq!(
        bad_network("size = \"4x4x4\"", "", ""),
        "bad.toml:1: networks.n: its routers have 4 optical ports, and 3 dimensions take 6; write fibre_ports = 6 for its routers"
    );
    assert_eq!(
        bad_network("size = \"4x4\"\nshape = \"ring\"", "", ""),
        "bad.toml:1: networks.n: a ring has one dimension, and 4x4 are 2; write shape = \"torus\", or one number"
    );
    assert_eq!(
        bad_network("size = \"4x4\"\nshape = \"star\"", "", ""),
        "bad.toml:3: networks.n.shape: \"star\" is not known; write \"ring\" or \"mesh\" or \"torus\""
    );
}

#[test]
fn adaptive_routing_has_channels_to_escape_by() {
    assert_eq!(
        bad_network("routing = \"adaptive\"", "", ""),
        "bad.toml:2: networks.n: adaptive routing needs 2 virtual channels to escape by and one more, and there are 2; write virtual_channels = 3 for its routers"
    );
    assert_eq!(
        bad_network(
            "routing = \"adaptive\"\nshape = \"mesh\"",
            "virtual_channels = 1",
            ""
        ),
        "bad.toml:2: networks.n: adaptive routing needs 1 virtual channels to escape by and one more, and there are 1; write virtual_channels = 2 for its routers"
    );
}

#[test]
fn the_routers_of_a_network_are_below_their_own_hosts() {
    assert_eq!(
        bad_network("size = \"2x2\"", "upstream = \"n-0-0-host\"", ""),
        "bad.toml:4: networks.n.routers.upstream: each router of a network is below its own host, such as n-0-0-host; write upstream = { lanes = 8 } for what is different about their links"
    );
    assert!(
        bad_network("size = \"2x2\"", "model = \"dma\"", "").starts_with(
            "bad.toml:4: unknown key \"model\" in networks.n.routers; it is a key of devices"
        )
    );
}

#[test]
fn names_of_a_network_are_taken() {
    assert_eq!(
        bad_network(
            "size = \"2x2\"",
            "",
            "[devices.n-0-0]\nupstream = \"n-0-0-host\"\n"
        ),
        "bad.toml:1: \"n-0-0\" is already the name of the device on line 5; write another one"
    );
    assert_eq!(
        bad_network("size = \"2x2\"", "", "[hosts.n-0-0-host]\n"),
        "bad.toml:1: \"n-0-0-host\" is already the name of the host on line 5; write another one"
    );
}

#[test]
fn only_a_fibre_that_there_is_can_be_described_anew() {
    let fibre = |from: &str, to: &str, ports: &str| {
        let text = format!("[[fibres]]\nfrom = \"{from}\"\nto = \"{to}\"\n{ports}\n");
        bad_network("size = \"4x4\"", "", &text)
    };
    assert_eq!(
        fibre("n-0-0", "n-1-1", ""),
        "bad.toml:5: n-0-0 and n-1-1 are not neighbours in a generated network, which has its fibres already; write two that are, or routers of your own"
    );
    assert_eq!(
        fibre("n-0-0", "n-1-0", "from_port = 3"),
        "bad.toml:5: no fibre joins these ports of n-0-0 and n-1-0; leave out from_port and to_port, or write those of one that does"
    );
    assert_eq!(
        fibre("n-0-0", "n-1-0", "severed_at = \"0 s\""),
        "bad.toml:5: fibre n-0-0-n-1-0 is severed before it carries anything; leave it out"
    );
}

#[test]
fn a_fibre_described_anew_keeps_what_is_not_written() {
    let text = network(
        "size = \"2\"\nlength = \"100 m\"\nfibre_bit_error_rate = 1e-6",
        "",
        "[[fibres]]\nfrom = \"n-1\"\nto = \"n-0\"\nfrom_port = 1\nsevered_at = \"3 us\"\n",
    );
    let plan = Plan::read(&text, "right.toml").unwrap();
    // In a ring of two nodes there are two fibres: one from node 0 to node 1, and one from node 1 back to node 0.
    let [up, round] = plan.fibres.as_slice() else {
        panic!("two nodes have two fibres");
    };
    assert_eq!((up.flight, up.bit_error_rate), (round.flight, 1e-6));
    assert_eq!(up.severed_at, Some(kernel::Span::from_us(3)));
    assert_eq!(round.severed_at, None);
}

#[test]
fn a_fibre_of_a_generated_network_is_described_once_and_has_two_ends() {
    let fibres = |pairs: &[(&str, &str)]| {
        let one = |(from, to): &(&str, &str)| {
            format!("[[fibres]]\nfrom = \"{from}\"\nto = \"{to}\"\nlength = \"2 m\"\n")
        };
        let text: String = pairs.iter().map(one).collect();
        bad_network("size = \"4x4\"", "", &text)
    };
    assert_eq!(
        fibres(&[("n-0-0", "n-1-0"), ("n-1-0", "n-0-0")]),
        "bad.toml:9: line 5 describes this fibre already; write what is different in one place"
    );
    assert_eq!(
        fibres(&[("n-0-0", "n-0-0")]),
        "bad.toml:7: this fibre begins and ends at n-0-0; write two routers"
    );
}
