//! The largest and smallest values that a scenario may contain.

use std::fmt::Write;

use crate::fixture::*;

fn star(ports: usize, above: &str) -> String {
    let mut text = format!("[hosts.h0]\nports = 127\n{above}");
    let to = if above.is_empty() { "h0" } else { "s" };
    for device in 0..ports {
        write!(
            text,
            "[devices.d{device}]\nupstream = \"{to}\"\nbar = \"4 KiB\"\n"
        )
        .expect("a string");
    }
    for device in 0..ports {
        write!(
            text,
            "[[flows]]\nfrom = \"d{device}\"\nto = \"h0\"\ndirection = \"both\"\ncount = 20\nrequest_size = \"64 B\"\n[[flows]]\nfrom = \"d{device}\"\nto = \"d{}\"\ncount = 20\nrequest_size = \"64 B\"\nwindow = \"64 B\"\noffset = \"0 B\"\n",
            (device + 1) % ports
        )
        .expect("a string");
    }
    text
}

#[test]
fn a_switch_has_up_to_64_ports() {
    run(&star(62, "[switches.s]\nupstream = \"h0\"\n")).all_intact();
    run(&star(63, "[switches.s]\nupstream = \"h0\"\n")).all_intact();
}

#[test]
fn a_host_has_up_to_127_root_ports() {
    run(&star(60, "")).all_intact();
    run(&star(127, "")).all_intact();
}

#[test]
fn a_link_of_any_width_and_generation_carries_packets() {
    for generation in 1..=5 {
        for lanes in [1, 2, 4, 8, 12, 16, 32] {
            let text = format!(
                "[links]\ngeneration = {generation}\nlanes = {lanes}\n[hosts.h0]\n[switches.s]\nupstream = \"h0\"\n[devices.a]\nupstream = \"s\"\n[[flows]]\nfrom = \"a\"\nto = \"h0\"\ndirection = \"both\"\nsize = \"32 KiB\"\n"
            );
            run(&text).all_intact();
        }
    }
}

#[test]
fn any_max_payload_and_read_request_size_carries_packets() {
    for payload in [128, 256, 512, 1024, 2048, 4096] {
        for read in [128, 512, 4096] {
            let text = format!(
                "[hosts.h0]\nmax_payload_supported = \"{payload} B\"\n[devices.a]\nupstream = \"h0\"\nmax_payload_supported = \"{payload} B\"\nmax_read_request = \"{read} B\"\n[[flows]]\nfrom = \"a\"\nto = \"h0\"\ndirection = \"both\"\nsize = \"64 KiB\"\n"
            );
            let result = run(&text).all_intact();
            let down = result.link("h0-a", "down");
            let largest = payload.min(read);
            assert!(down.overhead_bytes <= (64 * 1024 / largest + 1) * 20);
        }
    }
}

#[test]
fn the_replay_timer_allows_for_the_length_of_the_cable() {
    let text = r#"
        [links]
        delay = "5 us"
        [hosts.h0]
        [devices.a]
        upstream = "h0"
        [[flows]]
        from = "a"
        to = "h0"
        direction = "both"
        size = "64 KiB"
    "#;
    let result = run_to_rest(text).all_intact();
    assert_eq!(result.link("h0-a", "up").replays, 0);
}

#[test]
fn a_chain_of_switches_carries_packets_both_ways() {
    let mut text = String::from("[links]\nlanes = 4\n[hosts.h0]\n");
    for switch in 0..20 {
        let above = if switch == 0 {
            "h0".to_owned()
        } else {
            format!("s{}", switch - 1)
        };
        write!(text, "[switches.s{switch}]\nupstream = \"{above}\"\n").expect("a string");
    }
    text.push_str("[devices.a]\nupstream = \"s19\"\n[[flows]]\nfrom = \"a\"\nto = \"h0\"\ndirection = \"both\"\nsize = \"32 KiB\"\n[[flows]]\nfrom = \"h0\"\nto = \"a\"\ndirection = \"both\"\nsize = \"8 KiB\"\n");
    run(&text).all_intact();
}

#[test]
fn the_cpu_goes_on_after_its_wires_were_full_of_the_packets_of_others() {
    // Completions for the device block the CPU's second write and all later ones.
    let text = r#"
        [links]
        lanes = 1
        [hosts.h0]
        max_payload_supported = "128 B"
        memory_bandwidth = "100 GB/s"
        [devices.a]
        upstream = "h0"
        [[flows]]
        from = "a"
        to = "h0"
        direction = "read"
        count = 20
        [[flows]]
        from = "h0"
        to = "a"
        count = 2
        interval = "2 us"
        start = "6 us"
    "#;
    run(text).all_intact();
}

/// The number of events of a run of `us` microseconds, in which a device sends at an interval and also answers reads.
fn events(us: u64) -> u64 {
    let text = format!(
        r#"
        [hosts.h0]
        [devices.a]
        upstream = "h0"
        [devices.b]
        upstream = "h0"
        [[flows]]
        from = "a"
        to = "h0"
        request_size = "64 B"
        interval = "1 us"
        duration = "{us} us"
        [[flows]]
        from = "b"
        to = "a"
        direction = "read"
        request_size = "64 B"
        interval = "1700 ns"
        duration = "{us} us"
        [[flows]]
        from = "h0"
        to = "b"
        request_size = "64 B"
        interval = "1 us"
        duration = "{us} us"
        [[flows]]
        from = "h0"
        to = "b"
        direction = "read"
        request_size = "64 B"
        interval = "1700 ns"
        duration = "{us} us"
        "#
    );
    let mut simulation = simulation(&text);
    simulation.run(&mut |_| true);
    simulation.events()
}

#[test]
fn twice_the_time_takes_twice_the_events() {
    let (short, long) = (events(400), events(800));
    close(long as f64, 2.0 * short as f64, 5.0);
}

#[test]
fn a_flow_whose_requests_are_far_apart_is_not_given_up() {
    let text = r#"
        [links]
        bit_error_rate = 1e-12
        [hosts.h0]
        [devices.a]
        upstream = "h0"
        [[flows]]
        from = "a"
        to = "h0"
        request_size = "64 B"
        interval = "400 ms"
        count = 2
    "#;
    run(text).all_intact();
}

#[test]
fn the_cpu_makes_round_trips_one_after_the_other() {
    let text = r#"
        [hosts.h0]
        [devices.r]
        upstream = "h0"
        model = "reflector"
        [[flows]]
        from = "h0"
        to = "r"
        direction = "round-trip"
        count = 3
    "#;
    run(text).all_intact();
}

#[test]
fn a_send_path_without_datapath_holds_no_more_than_its_queue() {
    let text = "[hosts.h0]\n[devices.a]\nupstream = \"h0\"\nsend_latency = \"1 us\"\nsend_queue = 4\n[[flows]]\nfrom = \"a\"\nto = \"h0\"\nsize = \"1 MiB\"\n";
    let mut simulation = simulation(text);
    while simulation.now() < kernel::Time::ZERO + kernel::Span::from_us(10) {
        simulation.step();
        assert!(simulation.packets_in_use() < 64);
    }
    run(text).all_intact();
}
