//! The reasons why packets wait in a router.

use kernel::Time;
use packet::{FlowId, Packets, Why};

use super::crossbar::{Entry, Exits};
use super::{FIRST_FIBRE, Router, TO_PCIE, TO_USER};

impl Router {
    /// Returns the reason why packets of `flow` wait at `now`, with the fibre that causes it, if there is one; `None` if no such packet is in a
    /// queue. If packets of the flow are in several queues, the reason is the one of the first packet in the first of these queues. If a fibre
    /// is busy, the reason names the flow of the first packet in the queue that the fibre served last.
    pub fn why(&self, flow: FlowId, now: Time, packets: &Packets) -> Option<(Option<usize>, Why)> {
        self.queues.iter().enumerate().find_map(|(number, queue)| {
            let is_of_flow = |entry: &Entry| {
                entry.ready <= now && packets[entry.packet].stamp.flow == Some(flow)
            };
            queue.entries.iter().any(is_of_flow).then_some(())?;
            self.why_first(number as u32, now, packets)
        })
    }

    fn why_first(&self, number: u32, now: Time, packets: &Packets) -> Option<(Option<usize>, Why)> {
        let crossbar = (None, Why::Datapath);
        let queue = &self.queues[number as usize];
        let first = queue.entries.front()?;
        let fibres = match queue.exits? {
            Exits::On(hops) => hops,
            Exits::User => {
                let is_busy = self.free_at(TO_USER) > now;
                return is_busy.then_some(crossbar);
            }
            Exits::Pcie => {
                let is_busy = self.free_at(TO_PCIE) > now || !self.takes_tlps();
                return is_busy.then_some(crossbar);
            }
        };
        // An adaptive packet may also take other fibres, but only its first choice is examined.
        let (fibre, channels) = fibres.iter().next()?;
        let fibre = usize::from(fibre);
        let end = self.fibres[fibre].as_ref()?;
        let unclaimed = channels & !self.claimed_channels(FIRST_FIBRE + fibre, number);
        let mut allowed = (0..self.stride as u8).filter(|channel| unclaimed >> channel & 1 == 1);
        Some(if self.free_at(FIRST_FIBRE + fibre) > now {
            let flow = self.served_last(FIRST_FIBRE + fibre, packets);
            (Some(fibre), Why::Wire(flow))
        } else if !allowed.any(|channel| end.may_send(channel, first.cycles)) {
            (Some(fibre), Why::FibreCredit)
        } else {
            crossbar
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
