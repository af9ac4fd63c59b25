//! The answer of a requester to the probes: the reason why a flow makes no request. They ask at times between two events.

use kernel::Time;
use packet::FlowId;

use super::Requester;
use crate::flow::Direction;

/// The reason why a flow makes no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The flow has not begun.
    Early,
    /// The least time between the flow's own requests.
    Interval,
    /// The least time between requests of its engine, or the time that the engine takes for a request.
    Pacing(Time),
    /// A tag.
    Tags,
    /// Space in the completion buffer.
    CompletionBuffer,
    /// The return of its round trip.
    Away,
    /// The flow that it follows.
    Follows(FlowId),
    /// Nothing of its requester's: the device that sends its packets.
    Open,
}

impl Requester {
    /// Returns the reason why `flow` makes no request at `now`, or `None` if it is not a flow of this requester or has sent its last one.
    pub fn standing(&self, flow: FlowId, now: Time) -> Option<Standing> {
        let mut live = self.live.iter().map(|index| (*index, &self.flows[*index]));
        let (index, running) = live.find(|(_, running)| running.flow.id == flow)?;
        if running.is_through(now) {
            return None;
        }
        if now < running.flow.start {
            return Some(Standing::Early);
        }
        if running.away {
            return Some(Standing::Away);
        }
        if let Some(leader) = running.flow.follows
            && !self.may_follow(index)
        {
            return Some(Standing::Follows(leader));
        }
        let is_read = running.flow.direction == Direction::Read;
        if is_read && !self.reads.is_open(now) {
            return Some(Standing::Tags);
        }
        if running.interval_ends() > now.max(self.held_until) {
            return Some(Standing::Interval);
        }
        let next_at = running.next_at(running.staging(&self.limits));
        if next_at.max(self.held_until) > now {
            return Some(Standing::Pacing(next_at.max(self.held_until)));
        }
        if is_read {
            let (address, len) = match running.left {
                0 => (running.flow.address, self.limits.max_read_request),
                _ => running.next_range(&self.limits),
            };
            if !self.reads.fits(address, len, now) {
                return Some(Standing::CompletionBuffer);
            }
        }
        Some(Standing::Open)
    }
}
