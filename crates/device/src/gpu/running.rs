//! The state of a program: the steps that have begun, and the steps that wait.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use kernel::{Bandwidth, Span, Time};
use packet::FlowId;
use transaction::{Memory, add_words};

use super::program::{Engine, FLAG, Program, Work};

/// A program in progress.
#[derive(Clone, Debug)]
pub(super) struct Running {
    program: Program,
    /// For each step: the number of steps that have not ended and that it depends on, and the bytes of its transfer that have not arrived.
    steps: Vec<Progress>,
    /// The steps that depend on each step.
    followers: Vec<Vec<usize>>,
    /// Steps that may begin, in the order in which they became ready.
    ready: VecDeque<usize>,
    /// Copies that wait for a copy engine.
    copies: VecDeque<usize>,
    /// Number of copy engines that are free.
    engines: u32,
    /// Steps that poll a flag, by the offset of the flag.
    polling: BTreeMap<u64, usize>,
    /// Steps that end at a known time.
    ends: BinaryHeap<Reverse<(Time, usize)>>,
    has_begun: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Progress {
    waits_for: usize,
    missing: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Begun,
    Ended,
}

/// The rates and times that a program depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    pub(super) memory_bandwidth: Bandwidth,
    pub(super) poll_latency: Span,
}

/// The next event of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A step begins.
    Begin(usize),
    /// A step has ended.
    End(usize),
    /// Nothing happens before this time.
    NotBefore(Time),
    /// Nothing happens before a packet arrives.
    Nothing,
}

impl Running {
    pub(super) fn new(program: Program, engines: u32) -> Self {
        let mut followers = vec![Vec::new(); program.steps.len()];
        for (index, step) in program.steps.iter().enumerate() {
            for earlier in &step.after {
                followers[*earlier].push(index);
            }
        }
        let progress = program.steps.iter().map(|step| Progress {
            waits_for: step.after.len(),
            missing: step.work.moved(),
            state: State::Waiting,
        });
        Running {
            steps: progress.collect(),
            followers,
            ready: VecDeque::new(),
            copies: VecDeque::new(),
            engines,
            polling: BTreeMap::new(),
            ends: BinaryHeap::new(),
            has_begun: false,
            program,
        }
    }

    /// The step that has this flow.
    pub(super) fn step_of(&self, flow: FlowId) -> Option<usize> {
        let index = flow.0.checked_sub(self.program.first_flow)? as usize;
        (index < self.steps.len()).then_some(index)
    }

    pub(super) fn flow_of(&self, step: usize) -> FlowId {
        FlowId(self.program.first_flow + step as u32)
    }

    pub(super) fn work(&self, step: usize) -> &Work {
        &self.program.steps[step].work
    }

    /// The flows of the steps that have not ended.
    pub(super) fn unfinished(&self) -> impl Iterator<Item = FlowId> {
        let steps = (0..self.steps.len()).filter(|step| self.steps[*step].state != State::Ended);
        steps.map(|step| self.flow_of(step))
    }

    /// Returns the next event at `now`. `memory` has the flags.
    pub(super) fn next(&mut self, now: Time, costs: &Costs, memory: &mut Memory) -> Event {
        if !self.has_begun {
            if now < self.program.start {
                return Event::NotBefore(self.program.start);
            }
            self.has_begun = true;
            let free = (0..self.steps.len()).filter(|step| self.steps[*step].waits_for == 0);
            self.ready.extend(free);
        }
        if let Some(Reverse((due, step))) = self.ends.peek().copied()
            && due <= now
        {
            self.ends.pop();
            self.carry_out(step, memory);
            self.end(step);
            return Event::End(step);
        }
        if let Some(step) = self.next_ready() {
            self.begin(step, now, costs, memory);
            return Event::Begin(step);
        }
        let next = self.ends.peek();
        next.map_or(Event::Nothing, |Reverse((due, _))| Event::NotBefore(*due))
    }

