//! Claims for space at the far end of a fibre, so that no packet waits for ever while packets of other queues leave.
//!
//! A packet leaves when the buffer of its channel at the far end has space for all of it, and the retransmission buffer has space too. If the
//! crossbar gave each freed space to the next packet that fits, a packet could wait for ever, because smaller packets or packets of other turns
//! would use the space. Therefore a packet that lacks space in its turn claims its channel, as an allocator of virtual channels assigns a
//! channel to one input: no other packet leaves on this channel before it. Once the far end has space, the packet is the next one of its fibre
//! and of its input.
//!
//! Claims cause no deadlock. A packet claims only its [escape channel](Exits::escape). As soon as the far end has space, the packet waits only
//! for packets that are in transmission, and for acknowledgements; both end in any case. Before that, a packet that waits for the claim of
//! another packet waits for space in the same far buffer as it would without the claim, so no channel depends on a channel on which it did not
//! depend without claims. If the escape channels had an order without a cycle (dimension order, dateline, tables), they still have it.

use std::ops::ControlFlow;

use kernel::{Time, members};

use super::crossbar::Exits;
use super::{FIRST_FIBRE, OWN, Router};

impl Router {
    /// The packet with a claim that leaves next by `output`, if the far end has space for it. If it waits for space in the retransmission
    /// buffer, no packet leaves, because packets of all channels share this buffer. If it waits for its input, it reserves the input.
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

    /// Whether queue `number` can use its path into the crossbar now.
    pub(super) fn has_path(&mut self, number: u32, now: Time) -> bool {
        let (input, queue) = self.place(number);
        let reserved = self.inputs[input].reserved;
        *self.input_free_at(input, queue) <= now && reserved.is_none_or(|other| other == queue)
    }

    /// Whether each queue of an input has its own path into the crossbar.
    pub(super) fn has_own_path(&self, input: usize) -> bool {
        input == OWN && self.is_wide
    }

    /// The channels of an output that queues other than `number` have claimed.
    pub(super) fn claimed_channels(&self, output: usize, number: u32) -> u8 {
        members(self.outputs[output].claims & !(1 << number))
            .filter_map(|other| self.wanted(output, other))
            .fold(0, |channels, (channel, _)| channels | 1 << channel)
    }

    /// Claims a channel for the first packet of queue `number`, whose turn it is, if the packet lacks space and no other queue has claimed the
    /// channel.
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

    /// The escape channel and the length in cycles of the first packet of queue `number`, if the escape channel is one of `output`.
    fn wanted(&self, output: usize, number: u32) -> Option<(u8, u32)> {
        let queue = &self.queues[number as usize];
        let (escape, channel) = queue.exits?.escape()?;
        let first = queue.entries.front()?;
        (escape == output).then_some((channel, first.cycles))
    }

    /// Withdraws the requests and the claim of the first packet of queue `number`. Packets that waited for the claim are considered again when
    /// the far end frees space, because the claimed channel had no space.
    pub(super) fn withdraw(&mut self, number: usize) {
        let exits = self.queues[number].exits.take();
        for output in exits.into_iter().flat_map(Exits::outputs) {
            self.outputs[output].withdraw(number);
        }
        let (input, queue) = self.place(number as u32);
        self.inputs[input].reserved.take_if(|one| *one == queue);
    }
}
