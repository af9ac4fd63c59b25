//! Rates that follow from the protocol.

use std::fmt::Write;

use crate::fixture::*;

/// A scenario with `n` devices below one switch, which all write to memory as fast as possible.
fn contenders(n: usize, links: &str, extra: &str) -> String {
    let mut text = format!(
        "[links]\n{links}\n[measure]\nfrom = \"60 us\"\nuntil = \"360 us\"\n[hosts.h0]\nmemory_bandwidth = \"100 GB/s\"\n[switches.s]\nupstream = \"h0\"\n"
    );
    for device in 0..n {
        writeln!(text, "[devices.d{device}]\nupstream = \"s\"\n{extra}").expect("a string");
    }
    for device in 0..n {
        writeln!(
            text,
            "[[flows]]\nid = \"f{device}\"\nfrom = \"d{device}\"\nto = \"h0\"\nduration = \"400 us\"\nrequest_size = \"128 B\"\nstart = \"{} ns\"",
            3000 + 17 * device
        )
        .expect("a string");
    }
    text
}

#[test]
fn flows_that_saturate_one_uplink_have_equal_shares() {
    for n in 2..=7 {
        let result = run(&contenders(n, "generation = 2\nlanes = 4", "")).all_intact();
        let rates: Vec<f64> = result.flows.iter().map(steady).collect();
        let sum: f64 = rates.iter().sum();
        for rate in rates {
            close(rate, sum / n as f64, 1.0);
        }
        // The link carries 2 GB/s, and 128 of the 148 bytes of a packet are payload. Ordered sets (4 of 1359 symbols) and DLLPs reduce the rate.
        close(sum, 2e9 * 128.0 / 148.0 * (1.0 - 4.0 / 1359.0), 1.0);
    }
}

#[test]
fn shares_are_equal_however_slow_the_ingress_is_acknowledged() {
    let extra = "ack_limit_fraction = 0.2\nreplay_buffer = \"2 KiB\"";
    let result = run(&contenders(
        3,
        "generation = 3\nlanes = 8\ndelay = \"10 ns\"",
        extra,
    ));
    let rates: Vec<f64> = result.flows.iter().map(steady).collect();
    let mean = rates.iter().sum::<f64>() / 3.0;
    for rate in rates {
        close(rate, mean, 1.0);
    }
}

#[test]
fn a_device_near_the_root_does_not_starve_those_behind_a_switch() {
    let text = r#"
        [links]
        generation = 2
        lanes = 4
        [measure]
        from = "60 us"
        until = "360 us"
        [hosts.h0]
        [switches.s]
        upstream = "h0"
        [switches.t]
        upstream = "s"
        [devices.near]
        upstream = "s"
        [devices.far0]
        upstream = "t"
        [devices.far1]
        upstream = "t"
        [[flows]]
        id = "near"
        from = "near"
        to = "h0"
        duration = "400 us"
        [[flows]]
        id = "far0"
        from = "far0"
        to = "h0"
        duration = "400 us"
        [[flows]]
        id = "far1"
        from = "far1"
        to = "h0"
        duration = "400 us"
    "#;
    let result = run(text).all_intact();
    // The ports take turns, so the near device gets half of the rate and each far device gets a quarter.
    let sum: f64 = result.flows.iter().map(steady).sum();
    close(steady(result.flow("near")), sum / 2.0, 1.0);
    close(steady(result.flow("far0")), sum / 4.0, 1.0);
    close(steady(result.flow("far1")), sum / 4.0, 1.0);
}

fn reads(tags: u32) -> f64 {
    let text = format!(
        "[links]\ngeneration = 2\nlanes = 4\ndelay = \"1 ns\"\n{HOST}[devices.a]\nupstream = \"h0\"\ntags = {tags}\n[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"h0\"\ndirection = \"read\"\ncount = 3000\nrequest_size = \"64 B\"\nstart = \"10 us\"\n"
    );
    rate(run(&text).all_intact().flow("f"))
}

#[test]
fn with_one_tag_a_read_waits_for_the_one_before() {
    // A read takes 337 ns (see the tests of latency), and the next read begins at the next symbol.
    close(reads(1), 64.0 / 338e-9, 1.0);
}

