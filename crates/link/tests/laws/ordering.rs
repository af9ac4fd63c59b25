//! The ordering rules in the queue of a link, and round robin among its sources (PCIe Base 2.4).

use kernel::{Span, Stream};
use link::PortParameters;
use proptest::prelude::*;
use protocol::{Attributes, Class, FunctionId, Header, Passing, Tag};

use crate::cases::cases;
use crate::pair::*;

/// A pair whose far end has buffer space for these numbers of packets of each class, and keeps all packets.
fn narrow(posted: u32, nonposted: u32, completions: u32) -> Pair {
    let parameters = PortParameters {
        posted_headers: Some(posted),
        nonposted_headers: Some(nonposted),
        completion_headers: Some(completions),
        update_fc_share: 0.0,
        ..PortParameters::default()
    };
    let mut pair = Pair::ready(&Setup {
        parameters,
        ..Setup::default()
    });
    pair.appetite = [Appetite::Never; 2];
    pair
}

fn arrive(pair: &mut Pair, headers: &[Header]) -> Vec<u64> {
    for header in headers {
        pair.send(Left, *header);
    }
    pair.run_for(Span::from_us(2));
    pair.numbers(Right)
}

#[test]
fn a_posted_request_passes_a_blocked_read() {
    let order = arrive(&mut narrow(8, 1, 8), &[read(), read(), write(64)]);
    assert_eq!(order, [0, 2]);
}

#[test]
fn a_completion_passes_a_blocked_read() {
    let order = arrive(&mut narrow(8, 1, 8), &[read(), read(), completion(64)]);
    assert_eq!(order, [0, 2]);
}

#[test]
fn a_read_does_not_pass_an_older_blocked_write() {
    let mut pair = narrow(1, 8, 8);
    let order = arrive(&mut pair, &[write(64), write(64), read()]);
    assert_eq!(order, [0]);
    pair.free(Right);
    pair.run_for(Span::from_us(2));
    assert_eq!(pair.numbers(Right), [0, 1, 2]);
}

#[test]
fn a_completion_does_not_pass_an_older_blocked_write() {
    let order = arrive(
        &mut narrow(1, 8, 8),
        &[write(64), write(64), completion(64)],
    );
    assert_eq!(order, [0]);
}

#[test]
fn a_read_behind_a_blocked_completion_may_go() {
    let order = arrive(
        &mut narrow(8, 8, 1),
        &[completion(64), completion(64), read(), write(64)],
    );
    assert_eq!(order, [0, 2, 3]);
}

#[test]
fn a_write_does_not_pass_an_older_blocked_write_that_is_larger() {
    let mut pair = Pair::ready(&Setup {
        parameters: PortParameters {
            posted_data: Some(kernel::Bytes(160)),
            ..PortParameters::default()
        },
        ..Setup::default()
    });
    pair.appetite = [Appetite::Never; 2];
    assert_eq!(arrive(&mut pair, &[write(128), write(128), write(4)]), [0]);
}

#[test]
fn a_completion_with_relaxed_ordering_passes_a_blocked_write() {
    let packets = [write(64), write(64), relaxed(completion(64))];
    let order = arrive(&mut narrow(1, 8, 8), &packets);
    assert_eq!(order, [0, 2]);
}

fn relaxed(header: Header) -> Header {
    Header {
        attributes: Attributes {
            relaxed_ordering: true,
            ..header.attributes
        },
        ..header
    }
}

/// A pair whose far end has space for many packets but only for 160 bytes of posted data, and keeps all packets.
fn little_data() -> Pair {
    let mut pair = Pair::ready(&Setup {
        parameters: PortParameters {
            posted_data: Some(kernel::Bytes(160)),
            ..PortParameters::default()
        },
        ..Setup::default()
    });
    pair.appetite = [Appetite::Never; 2];
    pair
}

