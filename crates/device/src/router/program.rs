//! What the user logic of a node does in a collective: steps of sending and waiting, on its own memory.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use kernel::Time;
use packet::{Carried, FlowId, PacketId, Packets, Route, Stamp};
use protocol::{FunctionId, Header, MemoryRequest};
use transaction::Memory;

/// The part of one node in a collective.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The flows of all nodes in it, by number.
    pub flows: Range<u32>,
    /// The one of this node.
    pub flow: u32,
    /// When it begins.
    pub start: Time,
    /// One after the other.
    pub steps: Vec<Step>,
}

/// Messages to send, and what must have arrived before the next step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// A packet of each in turn, until all are sent.
    pub sends: Vec<Message>,
    /// From these nodes so many bytes since the program began.
    pub awaits: Vec<(u16, u64)>,
}

/// Bytes of a node's memory for that of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The node.
    pub to: u16,
    /// The first of the bytes here.
    pub from_offset: u64,
    /// Where it goes there.
    pub to_offset: u64,
    /// How many.
    pub len: u64,
    /// Whether their 32-bit words are added to what is there.
    pub sum: bool,
}

/// A program under way.
#[derive(Clone, Debug)]
pub(super) struct Running {
    program: Program,
    step: usize,
    /// What is sent of each message of the step, and since when; and whose turn it is.
    sending: Vec<Sending>,
    turn: usize,
    /// Bytes from each node.
    received: BTreeMap<u16, u64>,
    /// Bytes whose last is here at that time, and who sent them.
    arriving: VecDeque<(Time, u16, u64)>,
    state: State,
}

#[derive(Clone, Copy, Debug)]
struct Sending {
    bytes: u64,
    begun: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Working,
    Done,
}

/// What a program wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// To be told that it begins.
    Begin(FlowId),
    /// To send this much of this message, from so far into it.
    Send(Message, u64, u64),
    /// To be asked again then.
    Later(Time),
    /// To be told that it has ended, having sent so many bytes.
    End(FlowId, u64),
    /// Nothing until something arrives.
    Nothing,
}

impl Running {
    pub(super) fn new(program: Program) -> Self {
        Running {
            program,
            step: 0,
            sending: Vec::new(),
            turn: 0,
            received: BTreeMap::new(),
            arriving: VecDeque::new(),
            state: State::Waiting,
        }
    }

    /// Whether a flow is of this collective.
    pub(super) fn concerns(&self, flow: FlowId) -> bool {
        self.program.flows.contains(&flow.0)
    }

    /// Bytes from a node will be here at `done`.
    pub(super) fn arrives(&mut self, source: u16, bytes: u64, done: Time) {
        self.arriving.push_back((done, source, bytes));
    }

    /// What comes next at `now`, where packets carry up to `largest` bytes.
    pub(super) fn next(&mut self, now: Time, largest: u64) -> Wish {
        while let Some((_, source, bytes)) = self.arriving.pop_front_if(|(due, ..)| *due <= now) {
            *self.received.entry(source).or_default() += bytes;
        }
        match self.state {
            State::Done => return Wish::Nothing,
            State::Waiting if now < self.program.start => return Wish::Later(self.program.start),
            State::Waiting => {
                self.state = State::Working;
                self.begin_step(0, now);
                return Wish::Begin(FlowId(self.program.flow));
            }
            State::Working => {}
        }
        loop {
            let Some(step) = self.program.steps.get(self.step) else {
                self.state = State::Done;
                let steps = self.program.steps.iter();
                let sent = steps.flat_map(|step| &step.sends).map(|send| send.len);
                return Wish::End(FlowId(self.program.flow), sent.sum());
            };
            let all = 0..step.sends.len();
            let in_turn = all.clone().skip(self.turn).chain(all.take(self.turn));
            let bytes = |index: usize| self.sending[index].bytes;
            if let Some(index) = in_turn
                .into_iter()
                .find(|index| bytes(*index) < step.sends[*index].len)
            {
                self.turn = index;
                let message = &step.sends[index];
                let at = bytes(index);
                return Wish::Send(*message, at, piece(message, at, largest));
            }
            let came = |source: &u16| self.received.get(source).copied().unwrap_or(0);
            if step
                .awaits
                .iter()
                .any(|(source, bytes)| came(source) < *bytes)
            {
                let next = self.arriving.front();
                return next.map_or(Wish::Nothing, |(due, ..)| Wish::Later(*due));
            }
            self.begin_step(self.step + 1, now);
        }
    }

