//! Errors in I/O ports, and in loads and stores between hosts.

use super::refusal;

/// Two hosts with a `nic` each, and an I/O port `p` on line 11 with an endpoint `e` of two functions.
const HOSTS: &str = r#"[hosts.h0]
[hosts.h1]
[controllers.c]
ports = 3
[devices.a]
model = "nic"
upstream = "h0"
[devices.b]
model = "nic"
upstream = "h1"
[io_ports.p]
owners = ["h0", "h1"]
[devices.e]
model = "dma"
upstream = "p"
virtual_functions = 1
"#;

/// Returns the error of `HOSTS` after `from` in it is replaced by `to`.
fn changed(from: &str, to: &str) -> String {
    assert!(HOSTS.contains(from));
    refusal(&HOSTS.replace(from, to))
}

/// Returns the error of `HOSTS` with a flow with these keys. The flow begins on line 17.
fn flow(keys: &str) -> String {
    refusal(&format!("{HOSTS}[[flows]]\nsize = \"4 KiB\"\n{keys}\n"))
}

#[test]
fn an_io_port_belongs_to_a_controller() {
    assert_eq!(
        changed("ports = 3", "ports = 2"),
        "bad.toml:11: no port of the controller c is left (2 in all); write a larger ports there, up to 64"
    );
    assert_eq!(
        changed("[io_ports.p]", "[controllers.d]\n[io_ports.p]"),
        "bad.toml:5: a.controller: none is written; write one of c, d"
    );
    assert_eq!(
        changed("[io_ports.p]", "[io_ports.p]\nupstream = \"h0\""),
        "bad.toml:12: I/O port p is the top of its tree; leave out upstream, or make it a device"
    );
    let numbered = HOSTS.replace("[devices.b]", "[devices.b]\nprocessor = 1");
    assert_eq!(
        refusal(&numbered.replace("[io_ports.p]", "[io_ports.p]\nprocessor = 1")),
        "bad.toml:9: b.processor: 1 is already the number of p; write another one"
    );
}

#[test]
fn an_io_port_has_one_endpoint_whose_functions_have_owners() {
    assert_eq!(
        changed("owners = [\"h0\", \"h1\"]", ""),
        "bad.toml:11: p.owners: e has 2 functions; write the host of each, such as owners = [\"h0\", \"h0\"]"
    );
    assert_eq!(
        changed("owners = [\"h0\", \"h1\"]", "owners = \"h0\""),
        "bad.toml:12: io_ports.p.owners: is not a list; write [\"...\", \"...\"]"
    );
    assert_eq!(
        changed("owners = [\"h0\", \"h1\"]", "owners = [\"h0\", \"h2\"]"),
        "bad.toml:12: p.owners: there is no host \"h2\"; did you mean \"h0\"?"
    );
    assert_eq!(
        changed(
            "owners = [\"h0\", \"h1\"]",
            "owners = [\"h0\", \"h1\", \"h1\"]"
        ),
        "bad.toml:12: p.owners: e has 2 functions; write the host of each, such as owners = [\"h0\", \"h0\"]"
    );
    assert_eq!(
        changed("upstream = \"p\"", "upstream = \"h0\""),
        "bad.toml:11: there is no device below p; write a device with upstream = \"p\""
    );
    assert_eq!(
        changed("[devices.e]", "[devices.f]\nupstream = \"p\"\n[devices.e]"),
        "bad.toml:17: no port of p is left (1 for links below); write another I/O port"
    );
    assert!(
        changed("[devices.a]", "[devices.a]\nowners = [\"h0\"]")
            .ends_with("unknown key \"owners\" in devices.a; it is a key of io_ports")
    );
}

#[test]
fn an_owner_is_within_reach() {
    let apart = HOSTS
        .replace("model = \"nic\"", "model = \"nic\"\ncontroller = \"c\"")
        .replace(
            "[io_ports.p]",
            "[controllers.d]\n[io_ports.p]\ncontroller = \"d\"",
        );
    assert_eq!(
        refusal(&apart),
        "bad.toml:16: p.owners: \"h0\" is not a host with a network interface controller at the same controller, or at one that cables join to it; there is none; write another controller"
    );
}

