//! Native flow control: a receiver pauses the whole fibre before its buffer is full.

use super::*;

/// A scenario with two routers. Packets leave the network by a slow link, so they wait at the second router.
fn slow_exit(buffer: &str, metres: u32, lines: &str) -> String {
    let routers = format!("flow_control = \"native\"\nchannel_buffer = \"{buffer}\"\n{lines}");
    let text = line(2, &routers, &format!("length = \"{metres} m\""));
    "[links]\ngeneration = 1\nlanes = 1\n".to_owned()
        + &text
        + &flow(
            "f",
            "r0",
            "h1",
            "size = \"128 KiB\"\nrequest_size = \"1 KiB\"",
        )
        + &flow(
            "g",
            "r1",
            "r0",
            "size = \"128 KiB\"\nrequest_size = \"1536 B\"",
        )
}

#[test]
fn no_buffer_overflows_that_holds_what_still_comes() {
    for metres in [0, 2, 100, 1000] {
        for lines in [
            "",
            "optical_lanes = 8",
            "clock_compensation = false",
            "forward_cycles = 200",
            "reliable = true",
            "virtual_channels = 1",
        ] {
            let text = slow_exit("128 KiB", metres, lines);
            assert_eq!(warnings(&text), Vec::<String>::new());
            let (simulation, result) = run_to_silence(&text);
            let result = result.all_intact();
            assert!(result.fibres.iter().all(|fibre| fibre.replays == 0));
            assert_nothing_is_held(&simulation, &text);
        }
    }
}

#[test]
fn a_receiver_pauses_and_resumes() {
    let (_, result) = run_to_silence(&slow_exit("32 KiB", 2, ""));
    let result = result.all_intact();
    let fibre = |from: &str| {
        let found = result.fibres.iter().find(|fibre| fibre.from == from);
        found.expect("there is a fibre")
    };
    // The slow link carries 200 MB/s and the fibre carries 4.9 GB/s, so the sender waits most of the time.
    assert!(fibre("r0").credit_stall_ns > 300_000.0, "{:?}", fibre("r0"));
    assert!(fibre("r1").control_bytes > 0 || fibre("r1").frames > 0);
}

#[test]
fn a_buffer_too_small_for_the_way_there_and_back_is_warned_of_and_what_overflows_is_told() {
    let text = slow_exit("4 KiB", 1000, "");
    let found = warnings(&text);
    // There is a warning for each of the two ends of the fibre.
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].starts_with("law.toml:10: r0.channel_buffer: 4 KiB can overflow: "),
        "{found:?}"
    );
    let (simulation, result) = run_to_silence(&text);
    let overflow = result.errors("r1", "overflow of a fibre's buffer");
    assert!(overflow > 0);
    assert_eq!(result.flow("f").bytes + overflow * 1024, 128 << 10);
    assert!(result.flow("f").completed);
    assert_nothing_is_held(&simulation, &text);
}

#[test]
fn the_reliable_layer_sends_again_what_overflowed() {
    let text = slow_exit("4 KiB", 1000, "reliable = true");
    let (simulation, result) = run_to_silence(&text);
    let result = result.all_intact();
    assert!(result.fibres.iter().any(|fibre| fibre.replays > 0));
    assert_nothing_is_held(&simulation, &text);
}

#[test]
fn a_lost_pause_or_resume_is_made_good() {
    for seed in 1..=4 {
        let text = format!("seed = {seed}\n")
            + &slow_exit("64 KiB", 2, "reliable = true")
                .replace("length", "fibre_bit_error_rate = 1e-4\nlength");
        let (simulation, result) = run_to_silence(&text);
        let _ = result.all_intact();
        assert_nothing_is_held(&simulation, &text);
    }
}
