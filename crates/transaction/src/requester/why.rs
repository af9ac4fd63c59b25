//! The reason why a flow creates no request.

use kernel::Time;
use packet::{FlowId, Why};

use super::Requester;
use crate::flow::Direction;

impl Requester {
    /// Returns the reason why `flow` creates no request at `now`. `None` if it is not a flow of this requester, or if it has sent its last
    /// request.
    pub fn why(&self, flow: FlowId, now: Time) -> Option<Why> {
        let mut live = self.live.iter().map(|index| (*index, &self.flows[*index]));
        let (index, running) = live.find(|(_, running)| running.flow.id == flow)?;
        if running.is_through(now) {
            return None;
        }
        if now < running.flow.start {
            return Some(Why::Start);
        }
        if running.away {
            return Some(Why::RoundTrip);
        }
        if let Some(leader) = running.flow.follows
            && !self.may_follow(index)
        {
            return Some(Why::Follows(leader));
        }
        let is_read = running.flow.direction == Direction::Read;
        if is_read && !self.reads.is_open(now) {
            return Some(Why::Tags);
        }
        if running.interval_ends() > now.max(self.held_until) {
            return Some(Why::Interval);
        }
        let next_at = running.next_at(running.staging(&self.limits));
        if next_at.max(self.held_until) > now {
            return Some(Why::Pacing);
        }
        if is_read {
            let (address, len) = match running.left {
                0 => (running.flow.address, self.limits.max_read_request),
                _ => running.next_range(&self.limits),
            };
            if !self.reads.fits(address, len, now) {
                return Some(Why::Outstanding);
            }
        }
        Some(Why::Device)
    }
}
