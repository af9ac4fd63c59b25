//! Addresses of buffers and page tables in the memories of their hosts.

use std::collections::BTreeMap;

use kernel::Bytes;

use crate::address::{Region, show};
use crate::allocator::Allocator;
use crate::scenario::{NodeKind, ScenarioError};
use crate::tree::known;

use super::BufferPlan;

/// The virtual address of the first buffer; the others follow, each at a multiple of 1 GiB.
const VIRTUAL: u64 = 0x40_0000_0000;
const VIRTUAL_STEP: u64 = 1 << 30;

/// The size of a page table in bytes.
const TABLE: u64 = 4096;

impl Allocator<'_> {
    /// Plans the buffers, before anything else allocates memory.
    pub(crate) fn buffers(&mut self) -> Result<Vec<BufferPlan>, ScenarioError> {
        let mut plans: Vec<BufferPlan> = Vec::new();
        let mut next = VIRTUAL;
        for buffer in &self.scenario.buffers {
            let error = |key: &str, message: String| {
                let message = format!("buffer {:?}, {key}: {message}", buffer.name.value);
                self.scenario.error(buffer.lines.of(key), message)
            };
            let host = self.host_of(buffer.host.value.as_str());
            let host = host.map_err(|message| error("host", message))?;
            let memory = self.nodes[host].memory.expect("a host has memory");
            let (Bytes(size), page) = (buffer.parameters.size, buffer.parameters.page);
            let taken = size.next_multiple_of(page.bytes());
            let first = self.claims.next_aligned(host, memory, page.bytes());
            let offset = first - memory.base;
            let places = 1 + u64::from(buffer.parameters.moves > 0);
            let end = taken
                .checked_mul(places)
                .and_then(|all| offset.checked_add(all));
            let Some(end) = end.filter(|end| *end <= memory.size) else {
                let message = format!(
                    "{} on pages of {page} do not fit in the memory of {}, of {}; write a larger memory there, or less",
                    show(size),
                    self.nodes[host].name,
                    show(memory.size)
                );
                return Err(error("size", message));
            };
            if buffer.parameters.moves > 0 && !self.nodes[host].coherence.coherent {
                let message = format!(
                    "the cores of {} have no caches to copy it through; write coherent = true there",
                    self.nodes[host].name
                );
                return Err(error("moves", message));
            }
            if buffer.parameters.in_system_cache && !self.nodes[host].coherence.coherent {
                let message = format!(
                    "{} has no system cache; write coherent = true there",
                    self.nodes[host].name
                );
                return Err(error("in_system_cache", message));
            }
            self.claims.take_to(host, end);
            plans.push(BufferPlan {
                name: buffer.name.value.clone(),
                host,
                address: first,
                virtual_address: next,
                size,
                page,
                rights: buffer.parameters.rights,
                present: buffer.parameters.present,
                in_system_cache: buffer.parameters.in_system_cache,
                is_written: false,
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

    /// Allocates page tables in the memory of each host that has devices below it with virtual addresses.
    pub(crate) fn page_tables(
        &mut self,
        buffers: &[BufferPlan],
    ) -> Result<Vec<Option<Region>>, ScenarioError> {
        let mut devices = BTreeMap::new();
        for (device, node) in self.nodes.iter().enumerate() {
            if node.has_virtual_addresses() {
                devices.entry(node.root).or_insert(device);
            }
        }
        let mut tables = vec![None; self.nodes.len()];
        for (host, device) in devices {
            tables[host] = Some(self.tables_of(host, device, buffers)?);
        }
        Ok(tables)
    }

    /// Allocates the page tables of `host`, of which `device` is the first that needs them.
    fn tables_of(
        &mut self,
        host: usize,
        device: usize,
        buffers: &[BufferPlan],
    ) -> Result<Region, ScenarioError> {
        let here = buffers.iter().filter(|buffer| buffer.host == host);
        let size = (1 + here.map(BufferPlan::tables).sum::<u64>()) * TABLE;
        let memory = self.nodes[host].memory.expect("a host has memory");
        if let Some(offset) = self.claims.claim(host, memory, size) {
            let base = memory.base + offset;
            return Ok(Region { base, size });
        }
        let message = format!(
            "the page tables of its buffers, of {}, do not fit in the memory of {}; write a larger memory there, or larger pages",
            show(size),
            self.nodes[host].name
        );
        let node = &self.scenario.nodes[device];
        let message = format!("{}: {message}", node.name.value);
        Err(self.scenario.error(node.lines.own(), message))
    }

    fn host_of(&self, name: &str) -> Result<usize, String> {
        let is_host = |kind: &NodeKind| matches!(kind, NodeKind::Host(..));
        let mut nodes = self.nodes.iter();
        let found = nodes.position(|node| node.name == name && is_host(&node.kind));
        found.ok_or_else(|| {
            let advice = known(self.scenario, name, |node| is_host(&node.kind));
            format!("there is no host {name:?}; {advice}")
        })
    }
}
