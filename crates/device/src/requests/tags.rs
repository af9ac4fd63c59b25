//! The tags and the outstanding requests of a device. Each function has its own tags, because a tag belongs to a Requester ID (PCIe Base
//! 2.2.6.2).

use kernel::{Effects, Time};
use packet::{FlowId, PacketId, Packets, Refusal, Stamp};
use protocol::{Completion, TrafficClass};
use transaction::{AnsweredPart, FunctionPlace, Outstanding, OutstandingLimits};

use crate::Endpoint;
use crate::endpoint::Device;
use crate::place::{number_of, place_of};

/// The outstanding requests of each function that has existed. The first function is the physical one. `P` is the type for the purpose of a
/// request.
#[derive(Clone, Debug)]
pub(crate) struct Tags<P> {
    limits: OutstandingLimits,
    functions: Vec<Outstanding<P>>,
}

impl<P: Copy> Tags<P> {
    /// The tags of the functions of `endpoint`.
    pub(crate) fn new(limits: OutstandingLimits, endpoint: &Endpoint) -> Self {
        let functions = vec![Outstanding::new(limits)];
        let mut tags = Tags { limits, functions };
        tags.apply_registers(endpoint);
        tags
    }

    /// Applies the configuration registers. The tags of functions that do not exist any more are kept, because completions may still arrive.
    pub(crate) fn apply_registers(&mut self, endpoint: &Endpoint) {
        let there = 1 + endpoint.functions().virtual_places().count();
        if there > self.functions.len() {
            let limits = self.limits;
            self.functions
                .resize_with(there, || Outstanding::new(limits));
        }
        for (number, of_function) in self.functions.iter_mut().enumerate() {
            of_function.allow(endpoint.requests_allowed_at(place_of(number)));
        }
    }

    pub(crate) fn of(&mut self, place: FunctionPlace) -> Option<&mut Outstanding<P>> {
        self.functions.get_mut(number_of(place))
    }

    /// Whether the function at `place` has a free tag.
    pub(crate) fn is_open(&self, place: FunctionPlace, now: Time) -> bool {
        self.has(place, |one| one.is_open(now))
    }

    /// Whether the function at `place` has a free tag, and space for the completions of a request for `len` bytes at `address`.
    pub(crate) fn fits(&self, place: FunctionPlace, (address, len): (u64, u32), now: Time) -> bool {
        self.has(place, |one| one.fits(address, len, now))
    }

    /// Whether the function at `place` has a free tag, and space for the completions of a request for `len` bytes at any address.
    pub(crate) fn fits_anywhere(&self, place: FunctionPlace, len: u32, now: Time) -> bool {
        self.has(place, |one| one.fits_anywhere(len, now))
    }

    fn has(&self, place: FunctionPlace, what: impl FnOnce(&Outstanding<P>) -> bool) -> bool {
        self.functions.get(number_of(place)).is_some_and(what)
    }

    /// Makes the read request of a function for a range of addresses, which must [fit](Self::fits) and be within a page.
    pub(crate) fn read(
        &mut self,
        what: P,
        (place, range): (FunctionPlace, (u64, u32)),
        marks: (TrafficClass, Stamp),
        endpoint: &Endpoint,
        at: (Time, &mut Packets),
    ) -> PacketId {
        let of_function = self.of(place).expect("a function that reads has tags");
        of_function.read(what, (endpoint.id_of(place), range), marks, at)
    }

    /// The part of a request to which a completion belongs. An unexpected completion is refused.
    pub(crate) fn take<C: Device>(
        &mut self,
        packet: PacketId,
        completion: &Completion,
        endpoint: &mut Endpoint,
        fx: &mut Effects<'_, C>,
    ) -> Option<(FunctionPlace, AnsweredPart<P>)> {
        let place = endpoint.functions().place_of(completion.requester);
        let part = place.and_then(|place| Some((place, self.of(place)?.take(completion)?)));
        if part.is_none() {
            endpoint.refuse(packet, Refusal::UnexpectedCompletion, fx);
        }
        part
    }

    /// The next time at which a request times out, or at which a tag that may be needed leaves its quarantine.
    pub(crate) fn next_change(&mut self, now: Time) -> Time {
        let all = self.functions.iter_mut();
        all.map(|one| one.next_change(now))
            .min()
            .unwrap_or(Time::NEVER)
    }

    /// Removes a part of a request that has timed out, and reports it, for its flow if there is one.
    pub(crate) fn give_up<C: Device>(
        &mut self,
        flow: impl FnOnce(FunctionPlace, &P) -> Option<FlowId>,
        endpoint: &mut Endpoint,
        fx: &mut Effects<'_, C>,
    ) -> Option<(FunctionPlace, AnsweredPart<P>)> {
        let mut all = self.functions.iter_mut().enumerate();
        let (number, part) =
            all.find_map(|(number, one)| Some((number, one.give_up(fx.now())?)))?;
        let place = place_of(number);
        let flow = flow(place, &part.what);
        endpoint.give_up(place, flow, part.len, fx);
        Some((place, part))
    }

    /// Removes the requests of the functions that `is_forgotten` selects. Their tags go into quarantine.
    pub(crate) fn forget(&mut self, is_forgotten: impl Fn(FunctionPlace) -> bool) {
        for (number, one) in self.functions.iter_mut().enumerate() {
            one.forget(|_| is_forgotten(place_of(number)));
        }
    }
}
