//! The sequences of accesses that a device makes, by itself or when software starts them.

use kernel::{Effects, Time};
use transaction::{AccessLoop, Accesses, OneAccess};

use super::Command;
use crate::endpoint::Device;

/// The sequences of accesses of a device. `S` is the state that the device keeps for each sequence.
#[derive(Debug, Default)]
pub(crate) struct Works<S> {
    pub(crate) all: Vec<Work<S>>,
    /// The number of the sequence for accesses that software has started and that no measurement counts.
    unmeasured: Option<usize>,
}

/// A sequence of accesses.
#[derive(Debug)]
pub(crate) struct Work<S> {
    pub(crate) accesses: AccessLoop,
    /// Whether the number of accesses was reported.
    is_announced: bool,
    pub(crate) state: S,
}

impl<S: Default> Works<S> {
    /// Adds a sequence, and returns the number by which software can start its accesses, from 1.
    pub(crate) fn add(&mut self, accesses: Accesses) -> u32 {
        self.all.push(Work {
            accesses: AccessLoop::new(accesses),
            is_announced: false,
            state: S::default(),
        });
        self.all.len() as u32
    }

    /// Reports the number of accesses of each new sequence.
    pub(crate) fn announce<C: Device>(&mut self, fx: &mut Effects<'_, C>) {
        let new = self.all.iter_mut().filter(|work| !work.is_announced);
        for work in new {
            work.is_announced = true;
            if let Some(told) = work.accesses.announced() {
                fx.observe(told);
            }
        }
    }

    /// Begins the access that software has started. Returns the number of its sequence, the access, and true if no measurement counts it.
    pub(crate) fn begin_commanded(
        &mut self,
        command: &Command,
        now: Time,
    ) -> (usize, OneAccess, bool) {
        let Command {
            kind, address, len, ..
        } = *command;
        let measured = command.sequence.and_then(|number| {
            let accesses = &self.all.get(number)?.accesses;
            Some((number, accesses.offset_of(kind, address, len)?))
        });
        let (number, offset) = measured.unwrap_or_else(|| {
            let number = self.unmeasured;
            let number = number.unwrap_or_else(|| self.add(Accesses::unmeasured()) as usize - 1);
            self.unmeasured = Some(number);
            (number, address)
        });
        let accesses = &mut self.all[number].accesses;
        let one = accesses.begin_commanded(kind, (offset, len), now);
        (number, one, measured.is_none())
    }
}

#[cfg(test)]
mod tests {
    use transaction::AccessKind;

    use super::*;

    #[test]
    fn an_access_is_of_a_sequence_if_its_kind_and_size_are_those_of_the_sequence() {
        let mut works = Works::<()>::default();
        let sequence = works.add(Accesses {
            address: 0x1000,
            region: 0x1000,
            size: 64,
            count: 3,
            warm_up: 0,
            ..Accesses::unmeasured()
        });
        let sequence = sequence as usize - 1;
        let mut begin = |address, len, sequence| {
            let command = Command {
                kind: AccessKind::Read,
                address,
                card: 0,
                len,
                sequence,
            };
            let (number, one, is_unmeasured) = works.begin_commanded(&command, Time::ZERO);
            (number, one.offset, is_unmeasured)
        };
        assert_eq!(begin(0x1040, 64, Some(sequence)), (sequence, 0x40, false));
        let (other, offset, is_unmeasured) = begin(0x1040, 32, Some(sequence));
        assert_ne!(other, sequence);
        assert_eq!((offset, is_unmeasured), (0x1040, true));
        assert_eq!(begin(0x2000, 64, None), (other, 0x2000, true));
        assert_eq!(works.all.len(), 2);
    }
}
