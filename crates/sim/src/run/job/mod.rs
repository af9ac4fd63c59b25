//! A job whose programs run outside the simulation. A rank receives its next call when it has finished the last call.
//!
//! Simulated time does not pass between the end of a call and the next call of the same rank. Bytes are copied to and from the memory of a rank's
//! host without a simulated access. A program itself states the time that it works on its own memory ([`Call::Compute`]).

mod call;
mod program;
mod staging;
mod together;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use device::nic::registers::{FUNCTIONS, PAIRS};
use host::ThreadId;
use host::ranks::{RankConfig, RankParameters};
use kernel::{Parameters, Span, Time, Value};
use packet::Fault;
use protocol::QueuePairId;

use crate::model::Model;
use crate::run::access::AccessError;
use crate::run::simulation::{Halt, Simulation};
use crate::scenario::advice;
use program::{Bell, Desk, Order, serve};
use staging::{Staged, Window};
use together::Together;

pub use call::{Call, CallError, Done, Letter, Refused, Spot, Wanted};
pub use host::ranks::{Number, Operator};
pub use together::Collective;

/// The ranks of a job.
#[derive(Debug)]
pub struct Job {
    ranks: Vec<Member>,
    bell: Arc<Bell>,
    together: Together,
    /// Windows that ranks have allocated, in groups of one per rank.
    windows: Vec<Option<Window>>,
    /// The number of times that programs have run, as last read, and the time when this number changed.
    stirred: (u64, Time),
    /// The last time at which a program had run, or a packet was under way.
    moved: Time,
}

#[derive(Debug)]
struct Member {
    nic: String,
    function: u8,
    host: usize,
    /// Base address of the host's memory.
    base: u64,
    thread: ThreadId,
    desk: Desk,
    /// The call under way.
    call: Option<Staged>,
    /// Requests begun and not ended, by number.
    begun: BTreeMap<u32, Staged>,
    /// Numbers of sends and receives begun, and of allocations made.
    numbers: u32,
    allocations: usize,
}

/// Time without a packet under way after which waiting ranks count as stuck. A lack of events cannot show this, because links with errors update
/// their credit for ever.
const PATIENCE: Span = Span::from_us(100_000);

/// Time after which waiting ranks count as stuck although packets are under way.
const PATIENCE_WITH_PACKETS: Span = Span::from_us(10_000_000);

/// The base of the keys of jobs. The key of a job is this base plus the number of queue pairs that were opened before.
const KEYS: u16 = 0x7a00;

impl Job {
    /// Begins a rank at each of `nics`, in this order, on unused queue pairs.
    pub fn new(
        simulation: &mut Simulation,
        nics: &[&str],
        parameters: &RankParameters,
    ) -> Result<Self, AccessError> {
        let mut ids = Vec::new();
        for nic in nics {
            ids.push(simulation.free_pair(nic, &ids)?);
        }
        let pair = |id: &QueuePairId| (id.function(), id.pair());
        let pairs = nics.iter().zip(&ids).map(|(nic, id)| (*nic, pair(id)));
        let pairs: Vec<_> = pairs.collect();
        let key = KEYS.wrapping_add(simulation.outside.opened.len() as u16);
        let configs = simulation.open_rank_pairs(&pairs, key, parameters)?;
        let bell = Arc::default();
        let begin = |config: RankConfig| Member::new(simulation, pairs[config.rank], config, &bell);
        Ok(Self {
            ranks: configs.into_iter().map(begin).collect::<Result<_, _>>()?,
            bell,
            together: Together::of(nics.len()),
            windows: Vec::new(),
            stirred: (0, Time::ZERO),
            moved: Time::ZERO,
        })
    }

    /// Makes `rank`, whose last call has ended, begin a call, and returns the number of the request.
    pub fn call(
        &mut self,
        simulation: &mut Simulation,
        rank: usize,
        call: Call<'_>,
    ) -> Result<u32, CallError> {
        self.check(rank)?;
        if self.ranks[rank].call.is_some() {
            return Err(CallError::Busy(rank));
        }
        if let Some(collective) = call.collective() {
            self.check_together(rank, collective)?;
        }
        let mut staged = Staged::default();
        let told = self.order(simulation, rank, call, &mut staged);
        let (order, number) = match told {
            Ok(told) => told,
            Err(error) => {
                simulation.give_back(self.ranks[rank].host, &staged.taken);
                return Err(error);
            }
        };
        let member = &mut self.ranks[rank];
        if let Order::BeginSend(number, _) | Order::BeginReceive(number, _) = order {
            member.begun.insert(number, std::mem::take(&mut staged));
        }
        member.call = Some(staged);
        member.tell(simulation, order);
        Ok(number)
    }

