//! The invariants of coherence, checked during a run: an agent that may write a line holds it alone, and all agents that may read a
//! line have the same bytes, which are the bytes of memory unless an agent holds the line dirty.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroU64;

use coherence::Agent;
use device::{Accelerator, HasEndpoint};
use host::Host;
use kernel::Time;
use protocol::coherence::{LINE_BYTES, Line, LineData, State};

use crate::model::Model;
use crate::plan::FabricPlan;

/// A violated invariant, and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoherence {
    /// Address of the first byte of the line.
    pub address: u64,
    /// Agents that hold the line, and their states.
    pub holders: Vec<(String, State)>,
    /// The violated invariant, in words.
    pub what: &'static str,
}

impl fmt::Display for Incoherence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let holders = self.holders.iter();
        let holders: Vec<String> = holders
            .map(|(name, state)| format!("{name} {state:?}"))
            .collect();
        write!(
            formatter,
            "line {:#x}: {} ({})",
            self.address,
            self.what,
            holders.join(", ")
        )
    }
}

/// Checks the invariants periodically.
#[derive(Debug)]
pub struct Watch {
    every: NonZeroU64,
    /// Number of events at which the next check is due.
    next: u64,
    /// The first violation, and its time.
    found: Option<(Time, Incoherence)>,
}

impl Watch {
    /// A watch that checks after every `every` events.
    pub fn new(every: NonZeroU64) -> Self {
        Watch {
            every,
            next: 0,
            found: None,
        }
    }

    /// Checks at the time `now`, if at least `every` events have happened since the last check. `events` is the number of events so far.
    pub fn check(&mut self, (plan, models): (&FabricPlan, &[Model]), now: Time, events: u64) {
        if events < self.next || self.found.is_some() {
            return;
        }
        self.next = events + self.every.get();
        if let Err(what) = check((plan, models, now)) {
            self.found = Some((now, what));
        }
    }

    /// The first violation, in words.
    pub fn found(&self) -> Option<String> {
        let (when, what) = self.found.as_ref()?;
        Some(format!("after {:.3} ns: {what}", when.as_ns()))
    }
}

/// Checks and counts the lines that agents hold; agents behind failed links are left out.
pub fn check((plan, models, now): (&FabricPlan, &[Model], Time)) -> Result<usize, Incoherence> {
    let mut lines = 0;
    for (index, model) in models.iter().enumerate() {
        if let Some(host) = model.host() {
            lines += check_host((plan, models, now), index, host)?;
        }
    }
    Ok(lines)
}

/// Overwrites `bytes`, the memory at `address`, with the dirty lines in caches.
pub fn overlay(
    (plan, models, now): (&FabricPlan, &[Model], Time),
    host: usize,
    (address, bytes): (u64, &mut [u8]),
) {
    let end = address + bytes.len() as u64;
    let mut put = |line: Line, data: &LineData| {
        for (at, byte) in (line.address()..).zip(&data.bytes) {
            if (address..end).contains(&at) {
                bytes[(at - address) as usize] = *byte;
            }
        }
    };
    if let Some(root) = models[host].host() {
        root.cores()
            .flat_map(Agent::dirty)
            .for_each(|(line, data)| put(line, data));
    }
    for (node, model) in plan.nodes.iter().zip(models) {
        if let Some(accelerator) = model.device::<Accelerator>()
            && node.root == host
            && !accelerator.endpoint().link().has_failed(now)
        {
            accelerator
                .agent()
                .dirty()
                .for_each(|(line, data)| put(line, data));
        }
    }
}

type Holders<'a> = BTreeMap<Line, Vec<(String, State, &'a LineData)>>;

fn check_host(
    (plan, models, now): (&FabricPlan, &[Model], Time),
    index: usize,
    host: &Host,
) -> Result<usize, Incoherence> {
    let name = &plan.nodes[index].name;
    let mut holders = Holders::new();
    for (core, agent) in host.cores().enumerate() {
        gather(&format!("core {core} of {name}"), agent, &mut holders);
    }
    for (node, model) in plan.nodes.iter().zip(models) {
        if let Some(accelerator) = model.device::<Accelerator>()
            && node.root == index
            && !accelerator.endpoint().link().has_failed(now)
        {
            gather(&node.name, accelerator.agent(), &mut holders);
        }
    }
    // Software that writes these lines with No Snoop must keep them coherent itself.
    let unsnooped = host.unsnooped_lines().filter(|one| one.writes > 0);
    let unsnooped: BTreeSet<Line> = unsnooped.map(|one| one.line).collect();
    let watched = holders.iter().filter(|(line, _)| !unsnooped.contains(line));
    for (line, holders) in watched {
        let wrong = |what| {
            Err(Incoherence {
                address: line.address(),
                holders: holders
                    .iter()
                    .map(|(name, state, _)| (name.clone(), *state))
                    .collect(),
                what,
            })
        };
        let writers = holders
            .iter()
            .filter(|(_, state, _)| state.may_write())
            .count();
        if writers > 0 && holders.len() > 1 {
            return wrong("who may write it does not hold it alone");
        }
        let (_, state, bytes) = &holders[0];
        if holders
            .iter()
            .any(|(_, _, other)| other.bytes != bytes.bytes)
        {
            return wrong("those who may read it have different bytes");
        }
        if *state != State::UniqueDirty && !host.has_pending_request(*line) {
            let mut there = [0; LINE_BYTES];
            let base = plan.nodes[index].memory.map_or(0, |memory| memory.base);
            host.memory().read(line.address() - base, &mut there);
            if there != bytes.bytes {
                return wrong("nobody has written it, and memory has other bytes");
            }
        }
    }
    Ok(holders.len())
}

fn gather<'a>(name: &str, agent: &'a Agent<LineData>, holders: &mut Holders<'a>) {
    for (line, state) in agent.lines() {
        if let (true, Some(data)) = (state.may_read(), agent.data(line)) {
            let all = holders.entry(line).or_default();
            all.push((name.to_owned(), state, data));
        }
    }
}
