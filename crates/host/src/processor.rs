//! The processor of a host: threads that share cores, interrupts that wake them, and flows without a program.

mod resets;
mod waits;
mod watched_range;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use fabric::{CoreAccess, CoreOperation, Cpu, Ram, TableChange, TranslationOrder};
use kernel::Time;
use packet::{FlowId, Observation, PacketId, Packets, Stamp};
use protocol::{Completion, CompletionTimeout, FunctionId, Header};
use transaction::{ConfigAccess, Flow, Next, Requester, RequesterLimits, Taken};

use crate::loads::{LoadFailure, Loads};
use crate::system::Wake;
use crate::system::{Answer, Program, Request};
use crate::{Step, System, ThreadId};
use resets::Resets;
pub use waits::{Course, Wait};
use watched_range::WatchedRange;

/// The cores of a host and the threads that run on them.
#[derive(Debug)]
pub struct Processor {
    requester: Requester,
    id: FunctionId,
    free_cores: usize,
    threads: Vec<Thread>,
    /// Threads with a time at which they continue: working or sleeping.
    timed: BinaryHeap<Reverse<(Time, ThreadId)>>,
    /// Threads that wait for a core, longest wait first.
    runnable: VecDeque<ThreadId>,
    /// Interrupts that no thread has waited for yet, with their counts.
    interrupts: BTreeMap<u32, u32>,
    resets: Resets,
    /// For each lock the thread that holds it, followed by the threads that wait for it.
    locks: BTreeMap<u32, VecDeque<ThreadId>>,
    /// Loads of threads across the fabric.
    loads: Loads,
    /// Cache accesses of threads that the fabric has not taken yet.
    accesses: VecDeque<CoreAccess>,
    /// Changes of page tables that the fabric has not taken yet.
    orders: VecDeque<TranslationOrder>,
    /// Accesses of threads to configuration spaces that the fabric has not taken yet.
    configurations: VecDeque<(ThreadId, ConfigAccess)>,
    /// Watched bytes of memory, with the number of device writes that no thread has waited for yet.
    watched: BTreeMap<u64, u32>,
    watched_range: WatchedRange,
}

#[derive(Debug)]
struct Thread {
    program: Program,
    begun: bool,
    state: State,
    /// The result of the thread's last load.
    loaded: Vec<u8>,
    /// The reason why the thread's last load across the fabric has no data.
    failed: Option<LoadFailure>,
    /// The time at which the thread ran last, and how often it has run.
    ran_at: Time,
    steps: u32,
}

impl Thread {
    /// Ends a load across the fabric without data.
    fn fail(&mut self, why: LoadFailure) {
        self.loaded.clear();
        self.failed = Some(why);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Sleeping until a time, on no core.
    Asleep,
    /// Running on a core.
    Working,
    /// Paused on a core, until the host thread lets it continue.
    Paused,
    /// Ready to run, but waiting for a core.
    Runnable,
    /// Waiting for this interrupt, on no core.
    Interrupt(u32),
    /// Waiting for this interrupt, or for a reset of its device, on no core.
    InterruptOrReset(u32),
    /// Waiting on no core until no call uses the device with this interrupt. The device is about to be reset.
    Preparing(u32),
    /// Waiting on no core for the end of a reset of the device with this interrupt.
    Ready(u32),
    /// Waiting for a load, on its core.
    Loading,
    /// Waiting for the completion of a configuration request to this function, on its core.
    Configuring(FunctionId),
    /// Waiting until a device writes this byte, on no core.
    Written(u64),
    /// Waiting until a device writes one of these bytes, on no core.
    EitherWritten([u64; 2]),
    /// Waiting for a lock, on no core.
    Locked,
    /// Waiting until that thread has ended, on no core.
    Joining(ThreadId),
    Ended,
}

impl Processor {
    /// Creates an idle processor with `cores` cores. Its requests have the requester ID `id`.
    pub fn new(id: FunctionId, limits: RequesterLimits, cores: u32) -> Self {
        Processor {
            loads: Loads::new(id, &limits),
            requester: Requester::new(id, limits),
            id,
            free_cores: cores as usize,
            threads: Vec::new(),
            timed: BinaryHeap::new(),
            runnable: VecDeque::new(),
            interrupts: BTreeMap::new(),
            resets: Resets::default(),
            locks: BTreeMap::new(),
            accesses: VecDeque::new(),
            orders: VecDeque::new(),
            configurations: VecDeque::new(),
            watched: BTreeMap::new(),
            watched_range: WatchedRange::default(),
        }
    }