#[test]
fn a_few_tags_make_as_many_reads_in_that_time() {
    close(reads(2), 2.0 * 64.0 / 338e-9, 1.5);
    close(reads(4), 4.0 * 64.0 / 338e-9, 1.5);
}

#[test]
fn with_32_tags_the_wire_of_the_completions_is_the_limit() {
    let wire = 2e9 * 64.0 / 84.0 * (1.0 - 4.0 / 1359.0);
    let actual = reads(32);
    assert!(actual < wire, "{actual} {wire}");
    // The acknowledgements of the requests and the credit for them share the wire with the completions.
    assert!(actual > 0.85 * wire, "{actual} {wire}");
}

#[test]
fn an_interval_between_requests_sets_the_rate() {
    let text = r#"
        [hosts.h0]
        [devices.a]
        upstream = "h0"
        [[flows]]
        id = "f"
        from = "a"
        to = "h0"
        count = 1000
        request_size = "128 B"
        interval = "400 ns"
        start = "5 us"
    "#;
    close(rate(run(text).all_intact().flow("f")), 128.0 / 400e-9, 0.3);
}

#[test]
fn the_datapath_of_a_device_sets_the_rate_where_it_is_slower_than_the_wire() {
    let text = r#"
        [hosts.h0]
        [devices.a]
        upstream = "h0"
        clock = "250 MHz"
        datapath = "16 B"
        idle_cycles = 1
        [[flows]]
        id = "f"
        from = "a"
        to = "h0"
        count = 2000
        request_size = "128 B"
    "#;
    // A packet of 140 bytes occupies 9 beats of 16 bytes, each in a cycle of 4 ns, and one more cycle is idle.
    close(rate(run(text).all_intact().flow("f")), 128.0 / 40e-9, 0.5);
}

#[test]
fn the_memory_sets_the_rate_where_it_is_slower_than_the_wire() {
    let text = r#"
        [hosts.h0]
        memory_bandwidth = "1 GB/s"
        memory_line = "64 B"
        [devices.a]
        upstream = "h0"
        [[flows]]
        id = "f"
        from = "a"
        to = "h0"
        count = 4000
        request_size = "128 B"
        [[flows]]
        id = "half a line"
        from = "a"
        to = "h0"
        count = 4000
        request_size = "32 B"
        start = "2 ms"
    "#;
    let result = run(text).all_intact();
    close(rate(result.flow("f")), 1e9, 1.0);
    close(rate(result.flow("half a line")), 0.5e9, 1.0);
    assert!(result.link("h0-a", "up").credit_stall_ns > 0.0);
}

#[test]
fn writes_and_reads_at_once_use_both_wires() {
    let text = r#"
        [links]
        generation = 3
        lanes = 8
        [measure]
        from = "20 us"
        until = "120 us"
        [hosts.h0]
        memory_bandwidth = "100 GB/s"
        [devices.a]
        upstream = "h0"
        tags = 64
        [[flows]]
        id = "w"
        from = "a"
        to = "h0"
        duration = "150 us"
        request_size = "256 B"
        [[flows]]
        id = "r"
        from = "a"
        to = "h0"
        duration = "150 us"
        direction = "read"
        request_size = "512 B"
    "#;
    let result = run(text).all_intact();
    let wire = 8.0 * 8e9 / 8.0 * 128.0 / 130.0;
    for flow in &result.flows {
        let share = steady(flow) / wire;
        assert!((0.75..0.97).contains(&share), "{} {share}", flow.id);
    }
}

#[test]
fn hosts_do_not_disturb_each_other() {
    let one = |n: usize| {
        let mut text = String::from("[links]\ngeneration = 3\nlanes = 4\n");
        for host in 0..n {
            write!(
                text,
                "[hosts.h{host}]\n[switches.s{host}]\nupstream = \"h{host}\"\n[devices.d{host}]\nupstream = \"s{host}\"\n"
            )
            .expect("a string");
        }
        for host in 0..n {
            write!(
                text,
                "[[flows]]\nid = \"f{host}\"\nfrom = \"d{host}\"\nto = \"h{host}\"\ndirection = \"both\"\nsize = \"256 KiB\"\n"
            )
            .expect("a string");
        }
        run(&text).all_intact()
    };
    let (alone, together) = (one(1), one(4));
    for flow in &together.flows {
        close(rate(flow), rate(alone.flow("f0")), 1e-9);
    }
}

