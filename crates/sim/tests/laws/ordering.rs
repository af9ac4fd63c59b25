//! The ordering table through whoever queues between two ends: a switch, and a root complex between its ports.

use kernel::Span;
use link::PortParameters;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use protocol::{Class, Passing};

use crate::cases::cases;
use crate::fixture::{Ask, trace};
use crate::star::{KINDS, Kind, Star, buffers};

/// A packet: its sender, how many stubs further its receiver is, its class and its length.
type Sent = (usize, usize, Class, u32);

/// Packets that are sent at the same time, the time until the next, and what is freed then: a packet of a class at a stub.
type Round = (Vec<Sent>, u64, (usize, Class));

fn rounds() -> impl Strategy<Value = Vec<Round>> {
    let class = || select(Class::ALL.to_vec());
    let sent = (0_usize..4, 1_usize..4, class(), 4_u32..504);
    vec((vec(sent, 0..8), 0_u64..400, (0_usize..4, class())), 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 5000, ..cases(14) })]
    #[test]
    fn whoever_queues_obeys_the_ordering_table_and_loses_nothing(
        seed in any::<u64>(),
        kind in select(KINDS.to_vec()),
        inner in prop::array::uniform3(1_u32..6),
        outer in prop::array::uniform3(1_u32..4),
        errors in select(vec![0.0, 0.0, 1e-5, 1e-4]),
        rounds in rounds(),
    ) {
        let mut star = Star::with_errors(kind, 4, &buffers(inner, 512), &buffers(outer, 512), errors, seed);
        for (packets, pause, (stub, class)) in rounds {
            for (from, further, class, len) in packets {
                // Stub 0 is above a switch and has no address.
                let to = (from + further) % 4;
                let to = if to == 0 { (from % 3) + 1 } else { to };
                if to != from {
                    star.send(from, to, class, len);
                }
            }
            star.run_for(Span::from_ns(pause));
            star.free(stub, class);
        }
        star.drain();
        prop_assert_eq!(star.arrived(), star.headers.len(), "packets are stuck or doubled");
        prop_assert_eq!(star.packets_in_use(), 0, "packets are held by nobody");
        for stub in &star.stubs {
            for (place, later) in stub.given.iter().enumerate() {
                for earlier in stub.given[place + 1..].iter().filter(|other| *other < later) {
                    let ((from, later), (other, earlier)) = (star.headers[*later as usize], star.headers[*earlier as usize]);
                    // Packets that came in by different ports were never in order.
                    if from == other {
                        prop_assert_ne!(later.may_pass(&earlier), Passing::No, "{:?} passed {:?}", later, earlier);
                    }
                }
            }
        }
    }
}

#[test]
fn what_nobody_owns_leaves_no_packet_behind() {
    for kind in KINDS {
        for errors in [0.0, 1e-4] {
            let roomy = PortParameters::default();
            let mut star = Star::with_errors(kind, 3, &roomy, &buffers([2, 2, 2], 512), errors, 3);
            for number in 0..60 {
                star.send_nowhere(number % 3, Class::Posted);
                star.send_nowhere(number % 3, Class::NonPosted);
                star.send(1, 2, Class::Posted, 64);
            }
            star.drain();
            assert_eq!(star.packets_in_use(), 0, "{kind:?} {errors}");
            let answered = star.stubs[0].given.len();
            assert!(answered > 0, "{kind:?}");
        }
    }
}

#[test]
fn a_write_passes_a_read_that_is_blocked_in_the_middle() {
    for kind in KINDS {
        let mut star = Star::new(
            kind,
            3,
            &PortParameters::default(),
            &buffers([8, 1, 8], 4096),
        );
        for class in [Class::NonPosted, Class::NonPosted, Class::Posted] {
            star.send(1, 2, class, 64);
        }
        star.run_for(Span::from_us(5));
        assert_eq!(star.stubs[2].given, [0, 2], "{kind:?}");
    }
}

#[test]
fn a_read_waits_for_a_write_that_is_blocked_in_the_middle() {
    for kind in KINDS {
        let mut star = Star::new(
            kind,
            3,
            &PortParameters::default(),
            &buffers([1, 8, 8], 4096),
        );
        for class in [
            Class::Posted,
            Class::Posted,
            Class::NonPosted,
            Class::Completion,
        ] {
            star.send(1, 2, class, 64);
        }
        star.run_for(Span::from_us(5));
        assert_eq!(star.stubs[2].given, [0], "{kind:?}");
        star.drain();
        // A completion passes a read that waits for its translation.
        let expected = match kind {
            Kind::Translating => [0, 1, 3, 2],
            _ => [0, 1, 2, 3],
        };
        assert_eq!(star.stubs[2].given, expected, "{kind:?}");
    }
}

#[test]
fn a_port_that_takes_nothing_does_not_stop_the_other_ports_of_another_class() {
    for kind in KINDS {
        let mut star = Star::new(
            kind,
            4,
            &PortParameters::default(),
            &buffers([1, 8, 8], 4096),
        );
        for _ in 0..4 {
            star.send(1, 2, Class::Posted, 64);
        }
        star.send(1, 3, Class::Posted, 64);
        star.run_for(Span::from_us(5));
        assert_eq!(star.stubs[2].given, [0], "{kind:?}");
        assert_eq!(
            star.stubs[3].given,
            [4],
            "{kind:?}: another egress has its own queue"
        );
    }
}

/// PCIe Base 2.4.1, D2a: what left for the device before must be there before the answer to its read.
#[test]
fn the_answer_of_memory_does_not_pass_an_older_write_of_the_cpu() {
    // The device takes ten microseconds for each packet and has room for one write: the second waits in the root complex.
    let text = r#"
        [hosts.h0]
        [devices.a]
        upstream = "h0"
        posted_headers = 1
        receive_latency = "10 us"
        [[flows]]
        from = "h0"
        to = "a"
        count = 2
        request_size = "64 B"
        start = "20 us"
        [[flows]]
        from = "a"
        to = "h0"
        direction = "read"
        count = 1
        request_size = "64 B"
        start = "22 us"
    "#;
    let (result, lines) = trace(text);
    result.all_intact();
    let down = lines
        .iter()
        .filter(|line| line["direction"] == "down" && line["tlp"].is_string());
    let order: Vec<_> = down.map(|line| line["tlp"].as_str()).collect();
    assert_eq!(order, [Some("MWr"), Some("MWr"), Some("CplD")]);
}
