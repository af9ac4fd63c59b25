//! The invariants of coherence, looked at while a fabric runs: whoever may write a line holds it alone, and all who may read
//! it have the same bytes, which are those of memory once nobody has written them.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU64;

use coherence::Agent;
use device::{Accelerator, Leaf};
use host::Host;
use kernel::{Time, World};
use packet::Pcie;
use protocol::coherence::{LINE_BYTES, Line, LineData, State};

use crate::model::Model;
use crate::plan::FabricPlan;

/// Which invariant does not hold, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoherence {
    /// The first byte of the line.
    pub address: u64,
    /// Who holds it, and how.
    pub holders: Vec<(String, State)>,
    /// What does not hold.
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

/// Looks at the invariants now and then.
#[derive(Debug)]
pub struct Watch {
    every: NonZeroU64,
    /// How many events have happened at the next look.
    next: u64,
    /// What did not hold first, and when.
    found: Option<(Time, Incoherence)>,
}

impl Watch {
    /// One that looks after every so many events.
    pub fn new(every: NonZeroU64) -> Self {
        Watch {
            every,
            next: 0,
            found: None,
        }
    }

    /// Looks, if as many events as it waits for have happened in `world` since the last look.
    pub fn look(&mut self, (plan, models): (&FabricPlan, &[Model]), world: &World<Pcie>) {
        if world.events() < self.next || self.found.is_some() {
            return;
        }
        self.next = world.events() + self.every.get();
        if let Err(what) = check((plan, models, world.now())) {
            self.found = Some((world.now(), what));
        }
    }

    /// What did not hold first, in words.
    pub fn found(&self) -> Option<String> {
        let (when, what) = self.found.as_ref()?;
        Some(format!("after {:.3} ns: {what}", when.as_ns()))
    }
}

/// Looks at every line that anybody holds, but who is gone with a link: how many there are.
pub fn check((plan, models, now): (&FabricPlan, &[Model], Time)) -> Result<usize, Incoherence> {
    let mut lines = 0;
    for (index, model) in models.iter().enumerate() {
        if let Some(host) = model.host() {
            lines += check_host((plan, models, now), index, host)?;
        }
    }
    Ok(lines)
}

/// Puts over `bytes`, which memory has from `address` on, what caches hold of which it is behind.
pub fn overlay(
    (plan, models, now): (&FabricPlan, &[Model], Time),
    host: usize,
    (address, bytes): (u64, &mut [u8]),
) {
    let end = address + bytes.len() as u64;
    let mut put = |line: Line, data: &LineData| {
        for (at, byte) in (line.address()..).zip(&data.0) {
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
    for (line, holders) in &holders {
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
        if holders.iter().any(|(_, _, other)| other != bytes) {
            return wrong("those who may read it have different bytes");
        }
        if *state != State::UniqueDirty && !host.is_changing(*line) {
            let mut there = [0; LINE_BYTES];
            let base = plan.nodes[index].memory.map_or(0, |memory| memory.base);
            host.memory().read(line.address() - base, &mut there);
            if there != bytes.0 {
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
