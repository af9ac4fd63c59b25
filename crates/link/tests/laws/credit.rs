//! Flow control: a sender stays within its credit, and the credit that it used is returned (PCIe Base 2.6.1).

use kernel::{Bytes, Span, Stream};
use link::PortParameters;
use proptest::prelude::*;
use protocol::{Class, Dllp};

use crate::cases::cases;
use crate::pair::*;

fn with(change: impl FnOnce(&mut PortParameters)) -> Setup {
    let mut setup = Setup::default();
    change(&mut setup.parameters);
    setup
}

#[test]
fn a_sender_without_header_credit_waits_and_goes_on_after_the_update() {
    let mut pair = Pair::ready(&with(|port| {
        port.posted_headers = Some(2);
        port.update_fc_share = 0.0;
    }));
    pair.appetite = [Appetite::Never; 2];
    for _ in 0..3 {
        pair.send(Left, write(4));
    }
    pair.run_for(Span::from_us(1));
    assert_eq!(pair.numbers(Right), [0, 1]);
    let before = pair.now();
    pair.free(Right);
    pair.run_for(Span::from_us(1));
    assert_eq!(pair.numbers(Right), [0, 1, 2]);
    assert!(pair.tlps(Left)[2].2 >= before + pair.length(8) + Span::from_ns(1));
}

#[test]
fn a_sender_without_data_credit_waits_though_it_has_header_credit() {
    let mut pair = Pair::ready(&with(|port| {
        port.posted_data = Some(Bytes(128 + 16));
        port.update_fc_share = 0.0;
    }));
    pair.appetite = [Appetite::Never; 2];
    pair.send(Left, write(128));
    pair.send(Left, write(20));
    pair.run_for(Span::from_us(1));
    assert_eq!(pair.numbers(Right), [0]);
    pair.free(Right);
    pair.run_for(Span::from_us(1));
    assert_eq!(pair.numbers(Right), [0, 1]);
}

#[test]
fn the_wait_for_credit_is_counted_and_no_other_wait_is() {
    let mut pair = Pair::ready(&with(|port| {
        port.posted_headers = Some(1);
        port.update_fc_share = 0.0;
    }));
    pair.appetite = [Appetite::Never; 2];
    let ready = pair.now() + Span::from_ns(500);
    pair.send_at(Left, 0, write(4), ready);
    pair.run_for(Span::from_us(1));
    assert_eq!(pair.counters(Left).credit_stall, Span::ZERO);
    pair.send(Left, write(4));
    pair.run_for(Span::from_us(1));
    pair.free(Right);
    pair.run_for(Span::from_us(1));
    let stall = pair.counters(Left).credit_stall;
    assert!((1000.0..1100.0).contains(&stall.as_ns()), "{stall:?}");
}

#[test]
fn credit_that_is_not_worth_telling_is_told_within_the_interval() {
    let interval = Span::from_us(7);
    let mut pair = Pair::ready(&with(|port| {
        port.update_fc_share = 1.0;
        port.update_fc_delay = Some(interval);
    }));
    pair.send(Left, write(128));
    pair.run();
    let freed = pair.given[Right as usize][0].complete;
    let updates: Vec<_> = pair
        .dllps(Right)
        .into_iter()
        .filter(|(_, dllp)| matches!(dllp, Dllp::UpdateFc(_)))
        .collect();
    assert_eq!(updates.len(), 1);
    assert!(updates[0].0 <= freed + interval + pair.symbol() * 40);
}

#[test]
fn with_share_0_each_freed_packet_is_told_at_once() {
    let mut pair = Pair::ready(&with(|port| port.update_fc_share = 0.0));
    for _ in 0..10 {
        pair.send(Left, write(128));
    }
    pair.run();
    let updates = pair.dllps(Right).into_iter();
    let updates = updates.filter(|(_, dllp)| matches!(dllp, Dllp::UpdateFc(_)));
    assert_eq!(updates.count(), 10);
}

/// The receiver of a cut-through port frees a packet at its header, which no component is allowed to do.
#[test]
#[should_panic(expected = "credit comes back after its packet has arrived")]
fn credit_before_its_packet_breaks_an_invariant() {
    let setup = Setup {
        cut_through: true,
        lanes: 1,
        ..with(|parameters| parameters.update_fc_share = 0.0)
    };
    let mut pair = Pair::ready(&setup);
    pair.appetite[Right as usize] = Appetite::Never;
    pair.send(Left, write(128));
    while pair.given[Right as usize].is_empty() {
        assert!(pair.step(), "the packet arrives");
    }
    assert!(pair.given[Right as usize][0].complete > pair.now());
    pair.free(Right);
    pair.run();
}

#[test]
fn infinite_credit_is_never_updated_and_never_runs_out() {
    let mut pair = Pair::ready(&Setup {
        infinite_completions: true,
        ..Setup::default()
    });
    pair.appetite = [Appetite::Never; 2];
    for _ in 0..600 {
        pair.send(Left, completion(64));
    }
    pair.run();
    assert_eq!(pair.numbers(Right).len(), 600);
    for _ in 0..600 {
        pair.free(Right);
    }
    pair.run();
    let told = pair.dllps(Right).into_iter();
    let told = told.filter(|(_, dllp)| matches!(dllp, Dllp::UpdateFc(_)));
    assert_eq!(told.count(), 0);
}

#[test]
fn the_smallest_buffers_that_hold_one_packet_let_traffic_flow() {
    let mut pair = Pair::ready(&with(|port| {
        port.posted_headers = Some(1);
        port.posted_data = Some(Bytes(128));
        port.nonposted_headers = Some(1);
        port.completion_headers = Some(1);
        port.completion_data = Some(Bytes(64));
    }));
    for _ in 0..50 {
        pair.send(Left, write(128));
        pair.send(Left, read());
        pair.send(Left, completion(64));
    }
    pair.run();
    assert_eq!(pair.numbers(Right).len(), 150);
    assert_eq!(pair.packets_in_use(), 0);
}

