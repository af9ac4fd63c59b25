//! A latency changes the time of the first packet of a stream, not its rate, because default buffers cover the credit loops of their links. A buffer
//! size in the scenario that does not cover the loop limits the rate. The limit can be calculated, and a warning reports it.

use proptest::prelude::*;
use sim::Plan;
use sim::setup::catalogue;

use crate::cases::cases;
use crate::fixture::*;

/// A kind of scenario with one long stream, which is measured in the middle of the stream. Further keys can be added to each section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    Write,
    WriteToPeer,
    WriteBelowSwitch,
    Read,
    ReadFromPeer,
}

use Stream::{Read, ReadFromPeer, Write, WriteBelowSwitch, WriteToPeer};

impl Stream {
    /// The text of the scenario, with `line` in the section `place`.
    fn text(self, place: &str, line: &str) -> String {
        let at = |name: &str| if name == place { line } else { "" };
        let (up, to, direction) = match self {
            Write => ("h", "h", "write"),
            WriteToPeer => ("h", "e", "write"),
            WriteBelowSwitch => ("s", "h", "write"),
            Read => ("h", "h", "read"),
            ReadFromPeer => ("h", "e", "read"),
        };
        let text = format!(
            "[links]\ngeneration = 5\nlanes = 16\n{}\n[measure]\nfrom = \"15 us\"\nuntil = \"35 us\"\n[hosts.h]\n{}\n[devices.d]\nupstream = \"{up}\"\nmax_payload_supported = \"256 B\"\ntags = 768\nmax_read_request = \"4096 B\"\n{}\n[devices.e]\nupstream = \"h\"\nmax_payload_supported = \"256 B\"\nbar = \"1 MiB\"\n{}\n[[flows]]\nfrom = \"d\"\nto = \"{to}\"\ndirection = \"{direction}\"\nsize = \"2304 KiB\"\nwindow = \"256 KiB\"\n",
            at("links"),
            at("hosts"),
            at("devices"),
            at("target"),
        );
        let switch = format!("[switches.s]\nupstream = \"h\"\n{}\n", at("switches"));
        let below = if self == WriteBelowSwitch {
            &switch
        } else {
            ""
        };
        [&text, below].concat()
    }

    /// The rate of the stream in bytes per second, the time of its first byte in nanoseconds, and the lowest latency in nanoseconds.
    fn measured(self, place: &str, line: &str) -> (f64, f64, f64) {
        let result = run(&self.text(place, line)).all_intact();
        let flow = &result.flows[0];
        let latency = flow.all.latency_ns.as_ref().expect("it is measured");
        let first = flow.all.first_byte_ns.expect("bytes arrive");
        (steady(flow), first, latency.min)
    }
}

/// The keys that are latencies. For each: a stream that has the latency, the section of the key, and the key.
const LATENCIES: &[(Stream, &str, &str)] = &[
    (Write, "links", "delay"),
    (Write, "hosts", "receive_pipeline"),
    (Write, "hosts", "transmit_pipeline"),
    (Write, "hosts", "latency"),
    (Write, "devices", "send_latency"),
    (Write, "devices", "request_latency"),
    (WriteToPeer, "hosts", "peer_latency"),
    (WriteToPeer, "target", "receive_latency"),
    (WriteBelowSwitch, "switches", "latency"),
    (Read, "hosts", "memory_read_latency"),
    (Read, "devices", "receive_latency"),
    (ReadFromPeer, "target", "read_latency"),
    (ReadFromPeer, "target", "send_latency"),
];

/// The keys that are times but not latencies of the packets of a stream, or that limit the rate together with another key that is a number. The keys
/// are grouped by reason.
const OTHERS: &[(&str, &[&str])] = &[
    (
        "parts of another latency, which the law moves as a whole",
        &["port_latency", "core_latency"],
    ),
    (
        "rates: the time from one thing to the next",
        &[
            "interval",
            "request_interval",
            "memory_partial_line",
            "ownership_time",
            "update_fc_delay",
            "update_fc_refresh",
            "invalidation_interval",
            "move_interval",
            "poll",
            "hold",
            "work",
            "software",
            "turnaround",
        ],
    ),
    (
        "waits of engines, caches and drives whose numbers of outstanding accesses are keys: the rate is that number over the time",
        &[
            "memory_read_jitter",
            "memory_latency",
            "core_cache_latency",
            "first_cache_latency",
            "core_snoop_latency",
            "atomic_latency",
            "core_distance",
            "port_distance",
            "home_latency",
            "system_cache_latency",
            "cache_latency",
            "data_latency",
            "miss_latency",
            "snoop_latency",
            "second_latency",
            "translation_latency",
            "lookup_latency",
            "walk_latency",
            "invalidation_latency",
            "page_latency",
            "media_read_latency",
            "media_write_latency",
            "program_latency",
            "start_latency",
            "end_latency",
            "socket_latency",
            "write_response_latency",
        ],
    ),
    (
        "between the quadrants of a host, which the laws of quadrants hold",
        &["quadrant_latency"],
    ),
    (
        "of the steps of GPUs, which the laws of schedules hold",
        &["copy_latency", "kernel_latency", "poll_latency", "time"],
    ),
    (
        "between controllers, whose buffers are those of the chips",
        &["cable_send_latency", "cable_receive_latency"],
    ),
    (
        "software",
        &[
            "system_call",
            "page_pin",
            "register_write",
            "memory_write",
            "interrupt_latency",
            "clock_read",
            "timed_access",
            "thread_wake",
            "failure_latency",
            "matching",
        ],
    ),
    (
        "times of errors, of power, of training and of the run itself",
        &[
            "at",
            "fails_at",
            "severed_at",
            "training_time",
            "recovery_time",
            "l0s_exit_latency",
            "l0s_entry_time",
            "l1_exit_latency",
            "l1_entry_time",
            "speed_change_time",
            "completion_timeout",
            "tag_quarantine",
            "interrupt_timeout",
            "attention_wait",
            "link_up_wait",
            "function_level_reset_time",
            "ready_time",
            "shutdown_time",
            "loss_detection",
            "from",
            "until",
            "limit",
            "wait",
            "start",
            "duration",
        ],
    ),
];

