//! Rounds of accesses. All pages of buffers are protected together from time to time. A round is the list of a thread's accesses that fault between
//! two of these times.

use std::collections::BTreeMap;

use crate::memory::guard::LINE;

/// Largest number of accesses in a round that counts as polling. A longer round counts as work.
const LONGEST: usize = 8;
/// Largest number of threads whose rounds are stored.
const THREADS: usize = 1024;
/// The rounds of all threads.
#[derive(Debug)]
pub struct Faults(BTreeMap<usize, Rounds>);

/// The last rounds of a thread.
#[derive(Debug, Default)]
pub struct Rounds {
    /// Number of times that the pages had been protected at the beginning of the current round.
    closing: u64,
    /// Whether simulated time has passed for a polling thread in the current round.
    waited: bool,
    this: Vec<Fault>,
    before: Vec<Fault>,
    earlier: Vec<Fault>,
}

/// An access to a protected page.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// The address of the instruction.
    pub instruction: usize,
    /// The address of the access.
    pub address: usize,
    /// The content of the cache line at the time when the access was allowed.
    pub line: [u8; LINE],
}

impl Fault {
    fn again(&self, other: &Fault) -> bool {
        (self.instruction, self.address) == (other.instruction, other.address)
    }
}

impl Faults {
    /// No rounds.
    pub const fn new() -> Self {
        Faults(BTreeMap::new())
    }

    /// Clears the rounds of a thread, because simulated time has passed for it for another reason than polling. Its next accesses do not count as
    /// polling.
    pub fn forget(&mut self, thread: usize) {
        if let Some(rounds) = self.0.get_mut(&thread) {
            rounds.this.clear();
            rounds.before.clear();
            rounds.earlier.clear();
        }
    }

    /// The rounds of a thread. Starts a new round if pages were protected since its last access.
    pub fn round(&mut self, thread: usize, closing: u64) -> &mut Rounds {
        if self.0.len() > THREADS {
            self.0.clear();
        }
        let rounds = self.0.entry(thread).or_default();
        if rounds.closing != closing {
            rounds.closing = closing;
            rounds.waited = false;
            rounds.earlier = std::mem::take(&mut rounds.before);
            rounds.before = std::mem::take(&mut rounds.this);
        }
        rounds
    }
}

impl Rounds {
    /// The accesses of the last round, if the thread polls and `fault` repeats one of these accesses. In each round, the accesses are returned at
    /// most once.
    pub fn looks(&mut self, fault: &Fault) -> Option<Vec<Fault>> {
        let within = |round: &[Fault], fault: &Fault| round.iter().any(|one| one.again(fault));
        let is_same = self.before.iter().all(|one| within(&self.earlier, one))
            && self.earlier.iter().all(|one| within(&self.before, one));
        let is_short = self.before.len() <= LONGEST;
        let looks = is_same && is_short && within(&self.before, fault) && !self.waited;
        self.waited |= looks;
        looks.then(|| self.before.clone())
    }

    /// Adds an access to the current round.
    pub fn remember(&mut self, fault: Fault) {
        if self.this.len() <= LONGEST {
            self.this.push(fault);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds a round with an access to each address, each by a different instruction. Returns whether the thread polls.
    fn round(faults: &mut Faults, closing: u64, addresses: &[usize]) -> bool {
        let mut polls = false;
        for &address in addresses {
            let fault = Fault {
                instruction: address + 1,
                address,
                line: [0; LINE],
            };
            let rounds = faults.round(1, closing);
            polls |= rounds.looks(&fault).is_some();
            rounds.remember(fault);
        }
        polls
    }

    #[test]
    fn a_thread_polls_if_its_last_two_rounds_were_the_same_and_it_repeats_one_of_their_accesses() {
        let mut faults = Faults::new();
        assert!(!round(&mut faults, 1, &[64, 128]));
        assert!(!round(&mut faults, 2, &[64, 128]));
        assert!(round(&mut faults, 3, &[64, 128]));
        assert!(!round(&mut faults, 4, &[192]));
        assert!(!round(&mut faults, 5, &[64]));
        assert!(!round(&mut faults, 6, &[64]));
        assert!(round(&mut faults, 7, &[64]));
    }

    #[test]
    fn a_thread_polls_once_in_a_round() {
        let mut faults = Faults::new();
        for closing in 1..=3 {
            assert_eq!(round(&mut faults, closing, &[64]), closing == 3);
        }
        assert!(!round(&mut faults, 3, &[64]));
    }

    #[test]
    fn a_thread_for_which_time_has_passed_otherwise_does_not_poll() {
        let mut faults = Faults::new();
        round(&mut faults, 1, &[64]);
        round(&mut faults, 2, &[64]);
        faults.forget(1);
        assert!(!round(&mut faults, 3, &[64]));
    }
}
