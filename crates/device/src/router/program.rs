//! Programs of a node's user logic in a collective operation. Each step sends messages from the node's memory and waits for messages of other
//! nodes.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use kernel::Time;
use packet::{Carried, FlowId, PacketId, Packets, Route, Stamp};
use protocol::{FunctionId, Header, MemoryRequest};
use transaction::{Memory, add_words};

/// The program of one node in a collective operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The numbers of the flows of the collective operation, one for each node.
    pub flows: Range<u32>,
    /// The flow of this node.
    pub flow: u32,
    /// The time at which the program begins.
    pub start: Time,
    /// The steps, executed in order.
    pub steps: Vec<Step>,
}

/// A step of a program: messages to send, and data that must have arrived before the next step begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The messages to send. Their packets take turns.
    pub sends: Vec<Message>,
    /// The nodes whose data the step needs, each with the number of bytes that must have arrived from it since the program began.
    pub awaits: Vec<(u16, u64)>,
}

/// A part of a node's memory to send to another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The destination node.
    pub to: u16,
    /// Offset of the first byte in this node's memory.
    pub from_offset: u64,
    /// Offset of the first byte in the destination's memory.
    pub to_offset: u64,
    /// Number of bytes.
    pub len: u64,
    /// Whether the 32-bit words are added to the words at the destination.
    pub sum: bool,
}

/// A program in progress.
#[derive(Clone, Debug)]
pub(super) struct Running {
    program: Program,
    step: usize,
    /// The progress of each message of the current step, and the index of the message that is next.
    sending: Vec<Sending>,
    turn: usize,
    /// Number of bytes received from each node.
    received: BTreeMap<u16, u64>,
    /// Data that is arriving: the time of its last byte, its source and its length.
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

/// The next action of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// Reports the begin of the flow.
    Begin(FlowId),
    /// Sends a part of this message; the numbers are its offset and its length.
    Send(Message, u64, u64),
    /// Has nothing to do before this time.
    Later(Time),
    /// Reports the end of the flow, with the number of bytes that were sent.
    End(FlowId, u64),
    /// Has nothing to do before data arrives.
    Nothing,
}

impl Step {
    /// The number of bytes of all messages to send.
    pub fn sent(&self) -> u64 {
        self.sends.iter().map(|message| message.len).sum()
    }
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

    /// Whether a flow belongs to the program's collective operation.
    pub(super) fn concerns(&self, flow: FlowId) -> bool {
        self.program.flows.contains(&flow.0)
    }

    /// Records that `bytes` bytes from a node will have arrived by `done`.
    pub(super) fn arrives(&mut self, source: u16, bytes: u64, done: Time) {
        self.arriving.push_back((done, source, bytes));
    }

    /// The next action at `now`. Packets carry up to `largest` bytes.
    pub(super) fn next(&mut self, now: Time, largest: u32) -> Wish {
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
                let sent = self.program.steps.iter().map(Step::sent);
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

    /// Makes the packet of a send action, with the current content of the memory.
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

/// Length of the packet that begins at byte `at` of a message. The packet must be a legal write request at the destination.
fn piece(message: &Message, at: u64, largest: u32) -> u64 {
    MemoryRequest::first_len(message.to_offset + at, message.len - at, largest).into()
}

const LEGAL: &str = "a piece of a message stays within its page";

/// Adds the 32-bit words of `bytes` to the words at `offset` of `memory`.
pub(super) fn add(memory: &mut Memory, offset: u64, bytes: &[u8]) {
    let mut sums = vec![0; bytes.len()];
    memory.read(offset, &mut sums);
    add_words(&mut sums, bytes);
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
