//! Writes from a root port that wait for the responses of earlier writes to other targets.
//!
//! An interconnect in which each source has writes under way to one target at a time keeps their order, although the targets are independent.
//! In AXI interconnects this rule is called single slave per ID.

use std::collections::VecDeque;

use kernel::{Agenda, Port, Span, Time, WakeUp};
use packet::PacketId;
use protocol::{Class, Header, Passing};

use super::RootComplexParameters;

/// The writes of all root ports that have no response yet, and the packets that wait for these responses.
#[derive(Debug)]
pub(super) struct Responses {
    /// The time from the arrival of a write at its target to its response.
    time: Span,
    ports: Vec<PortWrites>,
    /// The root ports whose packets may continue, by the times of responses.
    due: Agenda<Port>,
    wake: WakeUp,
}

#[derive(Clone, Debug, Default)]
struct PortWrites {
    /// The posted requests without a response.
    under_way: Vec<Write>,
    /// The packets that wait, in the order of their arrival.
    waiting: VecDeque<Waiting>,
}

/// A posted request without a response.
#[derive(Clone, Copy, Debug)]
struct Write {
    request: Waiting,
    /// The time of the response. None if the request has not arrived at its target.
    answered: Option<Time>,
}

/// A packet, and the target that it has to reach.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    packet: PacketId,
    header: Header,
    to: Destination,
}

/// A target that gives responses of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// The memory of a socket.
    Memory(usize),
    /// Another root port.
    Port(Port),
    /// The CPU, or the root complex itself.
    Cpu,
}

impl Responses {
    /// The initial state for this number of root ports. None if writes do not wait for responses.
    pub(super) fn new(parameters: &RootComplexParameters, ports: usize) -> Option<Box<Self>> {
        parameters.write_response_latency.map(|time| {
            Box::new(Responses {
                time,
                ports: vec![PortWrites::default(); ports],
                due: Agenda::default(),
                wake: WakeUp::default(),
            })
        })
    }

    /// Accepts a packet that arrived at `port`. Returns true if the packet may continue at `now`. Otherwise the packet waits.
    pub(super) fn accept(
        &mut self,
        port: Port,
        (packet, header): (PacketId, &Header),
        to: Destination,
        now: Time,
    ) -> bool {
        let writes = &mut self.ports[port.index()];
        let packet = Waiting {
            packet,
            header: *header,
            to,
        };
        writes.forget(now);
        let mut earlier = writes.waiting.iter();
        if !earlier.any(|earlier| packet.stays_behind(earlier)) && !writes.block(&packet) {
            writes.begin(packet);
            return true;
        }
        writes.waiting.push_back(packet);
        for time in writes.under_way.iter().filter_map(|one| one.answered) {
            self.due.push(time, port);
        }
        false
    }

    /// Records that a packet from `port` arrives at its target at `done`.
    pub(super) fn arrive(&mut self, port: Port, packet: PacketId, done: Time) {
        let answered = done + self.time;
        let writes = &mut self.ports[port.index()];
        let is_it = |one: &&mut Write| one.request.packet == packet && one.answered.is_none();
        if let Some(write) = writes.under_way.iter_mut().find(is_it) {
            write.answered = Some(answered);
            if !writes.waiting.is_empty() {
                self.due.push(answered, port);
            }
        }
    }

    /// The next packet that may continue at `now`, and the root port at which it arrived.
    pub(super) fn release(&mut self, now: Time) -> Option<(Port, PacketId)> {
        while let Some(port) = self.due.first(now).copied() {
            let writes = &mut self.ports[port.index()];
            writes.forget(now);
            match writes.waiting.front().copied() {
                Some(first) if !writes.block(&first) => {
                    writes.waiting.pop_front();
                    writes.begin(first);
                    return Some((port, first.packet));
                }
                _ => self.due.pop(now),
            };
        }
        None
    }

    /// The time after `now` at which to release packets, if this is earlier than the time that was returned before.
    pub(super) fn wake_after(&mut self, now: Time) -> Option<Span> {
        let next = self.due.next_time()?;
        self.wake.schedule(next).then(|| next.since(now))
    }

    /// Records that the wake-up at `now` has come.
    pub(super) fn expire(&mut self, now: Time) {
        self.wake.expire(now);
    }

    /// Whether packets from `port` wait for responses.
    pub(super) fn is_late(&self, port: Port) -> bool {
        !self.ports[port.index()].waiting.is_empty()
    }
}

impl PortWrites {
    /// Whether a write to another target that `packet` must not pass has no response yet. Only posted requests wait for responses.
    fn block(&self, packet: &Waiting) -> bool {
        let mut others = self
            .under_way
            .iter()
            .filter(|write| write.request.to != packet.to);
        packet.header.class() == Class::Posted
            && others.any(|write| packet.stays_behind(&write.request))
    }

