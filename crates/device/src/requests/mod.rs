//! The requests of a device: their order, their packets, their tags and their ends.
//!
//! A device makes reads, writes and atomic operations of any length. They are sent in order as far as PCI Express requires it: functions do not
//! wait for each other, and reads take turns with posted requests. An engine that decides about each request uses [`Lane`]; an engine that
//! decides about each packet uses [`Tags`].

mod lane;
mod tags;

use kernel::{Effects, Time};
use packet::{FlowId, PacketId, Why};
use peerlane_device::Failure;
use protocol::{Completion, Status, TrafficClass};
use transaction::{FunctionPlace, Memory, OutstandingLimits};

use crate::Endpoint;
use crate::endpoint::Device;
use crate::place::{number_of, place_of};
pub(crate) use lane::{Atomic, Ended, Lane, Mark, Part, Posted};
pub(crate) use tags::Tags;

/// The requests of a device. `P` is the type for the purpose of a read or an atomic operation, and `W` the type for the purpose of a write. The
/// end of a request returns its purpose.
#[derive(Debug)]
pub(crate) struct Requests<P, W> {
    /// A queue of requests for each function, the physical function first.
    lanes: Vec<Lane<P, W>>,
    tags: Tags<Part>,
    /// Number of requests so far.
    count: u64,
    /// Whether the next packet is a non-posted request, if there is one. Non-posted requests take turns with posted requests.
    is_turn_of_reads: bool,
}

/// The result of an attempt to send a packet.
#[derive(Debug)]
pub(crate) enum Sent<P, W> {
    /// No packet may be sent.
    Nothing,
    /// A packet was sent, or an interrupt was taken from the queue.
    Packet,
    /// The last packet of a write was sent.
    Write(W),
    /// A read or an atomic operation has ended without a packet.
    Ended(Ended<P>),
}

impl<P, W> Requests<P, W> {
    /// The requests of a device with this endpoint; there are none at first.
    pub(crate) fn new(limits: OutstandingLimits, endpoint: &Endpoint) -> Self {
        Requests {
            lanes: vec![Lane::new()],
            tags: Tags::new(limits, endpoint),
            count: 0,
            is_turn_of_reads: false,
        }
    }

    pub(crate) fn apply_registers(&mut self, endpoint: &Endpoint) {
        self.tags.apply_registers(endpoint);
    }

    fn lane(&mut self, place: FunctionPlace) -> (u64, &mut Lane<P, W>) {
        let number = number_of(place);
        if number >= self.lanes.len() {
            self.lanes.resize_with(number + 1, Lane::new);
        }
        self.count += 1;
        (self.count, &mut self.lanes[number])
    }

    /// Adds a read, or an atomic operation with its operands.
    pub(crate) fn begin(
        &mut self,
        place: FunctionPlace,
        what: (P, Mark),
        range: (u64, u64),
        atomic: Option<Atomic>,
    ) {
        let (order, lane) = self.lane(place);
        lane.begin(order, what, range, atomic);
    }

    pub(crate) fn post(&mut self, place: FunctionPlace, posted: Posted<W>) {
        let (order, lane) = self.lane(place);
        lane.post(order, posted);
    }

    pub(crate) fn are_sent(&self) -> bool {
        self.lanes.iter().all(Lane::is_sent)
    }

    /// Number of posted requests that are not completely sent, and of reads and atomic operations that have not ended.
    pub(crate) fn waiting(&self) -> usize {
        self.lanes.iter().map(Lane::waiting).sum()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.lanes.iter().map(Lane::bytes).sum()
    }

    /// The state of the engine. It waits for tags if no function that has a read to send has a free tag.
    pub(crate) fn engine(&self, now: Time) -> Why {
        let lanes = self.lanes.iter().enumerate();
        let mut to_read = lanes.filter(|(_, lane)| lane.has_to_read()).peekable();
        if self.waiting() == 0 {
            Why::Software
        } else if to_read.peek().is_some()
            && to_read.all(|(number, _)| !self.tags.is_open(place_of(number), now))
        {
            Why::Tags
        } else {
            Why::Datapath
        }
    }