#[test]
fn a_flow_alone_on_its_way_costs_headers_framing_and_ordered_sets_alone() {
    for (payload, generation, lanes) in [(128_u32, 2, 4), (256, 2, 4), (64, 3, 8)] {
        let text = format!(
            "[links]\ngeneration = {generation}\nlanes = {lanes}\n[measure]\nfrom = \"50 us\"\nuntil = \"1050 us\"\n[hosts.h0]\nmemory_bandwidth = \"100 GB/s\"\n[switches.s]\nupstream = \"h0\"\nskip_position = 0.5\n[devices.a]\nupstream = \"s\"\nskip_position = 0.5\n[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"h0\"\nduration = \"1100 us\"\nrequest_size = \"{payload} B\"\n"
        );
        // At generation 2, ordered sets occupy four of 1359 symbols. At generation 3, an ordered set occupies one of 373 blocks of 16 symbols. Before
        // it, the rest of the block after the last packet is not used, and the block ends with a token of half a symbol: half a block on average.
        let (wire, kept) = if generation == 2 {
            (0.5 * f64::from(lanes) * 1e9, 1.0 - 4.0 / 1359.0)
        } else {
            (
                f64::from(lanes) * 128.0 / 130.0 * 1e9,
                1.0 - (16.0 + 8.25) / 5968.0,
            )
        };
        let expected = wire * f64::from(payload) / f64::from(payload + 20) * kept;
        let result = run(&text).all_intact();
        close(steady(result.flow("f")), expected, 0.1);
        assert!(result.link("s-a", "up").credit_stall_ns <= 0.0);
    }
}

#[test]
fn the_senders_clock_stops_when_the_last_bit_has_left() {
    let text = r#"
        [links]
        generation = 2
        lanes = 4
        [hosts.h0]
        [devices.a]
        upstream = "h0"
        [[flows]]
        id = "f"
        from = "a"
        to = "h0"
        count = 1
        request_size = "128 B"
        clock = "sender"
        start = "10 us"
    "#;
    close(rate(run(text).all_intact().flow("f")), 128.0 / 74e-9, 0.001);
}

#[test]
fn traffic_the_other_way_costs_its_acknowledgements_and_credit() {
    let one_way = |both: bool| {
        let mut text = contenders(1, "generation = 2\nlanes = 4", "");
        if both {
            text.push_str("[[flows]]\nid = \"down\"\nfrom = \"h0\"\nto = \"d0\"\nduration = \"400 us\"\nwindow = \"4 KiB\"\nrequest_size = \"128 B\"\n");
        }
        let result = run(&text).all_intact();
        let dllps = result.link("s-d0", "up").dllp_bytes;
        (steady(result.flow("f0")), dllps)
    };
    let ((alone, few), (together, many)) = (one_way(false), one_way(true));
    assert!(many > 50 * few, "{few} {many}");
    // The flow loses about as many bytes as the DLLPs have.
    let lost = (alone - together) * 300e-6 * 148.0 / 128.0;
    assert!(
        lost > 0.5 * many as f64 && lost < 1.2 * many as f64,
        "{lost} {many}"
    );
}

#[test]
fn a_core_stores_at_most_the_lines_of_its_write_combining_buffers_in_the_time_to_the_root_port() {
    for buffers in [1, 5, 16] {
        let text = format!(
            "[links]\ngeneration = 5\nlanes = 16\n[hosts.h]\nlatency = \"400 ns\"\nport_latency = \"0 ns\"\nwrite_combining_buffers = {buffers}\n[devices.d]\nupstream = \"h\"\nbar = \"1 MiB\"\n[measure]\nfrom = \"5 us\"\nuntil = \"25 us\"\n[[flows]]\nfrom = \"h\"\nto = \"d\"\nrequest_size = \"64 B\"\nsize = \"1 MiB\"\n",
        );
        let result = run(&text).all_intact();
        // A packet has a line of 64 bytes, a header of 12 bytes, a sequence number, an LCRC and a framing token.
        let on_wire = 84.0 / (2.0 * 32.0 * 128.0 / 130.0);
        let expected = f64::from(buffers) * 64e9 / (400.0 + on_wire);
        let moved = steady(&result.flows[0]);
        assert!(
            (moved / expected - 1.0).abs() < 0.01,
            "{buffers}: {moved} for {expected}"
        );
    }
}