    /// The requester of flows without a program.
    pub fn requester(&self) -> &Requester {
        &self.requester
    }

    /// The requester of flows without a program, for changes and for the data they have read.
    pub fn requester_mut(&mut self) -> &mut Requester {
        &mut self.requester
    }

    /// Adds a flow without a program.
    pub fn add_flow(&mut self, flow: Flow) {
        self.requester.add(flow);
    }

    /// Takes the interrupts that no thread waits for, with their counts.
    pub fn take_interrupts(&mut self) -> Vec<(u32, u32)> {
        let unclaimed = std::mem::take(&mut self.interrupts).into_iter();
        unclaimed.filter(|(_, count)| *count > 0).collect()
    }

    /// Starts to count the device writes to the byte at `address`.
    pub fn watch(&mut self, address: u64) {
        self.watched.entry(address).or_default();
    }

    /// Adds a thread that starts at `start` and runs `program`.
    pub fn spawn<F>(&mut self, start: Time, program: impl FnOnce(System) -> F) -> ThreadId
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let thread = self.add_thread();
        let one = &mut self.threads[thread.0];
        one.program = Program::new(|desk| program(System(desk, None)));
        (one.begun, one.state, one.ran_at) = (false, State::Asleep, start);
        self.timed.push(Reverse((start, thread)));
        thread
    }

    /// Adds a thread without a program: it has ended, until a program [begins](Self::begin) on it.
    pub fn add_thread(&mut self) -> ThreadId {
        self.threads.push(Thread {
            program: Program::new(|_| async {}),
            begun: true,
            state: State::Ended,
            loaded: Vec::new(),
            failed: None,
            ran_at: Time::ZERO,
            steps: 0,
        });
        ThreadId(self.threads.len() - 1)
    }

    /// Runs `program` on a thread that has ended, as soon as a core is free.
    pub fn begin<F>(&mut self, thread: ThreadId, program: impl FnOnce(System) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let one = &mut self.threads[thread.0];
        debug_assert_eq!(one.state, State::Ended, "a thread has one program");
        one.program = Program::new(|desk| program(System(desk, None)));
        one.begun = false;
        one.loaded.clear();
        self.want_core(thread);
    }

    /// Ends a thread whose program has not begun, or that waits for an interrupt or a device write. The next interrupt or write is then for
    /// other threads. A busy thread is not ended.
    pub fn withdraw(&mut self, thread: ThreadId) {
        let one = &mut self.threads[thread.0];
        match one.state {
            State::Runnable if !one.begun => self.runnable.retain(|other| *other != thread),
            State::Interrupt(_) | State::Written(_) => {}
            _ => return,
        }
        one.state = State::Ended;
        self.end(thread);
    }

    /// Starts a cache access of a thread, which waits on its core for the result.
    fn begin_access(
        &mut self,
        thread: ThreadId,
        core: usize,
        address: u64,
        operation: CoreOperation,
    ) {
        self.threads[thread.0].state = State::Loading;
        self.accesses.push_back(CoreAccess {
            ticket: thread.0 as u32,
            core,
            address,
            operation,
        });
    }

    /// Starts a change of page tables by a thread, which waits on its core for the end.
    fn order(&mut self, thread: ThreadId, what: TableChange) {
        self.threads[thread.0].state = State::Loading;
        let ticket = thread.0 as u32;
        self.orders.push_back(TranslationOrder { ticket, what });
    }

    /// Lets a thread continue on its core, after its load or its pause.
    fn end_load(&mut self, thread: ThreadId, now: Time) {
        self.threads[thread.0].state = State::Working;
        self.timed.push(Reverse((now, thread)));
    }

    /// Lets a thread continue that has [paused](System::pause). Other threads are not affected.
    pub fn go_on(&mut self, thread: ThreadId, now: Time) {
        if self.threads[thread.0].state == State::Paused {
            self.end_load(thread, now);
        }
    }

    /// The reason why the last load of a thread across the fabric has no data. `None` if the load has data.
    pub fn load_failure(&self, thread: ThreadId) -> Option<LoadFailure> {
        self.threads[thread.0].failed
    }

    /// Whether a thread has ended.
    pub fn has_ended(&self, thread: ThreadId) -> bool {
        self.threads[thread.0].state == State::Ended
    }

