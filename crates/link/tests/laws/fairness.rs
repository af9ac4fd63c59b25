//! Shares of a wire: requests and completions of a source.

use kernel::Span;
use proptest::prelude::*;
use protocol::{Class, Header};

use crate::cases::cases;
use crate::pair::*;

/// The classes and the bytes on the wire of the packets that leave, which all wait from the beginning, in order of age.
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
        // Completions pass no older writes, and so are the older ones.
        let mut headers = vec![completion(completion_len * 4); 40];
        headers.extend([write(write_len * 4); 40]);
        let (mut lead, mut left) = (0, [40, 40]);
        for (class, bytes) in order_of(&headers) {
            let side = usize::from(class == Class::Completion);
            left[side] -= 1;
            lead += if side == 0 { bytes } else { -bytes };
            // Data credits count the bytes to within 16.
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
