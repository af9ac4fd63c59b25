//! Any programs whose sends have receives.

use proptest::prelude::*;

use super::*;
use crate::cases::cases;

/// A message of a random program.
#[derive(Clone, Copy, Debug)]
struct Any {
    from: usize,
    to: usize,
    tag: u32,
    len: usize,
    /// Where it is at both ends.
    at: u64,
}

/// What a rank does with all messages that are its own: one after the other, or all at the same time.
async fn exchange(mut rank: Rank, arenas: Vec<u64>, messages: Vec<Any>, in_turn: bool) {
    let (own, base) = (rank.rank(), arenas[rank.rank()]);
    let target = |one: &Any| item(base + ARENA / 2 + one.at, one.len);
    let (mut sends, mut receives) = (Vec::new(), Vec::new());
    for (number, one) in messages.iter().enumerate() {
        if one.from == own {
            let sending = rank
                .begin_send(one.to, one.tag, item(base + one.at, one.len))
                .await;
            if in_turn {
                rank.end_send(sending).await;
            } else {
                sends.push(sending);
            }
        }
        if one.to == own {
            let receiving = rank
                .begin_receive(Some(one.from), Some(one.tag), target(one))
                .await;
            if in_turn {
                let got = rank.end_receive(receiving).await;
                assert_eq!(got, status(one.from, one.tag, one.len));
            } else {
                receives.push((receiving, *one));
            }
        }
        if number % 7 == own {
            rank.compute(Span::from_us(3)).await;
        }
    }
    for (receiving, one) in receives.into_iter().rev() {
        let got = rank.end_receive(receiving).await;
        assert_eq!(got, status(one.from, one.tag, one.len));
    }
    for sending in sends {
        rank.end_send(sending).await;
    }
}

fn any_program(seed: u64) {
    let mut random = Stream::named(seed, "ranks");
    let size = 2 + random.below(7) as usize;
    let parameters = RankParameters {
        share: 1 + random.below(9) as u32,
        eager_limit: Bytes(random.below(2033)),
        eager: [Eager::Immediate, Eager::Indirect][random.below(2) as usize],
        rendezvous: [Rendezvous::Put, Rendezvous::Get][random.below(2) as usize],
        ..RankParameters::default()
    };
    let nic = format!(
        "descriptors = {}\nmessages = {}\nget_queue = {}\nbuffer_prefetch = {}\n",
        1 + random.below(4),
        1 + random.below(8),
        1 + random.below(8),
        8 + random.below(20),
    );
    let crossbar = format!("virtual_channels = {}\n", 1 + random.below(4));
    let mut job = Job::over(&hosts(size, &crossbar, &nic), size, &parameters);
    let mut at = 0;
    let mut messages = Vec::new();
    for _ in 0..random.below(120) {
        let most = [40, 2500, 2500, 12_000][random.below(4) as usize];
        let one = Any {
            from: random.below(size as u64) as usize,
            to: random.below(size as u64) as usize,
            tag: random.below(3) as u32,
            len: random.below(most) as usize,
            at: at + random.below(70),
        };
        at = one.at + one.len as u64;
        job.fill(one.from, one.at, &bytes(one.at, one.len));
        messages.push(one);
    }
    let in_turn = random.below(2) == 0;
    job.play(|rank, arenas| exchange(rank, arenas, messages.clone(), in_turn));
    for one in &messages {
        let there = job.memory(one.to, ARENA / 2 + one.at, one.len);
        assert!(there == bytes(one.at, one.len), "{one:?} of {seed}");
    }
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn every_program_whose_sends_have_receives_ends_with_every_byte_in_its_place(seed: u64) {
        any_program(seed);
    }
}