/// PCIe Base 2.4.1, A2b.
#[test]
fn a_write_with_relaxed_ordering_passes_an_older_blocked_write_that_is_larger() {
    let mut pair = little_data();
    assert_eq!(
        arrive(&mut pair, &[write(128), write(128), relaxed(write(4))]),
        [0, 2]
    );
    pair.free(Right);
    pair.run_for(Span::from_us(2));
    assert_eq!(pair.numbers(Right), [0, 2, 1]);
}

#[test]
fn a_write_with_relaxed_ordering_that_lacks_credit_waits_too() {
    let packets = [
        write(128),
        write(128),
        relaxed(write(128)),
        relaxed(write(16)),
    ];
    assert_eq!(arrive(&mut little_data(), &packets), [0, 3]);
}

#[test]
fn a_write_by_id_passes_the_blocked_writes_of_others_alone() {
    let write_of = |requester, len| {
        Header::memory_write(FunctionId(requester), 0x1000, len).expect("a legal write")
    };
    let packets = [write_of(7, 128), write_of(7, 128), by_id(write_of(8, 4))];
    assert_eq!(arrive(&mut little_data(), &packets), [0, 2]);
    let own = [write_of(7, 128), write_of(7, 128), by_id(write_of(7, 4))];
    assert_eq!(arrive(&mut little_data(), &own), [0]);
    let behind_own = [
        write_of(7, 128),
        write_of(7, 128),
        write_of(8, 128),
        by_id(write_of(8, 4)),
    ];
    assert_eq!(arrive(&mut little_data(), &behind_own), [0]);
}

#[test]
fn a_read_by_id_behind_one_that_waits_for_a_write_passes_both() {
    let order = arrive(
        &mut narrow(1, 8, 8),
        &[write_of(7), write_of(7), read_of(7), by_id(read_of(8))],
    );
    assert_eq!(order, [0, 3]);
}

fn by_id(header: Header) -> Header {
    Header {
        attributes: Attributes {
            id_ordering: true,
            ..header.attributes
        },
        ..header
    }
}

fn write_of(requester: u16) -> Header {
    Header::memory_write(FunctionId(requester), 0x1000, 64).expect("a legal write")
}

fn read_of(requester: u16) -> Header {
    Header::memory_read(FunctionId(requester), Tag(0), 0x1000, 64).expect("a legal read")
}

#[test]
fn a_read_by_id_passes_the_blocked_write_of_another_requester() {
    let order = arrive(
        &mut narrow(1, 8, 8),
        &[write_of(7), write_of(7), by_id(read_of(8))],
    );
    assert_eq!(order, [0, 2]);
}

#[test]
fn a_read_by_id_does_not_pass_its_own_requesters_write_behind_that_of_another() {
    let order = arrive(
        &mut narrow(1, 8, 8),
        &[write_of(7), write_of(7), write_of(8), by_id(read_of(8))],
    );
    assert_eq!(order, [0]);
}

#[test]
fn sources_that_all_have_packets_take_turns() {
    let mut pair = Pair::ready(&Setup {
        sources: 3,
        ..Setup::default()
    });
    let now = pair.now();
    for source in 0..3 {
        for _ in 0..4 {
            pair.send_at(Left, source, write(64), now + Span::from_ns(100));
        }
    }
    pair.run();
    let order: Vec<u16> = pair.begun(Left).iter().map(|sent| sent.1).collect();
    assert!(
        order.windows(3).take(10).all(|three| {
            let mut three = three.to_vec();
            three.sort_unstable();
            three == [0, 1, 2]
        }),
        "{order:?}"
    );
}

#[test]
fn a_source_sends_its_weight_in_a_row_while_others_wait() {
    let mut pair = Pair::ready(&Setup {
        sources: 3,
        weights: vec![1, 3, 2],
        ..Setup::default()
    });
    let now = pair.now();
    for source in 0..3 {
        for _ in 0..6 {
            pair.send_at(Left, source, write(64), now + Span::from_ns(100));
        }
    }
    pair.run();
    let order: Vec<u16> = pair.begun(Left).iter().map(|sent| sent.1).collect();
    assert_eq!(order[..12], [0, 1, 1, 1, 2, 2, 0, 1, 1, 1, 2, 2]);
    // The remaining packets belong to the other sources.
    assert_eq!(order[12..], [0, 2, 2, 0, 0, 0]);
}

