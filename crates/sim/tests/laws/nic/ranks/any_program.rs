//! Random programs in which each send has a receive.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::*;
use crate::cases::cases;

/// A message of a random program.
#[derive(Clone, Copy, Debug)]
struct Any {
    from: usize,
    to: usize,
    tag: u32,
    len: usize,
    /// The offset of the message in the memory of both ends.
    at: u64,
}

/// The program of a rank, which sends and receives all messages of the rank: one after the other, or all at the same time.
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

/// A job of ranks, and its messages.
#[derive(Clone, Debug)]
struct Program {
    size: usize,
    parameters: RankParameters,
    /// The numbers of descriptors, messages, entries of the GET queue and prefetched buffers of the network interface controllers.
    nic: [u32; 4],
    virtual_channels: u32,
    messages: Vec<Message>,
    in_turn: bool,
}

#[derive(Clone, Debug)]
struct Message {
    from: Index,
    to: Index,
    tag: u32,
    len: usize,
    /// The number of bytes between the previous message and this message in the memory of both ends.
    gap: u64,
}

fn parameters() -> impl Strategy<Value = RankParameters> {
    let eager = select(vec![Eager::Immediate, Eager::Indirect]);
    let rendezvous = select(vec![Rendezvous::Put, Rendezvous::Get]);
    (1_u32..10, 0_u64..2033, eager, rendezvous).prop_map(
        |(share, eager_limit, eager, rendezvous)| RankParameters {
            share,
            eager_limit: Bytes(eager_limit),
            eager,
            rendezvous,
            ..RankParameters::default()
        },
    )
}

fn message() -> impl Strategy<Value = Message> {
    let len = prop_oneof![0_usize..40, 0_usize..2500, 0_usize..2500, 0_usize..12_000];
    (any::<(Index, Index)>(), 0_u32..3, len, 0_u64..70).prop_map(|((from, to), tag, len, gap)| {
        Message {
            from,
            to,
            tag,
            len,
            gap,
        }
    })
}

fn program() -> impl Strategy<Value = Program> {
    let nic = (1_u32..5, 1_u32..9, 1_u32..9, 8_u32..28);
    let messages = vec(message(), 0..120);
    (
        2_usize..9,
        parameters(),
        nic,
        1_u32..5,
        messages,
        any::<bool>(),
    )
        .prop_map(
            |(size, parameters, nic, virtual_channels, messages, in_turn)| Program {
                size,
                parameters,
                nic: nic.into(),
                virtual_channels,
                messages,
                in_turn,
            },
        )
}

impl Program {
    /// The messages with their ranks and their offsets in memory.
    fn placed(&self) -> Vec<Any> {
        let mut free = 0;
        let place = |message: &Message| {
            let at = free + message.gap;
            free = at + message.len as u64;
            Any {
                from: message.from.index(self.size),
                to: message.to.index(self.size),
                tag: message.tag,
                len: message.len,
                at,
            }
        };
        self.messages.iter().map(place).collect()
    }

    fn job(&self) -> Job {
        let [descriptors, messages, gets, buffers] = self.nic;
        let nic = format!(
            "descriptors = {descriptors}\nmessages = {messages}\nget_queue = {gets}\nbuffer_prefetch = {buffers}\n"
        );
        let crossbar = format!("virtual_channels = {}\n", self.virtual_channels);
        Job::over(
            &hosts(self.size, &crossbar, &nic),
            self.size,
            &self.parameters,
        )
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 5000, ..cases(40) })]

    #[test]
    fn every_program_whose_sends_have_receives_ends_with_every_byte_in_its_place(program in program()) {
        let (mut job, messages) = (program.job(), program.placed());
        for one in &messages {
            job.fill(one.from, one.at, &bytes(one.at, one.len));
        }
        job.play(|rank, arenas| exchange(rank, arenas, messages.clone(), program.in_turn));
        for one in &messages {
            let there = job.memory(one.to, ARENA / 2 + one.at, one.len);
            prop_assert!(there == bytes(one.at, one.len), "{:?}", one);
        }
    }
}