#[test]
fn a_latency_moves_the_first_packet_and_not_the_rate_of_a_long_stream() {
    let mut before: Vec<(Stream, (f64, f64, f64))> = Vec::new();
    for (stream, place, key) in LATENCIES {
        if before.iter().all(|(other, _)| other != stream) {
            before.push((*stream, stream.measured("", "")));
        }
        let known = before.iter().find(|(other, _)| other == stream);
        let (rate, first, least) = known.expect("it was measured").1;
        let (with, later, latency) = stream.measured(place, &format!("{key} = \"1 us\""));
        assert!(
            with > 0.99 * rate,
            "{key} of {place}: {with} instead of {rate}"
        );
        let is_later = later > first + 400.0 || latency > least + 400.0;
        assert!(is_later, "{key} of {place}: {later} ns and {latency} ns");
    }
    assert!(before.iter().all(|(_, (rate, ..))| *rate > 56.3e9));
}

#[test]
fn every_time_of_the_catalogue_is_a_latency_or_has_a_reason_not_to_be_one() {
    for row in &catalogue().parameters {
        let declaration = &row.declaration;
        let is_time = declaration.unit == "ns";
        let is_latency = LATENCIES.iter().any(|(.., key)| *key == declaration.key);
        let has_reason = OTHERS
            .iter()
            .any(|(_, keys)| keys.contains(&declaration.key));
        assert!(
            !is_time || is_latency || has_reason,
            "{} is in no list",
            declaration.key
        );
    }
}

/// A scenario with a long stream of writes over a link with these keys. `raw` is the rate of the link in bytes per second.
fn over(link: &str, host: &str, device: &str, raw: f64) -> String {
    let window = 20.0 * 64.0e9 / raw;
    let size = (raw * 3.0 * window * 1e-6) as u64;
    format!(
        "{DEFAULT_LINKS}[links]\n{link}\n[measure]\nfrom = \"{window} us\"\nuntil = \"{} us\"\n[hosts.h]\nmax_payload_supported = \"512 B\"\nscaled_flow_control = true\n{host}\n[devices.d]\nupstream = \"h\"\nscaled_flow_control = true\n{device}\n[[flows]]\nfrom = \"d\"\nto = \"h\"\nsize = \"{size} B\"\nwindow = \"64 KiB\"\n",
        2.0 * window,
    )
}

fn steady_of(text: &str) -> f64 {
    steady(&run(text).all_intact().flows[0])
}

fn warnings(text: &str) -> Vec<String> {
    let plan = Plan::read(text, "law.toml").expect("it is right");
    plan.warnings.clone()
}

/// The raw rate of a link, in bytes per second.
fn raw(generation: usize, lanes: u32) -> f64 {
    let lane = [0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9];
    lane[generation - 1] * f64::from(lanes)
}