    fn begin_step(&mut self, step: usize, now: Time) {
        let sends = self
            .program
            .steps
            .get(step)
            .map_or(0, |step| step.sends.len());
        let nothing = Sending {
            bytes: 0,
            begun: now,
        };
        self.step = step;
        self.turn = 0;
        self.sending.clear();
        self.sending.resize(sends, nothing);
    }

    /// The packet of a wish to send: from the memory as it is now.
    pub(super) fn packet(
        &mut self,
        (message, at, len): (Message, u64, u64),
        memory: &Memory,
        (own, source, base): (FunctionId, u16, u64),
        packets: &mut Packets,
    ) -> PacketId {
        let address = base + message.to_offset + at;
        let header = Header::memory_write(own, address, len as u32).expect(LEGAL);
        let last = at + len == message.len;
        let sending = &mut self.sending[self.turn];
        sending.bytes += len;
        self.turn += 1;
        let stamp = Stamp {
            flow: Some(FlowId(self.program.flow)),
            offset: 0,
            born: sending.begun,
            last,
        };
        let packet = packets.claim();
        let lead = (address % 4) as usize;
        let payload = packets[packet].write(header, stamp);
        memory.read(
            message.from_offset + at,
            &mut payload[lead..lead + len as usize],
        );
        packets[packet].send_off(Route {
            destination: message.to,
            port: super::USER,
            source,
            carried: if message.sum {
                Carried::Sum
            } else {
                Carried::Message
            },
            ..Route::default()
        });
        packet
    }
}

/// Bytes of the packet that begins `at` bytes into a message: within a page there.
fn piece(message: &Message, at: u64, largest: u64) -> u64 {
    let room = MemoryRequest::room_at(message.to_offset + at);
    (message.len - at).min(room).min(largest)
}

const LEGAL: &str = "a piece of a message stays within its page";

/// Adds the 32-bit words of `bytes` to those at `offset` of `memory`.
pub(super) fn add(memory: &mut Memory, offset: u64, bytes: &[u8]) {
    let mut sums = vec![0; bytes.len()];
    memory.read(offset, &mut sums);
    let (words, _) = sums.as_chunks_mut::<4>();
    let (more, _) = bytes.as_chunks::<4>();
    for (word, other) in words.iter_mut().zip(more) {
        let sum = u32::from_le_bytes(*word).wrapping_add(u32::from_le_bytes(*other));
        *word = sum.to_le_bytes();
    }
    memory.write(offset, &sums);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(to: u16, len: u64) -> Message {
        Message {
            to,
            from_offset: 0,
            to_offset: 0,
            len,
            sum: false,
        }
    }

    #[test]
    fn a_step_ends_when_all_it_waits_for_is_there() {
        let mut running = Running::new(Program {
            flows: 0..2,
            flow: 1,
            start: Time::ZERO,
            steps: vec![Step {
                sends: Vec::new(),
                awaits: vec![(0, 8)],
            }],
        });
        let at = Time::from_fs;
        assert_eq!(running.next(at(0), 64), Wish::Begin(FlowId(1)));
        assert_eq!(running.next(at(0), 64), Wish::Nothing);
        running.arrives(0, 4, at(5));
        assert_eq!(running.next(at(1), 64), Wish::Later(at(5)));
        assert_eq!(running.next(at(5), 64), Wish::Nothing);
        running.arrives(0, 4, at(9));
        assert_eq!(running.next(at(9), 64), Wish::End(FlowId(1), 0));
        assert_eq!(running.next(at(9), 64), Wish::Nothing);
    }

    #[test]
    fn messages_are_cut_at_pages_and_the_largest_packet() {
        let whole = Message {
            to_offset: 4000,
            ..message(3, 300)
        };
        assert_eq!(piece(&whole, 0, 256), 96);
        assert_eq!(piece(&whole, 96, 256), 204);
        assert_eq!(piece(&message(3, 300), 0, 256), 256);
    }

    #[test]
    fn words_are_added_where_they_are() {
        let mut memory = Memory::new(64);
        memory.write(4, &[0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0]);
        add(&mut memory, 4, &[1, 0, 0, 0, 2, 0, 0, 0]);
        let mut read = [0; 8];
        memory.read(4, &mut read);
        assert_eq!(read, [0, 0, 0, 0, 3, 0, 0, 0]);
    }
}
