//! Errors in hosts, switches, devices and links.

use std::fmt::Write;

use super::{PAIR, flow, pair, refusal};

#[test]
fn an_unknown_key_is_offered_the_nearest() {
    assert_eq!(
        pair("tagz = 64"),
        r#"bad.toml:8: unknown key "tagz" in devices.b; did you mean "tags"?"#
    );
    assert_eq!(
        refusal("[host.h0]"),
        r#"bad.toml:1: unknown key "host" in the scenario; did you mean "hosts"?"#
    );
    assert_eq!(
        pair("[links]\ncolour = 1"),
        r#"bad.toml:9: unknown key "colour" in links; the keys are generation, lanes, delay, bit_error_rate, sris, spread_spectrum, fails_at, tc_vc_map, arbitration_weight"#
    );
}

#[test]
fn a_key_of_the_link_in_a_node_is_told_where_it_belongs() {
    assert_eq!(
        pair("lanes = 4"),
        "bad.toml:8: devices.b.lanes: this describes a link; write it inside upstream = { to = ... } or under [links]"
    );
}

#[test]
fn a_wrong_unit_is_told_the_right_ones() {
    assert_eq!(
        pair("[links]\ndelay = \"5 MHz\""),
        r#"bad.toml:9: links.delay: "5 MHz" is not a time; write one like "150 ns" (units: fs, ps, ns, us, ms, s)"#
    );
}

#[test]
fn a_missing_unit_is_offered_one() {
    assert_eq!(
        pair("[links]\ndelay = 5"),
        r#"bad.toml:9: links.delay: 5 has no unit; write "5 ns""#
    );
}

#[test]
fn negative_numbers_are_refused() {
    assert_eq!(
        pair("[links]\ndelay = \"-5 ns\""),
        r#"bad.toml:9: links.delay: "-5 ns" is negative; write a time from 0 up"#
    );
    assert!(refusal("seed = -1").starts_with("bad.toml:1: seed: -1 is out of range; write"));
    assert!(flow("count = -4").starts_with("bad.toml:12: flows 1.count: -4 is out of range"));
}

#[test]
fn a_cycle_is_shown_all_around() {
    let text = r#"[hosts.h0]
[switches.s0]
upstream = "s2"
[switches.s1]
upstream = "s0"
[switches.s2]
upstream = { to = "s1" }
"#;
    assert_eq!(
        refusal(text),
        "bad.toml:3: s0 -> s2 -> s1 -> s0 is a cycle; connect one of them upstream to a host"
    );
}

#[test]
fn a_switch_below_itself_is_a_cycle() {
    let text = "[hosts.h0]\n[switches.s0]\nupstream = \"s0\"";
    assert_eq!(
        refusal(text),
        "bad.toml:3: s0 -> s0 is a cycle; connect one of them upstream to a host"
    );
}

#[test]
fn two_devices_on_one_port_are_refused() {
    let text = r#"[hosts.h0]
[devices.a]
upstream = { to = "h0", port = 1 }
[devices.b]
upstream = { to = "h0", port = 1 }
"#;
    assert_eq!(
        refusal(text),
        "bad.toml:5: port 1 of h0 is already taken by a; write another port, or none for the next free one"
    );
}

#[test]
fn a_port_beyond_those_of_the_switch_is_refused() {
    let message = pair("[devices.c]\nupstream = { to = \"s0\", port = 1000 }");
    assert!(message.starts_with("bad.toml:9: switch s0 has no port 1000; write one from 0 to "));
}

#[test]
fn more_links_than_ports_are_refused() {
    let mut text = String::from("[hosts.h0]\n[switches.s0]\nupstream = \"h0\"\nports = 3\n");
    for n in 0..3 {
        write!(text, "[devices.d{n}]\nupstream = \"s0\"\n").unwrap();
    }
    assert_eq!(
        refusal(&text),
        "bad.toml:10: no port of s0 is left (2 for links below); write a larger ports = there, or another switch"
    );
}

#[test]
fn a_socket_that_the_host_does_not_have_is_refused() {
    let text = |sockets, socket| {
        format!(
            "[hosts.h0]\nsockets = {sockets}\n[devices.a]\nupstream = {{ to = \"h0\", socket = {socket} }}\n"
        )
    };
    assert_eq!(
        refusal(&text(2, 2)),
        "bad.toml:4: host h0 has no socket 2; write one from 0 to 1, or a larger sockets = there"
    );
    assert_eq!(
        refusal(&text(1, 1)),
        "bad.toml:4: host h0 has no socket 1; write 0, or a larger sockets = there"
    );
    assert_eq!(
        refusal(&text(9, 0)),
        "bad.toml:2: hosts.h0.sockets: 9 is out of range; write a value from 1 up to 8"
    );
}

