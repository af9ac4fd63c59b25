//! Named random streams: each stream depends only on the seed and its name, and not on draws from other streams.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::Span;

/// One stream of a version-stable generator (PCG XSL 128/64 MCG).
#[derive(Clone, Debug)]
pub struct Stream(Pcg64Mcg);

impl Stream {
    /// The stream called `name` in a run with `seed`.
    pub fn named(seed: u64, name: &str) -> Self {
        // FNV-1a spreads the name over 64 bits. Hash and seed together fill the generator's 128 bits of state.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
        });
        // The generator ignores the lowest bits of its state, so the seed is mixed before it is stored there.
        let seed = seed.wrapping_add(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let seed = (seed ^ (seed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let mut state = [0; 16];
        state[..8].copy_from_slice(&hash.to_le_bytes());
        state[8..].copy_from_slice(&(seed ^ (seed >> 32)).to_le_bytes());
        let mut generator = Pcg64Mcg::from_seed(state);
        generator.next_u64();
        Stream(generator)
    }

    /// A random whole number below `bound`, which must not be zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A random number in the range (0, 1].
    pub fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// A random span between two events of a Poisson process, with the mean `mean`.
    pub fn exponential(&mut self, mean: Span) -> Span {
        Span::from_fs((-libm::log(self.unit()) * mean.as_fs() as f64) as u64)
    }

    /// A random number of failures before the next success, which has `probability` (geometric distribution).
    pub fn failures_before_success(&mut self, probability: f64) -> u64 {
        if probability >= 1.0 {
            return 0;
        }
        (libm::log(self.unit()) / libm::log1p(-probability)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_and_name_alone() {
        let draw = |seed, name| Stream::named(seed, name).below(u64::MAX);
        assert_eq!(draw(1, "wire a"), draw(1, "wire a"));
        assert_ne!(draw(1, "wire a"), draw(1, "wire b"));
        let seeds: std::collections::BTreeSet<u64> =
            (0..1000).map(|seed| draw(seed, "wire a")).collect();
        assert_eq!(seeds.len(), 1000);
    }

    #[test]
    fn the_generator_is_stable_across_versions() {
        let mut stream = Stream::named(1, "law");
        let drawn: Vec<u64> = (0..4).map(|_| stream.below(1_000_000)).collect();
        assert_eq!(drawn, EXPECTED);
    }

    #[test]
    fn gaps_between_errors_have_the_mean_of_their_rate() {
        let mut stream = Stream::named(7, "gaps");
        let mean = (0..20_000)
            .map(|_| stream.failures_before_success(1e-3))
            .sum::<u64>()
            / 20_000;
        assert!((950..1050).contains(&mean), "{mean}");
    }

    const EXPECTED: [u64; 4] = [951_047, 260_255, 338_434, 333_339];
}
