//! No text, however wrong, makes the reader of scenarios panic.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use sim::Plan;

use crate::cases::cases;

/// A scenario that uses most kinds of sections and keys.
const RICH: &str = r#"name = "rich"
seed = 7
[links]
generation = "8 GT/s"
lanes = "x8"
delay = "1.5 ns"
bit_error_rate = 1e-6
[profiles.mine]
base = "generic"
ack_limit_fraction = 0.5
[hosts.h0]
memory = "3 GiB"
sockets = 2
quadrants = 4
[switches.s0]
profile = "mine"
upstream = { to = "h0", lanes = 4, port = 1, socket = 1, quadrant = 3 }
[switches.s1]
upstream = { to = "s0", generation = 2 }
[devices.a]
upstream = "s0"
max_payload = "128 B"
max_payload_mismatch = true
tags = 64
tag_quarantine = "1 ms"
completion_buffer = "16 KiB"
completion_buffer_headers = 64
receive_datapath = "32 B"
receive_straddling = "16 B"
store_and_forward = "4 GB/s"
request_interval = "10 ns"
[devices.b]
model = "reflector"
upstream = { to = "s1", port = 3 }
bar = "16 MiB"
bar_address_bits = 64
virtual_functions = 4
virtual_bar = "64 KiB"
[controllers.c]
virtual_channels = 3
[devices.n]
model = "nic"
upstream = "s0"
virtual_functions = 7
[hosts.h1]
[devices.m]
model = "nic"
upstream = "h1"
controller = "c"
processor = 9
[measure]
from = "1 us"
until = "2 us"
[[flows]]
from = "a"
to = "h0"
direction = "both"
size = "4 MiB"
offset = "4 KiB"
[[flows]]
id = "ping"
from = "h0"
to = "b"
direction = "round-trip"
count = 10
interval = "1 us"
[[flows]]
from = "a"
to = "0xffff_0000_0000"
duration = "1 ms"
addresses = "strided"
stride = "3 KiB"
request_size = "2 KiB"
[[flows]]
from = "a"
to = "h0"
direction = "both"
read_after_write = true
addresses = "random"
alignment = "4 B"
socket = 1
count = 100
window = "64 KiB"
[[flows]]
from = "n"
to = "m"
primitive = "nap-indirect"
size = "1 MiB"
request_size = "2 KiB"
smallest = "1 B"
outstanding = 3
[[traffic]]
network = "c"
load = "1 GB/s"
duration = "1 us"
pattern = "hot-spot"
"#;

/// A scenario with networks (generated networks, and networks that are written fibre by fibre) and their workloads.
const NETWORKS: &str = r#"name = "networks"
[links]
lanes = 8
[networks.t]
shape = "torus"
size = "3x2"
routing = "adaptive"
dateline = true
length = "5 m"
fibre_bit_error_rate = 1e-9
[networks.t.hosts]
max_payload_supported = "256 B"
[networks.t.routers]
virtual_channels = 3
optical_lanes = 4
lane_rate = "10.3125 Gbit/s"
channel_buffer = "8 KiB"
packet_size = "1536 B"
reliable = true
retransmission_buffer = "4 KiB"
fibre_ports = 4
aperture = "64 KiB"
injection_buffer = "4 KiB"
arbitration = "oldest-first"
[networks.l]
shape = "mesh"
size = 3
[hosts.h0]
[hosts.h1]
[devices.r0]
model = "router"
upstream = "h0"
flow_control = "native"
channel_buffer = "64 KiB"
[devices.r1]
model = "router"
upstream = "h1"
flow_control = "native"
channel_buffer = "64 KiB"
[[fibres]]
from = "r0"
from_port = 2
to = "r1"
to_port = 0
length = "20 m"
severed_at = "10 us"
[[fibres]]
from = "t-0-0"
to = "t-1-0"
severed_at = "1 ms"
[[traffic]]
id = "w"
network = "t"
pattern = "hot-spot"
hot_node = 3
hot_share = 0.5
load = "1 GB/s"
message = "256 B"
arrivals = "bernoulli"
from = "hosts"
to = "routers"
duration = "10 us"
[[collectives]]
network = "t"
operation = "all-reduce"
algorithm = "ring"
size = "1032 B"
[[flows]]
id = "f"
from = "h0"
to = "r1"
size = "4 KiB"
[[flows]]
from = "r1"
to = "h0"
count = 10
request_size = "1000 B"
"#;

#[test]
fn the_scenarios_that_are_mutated_are_right() {
    Plan::read(RICH, "rich.toml").unwrap();
    Plan::read(NETWORKS, "networks.toml").unwrap();
}

/// Unusual texts, which replace a value or a line to test limits of the reader.
const ODD: [&str; 32] = [
    "0",
    "-1",
    "1e400",
    "nan",
    "inf",
    "9223372036854775807",
    "9223372036854775808",
    "\"\"",
    "\"0 B\"",
    "\"1048576 GiB\"",
    "\"1000 s\"",
    "\"h0\"",
    "\"s1\"",
    "\"a\"",
    "\"0xffffffffffffffff\"",
    "[]",
    "{}",
    "[{}]",
    "true",
    "1979-05-27",
    "\"none\"",
    "\"round-trip\"",
    "\"\\u0000\"",
    "[[flows]]",
    "[[fibres]]",
    "1",
    "8",
    "\"1x2\"",
    "\"7x7x7\"",
    "\"r1\"",
    "\"t-1-1\"",
    "\"l\"",
];

/// Changes one line of `lines`: moves it, removes it, repeats it, or gives it another value.
fn mutate(lines: &mut Vec<String>, at: usize, odd: &str, how: u8) {
    let last = lines.len() - 1;
    match how {
        0 => lines.swap(at, last),
        1 => lines[at].clear(),
        2 => lines.push(lines[at].clone()),
        _ => {
            if let Some((key, _)) = lines[at].split_once('=') {
                lines[at] = format!("{key}= {odd}");
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(700))]

    #[test]
    fn no_mutated_line_is_a_panic(text in select(&[RICH, NETWORKS][..]), changes in vec((any::<Index>(), select(&ODD[..]), 0..4u8), 1..6)) {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (at, odd, how) in changes {
            let at = at.index(lines.len());
            mutate(&mut lines, at, odd, how);
        }
        let _ = Plan::read(&lines.join("\n"), "mutated.toml");
    }

    #[test]
    fn no_mutated_character_is_a_panic(text in select(&[RICH, NETWORKS][..]), changes in vec((any::<Index>(), any::<char>()), 1..8)) {
        let mut text: Vec<char> = text.chars().collect();
        for (at, new) in changes {
            let at = at.index(text.len());
            text[at] = new;
        }
        let text: String = text.into_iter().collect();
        if let Err(error) = Plan::read(&text, "mutated.toml") {
            prop_assert!(error.to_string().starts_with("mutated.toml"));
        }
    }
}