proptest! {
    #![proptest_config(cases(6))]
    #[test]
    fn default_buffers_cover_the_loop_of_any_link(
        generation in 1_usize..=5,
        lanes in prop::sample::select(&[1_u32, 4, 8, 16][..]),
        payload in prop::sample::select(&[128, 256, 512][..]),
        pipelines in prop::array::uniform4(0_u32..500),
        delay in 1_u32..500,
        latency in 50_u32..1500,
    ) {
        let link = format!("generation = {generation}\nlanes = {lanes}\n");
        let port = |[receive, transmit]: [u32; 2]| {
            format!("receive_pipeline = \"{receive} ns\"\ntransmit_pipeline = \"{transmit} ns\"\n")
        };
        let [a, b, c, d] = pipelines;
        let device = format!("max_payload_supported = \"{payload} B\"\n");
        let raw = raw(generation, lanes);
        let wire = steady_of(&over(&link, "", &device, raw));
        let text = over(
            &format!("{link}delay = \"{delay} ns\""),
            &format!("{}latency = \"{latency} ns\"", port([a, b])),
            &format!("{device}{}", port([c, d])),
            raw,
        );
        prop_assert!(warnings(&text).is_empty());
        let rate = steady_of(&text);
        prop_assert!(rate > 0.993 * wire, "{rate} instead of {wire}");
    }

    /// The warning names the time that a buffer covers and the time of its credit loop. Their ratio is the share of the full rate. With the buffer
    /// size that the warning recommends, the rate is full.
    #[test]
    fn a_buffer_that_is_written_limits_by_its_loop_and_its_warning_names_a_size_that_does(
        kib in 1_u32..12,
        latency in 100_u32..500,
        delay in 1_u32..150,
    ) {
        let link = format!("generation = 5\nlanes = 16\ndelay = \"{delay} ns\"");
        let host = format!("latency = \"{latency} ns\"\n");
        let device = "max_payload_supported = \"256 B\"";
        let wire = steady_of(&over(&link, &host, device, 64e9));
        let written = |size: &str| over(&link, &format!("{host}posted_data = \"{size}\""), device, 64e9);
        let text = written(&format!("{kib} KiB"));
        let found = warnings(&text);
        let rate = steady_of(&text);
        if found.is_empty() {
            prop_assert!(rate > 0.97 * wire, "{rate} instead of {wire}");
            return Ok(());
        }
        let words: Vec<&str> = found[0].split(' ').collect();
        let after = |word: &str| {
            let place = words.iter().position(|one| *one == word);
            words[place.unwrap_or_else(|| panic!("{word} in {words:?}")) + 1..].to_vec()
        };
        let time = |words: &[&str]| {
            let number: f64 = words[0].parse().expect("a number");
            if words[1] == "us" { 1000.0 * number } else { number }
        };
        // "... covers 72 ns of the 233 ns until the buffer is free again; 16 KiB would do"
        let covered = after("covers");
        let ratio = time(&covered[..2]) / time(&covered[4..6]);
        prop_assert!((rate / wire / ratio - 1.0).abs() < 0.06, "{rate} of {wire}: {found:?}");
        let enough = after("again;")[..2].join(" ");
        let text = written(&enough);
        prop_assert!(warnings(&text).is_empty());
        let rate = steady_of(&text);
        prop_assert!(rate > 0.993 * wire, "{rate} instead of {wire} with {enough}");
    }
}

#[test]
fn a_small_buffer_has_no_warning_where_no_flow_can_fill_it() {
    let of = |device: &str| {
        let text = over(
            "generation = 5\nlanes = 16",
            "posted_data = \"4 KiB\"",
            device,
            64e9,
        );
        warnings(&text)
    };
    assert!(of("datapath = \"16 B\"").is_empty());
    let [warning] = &of("")[..] else {
        panic!("one warning")
    };
    assert!(
        warning.starts_with("law.toml:11: h.posted_data: 4 KiB on link h-d covers "),
        "{warning}"
    );
}

#[test]
fn of_several_flows_the_one_with_the_most_packets_decides_what_is_too_small() {
    let of = |sizes: &[u32]| {
        let flow = |size: &u32| {
            format!(
                "[[flows]]\nfrom = \"d\"\nto = \"h\"\nrequest_size = \"{size} B\"\ncount = 64\n"
            )
        };
        let flows: String = sizes.iter().map(flow).collect();
        warnings(&format!(
            "[links]\ngeneration = 4\nlanes = 8\n[hosts.h]\nposted_headers = 4\n[devices.d]\nupstream = \"h\"\nmax_payload_supported = \"256 B\"\n{flows}"
        ))
    };
    let [small, large] = [of(&[64]), of(&[256])];
    assert_eq!((small.len(), large.len()), (1, 1));
    assert_ne!(small, large);
    assert_eq!([of(&[64, 256]), of(&[256, 64])], [small.clone(), small]);
}

#[test]
fn of_several_devices_all_together_fill_a_buffer_above_them() {
    let of = |devices: u32, size: &str| {
        format!(
            "[links]\ngeneration = 4\nlanes = 4\n[measure]\nfrom = \"10 us\"\nuntil = \"30 us\"\n[hosts.h]\nposted_data = \"{size}\"\n[switches.s]\nupstream = {{ to = \"h\", lanes = 16 }}\n[devices.\"d{{i}}\"]\neach = \"i = 1..{devices}\"\nupstream = \"s\"\nmax_payload_supported = \"256 B\"\n[[flows]]\neach = \"i = 1..{devices}\"\nfrom = \"d{{i}}\"\nto = \"h\"\nsize = \"256 KiB\"\n"
        )
    };
    let rate = |text: &str| -> f64 { run(text).all_intact().flows.iter().map(steady).sum() };
    assert_eq!(warnings(&of(1, "3 KiB")), [""; 0]);
    let [warning] = &warnings(&of(4, "3 KiB"))[..] else {
        panic!("one warning")
    };
    let enough = warning.split("again; ").nth(1).expect("a size");
    let enough = enough.strip_suffix(" would do").expect("a size");
    assert_eq!(warnings(&of(4, enough)), [""; 0]);
    let [slow, fast, full] = ["3 KiB", enough, "64 KiB"].map(|size| rate(&of(4, size)));
    assert!(
        slow < 0.9 * full && fast > 0.99 * full,
        "{slow} {fast} {full} with {enough}"
    );
}