#[test]
fn an_endpoint_needs_no_host_above_it() {
    for (model, why) in [
        (
            "fpga-card",
            "is found by real programs in the tree of their host",
        ),
        ("nic", "joins hosts itself"),
        ("router", "joins hosts itself"),
    ] {
        let text = HOSTS
            .replace("ports = 3", "ports = 4")
            .replace("model = \"dma\"", &format!("model = {model:?}"));
        assert_eq!(
            refusal(&text),
            format!(
                "bad.toml:15: e {why}, and an I/O port has no host; write a device with another model below it, such as model = \"dma\", \"sg-dma\" or \"nvme\""
            )
        );
    }
    let switch = "[switches.s]\nupstream = \"p\"\n[devices.e]";
    let below = HOSTS
        .replace("[devices.e]", switch)
        .replace("upstream = \"p\"\nvirt", "upstream = \"s\"\nvirt");
    assert_eq!(
        refusal(&below),
        "bad.toml:14: s is not an endpoint, and an I/O port has no host; write a device with another model below it, such as model = \"dma\", \"sg-dma\" or \"nvme\""
    );
    assert_eq!(
        flow("from = \"e\"\nto = \"h0\"\ndirection = \"round-trip\""),
        "bad.toml:20: flow \"flow-1\", to: a round trip needs someone who answers; write a device with model = \"reflector\""
    );
}

#[test]
fn a_function_moves_data_with_its_owner_alone() {
    assert_eq!(
        flow("from = \"e\"\nto = \"h1\""),
        "bad.toml:20: flow \"flow-1\", to: function 0 of e belongs to h0, not to h1; write another function, or other owners of p"
    );
    assert_eq!(
        flow("from = \"h0\"\nto = \"e\"\nfunction = 1"),
        "bad.toml:19: flow \"flow-1\", from: function 1 of e belongs to h1, not to h0; write another function, or other owners of p"
    );
    assert_eq!(
        flow("from = \"e\"\nto = \"h1\"\nfunction = 2"),
        "bad.toml:21: flow \"flow-1\", function: e has no function 2; write a smaller one, or virtual_functions = 2 or more there"
    );
    assert_eq!(
        flow("from = \"h0\"\nto = \"h1\"\nfunction = 1"),
        "bad.toml:21: flow \"flow-1\", function: there is no device at either end; leave it out"
    );
    let other = HOSTS.replace("ports = 3", "ports = 4")
        + "[io_ports.q]\nowners = [\"h1\"]\n[devices.f]\nmodel = \"reflector\"\nupstream = \"q\"\n[[flows]]\nsize = \"4 KiB\"\nfrom = \"e\"\nto = \"f\"\n";
    assert_eq!(
        refusal(&other),
        "bad.toml:25: flow \"flow-1\", to: function 0 of e belongs to h0, and no function of f does; write another function, or other owners of q"
    );
    assert_eq!(
        refusal(&(other + "function = 1\ndirection = \"round-trip\"")),
        "bad.toml:27: flow \"flow-1\", direction: between endpoints below I/O ports there are only writes and reads; write direction = \"write\", \"read\" or \"both\""
    );
    assert_eq!(
        flow("from = \"p\"\nto = \"h1\""),
        "bad.toml:19: flow \"flow-1\", from: p is an I/O port, and flows end at hosts and devices; write one of those"
    );
    assert_eq!(
        flow("from = \"h0\"\nto = \"p\""),
        "bad.toml:20: flow \"flow-1\", to: p is an I/O port, and flows end at hosts and devices; write one of those"
    );
}

#[test]
fn what_a_processor_shows_is_within_its_space() {
    let far = "[hosts.h1]\nmemory = \"64 GiB\"\nmemory_address_bits = 64";
    let small = HOSTS.replace("ports = 3", "ports = 3\nprocessor_space = \"64 GiB\"");
    let text = small.replace("[hosts.h1]", far)
        + "[[flows]]\nfrom = \"h0\"\nto = \"h1\"\nsize = \"4 KiB\"\n";
    assert_eq!(
        refusal(&text),
        "bad.toml:22: flow \"flow-1\", to: h1 ends at 0x1100000000, beyond the 64 GiB of each processor that the others reach; write a larger processor_space for the controller c"
    );
    assert_eq!(
        changed("ports = 3", "ports = 3\nprocessor_space = \"3 GiB\""),
        "bad.toml:5: c.processor_space: 3 GiB is not a power of two; write \"4 GiB\""
    );
    assert_eq!(
        flow("from = \"h0\"\nto = \"h1\"\ndirection = \"round-trip\""),
        "bad.toml:21: flow \"flow-1\", direction: between hosts that share a controller there are only loads and stores; write direction = \"write\", \"read\" or \"both\""
    );
}
