//! Links, which are measured in the window of the scenario or while workloads run.

use kernel::{Span, Time};
use proptest::prelude::*;
use sim::result::RunResult;

use crate::fixture::*;

/// A scenario with writes of a device on a Gen1 x1 link, where a byte takes 4 ns. The writes take from 10 us to about 31 us.
fn writes(measure: &str) -> String {
    format!(
        r#"
        {measure}
        [links]
        generation = 1
        lanes = 1
        [hosts.h]
        [devices.d]
        upstream = "h"
        [[flows]]
        id = "f"
        from = "d"
        to = "h"
        size = "4 KiB"
        start = "10 us"
        "#
    )
}

fn window(from_ns: u64, until_ns: u64) -> String {
    format!("[measure]\nfrom = \"{from_ns} ns\"\nuntil = \"{until_ns} ns\"")
}

#[test]
fn without_a_window_links_are_measured_while_flows_run() {
    let mut simulation = simulation(&writes(""));
    assert!(simulation.run(&mut |_| true));
    let result = simulation.result();
    let flow = result.flow("f");
    let (from, until) = result.measured_ns.expect("a flow ran");
    // The measurement begins with the flow, 10 us after the link is up.
    assert!(from > 10_000.0 && from < 13_000.0, "{from}");
    assert_eq!(Some(until), flow.last_byte_ns);
    assert!(flow.first_byte_ns.expect("a flow ran") >= from);
    assert!(result.link("h-d", "up").utilisation > 0.9);
    // The time after the last flow does not change the measurement.
    let later = simulation.now() + Span::from_us(1000);
    simulation.run_until(later, &mut || true);
    let rested = simulation.result();
    assert!(rested.simulated_ns > until + 999_000.0);
    assert_eq!(rested.measured_ns, result.measured_ns);
    assert_eq!(
        rested.link("h-d", "up").utilisation.to_bits(),
        result.link("h-d", "up").utilisation.to_bits()
    );
    assert_eq!(
        rested.link("h-d", "down").dllp_bytes,
        result.link("h-d", "down").dllp_bytes
    );
}

#[test]
fn a_packet_on_the_wire_at_a_bound_counts_for_its_time_in_the_window() {
    let whole = run(&writes(""));
    let first_bit = whole.flow("f").first_byte_ns.expect("a flow ran");
    let up = whole.measured_ns.expect("a flow ran").0 - 10_000.0;
    // The window contains 300 ns before the first packet, and 100 ns of the packet.
    let begin = first_bit - up;
    let result = run(&writes(&window(begin as u64 - 300, begin as u64 + 100)));
    let link = result.link("h-d", "up");
    let busy = link.utilisation * link.under_way_ns;
    assert!((busy - 100.0).abs() < 8.0, "{link:?}");
    // The bytes of a packet are counted in the window in which the packet begins.
    assert_eq!(link.payload_bytes, 512);
    let next = run(&writes(&window(begin as u64 + 100, begin as u64 + 200)));
    let link = next.link("h-d", "up");
    assert!(link.utilisation > 0.999, "{link:?}");
    assert_eq!(link.payload_bytes, 0);
}

#[test]
fn a_window_after_the_run_measures_nothing() {
    let result = run(&writes(&window(1_000_000, 2_000_000)));
    assert_eq!(result.measured_ns, None);
    for link in &result.links {
        assert_eq!(link.payload_bytes + link.dllp_bytes, 0);
        assert!(link.utilisation <= 0.0);
    }
}

#[test]
fn a_run_that_is_stopped_is_measured_up_to_then() {
    let mut simulation = simulation(&writes(""));
    simulation.run_until(Time::ZERO + Span::from_us(15), &mut || true);
    let result = simulation.result();
    assert!(result.partial);
    assert_eq!(result.measured_ns.map(|(_, until)| until), Some(15_000.0));
    assert!(result.link("h-d", "up").utilisation > 0.5);
    assert!(simulation.run(&mut |_| true));
    assert!(!simulation.result().partial);
}

#[test]
fn readings_change_no_trace() {
    let (_, without) = trace_bytes(&writes(""));
    let (_, with) = trace_bytes(&writes(&window(10_500, 12_345)));
    assert!(without == with && !with.is_empty());
}