#[test]
fn a_source_without_credit_does_not_hold_up_another_class_of_another_source() {
    let parameters = PortParameters {
        nonposted_headers: Some(1),
        update_fc_share: 0.0,
        ..PortParameters::default()
    };
    let mut pair = Pair::ready(&Setup {
        sources: 2,
        parameters,
        ..Setup::default()
    });
    pair.appetite = [Appetite::Never; 2];
    let now = pair.now();
    pair.send_at(Left, 0, read(), now);
    pair.send_at(Left, 0, read(), now);
    pair.send_at(Left, 1, write(64), now);
    pair.run_for(Span::from_us(1));
    assert_eq!(pair.numbers(Right), [0, 2]);
}

#[test]
fn a_packet_does_not_leave_before_it_is_ready() {
    let mut pair = Pair::ready(&Setup::default());
    let ready = pair.now() + Span::from_ns(333);
    pair.send_at(Left, 0, write(64), ready);
    pair.run();
    let start = pair.tlps(Left)[0].2;
    assert_eq!(start, ready.round_up(pair.symbol()));
}

/// A random packet of one of three functions, with random attributes. ID-based ordering is possible only if `ids`.
fn any_header(random: &mut Stream, ids: bool) -> Header {
    let function = FunctionId(random.below(3) as u16 + 1);
    let len = [4, 64, 128][random.below(3) as usize];
    let header = match random.below(3) {
        0 => Header::memory_write(function, 0x1000, len),
        1 => Header::memory_read(function, Tag(0), 0x1000, 64),
        _ => {
            let request =
                Header::memory_read(FunctionId(99), Tag(0), 0x1000, 64).expect("a legal read");
            Header::completion_with_data(&request, function, 0, len.min(64))
        }
    };
    let mut header = header.expect("a legal packet");
    header.attributes = match random.below(4) {
        0 if ids => by_id(header).attributes,
        1 => relaxed(header).attributes,
        _ => header.attributes,
    };
    header
}

proptest! {
    #![proptest_config(cases(16))]
    #[test]
    fn no_packet_passes_one_that_it_must_not_and_none_is_stuck(seed in any::<u64>(), ids in any::<bool>()) {
        let mut random = Stream::named(seed, "packets");
        let mut pair = if random.below(2) == 0 {
            little_data()
        } else {
            narrow(1 + random.below(3) as u32, 1 + random.below(3) as u32, 1 + random.below(3) as u32)
        };
        let mut headers = Vec::new();
        while headers.len() < 200 {
            for _ in 0..random.below(6) {
                let header = any_header(&mut random, ids);
                headers.push(header);
                pair.send(Left, header);
            }
            pair.run_for(Span::from_ns(random.below(300)));
            let class = Class::ALL[random.below(3) as usize];
            if pair.keeps(Right, class) > 0 {
                pair.free_one(Right, class);
            }
        }
        pair.run_for(Span::from_us(1));
        while pair.numbers(Right).len() < headers.len() {
            let before = pair.numbers(Right).len();
            for class in Class::ALL {
                while pair.keeps(Right, class) > 0 {
                    pair.free_one(Right, class);
                }
            }
            pair.run_for(Span::from_us(1));
            prop_assert!(pair.numbers(Right).len() > before, "packets are stuck");
        }
        let order = pair.numbers(Right);
        for (place, later) in order.iter().enumerate() {
            for earlier in order[place + 1..].iter().filter(|other| *other < later) {
                let passing = headers[*later as usize].may_pass(&headers[*earlier as usize]);
                prop_assert_ne!(passing, Passing::No, "{} passed {}: {:?} {:?}", later, earlier, headers[*later as usize], headers[*earlier as usize]);
            }
        }
    }
}
