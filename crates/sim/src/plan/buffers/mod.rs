//! Buffers in the memories of hosts, and the page tables that map them.

mod plan;

use kernel::Span;
use transaction::{Mapping, PageSize, Rights};

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

/// The buffer of that name.
pub(crate) fn buffer_of(name: &str, buffers: &[BufferPlan]) -> Result<usize, String> {
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
