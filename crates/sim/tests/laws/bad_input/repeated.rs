//! Errors in repeated tables, and fabrics that are too large: each leads to one message.

use super::refusal;

/// Eight endpoints below two switches, on lines 1 to 8.
const RACK: &str = r#"[hosts.h0]
[switches."s{j}"]
each = "j = 0..1"
upstream = "h0"
[devices."ep{i}"]
each = "i = 0..7"
upstream = "s{i / 4}"
"#;

#[test]
fn a_name_outside_of_the_range_is_refused_with_its_member() {
    let wide = RACK.replace("0..7", "0..8");
    assert_eq!(
        refusal(&wide),
        "bad.toml:7: ep8: there is no host or switch \"s2\"; did you mean \"s0\"?"
    );
    assert_eq!(
        refusal(&format!(
            "{RACK}[[flows]]\neach = \"i = 7..8\"\nfrom = \"ep{{i}}\"\nto = \"h0\"\nsize = \"1 KiB\"\n"
        )),
        "bad.toml:10: flow \"flow-2\", from: there is no host or device \"ep8\"; did you mean \"ep0\"?"
    );
}

#[test]
fn a_wrong_value_is_refused_with_its_member() {
    assert_eq!(
        refusal(&format!("{RACK}tags = \"{{i * 200 + 1}}\"\n")),
        "bad.toml:8: devices.ep4.tags: 801 is out of range; write a value from 1 up to 768"
    );
    assert_eq!(
        refusal(&format!("{RACK}tagz = 1\n")),
        "bad.toml:8: unknown key \"tagz\" in devices.ep0; did you mean \"tags\"?"
    );
    assert_eq!(
        refusal(&format!(
            "{RACK}[[flows]]\neach = \"i = 0..3\"\nfrom = \"ep{{i}}\"\nsize = \"1 KiB\"\n"
        )),
        "bad.toml:8: flows 1 (i = 0): there is no to; write to = \"NAME\" of a host or device"
    );
}

#[test]
fn ids_of_members_differ() {
    assert_eq!(
        refusal(&format!(
            "{RACK}[[flows]]\neach = \"i = 0..3\"\nid = \"up\"\nfrom = \"ep{{i}}\"\nto = \"h0\"\nsize = \"1 KiB\"\n"
        )),
        "bad.toml:10: flow \"up\", id: another table on this line has the same id; below each, write a variable in it, such as \"f{i}\""
    );
    let network = "[networks.n]\nsize = \"2x2\"\n";
    for (section, keys) in [
        (
            "traffic",
            "load = \"1 GB/s\"\nmessage = \"256 B\"\nduration = \"1 us\"",
        ),
        (
            "collectives",
            "operation = \"all-reduce\"\nsize = \"1 KiB\"",
        ),
    ] {
        let message = refusal(&format!(
            "{network}[[{section}]]\neach = \"i = 0..1\"\nid = \"x\"\nnetwork = \"n\"\n{keys}\n"
        ));
        assert!(
            message.starts_with("bad.toml:5: ") && message.contains("write a variable in it"),
            "{message}"
        );
    }
}

#[test]
fn each_belongs_to_tables_that_can_be_repeated() {
    let refused = refusal(&format!("{RACK}[links]\neach = \"i = 0..3\"\n"));
    assert!(
        refused.starts_with(
            "bad.toml:9: unknown key \"each\" in links; it is a key of hosts, switches,"
        ),
        "{refused}"
    );
    assert_eq!(
        refusal("[hosts.h0]\n[devices.\"ep{i}\"]\nupstream = \"h0\"\n"),
        "bad.toml:2: devices.ep{i}: braces in a name need the key each, such as each = \"i = 0..7\" for {i}; write it below the name, or a name of letters, digits, - _ and ."
    );
    assert_eq!(
        refusal("[hosts.\"h{{x}}{i}\"]\neach = \"i = 0..1\"\n"),
        "bad.toml:1: hosts.h{x}0: the sign '{' cannot be in a name; write letters, digits, - _ and ."
    );
    assert_eq!(
        refusal("[hosts.\"a b\"]\n"),
        "bad.toml:1: hosts.a b: the sign ' ' cannot be in a name; write letters, digits, - _ and ."
    );
}

#[test]
fn a_tree_with_too_many_buses_advises_several_hosts() {
    let text = "[hosts.h0]\n[switches.\"s{j}\"]\neach = \"j = 0..7\"\nupstream = \"h0\"\n[devices.\"ep{i}\"]\neach = \"i = 0..511\"\nupstream = \"s{i / 64}\"\n";
    assert_eq!(
        refusal(text),
        "bad.toml:7: ep63: no port of s0 is left (63 for links below); write a larger ports = there, or another switch"
    );
    let text = text.replace("0..511", "0..503").replace("i / 64", "i / 63");
    assert_eq!(
        refusal(&text),
        "bad.toml:5: the tree of h0 needs more than 256 buses, one for each link and one inside each switch, from ep218 on; write a second host for the rest"
    );
}

#[test]
fn networks_with_too_many_nodes_are_refused() {
    let text = "[networks.\"t{i}\"]\neach = \"i = 0..1000\"\nsize = \"128x128\"\n";
    assert_eq!(
        refusal(text),
        "bad.toml:1: networks.t4: the scenario has 163840 nodes with the hosts and routers of this network; write smaller networks, of 131072 nodes in all at most"
    );
}