    /// Sends a packet, if one may be sent. `fill` copies the bytes of a write, from an offset on, into a packet; it may use the memory behind
    /// BAR 0.
    pub(crate) fn send<C: Device>(
        &mut self,
        endpoint: &mut Endpoint,
        fx: &mut Effects<'_, C>,
        fill: impl FnOnce(&W, u64, &mut [u8], &Memory),
    ) -> Sent<P, W> {
        let now = fx.now();
        let lanes = || self.lanes.iter().enumerate();
        let post = lanes()
            .filter_map(|(number, lane)| {
                let (order, class) = lane.next_post(place_of(number), endpoint)?;
                Some((order, number, class))
            })
            .min_by_key(|(order, ..)| *order);
        let next_read = |endpoint: &Endpoint| {
            let may_send = |(number, lane): (usize, &Lane<P, W>)| {
                let place = place_of(number);
                let (order, class, range) = lane.next_read(place, endpoint)?;
                let fits = self.tags.fits(place, range, now);
                fits.then_some((order, number, class))
            };
            lanes()
                .filter_map(may_send)
                .min_by_key(|(order, ..)| *order)
        };
        let is_turn_of_reads = self.is_turn_of_reads || post.is_none();
        let read = is_turn_of_reads.then(|| next_read(endpoint)).flatten();
        if post.or(read).is_none() {
            return Sent::Nothing;
        }
        let is_open = endpoint.is_open(fx);
        if !is_open && !endpoint.has_channels() {
            return Sent::Nothing;
        }
        let may_go =
            |next: &(u64, usize, TrafficClass)| is_open || endpoint.is_open_besides(next.2, now);
        let post = post.filter(may_go);
        let read = match (post, read) {
            (None, None) => next_read(endpoint),
            _ => read,
        };
        if let Some((_, number, _)) = read.filter(may_go) {
            self.is_turn_of_reads = false;
            let (lane, place) = (&mut self.lanes[number], place_of(number));
            let ended = lane.send_read(place, (&mut self.tags, |part| part), endpoint, fx);
            return ended.map_or(Sent::Packet, Sent::Ended);
        }
        let Some((_, number, _)) = post else {
            return Sent::Nothing;
        };
        self.is_turn_of_reads = true;
        let written = self.lanes[number].send_posted(place_of(number), endpoint, fx, fill);
        written.map_or(Sent::Packet, Sent::Write)
    }

    /// Handles a completion. `keep` gets its bytes, their offset in the request, and the memory behind BAR 0. Returns the request if it has
    /// ended.
    pub(crate) fn take<C: Device>(
        &mut self,
        packet: PacketId,
        completion: &Completion,
        endpoint: &mut Endpoint,
        fx: &mut Effects<'_, C>,
        keep: impl FnOnce(&mut P, u64, &[u8], &mut Memory),
    ) -> Option<Ended<P>> {
        let (place, part) = self.tags.take(packet, completion, endpoint, fx)?;
        let data = part.data(completion, fx.store()[packet].payload());
        let memory = endpoint.bar_mut();
        let ended = self.lanes[number_of(place)].take(
            &part,
            data.map_err(failure),
            |what, offset, bytes| keep(what, offset, bytes, memory),
        );
        fx.store().release(packet);
        ended
    }

    /// Removes parts of requests that have timed out, until a request has ended, and returns this request. Each part is reported, for the flow
    /// of its request if there is one.
    pub(crate) fn give_up<C: Device>(
        &mut self,
        flow: impl Fn(&P) -> Option<FlowId>,
        endpoint: &mut Endpoint,
        fx: &mut Effects<'_, C>,
    ) -> Option<Ended<P>> {
        loop {
            let lanes = &mut self.lanes;
            let flow = |place, part: &Part| flow(lanes[number_of(place)].of(part)?);
            let (place, part) = self.tags.give_up(flow, endpoint, fx)?;
            let lane = &mut lanes[number_of(place)];
            let ended = lane.take(&part, Err(Failure::TimedOut), |_, _, _| {});
            if ended.is_some() {
                return ended;
            }
        }
    }

    /// The next time at which a request times out, or at which a tag that may be needed leaves its quarantine.
    pub(crate) fn deadline(&mut self, now: Time) -> Time {
        self.tags.next_change(now)
    }

    /// Drops all requests of the functions that `is_forgotten` selects. The tags of outstanding requests go into quarantine.
    pub(crate) fn forget(&mut self, is_forgotten: impl Fn(FunctionPlace) -> bool) {
        for (number, lane) in self.lanes.iter_mut().enumerate() {
            if is_forgotten(place_of(number)) {
                *lane = Lane::new();
            }
        }
        self.tags.forget(is_forgotten);
    }
}

/// The failure of a request whose completion has this status.
pub(crate) fn failure(status: Status) -> Failure {
    match status {
        Status::CompleterAbort => Failure::Aborted,
        Status::Poisoned => Failure::Poisoned,
        _ => Failure::Unsupported,
    }
}

#[cfg(test)]
mod tests;
