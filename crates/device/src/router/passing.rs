//! The passage of packets through the crossbar: the choice of the next packet and its virtual channel, and the length of the passage.

use std::ops::ControlFlow;

use kernel::{Effects, Span, Time};
use link::At;
use link::optical::{OpticalEnd, Outgoing};

use super::crossbar::{Arbitration, Entry, Exits, Queue};
use super::{FIRST_FIBRE, OWN, Router, TO_PCIE, WIRED, port};

impl Router {
    /// Serves an output as far as possible at this time.
    pub(super) fn serve(&mut self, output: usize, fx: &mut Effects<'_, Self>) {
        while self.outputs[output].asked != 0 {
            let free_at = self.free_at(output);
            if free_at > fx.now() {
                return self.wake_output(output, free_at, fx);
            }
            if output == TO_PCIE && !self.takes_tlps() {
                // The output is served again when earlier TLPs have left the router.
                return;
            }
            let Some((number, channel)) = self.choose(output, fx.now()) else {
                return;
            };
            self.outputs[output].served(number);
            self.pass(self.place(number), output, channel, fx);
        }
    }

    /// The next queue whose first packet may leave by `output` now, and the virtual channel of this packet.
    fn choose(&mut self, output: usize, now: Time) -> Option<(u32, u8)> {
        if let ControlFlow::Break(chosen) = self.next_claimed(output, now) {
            return chosen;
        }
        let later = match self.arbitration {
            Arbitration::TransitFirst => (1 << self.stride) - 1,
            Arbitration::RoundRobin | Arbitration::OldestFirst => 0,
        };
        let in_turn = self.outputs[output].in_turn(later);
        if self.arbitration != Arbitration::OldestFirst {
            return self.first_open(output, in_turn, now);
        }
        let mut by_age: Vec<u32> = in_turn.collect();
        by_age.sort_by_key(|number| {
            let first = self.queues[*number as usize].entries.front();
            first.map(|entry| entry.born)
        });
        self.first_open(output, by_age.into_iter(), now)
    }

    /// The first of these queues whose first packet may leave now. A packet that lacks space in its turn claims its channel.
    fn first_open(
        &mut self,
        output: usize,
        queues: impl Iterator<Item = u32>,
        now: Time,
    ) -> Option<(u32, u8)> {
        for number in queues {
            if let Some(channel) = self.channel_for(output, number, now) {
                return Some((number, channel));
            }
            self.claim(output, number);
        }
        None
    }

    fn queues_of(&self, input: usize) -> &[Queue] {
        &self.queues[input * self.stride..][..self.stride]
    }

    pub(super) fn number(&self, input: usize, queue: usize) -> usize {
        input * self.stride + queue
    }

    /// The index of the input and of the queue for queue number `number`.
    pub(super) fn place(&self, number: u32) -> (usize, usize) {
        (number as usize / self.stride, number as usize % self.stride)
    }

    pub(super) fn free_at(&self, output: usize) -> Time {
        let fibre = output.checked_sub(FIRST_FIBRE);
        let fibre = fibre.and_then(|fibre| self.fibres[fibre].as_ref());
        fibre.map_or(self.outputs[output].free_at, OpticalEnd::free_at)
    }

    /// The virtual channel in which the first packet of queue `number` may leave by `output` now.
    pub(super) fn channel_for(&mut self, output: usize, number: u32, now: Time) -> Option<u8> {
        if !self.has_path(number, now) {
            return None;
        }
        let queue = &self.queues[number as usize];
        let Some(Exits::On(hops)) = queue.exits else {
            return Some(0);
        };
        let cycles = queue.entries.front()?.cycles;
        let fibre = output - FIRST_FIBRE;
        let (_, allowed) = hops.iter().find(|(hop, _)| usize::from(*hop) == fibre)?;
        let unclaimed = allowed & !self.claimed_channels(output, number);
        let end = self.fibres[fibre].as_mut()?;
        let channels = (0..self.stride as u8)
            .rev()
            .filter(|c| unclaimed >> c & 1 == 1);
        // The highest channels are the adaptive ones. Of the channels with enough space, the packet takes the one with the most space.
        let open = channels.filter(|channel| end.may_send(*channel, cycles));
        let best = open.max_by_key(|channel| (end.room(*channel), *channel));
        if best.is_none() {
            end.stall(now);
        }
        best
    }

    /// Passes the first packet of a queue to an output.
    pub(super) fn pass(
        &mut self,
        (input, queue): (usize, usize),
        output: usize,
        channel: u8,
        fx: &mut Effects<'_, Self>,
    ) {
        let Some(entry) = self.take_first(input, queue) else {
            return;
        };
        let now = fx.now();
        if input == OWN {
            self.tell_sent(&entry, fx);
        }
        let length = match output.checked_sub(FIRST_FIBRE) {
            None => self.leave(output, entry, fx),
            Some(fibre) => {
                let end = self.fibres[fibre].as_mut().expect(WIRED);
                let outgoing = Outgoing {
                    packet: entry.packet,
                    channel,
                    damaged: entry.damaged,
                    complete: entry.complete,
                };
                end.send(outgoing, &mut At::new(fx, port(fibre))).since(now)
            }
        };
        *self.input_free_at(input, queue) = now + length;
        self.inputs[input].next = (queue + 1) % self.stride;
        if self.queue_gap > Span::ZERO {
            self.queues[self.number(input, queue)].rests_until = now + length + self.queue_gap;
        }
        self.release(input, queue, &entry, length, fx);
        self.ask(input, queue, fx);
        if self
            .queues_of(input)
            .iter()
            .any(|queue| queue.exits.is_some())
        {
            self.wake_input(input, now + length, fx);
        }
    }

    pub(super) fn take_first(&mut self, input: usize, queue: usize) -> Option<Entry> {
        let number = self.number(input, queue);
        let place = &mut self.queues[number];
        let entry = place.entries.pop_front()?;
        self.has_room |= input == OWN;
        place.cycles -= entry.cycles;
        self.withdraw(number);
        Some(entry)
    }

    /// Frees the buffer space of a packet that leaves during `length`. The space becomes free cycle by cycle, so it may be reported as free as
    /// soon as arriving data cannot overtake the leaving data.
    pub(super) fn release(
        &mut self,
        input: usize,
        queue: usize,
        entry: &Entry,
        length: Span,
        fx: &mut Effects<'_, Self>,
    ) {
        let Some(fibre) = input.checked_sub(1) else {
            return;
        };
        let end = self.fibres[fibre].as_mut().expect(WIRED);
        let filled_in = end.cycle() * u64::from(entry.cycles);
        let after = length.saturating_sub(filled_in);
        end.release(
            queue as u8,
            entry.cycles,
            after,
            &mut At::new(fx, port(fibre)),
        );
    }
}
