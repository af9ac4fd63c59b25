//! The answers of an endpoint to the probes: the state of its paths. They ask at times between two events.

use kernel::Time;
use link::Side;
use packet::{PacketId, Packets};

use super::Endpoint;

/// The state of the send path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// The queue for the wire is full.
    Full,
    /// The datapath takes the next packet at this time.
    Datapath(Time),
    /// Nothing.
    Open,
}

impl Endpoint {
    /// Returns the state of the send path for requests at `now`.
    pub fn gate(&self, now: Time) -> Gate {
        let in_send_path = self.outbound.iter().filter(|ready| **ready > now).count();
        let waiting = self.link.waiting_on(Side::Requester);
        if waiting.saturating_sub(in_send_path) >= self.limit() {
            Gate::Full
        } else if !self.sending.is_unlimited() && self.sending.opens() > now {
            Gate::Datapath(self.sending.opens())
        } else {
            Gate::Open
        }
    }

    /// Whether packets wait for each other in the receive path at `now`.
    pub fn is_receiving_late(&self, now: Time) -> bool {
        let coming = self.inbound.iter().filter(|(due, _)| *due > now);
        !self.receiving.is_unlimited() && coming.count() > 1
    }

    /// Whether the engine holds packets in the receive buffer, beside those in the receive path.
    pub fn is_holding(&self, packets: &Packets) -> bool {
        let credits = |packet: &PacketId| {
            let charge = packets[*packet].charge();
            1 + u32::from(charge.data)
        };
        let coming: u32 = self.inbound.iter().map(|(_, packet)| credits(packet)).sum();
        self.link.credits_held() > coming
    }

    /// Whether completions wait for the datapath at `now`.
    pub fn is_answering_late(&self, now: Time) -> bool {
        self.answers.iter().any(|(due, _)| *due <= now)
    }
}
