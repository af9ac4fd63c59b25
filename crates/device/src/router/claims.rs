//! Claims of waiting packets to far space, so that no packet waits for ever while packets of other queues leave.
//!
//! A packet leaves when the far buffer of its channel has space for all of it, and the buffer for retransmission, too. If the crossbar gave
//! each freed space to the next packet that fits, smaller packets, or packets whose turn comes while the space is there, could keep a packet
//! waiting for ever. Therefore the first packet that lacks space in its turn claims its channel, as an allocator of virtual channels gives a
//! channel to one input: no other packet leaves on this channel before it. Once the far space is there, the packet is the next of its fibre
//! and of its input.
//!
//! Claims cause no deadlock. A packet claims its [escape channel](Exits::escape) alone, and as soon as it has the far space, it waits only
//! for packets that are passing and for acknowledgements. All of these end whatever else waits. Before that, a packet that waits for
//! another packet's claim waits for space in the same far buffer as without the claim: no channel depends on a channel on which it did not
//! depend before. So an order of the escape channels without a circle stays one without a circle (dimension order, dateline, tables).

use std::ops::ControlFlow;

use kernel::{Time, members};

use super::crossbar::Exits;
use super::{FIRST_FIBRE, OWN, Router};

impl Router {
    /// The packet with a claim that leaves next by `output`, if its space is there; no packet at all if it waits for space in the buffer
    /// for retransmission, which packets of all channels share. A packet that waits for its input reserves the input.
    pub(super) fn next_claimed(
        &mut self,
        output: usize,
        now: Time,
    ) -> ControlFlow<Option<(u32, u8)>> {
        for number in members(self.outputs[output].claims) {
            let Some((channel, cycles)) = self.wanted(output, number) else {
                continue;
            };
            let Some(end) = self.fibres[output - FIRST_FIBRE].as_mut() else {
                continue;
            };
            if end.room(channel) < cycles {
                continue;
            }
            if !end.may_send(channel, cycles) {
                end.stall(now);
                return ControlFlow::Break(None);
            }
            if self.has_path(number, now) {
                return ControlFlow::Break(Some((number, channel)));
            }
            let (input, queue) = self.place(number);
            if !self.has_own_path(input) {
                self.inputs[input].reserved.get_or_insert(queue);
            }
        }
        ControlFlow::Continue(())
    }

    /// Whether the path of queue `number` into the crossbar is free for it.
    pub(super) fn has_path(&mut self, number: u32, now: Time) -> bool {
        let (input, queue) = self.place(number);
        let reserved = self.inputs[input].reserved;
        *self.input_free_at(input, queue) <= now && reserved.is_none_or(|other| other == queue)
    }

    /// Whether each queue of an input has its own path into the crossbar.
    pub(super) fn has_own_path(&self, input: usize) -> bool {
        input == OWN && self.is_wide
    }

    /// The channels of an output that other queues than `number` claim.
    pub(super) fn claimed_channels(&self, output: usize, number: u32) -> u8 {
        members(self.outputs[output].claims & !(1 << number))
            .filter_map(|other| self.wanted(output, other))
            .fold(0, |channels, (channel, _)| channels | 1 << channel)
    }

    /// Lets the first packet of queue `number`, which is in its turn, claim its channel if it lacks space and nobody has claimed the channel.
    pub(super) fn claim(&mut self, output: usize, number: u32) {
        let Some((own, cycles)) = self.wanted(output, number) else {
            return;
        };
        let end = self.fibres[output - FIRST_FIBRE].as_ref();
        if end.is_none_or(|end| end.may_send(own, cycles)) {
            return;
        }
        let is_for_channel = |other| {
            let wanted = self.wanted(output, other);
            wanted.is_some_and(|(channel, _)| channel == own)
        };
        if !members(self.outputs[output].claims).any(is_for_channel) {
            self.outputs[output].claims |= 1 << number;
        }
    }

    /// The escape channel of the first packet of queue `number`, if it is one of `output`, and the packet's length in cycles.
    fn wanted(&self, output: usize, number: u32) -> Option<(u8, u32)> {
        let queue = &self.queues[number as usize];
        let (escape, channel) = queue.exits?.escape()?;
        let first = queue.entries.front()?;
        (escape == output).then_some((channel, first.cycles))
    }

    /// Withdraws the requests and the claim of the first packet of queue `number`. Packets that waited for the claim are considered again
    /// when far space is freed, because the claimed channel lacks space.
    pub(super) fn withdraw(&mut self, number: usize) {
        let exits = self.queues[number].exits.take();
        for output in exits.into_iter().flat_map(Exits::outputs) {
            self.outputs[output].withdraw(number);
        }
        let (input, queue) = self.place(number as u32);
        self.inputs[input].reserved.take_if(|one| *one == queue);
    }
}
