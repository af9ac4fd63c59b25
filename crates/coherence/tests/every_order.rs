//! Checks every order of messages for a few agents, lines and values: a line has one writer at a time, every read returns the last written
//! value, and no agent waits forever.

use std::collections::VecDeque;

use coherence::{Access, Agent, Backing, Event, Geometry, Home, HomeAnswer, Need};
use protocol::coherence::{
    AgentId, AtomicChange, AtomicFunction, Content, Data, Line, LineAtomic, Message, Request,
    TransactionId, Word, WriteRange,
};
use stateright::{Checker, Model, Property};

/// A line with one of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Value(u8);

impl Data for Value {
    fn merge(&mut self, other: &Self, _: WriteRange) {
        *self = *other;
    }
    fn change(&mut self, atomic: &LineAtomic) -> Option<u128> {
        let old = u128::from(self.0);
        self.0 = atomic.applied(old) as u8 % 2;
        Some(old)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Memory(Vec<Value>);

impl Backing<Value> for Memory {
    fn read(&mut self, line: Line) -> Value {
        self.0[line.number() as usize]
    }
    fn write(&mut self, line: Line, data: &Value) {
        self.0[line.number() as usize] = *data;
    }
}

/// The tasks that an idle agent may begin at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Task {
    Load(Line),
    /// A line has one of two values. This task writes the value that the line does not have.
    Store(Line),
    StoreAll(Line),
    Toggle(Line),
    ToggleAtHome(Line),
    ReadOnce(Line),
    WriteUnique(Line),
}

impl Task {
    fn line(self) -> Line {
        match self {
            Task::Load(line)
            | Task::Store(line)
            | Task::StoreAll(line)
            | Task::Toggle(line)
            | Task::ToggleAtHome(line)
            | Task::ReadOnce(line)
            | Task::WriteUnique(line) => line,
        }
    }