#[test]
fn a_quadrant_that_the_host_does_not_have_is_refused() {
    let text = |quadrants, quadrant| {
        format!(
            "[hosts.h0]\nquadrants = {quadrants}\nsockets = 2\n[devices.a]\nupstream = {{ to = \"h0\", quadrant = {quadrant} }}\n"
        )
    };
    assert_eq!(
        refusal(&text(4, 4)),
        "bad.toml:5: host h0 has no quadrant 4; write one from 0 to 3, or a larger quadrants = there"
    );
    assert_eq!(
        refusal(&text(1, 1)),
        "bad.toml:5: host h0 has no quadrant 1; write 0, or a larger quadrants = there"
    );
    assert_eq!(
        refusal(&text(17, 0)),
        "bad.toml:2: hosts.h0.quadrants: 17 is out of range; write a value from 1 up to 16"
    );
    assert_eq!(
        refusal("[hosts.h0]\nquadrant_peer_to_peer = \"some\""),
        "bad.toml:2: hosts.h0.quadrant_peer_to_peer: \"some\" is not known; write \"none\" or \"writes\" or \"all\""
    );
}

#[test]
fn only_the_link_to_a_host_has_a_quadrant() {
    assert_eq!(
        pair("[devices.c]\nupstream = { to = \"s0\", quadrant = 0 }"),
        "bad.toml:9: switch s0 has no quadrants; leave out quadrant here, and write it where the link to a host is"
    );
    assert_eq!(
        pair("quadrant = 0"),
        "bad.toml:8: devices.b.quadrant: this is where its link hangs; write it inside upstream = { ... }"
    );
}

#[test]
fn only_the_link_to_a_host_has_a_socket() {
    assert_eq!(
        pair("[devices.c]\nupstream = { to = \"s0\", socket = 0 }"),
        "bad.toml:9: switch s0 has no sockets; leave out socket here, and write it where the link to a host is"
    );
    assert_eq!(
        pair("socket = 0"),
        "bad.toml:8: devices.b.socket: this is where its link hangs; write it inside upstream = { ... }"
    );
    assert_eq!(
        refusal("[hosts.h0]\nsocket = 2"),
        r#"bad.toml:2: unknown key "socket" in hosts.h0; did you mean "sockets"?"#
    );
}

#[test]
fn a_lane_count_that_does_not_exist_is_refused() {
    assert_eq!(
        pair("[links]\nlanes = 3"),
        "bad.toml:9: links.lanes: there is no link of 3 lanes; write 1, 2, 4, 8, 12, 16 or 32"
    );
    assert_eq!(
        pair("[links]\nlanes = 8.0"),
        "bad.toml:9: links.lanes: there is no link of 8.0 lanes; write 1, 2, 4, 8, 12, 16 or 32"
    );
}

#[test]
fn a_generation_that_does_not_exist_is_refused() {
    let right = "write 1 to 5 or a speed from \"2.5 GT/s\" to \"32 GT/s\"";
    assert_eq!(
        pair("[links]\ngeneration = 7"),
        format!("bad.toml:9: links.generation: there is no generation 7; {right}")
    );
    assert_eq!(
        pair("[links]\ngeneration = \"9 GT/s\""),
        format!("bad.toml:9: links.generation: there is no generation \"9 GT/s\"; {right}")
    );
}

#[test]
fn a_max_payload_above_what_the_device_supports_is_refused() {
    assert_eq!(
        pair("max_payload_supported = \"256 B\"\nmax_payload = \"512 B\""),
        "bad.toml:9: b.max_payload: 512 B is above what b supports; write 256 B at most, or a larger max_payload_supported"
    );
}

