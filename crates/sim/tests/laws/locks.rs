//! Locks that cores and accelerators share, and database transactions that use the locks.

use std::fmt::Write;
use std::num::NonZeroU64;

use kernel::{Span, Time};
use proptest::prelude::*;
use sim::Simulation;
use sim::result::RunResult;
use sim::result::TransactionResult;

use crate::cases::cases;
use crate::coherence::host;
use crate::fixture::simulation;

/// A scenario with a host and `cards` accelerators, a buffer for locks and a buffer for rows.
fn fabric(cards: usize) -> String {
    host(cards)
        + "[buffers.table]\nhost = \"h0\"\nsize = \"4 KiB\"\n[buffers.rows]\nhost = \"h0\"\nsize = \"64 KiB\"\n"
}

fn add(text: &mut String, what: &str, by: &str, settings: &str) {
    writeln!(text, "[[{what}]]\nby = \"{by}\"\n{settings}").expect("a text takes all");
}

fn locks(text: &mut String, by: &str, settings: &str) {
    add(
        text,
        "locks",
        by,
        &format!("buffer = \"table\"\n{settings}"),
    );
}

fn transactions(text: &mut String, by: &str, settings: &str) {
    add(
        text,
        "transactions",
        by,
        &format!("buffer = \"rows\"\nlocks = \"table\"\n{settings}"),
    );
}

/// Runs to the end and until the fabric is at rest, and checks the coherence of all caches after every `every` events.
fn run(simulation: &mut Simulation, every: u32) -> RunResult {
    loop {
        let goes_on = (0..every).all(|_| simulation.step());
        if let Err(wrong) = simulation.check_coherence() {
            panic!("{wrong}");
        }
        let result = simulation.result();
        let locks = result.locks.iter().all(|one| one.completed);
        if locks && result.transactions.iter().all(|one| one.completed) {
            break;
        }
        let limit = Time::ZERO + Span::from_us(20_000);
        let moves = goes_on && simulation.now() < limit;
        assert!(moves, "it stands still: {result:?}");
    }
    let rest = Time::from_fs(simulation.now().as_fs() + Span::from_us(100).as_fs());
    simulation.run_until(rest, &mut || true);
    if let Err(wrong) = simulation.check_coherence() {
        panic!("{wrong}");
    }
    simulation.result()
}

fn assert_free(simulation: &Simulation) {
    let table = simulation.memory("h0", 0, 4096);
    let table = table.expect("the buffer is at the beginning");
    assert!(table.iter().all(|byte| *byte == 0), "a lock is held");
}

#[test]
fn a_request_for_a_free_lock_is_one_compare_and_swap() {
    let mut text = fabric(1);
    let far = "coherent = true\ncore_atomics = \"far\"";
    locks(&mut text, "card0", "count = 50\nbuckets = 1");
    let mut one = simulation(&text.replace("coherent = true", far));
    let result = run(&mut one, 1000);
    let locks = &result.locks[0];
    assert_eq!((locks.count, locks.attempts, locks.waited), (50, 50, 0));
    assert!(locks.waiting_ns.is_none());
    // No request waits or tries twice, so the time of a request is the time of its one compare-and-swap.
    let means = [&locks.request_ns, &locks.acquired_ns].map(|one| one.as_ref().map(|one| one.mean));
    assert!(means[0].is_some() && means[0] == means[1], "{means:?}");
    assert_free(&one);
}

#[test]
fn the_software_of_a_host_is_part_of_its_requests() {
    let mean = |software: u32| {
        let mut text = fabric(0);
        locks(
            &mut text,
            "h0",
            &format!("count = 50\nbuckets = 1\nsoftware = \"{software} ns\""),
        );
        let result = run(&mut simulation(&text), 1000);
        result.locks[0]
            .request_ns
            .as_ref()
            .expect("requests were made")
            .mean
    };
    assert!((mean(1000) - mean(0) - 1000.0).abs() < 1e-3);
}

