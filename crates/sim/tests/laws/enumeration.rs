//! Enumeration over the packets of a running fabric.

use host::Coroutine;
use host::firmware::{apply, enumerate};
use sim::Plan;
use sim::Scenario;

use crate::fixture::{Ask, run, simulation};

/// A fabric with two hosts, nested switches, BARs of 32 and 64 bits, virtual functions, several payload sizes and settings, and a reflector.
const FABRIC: &str = r#"
[hosts.h0]
[hosts.h1]
memory_address_bits = 64
[switches.top]
upstream = { to = "h0", generation = 2 }
acs_redirect = true
[switches.left]
upstream = "top"
max_payload_supported = "256 B"
[switches.right]
upstream = { to = "top", port = 40 }
max_payload = "128 B"
max_payload_mismatch = true
ari_forwarding = false
[devices.a]
upstream = "left"
bar = "16 MiB"
virtual_functions = 40
msi_vectors = 2
[devices.b]
upstream = { to = "left", port = 8 }
bar_address_bits = 64
bar = "1 GiB"
msix_vectors = 16
virtual_functions = 3
virtual_bar = "1 MiB"
[devices.c]
upstream = "right"
max_read_request = "4 KiB"
memory_enable = false
virtual_functions = 9
[devices.d]
upstream = { to = "right", port = 3 }
bar = "0 B"
msi_vectors = 8
[devices.e]
upstream = "h0"
model = "reflector"
[devices.x]
upstream = "h1"
"#;

#[test]
fn firmware_over_packets_leaves_the_registers_that_it_leaves_in_the_plan() {
    let scenario = Scenario::read(FABRIC, "law.toml").expect("a right scenario");
    let plan = Plan::new(&scenario).expect("a right scenario");
    let cold = plan.clone().cold(&scenario).expect("a right scenario");
    let mut running = sim::Simulation::new(cold);
    let mut access = |host: &str, access| {
        let answer = running
            .config_access(host, &access, &mut || true)
            .expect("a host");
        answer.unwrap_or(u32::MAX)
    };
    for host in ["h0", "h1"] {
        let done = Coroutine::new(enumerate).run(|asked| access(host, asked));
        assert!(done.is_ok(), "{done:?}");
    }
    for node in &plan.nodes {
        let host = plan.nodes[node.root].name.clone();
        let settings = node.settings.clone();
        Coroutine::new(|desk| apply(desk, settings)).run(|asked| access(&host, asked));
    }
    for node in &plan.nodes {
        let now = running.functions(&node.name).expect("a node");
        assert!(now.places().eq(node.functions.places()), "{}", node.name);
        for place in node.functions.places() {
            let (left, right) = (now.space(place), node.functions.space(place));
            assert_eq!(now.id_of(place), node.functions.id_of(place));
            assert_eq!(left.bytes(), right.bytes(), "{} {place:?}", node.name);
        }
    }
}

#[test]
fn buses_have_the_numbers_from_the_first_bus_of_their_host_on() {
    let text = "[hosts.h0]\nfirst_bus = 216\n[hosts.h1]\n[switches.s]\nupstream = \"h0\"\n[devices.a]\nupstream = \"s\"\n[devices.b]\nupstream = \"h0\"\n\
        [devices.c]\nupstream = \"h1\"\n[[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"4 KiB\"\n[[flows]]\nfrom = \"b\"\nto = \"h0\"\ndirection = \"read\"\nsize = \"4 KiB\"\n";
    let simulation = simulation(text);
    let buses: Vec<u8> = (simulation.plan().nodes.iter())
        .map(|node| node.id.bus())
        .collect();
    // The bus inside the switch has number 217, and the link to a number 218.
    assert_eq!(buses, [0, 0, 216, 218, 219, 1]);
    run(text).all_intact();
}

#[test]
fn a_fabric_that_was_enumerated_over_packets_carries_flows() {
    let text = "[hosts.h0]\n[switches.s]\nupstream = \"h0\"\n[devices.a]\nupstream = \"s\"\n[devices.b]\nupstream = \"s\"\n";
    let scenario = Scenario::read(text, "law.toml").expect("a right scenario");
    let plan = Plan::new(&scenario).expect("a right scenario");
    let bar = plan.nodes[3].bars[0].expect("b has a BAR").base;
    let cold = plan.cold(&scenario).expect("a right scenario");
    let mut running = sim::Simulation::new(cold);
    let done = Coroutine::new(enumerate).run(|asked| {
        let answer = running
            .config_access("h0", &asked, &mut || true)
            .expect("a host");
        answer.unwrap_or(u32::MAX)
    });
    assert!(done.is_ok(), "{done:?}");
    running
        .write("a", bar, vec![7; 300])
        .expect("a makes requests");
    let read = running.read_back("h0", bar, 300, &mut || true);
    assert_eq!(read, Ok(vec![7; 300]));
}