#[test]
fn fibres_are_measured_in_the_window_too() {
    let text = |measure: &str| {
        format!(
            r#"
            {measure}
            [networks.n]
            shape = "ring"
            size = "4"
            [[traffic]]
            network = "n"
            pattern = "uniform"
            load = "1 GB/s"
            duration = "40 us"
            "#
        )
    };
    let run = |measure: &str| run(&text(measure)).fibres;
    let all = run(&window(0, 40_000));
    let parts = [run(&window(0, 13_000)), run(&window(13_000, 40_000))];
    for (index, whole) in all.iter().enumerate() {
        let [one, other] = [&parts[0][index], &parts[1][index]];
        assert!(whole.frames > 0 && one.frames > 0 && other.frames > 0);
        assert_eq!(whole.payload_bytes, one.payload_bytes + other.payload_bytes);
        let used = (13.0 * one.utilisation + 27.0 * other.utilisation) / 40.0;
        assert!((whole.utilisation - used).abs() < 1e-6);
    }
}

/// A scenario with two devices below a switch and a device at its own root port. Device `fpga` has a fast flow, `peer` has no flow, and `slow`, at
/// the root port, has a slow flow.
const MIXED: &str = r#"
    [links]
    generation = 3
    lanes = 8
    [hosts.h]
    memory = "64 MiB"
    [switches.s]
    upstream = "h"
    [devices.fpga]
    upstream = "s"
    bar = "4 KiB"
    [devices.peer]
    upstream = "s"
    [devices.slow]
    upstream = "h"
    [[flows]]
    id = "fpga"
    from = "fpga"
    to = "h"
    size = "1 MiB"
    [[flows]]
    id = "slow"
    from = "slow"
    to = "h"
    count = 20
    request_size = "4 KiB"
    interval = "50 us"
"#;

#[test]
fn a_link_is_measured_while_flows_that_cross_it_are_under_way() {
    let result = run(MIXED);
    let length = |bounds: Option<(f64, f64)>| bounds.map(|(from, until)| until - from);
    let whole = length(result.measured_ns).expect("flows ran");
    let fpga = length(result.flow("fpga").under_way_ns).expect("bytes arrived");
    let up = result.link("h-s", "up");
    assert!(fpga < 0.2 * whole && (up.under_way_ns / fpga - 1.0).abs() < 0.02);
    assert!(up.utilisation > 0.98 && up.full > 0.98, "{up:?}");
    let slow = result.link("h-slow", "up");
    assert!((slow.under_way_ns / whole - 1.0).abs() < 0.01, "{slow:?}");
    assert!(slow.utilisation < 0.03 && slow.full < 0.01, "{slow:?}");
    // The link of the device without a flow carries no packets.
    assert!(result.link("s-peer", "up").under_way_ns == 0.0);
}

#[test]
fn a_link_that_a_slow_flow_uses_after_a_fast_one_was_full_for_a_part_of_the_time() {
    let result = run(&MIXED.replace("from = \"slow\"", "from = \"peer\""));
    let up = result.link("h-s", "up");
    let fpga = result.link("s-fpga", "up");
    let part = fpga.under_way_ns / up.under_way_ns;
    assert!(up.utilisation < 0.5 && part < 0.2, "{up:?}");
    assert!((up.full - part).abs() < 0.02, "{up:?} {part}");
    // While both flows ran, the link carried data at its full rate.
    let rate = result.flow("fpga").bytes_per_second.expect("bytes arrived");
    let together = up.together_bytes_per_second.expect("both ran");
    assert!(
        together > 0.99 * rate && together < 7.9e9,
        "{together} {rate}"
    );
}

#[test]
fn a_write_between_peers_below_a_switch_crosses_its_uplink_only_if_the_switch_redirects_it() {
    for redirect in [false, true] {
        let text = MIXED
            .replace(
                "from = \"slow\"\n    to = \"h\"",
                "from = \"peer\"\n    to = \"fpga\"\n    window = \"4 KiB\"",
            )
            .replace(
                "[switches.s]",
                &format!("[switches.s]\n    acs_redirect = {redirect}"),
            );
        let result = run(&text);
        let (up, own) = (result.link("h-s", "up"), result.link("s-fpga", "up"));
        assert_eq!(up.under_way_ns >= own.under_way_ns, redirect, "{up:?}");
    }
}

