//! The answer of a router to the probes: the reason why packets wait in it. They ask at times between two events.

use kernel::Time;
use packet::{FlowId, Packets};

use super::crossbar::{Entry, Exits};
use super::{FIRST_FIBRE, Router, TO_PCIE, TO_USER};

/// The reason why packets wait in a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouterHold {
    /// A fibre that is busy, and the flow of the first packet in the queue that it took a packet from last.
    Fibre(usize, Option<FlowId>),
    /// Space behind a fibre, or in its retransmission buffer, which it lacks or another packet claims.
    Credit(usize),
    /// A busy output or input of the router itself.
    Crossbar,
}

impl Router {
    /// Returns the reason why packets of `flow` wait at `now`, or `None` if no such packet is in a queue. With several queues, the reason
    /// is that of the first packet in the first of them.
    pub fn holds(&self, flow: FlowId, now: Time, packets: &Packets) -> Option<RouterHold> {
        self.queues.iter().enumerate().find_map(|(number, queue)| {
            let is_of_flow = |entry: &Entry| {
                entry.ready <= now && packets[entry.packet].stamp.flow == Some(flow)
            };
            queue.entries.iter().any(is_of_flow).then_some(())?;
            self.holds_first(number as u32, now, packets)
        })
    }

    fn holds_first(&self, number: u32, now: Time, packets: &Packets) -> Option<RouterHold> {
        let queue = &self.queues[number as usize];
        let first = queue.entries.front()?;
        let fibres = match queue.exits? {
            Exits::On(hops) => hops,
            Exits::User => {
                let is_busy = self.free_at(TO_USER) > now;
                return is_busy.then_some(RouterHold::Crossbar);
            }
            Exits::Pcie => {
                let is_busy = self.free_at(TO_PCIE) > now || !self.takes_tlps();
                return is_busy.then_some(RouterHold::Crossbar);
            }
        };
        // An adaptive packet may take others, too, but its first choice stands for them.
        let (fibre, channels) = fibres.iter().next()?;
        let fibre = usize::from(fibre);
        let end = self.fibres[fibre].as_ref()?;
        let unclaimed = channels & !self.claimed_channels(FIRST_FIBRE + fibre, number);
        let mut allowed = (0..self.stride as u8).filter(|channel| unclaimed >> channel & 1 == 1);
        Some(if self.free_at(FIRST_FIBRE + fibre) > now {
            RouterHold::Fibre(fibre, self.served_last(FIRST_FIBRE + fibre, packets))
        } else if !allowed.any(|channel| end.may_send(channel, first.cycles)) {
            RouterHold::Credit(fibre)
        } else {
            RouterHold::Crossbar
        })
    }

    /// The flow of the first packet in the queue that `output` served last.
    fn served_last(&self, output: usize, packets: &Packets) -> Option<FlowId> {
        let queue = self
            .queues
            .get(self.outputs[output].served_last() as usize)?;
        packets[queue.entries.front()?.packet].stamp.flow
    }
}