    /// Stops `rank`: it does nothing more, even if others wait for it.
    pub fn leave(&mut self, simulation: &mut Simulation, rank: usize) -> Result<(), CallError> {
        self.check(rank)?;
        self.ranks[rank].tell(simulation, Order::Leave);
        Ok(())
    }

    /// Lets time pass until calls of ranks have ended, while `watch`, called from time to time, allows it. Returns the ended calls in the order of
    /// ranks, or an empty list if no call will ever end.
    pub fn advance(
        &mut self,
        simulation: &mut Simulation,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<Done>, Refused> {
        loop {
            let is_rung = |_: &mut _| self.bell.rung.swap(false, Ordering::Relaxed).then_some(());
            match simulation.step_while(Time::NEVER, &mut || false, is_rung) {
                Ok(()) => return self.take_done(simulation),
                Err(Halt::Left) if watch() && !self.is_stuck(simulation) => {}
                Err(_) => return Ok(Vec::new()),
            }
        }
    }

    /// Size of a window in bytes.
    pub fn window_size(&self, window: usize) -> Result<u64, CallError> {
        Ok(self.window(window)?.size)
    }

    /// Writes `bytes` into a rank's own window, without an access.
    pub fn store(
        &self,
        simulation: &mut Simulation,
        spot: Spot,
        bytes: &[u8],
    ) -> Result<(), CallError> {
        let (rank, address) = self.place(spot, bytes.len() as u64)?;
        self.ranks[rank].put(simulation, address, bytes);
        Ok(())
    }

    /// The `len` bytes in a rank's own window, without an access.
    pub fn load(
        &self,
        simulation: &Simulation,
        spot: Spot,
        len: u64,
    ) -> Result<Vec<u8>, CallError> {
        let (rank, address) = self.place(spot, len)?;
        Ok(self.ranks[rank].bytes(simulation, address, len))
    }

    /// Faults for which controllers have stopped requests of the ranks, and their counts. The list is empty unless the message layer has an error.
    pub fn faults(&self, simulation: &Simulation) -> Result<Vec<(String, u64)>, AccessError> {
        let mut stopped = Vec::new();
        for member in &self.ranks {
            let counts = simulation.faults(&member.nic, member.function)?;
            let counts = Fault::ALL.iter().zip(counts);
            let faults = counts.filter(|(_, count)| *count > 0);
            let named = faults.map(|(fault, count)| {
                let name = fault.name();
                (format!("{}: {name}", member.nic), count)
            });
            stopped.extend(named);
        }
        Ok(stopped)
    }

    fn check(&self, rank: usize) -> Result<(), CallError> {
        let size = self.ranks.len();
        let is_there = rank < size;
        is_there
            .then_some(())
            .ok_or_else(|| CallError::NoRank(rank, size.saturating_sub(1)))
    }

    fn check_together(&mut self, rank: usize, call: Collective) -> Result<(), CallError> {
        let called = self.together.call(rank, call);
        called.map_err(|(number, first, other)| CallError::Different {
            number,
            rank,
            call,
            first,
            other,
        })
    }

    fn take_done(&mut self, simulation: &mut Simulation) -> Result<Vec<Done>, Refused> {
        let mut all = Vec::new();
        for (rank, member) in self.ranks.iter_mut().enumerate() {
            let Some(answer) = member.desk.slot().answer.take() else {
                continue;
            };
            let staged = member.call.take().unwrap_or_default();
            let status = answer.map_err(|fault| Refused { rank, fault })?;
            let (from, tag, len) = status.map_or((0, 0, 0), |one| (one.from, one.tag, one.len));
            let item = staged.yields_of(len);
            all.push(Done {
                rank,
                from,
                tag,
                len: u64::from(len),
                bytes: member.bytes(simulation, item.address, u64::from(item.len)),
            });
            simulation.give_back(member.host, &staged.taken);
        }
        Ok(all)
    }

    /// Whether all ranks have waited so long that they count as stuck.
    fn is_stuck(&mut self, simulation: &Simulation) -> bool {
        let (now, stirs) = (simulation.now(), self.bell.stirs.load(Ordering::Relaxed));
        if self.stirred.0 != stirs {
            self.stirred = (stirs, now);
        }
        if self.stirred.1 == now || simulation.packets_in_use() > 0 {
            self.moved = now;
        }
        let waits = |member: &Member| simulation.waits(member.host, member.thread);
        let is_late = now > self.moved + PATIENCE || now > self.stirred.1 + PATIENCE_WITH_PACKETS;
        is_late && self.ranks.iter().all(waits)
    }
}

impl Member {
    /// The rank at `config`, whose program begins now.
    fn new(
        simulation: &mut Simulation,
        (nic, (function, _)): (&str, (u8, u8)),
        config: RankConfig,
        bell: &Arc<Bell>,
    ) -> Result<Self, AccessError> {
        let name = simulation.host_of(nic)?;
        let host = simulation.node(&name)?;
        let desk = Desk::default();
        let (slot, bell) = (desk.clone(), bell.clone());
        let thread = simulation.spawn(&name, |system| serve(system, config, slot, bell))?;
        let memory = simulation.plan().nodes[host].memory;
        Ok(Self {
            nic: nic.to_owned(),
            function,
            host,
            base: memory.map_or(0, |memory| memory.base),
            thread,
            desk,
            call: None,
            begun: BTreeMap::new(),
            numbers: 0,
            allocations: 0,
        })
    }

