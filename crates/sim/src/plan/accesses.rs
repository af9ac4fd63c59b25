//! Buffers in the memories of hosts, and who accesses them.

use kernel::{Bytes, Span, Time};
use transaction::{AccessKind, Mapping, PageSize, Rights};

use crate::scenario::{
    Access, Buffer, DeviceParameters, Kind, Lines, NodeKind, Order, Scenario, ScenarioError,
};

use super::address::show;
use super::planner::{Planner, taken};
use super::tree::known;
use super::{NodePlan, Region};

/// A buffer in the memory of a host.
#[derive(Clone, Debug)]
pub struct BufferPlan {
    /// Its name.
    pub name: String,
    /// The host.
    pub host: usize,
    /// Where it is in the memory.
    pub address: u64,
    /// Where it is for devices with virtual addresses.
    pub virtual_address: u64,
    /// Its bytes.
    pub size: u64,
    /// The pages that it is on: the last one may reach beyond it.
    pub page: PageSize,
    /// What devices may do with it.
    pub rights: Rights,
    /// Whether its pages are there from the beginning.
    pub present: bool,
    /// Where else in memory it is moved to and fro, how often, and how long after each other.
    pub moves: Option<(u64, u32, Span)>,
}

impl BufferPlan {
    /// Its pages, the last one whole.
    pub fn mappings(&self) -> impl Iterator<Item = Mapping> {
        self.mappings_at(self.address)
    }

    /// The same where it lies at `address`.
    pub fn mappings_at(&self, address: u64) -> impl Iterator<Item = Mapping> {
        let pages = (0..self.size).step_by(self.page.bytes() as usize);
        pages.map(move |offset| {
            let at = (self.virtual_address + offset, address + offset);
            Mapping::around(at.0, at.1, self.page, self.rights)
        })
    }

    /// Tables that its pages need at most.
    fn tables(&self) -> u64 {
        let lowest = match self.page {
            PageSize::Kib4 | PageSize::Kib64 => self.size.div_ceil(PageSize::Mib2.bytes()),
            PageSize::Mib2 | PageSize::Mib32 | PageSize::Gib1 => 0,
        };
        lowest + self.size.div_ceil(PageSize::Gib1.bytes()) + 2
    }
}

/// Accesses one after the other.
#[derive(Clone, Debug)]
pub struct AccessPlan {
    /// Their name, the only one of it.
    pub id: String,
    /// The host, accelerator or engine for blocks that makes them.
    pub by: usize,
    /// The cores that do, each with accesses of its own; one of a device.
    pub cores: std::ops::Range<usize>,
    /// The buffer.
    pub buffer: usize,
    /// What each does.
    pub kind: Kind,
    /// Bytes of each.
    pub size: u64,
    /// How many there are on each core.
    pub count: u64,
    /// How many come before those.
    pub warm_up: u64,
    /// Where each is.
    pub order: Order,
    /// When the first begins.
    pub start: Time,
    /// From the end of each to the beginning of the next.
    pub interval: Span,
    /// What the software that starts each takes around it.
    pub turnaround: Span,
    /// Whether an accelerator has the translations before.
    pub warm_translations: bool,
    /// Whether nobody writes the buffer, so that what is read must be what was there.
    pub check: bool,
}

/// Where the first buffer is for devices with virtual addresses; the others follow, each at a multiple of 1 GiB.
const VIRTUAL: u64 = 0x40_0000_0000;
const VIRTUAL_STEP: u64 = 1 << 30;

/// Bytes of a page table.
const TABLE: u64 = 4096;

