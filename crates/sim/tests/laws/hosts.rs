//! Limits of a host's rates: the datapaths of its root ports, its memory system, and its path from port to port.

use crate::fixture::*;

/// A device that writes or reads 256 bytes at a time, for long, below a host with `host` lines.
fn rate_of(host: &str, direction: &str) -> f64 {
    let text = format!(
        "[links]\ngeneration = 3\nlanes = 16\n[measure]\nfrom = \"20 us\"\nuntil = \"120 us\"\n[hosts.h]\nmemory_bandwidth = \"400 GB/s\"\n{host}\n[devices.a]\nupstream = \"h\"\ntags = 256\nmax_payload_supported = \"256 B\"\nmax_read_request = \"256 B\"\n[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"h\"\ndirection = {direction:?}\nrequest_size = \"256 B\"\nduration = \"140 us\"\n"
    );
    steady(run(&text).all_intact().flow("f"))
}

/// 12 bytes of header and 256 of payload are 17 beats of 16 bytes, and one is idle.
#[test]
fn a_root_port_moves_whole_beats_of_its_datapath() {
    let port = "port_clock = \"250 MHz\"\nport_datapath = \"16 B\"\nport_idle_cycles = 1";
    let expected = 256.0 / (18.0 * 4e-9);
    close(rate_of(port, "write"), expected, 0.1);
    close(rate_of(port, "read"), expected, 0.1);
    assert!(rate_of("", "write") > 2.0 * expected);
}

#[test]
fn a_memory_system_takes_writes_at_its_rate_and_answers_reads_at_theirs() {
    let host = "ingest_bandwidth = \"2 GB/s\"";
    close(rate_of(host, "write"), 2e9, 0.1);
    assert!(rate_of(host, "read") > 4e9);
}

/// A receive buffer of four packets that are held for a microsecond.
#[test]
fn buffers_for_writes_free_the_receive_buffer_before_the_memory_has_them() {
    let slow = "posted_headers = 4\nlatency = \"1 us\"\nport_latency = \"0 ns\"";
    let held = rate_of(slow, "write");
    close(held, 4.0 * 256.0 / 1.05e-6, 5.0);
    let with_few = rate_of(&format!("{slow}\nwrite_buffers = 4"), "write");
    assert!(with_few > 1.5 * held, "{with_few} {held}");
}

/// Packets of 12 and 256 bytes.
#[test]
fn packets_from_port_to_port_have_a_rate_of_their_own() {
    let text = "[links]\ngeneration = 3\nlanes = 8\n[measure]\nfrom = \"20 us\"\nuntil = \"120 us\"\n[hosts.h]\npeer_bandwidth = \"1 GB/s\"\n[devices.a]\nupstream = \"h\"\nmax_payload_supported = \"256 B\"\n[devices.b]\nupstream = \"h\"\n[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"b\"\nwindow = \"4 KiB\"\nrequest_size = \"256 B\"\nduration = \"140 us\"\n";
    let rate = steady(run(text).all_intact().flow("f"));
    close(rate, 1e9 * 256.0 / 268.0, 0.1);
}
