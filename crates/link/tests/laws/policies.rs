//! Policies of Acks and UpdateFCs: the number of DLLPs for packets that arrive, on an idle wire and on a wire that also carries packets of
//! this end.

use kernel::{Bytes, Span, Time};
use link::DllpPolicy;
use proptest::prelude::*;
use protocol::{Class, Dllp};

use crate::pair::*;

/// The number of packets that the left end sends.
const COUNT: usize = 60;

/// A link whose ends have `policy` for both DLLPs. With the policy share, an Ack is due after half of the limit, and an UpdateFC after a
/// tenth of the buffer.
fn setup(policy: DllpPolicy) -> Setup {
    let mut setup = Setup {
        max_payload: 4096,
        ..Setup::default()
    };
    let port = &mut setup.parameters;
    port.ack_policy = policy;
    port.ack_limit_fraction = 0.5;
    port.update_fc_policy = policy;
    port.update_fc_share = 0.1;
    (port.posted_headers, port.posted_data) = (Some(64), Some(Bytes(16 << 10)));
    setup
}

/// The numbers of Acks and of UpdateFCs for posted packets that the right end has sent.
fn counts(pair: &Pair) -> (usize, usize) {
    let dllps = pair.dllps(Right);
    let is_update =
        |dllp: &Dllp| matches!(dllp, Dllp::UpdateFc(credit) if credit.class == Class::Posted);
    let updates = dllps.iter().filter(|(_, dllp)| is_update(dllp)).count();
    (pair.acks(Right).len(), updates)
}

/// A pair in which the left end has sent [`COUNT`] small writes, and the right end has sent `large` large writes.
fn after(setup: &Setup, large: usize) -> Pair {
    let mut pair = Pair::ready(setup);
    for _ in 0..large {
        pair.send(Right, write(4096));
    }
    for _ in 0..COUNT {
        pair.send(Left, write(128));
    }
    pair.run();
    assert_eq!(pair.given[Right as usize].len(), COUNT);
    assert_eq!(pair.given[Left as usize].len(), large);
    assert_eq!(pair.packets_in_use(), 0);
    pair
}

#[test]
fn on_an_idle_wire_each_packet_has_its_dllps_unless_they_wait_for_a_share_or_the_limit() {
    for policy in [DllpPolicy::AtOnce, DllpPolicy::Merged] {
        assert_eq!(
            counts(&after(&setup(policy), 0)),
            (COUNT, COUNT),
            "{policy:?}"
        );
    }
    let share = after(&setup(DllpPolicy::Share), 0);
    let limit = after(&setup(DllpPolicy::Limit), 0);
    // A packet has 152 bytes, and the limit is (4096 + 28) * 2 / 4 + 70 symbol times at 5 GT/s x4.
    let all = share.length(152) * COUNT as u64;
    let limits = all.as_fs() / (share.symbol() * (4124 * 2 / 4 + 70)).as_fs();
    let (acks, updates) = counts(&limit);
    assert!(
        (limits..=limits + 1).contains(&(acks as u64)),
        "{acks} {limits}"
    );
    assert_eq!(
        updates, acks,
        "the guideline for UpdateFC is the limit for Ack"
    );
    let (acks, updates) = counts(&share);
    assert!(
        (2 * limits..=2 * limits + 2).contains(&(acks as u64)),
        "{acks}"
    );
    // There are 64 headers and 1024 data credits. A tenth of the headers is 7 packets.
    assert!((COUNT / 7..=COUNT / 7 + 1).contains(&updates), "{updates}");
}

#[test]
fn beside_large_packets_merged_dllps_are_one_for_each_and_others_one_for_each_small_packet() {
    // A packet of 4120 bytes takes as long as 27 small packets.
    let at_once = after(&setup(DllpPolicy::AtOnce), 4);
    assert_eq!(counts(&at_once), (COUNT, COUNT));
    let (acks, updates) = counts(&after(&setup(DllpPolicy::Merged), 4));
    assert!(
        (3..=5).contains(&acks) && (3..=5).contains(&updates),
        "{acks} {updates}"
    );
}

#[test]
fn an_ack_for_each_packet_names_each_packet() {
    let at_once = after(&setup(DllpPolicy::AtOnce), 4);
    let named: Vec<u16> = at_once.acks(Right).iter().map(|ack| ack.1).collect();
    assert_eq!(named, (0..COUNT as u16).collect::<Vec<_>>());
}

proptest! {
    /// A policy that sends DLLPs earlier leaves no more of the wire to the packets of its own end.
    #[test]
    fn a_more_eager_policy_never_makes_the_other_direction_faster(large in 1_usize..12, payload in 1_u32..32) {
        let end = |policy| {
            let mut pair = Pair::ready(&setup(policy));
            for _ in 0..large {
                pair.send(Right, write(payload * 128));
            }
            for _ in 0..COUNT {
                pair.send(Left, write(128));
            }
            pair.run();
            pair.given[Left as usize].last().map_or(Time::ZERO, |given| given.complete)
        };
        let eager = [DllpPolicy::Limit, DllpPolicy::Share, DllpPolicy::Merged, DllpPolicy::AtOnce];
        let ends = eager.map(end);
        prop_assert!(ends.is_sorted(), "{ends:?}");
    }

    #[test]
    fn each_policy_recovers_from_bit_errors(
        acks in prop::sample::select(&DllpPolicy::ALL[..]),
        updates in prop::sample::select(&DllpPolicy::ALL[..]),
        seed: u64,
        cut_through: bool,
    ) {
        let mut setup = Setup { bit_error_rate: 1e-5, seed, cut_through, ..setup(acks) };
        setup.parameters.update_fc_policy = updates;
        setup.parameters.update_fc_refresh = Span::from_us(30);
        let mut pair = Pair::ready(&setup);
        for _ in 0..COUNT {
            pair.send(Left, write(512));
            pair.send(Right, write(256));
        }
        // An end with bit errors never stops sending its limits again.
        pair.run_for(Span::from_us(1000));
        for side in [Left, Right] {
            prop_assert_eq!(pair.numbers(side).len(), COUNT);
        }
    }
}
