//! Allocated bytes of memories and devices. Buffers, flows and messages are allocated from the start of a memory; the lists of drivers from its end.

use std::ops::Range;

use host::driver::PAGE;

use super::Region;

/// The allocated bytes of each node.
#[derive(Debug)]
pub struct Claims {
    /// Bytes allocated from the start of each node.
    used: Vec<u64>,
    /// Bytes allocated from the end of each host's memory.
    lists: Vec<u64>,
    /// Ranges allocated in the memories of single sockets, with their nodes.
    of_sockets: Vec<(usize, Range<u64>)>,
}

impl Claims {
    /// Creates the state without allocations for a number of `nodes`.
    pub(crate) fn new(nodes: usize) -> Self {
        Claims {
            used: vec![0; nodes],
            lists: vec![0; nodes],
            of_sockets: Vec::new(),
        }
    }

    /// The end of the allocated bytes of `node`, rounded up to a page.
    pub fn taken(&self, node: usize) -> u64 {
        self.used[node].next_multiple_of(PAGE)
    }

    /// The first aligned address in `memory` of `node` after all allocated bytes.
    pub(crate) fn next_aligned(&self, node: usize, memory: Region, alignment: u64) -> u64 {
        (memory.base + self.used[node]).next_multiple_of(alignment)
    }

    /// Allocates all bytes of `node` up to `end`.
    pub fn take_to(&mut self, node: usize, end: u64) {
        self.used[node] = end;
    }

    /// Allocates `size` bytes of `node` and returns their offset in its `region`. If too few bytes are left, the offset is 0, and other
    /// users share these bytes.
    pub fn free(&mut self, node: usize, region: Region, size: u64) -> u64 {
        self.claim(node, region, size).unwrap_or(0)
    }

    /// Allocates `size` bytes of `node` and returns their offset in its `region`; none if too few bytes are left.
    pub fn claim(&mut self, node: usize, region: Region, size: u64) -> Option<u64> {
        let free = self.first_free(node, self.taken(node), size);
        if free + size > region.size {
            return None;
        }
        self.used[node] = free + size;
        Some(free)
    }

    /// Allocates `size` bytes of `node` within `range`, the memory of a socket, and returns their offset in its memory; none if too few
    /// bytes are left.
    pub fn claim_in(&mut self, node: usize, range: Range<u64>, size: u64) -> Option<u64> {
        let free = self.first_free(node, range.start.max(self.taken(node)), size);
        if free + size > range.end {
            return None;
        }
        self.of_sockets.push((node, free..free + size));
        Some(free)
    }

    /// The first page at or after `from` at which `size` bytes begin that are not allocated to a flow to a single socket.
    fn first_free(&self, node: usize, from: u64, size: u64) -> u64 {
        let mut free = from.next_multiple_of(PAGE);
        while let Some(end) = self.end_of_other(node, &(free..free.saturating_add(size))) {
            free = end.next_multiple_of(PAGE);
        }
        free
    }

    /// The end of a range that is allocated to a flow to a single socket of `node` and overlaps `wanted`; `None` if there is no such range.
    fn end_of_other(&self, node: usize, wanted: &Range<u64>) -> Option<u64> {
        let overlaps = |range: &Range<u64>| range.start < wanted.end && wanted.start < range.end;
        let mut others = self.of_sockets.iter();
        let found = others.find(|(place, range)| *place == node && overlaps(range));
        found.map(|(_, range)| range.end)
    }

    /// Allocates `size` bytes for a driver's list and returns their offset in the memory `region` of the host `node`. Lists occupy whole pages at the
    /// end of memory, where no buffer is unless the scenario places one there.
    pub fn keep_list(&mut self, node: usize, region: Region, size: u64) -> Option<u64> {
        self.lists[node] += size.next_multiple_of(PAGE);
        let at = (region.size - region.size % PAGE).checked_sub(self.lists[node])?;
        let is_free = self.first_free(node, at, self.lists[node]) == at;
        (at >= self.used[node] && is_free).then_some(at)
    }

    /// The unallocated bytes of `memory` of `node`; none without memory.
    pub(crate) fn spare(&self, node: usize, memory: Option<Region>) -> Option<Region> {
        let memory = memory?;
        let mut first = self.taken(node);
        let mut end = (memory.size - memory.size % PAGE).saturating_sub(self.lists[node]);
        for (place, range) in &self.of_sockets {
            if *place != node || range.end <= first || range.start >= end {
                continue;
            }
            // The free region is on one side of the range: the larger part, before or after it, remains.
            if range.start.saturating_sub(first) > end.saturating_sub(range.end) {
                end = range.start;
            } else {
                first = range.end.next_multiple_of(PAGE);
            }
        }
        Some(Region {
            base: memory.base + first,
            size: end.saturating_sub(first),
        })
    }
}
