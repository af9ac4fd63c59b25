//! L0s: an idle transmitter enters L0s, and its next packet waits for the exit (PCIe Base 5.4.1.1).

use kernel::Span;
use link::PortParameters;

use crate::pair::{Left, Pair, Right, Setup, write};

const EXIT: Span = Span::from_ns(600);

fn setup() -> Setup {
    let setup = Setup::default();
    Setup {
        parameters: PortParameters {
            l0s_exit_latency: Some(EXIT),
            l0s_entry_time: Span::from_us(2),
            ..setup.parameters
        },
        ..setup
    }
}

/// The time from when a packet is handed to the end until it is on the wire, after the wire has been idle for `idle`.
fn delay_after(idle: Span, is_enabled: bool) -> Span {
    let mut pair = Pair::ready(&setup());
    if is_enabled {
        pair.enable_l0s(Left);
    }
    pair.send(Left, write(64));
    pair.run_for(idle);
    let handed = pair.now();
    pair.send(Left, write(64));
    pair.run();
    assert_eq!(pair.numbers(Right), [0, 1]);
    pair.tlps(Left)[1].2.since(handed)
}

#[test]
fn a_packet_waits_for_the_exit_from_l0s() {
    let without = delay_after(Span::from_us(50), false);
    let with = delay_after(Span::from_us(50), true);
    assert_eq!(with, without + EXIT);
}

#[test]
fn a_wire_that_has_not_been_idle_for_long_is_in_l0() {
    let short = Span::from_us(1);
    assert_eq!(delay_after(short, true), delay_after(short, false));
}

#[test]
fn the_time_in_l0s_has_no_ordered_sets() {
    let sets = |is_enabled: bool| {
        let mut pair = Pair::ready(&setup());
        if is_enabled {
            pair.enable_l0s(Left);
        }
        pair.send(Left, write(64));
        pair.run_for(Span::from_us(1000));
        let counters = pair.counters(Left);
        (counters.ordered_set_bytes, counters.in_l0s.as_ns())
    };
    let (always, never) = (sets(false), sets(true));
    assert_eq!(always.1.to_bits(), 0.0_f64.to_bits());
    // In a millisecond, the link is outside L0s for at most two microseconds and the time of the packet.
    assert!((990_000.0..999_500.0).contains(&never.1), "{}", never.1);
    // The packet is sent after an exit from L0s: 600 ns of FTS at 2 bytes per nanosecond, and no SKP ordered set.
    assert_eq!(never.0, 1200);
    assert!(always.0 > 5000, "{always:?}");
}