    fn begin(&mut self, packet: Waiting) {
        if packet.header.class() == Class::Posted {
            self.under_way.push(Write {
                request: packet,
                answered: None,
            });
        }
    }

    /// Removes the writes whose responses have arrived by `now`.
    fn forget(&mut self, now: Time) {
        self.under_way
            .retain(|write| write.answered.is_none_or(|time| time > now));
    }
}

impl Waiting {
    /// Whether this packet must not pass an earlier packet.
    fn stays_behind(&self, earlier: &Self) -> bool {
        self.header.may_pass(&earlier.header) == Passing::No
    }
}

#[cfg(test)]
mod tests {
    use packet::{Packets, Stamp};
    use protocol::{Attributes, FunctionId, Tag};

    use super::*;

    const PORT: Port = Port(0);
    const MEMORY: Destination = Destination::Memory(0);
    const PEER: Destination = Destination::Port(Port(1));

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    struct Bench {
        responses: Box<Responses>,
        packets: Packets,
    }

    impl Bench {
        /// Responses arrive 100 ns after the writes have arrived.
        fn new() -> Self {
            let parameters = RootComplexParameters {
                write_response_latency: Some(Span::from_ns(100)),
                ..RootComplexParameters::default()
            };
            Bench {
                responses: Responses::new(&parameters, 2).expect("a latency of responses"),
                packets: Packets::default(),
            }
        }

        /// A write, or a read, of the function `requester` with these attributes. The second value is true if the packet may continue.
        fn accept(
            &mut self,
            (requester, bits): (u16, u8),
            is_read: bool,
            to: Destination,
            ns: u64,
        ) -> (PacketId, bool) {
            let function = FunctionId(requester);
            let header = if is_read {
                Header::memory_read(function, Tag(0), 0x1000, 4)
            } else {
                Header::memory_write(function, 0x1000, 4)
            };
            let header = Header {
                attributes: Attributes::from_bits(bits),
                ..header.expect("a legal request")
            };
            let packet =
                self.packets
                    .make(header, Stamp::default(), &[0; 4][..header.payload_len()]);
            let may = self.responses.accept(PORT, (packet, &header), to, at(ns));
            (packet, may)
        }
    }

    const PLAIN: (u16, u8) = (1, 0);

    #[test]
    fn a_write_to_another_target_waits_for_the_responses_of_earlier_writes() {
        let mut bench = Bench::new();
        let (first, may) = bench.accept(PLAIN, false, MEMORY, 0);
        assert!(may);
        let (second, may) = bench.accept(PLAIN, false, MEMORY, 10);
        assert!(may, "writes to one target follow each other");
        let (other, may) = bench.accept(PLAIN, false, PEER, 20);
        assert!(!may && bench.responses.is_late(PORT));
        let (last, may) = bench.accept(PLAIN, false, MEMORY, 30);
        assert!(!may, "writes stay in order");
        bench.responses.arrive(PORT, first, at(50));
        bench.responses.arrive(PORT, second, at(60));
        assert_eq!(bench.responses.release(at(159)), None);
        assert_eq!(bench.responses.release(at(160)), Some((PORT, other)));
        assert_eq!(bench.responses.release(at(160)), None);
        bench.responses.arrive(PORT, other, at(200));
        assert_eq!(
            bench.responses.wake_after(at(200)),
            Some(Span::from_ns(100))
        );
        assert_eq!(bench.responses.release(at(300)), Some((PORT, last)));
        assert!(!bench.responses.is_late(PORT));
    }

    #[test]
    fn a_packet_that_comes_between_arrival_and_response_waits_for_the_response() {
        let mut bench = Bench::new();
        let (first, _) = bench.accept(PLAIN, false, MEMORY, 0);
        bench.responses.arrive(PORT, first, at(50));
        let (other, may) = bench.accept(PLAIN, false, PEER, 100);
        assert!(!may);
        assert_eq!(bench.responses.wake_after(at(100)), Some(Span::from_ns(50)));
        assert_eq!(bench.responses.release(at(150)), Some((PORT, other)));
        let (_, may) = bench.accept((2, 0), false, MEMORY, 160);
        assert!(!may, "another requester has no order of its own");
    }

    #[test]
    fn packets_that_may_pass_earlier_writes_do_not_wait() {
        let mut bench = Bench::new();
        let [relaxed, by_id] = [0b010, 0b100];
        assert!(bench.accept(PLAIN, false, MEMORY, 0).1);
        assert!(bench.accept((1, relaxed), false, PEER, 0).1);
        assert!(bench.accept((2, by_id), false, PEER, 0).1);
        // A read needs no response of a write, but stays behind writes that wait.
        assert!(bench.accept(PLAIN, true, PEER, 0).1);
        assert!(!bench.accept(PLAIN, false, PEER, 0).1);
        assert!(!bench.accept(PLAIN, true, PEER, 0).1);
    }
}