impl Planner<'_> {
    /// The buffers, before anything else takes memory.
    pub(super) fn buffers(&mut self) -> Result<Vec<BufferPlan>, ScenarioError> {
        let mut plans: Vec<BufferPlan> = Vec::new();
        let mut next = VIRTUAL;
        for buffer in &self.scenario.buffers {
            let host = self.host_of(buffer)?;
            let memory = self.nodes[host].memory.expect("a host has memory");
            let (Bytes(size), page) = (buffer.parameters.size, buffer.parameters.page);
            let taken = size.next_multiple_of(page.bytes());
            let first = (memory.base + self.used[host]).next_multiple_of(page.bytes());
            let offset = first - memory.base;
            let places = 1 + u64::from(buffer.parameters.moves > 0);
            let end = taken
                .checked_mul(places)
                .and_then(|all| offset.checked_add(all));
            let Some(end) = end.filter(|end| *end <= memory.size) else {
                let message = format!(
                    "{} on pages of {page} have no room in the memory of {}, of {}; write a larger memory there, or less",
                    show(size),
                    self.nodes[host].name,
                    show(memory.size)
                );
                return Err(buffer_error(self.scenario, buffer, "size", &message));
            };
            if buffer.parameters.moves > 0 && !self.nodes[host].coherence.coherent {
                let message = format!(
                    "the cores of {} have no caches to copy it through; write coherent = true there",
                    self.nodes[host].name
                );
                return Err(buffer_error(self.scenario, buffer, "moves", &message));
            }
            self.used[host] = end;
            plans.push(BufferPlan {
                name: buffer.name.value.clone(),
                host,
                address: first,
                virtual_address: next,
                size,
                page,
                rights: buffer.parameters.rights.0,
                present: buffer.parameters.present,
                moves: (buffer.parameters.moves > 0).then_some((
                    first + taken,
                    buffer.parameters.moves,
                    buffer.parameters.move_interval,
                )),
            });
            next += taken.next_multiple_of(VIRTUAL_STEP);
        }
        Ok(plans)
    }

    /// Where in the memory of a host the page tables are, if devices have virtual addresses there.
    pub(super) fn page_tables(
        &mut self,
        host: usize,
        buffers: &[BufferPlan],
    ) -> Result<Option<Region>, ScenarioError> {
        let is_virtual = |node: &NodePlan| node.root == host && node.has_virtual_addresses();
        let Some(device) = self.nodes.iter().position(is_virtual) else {
            return Ok(None);
        };
        let here = buffers.iter().filter(|buffer| buffer.host == host);
        let size = (1 + here.map(BufferPlan::tables).sum::<u64>()) * TABLE;
        let memory = self.nodes[host].memory.expect("a host has memory");
        if let Some(offset) = self.claim(host, memory, size) {
            let base = memory.base + offset;
            return Ok(Some(Region { base, size }));
        }
        let message = format!(
            "the page tables of its buffers, of {}, have no room in the memory of {}; write a larger memory there, or larger pages",
            show(size),
            self.nodes[host].name
        );
        let node = &self.scenario.nodes[device];
        let message = format!("{}: {message}", node.name.value);
        Err(self.scenario.error(node.lines.own(), message))
    }

    fn host_of(&self, buffer: &Buffer) -> Result<usize, ScenarioError> {
        let name = buffer.host.value.as_str();
        let found = self.names.get(name).copied();
        let host = found.filter(|node| matches!(self.nodes[*node].kind, NodeKind::Host(..)));
        host.ok_or_else(|| {
            let advice = known(self.scenario, name, |node| {
                matches!(node.kind, NodeKind::Host(..))
            });
            let message = format!("there is no host {name:?}; {advice}");
            self.scenario.error(
                buffer.host.line,
                format!("buffer {:?}, host: {message}", buffer.name.value),
            )
        })
    }

    /// The accesses to those buffers.
    pub(super) fn accesses(
        &self,
        buffers: &[BufferPlan],
    ) -> Result<Vec<AccessPlan>, ScenarioError> {
        let all = &self.scenario.accesses;
        if let Some((number, message)) = taken(all.iter().map(|access| &access.id)) {
            return Err(access_error(self.scenario, &all[number], "id", &message));
        }
        let mut plans = Vec::new();
        for access in all {
            plans.push(self.access(access, buffers)?);
        }
        let written: Vec<usize> = plans
            .iter()
            .filter(|plan: &&AccessPlan| plan.kind.0 != AccessKind::Read)
            .map(|plan| plan.buffer)
            .collect();
        for plan in &mut plans {
            plan.check = !written.contains(&plan.buffer);
        }
        Ok(plans)
    }

    fn access(&self, access: &Access, buffers: &[BufferPlan]) -> Result<AccessPlan, ScenarioError> {
        let parameters = &access.parameters;
        let error = |key: &str, message: &str| access_error(self.scenario, access, key, message);
        let buffer = buffer_of(&access.buffer.value, buffers);
        let buffer = buffer.map_err(|message| error("buffer", &message))?;
        let by = self.accessor(&access.by.value, &buffers[buffer]);
        let by = by.map_err(|message| error("by", &message))?;
        if buffers[buffer].moves.is_some() && !self.nodes[by].asks_for_translations() {
            let message = format!(
                "{} has physical addresses, and its buffer moves; write an accelerator with virtual_addresses = true, or moves = 0",
                self.nodes[by].name
            );
            return Err(error("by", &message));
        }
        self.check_size(access, by, &buffers[buffer])?;
        let Bytes(size) = parameters.size;
        let first = parameters.first_core as usize;
        let cores = first..first + parameters.cores as usize;
        self.check_cores(by, cores.end, &access.lines)
            .map_err(|(key, message)| error(key, &message))?;
        if parameters.warm_translations && self.is_block_dma(by) {
            let message = format!("{} has physical addresses; leave it out", access.by.value);
            return Err(error("warm_translations", &message));
        }
        Ok(AccessPlan {
            id: access.id.value.clone(),
            by,
            cores,
            buffer,
            kind: parameters.kind,
            size,
            count: parameters.count,
            warm_up: parameters.warm_up,
            order: parameters.order,
            start: Time::from_fs(parameters.start.as_fs()),
            interval: parameters.interval,
            turnaround: parameters.turnaround,
            warm_translations: parameters.warm_translations,
            check: false,
        })
    }

    pub(super) fn is_block_dma(&self, node: usize) -> bool {
        let kind = &self.nodes[node].kind;
        matches!(kind, NodeKind::Device(_, DeviceParameters::BlockDma(_)))
    }

    /// Checks that an access is within the buffer, and that there are atomic operations of its size.
    fn check_size(
        &self,
        access: &Access,
        by: usize,
        buffer: &BufferPlan,
    ) -> Result<(), ScenarioError> {
        let Bytes(size) = access.parameters.size;
        let error = |message: &str| Err(access_error(self.scenario, access, "size", message));
        if size > buffer.size {
            return error(&format!(
                "{} are more than its buffer has; write {} at most",
                show(size),
                show(buffer.size)
            ));
        }
        let AccessKind::Atomic(kind) = access.parameters.kind.0 else {
            return Ok(());
        };
        let (of, widest) = if self.is_block_dma(by) {
            (" of PCI Express", kind.operation().widest().into())
        } else {
            ("", 16)
        };
        if matches!(size, 4 | 8 | 16) && size <= widest {
            return Ok(());
        }
        let right = if widest == 16 {
            "4 B, 8 B or 16 B"
        } else {
            "4 B or 8 B"
        };
        let name = access.parameters.kind.name();
        error(&format!(
            "an {name}{of} is not on {}; write {right}",
            show(size)
        ))
    }

    /// Whether whoever makes accesses has that many cores; a device has none, and no key about them.
    pub(super) fn check_cores(
        &self,
        by: usize,
        end: usize,
        lines: &Lines,
    ) -> Result<(), (&'static str, String)> {
        if let NodeKind::Host(_, costs) = &self.nodes[by].kind {
            if end <= costs.cores as usize {
                return Ok(());
            }
            let (name, most) = (&self.nodes[by].name, costs.cores);
            return Err(("cores", format!("{name} has {most} cores; write fewer")));
        }
        for key in ["cores", "first_core"] {
            if lines.has(key) {
                return Err((key, "a device has no cores; leave it out".to_owned()));
            }
        }
        Ok(())
    }

    /// Who makes accesses: the host of the buffer, or an accelerator or an engine for blocks below it.
    pub(super) fn accessor(&self, name: &str, buffer: &BufferPlan) -> Result<usize, String> {
        let Some(&by) = self.names.get(name) else {
            let advice = known(self.scenario, name, |node| makes_accesses(&node.kind));
            return Err(format!(
                "there is no host, accelerator or block-dma {name:?}; {advice}"
            ));
        };
        let host = &self.nodes[buffer.host];
        let kind = &self.nodes[by].kind;
        if !makes_accesses(kind) {
            return Err(format!(
                "{name} makes no accesses; write a host, or a device with model = \"accelerator\" or \"block-dma\""
            ));
        }
        if self.nodes[by].root != buffer.host {
            return Err(format!(
                "the memory of {}, where {} is, is not in its address space; write {}, or an accelerator or block-dma below it",
                host.name, buffer.name, host.name
            ));
        }
        if matches!(kind, NodeKind::Host(..)) && !host.coherence.coherent {
            return Err(format!(
                "the cores of {name} have no caches; write coherent = true there"
            ));
        }
        Ok(by)
    }
}

