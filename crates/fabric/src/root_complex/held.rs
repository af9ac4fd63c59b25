//! Packets between root ports that are sent in parts, while some parts have not left yet. Each packet still occupies its receive buffer at
//! the ingress port.
//!
//! Packets of one traffic class and flow-control class from one port to another leave in order, except packets that pass others. The link
//! end reports how many older parts a part has passed. A packet occupies its header and data credits until its last part has left.

use std::collections::{BTreeMap, VecDeque};

use kernel::Port;
use packet::Charge;

/// The packets of all pairs of ports.
#[derive(Debug, Default)]
pub(super) struct HeldBuffers(BTreeMap<(Port, Port, u8, usize), VecDeque<Held>>);

/// A packet of which some parts have not left yet.
#[derive(Debug)]
struct Held {
    charge: Charge,
    parts: usize,
}

impl HeldBuffers {
    /// Adds a packet with `charge` that leaves the second port in `parts` parts.
    pub(super) fn enter(&mut self, way: (Port, Port), charge: Charge, parts: usize) {
        self.queue(way, charge).push_back(Held { charge, parts });
    }

    /// Removes a part with the charge `part`, which has left before `passed` older parts. If this was the last part, returns the charge of
    /// the whole packet.
    pub(super) fn leave(
        &mut self,
        way: (Port, Port),
        part: Charge,
        passed: usize,
    ) -> Option<Charge> {
        let queue = self.queue(way, part);
        let mut ahead = 0;
        let is_its_packet = |held: &Held| {
            ahead += held.parts;
            ahead > passed
        };
        let place = queue.iter().position(is_its_packet);
        let place = place.expect("only what has entered leaves");
        queue[place].parts -= 1;
        if queue[place].parts > 0 {
            return None;
        }
        queue.remove(place).map(|held| held.charge)
    }

    fn queue(&mut self, (from, to): (Port, Port), charge: Charge) -> &mut VecDeque<Held> {
        let (traffic_class, class) = (charge.traffic_class.number(), charge.class.index());
        self.0.entry((from, to, traffic_class, class)).or_default()
    }
}

#[cfg(test)]
mod tests {
    use protocol::{Class, TrafficClass};

    use super::*;

    fn charge(class: Class, data: u16) -> Charge {
        Charge {
            traffic_class: TrafficClass::default(),
            class,
            data,
        }
    }

    #[test]
    fn a_packet_holds_its_buffer_until_its_last_part_has_left() {
        let mut held = HeldBuffers::default();
        let way = (Port(0), Port(1));
        let [first, second] = [16, 1].map(|data| charge(Class::Posted, data));
        let answer = charge(Class::Completion, 8);
        held.enter(way, first, 3);
        held.enter(way, second, 1);
        held.enter(way, answer, 2);
        let part = charge(Class::Posted, 4);
        assert_eq!(held.leave(way, part, 0), None);
        assert_eq!(held.leave(way, charge(Class::Completion, 4), 0), None);
        assert_eq!(held.leave(way, part, 0), None);
        assert_eq!(held.leave(way, part, 0), Some(first));
        assert_eq!(held.leave(way, second, 0), Some(second));
        assert_eq!(
            held.leave(way, charge(Class::Completion, 4), 0),
            Some(answer)
        );
    }

    #[test]
    fn a_packet_that_passes_others_frees_its_own_buffer() {
        let mut held = HeldBuffers::default();
        let way = (Port(0), Port(1));
        let [first, second, third] = [16, 1, 2].map(|data| charge(Class::Posted, data));
        for (packet, parts) in [(first, 2), (second, 1), (third, 1)] {
            held.enter(way, packet, parts);
        }
        assert_eq!(held.leave(way, third, 3), Some(third));
        assert_eq!(held.leave(way, charge(Class::Posted, 8), 0), None);
        assert_eq!(held.leave(way, second, 1), Some(second));
        assert_eq!(held.leave(way, charge(Class::Posted, 8), 0), Some(first));
    }
}