#[test]
fn credit_that_will_be_free_is_told_no_earlier_and_no_later_than_credit_that_is() {
    for share in [0.0, 0.1, 0.5, 1.0] {
        let updates = |appetite| {
            let mut pair = Pair::ready(&with(|port| {
                port.update_fc_share = share;
                port.posted_headers = Some(8);
            }));
            pair.appetite = [appetite; 2];
            for number in 0..200 {
                pair.send(Left, write(4 + number % 100));
                pair.send(Left, read());
                pair.send(Left, completion(64));
            }
            pair.run();
            assert_eq!(pair.numbers(Right).len(), 600);
            // An UpdateFC that is due because of the interval may include packets that were freed slightly earlier.
            let last = &pair.given[Right as usize][599];
            let mut passed = pair.passed(Right);
            passed.retain(|it| it.start < last.complete + Span::from_us(1));
            passed
        };
        let slow = Span::from_ns(777);
        let (foreseen, after) = (
            updates(Appetite::Foreseen(slow)),
            updates(Appetite::After(slow)),
        );
        let different = foreseen
            .iter()
            .zip(&after)
            .position(|both| both.0 != both.1);
        let place = different.unwrap_or(foreseen.len().min(after.len()));
        assert!(
            foreseen == after,
            "share {share}: {:?} and {:?}",
            foreseen.get(place),
            after.get(place)
        );
    }
}

/// The credit of the far end, computed from its announcements and the packets sent.
struct Ledger {
    limit: [(u8, u16); 3],
    used: [(u8, u16); 3],
    size: [(u32, u64); 3],
}

fn ledger(port: &PortParameters) -> Ledger {
    let setup = Setup::default();
    let buffers = port.buffers(&setup.config("left"));
    let size = [0, 1, 2].map(|class| (buffers.headers[class], buffers.data[class].0));
    Ledger {
        limit: size.map(|(headers, data)| (headers as u8, data.div_ceil(16) as u16)),
        used: [(0, 0); 3],
        size,
    }
}

impl Ledger {
    fn free(&self, class: usize) -> (u8, u16) {
        let ((limit_h, limit_d), (used_h, used_d)) = (self.limit[class], self.used[class]);
        (
            limit_h.wrapping_sub(used_h),
            limit_d.wrapping_sub(used_d) & 0xfff,
        )
    }

    fn within(&self, class: usize) -> bool {
        let (headers, data) = self.free(class);
        u32::from(headers) <= self.size[class].0
            && u64::from(data) <= self.size[class].1.div_ceil(16)
    }
}

proptest! {
    #![proptest_config(cases(24))]
    #[test]
    fn credits_are_never_negative_nor_leaked(
        seed in any::<u64>(),
        headers in 1_u32..=127,
        data in 8_u64..300,
        share in 0.0_f64..=1.0,
        slowness in 0_u64..400,
        foreseen in any::<bool>(),
    ) {
        let setup = with(|port| {
            port.posted_headers = Some(headers);
            port.nonposted_headers = Some(headers.div_ceil(3));
            port.completion_headers = Some(headers.div_ceil(2));
            port.posted_data = Some(Bytes(data * 16));
            port.completion_data = Some(Bytes(data * 16));
            port.update_fc_share = share;
        });
        let mut pair = Pair::ready(&setup);
        let slowness = Span::from_ns(slowness);
        pair.appetite = [if foreseen { Appetite::Foreseen(slowness) } else { Appetite::After(slowness) }; 2];
        let mut random = Stream::named(seed, "packets");
        let mut classes = Vec::new();
        for _ in 0..3000 {
            let len = 1 + random.below(128) as u32;
            let header = match random.below(3) {
                0 => write(len),
                1 => read(),
                _ => completion(len),
            };
            classes.push((header.class(), header.data_credits()));
            pair.send(Left, header);
        }
        pair.run();
        prop_assert_eq!(pair.given[1].len(), 3000);
        prop_assert!(pair.given[1].iter().all(|given| given.intact));
        prop_assert_eq!(pair.packets_in_use(), 0);
        // Replays packets and announcements in the order of their arrival.
        let mut ledger = ledger(&setup.parameters);
        let mut happened: Vec<(u64, bool, usize, u16, u8)> = Vec::new();
        for (start, _, charge) in pair.begun(Left) {
            happened.push((start.as_fs(), true, charge.class.index(), charge.data, 0));
        }
        for (start, dllp) in pair.dllps(Right) {
            if let Dllp::UpdateFc(credit) = dllp {
                happened.push((start.as_fs(), false, credit.class.index(), credit.data, credit.headers));
            }
        }
        happened.sort_by_key(|it| (it.0, it.1));
        for (_, sent, class, data, headers) in happened {
            if sent {
                let (free_headers, free_data) = ledger.free(class);
                prop_assert!(free_headers >= 1 && free_data >= data);
                let (h, d) = ledger.used[class];
                ledger.used[class] = (h.wrapping_add(1), (d + data) & 0xfff);
            } else if Class::ALL[class] == Class::NonPosted {
                ledger.limit[class] = (headers, ledger.limit[class].1);
            } else {
                ledger.limit[class] = (headers, data);
            }
            prop_assert!(ledger.within(class), "credit stays between zero and the buffer size");
        }
        // All packets were freed and announced, so all credit is returned.
        for class in 0..3 {
            let (h, _) = ledger.free(class);
            prop_assert_eq!(u32::from(h), ledger.size[class].0);
        }
    }
}
