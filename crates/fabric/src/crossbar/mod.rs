//! A crossbar: input queues, and outputs that serve the first packets of the queues in turn. The crossbar does not send packets. Its owner
//! requests the next packet that may pass, and sends it.

mod controller;

use std::collections::VecDeque;
use std::ops::Range;

use kernel::{Span, Time, WakeUp};
use packet::{BusFrame, Charge, ReturnedSpace};

pub use controller::{Controller, ControllerConfig, ControllerParameters, ControllerTimer, Plane};

#[derive(Clone, Debug)]
struct Crossbar {
    order: Order,
    /// The number of queues of each input.
    stride: usize,
    /// The queues of input 0, then the queues of input 1, and so on. Each packet has a number in order of arrival.
    queues: Vec<VecDeque<(u64, Entry)>>,
    came: u64,
    /// The time at which each input is free.
    inputs: Vec<Time>,
    outputs: Vec<Output>,
    /// Time of a word of 16 bytes.
    cycle: Span,
}

/// The ordering rule between the queues of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// No order.
    None,
    /// No packet passes an older packet of the first queue, which contains the posted requests (PCIe Base 2.4.1).
    BehindPosted,
}

/// A waiting packet.
#[derive(Clone, Copy, Debug)]
struct Entry {
    frame: BusFrame,
    output: usize,
    /// The index of the packet's virtual channel among the channels behind the output.
    channel: usize,
    /// The earliest time at which the header of the packet can pass.
    ready: Time,
    /// The buffer space of a cable that the packet occupies.
    charge: Charge,
    /// Whether the owner of the crossbar has made the packet, which occupies no buffer before the crossbar.
    is_own: bool,
}

#[derive(Clone, Debug)]
struct Output {
    free_at: Time,
    /// Free words in the buffers behind the output, for each virtual channel, and the size of each buffer.
    free_words: [u32; 3],
    size: u32,
    /// The queues that have claimed space. If the first packet of a queue lacks space in its turn, the queue claims the space. Then no other
    /// packet of the virtual channel leaves before this packet.
    claims: Claims,
    /// The queues whose first packet is for this output, one bit each.
    asked: Vec<u64>,
    /// The queue after the queue that was served last.
    turn: usize,
    /// The time of the next wake-up for the output.
    wake: WakeUp,
}

/// For each virtual channel, the queue that claims the space behind an output.
type Claims = [Option<usize>; 3];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The first packet of this queue may pass now.
    Pass(usize),
    /// A packet may pass at this time.
    At(Time),
    /// No packet may pass until another event.
    Nothing,
}

impl Crossbar {
    /// A crossbar with `stride` queues for each input. `buffer_words` are the sizes of the buffers behind the outputs, in words of 16 bytes.
    fn new(
        order: Order,
        stride: usize,
        buffer_words: impl Iterator<Item = u32>,
        cycle: Span,
    ) -> Self {
        let output = |words: u32| Output {
            free_at: Time::ZERO,
            free_words: [words; 3],
            size: words,
            claims: [None; 3],
            asked: Vec::new(),
            turn: 0,
            wake: WakeUp::default(),
        };
        let mut outputs: Vec<Output> = buffer_words.map(output).collect();
        let queues = outputs.len() * stride;
        for output in &mut outputs {
            output.asked.resize(queues.div_ceil(64), 0);
        }
        Self {
            order,
            stride,
            queues: vec![VecDeque::new(); queues],
            came: 0,
            inputs: vec![Time::ZERO; outputs.len()],
            outputs,
            cycle,
        }
    }

    /// Adds a packet to a queue of an input. If the packet is the first of its queue, returns its output.
    fn take(&mut self, input: usize, queue: usize, entry: Entry) -> Option<usize> {
        self.came += 1;
        let queue = input * self.stride + queue;
        self.queues[queue].push_back((self.came, entry));
        (self.queues[queue].len() == 1).then(|| self.ask(entry.output, queue))
    }

    fn ask(&mut self, output: usize, queue: usize) -> usize {
        self.outputs[output].asked[queue / 64] |= 1 << (queue % 64);
        output
    }

    /// Whether any queue has a first packet for the output.
    fn is_asked(&self, output: usize) -> bool {
        self.outputs[output].asked.iter().any(|queues| *queues != 0)
    }

