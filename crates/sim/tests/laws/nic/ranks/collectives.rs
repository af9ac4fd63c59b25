//! Collective operations of all ranks.

use super::*;

#[test]
fn nobody_leaves_a_barrier_before_the_last_has_come() {
    for size in 1..=8 {
        let mut job = Job::new(size, &RankParameters::default());
        let times = job.play(|mut rank, _| async move {
            let mut random = Stream::named(rank.rank() as u64, "late");
            let mut times = Vec::new();
            for _ in 0..4 {
                rank.compute(Span::from_ns(random.below(20_000))).await;
                let came = rank.now().await;
                rank.barrier().await;
                times.push((came, rank.now().await));
            }
            times
        });
        for round in 0..4 {
            let came = times.iter().map(|times| times[round].0).max();
            let left = times.iter().map(|times| times[round].1).min();
            assert!(came <= left, "{size} ranks: {came:?} {left:?}");
        }
    }
}

#[test]
fn a_broadcast_brings_the_bytes_of_its_root_to_all() {
    for (size, rendezvous) in [
        (2, Rendezvous::Put),
        (5, Rendezvous::Get),
        (8, Rendezvous::Put),
    ] {
        let mut job = Job::new(size, &parameters(Eager::Immediate, rendezvous, 1024));
        let lens = [1, 1000, 5000, 20_000];
        let got = job.play(|mut rank, arenas| async move {
            let at = arenas[rank.rank()];
            let mut wrong = 0;
            for (number, len) in (0..).zip(lens) {
                let root = number % rank.size();
                let expected = bytes(number as u64, len);
                if root == rank.rank() {
                    for (page, part) in (at..).step_by(4096).zip(expected.chunks(4096)) {
                        rank.system().store(page, part).await;
                    }
                }
                rank.broadcast(root, item(at, len)).await;
                wrong += u32::from(rank.system().load(at, len).await != expected);
            }
            wrong
        });
        assert_eq!(got, vec![0; size]);
    }
}

#[test]
fn an_all_reduce_leaves_the_sum_everywhere() {
    for (size, count) in [
        (1, 3),
        (2, 1),
        (3, 700),
        (4, 16_000),
        (6, 50),
        (7, 300),
        (8, 40),
    ] {
        let mut job = Job::new(size, &RankParameters::default());
        let number = |rank: usize, place: usize| {
            0x3000_0001_u32.wrapping_mul(rank as u32 + 1) ^ place as u32
        };
        for rank in 0..size {
            let numbers = (0..count).map(|place| number(rank, place));
            let bytes: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
            job.fill(rank, 4, &bytes);
        }
        job.play(|mut rank, arenas| async move {
            let address = arenas[rank.rank()] + 4;
            rank.all_reduce(address, count as u32).await;
        });
        let sum = |place| (0..size).fold(0, |sum: u32, rank| sum.wrapping_add(number(rank, place)));
        let expected: Vec<u8> = (0..count).map(sum).flat_map(u32::to_le_bytes).collect();
        for rank in 0..size {
            assert_eq!(job.memory(rank, 4, count * 4), expected, "{size} ranks");
        }
    }
}
