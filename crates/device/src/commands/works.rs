//! The sequences of accesses that a device makes, by itself or when software starts them.

use kernel::{Effects, Time};
use transaction::{AccessLoop, Accesses, OneAccess};

use super::Command;
use crate::endpoint::Device;

/// The sequences of a device; `S` is the state of one in the device.
#[derive(Debug, Default)]
pub(crate) struct Works<S> {
    pub(crate) all: Vec<Work<S>>,
    /// The number of the sequence of the accesses that software has started and no measurement counts.
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

    /// Begins the access that software has started. Returns the number of its sequence, the access, and whether no measurement counts it.
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