    /// Whether the bits of each output are set exactly for the queues whose first packet is for the output. This holds between events.
    fn is_up_to_date(&self) -> bool {
        self.outputs.iter().enumerate().all(|(number, output)| {
            (0..self.queues.len()).all(|queue| {
                let is_marked = output.asked[queue / 64] >> (queue % 64) & 1 != 0;
                is_marked == (self.wanted(queue) == Some(number))
            })
        })
    }

    /// The next action of an output at `now`. `takes` returns whether the component behind the output accepts a packet. If the first packet
    /// of a queue lacks space, the queue claims the space.
    fn next(&mut self, output: usize, now: Time, takes: impl Fn(&Entry) -> bool) -> Next {
        if !self.is_asked(output) {
            return Next::Nothing;
        }
        let (next, claims) = self.choose(output, now, takes);
        self.outputs[output].claims = claims;
        next
    }

    /// The next action of an output, and the claims to the space behind the output that then apply.
    fn choose(&self, output: usize, now: Time, takes: impl Fn(&Entry) -> bool) -> (Next, Claims) {
        let Output {
            free_at,
            free_words,
            size,
            mut claims,
            ref asked,
            turn,
            ..
        } = self.outputs[output];
        if free_at > now {
            return (Next::At(free_at), claims);
        }
        let mut earliest = Time::NEVER;
        for queue in members(asked, turn..usize::MAX).chain(members(asked, 0..turn)) {
            let Some(entry) = self.first(queue) else {
                continue;
            };
            let (words, claim) = (u32::from(entry.frame.cycles), &mut claims[entry.channel]);
            if claim.is_some_and(|claimed| claimed != queue) {
                continue;
            }
            if words > free_words[entry.channel] {
                *claim = (words <= size && entry.ready <= now).then_some(queue);
                continue;
            }
            if !takes(entry) {
                continue;
            }
            let due = entry.ready.max(self.inputs[queue / self.stride]);
            if due <= now {
                return (Next::Pass(queue), claims);
            }
            earliest = earliest.min(due);
        }
        let next = if earliest == Time::NEVER {
            Next::Nothing
        } else {
            Next::At(earliest)
        };
        (next, claims)
    }

    /// The first packet of a queue, unless an older packet blocks it.
    fn first(&self, queue: usize) -> Option<&Entry> {
        let (number, entry) = self.queues[queue].front()?;
        let posted = self.queues[queue - queue % self.stride].front();
        let is_kept =
            self.order == Order::BehindPosted && posted.is_some_and(|(older, _)| older < number);
        (!is_kept).then_some(entry)
    }

    /// Removes the first packet of a queue, which may pass at `now`; returns its input, the packet, and its transfer time.
    fn pass(&mut self, queue: usize, now: Time) -> (usize, Entry, Span) {
        let (_, entry) = self.queues[queue]
            .pop_front()
            .expect("a queue that may pass has a packet");
        let length = self.cycle * u64::from(entry.frame.cycles);
        let input = queue / self.stride;
        self.inputs[input] = now + length;
        let turn = (queue + 1) % self.queues.len();
        let output = &mut self.outputs[entry.output];
        output.free_at = now + length;
        output.asked[queue / 64] &= !(1 << (queue % 64));
        output.turn = turn;
        output.claims[entry.channel].take_if(|claimed| *claimed == queue);
        (input, entry, length)
    }

    /// Reserves buffer space behind the output for a packet that passes.
    fn fill(&mut self, entry: &Entry) {
        self.outputs[entry.output].free_words[entry.channel] -= u32::from(entry.frame.cycles);
    }

    /// Returns buffer space behind an output, in the virtual channel `channel`.
    fn free(&mut self, output: usize, channel: usize, space: ReturnedSpace) {
        self.outputs[output].free_words[channel] += u32::from(space.words);
    }

    /// Registers the new first packet of a queue at its output, and returns the output.
    fn ask_again(&mut self, queue: usize) -> Option<usize> {
        let output = self.wanted(queue)?;
        Some(self.ask(output, queue))
    }

    fn queues_of(&self, input: usize) -> Range<usize> {
        input * self.stride..(input + 1) * self.stride
    }

