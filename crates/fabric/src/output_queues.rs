//! The virtual output queues of a switch: space for packets between the receive buffer of their ingress and the wire of their egress.
//!
//! Packets of one class that are forwarded from one port to another enter the queue in order. Therefore, the number of packets in the queue
//! is enough to determine where each packet is: the oldest packets are in the queue, the others are in the receive buffer. They leave in
//! this order, except packets that pass others.

use std::collections::{BTreeMap, VecDeque};

use kernel::{Bytes, Port, Time};
use packet::Charge;

/// The queues of all pairs of ports.
#[derive(Clone, Debug)]
pub(crate) struct OutputQueues {
    /// The size of each queue in flow-control units of 16 bytes.
    size: u64,
    queues: BTreeMap<(Port, Port, u8, usize), OutputQueue>,
}

/// The queue for packets of one class from one port to another.
#[derive(Clone, Debug, Default)]
struct OutputQueue {
    used: u64,
    /// The number of packets in the queue.
    inside: usize,
    /// The packets after them, which are still in the receive buffer.
    behind: VecDeque<Buffered>,
}

/// A packet in the receive buffer of its ingress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffered {
    /// The credits of the packet.
    pub(crate) charge: Charge,
    /// The time at which the packet's last bit arrives. The packet occupies space in the receive buffer until then, even if it has begun to
    /// leave.
    pub(crate) complete: Time,
}

impl OutputQueues {
    /// Queues of `size` bytes each, or none if the size is 0.
    pub(crate) fn new(size: Bytes) -> Option<Self> {
        let queues = OutputQueues {
            size: size.0 / UNIT,
            queues: BTreeMap::new(),
        };
        (size.0 > 0).then_some(queues)
    }

    /// Adds a packet that is forwarded from the first to the second port. Returns whether it moves to the queue at once.
    pub(crate) fn enter(&mut self, ports: (Port, Port), packet: Buffered) -> bool {
        let size = self.size;
        let charge = packet.charge;
        let queue = self.queue(ports, charge);
        let moves = queue.behind.is_empty() && queue.used + units(charge) <= size;
        if moves {
            queue.take(charge);
        } else {
            queue.behind.push_back(packet);
        }
        moves
    }

    /// Removes the packet that has passed `passed` older packets (0 for the oldest). Returns the packet that leaves the receive buffer as a
    /// result: this packet, or the packet that moves into its space in the queue.
    pub(crate) fn leave(
        &mut self,
        ports: (Port, Port),
        charge: Charge,
        passed: usize,
    ) -> Option<Buffered> {
        let queue = self.queue(ports, charge);
        if let Some(behind) = passed.checked_sub(queue.inside) {
            return queue.behind.remove(behind);
        }
        queue.inside -= 1;
        queue.used -= units(charge);
        self.move_next(ports, charge)
    }

    /// Moves the next packet of the same classes as `charge` from the receive buffer to the queue, if there is a packet and it fits.
    pub(crate) fn move_next(&mut self, ports: (Port, Port), charge: Charge) -> Option<Buffered> {
        let size = self.size;
        let queue = self.queue(ports, charge);
        let used = queue.used;
        let next = queue
            .behind
            .pop_front_if(|next| used + units(next.charge) <= size)?;
        queue.take(next.charge);
        Some(next)
    }

    fn queue(&mut self, (from, to): (Port, Port), charge: Charge) -> &mut OutputQueue {
        let key = (
            from,
            to,
            charge.traffic_class.number(),
            charge.class.index(),
        );
        self.queues.entry(key).or_default()
    }
}

impl OutputQueue {
    fn take(&mut self, charge: Charge) {
        self.inside += 1;
        self.used += units(charge);
    }
}

/// The bytes of a flow-control unit.
const UNIT: u64 = 16;

/// The space that a packet occupies: a unit for its header, and its data credits.
fn units(charge: Charge) -> u64 {
    1 + u64::from(charge.data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use protocol::{Class, TrafficClass};

    const PORTS: (Port, Port) = (Port(0), Port(1));

    fn charge(data: u16) -> Charge {
        Charge {
            traffic_class: TrafficClass::default(),
            class: Class::Completion,
            data,
        }
    }

    fn buffered(data: u16) -> Buffered {
        Buffered {
            charge: charge(data),
            complete: Time::ZERO,
        }
    }

    #[test]
    fn a_packet_moves_to_the_queue_when_there_is_space_behind_all_before_it() {
        let mut queues = OutputQueues::new(Bytes(80)).expect("a size");
        assert!(queues.enter(PORTS, buffered(3)));
        assert!(!queues.enter(PORTS, buffered(1)));
        // This packet would fit, but it is behind a packet that does not fit.
        assert!(!queues.enter(PORTS, buffered(0)));
        assert_eq!(queues.leave(PORTS, charge(3), 0), Some(buffered(1)));
        assert_eq!(queues.move_next(PORTS, charge(3)), Some(buffered(0)));
        assert_eq!(queues.move_next(PORTS, charge(3)), None);
        // Other outputs and classes have their own queues.
        assert!(queues.enter((Port(0), Port(2)), buffered(3)));
    }

    #[test]
    fn a_packet_larger_than_the_queue_leaves_from_the_receive_buffer() {
        let mut queues = OutputQueues::new(Bytes(32)).expect("a size");
        assert!(!queues.enter(PORTS, buffered(8)));
        assert!(!queues.enter(PORTS, buffered(1)));
        assert_eq!(queues.leave(PORTS, charge(8), 0), Some(buffered(8)));
        assert_eq!(queues.move_next(PORTS, charge(8)), Some(buffered(1)));
        assert_eq!(queues.leave(PORTS, charge(1), 0), None);
    }

    #[test]
    fn a_packet_that_passes_others_leaves_from_where_it_is() {
        let mut queues = OutputQueues::new(Bytes(96)).expect("a size");
        for data in [2, 1, 5, 0] {
            queues.enter(PORTS, buffered(data));
        }
        // Two packets are in the queue. The last packet is in the receive buffer, and passes all others.
        assert_eq!(queues.leave(PORTS, charge(0), 3), Some(buffered(0)));
        // The second packet passes the first one. Its space is too small for the third packet.
        assert_eq!(queues.leave(PORTS, charge(1), 1), None);
        assert_eq!(queues.leave(PORTS, charge(2), 0), Some(buffered(5)));
    }

    proptest! {
        /// The credit of each packet is freed once, in order, and no later than when the packet leaves.
        #[test]
        fn every_packet_leaves_the_receive_buffer_once(size in 1_u64..400, steps in prop::collection::vec((any::<bool>(), 0_u16..12), 1..300)) {
            let mut queues = OutputQueues::new(Bytes(size)).expect("a size");
            let (mut sent, mut left, mut freed) = (Vec::new(), 0, Vec::new());
            for (enters, data) in steps {
                if enters {
                    sent.push(charge(data));
                    if queues.enter(PORTS, buffered(data)) {
                        freed.push(charge(data));
                    }
                } else if left < sent.len() {
                    let gone = sent[left];
                    left += 1;
                    let mut next = queues.leave(PORTS, gone, 0);
                    while let Some(Buffered { charge, .. }) = next {
                        freed.push(charge);
                        next = queues.move_next(PORTS, charge);
                    }
                }
                prop_assert!(freed.len() >= left);
                prop_assert_eq!(&freed[..], &sent[..freed.len()]);
                let inside: u64 = sent[left..freed.len()].iter().copied().map(units).sum();
                prop_assert!(inside <= size / 16);
            }
        }
    }
}
