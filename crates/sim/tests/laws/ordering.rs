//! The ordering table in the components that queue packets between two ends: a switch, and a root complex between its ports.

use kernel::Span;
use link::PortParameters;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use protocol::{Attributes, Class, Passing, TrafficClass};

use crate::cases::cases;
use crate::fixture::{Ask, close, run, trace};
use crate::star::{KINDS, Marked, Star, buffers};

/// A packet: its sender, the distance to its receiver in stubs, its class, its length, and its function, traffic class and attributes.
type Sent = (usize, usize, Class, u32, Marked);

/// A round of the test: packets that are sent at the same time, the time in ns until the next round, and the stub and the class of a packet that is
/// freed then.
type Round = (Vec<Sent>, u64, (usize, Class));

fn rounds() -> impl Strategy<Value = Vec<Round>> {
    let class = || select(Class::ALL.to_vec());
    let sent = (0_usize..4, 1_usize..4, class(), 4_u32..504, marked());
    vec((vec(sent, 0..8), 0_u64..400, (0_usize..4, class())), 1..200)
}

/// A random choice of four functions, two traffic classes and all attributes. One of three packets has the default values.
fn marked() -> impl Strategy<Value = Marked> {
    let any = (0_u8..4, 0_u8..2, 0_u8..8);
    let marked = any.prop_map(|(function, class, bits)| Marked {
        function,
        traffic_class: TrafficClass::new(class).expect("a class"),
        attributes: Attributes::from_bits(bits),
    });
    prop_oneof![1 => Just(Marked::default()), 2 => marked]
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
            for (from, further, class, len, marked) in packets {
                // Stub 0 is above a switch and has no address.
                let to = (from + further) % 4;
                let to = if to == 0 { (from % 3) + 1 } else { to };
                if to != from {
                    star.send_marked(from, to, (class, len), marked);
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
                    // Packets that arrived at different ports have no order. Completions of one request have the same attributes (PCIe Base 2.2.9),
                    // so completions with different attributes belong to two requests that use the same tag.
                    let is_other_request = later.class() == Class::Completion
                        && earlier.class() == Class::Completion
                        && later.attributes != earlier.attributes;
                    if from == other && !is_other_request {
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
        let given = &star.stubs[2].given;
        assert_eq!(given.len(), 4, "{kind:?}");
        assert_eq!(given[..2], [0, 1], "{kind:?}");
        // The order of the last two packets is not checked, because a completion may pass a read.
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

/// PCIe Base 2.4.1, D2a: a completion for a device arrives after all posted writes that were sent to the device before.
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

/// PCIe Base 2.4.1, A2b and B2b: if a write is blocked in the switch or root complex, a packet that may pass it by the table passes immediately.
#[test]
fn relaxed_and_id_ordering_pass_a_write_that_is_blocked_in_the_middle() {
    let relaxed = Attributes {
        relaxed_ordering: true,
        ..Attributes::default()
    };
    let by_id = Attributes {
        id_ordering: true,
        ..Attributes::default()
    };
    for kind in KINDS {
        for (class, function, attributes, passes) in [
            (Class::Posted, 0, Attributes::default(), false),
            (Class::Posted, 0, relaxed, true),
            (Class::Posted, 0, by_id, false),
            (Class::Posted, 1, by_id, true),
            (Class::NonPosted, 0, relaxed, false),
            (Class::NonPosted, 1, by_id, true),
            (Class::Completion, 0, relaxed, true),
            (Class::Completion, 1, by_id, true),
        ] {
            // The receivers have space for 512 bytes of data. The second write of 400 bytes lacks credit, but a packet of 64 bytes has enough credit.
            let roomy = PortParameters::default();
            let mut star = Star::new(kind, 3, &roomy, &buffers([8, 8, 8], 512));
            star.send(1, 2, Class::Posted, 400);
            star.send(1, 2, Class::Posted, 400);
            let marked = Marked {
                function,
                attributes,
                ..Marked::default()
            };
            star.send_marked(1, 2, (class, 64), marked);
            star.run_for(Span::from_us(5));
            let expected: &[u64] = if passes { &[0, 2] } else { &[0] };
            let mut given = star.stubs[2].given.clone();
            // The first write may also wait for its address translation, so the order is not compared.
            given.sort_unstable();
            assert_eq!(given, expected, "{kind:?} {class:?} {marked:?}");
            star.drain();
            assert_eq!(star.arrived(), 3, "{kind:?} {class:?} {marked:?}");
            assert_eq!(star.packets_in_use(), 0, "{kind:?} {class:?} {marked:?}");
        }
    }
}

/// The mean latency of flow `f`, in nanoseconds.
fn mean_latency(text: &str) -> f64 {
    let result = run(text).all_intact();
    let latency = result.flow("f").latency_ns.as_ref();
    latency.expect("writes arrive").mean
}

/// The mean latency of the writes of the second of two devices below one switch. The devices write to the two sockets of a host, and the connection
/// of the sockets is slow.
fn behind_a_slow_socket(more: &str) -> f64 {
    let text = format!(
        r#"
        [links]
        generation = 4
        lanes = 8
        [hosts.h]
        sockets = 2
        socket_bandwidth = "500 MB/s"
        memory = "2 MiB"
        [switches.s]
        upstream = "h"
        [devices.a]
        upstream = "s"
        [devices.b]
        upstream = "s"
        id_ordering_enable = true
        [[flows]]
        from = "a"
        to = "h"
        socket = 1
        duration = "20 us"
        interval = "500 ns"
        request_size = "256 B"
        [[flows]]
        id = "f"
        from = "b"
        to = "h"
        socket = 0
        start = "5 us"
        count = 20
        interval = "500 ns"
        request_size = "64 B"
        {more}
    "#
    );
    mean_latency(&text)
}

#[test]
fn writes_of_one_device_need_not_wait_for_those_of_another_with_id_ordering() {
    let ordered = behind_a_slow_socket("");
    let relaxed = behind_a_slow_socket("relaxed_ordering = true");
    let by_id = behind_a_slow_socket("id_ordering = true");
    assert!(ordered > 2.0 * by_id, "{ordered} {by_id}");
    close(relaxed, by_id, 0.0);
    close(behind_a_slow_socket("traffic_class = 1"), by_id, 0.0);
}

/// The mean latency of small writes of a device, whose large writes wait for credit.
fn behind_large_writes(more: &str) -> f64 {
    let text = format!(
        r#"
        [links]
        generation = 4
        lanes = 8
        [hosts.h]
        memory_bandwidth = "1 GB/s"
        max_payload_supported = "512 B"
        posted_data = "1 KiB"
        [devices.a]
        upstream = "h"
        max_payload_supported = "512 B"
        [[flows]]
        from = "a"
        to = "h"
        duration = "20 us"
        request_size = "512 B"
        [[flows]]
        id = "f"
        from = "a"
        to = "h"
        start = "5 us"
        count = 10
        interval = "1 us"
        request_size = "4 B"
        {more}
    "#
    );
    mean_latency(&text)
}

#[test]
fn small_writes_with_relaxed_ordering_pass_large_ones_that_lack_credit() {
    let ordered = behind_large_writes("");
    let relaxed = behind_large_writes("relaxed_ordering = true");
    assert!(ordered > relaxed + 1000.0, "{ordered} {relaxed}");
}
