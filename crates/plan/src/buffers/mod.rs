//! Buffers in the memories of hosts, and the page tables that map them.

mod plan;

use kernel::Span;
use transaction::{Mapping, PageSize, Rights};

use crate::scenario::position;

/// A buffer in the memory of a host.
#[derive(Clone, Debug)]
pub struct BufferPlan {
    /// The buffer's name.
    pub name: String,
    /// The node of the host.
    pub host: usize,
    /// The physical address.
    pub address: u64,
    /// The address for devices with virtual addresses.
    pub virtual_address: u64,
    /// The size in bytes.
    pub size: u64,
    /// The page size; the last page may reach beyond the buffer.
    pub page: PageSize,
    /// The access rights of devices.
    pub rights: Rights,
    /// Whether the pages are present from the beginning.
    pub present: bool,
    /// Whether the host's system cache has the buffer's lines at the beginning.
    pub in_system_cache: bool,
    /// Whether a workload writes the buffer, so that the data of a read is not known in advance.
    pub is_written: bool,
    /// For a buffer that host software moves between two addresses: the second address, the number of moves, and the time between moves.
    pub moves: Option<(u64, u32, Span)>,
}

impl BufferPlan {
    /// The mappings of the buffer's pages. The last page is mapped completely, even if the buffer ends within it.
    pub fn mappings(&self) -> impl Iterator<Item = Mapping> {
        self.mappings_at(self.address)
    }

    /// The mappings of the buffer's pages if the buffer is at the physical address `address`.
    pub fn mappings_at(&self, address: u64) -> impl Iterator<Item = Mapping> {
        let pages = (0..self.size).step_by(self.page.bytes() as usize);
        pages.map(move |offset| {
            let at = (self.virtual_address + offset, address + offset);
            Mapping::around(at.0, at.1, self.page, self.rights)
        })
    }

    /// The most page tables that the buffer's pages need.
    fn tables(&self) -> u64 {
        let lowest = match self.page {
            PageSize::Kib4 | PageSize::Kib64 => self.size.div_ceil(PageSize::Mib2.bytes()),
            PageSize::Mib2 | PageSize::Mib32 | PageSize::Gib1 => 0,
        };
        lowest + self.size.div_ceil(PageSize::Gib1.bytes()) + 2
    }
}

/// The index of the buffer with this name.
pub fn buffer_of(name: &str, buffers: &[BufferPlan]) -> Result<usize, String> {
    let names: Vec<&str> = buffers.iter().map(|buffer| buffer.name.as_str()).collect();
    position(name, &names, "buffer", &format!("write a [buffers.{name}]"))
}
