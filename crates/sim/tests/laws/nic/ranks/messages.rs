//! Messages from one rank to another.

use super::*;

#[test]
fn messages_around_the_eager_limit_arrive_intact_and_in_order() {
    const STEP: u64 = 9000;
    for limit in [0, 100, 2032] {
        for parameters in all_parameters(limit) {
            let mut job = Job::new(2, &parameters);
            let around = limit as usize;
            let lens = [
                1,
                around,
                0,
                around + 1,
                7000,
                around.saturating_sub(1),
                16,
                4096,
            ];
            for (number, len) in (0..).zip(lens) {
                job.fill(0, number * STEP + 3 * number, &bytes(number, len));
            }
            let got = job.play(|mut rank, arenas| async move {
                let mut got = Vec::new();
                for (number, len) in (0..).zip(lens) {
                    let at = arenas[rank.rank()] + number * STEP;
                    if rank.rank() == 0 {
                        rank.send(1, 5, item(at + 3 * number, len)).await;
                    } else {
                        let target = item(at + 5 * number, STEP as usize);
                        got.push(rank.receive(Some(0), Some(5), target).await);
                    }
                }
                got
            });
            let expected: Vec<_> = lens.iter().map(|len| status(0, 5, *len)).collect();
            assert_eq!(got[1], expected);
            for (number, len) in (0..).zip(lens) {
                let there = job.memory(1, number * STEP + 5 * number, len + 1);
                assert_eq!(there[..len], bytes(number, len));
                assert_eq!(there[len], 0);
            }
        }
    }
}

#[test]
fn what_a_receive_has_no_room_for_is_not_written() {
    for parameters in all_parameters(500) {
        let mut job = Job::new(2, &parameters);
        job.fill(0, 0, &bytes(1, 3000));
        job.fill(1, 0, &[0xc5; 3000]);
        let got = job.play(|mut rank, arenas| async move {
            let at = arenas[rank.rank()];
            let mut got = Vec::new();
            for (len, room) in [(400, 100), (3000, 700), (400, 0), (3000, 0)] {
                if rank.rank() == 0 {
                    rank.send(1, 0, item(at, len)).await;
                } else {
                    got.push(rank.receive(None, None, item(at, room)).await.len);
                }
            }
            got
        });
        assert_eq!(got[1], [400, 3000, 400, 3000]);
        let there = job.memory(1, 0, 3000);
        assert_eq!(there[..700], bytes(1, 700));
        assert_eq!(there[700..], [0xc5; 2300]);
    }
}

#[test]
fn a_receive_of_anything_takes_what_came_first() {
    let mut job = Job::new(3, &RankParameters::default());
    let got = job.play(|mut rank, arenas| async move {
        let range = item(arenas[rank.rank()], 100);
        let mut got = Vec::new();
        if rank.rank() == 1 {
            rank.send(0, 5, range).await;
            rank.send(0, 6, range).await;
        }
        rank.barrier().await;
        if rank.rank() == 2 {
            rank.send(0, 5, range).await;
            rank.send(0, 7, item(range.address, 5000)).await;
        }
        if rank.rank() == 0 {
            // The first receive selects the message that was sent last, so all other messages arrive before it.
            got.push(rank.receive(None, Some(7), range).await);
            for (from, tag) in [(None, Some(6)), (None, None), (Some(2), None)] {
                got.push(rank.receive(from, tag, range).await);
            }
        }
        got
    });
    let expected = [(2, 7, 5000), (1, 6, 100), (1, 5, 100), (2, 5, 100)];
    let expected = expected.map(|(from, tag, len)| status(from, tag, len));
    assert_eq!(got[0], expected);
}