    /// Whether a thread waits for an external event, and not only for time or a core.
    pub fn is_waiting(&self, thread: ThreadId) -> bool {
        let state = self.threads[thread.0].state;
        !matches!(state, State::Asleep | State::Working | State::Runnable)
    }

    /// Runs threads until one of them has an action for the fabric.
    fn run(&mut self, now: Time, packets: &mut Packets, memory: Ram<'_>) -> Next {
        loop {
            while let Some(Reverse((time, thread))) = self.timed.peek().copied() {
                if time > now {
                    break;
                }
                self.timed.pop();
                if self.threads[thread.0].state == State::Working {
                    if let Some(next) = self.step(thread, now, packets, memory) {
                        return next;
                    }
                } else {
                    if matches!(self.threads[thread.0].state, State::InterruptOrReset(_)) {
                        self.threads[thread.0].loaded = Wake::Check.emit();
                    }
                    self.want_core(thread);
                }
            }
            let Some(thread) = self.runnable.pop_front_if(|_| self.free_cores > 0) else {
                break;
            };
            self.free_cores -= 1;
            self.threads[thread.0].state = State::Working;
            if let Some(next) = self.step(thread, now, packets, memory) {
                return next;
            }
        }
        match self.timed.peek() {
            Some(Reverse((time, _))) => Next::NotBefore(*time),
            None => Next::Nothing,
        }
    }

    /// Runs a thread on its core until it gives up the core, works for some time, or has an action for the fabric.
    fn step(
        &mut self,
        thread: ThreadId,
        now: Time,
        packets: &mut Packets,
        memory: Ram<'_>,
    ) -> Option<Next> {
        let running = &mut self.threads[thread.0];
        (running.ran_at, running.steps) = (now, running.steps.saturating_add(1));
        let mut bytes = std::mem::take(&mut running.loaded);
        loop {
            let one = &mut self.threads[thread.0];
            let step = if std::mem::replace(&mut one.begun, true) {
                let bytes = std::mem::take(&mut bytes);
                one.program.resume(Answer { now, bytes })
            } else {
                one.program.begin()
            };
            let state = match step {
                Step::Done(()) => {
                    self.end(thread);
                    State::Ended
                }
                Step::Ask(Request::Work(span)) => {
                    self.timed.push(Reverse((now + span, thread)));
                    return None;
                }
                Step::Ask(Request::Pause) => {
                    one.state = State::Paused;
                    return None;
                }
                Step::Ask(Request::Sleep(span)) => {
                    self.timed.push(Reverse((now + span, thread)));
                    State::Asleep
                }
                Step::Ask(Request::Store(address, bytes, origin)) => {
                    self.timed.push(Reverse((now, thread)));
                    let packet = self.store((address, &bytes), origin.stamp(now), packets);
                    return Some(Next::Packet(packet));
                }
                Step::Ask(Request::Report(what)) => {
                    self.timed.push(Reverse((now, thread)));
                    return Some(Next::Report(what));
                }
                Step::Ask(Request::Load(address, len)) => {
                    if is_poisoned(memory, address, len) {
                        return Some(self.load_poison(thread, len, now));
                    }
                    bytes = load(memory, address, len);
                    continue;
                }
                Step::Ask(Request::Read(address, len)) => {
                    (one.state, one.failed) = (State::Loading, None);
                    self.loads.push(thread, address, len);
                    return None;
                }
                Step::Ask(Request::Access(core, address, operation)) => {
                    self.begin_access(thread, core, address, operation);
                    return None;
                }
                Step::Ask(Request::Order(what)) => {
                    self.order(thread, what);
                    return None;
                }
                Step::Ask(Request::Configure(access)) => {
                    one.state = State::Configuring(access.target);
                    self.configurations.push_back((thread, access));
                    return None;
                }
                Step::Ask(Request::Watch(address)) => {
                    self.watched.insert(address, 0);
                    continue;
                }
                Step::Ask(Request::Written(address)) if self.take_written(address) => continue,
                Step::Ask(Request::Written(address)) => State::Written(address),
                Step::Ask(Request::EitherWritten(addresses)) => {
                    if self.is_written(&addresses) {
                        continue;
                    }
                    State::EitherWritten(addresses)
                }
                Step::Ask(Request::Interrupt(message)) if self.take_interrupt(message) => continue,
                Step::Ask(Request::Interrupt(message)) => State::Interrupt(message),
                Step::Ask(Request::Device(request)) => {
                    match self.serve_driver(thread, request, (&mut bytes, now)) {
                        Some(state) => state,
                        None => continue,
                    }
                }
                Step::Ask(Request::Lock(lock)) if self.lock(lock, thread) => continue,
                Step::Ask(Request::Lock(_)) => State::Locked,
                Step::Ask(Request::Unlock(lock)) => {
                    self.unlock(lock);
                    self.release_devices(thread);
                    continue;
                }
                Step::Ask(Request::Join(other)) => {
                    if self.threads[other.0].state == State::Ended {
                        continue;
                    }
                    State::Joining(other)
                }
            };
            self.threads[thread.0].state = state;
            self.free_cores += 1;
            return None;
        }
    }