    /// Takes the next step that can begin. A copy needs a copy engine.
    fn next_ready(&mut self) -> Option<usize> {
        if self.engines > 0
            && let Some(copy) = self.copies.pop_front()
        {
            self.engines -= 1;
            return Some(copy);
        }
        while let Some(step) = self.ready.pop_front() {
            if !self.is_copy(step) {
                return Some(step);
            }
            if self.engines > 0 {
                self.engines -= 1;
                return Some(step);
            }
            self.copies.push_back(step);
        }
        None
    }

    fn is_copy(&self, step: usize) -> bool {
        matches!(self.work(step), Work::Move(transfer) if transfer.engine == Engine::Copy)
    }

    fn begin(&mut self, step: usize, now: Time, costs: &Costs, memory: &Memory) {
        self.steps[step].state = State::Begun;
        let takes = |bytes: u64| costs.memory_bandwidth.time_of(bytes);
        let due = match &self.program.steps[step].work {
            Work::Move(_) | Work::Signal(_) => return,
            Work::Wait(flag) if !is_set(memory, *flag) => {
                self.polling.insert(*flag, step);
                return;
            }
            Work::Wait(_) => now + costs.poll_latency,
            // Each vector is read once, and the sum is written once.
            Work::Reduce { from, bytes, .. } => now + takes(bytes * (from.len() as u64 + 1)),
            Work::Duplicate { bytes, .. } => now + takes(2 * bytes),
            Work::Compute(time) => now + *time,
        };
        self.ends.push(Reverse((due, step)));
    }

    /// Ends the wait for the flag at `offset`, which has been written, if it is set.
    pub(super) fn poll(&mut self, offset: u64, now: Time, costs: &Costs, memory: &Memory) {
        if is_set(memory, offset)
            && let Some(step) = self.polling.remove(&offset)
        {
            self.ends.push(Reverse((now + costs.poll_latency, step)));
        }
    }

    /// Whether the program begins after `now`.
    pub(super) fn begins_after(&self, now: Time) -> bool {
        self.program.start > now
    }

    /// Counts `bytes` bytes of a transfer as sent or arrived. Returns true if the transfer has ended.
    pub(super) fn moved(&mut self, step: usize, bytes: u64) -> bool {
        let progress = &mut self.steps[step];
        progress.missing = progress.missing.saturating_sub(bytes);
        if progress.missing > 0 || progress.state != State::Begun {
            return false;
        }
        if self.is_copy(step) {
            self.engines += 1;
        }
        self.end(step);
        true
    }

    /// Writes the result of a step to the memory.
    fn carry_out(&self, step: usize, memory: &mut Memory) {
        match self.work(step) {
            Work::Reduce { into, from, bytes } => {
                let mut sum = vec![0; *bytes as usize];
                let mut vector = vec![0; *bytes as usize];
                for offset in from {
                    memory.read(*offset, &mut vector);
                    add_words(&mut sum, &vector);
                }
                memory.write(*into, &sum);
            }
            Work::Duplicate { from, to, bytes } => {
                let mut copy = vec![0; *bytes as usize];
                memory.read(*from, &mut copy);
                memory.write(*to, &copy);
            }
            Work::Move(_) | Work::Signal(_) | Work::Wait(_) | Work::Compute(_) => {}
        }
    }

    fn end(&mut self, step: usize) {
        self.steps[step].state = State::Ended;
        for follower in &self.followers[step] {
            let waits_for = &mut self.steps[*follower].waits_for;
            *waits_for -= 1;
            if *waits_for == 0 {
                self.ready.push_back(*follower);
            }
        }
    }
}

fn is_set(memory: &Memory, flag: u64) -> bool {
    let mut word = [0; FLAG.len()];
    memory.read(flag, &mut word);
    word != [0; FLAG.len()]
}

#[cfg(test)]
mod tests {
    use super::super::program::{Move, Step};
    use super::*;
    use transaction::Direction;

    const COSTS: Costs = Costs {
        memory_bandwidth: Bandwidth(1_000_000_000),
        poll_latency: Span::from_ns(5),
    };

    fn program(steps: &[(&[usize], Work)]) -> Running {
        let steps = steps.iter().map(|(after, work)| Step {
            after: after.to_vec(),
            work: work.clone(),
        });
        let program = Program {
            start: ns(10),
            first_flow: 7,
            steps: steps.collect(),
        };
        Running::new(program, 1)
    }

