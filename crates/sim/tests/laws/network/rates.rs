//! The rate of a saturated fibre, which depends on the cycles of a frame and on clock compensation.

use super::*;

/// The measured payload rate of messages of `bytes` bytes, and the payload rate that frames and clock compensation permit.
fn rates(bytes: u64, lanes: u64, compensation: bool) -> (f64, f64) {
    let cycle = 6.4;
    let takes = cycles(bytes, lanes) as f64 * cycle;
    // The measurement takes a whole number of compensation periods, with some thousand packets.
    let period = 4992.0 * cycle;
    let periods = (2500.0 * takes / period).ceil().max(3.0);
    let until = 20_000.0 + periods * period;
    let routers = format!(
        "optical_lanes = {lanes}\nclock_compensation = {compensation}\npacket_size = \"4 KiB\"\nchannel_buffer = \"64 KiB\"\nmax_payload_supported = \"128 B\"\ninjection_buffer = \"64 KiB\"\nbar = \"64 KiB\""
    );
    let text = line(2, &routers, "length = \"2 m\"")
        + &format!("[measure]\nfrom = \"20000 ns\"\nuntil = \"{until} ns\"\n")
        + &flow(
            "f",
            "r0",
            "r1",
            &format!(
                "duration = \"{} ns\"\nrequest_size = \"{bytes} B\"",
                until + 5000.0
            ),
        );
    let result = run(&text).all_intact();
    let left = if compensation { 4984.0 / 4992.0 } else { 1.0 };
    (steady(result.flow("f")), bytes as f64 / takes * 1e9 * left)
}

#[test]
fn a_saturated_fibre_carries_what_its_frames_and_clock_compensation_leave() {
    for lanes in [1, 2, 4, 8] {
        for bytes in [8, 31, 32, 64, 100, 256, 1000, 1536, 2048, 4096] {
            let (found, formula) = rates(bytes, lanes, true);
            close(found, formula, 0.1);
        }
    }
}

#[test]
fn without_compensation_it_carries_what_its_frames_leave() {
    for bytes in [8, 1536, 4096] {
        let (found, formula) = rates(bytes, 4, false);
        close(found, formula, 0.1);
    }
}

#[test]
fn packets_of_1536_bytes_go_at_4_890_gigabytes_a_second() {
    let (found, _) = rates(1536, 4, true);
    close(found, 4.890e9, 0.1);
}

#[test]
fn a_run_waits_for_messages_that_are_seldom() {
    // Each node sends a message every 400 ms on average, and the ends of the fibres continue to send their credit.
    let net = Net::new("ring", &[2]).with_network("fibre_bit_error_rate = 1e-15");
    let text = format!(
        "{}[[traffic]]\nid = \"t\"\nnetwork = \"n\"\nfrom = \"routers\"\nto = \"routers\"\nmessage = \"200 B\"\nload = \"500 B/s\"\nduration = \"4 s\"\n",
        net.text()
    );
    let mut simulation = simulation(&text);
    assert!(simulation.run(&mut |_| true));
    let result = simulation.result();
    assert!(
        result.traffic[0].completed && result.simulated_ns > 3e9,
        "{}",
        result.simulated_ns
    );
}
