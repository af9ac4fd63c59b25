//! Ranks whose programs run outside of the simulation.

use sim::job::{Call, CallError, Done, Job, Letter, Number, Operator, Spot, Wanted, parameters};

use super::*;

struct Outside {
    simulation: Simulation,
    job: Job,
}

impl Outside {
    fn new(size: usize) -> Self {
        Self::at(
            &hosts(size, "", ""),
            (0..size).map(|rank| format!("n{rank}")),
        )
    }

    fn at(text: &str, nics: impl Iterator<Item = String>) -> Self {
        let mut simulation = simulation(text);
        let nics: Vec<String> = nics.collect();
        let nics: Vec<&str> = nics.iter().map(String::as_str).collect();
        let job = Job::new(&mut simulation, &nics, &RankParameters::default());
        Self {
            job: job.expect("every host has a controller"),
            simulation,
        }
    }

    fn call(&mut self, rank: usize, call: Call<'_>) -> u32 {
        let called = self.job.call(&mut self.simulation, rank, call);
        called.expect("it can be done")
    }

    fn refused(&mut self, rank: usize, call: Call<'_>) -> CallError {
        let called = self.job.call(&mut self.simulation, rank, call);
        called.expect_err("it cannot be done")
    }

    fn advance(&mut self) -> Vec<Done> {
        let done = self.job.advance(&mut self.simulation, &mut || true);
        done.expect("controllers refuse nothing")
    }

    /// Runs until `count` calls of ranks are done, and returns the calls with their ranks and results, in order.
    fn done(&mut self, count: usize) -> Vec<Done> {
        let mut all = Vec::new();
        while all.len() < count {
            let done = self.advance();
            assert!(!done.is_empty(), "they wait for ever after {all:?}");
            all.extend(done);
        }
        all
    }
}

fn letter(to: usize, bytes: &[u8]) -> Letter<'_> {
    Letter { to, tag: 7, bytes }
}

const ANY: Wanted = Wanted {
    from: None,
    tag: None,
    room: 5000,
};

#[test]
fn a_call_begins_when_the_last_one_ended() {
    let mut outside = Outside::new(2);
    let begin = outside.simulation.now();
    for number in 1..=3 {
        outside.call(0, Call::Compute(Span::from_ns(100)));
        outside.call(1, Call::Compute(Span::from_ns(100)));
        let done = outside.done(2);
        assert_eq!(done.iter().map(|done| done.rank).max(), Some(1));
        assert_eq!(
            outside.simulation.now(),
            begin + Span::from_ns(number * 100)
        );
    }
}

#[test]
fn bytes_come_from_outside_and_go_there() {
    let mut outside = Outside::new(2);
    for len in [0, 1, 2048, 5000, 6000] {
        let sent = bytes(3, len);
        outside.call(0, Call::Send(letter(1, &sent)));
        outside.call(1, Call::Receive(ANY));
        let done = outside.done(2);
        let got = done.iter().find(|done| done.rank == 1).expect("both ended");
        assert_eq!((got.from, got.tag, got.len), (0, 7, len as u64));
        assert_eq!(got.bytes, sent[..len.min(5000)]);
    }
}

#[test]
fn what_is_begun_ends_once() {
    let mut outside = Outside::new(2);
    outside.call(1, Call::BeginReceive(ANY));
    outside.call(0, Call::BeginSend(letter(1, &[5; 3000])));
    outside.done(2);
    outside.call(0, Call::End(1));
    outside.call(1, Call::End(1));
    let mut done = outside.done(2);
    done.sort_by_key(|done| done.rank);
    assert_eq!(done[1].bytes, [5; 3000]);
    assert_eq!(outside.refused(1, Call::End(1)), CallError::NotBegun(1));
}

#[test]
fn ranks_that_wait_for_each_other_are_told_of_even_where_links_are_never_still() {
    let noisy = hosts(2, "", "").replace("[links]", "[links]\nbit_error_rate = 1e-9");
    for text in [hosts(2, "", ""), noisy] {
        let mut outside = Outside::at(&text, ["n0".to_owned(), "n1".to_owned()].into_iter());
        outside.call(0, Call::Receive(ANY));
        outside.call(1, Call::Receive(ANY));
        assert_eq!(outside.advance(), []);
    }
}

#[test]
fn a_rank_that_computes_for_long_is_waited_for() {
    let noisy = hosts(2, "", "").replace("[links]", "[links]\nbit_error_rate = 1e-9");
    let mut outside = Outside::at(&noisy, ["n0".to_owned(), "n1".to_owned()].into_iter());
    outside.call(0, Call::Receive(ANY));
    outside.call(1, Call::Compute(Span::from_us(15_000_000)));
    assert_eq!(outside.advance()[0].rank, 1);
}

#[test]
fn all_ranks_call_the_same() {
    let mut outside = Outside::new(2);
    outside.call(0, Call::Barrier);
    let other = Call::Broadcast {
        root: 0,
        len: 4,
        bytes: &[],
    };
    let error = outside.refused(1, other);
    assert_eq!(
        error.to_string(),
        "as collective number 1 rank 1 calls broadcast of 4 bytes from rank 0, and rank 0 barrier(); all ranks call the same, in the same order"
    );
    assert_eq!(outside.refused(0, Call::Barrier), CallError::Busy(0));
}

