//! Weighted round robin by a table of phases (PCIe Base 6.3.3): each phase is a turn of a channel or of a port.

use protocol::Arbitration;

/// The phases of an arbitration table, and the position of the next phase.
///
/// After the table, there is one more phase for all sources that have no phase in the table, for example the packets of the switch itself.
/// These sources get a turn in each round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Phases {
    turns: Box<[u8]>,
    next: usize,
    /// One bit for each source that has a phase in the table.
    members: u128,
}

/// The phase of all sources that have no phase in the table.
const OTHERS: u8 = u8::MAX;

impl Phases {
    pub(crate) fn new(table: &[u8]) -> Self {
        let members = table.iter().filter(|who| **who < 128);
        Phases {
            turns: table.iter().copied().chain([OTHERS]).collect(),
            next: 0,
            members: members.fold(0, |members, who| members | 1 << who),
        }
    }

    /// Applies the arbitration that a control register selects to `phases`. If the table has changed, the arbitration begins with its first
    /// phase.
    pub(crate) fn select(phases: &mut Option<Box<Self>>, arbitration: &Arbitration) {
        match (arbitration, phases) {
            (Arbitration::Fixed, phases) => *phases = None,
            (Arbitration::Phases(table), Some(phases))
                if phases.turns[..phases.turns.len() - 1] == **table => {}
            (Arbitration::Phases(table), phases) => *phases = Some(Box::new(Phases::new(table))),
        }
    }

    /// All phases in order, from the next one on.
    fn order(&self) -> impl Iterator<Item = u8> {
        let (before, after) = self.turns.split_at(self.next);
        after.iter().chain(before).copied()
    }

    /// The members of the set `asked`, which has one bit for each source, in the order of their next phases.
    pub(crate) fn in_turn(&self, mut asked: u128) -> impl Iterator<Item = usize> {
        self.order().flat_map(move |phase| {
            let mut now = match phase {
                OTHERS => asked & !self.members,
                who => asked & 1_u128.checked_shl(who.into()).unwrap_or(0),
            };
            asked &= !now;
            std::iter::from_fn(move || {
                let next = now.trailing_zeros();
                now &= now.checked_sub(1)?;
                Some(next as usize)
            })
        })
    }

    /// Records that `who` had a turn, and advances behind the next phase of `who`. A phase of a source that has nothing to send takes no
    /// time.
    pub(crate) fn grant(&mut self, who: u8) {
        let is_member = u32::from(who) < 128 && self.members >> who & 1 != 0;
        let phase = if is_member { who } else { OTHERS };
        let passed = self.order().position(|other| other == phase);
        self.next = (self.next + passed.map_or(0, |passed| passed + 1)) % self.turns.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_as_many_turns_as_phases_and_those_of_the_idle_are_skipped() {
        let mut phases = Phases::new(&[0, 0, 1, 2]);
        let mut turns = |ready: &[u8]| -> Vec<u8> {
            (0..6)
                .map(|_| {
                    let who = phases.order().find(|who| ready.contains(who));
                    let who = who.expect("one is ready");
                    phases.grant(who);
                    who
                })
                .collect()
        };
        assert_eq!(turns(&[0, 1, 2]), [0, 0, 1, 2, 0, 0]);
        assert_eq!(turns(&[0, 2]), [2, 0, 0, 2, 0, 0]);
        assert_eq!(turns(&[1]), [1; 6]);
        assert_eq!(turns(&[2, OTHERS]), [2, OTHERS, 2, OTHERS, 2, OTHERS]);
    }
}