#[test]
fn a_max_payload_that_does_not_exist_is_refused() {
    let right = "write 128, 256 or 512 B, or 1, 2 or 4 KiB";
    for (written, shown) in [
        ("192 B", "192 B"),
        ("64 B", "64 B"),
        ("8 KiB", "8 KiB"),
        ("0 B", "0 B"),
    ] {
        assert_eq!(
            pair(&format!("max_payload = \"{written}\"")),
            format!("bad.toml:8: b.max_payload: {shown} is not a size that there is; {right}")
        );
    }
    let supported = pair("max_payload_supported = \"192 B\"");
    assert!(
        supported.starts_with("bad.toml:8: devices.b.max_payload_supported: 192 B is not possible")
    );
}

#[test]
fn an_unknown_model_direction_or_profile_is_told_what_there_is() {
    assert_eq!(
        pair("model = \"dna\""),
        r#"bad.toml:8: devices.b.model: unknown model "dna", which no --model dna=FILE (in Python: models=) gives; did you mean "dma"?"#
    );
    assert_eq!(
        flow("count = 1\ndirection = \"up\""),
        r#"bad.toml:13: flows 1.direction: "up" is not known; write "write" or "read" or "both" or "round-trip""#
    );
    assert_eq!(
        pair("profile = \"genetic\""),
        r#"bad.toml:8: devices.b.profile: unknown profile "genetic"; did you mean "generic"?"#
    );
}

#[test]
fn profiles_based_on_each_other_in_a_circle_are_refused() {
    let text = "[profiles.p]\nbase = \"q\"\n[profiles.q]\nbase = \"p\"\n[hosts.h0]";
    assert!(refusal(text).starts_with("bad.toml:1: profiles.p: this profile is based on itself"));
    let text = "[profiles.p]\nbase = \"no-such-thing\"\n[hosts.h0]";
    assert!(refusal(text).starts_with(
        "bad.toml:2: profiles.p.base: unknown profile \"no-such-thing\"; write one of "
    ));
    let text = "[profiles.generic]\n[hosts.h0]";
    assert!(
        refusal(text).starts_with("bad.toml:1: profiles.generic: a built-in profile has this name")
    );
}

#[test]
fn a_name_belongs_to_one_node() {
    assert_eq!(
        pair("[devices.s0]\nupstream = \"h0\""),
        r#"bad.toml:8: "s0" is already the name of the switch on line 2; write another one"#
    );
}

#[test]
fn what_is_not_toml_is_refused_with_its_line() {
    let message = pair("upstream = { to = \"s0\"");
    assert!(
        message.starts_with("bad.toml:8: this is not TOML: "),
        "{message}"
    );
    assert!(!message.contains('\n'));
    let twice = pair("[devices.a]\nupstream = \"s0\"");
    assert_eq!(
        twice,
        "bad.toml:8: this is not TOML: duplicate key a; write each name once in a table"
    );
}

#[test]
fn an_empty_scenario_is_told_how_to_begin() {
    for empty in ["", "\n\n", "# nothing yet\n"] {
        assert!(
            refusal(empty)
                .starts_with("bad.toml: this scenario is empty; write at least [hosts.h0]")
        );
    }
}

#[test]
fn a_scenario_without_a_host_is_refused() {
    let right = "there is no host; write [hosts.h0], the root complex at the top of the tree";
    assert_eq!(refusal("seed = 1"), format!("bad.toml: {right}"));
    assert_eq!(
        refusal("[devices.a]\nupstream = \"a\""),
        format!("bad.toml:1: {right}")
    );
}

#[test]
fn a_device_that_is_not_connected_is_refused() {
    assert_eq!(
        pair("[devices.c]\nbar = \"1 MiB\""),
        "bad.toml:8: device c is not connected; write upstream = { to = \"NAME\" } of a host or switch"
    );
}

#[test]
fn a_link_to_nowhere_or_to_a_device_is_refused() {
    assert_eq!(
        pair("[devices.c]\nupstream = \"s1\""),
        r#"bad.toml:9: there is no host or switch "s1"; did you mean "s0"?"#
    );
    assert_eq!(
        pair("[devices.c]\nupstream = \"a\""),
        "bad.toml:9: a is a device, and nothing hangs below one; write a host or switch"
    );
    assert!(
        refusal("[hosts.h0]\nupstream = \"h1\"\n[hosts.h1]")
            .starts_with("bad.toml:2: host h0 is the top")
    );
}

