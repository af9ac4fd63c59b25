//! Shares of a wire: requests and completions of one source, and sources whose packets need different amounts of credit.

use kernel::{Bytes, Span};
use link::PortParameters;
use proptest::prelude::*;
use protocol::{Class, Header};

use crate::cases::cases;
use crate::pair::*;

/// The class and the size on the wire of each packet, in the order in which the packets leave. All packets wait from the beginning, in the
/// order of `headers`.
fn order_of(headers: &[Header]) -> Vec<(Class, i64)> {
    let mut pair = Pair::ready(&Setup::default());
    let ready = pair.now() + Span::from_ns(100);
    for header in headers {
        pair.send_at(Left, 0, *header, ready);
    }
    pair.run();
    let begun = pair.begun(Left).into_iter();
    begun
        .map(|(_, _, charge)| (charge.class, i64::from(charge.data) * 16 + 20))
        .collect()
}

proptest! {
    #![proptest_config(cases(16))]
    #[test]
    fn requests_and_completions_that_wait_share_the_wire_byte_by_byte(
        (write_len, completion_len) in (1_u32..=32, 1_u32..=32),
    ) {
        // A completion does not pass an older write, so the completions are the older packets here.
        let mut headers = vec![completion(completion_len * 4); 40];
        headers.extend([write(write_len * 4); 40]);
        let (mut lead, mut left) = (0, [40, 40]);
        for (class, bytes) in order_of(&headers) {
            let side = usize::from(class == Class::Completion);
            left[side] -= 1;
            lead += if side == 0 { bytes } else { -bytes };
            // A data credit is 16 bytes, so credits count bytes to within 16.
            let slack = 16 * (80 - left[0] - left[1]);
            prop_assert!(left.contains(&0) || lead.abs() <= 160 + slack, "{}", lead);
        }
    }
}

#[test]
fn a_read_does_not_wait_behind_a_queue_of_completions() {
    let mut headers = vec![completion(64); 20];
    headers.push(read());
    let order = order_of(&headers);
    let place = order
        .iter()
        .position(|(class, _)| *class == Class::NonPosted);
    assert!(place.is_some_and(|place| place <= 1), "{order:?}");
}

#[test]
fn a_completion_waits_for_older_writes_and_then_has_its_turns() {
    let mut headers = vec![write(64); 4];
    headers.extend([completion(64); 4]);
    headers.extend([write(64); 8]);
    let order: Vec<Class> = order_of(&headers).into_iter().map(|sent| sent.0).collect();
    assert_eq!(order[..4], [Class::Posted; 4]);
    let others = order[4..12].iter();
    let completions = others.filter(|class| **class == Class::Completion);
    assert_eq!(completions.count(), 4, "{order:?}");
}

/// The source of each packet, in the order in which the packets leave. Several sources send `small` writes, and the last source sends
/// writes of the largest size. The far end has a buffer for one largest packet, and frees each packet at once.
fn sources_of(small: &[u32], weights: &[u32], relaxed: bool) -> Vec<u16> {
    let parameters = PortParameters {
        posted_data: Some(Bytes(128)),
        update_fc_share: 0.0,
        ..Setup::default().parameters
    };
    let large = small.len() as u16;
    let mut pair = Pair::ready(&Setup {
        parameters,
        sources: small.len() + 1,
        weights: weights.to_vec(),
        ..Setup::default()
    });
    let ready = pair.now() + Span::from_ns(100);
    for _ in 0..60 {
        for (source, len) in (0..).zip(small) {
            let mut header = write(*len);
            header.attributes.relaxed_ordering = relaxed;
            pair.send_at(Left, source, header, ready);
        }
    }
    for _ in 0..8 {
        pair.send_at(Left, large, write(128), ready);
    }
    pair.run();
    let begun = pair.begun(Left).into_iter();
    begun.map(|(_, source, _)| source).collect()
}

/// The largest number of packets of other sources before a packet of `source`, since the previous packet of `source`.
fn longest_wait(order: &[u16], source: u16) -> usize {
    let mut others = order.split(|sent| *sent == source);
    others.next_back();
    others.map(<[u16]>::len).max().unwrap_or(0)
}

proptest! {
    #![proptest_config(cases(16))]
    #[test]
    fn a_packet_that_lacks_credit_waits_for_two_turns_of_each_other_source(
        small in prop::collection::vec(prop::sample::select(vec![4_u32, 16, 32, 64, 100]), 1..5),
        weights in prop::collection::vec(1_u32..4, 5),
        relaxed in any::<bool>(),
    ) {
        let weights = &weights[..=small.len()];
        let order = sources_of(&small, weights, relaxed);
        prop_assert_eq!(order.len(), 60 * small.len() + 8);
        let most: u32 = 2 * weights[..small.len()].iter().sum::<u32>();
        let wait = longest_wait(&order, small.len() as u16);
        prop_assert!(wait <= most as usize, "{} of {}: {:?}", wait, most, order);
    }
}

#[test]
fn a_packet_that_lacks_credit_lets_eight_younger_ones_with_relaxed_ordering_pass() {
    let parameters = PortParameters {
        posted_data: Some(Bytes(128)),
        update_fc_share: 0.0,
        ..Setup::default().parameters
    };
    let mut pair = Pair::ready(&Setup {
        parameters,
        ..Setup::default()
    });
    let mut small = write(32);
    small.attributes.relaxed_ordering = true;
    for header in [&[small][..], &[write(128)], &[small; 60]].concat() {
        pair.send(Left, header);
    }
    pair.run();
    let place = pair.numbers(Right).iter().position(|number| *number == 1);
    assert_eq!(place, Some(9));
}

#[test]
fn a_packet_that_the_whole_buffer_cannot_hold_keeps_no_other_waiting() {
    let parameters = PortParameters {
        posted_data: Some(Bytes(64)),
        ..Setup::default().parameters
    };
    let mut pair = Pair::ready(&Setup {
        parameters,
        sources: 2,
        ..Setup::default()
    });
    let ready = pair.now();
    pair.send_at(Left, 0, write(128), ready);
    for _ in 0..20 {
        pair.send_at(Left, 1, write(32), ready);
    }
    pair.run_for(Span::from_us(20));
    assert_eq!(pair.numbers(Right).len(), 20);
}