    /// Gives zeros to a thread that loads poisoned memory. Returns a report of this load.
    fn load_poison(&mut self, thread: ThreadId, len: usize, now: Time) -> Next {
        self.threads[thread.0].loaded = vec![0; len];
        self.timed.push(Reverse((now, thread)));
        Next::Report(POISON_LOADED)
    }

    /// Takes an interrupt with this message that has already arrived. Returns false if there is none.
    fn take_interrupt(&mut self, message: u32) -> bool {
        let Some(count) = self.interrupts.get_mut(&message) else {
            return false;
        };
        let has_come = *count > 0;
        *count -= u32::from(has_come);
        has_come
    }

    /// Takes one device write to a watched address. Returns false if there is none left to take.
    fn take_written(&mut self, address: u64) -> bool {
        let count = self.watched.entry(address).or_default();
        let was_written = *count > 0;
        *count -= u32::from(was_written);
        was_written
    }

    /// Whether a device has written one of these watched addresses, and no thread has waited for the write yet.
    fn is_written(&self, addresses: &[u64]) -> bool {
        let counts = addresses
            .iter()
            .filter_map(|address| self.watched.get(address));
        counts.copied().any(|count| count > 0)
    }

    fn want_core(&mut self, thread: ThreadId) {
        self.threads[thread.0].state = State::Runnable;
        self.runnable.push_back(thread);
    }

    /// Adds a thread to the queue of a lock. The first thread of the queue holds the lock. Returns whether it is `thread`.
    fn lock(&mut self, lock: u32, thread: ThreadId) -> bool {
        let line = self.locks.entry(lock).or_default();
        line.push_back(thread);
        line.len() == 1
    }

    /// Passes the lock to the thread that has waited longest.
    fn unlock(&mut self, lock: u32) {
        let line = self.locks.entry(lock).or_default();
        line.pop_front();
        if let Some(next) = line.front().copied() {
            self.want_core(next);
        }
    }

    fn end(&mut self, ended: ThreadId) {
        for thread in 0..self.threads.len() {
            if self.threads[thread].state == State::Joining(ended) {
                self.want_core(ThreadId(thread));
            }
        }
    }

    /// Creates the posted write of a store.
    fn store(
        &self,
        (address, bytes): (u64, &[u8]),
        stamp: Stamp,
        packets: &mut Packets,
    ) -> PacketId {
        let header = Header::memory_write(self.id, address, bytes.len() as u32)
            .expect("a store of a program is within a page");
        packets.make(header, stamp, bytes)
    }
}

impl Cpu for Processor {
    fn next(&mut self, now: Time, packets: &mut Packets, memory: Ram<'_>) -> Next {
        let threads = match self.run(now, packets, memory) {
            Next::NotBefore(time) => time,
            Next::Nothing => Time::NEVER,
            other => return other,
        };
        if let Some(packet) = self.loads.next(now, packets) {
            return Next::Packet(packet);
        }
        let earliest = threads.min(self.loads.open.next_change(now));
        match self.requester.next(now, packets) {
            Next::NotBefore(time) => Next::NotBefore(time.min(earliest)),
            Next::Nothing if earliest < Time::NEVER => Next::NotBefore(earliest),
            flows => flows,
        }
    }

    fn next_of_programs(&mut self, now: Time, packets: &mut Packets, memory: Ram<'_>) -> Next {
        self.run(now, packets, memory)
    }

    fn take_load(&mut self, completion: &Completion, payload: &[u8], now: Time) -> bool {
        let Some(loaded) = self.loads.take(completion, payload) else {
            return false;
        };
        let thread = &mut self.threads[loaded.thread.0];
        match loaded.bytes {
            Ok(bytes) => thread.loaded.extend(bytes),
            Err(status) => thread.fail(LoadFailure::Status(status)),
        }
        if loaded.last {
            self.end_load(loaded.thread, now);
        }
        true
    }

