//! What the wires carried is what their time allows, and each byte is of one kind.

use sim::result::LinkResult;

use crate::fixture::*;

fn busy(generation: u8, lanes: u8) -> String {
    format!(
        r#"
        [links]
        generation = {generation}
        lanes = {lanes}
        [hosts.h0]
        memory_bandwidth = "200 GB/s"
        [switches.s]
        upstream = "h0"
        [devices.a]
        upstream = "s"
        [devices.b]
        upstream = "s"
        [[flows]]
        from = "a"
        to = "h0"
        direction = "both"
        size = "128 KiB"
        [[flows]]
        from = "b"
        to = "a"
        size = "64 KiB"
        [[flows]]
        from = "h0"
        to = "b"
        direction = "both"
        size = "16 KiB"
        "#
    )
}

#[test]
fn what_was_carried_fits_into_the_time() {
    for (generation, rate, coding) in [
        (1, 2.5, 0.8),
        (2, 5.0, 0.8),
        (3, 8.0, 128.0 / 130.0),
        (4, 16.0, 128.0 / 130.0),
        (5, 32.0, 128.0 / 130.0),
    ] {
        for lanes in [1, 4, 16] {
            let result = run(&busy(generation, lanes)).all_intact();
            let bytes_per_ns = rate * coding / 8.0 * f64::from(lanes);
            let (from, until) = result.measured_ns.expect("flows ran");
            let measured = until - from;
            for link in &result.links {
                let bytes = link.payload_bytes
                    + link.overhead_bytes
                    + link.dllp_bytes
                    + link.ordered_set_bytes;
                // The bytes of what is on the wire when the interval ends have been counted in full.
                let time = bytes as f64 / bytes_per_ns;
                assert!(
                    time <= measured + 532.0 / bytes_per_ns,
                    "{} {}: {time} ns in {measured}",
                    link.id,
                    link.direction,
                );
                let under_way = link.under_way_ns;
                assert!(
                    (link.utilisation - time / under_way).abs() < 0.01,
                    "{link:?}"
                );
                assert_eq!(link.replays, 0);
            }
        }
    }
}

#[test]
fn every_byte_of_payload_crosses_each_link_of_its_way_once() {
    let result = run_to_rest(&busy(3, 4)).all_intact();
    let kib = |kib: u64| kib * 1024;
    let payload = |link, direction| result.link(link, direction).payload_bytes;
    assert_eq!(payload("s-a", "up"), kib(128));
    assert_eq!(payload("s-a", "down"), kib(128 + 64));
    assert_eq!(payload("s-b", "up"), kib(64 + 16));
    assert_eq!(payload("s-b", "down"), kib(16));
    assert_eq!(payload("h0-s", "up"), kib(128 + 16));
    assert_eq!(payload("h0-s", "down"), kib(128 + 16));
}

#[test]
fn what_bit_errors_cost_is_overhead_and_no_payload() {
    for cut_through in [true, false] {
        let text = busy(3, 4)
            .replace("lanes = 4", "lanes = 4\nbit_error_rate = 2e-5")
            .replace(
                "[switches.s]",
                &format!("[switches.s]\ncut_through = {cut_through}"),
            );
        let (clean, struck) = (run_to_rest(&busy(3, 4)), run_to_rest(&text).all_intact());
        for (clean, struck) in clean.links.iter().zip(&struck.links) {
            assert_eq!(clean.payload_bytes, struck.payload_bytes, "{}", struck.id);
            assert!(struck.utilisation <= 1.0);
        }
        let total = |result: &sim::result::RunResult, count: fn(&LinkResult) -> u64| -> u64 {
            result.links.iter().map(count).sum()
        };
        assert_eq!(total(&clean, |link| link.replayed_bytes), 0);
        assert!(total(&struck, |link| link.replayed_bytes) > 0);
        // All else is as without errors.
        let rest = |link: &LinkResult| link.overhead_bytes - link.replayed_bytes;
        assert_eq!(total(&struck, rest), total(&clean, rest));
        assert_eq!(
            total(&struck, |link| link.tlps),
            total(&clean, |link| link.tlps)
        );
    }
}

fn overhead_of_a_write(bits: u32) -> u64 {
    let text = format!(
        "[hosts.h0]\n[devices.a]\nupstream = \"h0\"\n[devices.b]\nupstream = \"h0\"\nbar_address_bits = {bits}\n[[flows]]\nfrom = \"a\"\nto = \"b\"\ncount = 500\nrequest_size = \"64 B\"\n"
    );
    let result = run_to_rest(&text).all_intact();
    let overhead = result.link("h0-b", "down").overhead_bytes;
    assert_eq!(overhead, result.link("h0-a", "up").overhead_bytes);
    assert_eq!(overhead % 500, 0);
    overhead / 500
}

#[test]
fn a_bar_of_64_bits_costs_four_bytes_a_packet() {
    assert_eq!(overhead_of_a_write(32), 20);
    assert_eq!(overhead_of_a_write(64), 24);
}

#[test]
fn a_read_request_carries_no_payload_and_its_completion_all() {
    let text = r#"
        [hosts.h0]
        [devices.a]
        upstream = "h0"
        [[flows]]
        from = "a"
        to = "h0"
        direction = "read"
        count = 100
        request_size = "256 B"
    "#;
    let result = run_to_rest(text).all_intact();
    let (up, down) = (result.link("h0-a", "up"), result.link("h0-a", "down"));
    assert_eq!((up.payload_bytes, up.overhead_bytes), (0, 100 * 20));
    assert_eq!((up.tlps, up.framing_bytes), (100, 100 * 8));
    assert_eq!(
        (down.payload_bytes, down.overhead_bytes),
        (100 * 256, 100 * 20)
    );
}

fn stall(extra: &str) -> f64 {
    let text = format!(
        "[links]\ngeneration = 3\nlanes = 4\n[hosts.h0]\nmemory_bandwidth = \"100 GB/s\"\n{extra}\n[devices.a]\nupstream = \"h0\"\n[[flows]]\nfrom = \"a\"\nto = \"h0\"\nsize = \"256 KiB\"\nrequest_size = \"128 B\"\n"
    );
    run(&text).all_intact().link("h0-a", "up").credit_stall_ns
}

#[test]
fn a_sender_stalls_only_when_it_lacks_credit() {
    assert!(stall("") <= 0.0);
    // Three packets fit into the buffer for 100 ns each, or four for 300 ns.
    assert!(stall("posted_headers = 3") > 1000.0);
    assert!(stall("posted_data = \"512 B\"\nlatency = \"300 ns\"") > 1000.0);
    assert!(stall("posted_headers = 0\nposted_data = \"0 B\"") <= 0.0);
}
