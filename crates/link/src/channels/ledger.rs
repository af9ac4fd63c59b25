//! The record of the virtual channel in which each packet in the receive buffers was charged.

use std::collections::VecDeque;

use protocol::{MOST_CHANNELS, PerClass};

use packet::Charge;

/// The packets in the receive buffers of a port with the Virtual Channel capability, by traffic class and flow-control class.
///
/// Software may change the map of classes to channels while packets are in the buffers. The credit of each packet is returned in the channel
/// in which the packet was charged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger([PerClass<VecDeque<Entry>>; MOST_CHANNELS]);

/// A packet in a receive buffer.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// None if the channel is closed, or was closed after the packet arrived. Then the credit of the packet is not returned.
    channel: Option<u8>,
    data: u16,
}

impl Ledger {
    /// Records a packet that was charged in `channel`.
    pub(crate) fn record(&mut self, charge: Charge, channel: Option<u8>) {
        let data = charge.data;
        self.packets_like(charge).push_back(Entry { channel, data });
    }

    /// Removes a packet that leaves its buffer, and returns the channel in which it was charged. Packets of one class with equal data
    /// credits cannot be distinguished: the oldest one is removed.
    pub(crate) fn remove(&mut self, charge: Charge) -> Option<u8> {
        let packets = self.packets_like(charge);
        let place = packets.iter().position(|entry| entry.data == charge.data);
        packets.remove(place?)?.channel
    }

    /// Forgets which packets were charged in `channel`, because the buffers of the channel are initialised again.
    pub(crate) fn close(&mut self, channel: u8) {
        for entry in self.0.iter_mut().flatten().flatten() {
            entry.channel.take_if(|charged| *charged == channel);
        }
    }

    fn packets_like(&mut self, charge: Charge) -> &mut VecDeque<Entry> {
        let class = usize::from(charge.traffic_class.number() & 7);
        &mut self.0[class][charge.class]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{Class, TrafficClass};

    fn charge(class: u8, data: u16) -> Charge {
        Charge {
            traffic_class: TrafficClass::new(class).expect("a class"),
            class: Class::Posted,
            data,
        }
    }

    #[test]
    fn credit_goes_back_where_the_packet_was_charged() {
        let mut ledger = Ledger::default();
        ledger.record(charge(7, 4), Some(1));
        ledger.record(charge(7, 16), Some(0));
        ledger.record(charge(6, 16), Some(2));
        assert_eq!(ledger.remove(charge(7, 16)), Some(0));
        assert_eq!(ledger.remove(charge(7, 4)), Some(1));
        assert_eq!(ledger.remove(charge(6, 16)), Some(2));
        assert_eq!(ledger.remove(charge(6, 16)), None);
    }

    #[test]
    fn a_packet_of_a_channel_that_begins_anew_returns_no_credit_to_it() {
        let mut ledger = Ledger::default();
        ledger.record(charge(7, 4), Some(1));
        ledger.close(1);
        ledger.record(charge(7, 4), Some(1));
        assert_eq!(ledger.remove(charge(7, 4)), None);
        assert_eq!(ledger.remove(charge(7, 4)), Some(1));
    }
}