#[test]
fn the_rate_together_is_of_the_time_in_which_all_flows_that_cross_the_link_were_under_way() {
    let result = run(r#"
        [links]
        generation = 3
        lanes = 8
        [hosts.h]
        [switches.s]
        upstream = "h"
        [devices.early]
        upstream = "s"
        [devices.late]
        upstream = "s"
        [[flows]]
        id = "early"
        from = "early"
        to = "h"
        request_size = "4 KiB"
        interval = "4 us"
        duration = "400 us"
        [[flows]]
        id = "late"
        from = "late"
        to = "h"
        request_size = "4 KiB"
        interval = "4 us"
        start = "200 us"
        duration = "200 us"
    "#);
    let together = |id| {
        let link = result.link(id, "up");
        link.together_bytes_per_second.expect("a flow crosses it")
    };
    let each = 4096.0 / 4e-6;
    assert!((together("h-s") / (2.0 * each) - 1.0).abs() < 0.03);
    assert!((together("s-early") / each - 1.0).abs() < 0.03);
}

#[test]
fn flows_that_hardly_ran_together_are_named_with_the_part_that_the_later_one_had_moved() {
    let overlap = run(MIXED).overlap.expect("the slow flow goes on for long");
    assert_eq!((&*overlap.first, &*overlap.other), ("fpga", "slow"));
    let ended = run(MIXED).flow("fpga").last_byte_ns.expect("bytes arrived");
    assert!((overlap.ended_ns - ended).abs() < 1.0, "{overlap:?}");
    // The slow flow makes 20 requests in 1 ms.
    assert!((overlap.moved - ended / 1e6).abs() < 0.05, "{overlap:?}");
    let alike = MIXED.replace("count = 20", "size = \"1 MiB\"");
    let alike = alike.replace("interval = \"50 us\"", "");
    assert!(run(&alike).overlap.is_none());
}

#[test]
fn a_run_is_random_where_a_part_of_it_draws_numbers() {
    let is_random = |text: &str| simulation(text).plan().is_random();
    assert!(!is_random(MIXED));
    for (key, random) in [
        ("[hosts.h]", "[hosts.h]\n    memory_read_jitter = \"10 ns\""),
        ("[links]", "[links]\n    bit_error_rate = 1e-9"),
        ("count = 20", "count = 20\n    addresses = \"random\""),
    ] {
        assert!(is_random(&MIXED.replace(key, random)), "{random}");
    }
}

#[test]
fn a_wire_that_is_busy_for_half_of_the_time_is_not_full() {
    let result = lasting("request_size = \"4 KiB\"\ninterval = \"2 us\"");
    let up = result.link("h-d", "up");
    assert!(up.utilisation > 0.5 && up.utilisation < 0.6, "{up:?}");
    assert!(up.full < 0.01, "{up:?}");
}

/// The result of writes with a duration of 200 us, in a fabric where 4 KiB take some microseconds.
fn lasting(keys: &str) -> RunResult {
    run(&format!(
        r#"
        [links]
        generation = 3
        lanes = 4
        [hosts.h]
        [devices.d]
        upstream = "h"
        [[flows]]
        id = "f"
        from = "d"
        to = "h"
        duration = "200 us"
        {keys}
        "#
    ))
}

#[test]
fn the_rate_of_a_flow_with_a_duration_is_over_its_duration() {
    let result = lasting("request_size = \"8 KiB\"\ninterval = \"300 us\"");
    let flow = result.flow("f");
    assert_eq!(flow.bytes, 8192);
    let rate = flow.bytes_per_second.expect("bytes arrived");
    assert!((rate - 8192.0 / 200e-6).abs() < 1.0, "{rate}");
    // The 8 KiB took some microseconds, and no bytes arrived after them.
    assert_eq!(flow.silent_from_ns, flow.last_byte_ns);
    let late = lasting("request_size = \"8 KiB\"\ninterval = \"60 us\"");
    assert_eq!(late.flow("f").silent_from_ns, None);
}

#[test]
fn the_rate_of_a_flow_that_goes_on_to_its_end_is_over_the_time_until_its_last_byte() {
    let result = lasting("");
    let flow = result.flow("f");
    let (begin, end) = flow.under_way_ns.expect("bytes arrived");
    assert_eq!(Some(end), flow.last_byte_ns);
    assert!(end - begin > 200_000.0 && end - begin < 203_000.0);
    let rate = flow.bytes as f64 / ((end - begin) * 1e-9);
    assert!((rate / flow.bytes_per_second.expect("bytes arrived") - 1.0).abs() < 1e-9);
    assert_eq!(flow.silent_from_ns, None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// The measurements of two adjacent windows add up to the measurement of one window that covers both.
    #[test]
    fn windows_add_up(mut bounds in prop::array::uniform3(9_000_u64..40_000)) {
        bounds.sort_unstable();
        let [a, b, c] = bounds;
        prop_assume!(a < b && b < c);
        let links = |from, until| run(&writes(&window(from, until))).links;
        let [one, other, both] = [links(a, b), links(b, c), links(a, c)];
        for ((one, other), both) in one.iter().zip(&other).zip(&both) {
            prop_assert_eq!(one.payload_bytes + other.payload_bytes, both.payload_bytes);
            prop_assert_eq!(one.overhead_bytes + other.overhead_bytes, both.overhead_bytes);
            prop_assert_eq!(one.dllp_bytes + other.dllp_bytes, both.dllp_bytes);
            prop_assert_eq!(
                one.ordered_set_bytes + other.ordered_set_bytes,
                both.ordered_set_bytes
            );
            let stall = one.credit_stall_ns + other.credit_stall_ns;
            prop_assert!((stall - both.credit_stall_ns).abs() < 1e-3);
        }
    }
}

/// A scenario with two flows that wait for each other and for memory. One flow has both directions.
const CROWD: &str = r#"
    [links]
    generation = 1
    lanes = 1
    [hosts.h]
    memory_bandwidth = "1 GB/s"
    [switches.s]
    upstream = "h"
    [devices.a]
    upstream = "s"
    [devices.b]
    upstream = "s"
    [[flows]]
    id = "f"
    from = "a"
    to = "h"
    direction = "both"
    size = "8 KiB"
    [[flows]]
    id = "g"
    from = "b"
    to = "h"
    size = "8 KiB"
    start = "5 us"
"#;

#[test]
fn a_series_adds_up_to_the_whole_run() {
    for interval in [300, 7_000, 1_000_000] {
        let mut simulation = simulation(CROWD);
        simulation.sample(Span::from_ns(interval));
        assert!(simulation.run(&mut |_| true));
        let result = simulation.result();
        let series = result.series.as_ref().expect("a series was asked for");
        let begins = std::iter::once(&series.begin_ns).chain(&series.end_ns);
        let lengths: Vec<f64> = begins
            .zip(&series.end_ns)
            .map(|(from, to)| to - from)
            .collect();
        let interval = interval as f64;
        assert!(lengths.iter().all(|one| (0.0..=interval).contains(one)));
        close(lengths.iter().sum(), result.simulated_ns, 1e-6);
        let whole = |rates: &[f64]| -> f64 {
            assert_eq!(rates.len(), lengths.len());
            rates.iter().zip(&lengths).map(|(rate, ns)| rate * ns).sum()
        };
        let ids = series
            .flows
            .iter()
            .map(|one| (one.id.as_str(), one.direction));
        let expected = [("f", Some("write")), ("f", Some("read")), ("g", None)];
        assert_eq!(ids.collect::<Vec<_>>(), expected);
        for flow in &series.flows {
            close(whole(&flow.bytes_per_second) / 1e9, 8192.0, 1e-6);
        }
        for link in &series.links {
            let total = result.link(&link.id, link.direction);
            let payload = whole(&link.payload_bytes_per_second) / 1e9;
            assert!((payload - total.payload_bytes as f64).abs() < 1e-3);
            assert!(
                link.utilisation
                    .iter()
                    .all(|share| (0.0..=1.0).contains(share))
            );
        }
    }
}

#[test]
fn a_series_shows_who_waits() {
    let mut simulation = simulation(CROWD);
    simulation.sample(Span::from_us(1));
    assert!(simulation.run(&mut |_| true));
    let series = simulation.result().series.expect("a series was asked for");
    let link = |id: &str, direction: &str| {
        let mut links = series.links.iter();
        let found = links.find(|link| link.id == id && link.direction == direction);
        found.expect("the link is there")
    };
    // Both flows share the link of the switch, so that its packets wait there.
    let waiting = |id, direction| {
        *link(id, direction)
            .waiting_tlps
            .iter()
            .max()
            .expect("samples")
    };
    assert!(waiting("h-s", "up") > 1);
    assert_eq!(waiting("s-b", "down"), 0);
    assert!(
        *link("h-s", "up")
            .replay_buffer_bytes
            .iter()
            .max()
            .expect("samples")
            > 128
    );
    // The second flow begins 5 us later.
    let late = &series.flows[2].bytes_per_second;
    assert!(late[..5].iter().all(|rate| *rate <= 0.0) && late.iter().any(|rate| *rate > 0.0));
}

#[test]
fn samples_change_no_trace_and_no_result() {
    let path = std::env::temp_dir().join(format!("peerlane-sampled-{}", std::process::id()));
    let mut sampled = simulation(CROWD);
    let file = std::fs::File::create(&path).expect("a file in the temporary folder");
    trace_to(&mut sampled, file);
    sampled.sample(Span::from_ns(333));
    assert!(sampled.run(&mut |_| true));
    flush(&mut sampled);
    let with = std::fs::read(&path).expect("the trace is there");
    std::fs::remove_file(&path).expect("the trace can be removed");
    let (result, without) = trace_bytes(CROWD);
    assert!(with == without && !with.is_empty());
    let mut sampled = sampled.result();
    sampled.series = None;
    assert_eq!(format!("{sampled:?}"), format!("{result:?}"));
}
