//! The packets that arrive for a circuit: the packets that wait for it, and the requests that it has taken and may still report as errors.

use std::collections::VecDeque;

use packet::{Charge, Observation, Stamp};

/// The packets that arrive for a circuit.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// The posted packets and completions that wait for the circuit, oldest first.
    held: VecDeque<Held>,
    /// The non-posted requests that wait for the circuit, oldest first. While the circuit accepts no non-posted requests, posted packets and
    /// completions pass them.
    held_requests: VecDeque<Held>,
    /// The requests that the circuit has taken and may still report as errors. Each has its number among all packets that the circuit has taken,
    /// and the cycle in which its last beat was taken.
    taken: VecDeque<(Request, u64, u64)>,
    /// The number of packets that the circuit has taken.
    count: u64,
}

/// A packet that waits for the circuit.
#[derive(Debug)]
pub(super) struct Held {
    /// The receive buffer that the packet occupies until the circuit has taken it; none for the register write that the circuit gets after
    /// reset.
    pub(super) charge: Option<Charge>,
    /// The earliest cycle in which the circuit can take the last beat of the packet.
    pub(super) earliest: u64,
    pub(super) request: Option<Request>,
}

/// A request that the circuit may report as an error.
#[derive(Debug)]
pub(super) struct Request {
    /// The first bytes of the request, with its header.
    pub(super) header: [u8; 16],
    pub(super) header_len: usize,
    pub(super) stamp: Stamp,
    /// The payload bytes that are lost if the circuit reports the request as an error.
    pub(super) bytes: u32,
    /// The observation that the request has arrived. It is reported when the circuit can no longer report the request as an error.
    pub(super) arrival: Option<Observation>,
}

impl Arrivals {
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty() && self.held_requests.is_empty()
    }

    /// The earliest cycle in which the circuit can take the last beat of a packet that waits.
    pub(super) fn first(&self) -> Option<u64> {
        let first = [&self.held, &self.held_requests].map(VecDeque::front);
        first.into_iter().flatten().map(|held| held.earliest).min()
    }

    /// Adds a packet of `beats` beats that reaches the circuit in `cycle`.
    pub(super) fn push(&mut self, mut held: Held, beats: u64, is_non_posted: bool) {
        let last = [&self.held, &self.held_requests].map(VecDeque::back);
        let behind = last.into_iter().flatten().map(|held| held.earliest).max();
        held.earliest = behind.map_or(held.earliest, |end| end.max(held.earliest)) + beats;
        if is_non_posted {
            self.held_requests.push_back(held);
        } else {
            self.held.push_back(held);
        }
    }

    /// Records that the circuit has taken the last beat of its oldest packet (the oldest non-posted request if `is_non_posted`) in `cycle`.
    /// Returns the receive buffer of the packet.
    pub(super) fn take(&mut self, is_non_posted: bool, cycle: u64) -> Option<Charge> {
        let held = if is_non_posted {
            self.held_requests.pop_front()
        } else {
            self.held.pop_front()
        }?;
        self.count += 1;
        if let Some(request) = held.request {
            self.taken.push_back((request, self.count, cycle));
        }
        held.charge
    }

    /// Removes and returns the request with this header, which the circuit has reported as an error.
    pub(super) fn refuse(&mut self, header: &[u8]) -> Option<Request> {
        let is_it =
            |one: &Request| header.get(..one.header_len) == Some(&one.header[..one.header_len]);
        if let Some(place) = self.taken.iter().position(|(one, ..)| is_it(one)) {
            return self.taken.remove(place).map(|(one, ..)| one);
        }
        let fronts = [&mut self.held, &mut self.held_requests].map(VecDeque::front_mut);
        let mut requests = fronts.into_iter().flatten().map(|held| &mut held.request);
        requests.find_map(|one| one.take_if(|one| is_it(one)))
    }

    /// Removes requests that the circuit can no longer report as errors, up to the first one with an observation, and returns this observation.
    /// A circuit reports an error only while it is active, before the end of the second packet behind the request, and within [`LATEST`] cycles.
    pub(super) fn settle(&mut self, cycle: u64, is_active: bool) -> Option<Observation> {
        let count = self.count;
        let is_settled = |(_, number, end): &mut (Request, u64, u64)| {
            !is_active || *number + 2 <= count || *end + LATEST < cycle
        };
        while let Some((request, ..)) = self.taken.pop_front_if(is_settled) {
            if request.arrival.is_some() {
                return request.arrival;
            }
        }
        None
    }

    /// Discards the packets that wait, and returns their receive buffers.
    pub(super) fn forget(&mut self) -> impl Iterator<Item = Charge> + use<> {
        let held = [&mut self.held, &mut self.held_requests].map(std::mem::take);
        held.into_iter().flatten().filter_map(|held| held.charge)
    }
}

