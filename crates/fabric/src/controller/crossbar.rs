//! A crossbar: queues at its inputs, and outputs that take the first packets of those in turn. It knows no wires: its owner asks
//! what may pass, and sends it.

use std::collections::VecDeque;
use std::ops::Range;

use kernel::{Span, Time};
use packet::{BusFrame, Charge, Room};

/// A crossbar.
#[derive(Clone, Debug)]
pub(super) struct Crossbar {
    order: Order,
    /// Queues of an input.
    stride: usize,
    /// The queues of the first input, then of the second: packets, with their number in the order in which they came.
    queues: Vec<VecDeque<(u64, Entry)>>,
    came: u64,
    /// When each input is free.
    inputs: Vec<Time>,
    outputs: Vec<Output>,
    /// Time of a word of 16 bytes.
    cycle: Span,
}

/// What keeps order between the queues of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Nothing.
    None,
    /// Nothing passes an older packet of the first queue, which is that of posted requests (PCIe Base 2.4.1).
    BehindPosted,
}

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) frame: BusFrame,
    pub(super) output: usize,
    /// The place of its virtual channel among those behind the output.
    pub(super) channel: usize,
    /// When its header can be there.
    pub(super) ready: Time,
    /// What it takes of a cable's buffers.
    pub(super) charge: Charge,
}

#[derive(Clone, Debug)]
struct Output {
    free_at: Time,
    /// Words that have room behind it, of each virtual channel.
    room: [u32; 3],
    /// Queues whose first packet is for it.
    asked: usize,
    /// The queue after the one that was last served.
    turn: usize,
    /// When a wake-up for it is on its way.
    wake: Time,
}

/// What an output can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The first packet of this queue may pass.
    Pass(usize),
    /// One may at that time.
    At(Time),
    /// None may until something has changed.
    Nothing,
}

impl Crossbar {
    /// A crossbar with so many queues at each input, and so much room behind each output, in words of 16 bytes.
    pub(super) fn new(
        order: Order,
        stride: usize,
        rooms: impl Iterator<Item = u32>,
        cycle: Span,
    ) -> Self {
        let output = |room: u32| Output {
            free_at: Time::ZERO,
            room: [room; 3],
            asked: 0,
            turn: 0,
            wake: Time::NEVER,
        };
        let outputs: Vec<Output> = rooms.map(output).collect();
        Self {
            order,
            stride,
            queues: vec![VecDeque::new(); outputs.len() * stride],
            came: 0,
            inputs: vec![Time::ZERO; outputs.len()],
            outputs,
            cycle,
        }
    }

    /// A packet comes in by an input, into one of its queues: the output that it asks for, if it is the first there.
    pub(super) fn take(&mut self, input: usize, queue: usize, entry: Entry) -> Option<usize> {
        self.came += 1;
        let queue = input * self.stride + queue;
        self.queues[queue].push_back((self.came, entry));
        (self.queues[queue].len() == 1).then(|| self.ask(entry.output))
    }

    fn ask(&mut self, output: usize) -> usize {
        self.outputs[output].asked += 1;
        output
    }

    /// Whether packets ask for an output.
    pub(super) fn is_asked(&self, output: usize) -> bool {
        self.outputs[output].asked > 0
    }

    /// What an output can do at `now`, if what is behind it takes what `takes` says.
    pub(super) fn next(&self, output: usize, now: Time, takes: impl Fn(&Entry) -> bool) -> Next {
        let Output {
            free_at,
            room,
            asked,
            turn,
            ..
        } = self.outputs[output];
        if asked == 0 {
            return Next::Nothing;
        }
        if free_at > now {
            return Next::At(free_at);
        }
        let mut earliest = Time::NEVER;
        for queue in (turn..self.queues.len()).chain(0..turn) {
            let Some(entry) = self.first(queue) else {
                continue;
            };
            if entry.output != output
                || u32::from(entry.frame.cycles) > room[entry.channel]
                || !takes(entry)
            {
                continue;
            }
            let due = entry.ready.max(self.inputs[queue / self.stride]);
            if due <= now {
                return Next::Pass(queue);
            }
            earliest = earliest.min(due);
        }
        if earliest == Time::NEVER {
            Next::Nothing
        } else {
            Next::At(earliest)
        }
    }

    /// The first packet of a queue, if nothing older keeps it.
    fn first(&self, queue: usize) -> Option<&Entry> {
        let (number, entry) = self.queues[queue].front()?;
        let posted = self.queues[queue - queue % self.stride].front();
        let is_kept =
            self.order == Order::BehindPosted && posted.is_some_and(|(older, _)| older < number);
        (!is_kept).then_some(entry)
    }

    /// Takes out the first packet of a queue, which may pass at `now`: its input, the packet, and how long it takes.
    pub(super) fn pass(&mut self, queue: usize, now: Time) -> (usize, Entry, Span) {
        let (_, entry) = self.queues[queue]
            .pop_front()
            .expect("a packet that may pass is there");
        let length = self.cycle * u64::from(entry.frame.cycles);
        let input = queue / self.stride;
        self.inputs[input] = now + length;
        let turn = (queue + 1) % self.queues.len();
        let output = &mut self.outputs[entry.output];
        output.free_at = now + length;
        output.asked -= 1;
        output.turn = turn;
        (input, entry, length)
    }

    /// A packet that passes takes room behind its output.
    pub(super) fn fill(&mut self, entry: &Entry) {
        self.outputs[entry.output].room[entry.channel] -= u32::from(entry.frame.cycles);
    }

    /// There is room again behind an output, of the channel in that place.
    pub(super) fn free(&mut self, output: usize, channel: usize, room: Room) {
        self.outputs[output].room[channel] += u32::from(room.words);
    }

    /// The first packet of a queue that has lost one asks for its output.
    pub(super) fn ask_again(&mut self, queue: usize) -> Option<usize> {
        let output = self.wanted(queue)?;
        Some(self.ask(output))
    }

    /// The queues of an input.
    pub(super) fn queues_of(&self, input: usize) -> Range<usize> {
        input * self.stride..(input + 1) * self.stride
    }

    /// The output that the first packet of a queue is for.
    pub(super) fn wanted(&self, queue: usize) -> Option<usize> {
        self.queues[queue].front().map(|(_, entry)| entry.output)
    }

    /// Whether an output is to be woken at `time`: no earlier wake-up is on its way.
    pub(super) fn is_to_wake(&mut self, output: usize, time: Time) -> bool {
        let wake = &mut self.outputs[output].wake;
        let is_earlier = time < *wake;
        *wake = time.min(*wake);
        is_earlier
    }

    /// A wake-up comes. False if it is not the one that was waited for.
    pub(super) fn is_woken(&mut self, output: usize, now: Time) -> bool {
        let wake = &mut self.outputs[output].wake;
        let is_due = *wake <= now;
        if is_due {
            *wake = Time::NEVER;
        }
        is_due
    }
}