    /// The output of a queue's first packet.
    fn wanted(&self, queue: usize) -> Option<usize> {
        self.queues[queue].front().map(|(_, entry)| entry.output)
    }
}

/// The members of a set, stored as one bit each, that are in `range`, in ascending order.
fn members(set: &[u64], range: Range<usize>) -> impl Iterator<Item = usize> {
    let first = range.start / 64;
    let words = set.iter().enumerate().skip(first);
    let members = words.flat_map(move |(number, word)| {
        let before = if number == first { range.start % 64 } else { 0 };
        let rest = kernel::members(word & (u64::MAX << before));
        rest.map(move |member| number * 64 + member as usize)
    });
    members.take_while(move |member| *member < range.end)
}

#[cfg(test)]
mod tests {
    use packet::{PacketId, Packets};
    use proptest::prelude::*;
    use protocol::{Class, TrafficClass};

    use super::*;

    /// The number of inputs and outputs. With the queues of each input, there are more than 64 queues in all.
    const PORTS: usize = 9;
    const STRIDE: usize = 8;

    fn entry(packet: PacketId, cycles: u16, output: usize, ready: Time) -> Entry {
        Entry {
            frame: BusFrame {
                packet,
                cycles,
                channel: 0,
            },
            output,
            channel: 0,
            ready,
            charge: Charge {
                traffic_class: TrafficClass::default(),
                class: Class::Posted,
                data: 0,
            },
            is_own: false,
        }
    }

    proptest! {
        #[test]
        fn a_packet_that_lacks_space_waits_for_two_turns_of_each_other_queue(
            small in prop::collection::vec(1_u16..8, 1..PORTS - 1),
            held in 0_usize..4,
        ) {
            const WHOLE: u32 = 8;
            let packet = Packets::default().claim();
            let cycle = Span::from_ns(1);
            let mut crossbar = Crossbar::new(Order::None, 1, [WHOLE; PORTS].into_iter(), cycle);
            let large = small.len();
            for (input, words) in small.iter().copied().chain([WHOLE as u16]).enumerate() {
                for _ in 0..60 {
                    crossbar.take(input, 0, entry(packet, words, 0, Time::ZERO));
                }
            }
            let (mut inside, mut passed, mut waited) = (VecDeque::new(), 0, 0);
            for step in 0..4000 {
                let now = Time::ZERO + cycle * step;
                match crossbar.next(0, now, |_| true) {
                    Next::Pass(queue) => {
                        let (input, entry, _) = crossbar.pass(queue, now);
                        crossbar.fill(&entry);
                        crossbar.ask_again(queue);
                        inside.push_back(entry.frame.space());
                        waited = if input == large { 0 } else { waited + 1 };
                        passed += usize::from(input == large);
                        prop_assert!(passed == 60 || waited <= 2 * small.len(), "{} after {}", waited, passed);
                    }
                    // The next stage sends packets one at a time, and keeps a few if possible.
                    Next::Nothing => {
                        if let Some(space) = inside.pop_front() {
                            crossbar.free(0, 0, space);
                        }
                    }
                    Next::At(_) => {}
                }
                if inside.len() > held && let Some(space) = inside.pop_front() {
                    crossbar.free(0, 0, space);
                }
            }
            prop_assert_eq!(passed, 60);
        }

        #[test]
        fn an_output_is_asked_by_the_queues_whose_first_packet_is_for_it(
            steps in prop::collection::vec((any::<bool>(), 0..PORTS, 0..STRIDE, 0..PORTS), 1..300),
        ) {
            let packet = Packets::default().claim();
            let cycle = Span::from_ns(1);
            let mut crossbar = Crossbar::new(Order::None, STRIDE, [u32::MAX; PORTS].into_iter(), cycle);
            for (number, (comes, input, queue, output)) in (0..).zip(steps) {
                let now = Time::ZERO + cycle * number;
                if comes {
                    crossbar.take(input, queue, entry(packet, 1, output, now));
                } else if let Next::Pass(queue) = crossbar.next(output, now, |_| true) {
                    let (_, entry, _) = crossbar.pass(queue, now);
                    prop_assert_eq!(entry.output, output);
                    crossbar.ask_again(queue);
                }
                prop_assert!(crossbar.is_up_to_date());
            }
        }
    }
}