    /// Gives the program its next order now.
    fn tell(&self, simulation: &mut Simulation, order: Order) {
        self.desk.slot().order = Some(order);
        simulation.go_on(self.host, self.thread);
    }

    fn number(&mut self) -> u32 {
        self.numbers = self.numbers.wrapping_add(1);
        self.numbers
    }

    fn bytes(&self, simulation: &Simulation, address: u64, len: u64) -> Vec<u8> {
        let mut bytes = vec![0; len as usize];
        if let Some(memory) = simulation.model(self.host).memory()
            && len > 0
        {
            memory.read(address - self.base, &mut bytes);
        }
        bytes
    }
}

impl Simulation {
    /// The first queue pair of `nic` that is not open, in a function that neither a workload nor a queue pair in `beside` uses.
    fn free_pair(&self, nic: &str, beside: &[QueuePairId]) -> Result<QueuePairId, AccessError> {
        let node = &self.plan().nodes[self.node(nic)?];
        let processor = self.attachment(nic)?.processor;
        let used = self.plan().workloads.iter();
        let used = used.flat_map(|one| one.workload.kind().queue_pairs());
        let used: Vec<QueuePairId> = used.chain(beside.iter().copied()).collect();
        let pairs = (0..FUNCTIONS as u8)
            .filter(|function| node.doorbells(*function).is_some())
            .map(|function| QueuePairId::new(processor, function, 0))
            .filter(|id| {
                used.iter()
                    .all(|used| used.number() >> 2 != id.number() >> 2)
            })
            .flat_map(|id| {
                (0..PAIRS as u8).map(move |pair| QueuePairId::new(processor, id.function(), pair))
            });
        let mut closed = pairs.filter(|id| !self.outside.opened.contains(id));
        closed
            .next()
            .ok_or_else(|| AccessError::NoFunctionLeft(nic.to_owned()))
    }

    /// Resumes a paused program of a host.
    fn go_on(&mut self, host: usize, thread: ThreadId) {
        let now = self.now();
        if let Some(root) = self.model_mut(host).host_mut() {
            root.cpu_mut().go_on(thread, now);
        }
        self.act(host, Model::ask);
    }

    fn waits(&self, host: usize, thread: ThreadId) -> bool {
        let root = self.model(host).host();
        root.is_none_or(|root| root.cpu().is_waiting(thread))
    }
}

/// The parameters of ranks, with `settings` in place of the defaults.
pub fn parameters<'a>(
    settings: impl IntoIterator<Item = (&'a str, Value<'a>)>,
) -> Result<RankParameters, String> {
    let mut parameters = RankParameters::default();
    for (key, value) in settings {
        let known = parameters.set(key, &value);
        if known.map_err(|message| format!("{key}: {message}"))? {
            continue;
        }
        let keys = parameters.keys();
        let advice = advice(key, keys);
        return Err(format!("unknown parameter {key:?} of ranks; {advice}"));
    }
    Ok(parameters)
}