#[test]
fn a_bar_that_cannot_be_is_refused() {
    assert_eq!(
        pair("bar = \"65 KiB\""),
        r#"bad.toml:8: b.bar: 65 KiB is not a size that a BAR can have; write "128 KiB""#
    );
    assert_eq!(
        pair("bar = \"4 GiB\"\nbar_address_bits = 32"),
        "bad.toml:8: b.bar: 4 GiB is more than a 32-bit BAR can be; write bar_address_bits = 64"
    );
    let text = "bar = \"512 MiB\"\nbar_address_bits = 32\n[devices.c]\nupstream = \"h0\"\nbar = \"512 MiB\"\nbar_address_bits = 32";
    assert!(pair(text).contains("the 32-bit BARs below h0 do not fit in"));
}

#[test]
fn a_tree_with_more_buses_than_there_are_is_refused() {
    let mut text = String::from("[hosts.h0]\n");
    for n in 0..200 {
        let above = if n == 0 {
            "h0".to_owned()
        } else {
            format!("s{}", n - 1)
        };
        write!(text, "[switches.s{n}]\nupstream = \"{above}\"\n").unwrap();
    }
    assert!(
        refusal(&text)
            .contains("the tree of h0 needs more than 256 buses, one for each link and one inside each switch, from s127 on; write a second host")
    );
}

#[test]
fn a_first_bus_that_leaves_too_few_buses_is_refused() {
    let text = "[hosts.h0]\nfirst_bus = 254\n[switches.s]\nupstream = \"h0\"\n[devices.d]\nupstream = \"s\"\n";
    assert_eq!(
        refusal(text),
        "bad.toml:2: h0.first_bus: from 254 on there are 2 buses, and the tree of h0 needs more, by d; write a smaller one"
    );
}

#[test]
fn the_bridge_without_a_bus_number_is_named_by_its_line() {
    // There are 255 buses below bus 0. Each switch needs one bus for its upstream link and one for its internal bus, so the last of 128 switches has
    // no bus left for its ports.
    let mut text = String::from("[hosts.h0]\n");
    let mut above = "h0".to_owned();
    for n in 0..128 {
        write!(text, "[switches.s{n}]\nupstream = \"{above}\"\n").unwrap();
        above = format!("s{n}");
    }
    let line = 2 + 2 * 127;
    assert_eq!(
        refusal(&text),
        format!(
            "bad.toml:{line}: the tree of h0 needs more than 256 buses, one for each link and one inside each switch, from s127 on; write a second host for the rest"
        )
    );
}

#[test]
fn bars_without_room_are_told_with_the_largest_of_them() {
    let text = "[hosts.h0]\n[devices.a]\nupstream = \"h0\"\nbar = \"512 MiB\"\nbar_address_bits = 32\n[devices.b]\nupstream = \"h0\"\nbar = \"256 MiB\"\n[devices.c]\nupstream = \"h0\"\nbar = \"256 MiB\"\n";
    assert_eq!(
        refusal(text),
        "bad.toml:4: the 32-bit BARs below h0 do not fit in 1004 MiB; write bar_address_bits = 64 for the large ones"
    );
}

#[test]
fn an_msix_table_has_a_place_beside_other_things() {
    for (keys, line, why) in [
        (
            "bar = \"4 KiB\"\nmsix_vectors = 8",
            9,
            "b.msix_vectors: the MSI-X table and its pending bits take whole 4 KiB of BAR 0 beside other things, which has 4096 B; write a BAR of 8 KiB at least, or msix_bar = 4",
        ),
        (
            "bar = \"0 B\"\nmsix_vectors = 8",
            9,
            "b.msix_vectors: there is no BAR 0 for the MSI-X table; write a bar of 8 KiB at least, or msix_bar = 4",
        ),
        (
            "msix_vectors = 300\nmsix_table = \"60 KiB\"",
            9,
            "b.msix_table: the MSI-X table and its pending bits take whole 4 KiB of BAR 0 beside other things, which has 65536 B; write a BAR of 128 KiB at least, or msix_bar = 4",
        ),
        (
            "msix_vectors = 300\nmsix_bar = 4\nmsix_pending = \"4 KiB\"",
            10,
            "b.msix_pending: the pending bits at 4096 B lie in the MSI-X table, which takes 4800 B from 0 B on; write an msix_pending behind it",
        ),
        (
            "msix_vectors = 8\nmsix_bar = 4\nmsix_table = \"4 B\"",
            10,
            "b.msix_table: the MSI-X table and its pending bits begin at multiples of 8 B; write such an offset",
        ),
        (
            "msix_bar = 4",
            8,
            "b.msix_bar: there is no MSI-X table; write msix_vectors, or leave it out",
        ),
        (
            "model = \"nvme\"\nmsix_vectors = 8\nmsix_bar = 1",
            10,
            "b.msix_bar: the device has BAR 1 already; write 4, or 0 for the end of BAR 0",
        ),
        (
            "model = \"sg-dma\"\nmsix_vectors = 2",
            9,
            "b.msix_vectors: 2 is too few for a device with 3 interrupts; write 3 to 2048",
        ),
        (
            "virtual_functions = 2\nmsix_vectors = 2",
            9,
            "b.msix_vectors: virtual functions: the MSI-X table and its pending bits take whole 4 KiB of BAR 0 beside other things, which has 4096 B; write a BAR of 8 KiB at least, or msix_bar = 4",
        ),
    ] {
        assert_eq!(pair(keys), format!("bad.toml:{line}: {why}"));
    }
}