/// The most cycles between the last beat of a packet and an error that the circuit reports for it.
const LATEST: u64 = 1024;

#[cfg(test)]
mod tests {
    use kernel::Time;
    use packet::FlowId;

    use super::*;

    /// Three writes of one flow and a completion behind them; the circuit has taken the first write. The header of each write begins with its
    /// number.
    fn writes() -> Arrivals {
        let mut arrivals = Arrivals::default();
        for number in 0..4 {
            let request = Request {
                header: [number; 16],
                header_len: 12,
                stamp: Stamp::default(),
                bytes: 64,
                arrival: Some(Observation::Delivered {
                    flow: FlowId(0),
                    bytes: 64,
                    offset: number.into(),
                    born: Time::ZERO,
                    last: true,
                    intact: true,
                }),
            };
            let held = Held {
                charge: None,
                earliest: 0,
                request: (number < 3).then_some(request),
            };
            arrivals.push(held, 10, false);
        }
        arrivals.take(false, 10);
        arrivals
    }

    /// The offsets of the writes whose arrival is reported by `cycle`.
    fn settled(arrivals: &mut Arrivals, cycle: u64, is_active: bool) -> Vec<u64> {
        let told = std::iter::from_fn(|| arrivals.settle(cycle, is_active));
        told.filter_map(|told| match told {
            Observation::Delivered { offset, .. } => Some(offset),
            _ => None,
        })
        .collect()
    }

    #[test]
    fn a_write_has_arrived_with_the_second_packet_behind_it() {
        let mut arrivals = writes();
        assert!(settled(&mut arrivals, 20, true).is_empty());
        arrivals.take(false, 20);
        assert!(settled(&mut arrivals, 20, true).is_empty());
        arrivals.take(false, 30);
        assert_eq!(settled(&mut arrivals, 30, true), [0]);
        arrivals.take(false, 40);
        assert_eq!(settled(&mut arrivals, 40, true), [1]);
        assert!(arrivals.is_empty());
    }

    #[test]
    fn a_write_has_arrived_when_the_circuit_is_at_rest_or_after_a_time() {
        let mut arrivals = writes();
        assert_eq!(settled(&mut arrivals, 11, false), [0]);
        let mut arrivals = writes();
        assert!(settled(&mut arrivals, 10 + LATEST, true).is_empty());
        assert_eq!(settled(&mut arrivals, 11 + LATEST, true), [0]);
    }

    #[test]
    fn a_write_that_is_reported_has_not_arrived() {
        let mut arrivals = writes();
        let refused = arrivals.refuse(&[0; 16]).map(|one| one.bytes);
        assert_eq!(refused, Some(64));
        assert!(arrivals.refuse(&[0; 16]).is_none(), "it is reported once");
        let early = arrivals.refuse(&[1; 16]);
        assert!(
            early.is_some(),
            "an error may be reported before the last beat"
        );
        assert!(arrivals.refuse(&[2; 16]).is_none(), "it has not begun");
        for cycle in [20, 30, 40] {
            arrivals.take(false, cycle);
        }
        assert_eq!(settled(&mut arrivals, 40, false), [2]);
    }
}