/// The buffer of that name.
pub(super) fn buffer_of(name: &str, buffers: &[BufferPlan]) -> Result<usize, String> {
    let buffer = buffers.iter().position(|buffer| buffer.name == name);
    buffer.ok_or_else(|| {
        let names: Vec<&str> = buffers.iter().map(|buffer| buffer.name.as_str()).collect();
        if names.is_empty() {
            format!("there is no buffer {name:?}; write a [buffers.{name}]")
        } else {
            let names = names.join(", ");
            format!("there is no buffer {name:?}; write one of {names}")
        }
    })
}

/// Whether a node of that kind makes accesses to buffers.
fn makes_accesses(kind: &NodeKind) -> bool {
    matches!(
        kind,
        NodeKind::Host(..)
            | NodeKind::Device(
                _,
                DeviceParameters::Accelerator(_) | DeviceParameters::BlockDma(_)
            )
    )
}

fn buffer_error(scenario: &Scenario, buffer: &Buffer, key: &str, message: &str) -> ScenarioError {
    let message = format!("buffer {:?}, {key}: {message}", buffer.name.value);
    scenario.error(buffer.lines.of(key), message)
}

fn access_error(scenario: &Scenario, access: &Access, key: &str, message: &str) -> ScenarioError {
    let line = match key {
        "id" => access.id.line,
        "by" => access.by.line,
        "buffer" => access.buffer.line,
        _ => access.lines.of(key),
    };
    scenario.error(
        line,
        format!("accesses {:?}, {key}: {message}", access.id.value),
    )
}
