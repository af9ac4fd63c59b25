//! Bit errors on every link, through cut-through switches.

use crate::fixture::*;

fn chain(rate: &str, seed: u32, cut_through: bool) -> String {
    format!(
        r#"
        seed = {seed}
        [links]
        generation = 3
        lanes = 4
        bit_error_rate = {rate}
        [hosts.h0]
        [switches.s]
        upstream = "h0"
        cut_through = {cut_through}
        [switches.t]
        upstream = "s"
        cut_through = {cut_through}
        [devices.a]
        upstream = "t"
        [devices.b]
        upstream = "s"
        [[flows]]
        id = "w"
        from = "a"
        to = "h0"
        size = "512 KiB"
        request_size = "128 B"
        [[flows]]
        id = "r"
        from = "b"
        to = "h0"
        direction = "read"
        size = "256 KiB"
        [[flows]]
        id = "p"
        from = "b"
        to = "a"
        direction = "both"
        size = "64 KiB"
        "#
    )
}

#[test]
fn everything_arrives_once_and_whole() {
    for rate in ["1e-6", "1e-5", "1e-4"] {
        for seed in 1..=3 {
            for cut_through in [true, false] {
                let result = run(&chain(rate, seed, cut_through)).all_intact();
                let replays: u64 = result.links.iter().map(|link| link.replays).sum();
                // About 13 Mbit cross three links with a bit error rate of 1e-6, so there must be errors.
                assert!(replays > 0, "{rate} {seed} {cut_through}");
            }
        }
    }
}

#[test]
fn the_rate_falls_as_errors_rise() {
    let of = |error: &str| {
        let result = run(&chain(error, 1, true)).all_intact();
        rate(result.flow("w"))
    };
    let rates = [of("0.0"), of("1e-5"), of("1e-4")];
    assert!(rates[0] > rates[1] && rates[1] > rates[2], "{rates:?}");
    // At 1e-4, each link has a framing error about every 300 ns, which leads to Recovery.
    assert!(rates[2] > 0.05 * rates[0], "{rates:?}");
}

#[test]
fn without_errors_nothing_is_sent_again() {
    let result = run(&chain("0.0", 1, true)).all_intact();
    assert!(result.links.iter().all(|link| link.replays == 0));
}

#[test]
fn a_round_trip_survives_errors() {
    let text = r#"
        [links]
        bit_error_rate = 1e-4
        [hosts.h0]
        [switches.s]
        upstream = "h0"
        [devices.a]
        upstream = "s"
        [devices.r]
        upstream = "s"
        model = "reflector"
        [[flows]]
        id = "f"
        from = "a"
        to = "r"
        direction = "round-trip"
        count = 2000
    "#;
    run(text).all_intact();
}
