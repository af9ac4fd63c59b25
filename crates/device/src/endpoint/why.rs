//! The reasons why packets wait in the paths of an endpoint.

use kernel::Time;
use packet::{PacketId, Packets, Why};

use super::Endpoint;

impl Endpoint {
    /// Returns the reason why requests wait for the send path at `now`, or `None` if the send path accepts the next request.
    pub fn why(&self, now: Time) -> Option<Why> {
        if self.waiting() >= self.limit() {
            Some(Why::Queue)
        } else if !self.sending.is_unlimited() && self.sending.opens() > now {
            Some(Why::Datapath)
        } else {
            None
        }
    }

    /// Whether a packet in the receive path waits for the datapath behind another packet at `now`.
    pub fn is_receiving_late(&self, now: Time) -> bool {
        let coming = self.inbound.iter().filter(|(due, _)| *due > now);
        !self.receiving.is_unlimited() && coming.count() > 1
    }

    /// Whether the engine holds packets in the receive buffer, besides the packets in the receive path.
    pub fn is_holding(&self, packets: &Packets) -> bool {
        let credits = |packet: &PacketId| {
            let charge = packets[*packet].charge();
            1 + u32::from(charge.data)
        };
        let coming: u32 = self.inbound.iter().map(|(_, packet)| credits(packet)).sum();
        self.link.credits_held() > coming
    }

    /// Whether a completion whose data is available waits for the datapath at `now`.
    pub fn is_answering_late(&self, now: Time) -> bool {
        self.answers.iter().any(|(due, _)| *due <= now)
    }
}