    fn give_up_load(&mut self, now: Time) -> Option<(u64, u32)> {
        let lost = self.loads.open.give_up(now)?;
        self.threads[lost.what.thread.0].fail(LoadFailure::TimedOut);
        self.end_load(lost.what.thread, now);
        Some((lost.what.address, lost.len))
    }

    fn take(&mut self, completion: &Completion, payload: &[u8]) -> Option<Taken> {
        self.requester.take(completion, payload)
    }

    fn complete_round_trip(&mut self, flow: FlowId, at: Time) -> bool {
        self.requester.complete_round_trip(flow, at)
    }

    fn set_max_payload(&mut self, max_payload: u32) {
        self.requester.set_max_payload(max_payload);
    }

    fn time_out_after(&mut self, timeout: CompletionTimeout) {
        self.requester.time_out_after(timeout);
        self.loads.open.time_out_after(timeout);
    }

    fn address_of(&self, flow: FlowId) -> Option<u64> {
        self.requester.address_of(flow)
    }

    fn next_access(&mut self) -> Option<CoreAccess> {
        self.accesses.pop_front()
    }

    fn accessed(&mut self, ticket: u32, bytes: Vec<u8>, now: Time) {
        let thread = ThreadId(ticket as usize);
        self.threads[thread.0].loaded = bytes;
        self.end_load(thread, now);
    }

    fn next_order(&mut self) -> Option<TranslationOrder> {
        self.orders.pop_front()
    }

    fn ordered(&mut self, ticket: u32, now: Time) {
        self.end_load(ThreadId(ticket as usize), now);
    }

    fn next_configuration(&mut self) -> Option<(u32, ConfigAccess)> {
        let (thread, access) = self.configurations.pop_front()?;
        Some((thread.0 as u32, access))
    }

    fn configured(&mut self, ticket: u32, result: Option<u32>, now: Time) {
        let thread = ThreadId(ticket as usize);
        let bytes = result.map(|value| value.to_le_bytes().to_vec());
        self.threads[thread.0].loaded = bytes.unwrap_or_default();
        self.end_load(thread, now);
    }

    fn interrupt(&mut self, message: u32) {
        let states = [State::Interrupt(message), State::InterruptOrReset(message)];
        let waiting = |thread: &Thread| states.contains(&thread.state);
        match self.threads.iter().position(waiting) {
            Some(thread) => self.end_wait(ThreadId(thread)),
            None => *self.interrupts.entry(message).or_default() += 1,
        }
    }

    fn watches(&self, address: u64, len: u32) -> bool {
        let bytes = address..address + u64::from(len);
        self.watched_range.overlaps(&bytes)
            || !self.watched.is_empty() && self.watched.range(bytes).next().is_some()
    }

    fn written(&mut self, address: u64, len: u32) {
        let bytes = address..address + u64::from(len);
        self.watched_range.written(&bytes);
        for (byte, count) in self.watched.range_mut(bytes) {
            let waits = |thread: &Thread| thread.state == State::Written(*byte);
            if let Some(thread) = self.threads.iter().position(waits) {
                self.threads[thread].state = State::Runnable;
                self.runnable.push_back(ThreadId(thread));
                continue;
            }
            *count += 1;
            for (number, thread) in self.threads.iter_mut().enumerate() {
                if matches!(thread.state, State::EitherWritten(bytes) if bytes.contains(byte)) {
                    thread.state = State::Runnable;
                    self.runnable.push_back(ThreadId(number));
                }
            }
        }
    }
}

/// The `len` bytes at `address`, or zeros if they are outside the memory.
fn load(memory: Ram<'_>, address: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    if let Some(offset) = address.checked_sub(memory.base)
        && memory.bytes.holds(offset, len as u64)
    {
        memory.bytes.read(offset, &mut bytes);
    }
    bytes
}

/// Whether any of the `len` bytes at `address` is poisoned.
fn is_poisoned(memory: Ram<'_>, address: u64, len: usize) -> bool {
    let offset = address.checked_sub(memory.base);
    offset.is_some_and(|offset| memory.bytes.is_poisoned(offset, len as u64))
}

/// A program loads poisoned memory and gets zeros. A processor would take a machine check.
const POISON_LOADED: Observation = Observation::event("a program loads poisoned memory");

#[cfg(test)]
mod tests;
