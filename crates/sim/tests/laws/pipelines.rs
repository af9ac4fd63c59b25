//! The pipelines of ports, between the pins and the data link layer: every TLP and every DLLP passes them.

use crate::fixture::*;

/// A scenario with a host, a device `a` with the keys `device`, a link with the keys `link`, and a flow.
fn pair(link: &str, host: &str, device: &str, flow: &str) -> String {
    format!(
        "[links]\n{link}\n{HOST}port_latency = \"0 ns\"\n{host}[devices.a]\nupstream = \"h0\"\n{device}\n[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"h0\"\n{flow}\n"
    )
}

const READ: &str = "direction = \"read\"\ncount = 1\nrequest_size = \"64 B\"\nstart = \"10 us\"";
const WRITES: &str = "count = 500\nrequest_size = \"128 B\"";

/// The additional latency of a read, in ns, with a receive pipeline of `symbols` cycles of the symbol clock and `ns` nanoseconds.
fn delay(link: &str, symbols: u32, ns: u32) -> f64 {
    let with = |symbols: u32, ns: u32| {
        let device =
            format!("receive_pipeline_symbols = {symbols}\nreceive_pipeline = \"{ns} ns\"");
        latency(&pair(link, "", &device, READ))
    };
    with(symbols, ns) - with(0, 0)
}

/// The time from one write to the next, in nanoseconds.
fn period(host: &str, device: &str) -> f64 {
    let text = pair("generation = 2\nlanes = 4", host, device, WRITES);
    128.0 / rate(run(&text).all_intact().flow("f")) * 1e9
}

#[test]
fn links_of_one_rate_and_other_symbol_clocks_differ_in_latency() {
    let (slow, fast) = ("generation = 1\nlanes = 4", "generation = 2\nlanes = 2");
    close(delay(slow, 25, 7), 25.0 * 4.0 + 7.0, 1e-6);
    close(delay(fast, 25, 7), 25.0 * 2.0 + 7.0, 1e-6);
}

/// The default is 46 symbols for receiving and 48 for sending, of 4 ns at 2.5 GT/s.
#[test]
fn hosts_and_devices_have_pipelines_by_default_and_switches_have_none() {
    let write = |ports: &str, switch: &str| {
        latency(&format!(
            "{DEFAULT_LINKS}[links]\ngeneration = 1\nspread_spectrum = false\n[hosts.h0]\n{ports}{switch}[devices.a]\nupstream = \"{}\"\n{ports}[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"h0\"\ncount = 1\nrequest_size = \"64 B\"\nstart = \"20 us\"",
            if switch.is_empty() { "h0" } else { "s" }
        ))
    };
    let none = "receive_pipeline_symbols = 0\ntransmit_pipeline_symbols = 0\n";
    close(write("", "") - write(none, ""), 376.0, 1e-6);
    let switch = "[switches.s]\nupstream = \"h0\"\n";
    let without = format!("{switch}{none}");
    close(write("", switch) - write(none, &without), 376.0, 1e-6);
}

#[test]
fn credit_crosses_the_pipelines_twice() {
    let host = "posted_headers = 1\n";
    let pipelines = "transmit_pipeline = \"300 ns\"\nreceive_pipeline = \"200 ns\"";
    let longer = period(host, pipelines) - period(host, "");
    close(longer, 500.0, 1.0);
}

#[test]
fn an_ack_crosses_the_pipelines_twice() {
    // The packets have 148 bytes, so four packets fit into the replay buffer.
    let buffer = "max_payload_supported = \"128 B\"\nreplay_buffer = \"600 B\"\n";
    let with = |transmit: u32, receive: u32| {
        let pipelines =
            format!("transmit_pipeline = \"{transmit} ns\"\nreceive_pipeline = \"{receive} ns\"");
        4.0 * period("ack_packets = 4\n", &(buffer.to_owned() + &pipelines))
    };
    close(with(600, 400) - with(300, 200), 500.0, 1.0);
}
