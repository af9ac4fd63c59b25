//! Which bytes of memories and devices are taken: by buffers, flows and messages from the beginning, by drivers' lists from the end.

use host::driver::PAGE;

use super::Region;

/// The bytes that are taken of each node.
#[derive(Debug)]
pub(crate) struct Claims {
    /// From the beginning.
    used: Vec<u64>,
    /// From the end of a host's memory.
    lists: Vec<u64>,
}

impl Claims {
    /// The claims on so many nodes, none of which is made yet.
    pub(crate) fn new(nodes: usize) -> Self {
        Claims {
            used: vec![0; nodes],
            lists: vec![0; nodes],
        }
    }

    /// How far into `node` its bytes are taken, to the end of a page.
    pub(crate) fn taken(&self, node: usize) -> u64 {
        self.used[node].next_multiple_of(PAGE)
    }

    /// The first aligned address in `memory` of `node` after all that is taken.
    pub(crate) fn next_aligned(&self, node: usize, memory: Region, alignment: u64) -> u64 {
        (memory.base + self.used[node]).next_multiple_of(alignment)
    }

    /// Takes everything of `node` up to `end`.
    pub(crate) fn take_to(&mut self, node: usize, end: u64) {
        self.used[node] = end;
    }

    /// Takes `size` bytes of `node`: how far into its `region` they are. Where there are not so many left, they are shared with
    /// others, from the beginning.
    pub(crate) fn free(&mut self, node: usize, region: Region, size: u64) -> u64 {
        self.claim(node, region, size).unwrap_or(0)
    }

    /// Takes `size` bytes of `node`, if so many are left: how far into its `region` they are.
    pub(crate) fn claim(&mut self, node: usize, region: Region, size: u64) -> Option<u64> {
        let free = self.taken(node);
        if free + size > region.size {
            return None;
        }
        self.used[node] = free + size;
        Some(free)
    }

    /// Takes `size` bytes for a list, if there are: how far into the memory `region` of the host `node` they are, on pages at its
    /// end, where no buffer is unless somebody puts it there.
    pub(crate) fn keep_list(&mut self, node: usize, region: Region, size: u64) -> Option<u64> {
        self.lists[node] += size.next_multiple_of(PAGE);
        let at = (region.size - region.size % PAGE).checked_sub(self.lists[node])?;
        (at >= self.used[node]).then_some(at)
    }

    /// The bytes of `memory` of `node` that are not taken; none where there is no memory.
    pub(crate) fn spare(&self, node: usize, memory: Option<Region>) -> Option<Region> {
        let memory = memory?;
        let first = self.taken(node);
        let end = (memory.size - memory.size % PAGE).saturating_sub(self.lists[node]);
        Some(Region {
            base: memory.base + first,
            size: end.saturating_sub(first),
        })
    }
}
