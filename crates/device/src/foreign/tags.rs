//! The tags of a device with a model: those of each function are its own, because a tag belongs to a Requester ID (PCIe Base 2.2.6.2).

use kernel::Time;
use protocol::{Completion, Tag};
use transaction::{AnsweredPart, FunctionPlace, Outstanding, OutstandingLimits};

use super::{function_of, place_of};
use crate::Endpoint;

/// The part of a request that one packet asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) slot: usize,
    pub(super) offset: u64,
    pub(super) place: FunctionPlace,
}

/// The outstanding requests of each function that has existed, the physical one first.
#[derive(Debug)]
pub(super) struct Tags {
    limits: OutstandingLimits,
    functions: Vec<Outstanding<Part>>,
}

impl Tags {
    pub(super) fn new(limits: OutstandingLimits) -> Self {
        Tags {
            limits,
            functions: vec![Outstanding::new(limits)],
        }
    }

    /// Applies the registers. The tags of functions that are gone stay, since completions may still arrive.
    pub(super) fn apply_registers(&mut self, endpoint: &Endpoint) {
        let there = 1 + endpoint.functions().virtual_places().count();
        if there > self.functions.len() {
            let limits = self.limits;
            self.functions
                .resize_with(there, || Outstanding::new(limits));
        }
        for (number, of_function) in self.functions.iter_mut().enumerate() {
            of_function.allow(endpoint.requests_allowed_at(place_of(number as u8)));
        }
    }

    fn of(&self, place: FunctionPlace) -> Option<&Outstanding<Part>> {
        self.functions.get(usize::from(function_of(place)))
    }

    fn of_mut(&mut self, place: FunctionPlace) -> Option<&mut Outstanding<Part>> {
        self.functions.get_mut(usize::from(function_of(place)))
    }

    /// Whether the function has a free tag.
    pub(super) fn is_open(&self, place: FunctionPlace, now: Time) -> bool {
        self.of(place).is_some_and(|one| one.is_open(now))
    }

    /// Whether the function has a free tag, and space for the completions of a request for `len` bytes at `address`.
    pub(super) fn fits(&self, place: FunctionPlace, (address, len): (u64, u32), now: Time) -> bool {
        self.of(place)
            .is_some_and(|one| one.fits(address, len, now))
    }

    /// Adds a request, which must [fit](Self::fits), and returns its tag.
    pub(super) fn begin(&mut self, part: Part, range: (u64, u32), now: Time) -> Tag {
        let of_function = self.of_mut(part.place);
        of_function
            .expect("a request that fits is of a function with tags")
            .begin(part, range, now)
    }

    /// The part of a request of this function that a completion answers.
    pub(super) fn take(
        &mut self,
        place: FunctionPlace,
        completion: &Completion,
    ) -> Option<AnsweredPart<Part>> {
        self.of_mut(place)?.take(completion)
    }

    /// The next time at which a request times out, or a tag that may be needed leaves its quarantine.
    pub(super) fn next_change(&mut self, now: Time) -> Time {
        let all = self.functions.iter_mut();
        all.map(|one| one.next_change(now))
            .min()
            .unwrap_or(Time::NEVER)
    }

    /// Removes a request that has timed out.
    pub(super) fn give_up(&mut self, now: Time) -> Option<AnsweredPart<Part>> {
        self.functions.iter_mut().find_map(|one| one.give_up(now))
    }

    /// Removes the requests of some functions, whose tags rest.
    pub(super) fn forget(&mut self, is_forgotten: impl Fn(FunctionPlace) -> bool) {
        for one in &mut self.functions {
            one.forget(|part| is_forgotten(part.place));
        }
    }
}
