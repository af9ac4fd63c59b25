//! Hosts whose IOMMU translates the addresses of requests from below: the mapped ranges, and the addresses of the page tables.

use std::ops::Range;

use fabric::IdentityMapping;
use kernel::Bytes;
use protocol::Pasid;
use transaction::PageSize;

use crate::scenario::{NodeKind, ScenarioError};

use super::address::show;
use super::address_maps::AddressMaps;
use super::allocator::Allocator;

/// Keys that have no effect without `iommu = true`. The first one is also used for the page tables of processes.
const KEYS: [&str; 2] = ["iommu_page", "iommu_mapped"];

/// The page size to which the ranges of BARs are rounded in page tables.
const PAGE: u64 = 4096;

/// The first address that page tables cannot map.
const BEYOND: u64 = 1 << 48;

impl Allocator<'_> {
    /// Plans the mappings of every host with an IOMMU for requests from below.
    pub(crate) fn identities(&mut self) -> Result<Vec<AddressMaps>, ScenarioError> {
        let nodes = 0..self.nodes.len();
        let maps = |node| {
            Ok(AddressMaps {
                of_functions: self.identity(node)?,
                of_processes: self.processes(node)?,
            })
        };
        nodes.map(maps).collect()
    }

    /// Plans the mapping of each process of a host: either the whole memory and all BARs below the host, or only the first bytes of the memory.
    fn processes(&mut self, host: usize) -> Result<Vec<(Pasid, IdentityMapping)>, ScenarioError> {
        let node = &self.scenario.nodes[host];
        let Some(processes) = &node.iommu.iommu_pasids else {
            return Ok(Vec::new());
        };
        let plan = |(pasid, mapped): &(Pasid, Option<Bytes>)| {
            let mut ranges = vec![self.memory(host, *mapped)];
            if mapped.is_none() {
                ranges.extend(self.bars_below(host));
            }
            Ok((*pasid, self.tables(host, ranges, "iommu_pasids")?))
        };
        processes.0.iter().map(plan).collect()
    }

    /// The range of whole pages in a host's memory, or in its first `mapped` bytes, with the page size that maps the range.
    fn memory(&self, host: usize, mapped: Option<Bytes>) -> (Range<u64>, PageSize) {
        let memory = self.nodes[host].memory.expect("a host has memory");
        let size = mapped.map_or(memory.size, |Bytes(size)| {
            size.next_multiple_of(PAGE).min(memory.size)
        });
        let pages = memory.base..memory.base + (size - size % PAGE);
        (pages, self.scenario.nodes[host].iommu.iommu_page)
    }

    /// Allocates memory for the page tables that map these ranges. Error messages name `key`, the key that requests the page tables.
    fn tables(
        &mut self,
        host: usize,
        ranges: Vec<(Range<u64>, PageSize)>,
        key: &str,
    ) -> Result<IdentityMapping, ScenarioError> {
        let node = &self.scenario.nodes[host];
        let memory = self.nodes[host].memory.expect("a host has memory");
        let size = IdentityMapping::table_bytes(&ranges);
        let Some(offset) = self.claims.keep_list(host, memory, size) else {
            let message = format!(
                "{}, {key}: the page tables, of {}, do not fit in the memory of {}; write a larger memory, or a larger iommu_page",
                node.name.value,
                show(size),
                show(memory.size)
            );
            return Err(self.scenario.error(node.lines.of(key), message));
        };
        let base = memory.base + offset;
        Ok(IdentityMapping {
            tables: base..base + size,
            ranges,
        })
    }

    fn identity(&mut self, host: usize) -> Result<Option<IdentityMapping>, ScenarioError> {
        let node = &self.scenario.nodes[host];
        if !matches!(node.kind, NodeKind::Host(..)) {
            return Ok(None);
        }
        let name = &node.name.value;
        if !node.iommu.iommu {
            let has_processes = node.iommu.iommu_pasids.is_some();
            let idle = |key: &&str| node.lines.has(key) && !(has_processes && *key == KEYS[0]);
            let Some(key) = KEYS.into_iter().find(idle) else {
                return Ok(None);
            };
            let message = format!(
                "{name}, {key}: the host translates no addresses of other devices; write iommu = true there, or leave it out"
            );
            return Err(self.scenario.error(node.lines.of(key), message));
        }
        let mut ranges = vec![self.memory(host, node.iommu.iommu_mapped)];
        ranges.extend(self.bars_below(host));
        self.tables(host, ranges, "iommu").map(Some)
    }

    /// The addresses of all BARs below a host, rounded to whole pages and merged where they are adjacent. Each range is mapped with the largest pages
    /// that fit.
    fn bars_below(&self, host: usize) -> Vec<(Range<u64>, PageSize)> {
        let below = self.nodes.iter().filter(|node| node.root == host);
        let bars = below.flat_map(|node| node.bars.iter().flatten().chain(&node.virtual_bars));
        let mut pages: Vec<Range<u64>> = bars
            .map(|bar| bar.base / PAGE * PAGE..bar.end().next_multiple_of(PAGE))
            .filter(|pages| pages.end <= BEYOND)
            .collect();
        pages.sort_by_key(|pages| pages.start);
        let mut ranges: Vec<(Range<u64>, PageSize)> = Vec::new();
        for pages in pages {
            match ranges.last_mut() {
                Some((last, _)) if pages.start <= last.end => last.end = last.end.max(pages.end),
                _ => ranges.push((pages, PageSize::Gib1)),
            }
        }
        ranges
    }
}