#[test]
fn an_atomic_operation_of_an_accelerator_takes_a_request_at_its_port_more() {
    let mean = |requests: u32| {
        let mut text = fabric(1).replace(
            "model = \"accelerator\"",
            &format!("model = \"accelerator\"\natomic_accesses = {requests}"),
        );
        locks(&mut text, "card0", "count = 50\nbuckets = 1");
        let result = run(&mut simulation(&text), 1000);
        result.locks[0]
            .request_ns
            .as_ref()
            .expect("requests were made")
            .min
    };
    // The difference is the latency of the cache, with a tolerance for the time that a message waits for the wire.
    let longer = mean(2) - mean(1);
    assert!((longer - 48.0).abs() < 2.0, "{longer}");
}

#[test]
fn all_who_want_one_lock_have_it_one_after_the_other() {
    let mut text = fabric(1);
    let hold = "count = 40\nrecords = 1\nhold = \"1 us\"\nwidth = 128";
    locks(&mut text, "h0", &format!("{hold}\ncores = 3"));
    locks(&mut text, "card0", hold);
    let mut simulation = simulation(&text);
    let result = run(&mut simulation, 200);
    for one in &result.locks {
        assert!(one.completed && one.violations == 0, "{one:?}");
        // On average, each request waits for three others.
        let waiting = one.waiting_ns.as_ref().expect("most waited").mean;
        assert!((2000.0..5000.0).contains(&waiting), "{waiting}");
        // All requests wait, except possibly the first.
        let acquired = one.acquired_ns.as_ref().expect("all had it").mean;
        assert!(acquired > waiting * 0.97, "{acquired} {waiting}");
    }
    assert!(simulation.now() > Time::ZERO + Span::from_us(160));
    assert_free(&simulation);
}

#[test]
fn who_finds_words_that_are_no_queue_says_so_and_goes_no_further() {
    let mut text = fabric(1);
    locks(
        &mut text,
        "card0",
        "records = 1\nbuckets = 1\ncount = 1000\nhold = \"1 us\"",
    );
    let mut simulation = simulation(&text);
    simulation.run_until(Time::ZERO + Span::from_us(50), &mut || true);
    let broken = vec![0, 0, 9, 0, 0, 0, 0, 0];
    simulation.fill("h0", 0, &broken).expect("it has memory");
    assert!(simulation.run(&mut |_| true));
    let result = simulation.result();
    let locks = &result.locks[0];
    assert!(!locks.completed && locks.violations > 0, "{locks:?}");
}

fn committed_per_second(lock: &str, contention: f64) -> f64 {
    let mut text = fabric(1);
    let settings = format!(
        "lock = \"{lock}\"\ncontention = {contention:?}\ncount = 100\nwidth = 128\nwork = \"2 us\""
    );
    transactions(&mut text, "h0", &format!("{settings}\ncores = 4"));
    transactions(&mut text, "card0", &settings);
    let result = run(&mut simulation(&text), 2000);
    let rate = |one: &TransactionResult| {
        assert!(one.intact && one.committed > 0 && one.violations == 0);
        one.committed_per_second.expect("some have committed")
    };
    result.transactions.iter().map(rate).sum()
}

#[test]
fn locks_of_rows_help_where_there_is_no_conflict_and_only_there() {
    let apart = committed_per_second("row", 0.0) / committed_per_second("table", 0.0);
    assert!(apart > 3.0, "{apart}");
    let together = committed_per_second("row", 1.0) / committed_per_second("table", 1.0);
    assert!((0.9..1.1).contains(&together), "{together}");
}

fn settings() -> impl Strategy<Value = String> {
    (1_u32..40, 0_u32..300, 0_u32..200, 0_u32..900, 1_u32..300).prop_map(
        |(count, hold, interval, start, poll)| {
            format!(
                "count = {count}\n@ = \"{hold} ns\"\ninterval = \"{interval} ns\"\nstart = \"{start} ns\"\npoll = \"{poll} ns\""
            )
        },
    )
}

