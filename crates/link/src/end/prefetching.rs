//! Early loads for link ends: the cache lines of a [`LinkEnd`] that its next event reads are loaded before the event is handled. In a fabric
//! of thousands of links, most ends are not in the cache.

use packet::Packets;

use super::LinkEnd;

impl LinkEnd {
    /// Begins to load the data that the next packet of this end needs, whether it arrives or leaves.
    #[inline]
    pub fn prefetch(&self, is_arrival: bool) {
        if is_arrival {
            self.prefetch_buffers();
            kernel::prefetch(self, Self::TIMING..Self::TIMING + 1);
        } else {
            kernel::prefetch(self, Self::COMMON..Self::SENDING_END);
            kernel::prefetch(self, Self::TIMING..Self::TIMING + 1);
        }
    }

    /// Begins to load the data that is needed when a packet leaves this end's buffer.
    #[inline]
    pub fn prefetch_buffers(&self) {
        kernel::prefetch(self, Self::POSTED..Self::POSTED + 1);
        kernel::prefetch(self, Self::COMMON..Self::COMMON + 1);
        kernel::prefetch(self, Self::RECEIPT..Self::RECEIPT + 1);
    }

    /// Begins to load two packet entries that the next event of this end needs: the oldest packet in the replay buffer, which an Ack
    /// releases, and the next packet that waits for the wire. If probes observe the end, the packet itself is loaded, too.
    #[inline]
    pub fn prefetch_packets(&self, packets: &Packets) {
        self.transmitter.prefetch_packets(packets);
    }

    /// Begins to load the queue in which packets of a source wait for the wire.
    #[inline]
    pub fn prefetch_source(&self, source: u16) {
        self.transmitter.prefetch_source(source);
    }
}
