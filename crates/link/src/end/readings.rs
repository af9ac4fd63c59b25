//! Read access to a [`LinkEnd`]: its counters, the packets that wait, the credit that is left, and whether the link is up. No function of
//! this module changes the end.

use kernel::Time;
use packet::Charge;
use protocol::Class;

use super::LinkEnd;
use crate::channels::ChannelCounters;
use crate::counters::Counters;
use crate::transmitter::Transmitter;
use crate::{CreditLeft, Side, WireTiming};

impl LinkEnd {
    /// The source of the packet that is on the wire. The end of this packet must be reported to the source.
    pub fn source_on_wire(&self) -> Option<u16> {
        let on_wire = self.transmitter.on_wire.as_ref();
        on_wire.map(|finished| finished.source)
    }

    /// The counters of this end's transmitter at `now`. For a frame that is on the wire at `now`, the bytes are counted completely, and the
    /// time is counted up to `now`.
    pub fn counters(&self, now: Time) -> Counters {
        // A link that has failed sends nothing.
        let now = now.min(self.fails_at());
        let (mut counters, remaining) = if self.refresh.is_dormant() {
            let refreshes = self.receiver.skipped_refreshes(now, self.refreshes());
            let refreshes = refreshes.into_iter().map(|(_, last)| last);
            self.transmitter.counters_with(refreshes, now)
        } else {
            let remaining = self.transmitter.remaining(now);
            (self.transmitter.counters(now), remaining)
        };
        // Packets that a link drops while it is down take their time, but they do not occupy the wire.
        if self.transmitter.is_streaming() || self.is_linked(now) {
            counters.busy = counters.busy.saturating_sub(remaining);
        }
        (counters.in_l1, counters.l1_entries) = self.power.time_in_l1(now);
        counters
    }

    /// Saves the counters at the time of the link's failure, before the waiting packets are dropped.
    pub(super) fn end_at_failure(&mut self) {
        let counters = self.counters(self.fails_at());
        self.transmitter.end(counters);
        self.refresh.wake_up();
    }

    /// The counters of the enabled virtual channels of this end's transmitter at `now`, by VC ID. Empty at a port without the Virtual
    /// Channel capability.
    pub fn channel_counters(&self, now: Time) -> impl Iterator<Item = (u8, ChannelCounters)> {
        let now = now.min(self.fails_at());
        let channels = (0..).zip(self.transmitter.channel_counters(now));
        let ids = if self.has_channel_capability {
            self.enabled | 1
        } else {
            0
        };
        channels.filter(move |(id, _)| ids >> id & 1 != 0)
    }

    pub(crate) fn transmitter(&self) -> &Transmitter {
        &self.transmitter
    }

    /// The timing of this wire.
    pub fn timing(&self) -> &WireTiming {
        self.transmitter.timing()
    }

    /// The number of packets that wait for the wire.
    pub fn waiting(&self) -> usize {
        self.waiting_on(Side::Requester) + self.waiting_on(Side::Completer)
    }

    /// The number of packets of one side that wait for the wire.
    pub fn waiting_on(&self, side: Side) -> usize {
        self.transmitter.waiting_on(side)
    }

    /// The packets in the replay buffer, in bytes on the wire.
    pub fn replay_buffer_bytes(&self) -> u64 {
        self.transmitter.replay_buffer.bytes
    }

    /// The credit of a class that this end may still send, for each virtual channel.
    pub fn credit_left(&self, class: Class) -> impl Iterator<Item = CreditLeft> {
        let queues = self.transmitter.queues();
        queues.map(move |(_, budgets)| budgets[class].left())
    }

    /// The time at which the current or last transmission ends.
    pub fn busy_until(&self) -> Time {
        self.transmitter.busy_until
    }

    /// The number of packets of `source` that wait in the same queue as a packet with this `charge`.
    pub fn waiting_like(&self, source: u16, charge: &Charge) -> usize {
        let channel = self.channel_of(charge.traffic_class);
        self.transmitter.waiting_of(channel, source, charge.class)
    }

    /// The number of packets of `source` and a class that wait, over all virtual channels.
    pub fn waiting_of(&self, source: u16, class: Class) -> usize {
        let queues = self.transmitter.queues();
        queues
            .map(|(queue, _)| queue.waiting_of(source, class))
            .sum()
    }

    /// The sum of the header credits and the data credits of packets that are in this end's receive buffers and whose release is not
    /// scheduled.
    pub fn credits_held(&self) -> u32 {
        self.receiver.credits_held()
    }

    /// Whether flow-control initialisation is complete.
    pub fn is_up(&self) -> bool {
        self.handshake.is_done()
    }

    /// The errors that this end has corrected since the last [`take_repaired`](Self::take_repaired), as bits of Correctable Error
    /// Status.
    pub fn repaired(&self) -> u32 {
        self.repaired
    }
}
