//! A host thread whose program runs outside the simulation. The thread receives its next order when it has finished the last order. Between orders,
//! it has no program and occupies no core.
//!
//! Simulated time passes only while the thread works or waits. If a program uses memory that it shares with devices, it reads and writes the bytes
//! directly, without a simulated access. The program itself states the time that this takes ([`HostThread::work`]).

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use host::{DriverParameters, LoadFailure, Processor, System, ThreadId};
use kernel::{Span, Time};

use crate::model::Model;
use crate::run::access::AccessError;
use crate::run::simulation::{Halt, Simulation};

/// A host thread that is controlled from outside the simulation.
#[derive(Debug)]
pub struct HostThread {
    host: usize,
    thread: ThreadId,
    desk: Desk,
    costs: DriverParameters,
}

/// An event that a thread waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// The time limit.
    Limit,
    /// A write by a device to any of these bytes of the host's memory.
    Written(Range<u64>),
    /// An interrupt that no program of the host waits for.
    Interrupt,
}

/// The reason why a wait has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The event has happened.
    Happened,
    /// The time limit is reached.
    Limit,
    /// No event is left.
    Quiet,
    /// The caller has stopped the wait.
    Broken,
}

/// An order for a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Loads this number of bytes from an address across the fabric by one request.
    Load(u64, u32),
    /// Stores bytes at an address across the fabric as one posted write.
    Store(u64, Vec<u8>),
    /// Works on the core for a time.
    Work(Span),
    /// Sleeps until an interrupt with this message arrives.
    Interrupt(u32),
    /// Sleeps until a device has written the byte at an address of the host's memory. Each write ends one of these waits, also a write before the
    /// wait.
    Written(u64),
}

/// The outcome of an order. The caller and the simulated thread share it; only one of them runs at a time.
#[derive(Clone, Debug, Default)]
struct Desk {
    bytes: Arc<Mutex<Option<Vec<u8>>>>,
    /// Whether an order has been carried out and its bytes were not taken yet.
    is_done: Arc<AtomicBool>,
}

/// If no event is due within this time, the fabric is at rest: later events are time-outs of requests that were completed.
const REST: Span = Span::from_us(1000);

impl HostThread {
    /// Makes a thread of `host`. It needs a core while it loads, stores or works, and waits for one if all are taken.
    pub fn new(simulation: &mut Simulation, host: &str) -> Result<Self, AccessError> {
        simulation.start();
        let costs = simulation.costs(host)?;
        let node = simulation.node(host)?;
        let root = simulation.root_mut(host)?;
        Ok(HostThread {
            host: node,
            thread: root.cpu_mut().add_thread(),
            desk: Desk::default(),
            costs,
        })
    }

    /// Software costs of the host.
    pub fn costs(&self) -> &DriverParameters {
        &self.costs
    }