#[test]
fn a_key_without_effect_is_refused() {
    for (keys, line, why) in [
        (
            "model = \"nvme\"\nbar = \"1 MiB\"",
            9,
            "b.bar: a device with model = \"nvme\" has a BAR 0 of 16 KiB; leave it out",
        ),
        (
            "model = \"sg-dma\"\nmsi_vectors = 1",
            9,
            "b.msi_vectors: 1 is too few for a device with 3 interrupts; write 4 at least, or leave it out",
        ),
        (
            "pasid_enable = true",
            8,
            "b.pasid_enable: there is no PASID capability; write pasid_width = 20, or leave it out",
        ),
        (
            "pasid_execute = true",
            8,
            "b.pasid_execute: there is no PASID capability; write pasid_width = 20, or leave it out",
        ),
        (
            "pasid_privileged = true",
            8,
            "b.pasid_privileged: there is no PASID capability; write pasid_width = 20, or leave it out",
        ),
    ] {
        assert_eq!(pair(keys), format!("bad.toml:{line}: {why}"));
    }
}

#[test]
fn a_bar_of_virtual_functions_is_a_page_at_least_and_somebodys() {
    assert_eq!(
        pair("virtual_functions = 2\nvirtual_bar = \"2 KiB\""),
        r#"bad.toml:9: b.virtual_bar: 2 KiB is not a size that a BAR can have; write "4 KiB""#
    );
    assert_eq!(
        pair("virtual_functions = 2\nvirtual_bar = \"1 GiB\"\nbar_address_bits = 32"),
        "bad.toml:9: b.virtual_bar: 1 GiB is more than a 32-bit BAR can be; write bar_address_bits = 64"
    );
    assert_eq!(
        pair("virtual_functions = 5\nvirtual_bar = \"256 MiB\"\nbar_address_bits = 32"),
        "bad.toml:9: the 32-bit BARs below h0 do not fit in 1004 MiB; write bar_address_bits = 64 for the large ones"
    );
    assert_eq!(
        pair("virtual_bar = \"4 KiB\""),
        "bad.toml:8: b.virtual_bar: there are no virtual functions that have it; write virtual_functions = 1 to 255, or leave it out"
    );
    assert!(
        pair("virtual_functions = 256")
            .contains("256 is out of range; write a value from 0 up to 255")
    );
}

#[test]
fn virtual_functions_need_numbers() {
    assert_eq!(
        pair("model = \"nic\"\nvirtual_functions = 8"),
        "bad.toml:9: b.virtual_functions: 8 is too many for model \"nic\", whose packets have space for the numbers of 7; write 7 at most"
    );
    let vectors =
        "virtual_functions = 255\nmsix_vectors = 512\nmsix_bar = 4\n[devices.c]\nupstream = \"s0\"";
    assert_eq!(
        pair(vectors),
        "bad.toml:11: the functions of h0 by here have more than 65536 interrupt vectors, as many as MSI can tell apart; write smaller msi_vectors or msix_vectors, or fewer virtual_functions"
    );
    let switch =
        |number| format!("[switches.s{number}]\nupstream = \"h\"\nari_forwarding = false\n");
    let device = |number| {
        let above = number / 63;
        format!("[devices.d{number}]\nupstream = \"s{above}\"\nvirtual_functions = 8\n")
    };
    let text = format!("[hosts.h]\n{}{}", switch(0), switch(1));
    // Firmware scans d94 last, because ports 0 to 31 of a switch are function 0 of its devices 0 to 31, and further ports have higher function
    // numbers.
    let devices: String = (0..126).map(device).collect();
    assert_eq!(
        refusal(&(text.clone() + &devices)),
        "bad.toml:292: the tree of h needs more than 256 buses by the virtual functions of d94, more than 7 of which take a bus of their own without ARI; write ari_forwarding = true for the node above, or virtual_functions = 7"
    );
    let flow = "[[flows]]\nfrom = \"d0\"\nfunction = 9\nto = \"h\"\ncount = 1\n";
    assert_eq!(
        refusal(&(text + &device(0) + flow)),
        "bad.toml:13: flow \"flow-1\", function: d0 has no function 9; write a smaller one, or virtual_functions = 9 or more there"
    );
}

