//! Buffers in the memories of hosts. Hosts and devices share them.

use kernel::{Bytes, Span};
use transaction::{PageSize, Rights};

use ::scenario::{At, Item, Lines, ScenarioError};

use super::need;

kernel::parameters! {
    /// Parameters of a buffer in the memory of a host, besides its `host`.
    pub struct BufferParameters {
        /// Size of the buffer.
        size: Bytes = Bytes(1 << 20), within Bytes(64)..=Bytes(1 << 36), from "our choice";
        /// Page size of the buffer for devices with virtual addresses; the buffer begins on a page.
        page: PageSize = PageSize::Kib4, from "common on Linux";
        /// Whether the pages are present before a device with virtual addresses requests them (PRI).
        present: bool = true, from "pinned, as drivers do";
        /// Whether the host's software wrote the buffer before the run, so that the system cache of the coherent host has its lines at the start. If the cache is too small, it has the last lines of the buffer.
        in_system_cache: bool = false, from "our choice: the run begins with empty caches";
        /// Number of times that the host's software moves the buffer, to another place in memory or back, while devices use it. During a move, devices drop their address translations of the buffer and wait; the first core copies the data.
        moves: u32 = 0, within 0..=1_000_000, from "it stays where it is";
        /// Time from the beginning of the run to the first move, and from the end of each move to the next.
        move_interval: Span = Span::from_us(50), from "our choice";
        /// Rights of devices with virtual addresses: "read-write" or "read".
        rights: Rights = Rights::ReadWrite, from "the usual one";
    }
}

/// One `[buffers.NAME]` section.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Name of the buffer.
    pub name: At<String>,
    /// The host in whose memory the buffer is.
    pub host: At<String>,
    /// All other parameters.
    pub parameters: BufferParameters,
    /// Lines of the section in the scenario.
    pub lines: Lines,
}

impl Buffer {
    pub(super) fn read(item: &Item<'_>) -> Result<Self, ScenarioError> {
        let mut section = item.section()?;
        let host = need(&mut section, "host", "the one that has it")?;
        let mut parameters = BufferParameters::default();
        let lines = section.set(&mut [&mut parameters])?;
        Ok(Self {
            name: item.name(),
            host,
            parameters,
            lines,
        })
    }
}