proptest! {
    #![proptest_config(cases(14))]

    #[test]
    fn whoever_wants_which_lock_each_has_one_holder_and_a_queue(
        cards in 1_usize..3,
        buckets in prop::sample::select(vec![1_u32, 2, 4]),
        width in prop::sample::select(vec![64_u32, 128]),
        records in 1_u32..9,
        far in any::<bool>(),
        all in prop::collection::vec((0_usize..6, settings()), 1..9),
    ) {
        let mut text = fabric(cards);
        if far {
            text = text.replace("coherent = true", "coherent = true\ncore_atomics = \"far\"");
        }
        for (who, settings) in &all {
            let settings = settings.replace('@', "hold");
            let settings = format!("{settings}\nbuckets = {buckets}\nwidth = {width}\nrecords = {records}");
            match who.checked_sub(3) {
                None => locks(&mut text, "h0", &format!("{settings}\ncores = 2\nfirst_core = {who}")),
                Some(card) => locks(&mut text, &format!("card{}", card % cards), &settings),
            }
        }
        let mut simulation = simulation(&text);
        let result = run(&mut simulation, 100);
        for one in &result.locks {
            prop_assert!(one.completed && one.violations == 0, "{one:?}");
            prop_assert!(one.attempts >= one.count && one.waited <= one.count);
        }
        assert_free(&simulation);
        prop_assert_eq!(simulation.packets_in_use(), 0);
    }

    #[test]
    fn every_transaction_leaves_one_version(
        cards in 1_usize..3,
        rows in prop::sample::select(vec![16_u32, 64, 1024]),
        lock in prop::sample::select(vec!["row", "table"]),
        contention in 0.0..1.0_f64,
        all in prop::collection::vec((0_usize..6, settings()), 1..6),
    ) {
        let mut text = fabric(cards);
        for (who, settings) in &all {
            let settings = settings.replace('@', "work");
            let settings = format!("{settings}\nrows = {rows}\nlock = \"{lock}\"\ncontention = {contention:?}");
            match who.checked_sub(3) {
                None => transactions(&mut text, "h0", &format!("{settings}\ncores = 2\nfirst_core = {who}")),
                Some(card) => transactions(&mut text, &format!("card{}", card % cards), &settings),
            }
        }
        let mut simulation = simulation(&text);
        let result = run(&mut simulation, 100);
        let committed: u64 = result.transactions.iter().map(|one| one.committed).sum();
        for one in &result.transactions {
            prop_assert!(one.completed && one.intact && one.violations == 0, "{one:?}");
        }
        let table = simulation.memory("h0", 4096, u64::from(rows) * 64).expect("the rows follow");
        let versions = table.chunks(64).map(|row| u64::from_le_bytes(*row.first_chunk().expect("a line")));
        prop_assert_eq!(versions.sum::<u64>(), committed);
        assert_free(&simulation);
    }
}

proptest! {
    #![proptest_config(cases(24))]

    /// If the link of an accelerator fails, software later frees each lock that the accelerator held or waited for, and the next requester gets the
    /// lock.
    #[test]
    fn locks_of_an_accelerator_that_is_gone_go_to_the_next(
        fails_at in 20_000_u64..60_000,
        hold in 0_u64..3000,
        records in 1_u64..4,
    ) {
        let failing = format!("upstream = {{ to = \"h0\", fails_at = \"{fails_at} ns\" }}");
        let mut text = fabric(2).replacen("upstream = \"h0\"", &failing, 1);
        text = text.replacen("core_cache", "failure_latency = \"10 us\"\ncore_cache", 1);
        let settings = format!("buckets = 4\nrecords = {records}\nhold = \"{hold} ns\"\n");
        locks(&mut text, "card0", &format!("{settings}count = 100000"));
        locks(&mut text, "card1", &format!("{settings}count = 20"));
        locks(&mut text, "h0", &format!("{settings}count = 60\ncores = 2"));
        let mut simulation = simulation(&text);
        simulation.watch_coherence(NonZeroU64::new(200).expect("not zero"));
        prop_assert!(simulation.run(&mut |_| true));
        let rest = Time::from_fs(simulation.now().as_fs() + Span::from_us(100).as_fs());
        simulation.run_until(rest, &mut || true);
        let result = simulation.result();
        prop_assert_eq!(&result.incoherence, &None);
        let violations: Vec<u64> = result.locks.iter().map(|one| one.violations).collect();
        prop_assert_eq!(violations, [0, 0, 0]);
        let counts: Vec<u64> = result.locks[1..].iter().map(|one| one.count).collect();
        prop_assert_eq!(counts, [20, 120]);
        assert_free(&simulation);
    }
}