    /// Loads `len` bytes from `address` across the fabric by one request, while `watch`, called from time to time, allows it. Returns all ones if
    /// there is no completion.
    pub fn load(
        &self,
        simulation: &mut Simulation,
        address: u64,
        len: u32,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<u8>, AccessError> {
        self.perform(simulation, Order::Load(address, len), watch)
    }

    /// Loads the word of 8 bytes at `address` across the fabric by one request.
    pub fn load_word(
        &self,
        simulation: &mut Simulation,
        address: u64,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<u64, AccessError> {
        let bytes = self.load(simulation, address, 8, watch)?;
        let word = bytes.first_chunk();
        Ok(word.map_or(u64::MAX, |word| u64::from_le_bytes(*word)))
    }

    /// Stores `bytes` at `address` across the fabric as one posted write. Time passes until the core can continue.
    pub fn store(
        &self,
        simulation: &mut Simulation,
        address: u64,
        bytes: &[u8],
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<(), AccessError> {
        let order = Order::Store(address, bytes.to_vec());
        self.perform(simulation, order, watch).map(drop)
    }

    /// Works on the core for `span`.
    pub fn work(
        &self,
        simulation: &mut Simulation,
        span: Span,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<(), AccessError> {
        if span == Span::ZERO {
            return Ok(());
        }
        self.perform(simulation, Order::Work(span), watch).map(drop)
    }

    fn perform(
        &self,
        simulation: &mut Simulation,
        order: Order,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<u8>, AccessError> {
        self.begin(simulation, order);
        simulation.advance(&[self], watch);
        self.take().ok_or(AccessError::Interrupted)
    }

    /// Begins to carry out `order`. Time advances only if the last order is still under way and has to end first.
    /// An order that waits for ever has to be [withdrawn](Self::withdraw) before.
    pub fn begin(&self, simulation: &mut Simulation, order: Order) {
        while !self.processor(simulation).has_ended(self.thread) {
            if simulation.has_stopped() || !simulation.step_until(Time::NEVER) {
                return;
            }
        }
        self.take();
        let (desk, store) = (self.desk.clone(), self.costs.register_write);
        let program = |system| carry_out(system, order, desk, store);
        self.processor(simulation).begin(self.thread, program);
        simulation.act(self.host, Model::ask);
    }

    /// Withdraws an order that has not begun, or that waits for an interrupt or a write. A later interrupt or write is then left to other threads.
    /// Any other order is carried out to its end.
    pub fn withdraw(&self, simulation: &mut Simulation) {
        self.processor(simulation).withdraw(self.thread);
    }

    /// The bytes that the ended order has loaded, if any; `None` before its end.
    pub fn take(&self) -> Option<Vec<u8>> {
        self.desk.is_done.store(false, Ordering::Relaxed);
        self.desk.bytes().take()
    }

    /// The reason why the last load, which was from `address`, has no data, and gave all ones; `None` if it has data.
    pub fn load_failure(&self, simulation: &mut Simulation, address: u64) -> Option<AccessError> {
        match self.processor(simulation).load_failure(self.thread)? {
            LoadFailure::Status(status) => Some(AccessError::of_status(status, address)),
            LoadFailure::TimedOut => Some(AccessError::NoAnswer(address)),
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.desk.is_done.load(Ordering::Relaxed)
    }

    /// Waits for an event, at most until `limit`, while `watch`, called from time to time, allows it. The wait also ends when the fabric is at rest:
    /// for [`Until::Written`] if there is no limit, and for [`Until::Interrupt`] if the fabric was not at rest before.
    pub fn wait(
        &self,
        simulation: &mut Simulation,
        until: &Until,
        limit: Time,
        watch: &mut dyn FnMut() -> bool,
    ) -> Woken {
        if let Until::Written(range) = until {
            self.processor(simulation).watch_range(range.clone());
        }
        simulation.leave_observations(true);
        let woken = self.wait_unheard(simulation, until, limit, watch);
        simulation.leave_observations(false);
        woken
    }

    /// Waits. The probes process observations that may wait after the end of this wait.
    fn wait_unheard(
        &self,
        simulation: &mut Simulation,
        until: &Until,
        limit: Time,
        watch: &mut dyn FnMut() -> bool,
    ) -> Woken {
        let tells_rest = match until {
            Until::Limit => false,
            Until::Written(_) => limit == Time::NEVER,
            // `Woken::Quiet` is returned once. A caller that waits again waits for later interrupts.
            Until::Interrupt => !simulation.is_at_rest(),
        };
        let waited = simulation.step_while(limit, watch, |simulation| {
            let processor = self.processor(simulation);
            let has_happened = match until {
                Until::Limit => false,
                Until::Written(_) => processor.is_changed(),
                Until::Interrupt => processor.is_interrupted(),
            };
            if has_happened {
                return Some(Woken::Happened);
            }
            (tells_rest && simulation.is_at_rest()).then_some(Woken::Quiet)
        });
        match waited {
            Ok(woken) => woken,
            Err(Halt::Stopped | Halt::Left) => Woken::Broken,
            Err(Halt::Quiet) if limit == Time::NEVER => Woken::Quiet,
            Err(Halt::Quiet) => {
                simulation.pass_to(limit);
                Woken::Limit
            }
        }
    }

    /// Takes the interrupts that have reached the processor and for which no program of the host waits: the message and the count of each.
    pub fn take_interrupts(&self, simulation: &mut Simulation) -> Vec<(u32, u32)> {
        let processor = self.processor(simulation);
        if processor.is_interrupted() {
            processor.take_interrupts()
        } else {
            Vec::new()
        }
    }

    fn processor<'s>(&self, simulation: &'s mut Simulation) -> &'s mut Processor {
        let host = simulation.model_mut(self.host).host_mut();
        host.expect("a thread is of a host").cpu_mut()
    }
}

impl Simulation {
    /// Lets time pass until one of `threads` has carried out its order, while `watch`, called from time to time, allows it. Returns the index of this
    /// thread; `None` if no thread will ever carry out its order.
    pub fn advance(
        &mut self,
        threads: &[&HostThread],
        watch: &mut dyn FnMut() -> bool,
    ) -> Option<usize> {
        self.leave_observations(true);
        let done = |_: &mut Self| threads.iter().position(|thread| thread.is_done());
        let done = self.step_while(Time::NEVER, watch, done);
        self.leave_observations(false);
        done.ok()
    }

    /// Whether nothing is under way in the fabric: no packet is in use, and no event is due soon. Refreshes of flow-control limits on an idle link do
    /// not count, whether they are sent (for a trace) or counted afterwards.
    pub fn is_at_rest(&mut self) -> bool {
        self.packets_in_use() == 0 && self.expects_only_refreshes()
    }

    /// Whether all events that are due soon are refreshes of flow-control limits.
    fn expects_only_refreshes(&mut self) -> bool {
        let now = self.now();
        let counts = |model: &Model, what: &_| !model.only_refreshes(what, now);
        !self.engine.has_event_by(now + REST, counts)
    }
}

impl Desk {
    fn bytes(&self) -> MutexGuard<'_, Option<Vec<u8>>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Carries out an order, and puts its outcome on `desk`. A store occupies the core for `store`.
async fn carry_out(system: System, order: Order, desk: Desk, store: Span) {
    let mut bytes = Vec::new();
    match order {
        Order::Load(address, len) => {
            bytes = system.read(address, len).await;
            bytes.resize(len as usize, 0xff);
        }
        Order::Store(address, stored) => {
            system.store(address, &stored).await;
            system.work(store).await;
        }
        Order::Work(span) => system.work(span).await,
        Order::Interrupt(message) => system.interrupt(message).await,
        Order::Written(address) => system.written(address).await,
    }
    *desk.bytes() = Some(bytes);
    desk.is_done.store(true, Ordering::Relaxed);
}
