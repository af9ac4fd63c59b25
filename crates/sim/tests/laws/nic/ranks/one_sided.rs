//! PUTs and GETs of programs.

use super::*;

#[test]
fn a_put_is_there_before_a_message_after_it() {
    let mut job = Job::new(2, &RankParameters::default());
    job.fill(0, 0, &bytes(1, 30_000));
    let got = job.play(|mut rank, arenas| async move {
        let nothing = item(arenas[rank.rank()], 0);
        if rank.rank() == 0 {
            rank.put(1, item(arenas[0] + 7, 20_000), arenas[1] + 2)
                .await;
            rank.send(1, 0, nothing).await;
            return Vec::new();
        }
        rank.receive(Some(0), None, nothing).await;
        rank.system().load(arenas[1] + 2, 20_000).await
    });
    assert_eq!(got[1], bytes(1, 30_000)[7..20_007]);
}

#[test]
fn a_get_and_a_put_need_nothing_of_the_other_program() {
    let mut job = Job::new(3, &RankParameters::default());
    job.fill(1, 0, &bytes(1, 10_000));
    let got = job.play(|mut rank, arenas| async move {
        if rank.rank() != 0 {
            return Vec::new();
        }
        for part in 0..40 {
            let at = part * 250;
            rank.get(1, arenas[1] + at, item(arenas[0] + at, 250)).await;
        }
        rank.put(2, item(arenas[0], 10_000), arenas[2]).await;
        rank.put(0, item(arenas[0], 10_000), arenas[0] + 20_000)
            .await;
        rank.get(0, arenas[0] + 20_000, item(arenas[0] + 40_000, 10_000))
            .await;
        rank.system().load(arenas[0] + 40_000, 10_000).await
    });
    assert_eq!(got[0], bytes(1, 10_000));
    assert_eq!(
        job.memory(2, 0, 10_001),
        [bytes(1, 10_000), vec![0]].concat()
    );
}

#[test]
fn a_request_that_names_what_is_no_memory_is_told_and_ends() {
    let mut job = Job::new(2, &RankParameters::default());
    let seen: Seen<_> = Seen::default();
    let (config, told) = (job.configs[0].clone(), seen.clone());
    let target = job.arenas[1];
    let spawned = job.simulation.spawn("h0", |system| async move {
        let mut rank = Rank::new(system, config);
        for address in [1 << 37, target] {
            rank.put(1, item(address, 100), target).await;
            let refusal = rank.take_refusal();
            told.lock().expect("nobody panics with it").push(refusal);
        }
    });
    spawned.expect("a host runs programs");
    pass(&mut job.simulation, 1000);
    assert_eq!(all(&seen), [Some(packet::Fault::Source), None]);
}