#[test]
fn ranks_that_send_long_messages_around_a_ring_do_not_wait_for_each_other() {
    for parameters in all_parameters(1024) {
        let mut job = Job::new(5, &parameters);
        let len = 40_000;
        for rank in 0..5 {
            job.fill(rank, 0, &bytes(rank as u64, len));
        }
        job.play(|mut rank, arenas| async move {
            let at = arenas[rank.rank()];
            let (own, size) = (rank.rank(), rank.size());
            let to = ((own + 1) % size, 3, item(at, len));
            let from = (
                Some((own + size - 1) % size),
                Some(3),
                item(at + 100_000, len),
            );
            rank.send_receive(to, from).await
        });
        for rank in 0..5 {
            let before = (rank + 4) % 5;
            assert_eq!(job.memory(rank, 100_000, len), bytes(before as u64, len));
        }
    }
}

/// Each other rank sends `count` messages to rank 0. Rank 0 computes before the first receive and between receives.
fn flood(size: usize, share: u32, len: usize, count: u32) {
    let parameters = RankParameters {
        share,
        ..parameters(Eager::Immediate, Rendezvous::Put, 2032)
    };
    let mut job = Job::new(size, &parameters);
    let got = job.play(|mut rank, arenas| async move {
        let range = item(arenas[rank.rank()], len);
        let mut got = Vec::new();
        if rank.rank() > 0 {
            for number in 0..count {
                rank.send(0, number, range).await;
            }
            return got;
        }
        rank.compute(Span::from_us(300)).await;
        for _ in 0..count * (size as u32 - 1) {
            got.push(rank.receive(None, None, range).await);
            rank.compute(Span::from_us(2)).await;
        }
        got
    });
    for from in 1..size {
        let own = got[0].iter().filter(|status| status.from == from);
        let tags: Vec<u32> = own.map(|status| status.tag).collect();
        assert_eq!(tags, (0..count).collect::<Vec<_>>());
    }
}

#[test]
fn a_flood_of_messages_to_a_slow_receiver_drops_none() {
    flood(8, 8, 100, 60);
    flood(8, 1, 2032, 20);
    flood(2, 3, 0, 200);
    // This case needs more buffers than there are addresses in a page.
    flood(8, 256, 0, 200);
}

#[test]
fn a_rank_that_waits_leaves_its_core_to_others() {
    let text = hosts(2, "", "").replace("[hosts.h0]\n", "[hosts.h0]\ncores = 1\n");
    let mut job = Job::over(&text, 2, &RankParameters::default());
    let (seen, ended) = (Seen::default(), Seen::default());
    let worker = seen.clone();
    let program = |system: host::System| async move {
        system.sleep(Span::from_us(20)).await;
        system.work(Span::from_us(10)).await;
        let now = system.now().await;
        worker.lock().expect("nobody panics with it").push(now);
    };
    let spawned = job.simulation.spawn("h0", program);
    spawned.expect("a host runs programs");
    let start = job.simulation.now();
    let waiter = ended.clone();
    job.play(|mut rank, arenas| {
        let waiter = waiter.clone();
        async move {
            let nothing = item(arenas[rank.rank()], 0);
            if rank.rank() == 0 {
                rank.receive(Some(1), None, nothing).await;
                let now = rank.now().await;
                waiter.lock().expect("nobody panics with it").push(now);
            } else {
                rank.compute(Span::from_us(100)).await;
                rank.send(0, 0, nothing).await;
            }
        }
    });
    assert_eq!(all(&seen), [start + Span::from_us(30)]);
    assert!(all(&ended)[0] > start + Span::from_us(100));
}

#[test]
fn the_last_call_of_a_program_leaves_nothing_unsaid() {
    for parameters in all_parameters(100) {
        let parameters = RankParameters {
            share: 1,
            ..parameters
        };
        let mut job = Job::new(2, &parameters);
        job.play(|mut rank, arenas| async move {
            let at = arenas[rank.rank()];
            let (short, long) = (item(at, 100), item(at, 5000));
            if rank.rank() == 0 {
                // The message of rank 0 that controls the transfer of the long message has no credit until rank 1 has received the short message.
                rank.send(1, 0, short).await;
                rank.receive(Some(1), None, long).await;
            } else {
                let sending = rank.begin_send(0, 0, long).await;
                rank.compute(Span::from_us(100)).await;
                rank.end_send(sending).await;
                rank.receive(Some(0), None, short).await;
            }
        });
    }
}
