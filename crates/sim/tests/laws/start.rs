//! Flows begin as soon as every link is up.

use crate::fixture::*;

/// The time in ns at which the first bit of a flow is sent on the wire between a host and a device.
fn first_bit(generation: u8, lanes: u8, link: &str) -> f64 {
    let text = format!(
        "[links]\ngeneration = {generation}\nlanes = {lanes}\n{link}[hosts.h0]\n[devices.a]\nupstream = \"h0\"\n\
         [[flows]]\nfrom = \"a\"\nto = \"h0\"\nsize = \"4 KiB\"\n"
    );
    let flow = &run(&text).all_intact().flows[0];
    flow.sent_first_ns.expect("a flow that moved was sent")
}

#[test]
fn a_link_alone_starts_as_soon_as_its_credits_are_exchanged() {
    // Each direction carries two rounds of three InitFC packets of 8 bytes. The flow then begins at the next multiple of 260 ns.
    for (generation, byte_ns) in [(1, 4.0), (2, 2.0), (3, 1.016), (4, 0.508), (5, 0.254)] {
        for lanes in [1, 4, 16] {
            let exchanged = 2.0 * 2.0 * 3.0 * 8.0 * byte_ns / f64::from(lanes);
            let first = first_bit(generation, lanes, "");
            assert!(
                first < exchanged + 2.0 * 260.0,
                "Gen{generation} x{lanes}: {first}"
            );
        }
    }
}

#[test]
fn a_long_link_starts_after_its_flights() {
    let first = first_bit(5, 16, "delay = \"2 us\"\n");
    assert!(
        (4000.0..4000.0 + 2.0 * 2000.0 + 520.0).contains(&first),
        "{first}"
    );
}