#[test]
fn a_vendor_is_written_in_hexadecimal() {
    assert_eq!(
        pair("vendor_id = \"Xilinx\""),
        "bad.toml:8: devices.b.vendor_id: \"Xilinx\" is not an identification number; write it like \"0x10ee\""
    );
    assert!(
        pair("vendor_id = \"0xffff\"")
            .contains("0xffff is out of range; write a value up to 0xfffe, or none")
    );
}

#[test]
fn a_measurement_that_ends_before_it_begins_is_refused() {
    let text = "[measure]\nfrom = \"2 us\"\nuntil = \"1 us\"";
    assert_eq!(
        pair(text),
        "bad.toml:8: measure: it ends before it begins; write from before until"
    );
}

#[test]
fn a_value_of_the_wrong_shape_is_refused() {
    assert!(refusal("hosts = 4").contains("hosts: is not a section; write [hosts]"));
    assert!(
        refusal("[hosts]\nh0 = \"x\"").contains("hosts.h0: is not a section; write [hosts.h0]")
    );
    assert!(pair("bar = [1]").contains("devices.b.bar: a list is not allowed here"));
    assert!(pair("bar = 2020-01-01").contains("devices.b.bar: a date is not allowed here"));
    assert!(refusal("[flows]\nfrom = \"a\"").contains("begin each table with [[flows]]"));
    assert!(refusal("name = 3\n[hosts.h0]").contains("name: 3 is not a text; write it in quotes"));
    assert!(refusal("seed = 99999999999999999999999").contains("too large"));
}

#[test]
fn a_buffer_holds_the_largest_packet_of_its_class() {
    let with =
        |line: &str| refusal(&PAIR.replace("[switches.s0]", &format!("[switches.s0]\n{line}")));
    for (key, least) in [
        ("posted_data", 512),
        ("completion_data", 512),
        ("replay_buffer", 544),
    ] {
        assert_eq!(
            with(&format!("{key} = \"128 B\"")),
            format!(
                "bad.toml:3: s0.{key}: 128 B does not hold one packet of the max payload size; write {least} B at least"
            )
        );
    }
    assert_eq!(
        with("nonposted_data = \"16 B\""),
        "bad.toml:3: s0.nonposted_data: 16 B does not hold the operands of an atomic operation; write 32 B at least"
    );
}

#[test]
fn a_place_in_a_beat_is_a_part_of_the_beat() {
    assert_eq!(
        pair("datapath = \"32 B\"\nstraddling = \"32 B\""),
        "bad.toml:9: b.straddling: 32 B is no part of a beat of 32 B; write less than datapath, which must be a multiple of it"
    );
    assert_eq!(
        pair("receive_straddling = \"16 B\""),
        "bad.toml:8: b.receive_straddling: 16 B is no part of a beat of 0 B; write less than receive_datapath, which must be a multiple of it"
    );
    assert_eq!(
        pair("datapath = \"32 B\"\nstraddling = \"16 B\"\nidle_cycles = 1"),
        "bad.toml:9: b.straddling: no packet begins in the beat of another after idle cycles; write idle_cycles = 0"
    );
}

#[test]
fn a_completion_buffer_holds_the_smallest_read_request() {
    assert_eq!(
        pair("completion_buffer = \"64 B\""),
        "bad.toml:8: b.completion_buffer: 64 B does not hold the completions of a read request of 128 B, the smallest max read request size; write 128 B at least"
    );
    assert_eq!(
        pair("completion_buffer_headers = 2"),
        "bad.toml:8: b.completion_buffer_headers: 2 does not hold the completions of a read request of 128 B, the smallest max read request size; write 3 at least"
    );
}
