//! The payload rates of links between default ports, which also carry DLLPs, with traffic in one direction and in both directions.

use crate::fixture::*;

/// The keys of a device with a BAR above 4 GiB, so that writes of 256 bytes to it have 280 bytes on the wire.
const DEVICE: &str = "max_payload_supported = \"256 B\"\nbar_address_bits = 64\nbar = \"16 MiB\"\n";

fn flow(id: &str, from: &str, to: &str) -> String {
    format!(
        "[[flows]]\nid = \"{id}\"\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"4 MiB\"\nrequest_size = \"256 B\"\n"
    )
}

/// The rates of the flows, in GB/s.
fn rates(fabric: &str, flows: &[(&str, &str, &str)]) -> Vec<f64> {
    let text: String = flows
        .iter()
        .map(|(id, from, to)| flow(id, from, to))
        .collect();
    let result = run(&format!(
        "{DEFAULT_LINKS}[links]\ngeneration = 5\nlanes = 16\n{fabric}{text}"
    ));
    let result = result.all_intact();
    flows
        .iter()
        .map(|(id, ..)| rate(result.flow(id)) / 1e9)
        .collect()
}

fn pair() -> String {
    format!("[hosts.h]\n[devices.d]\nupstream = \"h\"\n{DEVICE}")
}

/// After framing, headers and LCRC, 57.6 GB/s remain; SKP ordered sets and spread clocks reduce the rate by a quarter of a percent each. Measured
/// rates of 32 GT/s x16 links are 56.3 to 57.2 GB/s.
#[test]
fn one_way_the_dllps_of_default_ports_take_nothing() {
    let up = rates(&pair(), &[("up", "d", "h")])[0];
    assert!((56.3..57.3).contains(&up), "{up}");
}

/// Measured rates of 32 GT/s x16 links, added for both directions, are 109 to 112.5 GB/s.
#[test]
fn both_ways_dllps_take_as_much_as_measured_machines_lose() {
    let sum: f64 = rates(&pair(), &[("up", "d", "h"), ("down", "h", "d")])
        .iter()
        .sum();
    assert!((109.0..112.5).contains(&sum), "{sum}");
    let switch = format!(
        "[hosts.h]\n[switches.s]\nupstream = \"h\"\n{}[devices.a]\nupstream = \"s\"\n{DEVICE}[devices.b]\nupstream = \"s\"\n{DEVICE}",
        "max_payload_supported = \"256 B\"\n"
    );
    let peers = rates(&switch, &[("ab", "a", "b"), ("ba", "b", "a")]);
    let sum: f64 = peers.iter().sum();
    assert!((109.0..112.5).contains(&sum), "{sum}");
}