    fn need(self) -> Option<Need> {
        match self {
            Task::Load(_) => Some(Need::Read),
            Task::Store(_) | Task::Toggle(_) => Some(Need::Write),
            Task::StoreAll(_) => Some(Need::WriteAll),
            Task::ToggleAtHome(_) | Task::ReadOnce(_) | Task::WriteUnique(_) => None,
        }
    }
}

fn toggle() -> LineAtomic {
    let change = AtomicChange::Load(AtomicFunction::ExclusiveOr);
    LineAtomic::new(change, 0, 4, [1, 0]).expect("four bytes at zero")
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Doing {
    task: Task,
    /// `None` until the agent can send the request.
    transaction: Option<TransactionId>,
    /// The write that the home agent executes.
    value: Value,
    /// The values that the line has had since the task began, one bit each. A read may return any of these values.
    seen: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    agents: Vec<Agent<Value>>,
    doing: Vec<Option<Doing>>,
    /// Number of tasks that each agent may still begin, if it is limited.
    left: Vec<Option<u8>>,
    home: Home<Value>,
    memory: Memory,
    /// Messages from the home agent, which arrive in any order.
    flying: Vec<Message<Value>>,
    /// Messages from each agent to the home agent. No message may pass a `CompAck`.
    rising: Vec<VecDeque<Message<Value>>>,
    /// The last written value of each line.
    last: Vec<Value>,
    /// The violated rule, if any.
    wrong: Option<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Step {
    Begin(usize, Task),
    TryAgain(usize),
    Arrive(Message<Value>),
    ArriveHome(usize, usize),
}

/// The agents and their tasks.
struct Case {
    agents: usize,
    lines: u64,
    ways: u32,
    transactions: usize,
    /// Number of tasks of each agent; `None` if the number is not limited.
    budget: Option<u8>,
    tasks: fn(Line) -> Vec<Task>,
}

impl World {
    fn write(&mut self, line: Line, value: Value) {
        self.last[line.number() as usize] = value;
        for doing in self.doing.iter_mut().flatten() {
            if matches!(doing.task, Task::ReadOnce(there) if there == line) {
                doing.seen |= 1 << value.0;
            }
        }
    }

    fn other_value(&self, line: Line) -> Value {
        Value(1 - self.last[line.number() as usize].0)
    }

    fn check_read(&mut self, line: Line, value: Value) {
        if self.last[line.number() as usize] != value {
            self.wrong = Some("a reader sees the last written value");
        }
    }

    /// Executes the task that a hit or a grant allows.
    fn perform(&mut self, agent: usize, task: Task) {
        let line = task.line();
        match task {
            Task::Load(_) => {
                let value = *self.agents[agent]
                    .data(line)
                    .expect("what may be read is there");
                self.check_read(line, value);
            }
            Task::Store(_) | Task::StoreAll(_) => {
                let value = self.other_value(line);
                self.agents[agent].write(line, WriteRange::FULL, &value);
                self.write(line, value);
            }
            Task::Toggle(_) => {
                let old = self.agents[agent]
                    .change(line, &toggle())
                    .expect("no value is poisoned");
                self.check_read(line, Value(old as u8));
                self.write(line, Value(old as u8 ^ 1));
            }
            _ => unreachable!("the home agent does these"),
        }
    }

    fn attempt(&mut self, index: usize) {
        let task = self.doing[index].as_ref().expect("it does something").task;
        let line = task.line();
        let other = self.other_value(line);
        let mut out = Vec::new();
        let agent = &mut self.agents[index];
        let access = match task {
            Task::ToggleAtHome(_) => agent.at_home(line, Request::Atomic(toggle()), &mut out),
            Task::ReadOnce(_) => agent.at_home(line, Request::ReadOnce, &mut out),
            Task::WriteUnique(_) => {
                let value = other;
                agent.at_home(
                    line,
                    Request::WriteUnique(WriteRange::FULL, value),
                    &mut out,
                )
            }
            _ => agent.access(
                line,
                task.need().expect("the others need something"),
                &mut out,
            ),
        };
        self.rising[index].extend(out);
        match access {
            Access::Hit => {
                self.doing[index] = None;
                self.perform(index, task);
            }
            Access::Begun(transaction) => {
                let doing = self.doing[index].as_mut().expect("it does");
                doing.transaction = Some(transaction);
                doing.value = other;
            }
            Access::Wait => {}
        }
    }

    fn arrive_home(&mut self, message: Message<Value>) {
        let mut out = Vec::new();
        self.home.receive(message, &mut self.memory, &mut out);
        for sent in out {
            self.note(&sent.message);
            self.flying.push(sent.message);
        }
    }

    fn arrive(&mut self, message: Message<Value>) {
        let index = usize::from(message.target.number()) - 1;
        let mut out = Vec::new();
        let event = self.agents[index].receive(message, &mut out);
        self.rising[index].extend(out);
        match event {
            Event::Ready(transaction, line) => {
                let doing = self.doing[index]
                    .take()
                    .expect("somebody waits for the line");
                assert_eq!(
                    (doing.transaction, doing.task.line()),
                    (Some(transaction), line)
                );
                self.perform(index, doing.task);
            }
            Event::Done(_, answer) => {
                let doing = self.doing[index]
                    .take()
                    .expect("somebody waits for the end");
                let read = match answer {
                    HomeAnswer::Data(value) => Some(value.0),
                    HomeAnswer::Old(old) => old.map(|old| old as u8),
                    HomeAnswer::Nothing => None,
                };
                let wrong = |value| doing.seen >> value & 1 == 0;
                if matches!(doing.task, Task::ReadOnce(_)) && read.is_some_and(wrong) {
                    self.wrong =
                        Some("a ReadOnce returns a value that the line had since it began");
                }
            }
            Event::Freed => {}
        }
    }

    /// Records a change of memory by the home agent at the time of its answer. A `ReadOnce` takes effect earlier, when its last snoop is
    /// answered, so its value is checked when it ends.
    fn note(&mut self, message: &Message<Value>) {
        let Some(agent) = usize::from(message.target.number()).checked_sub(1) else {
            return;
        };
        let Some(doing) = self.doing[agent].clone() else {
            return;
        };
        if doing.transaction != Some(message.transaction) {
            return;
        }
        match (doing.task, &message.content) {
            (Task::ToggleAtHome(line), Content::CompAtomic(_, old)) => {
                let old = Value(old.map_or(0, Word::number) as u8);
                self.check_read(line, old);
                self.write(line, Value(old.0 ^ 1));
            }
            (Task::WriteUnique(line), Content::Comp(_)) => self.write(line, doing.value),
            _ => {}
        }
    }

    fn is_coherent(&self) -> bool {
        (0..self.last.len()).all(|number| {
            let line = Line::numbered(number as u64);
            let states = self.agents.iter().map(|agent| agent.state(line));
            let writers = states.clone().filter(|state| state.may_write()).count();
            let readers = states.filter(|state| state.may_read()).count();
            let fresh = self.agents.iter().all(|agent| {
                !agent.state(line).may_read()
                    || agent
                        .data(line)
                        .is_none_or(|data| *data == self.last[number])
            });
            writers == 0 || (writers == 1 && readers == 1) && fresh
        })
    }

    fn is_at_rest(&self) -> bool {
        let silent = self.rising.iter().all(VecDeque::is_empty);
        silent && self.flying.is_empty() && self.doing.iter().all(Option::is_none)
    }
}

impl Model for Case {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        let geometry = Geometry::new(64 * u64::from(self.ways), self.ways).expect("one set");
        let agents = (1..=self.agents as u8).map(|number| {
            let id = AgentId::new(number).expect("there are few");
            Agent::new(id, geometry, self.transactions)
        });
        vec![World {
            agents: agents.collect(),
            doing: vec![None; self.agents],
            left: vec![self.budget; self.agents],
            home: Home::new(Line::numbered(0)),
            memory: Memory(vec![Value(0); self.lines as usize]),
            flying: Vec::new(),
            rising: vec![VecDeque::new(); self.agents],
            last: vec![Value(0); self.lines as usize],
            wrong: None,
        }]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        for (index, doing) in world.doing.iter().enumerate() {
            match doing {
                None if world.left[index] == Some(0) => {}
                None => {
                    let lines = (0..self.lines).map(Line::numbered);
                    steps.extend(
                        lines
                            .flat_map(self.tasks)
                            .map(|task| Step::Begin(index, task)),
                    );
                }
                Some(Doing {
                    transaction: None, ..
                }) => steps.push(Step::TryAgain(index)),
                Some(_) => {}
            }
        }
        steps.extend(world.flying.iter().cloned().map(Step::Arrive));
        for (agent, rising) in world.rising.iter().enumerate() {
            let is_ack = |message: &Message<Value>| message.content == Content::CompAck;
            let first_ack = rising.iter().position(is_ack);
            let free = first_ack.map_or(rising.len(), |ack| ack + 1);
            steps.extend((0..free).map(|place| Step::ArriveHome(agent, place)));
        }
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut next = world.clone();
        match step {
            Step::Begin(index, task) => {
                next.left[index] = next.left[index].map(|left| left - 1);
                let now = world.last[task.line().number() as usize];
                let seen = matches!(task, Task::ReadOnce(_)).then_some(1 << now.0);
                next.doing[index] = Some(Doing {
                    task,
                    transaction: None,
                    value: Value(0),
                    seen: seen.unwrap_or(0),
                });
                next.attempt(index);
            }
            Step::TryAgain(index) => next.attempt(index),
            Step::ArriveHome(index, place) => {
                let message = next.rising[index].remove(place)?;
                next.arrive_home(message);
            }
            Step::Arrive(message) => {
                let place = next.flying.iter().position(|other| *other == message)?;
                next.flying.swap_remove(place);
                next.arrive(message);
            }
        }
        next.flying.sort();
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("one writer, and no other reader", |_, world: &World| {
                world.is_coherent()
            }),
            Property::always("reads return the last written value", |_, world: &World| {
                world.wrong.is_none()
            }),
            Property::always("no agent waits forever", |case: &Case, world: &World| {
                let mut steps = Vec::new();
                case.actions(world, &mut steps);
                let moves = |step: &Step| case.next_state(world, step.clone()).is_some();
                world.is_at_rest() || steps.iter().any(moves)
            }),
            Property::sometimes("a dirty line goes to another agent", |_, world: &World| {
                let dirty = |message: &Message<Value>| {
                    matches!(message.content, Content::SnoopResponse(_, Some(_)))
                };
                world.rising.iter().flatten().any(dirty)
            }),
        ]
    }
}

fn explore(case: Case) {
    let checker = case.checker().threads(2).spawn_bfs().join();
    checker.assert_properties();
    println!("{} states", checker.unique_state_count());
}

const TWO_LINES: Case = Case {
    agents: 2,
    lines: 2,
    ways: 1,
    transactions: 2,
    budget: None,
    tasks: |line| vec![Task::Load(line), Task::Store(line)],
};

#[test]
fn two_agents_with_room_for_one_of_two_lines_each_do_three_things() {
    explore(Case {
        budget: Some(3),
        ..TWO_LINES
    });
}

#[test]
#[ignore = "tens of millions of states: `make soak` goes through them"]
fn two_agents_with_room_for_one_of_two_lines_each_go_on_for_ever() {
    explore(TWO_LINES);
}

#[test]
fn three_agents_read_and_write_a_line_for_ever() {
    explore(Case {
        agents: 3,
        lines: 1,
        ..TWO_LINES
    });
}

#[test]
fn two_agents_do_everything_to_a_line_for_ever() {
    explore(Case {
        lines: 1,
        tasks: |line| {
            vec![
                Task::Load(line),
                Task::Store(line),
                Task::StoreAll(line),
                Task::Toggle(line),
                Task::ToggleAtHome(line),
                Task::ReadOnce(line),
                Task::WriteUnique(line),
            ]
        },
        ..TWO_LINES
    });
}

#[test]
fn two_agents_do_everything_to_two_lines_twice() {
    explore(Case {
        budget: Some(2),
        tasks: |line| {
            vec![
                Task::Store(line),
                Task::StoreAll(line),
                Task::ToggleAtHome(line),
                Task::ReadOnce(line),
                Task::WriteUnique(line),
            ]
        },
        ..TWO_LINES
    });
}
