//! Bit errors on fibres: without the reliable layer, corrupted packets are lost and reported. With the reliable layer, no packet is lost.

use super::*;

fn noisy(rate: &str, seed: u32, routers: &str, amount: &str) -> String {
    format!("seed = {seed}\n")
        + &line(
            3,
            &format!("{routers}\nbar = \"64 KiB\""),
            &format!("fibre_bit_error_rate = {rate}"),
        )
        + &flow("there", "r0", "r2", amount)
        + &flow("back", "r2", "r0", amount)
        + &flow("half", "r1", "r2", amount)
        + &flow("host", "h0", "h2", &format!("{amount}\nwindow = \"4 KiB\""))
}

/// Asserts that all packets of `bytes` bytes which did not arrive are reported as bit errors on a fibre, and that all bytes that arrived are right.
fn assert_losses_are_counted(text: &str, asked: u64, bytes: u64) {
    let (simulation, result) = run_to_silence(text);
    let mut missing = 0;
    for flow in &result.flows {
        assert!(flow.completed, "{flow:?}\n{text}");
        assert!(flow.bytes <= asked, "{flow:?}");
        missing += asked - flow.bytes;
    }
    assert!(missing > 0, "no bit error struck\n{text}");
    assert_eq!(
        missing,
        lost(&result) * bytes,
        "{:?}\n{text}",
        result.errors
    );
    let known = |what: &str| what == "bit errors on a fibre";
    assert!(
        result.errors.iter().all(|error| known(error.what)),
        "{:?}",
        result.errors
    );
    assert!(result.fibres.iter().all(|fibre| fibre.replays == 0));
    assert_nothing_is_held(&simulation, text);
}

#[test]
fn without_retransmission_what_is_struck_is_lost_and_told() {
    for rate in ["1e-6", "1e-5", "1e-4"] {
        for seed in 1..=3 {
            let amount = "size = \"256 KiB\"\nrequest_size = \"64 B\"";
            assert_losses_are_counted(&noisy(rate, seed, "", amount), 256 << 10, 64);
        }
    }
}

#[test]
fn credit_does_not_leak_on_a_bad_fibre_with_small_buffers() {
    for (seed, lanes) in [(1, 1), (2, 4), (3, 8)] {
        // The pipelines are also deep, so a router processes frames later than control blocks.
        let routers = format!(
            "forward_cycles = 50\ndeliver_cycles = 50\noptical_lanes = {lanes}\npacket_size = \"128 B\"\nmax_payload_supported = \"128 B\"\nchannel_buffer = \"320 B\""
        );
        let amount = "size = \"128 KiB\"\nrequest_size = \"64 B\"";
        assert_losses_are_counted(&noisy("3e-4", seed, &routers, amount), 128 << 10, 64);
    }
}

#[test]
fn the_reliable_layer_brings_everything_once_and_in_order() {
    for rate in ["1e-6", "1e-5", "1e-4"] {
        for seed in 1..=3 {
            for (size, request) in [(256, 64), (512, 256), (512, 1536)] {
                let amount = format!("size = \"{size} KiB\"\nrequest_size = \"{request} B\"");
                let text = noisy(rate, seed, "reliable = true", &amount);
                let (simulation, result) = run_to_silence(&text);
                let result = result.all_intact();
                let replays: u64 = result.fibres.iter().map(|fibre| fibre.replays).sum();
                assert!(replays > 0 || rate == "1e-6", "{rate} {seed}");
                assert_nothing_is_held(&simulation, &text);
            }
        }
    }
}

#[test]
fn the_reliable_layer_sends_nothing_again_on_a_good_fibre() {
    for request in [8, 256, 1536] {
        for lines in [
            "",
            "retransmission_buffer = \"1 KiB\"",
            "channel_buffer = \"2 KiB\"",
            "optical_lanes = 1",
        ] {
            let amount = format!("size = \"64 KiB\"\nrequest_size = \"{request} B\"");
            let text = noisy("0.0", 1, &format!("reliable = true\n{lines}"), &amount);
            let (simulation, result) = run_to_silence(&text);
            let result = result.all_intact();
            assert!(
                result.fibres.iter().all(|fibre| fibre.replays == 0),
                "{:?}\n{text}",
                result.fibres
            );
            assert_nothing_is_held(&simulation, &text);
        }
    }
}

#[test]
fn a_fibre_too_bad_for_any_frame_is_given_up_and_told() {
    let text = line(
        2,
        "reliable = true\nbar = \"64 KiB\"",
        "fibre_bit_error_rate = 0.05",
    ) + &flow(
        "f",
        "r0",
        "r1",
        "size = \"64 KiB\"\nrequest_size = \"1 KiB\"",
    );
    let (simulation, result) = run_to_silence(&text);
    assert_eq!(result.flow("f").bytes, 0);
    assert!(result.flow("f").completed && !result.flow("f").intact);
    assert_eq!(lost(&result), 64);
    assert_eq!(simulation.packets_in_use(), 0);
}
