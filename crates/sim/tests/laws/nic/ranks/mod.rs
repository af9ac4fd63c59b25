//! Programs as ranks of a job: every message arrives, in order, and no NAP is ever dropped.

mod any_program;
mod collectives;
mod job;
mod messages;
mod one_sided;

use host::ranks::{Eager, Rank, RankConfig, RankParameters, Rendezvous, Status};
use kernel::{Bytes, Stream};

use super::*;

const ARENA: u64 = 2 << 20;

/// Ranks that run on separate hosts, each with some memory.
struct Job {
    simulation: Simulation,
    configs: Vec<RankConfig>,
    arenas: Vec<u64>,
}

impl Job {
    fn new(size: usize, parameters: &RankParameters) -> Self {
        Self::over(&hosts(size, "", ""), size, parameters)
    }

    fn over(text: &str, size: usize, parameters: &RankParameters) -> Self {
        let mut simulation = simulation(text);
        let nics: Vec<String> = (0..size).map(|rank| format!("n{rank}")).collect();
        let pairs: Vec<_> = nics.iter().map(|nic| (nic.as_str(), (0, 1))).collect();
        let configs = simulation.open_rank_pairs(&pairs, 9, parameters);
        let arena = |rank| simulation.allocate(&format!("h{rank}"), ARENA);
        Self {
            arenas: (0..size)
                .map(arena)
                .map(|arena| arena.expect("there is room"))
                .collect(),
            configs: configs.expect("every host has a controller"),
            simulation,
        }
    }

    fn fill(&mut self, rank: usize, offset: u64, bytes: &[u8]) {
        let address = self.arenas[rank] + offset;
        let filled = self.simulation.fill(&format!("h{rank}"), address, bytes);
        filled.expect("it is memory");
    }

    fn memory(&self, rank: usize, offset: u64, len: usize) -> Vec<u8> {
        let address = self.arenas[rank] + offset;
        let bytes = self
            .simulation
            .memory(&format!("h{rank}"), address, len as u64);
        bytes.expect("it is memory")
    }

    /// Runs a program on every rank to its end, and returns the results. `program` makes the program of a rank from the rank and the addresses of all
    /// memories. Asserts that no controller has counted a fault.
    fn play<T, F>(&mut self, program: impl Fn(Rank, Vec<u64>) -> F) -> Vec<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let size = self.configs.len();
        let results: Vec<Seen<T>> = (0..size).map(|_| Seen::default()).collect();
        for (config, result) in self.configs.iter().zip(&results) {
            let (config, result) = (config.clone(), result.clone());
            let (host, arenas) = (format!("h{}", config.rank), self.arenas.clone());
            let spawned = self.simulation.spawn(&host, |system| {
                let played = program(Rank::new(system, config), arenas);
                async move {
                    let value = played.await;
                    result.lock().expect("nobody panics with it").push(value);
                }
            });
            spawned.expect("a host runs programs");
        }
        let is_over = |result: &Seen<T>| !result.lock().expect("nobody panics").is_empty();
        for _ in 0..500 {
            pass(&mut self.simulation, 100);
            if results.iter().all(is_over) {
                break;
            }
        }
        let stuck: Vec<usize> = (0..size).filter(|rank| !is_over(&results[*rank])).collect();
        assert!(stuck.is_empty(), "ranks {stuck:?} do not end");
        pass(&mut self.simulation, 100);
        for rank in 0..size {
            let faults = self.simulation.faults(&format!("n{rank}"), 0);
            let faults = faults.expect("it is a controller");
            assert_eq!(faults.iter().sum::<u64>(), 0, "{faults:?}");
        }
        let errors = self.simulation.result().errors;
        assert!(errors.is_empty(), "{errors:?}");
        let take = |result: &Seen<T>| result.lock().expect("nobody panics").pop();
        results.iter().filter_map(take).collect()
    }
}

fn parameters(eager: Eager, rendezvous: Rendezvous, limit: u64) -> RankParameters {
    RankParameters {
        eager_limit: Bytes(limit),
        eager,
        rendezvous,
        ..RankParameters::default()
    }
}

fn all_parameters(limit: u64) -> impl Iterator<Item = RankParameters> {
    let eager = [Eager::Immediate, Eager::Indirect];
    eager.into_iter().flat_map(move |eager| {
        [Rendezvous::Put, Rendezvous::Get].map(|rendezvous| parameters(eager, rendezvous, limit))
    })
}

fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Stream::named(seed, "bytes");
    (0..len).map(|_| random.below(256) as u8).collect()
}

fn status(from: usize, tag: u32, len: usize) -> Status {
    Status {
        from,
        tag,
        len: len as u32,
    }
}