    fn ns(time: u64) -> Time {
        Time::ZERO + Span::from_ns(time)
    }

    fn copy() -> Work {
        Work::Move(Move {
            engine: Engine::Copy,
            direction: Direction::Write,
            address: 0,
            offset: 0,
            bytes: 8,
        })
    }

    #[test]
    fn a_step_begins_when_all_steps_that_it_depends_on_have_ended() {
        let wait = |time| Work::Compute(Span::from_ns(time));
        let mut running = program(&[(&[], wait(1)), (&[], wait(3)), (&[0, 1], wait(0))]);
        let memory = &mut Memory::new(64);
        let mut next = |time| running.next(ns(time), &COSTS, memory);
        assert_eq!(next(0), Event::NotBefore(ns(10)));
        assert_eq!([next(10), next(10)], [Event::Begin(0), Event::Begin(1)]);
        assert_eq!(next(10), Event::NotBefore(ns(11)));
        assert_eq!(next(11), Event::End(0));
        assert_eq!(next(12), Event::NotBefore(ns(13)));
        assert_eq!(
            [next(13), next(13), next(13)],
            [Event::End(1), Event::Begin(2), Event::End(2)]
        );
        assert_eq!(next(13), Event::Nothing);
        assert_eq!(running.unfinished().count(), 0);
    }

    #[test]
    fn a_copy_waits_for_a_copy_engine_and_delays_no_other_work() {
        let compute = Work::Compute(Span::from_ns(1));
        let mut running = program(&[(&[], copy()), (&[], copy()), (&[], compute)]);
        let memory = &mut Memory::new(64);
        let mut begun = Vec::new();
        while let Event::Begin(step) = running.next(ns(10), &COSTS, memory) {
            begun.push(step);
        }
        assert_eq!(begun, [0, 2]);
        assert!(!running.moved(0, 4));
        assert!(running.moved(0, 4));
        assert_eq!(running.next(ns(10), &COSTS, memory), Event::Begin(1));
    }

    #[test]
    fn a_flag_ends_the_wait_for_it_whether_it_comes_before_or_after() {
        let mut running = program(&[(&[], Work::Wait(0)), (&[], Work::Wait(8))]);
        let memory = &mut Memory::new(64);
        memory.write(0, &FLAG);
        assert_eq!(running.next(ns(10), &COSTS, memory), Event::Begin(0));
        assert_eq!(running.next(ns(10), &COSTS, memory), Event::Begin(1));
        assert_eq!(running.next(ns(15), &COSTS, memory), Event::End(0));
        running.poll(8, ns(20), &COSTS, memory);
        assert_eq!(running.next(ns(30), &COSTS, memory), Event::Nothing);
        memory.write(8, &FLAG);
        running.poll(8, ns(30), &COSTS, memory);
        assert_eq!(
            running.next(ns(30), &COSTS, memory),
            Event::NotBefore(ns(35))
        );
        assert_eq!(running.next(ns(35), &COSTS, memory), Event::End(1));
    }

    #[test]
    fn a_sum_takes_the_time_of_its_reads_and_its_write() {
        let reduce = Work::Reduce {
            into: 0,
            from: vec![0, 8, 16],
            bytes: 8,
        };
        let mut running = program(&[(&[], reduce)]);
        let memory = &mut Memory::new(64);
        for (offset, word) in [(0, 1_u32), (8, 20), (16, u32::MAX)] {
            memory.write(offset, &word.to_le_bytes());
        }
        assert_eq!(running.next(ns(10), &COSTS, memory), Event::Begin(0));
        // Three vectors of 8 bytes are read and one is written, at 1 byte each ns.
        assert_eq!(
            running.next(ns(10), &COSTS, memory),
            Event::NotBefore(ns(42))
        );
        assert_eq!(running.next(ns(42), &COSTS, memory), Event::End(0));
        let mut sum = [0; 4];
        memory.read(0, &mut sum);
        assert_eq!(u32::from_le_bytes(sum), 20);
    }
}