#[test]
fn what_is_outside_of_a_window_is_refused_before_it_goes() {
    let mut outside = Outside::new(2);
    outside.call(0, Call::Allocate(10));
    outside.call(1, Call::Allocate(5000));
    outside.done(2);
    let spot = |window, offset| Spot { window, offset };
    outside.call(0, Call::Put(spot(1, 4999), &[9]));
    outside.done(1);
    outside.call(0, Call::Get(spot(1, 4998), 2));
    assert_eq!(outside.done(1)[0].bytes, [0, 9]);
    for (window, offset, len) in [(0, 10, 1), (1, 4999, 2), (1, u64::MAX, 2)] {
        let error = outside.refused(0, Call::Get(spot(window, offset), len));
        assert!(matches!(error, CallError::Outside { .. }), "{error}");
    }
    assert_eq!(
        outside.refused(0, Call::Get(spot(2, 0), 1)),
        CallError::NoWindow(2)
    );
    assert_eq!(
        outside.refused(0, Call::Send(letter(2, &[]))),
        CallError::NoRank(2, 1)
    );
    assert_eq!(outside.job.faults(&outside.simulation), Ok(Vec::new()));
}

#[test]
fn numbers_of_all_ranks_are_reduced() {
    let mut outside = Outside::new(3);
    for (rank, number) in [0.5_f64, -2.25, 8.0].into_iter().enumerate() {
        let call = Call::AllReduce {
            number: Number::F64,
            operator: Operator::Sum,
            bytes: &number.to_le_bytes(),
        };
        outside.call(rank, call);
    }
    for done in outside.done(3) {
        assert_eq!(done.bytes, 6.25_f64.to_le_bytes());
    }
}

#[test]
fn memory_of_a_call_is_free_after_it() {
    let small = hosts(2, "", "").replace("[hosts.h1]\n", "[hosts.h1]\nmemory = \"4 MiB\"\n");
    let mut outside = Outside::at(&small, ["n0".to_owned(), "n1".to_owned()].into_iter());
    let most = Wanted {
        room: 3 << 20,
        ..ANY
    };
    for number in 1..=3 {
        assert_eq!(outside.call(1, Call::BeginReceive(most)), number);
        outside.done(1);
        let error = outside.refused(1, Call::Receive(most));
        assert!(matches!(error, CallError::Access(_)), "{error}");
        outside.call(0, Call::Send(letter(1, &[1])));
        outside.done(1);
        outside.call(1, Call::End(number));
        assert_eq!(outside.done(1)[0].bytes, [1]);
    }
}

#[test]
fn jobs_and_ranks_of_one_controller_have_functions_and_pairs_of_their_own() {
    let mut outside = Outside::at(&hosts(1, "", ""), (0..8).map(|_| "n0".to_owned()));
    for rank in 0..8 {
        outside.call(rank, Call::Barrier);
    }
    outside.done(8);
    let nine: Vec<&str> = vec!["n0"; 9];
    let other = Job::new(&mut outside.simulation, &nine, &RankParameters::default());
    let message = other.expect_err("it has eight functions").to_string();
    assert!(
        message.starts_with("no function of n0 is left"),
        "{message}"
    );
    for _ in 1..4 {
        let other = Job::new(
            &mut outside.simulation,
            &nine[1..],
            &RankParameters::default(),
        );
        other.expect("it has four queue pairs of each");
    }
    let other = Job::new(
        &mut outside.simulation,
        &nine[8..],
        &RankParameters::default(),
    );
    other.expect_err("all are open");
}

#[test]
fn controllers_without_cables_between_them_have_no_ranks_together() {
    let text = in_a_row(&hosts(4, "", ""), 4, 2);
    let (before, after) = text.split_once("[[cables]]").expect("there is one");
    let (_, after) = after.split_once("c1\"\n").expect("it ends there");
    let mut simulation = simulation(&format!("{before}{after}"));
    let error = Job::new(&mut simulation, &["n0", "n3"], &RankParameters::default());
    assert_eq!(
        error.expect_err("there is no way").to_string(),
        "no cables lead from the controller of n0 to that of n3; write [[cables]] between them"
    );
}

#[test]
fn parameters_are_known_by_their_names() {
    use kernel::Value;
    let set = |key, value| parameters([(key, value)]);
    let limit = set("eager_limit", Value::Text("1 KiB"));
    assert_eq!(limit.map(|set| set.eager_limit), Ok(Bytes(1024)));
    let unknown = set("eager_limt", Value::Text("1 KiB"));
    assert_eq!(
        unknown.expect_err("it is misspelt"),
        "unknown parameter \"eager_limt\" of ranks; did you mean \"eager_limit\"?"
    );
    let large = set("eager_limit", Value::Text("4 KiB"));
    assert!(
        large
            .expect_err("it is too large")
            .starts_with("eager_limit: 4 KiB is out of range")
    );
}
