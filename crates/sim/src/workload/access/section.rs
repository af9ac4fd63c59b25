//! Buffers that hosts share with accelerators, and accesses to them one after the other.

use kernel::{Bytes, Span};
use transaction::{AccessKind, AtomicAccess, PageSize, Rights};

use ::scenario::ScenarioError;
use ::scenario::{At, Item, Lines, Section};

/// What may be done with a buffer, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferRights(pub Rights);

impl BufferRights {
    const NAMES: [(&str, Self); 2] = [
        ("read-write", Self(Rights::ReadWrite)),
        ("read", Self(Rights::Read)),
    ];
}

/// What each access does, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(pub AccessKind);

impl Kind {
    const NAMES: [(&str, Self); 6] = [
        ("read", Self(AccessKind::Read)),
        ("write", Self(AccessKind::Write)),
        (
            "atomic-store",
            Self(AccessKind::Atomic(AtomicAccess::Store)),
        ),
        ("atomic-load", Self(AccessKind::Atomic(AtomicAccess::Load))),
        ("atomic-swap", Self(AccessKind::Atomic(AtomicAccess::Swap))),
        (
            "atomic-compare",
            Self(AccessKind::Atomic(AtomicAccess::Compare)),
        ),
    ];

    /// What a scenario calls it.
    pub fn name(self) -> &'static str {
        let name = Self::NAMES.iter().find(|(_, known)| *known == self);
        name.map_or("", |(name, _)| name)
    }
}

/// Where each access is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Behind the last one.
    Sequential,
    /// Anywhere in the buffer.
    Random,
    /// At its beginning.
    Local,
}

impl Order {
    const NAMES: [(&str, Self); 3] = [
        ("sequential", Self::Sequential),
        ("random", Self::Random),
        ("local", Self::Local),
    ];
}

kernel::choices!(BufferRights);
kernel::choices!(Kind);
kernel::choices!(Order);

kernel::parameters! {
    /// A buffer in the memory of a host, besides its `host`.
    pub struct BufferParameters {
        /// How long it is.
        size: Bytes = Bytes(1 << 20), within Bytes(64)..=Bytes(1 << 36), from "our choice";
        /// The pages that it is on, as devices see it that have virtual addresses; it begins with one.
        page: PageSize = PageSize::Kib4, from "common on Linux";
        /// Whether its pages are there before such a device asks for them (PRI).
        present: bool = true, from "pinned, as drivers do";
        /// How often the host's software moves it elsewhere in its memory and back, while devices use it: they forget where it was, and wait. Its first core copies it.
        moves: u32 = 0, within 0..=1_000_000, from "it stays where it is";
        /// From the end of a move, and from the beginning of the run, to the next.
        move_interval: Span = Span::from_us(50), from "our choice";
        /// What those may do with it: "read-write" or "read".
        rights: BufferRights = BufferRights(Rights::ReadWrite), from "the usual one";
    }
}

kernel::parameters! {
    /// Accesses one after the other, besides their `id`, who makes them (`by`), and their `buffer`.
    pub struct AccessParameters {
        /// What each does: "read", "write", "atomic-store", "atomic-load", "atomic-swap" or "atomic-compare".
        kind: Kind = Kind(AccessKind::Read), from "a common choice";
        /// Bytes of each: of an atomic operation 4, 8 or 16; of a block-dma only an atomic-compare has 16.
        size: Bytes = Bytes(64), within Bytes(1)..=Bytes(1 << 30), from "a cache line";
        /// How many there are; on several cores, on each of them.
        count: u64 = 1000, within 1..=1_000_000_000, from "our choice";
        /// How many come before those, and are not measured.
        warm_up: u64 = 0, from "our choice: all are measured";
        /// Where each is: "sequential", behind the last one, "random", at any multiple of its size in the buffer, or "local", at its beginning.
        order: Order = Order::Random, from "random places force misses";
        /// Cores of a host that make them, all at the same time.
        cores: u32 = 1, within 1..=62, from "our choice";
        /// The number of the first of those cores.
        first_core: u32 = 0, within 0..=61, from "our choice";
        /// When the first begins.
        start: Span = Span::ZERO, from "the beginning of the run";
        /// From the end of each to the beginning of the next.
        interval: Span = Span::ZERO, from "as fast as possible";
        /// Time that the software which starts each takes around it (call, doorbell, interrupt or poll, return): it passes with the interval, and rates count it, but no latency.
        turnaround: Span = Span::ZERO, from "our choice: whoever makes them starts them itself";
        /// Whether an accelerator has the translations of the buffer before the first access, as far as it can keep them.
        warm_translations: bool = false, from "our choice: it asks for what it needs";
    }
}

/// One `[buffers.NAME]` section.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Its name.
    pub name: At<String>,
    /// The host in whose memory it is.
    pub host: At<String>,
    /// All else.
    pub parameters: BufferParameters,
    /// Where it all stands.
    pub lines: Lines,
}

impl Buffer {
    pub(crate) fn read(item: &Item<'_>) -> Result<Self, ScenarioError> {
        let mut section = item.section()?;
        let host = section.read("host")?;
        let missing =
            section.error("there is no host; write host = \"NAME\" of the one that has it");
        let mut parameters = BufferParameters::default();
        let lines = section.set(&mut [&mut parameters])?;
        Ok(Self {
            name: item.name(),
            host: host.ok_or(missing)?,
            parameters,
            lines,
        })
    }
}

/// One `[[accesses]]` entry.
#[derive(Clone, Debug)]
pub struct Access {
    /// Its name; `accesses-1` and so on where none is written.
    pub id: At<String>,
    /// The host, accelerator or block-dma that makes them.
    pub by: At<String>,
    /// The buffer.
    pub buffer: At<String>,
    /// All else.
    pub parameters: AccessParameters,
    /// Where it all stands.
    pub lines: Lines,
}

impl Access {
    pub(crate) fn read(number: usize, mut section: Section<'_>) -> Result<Self, ScenarioError> {
        let id = section.read("id")?.unwrap_or(At {
            value: format!("accesses-{number}"),
            line: section.line(),
        });
        let by = section.read("by")?;
        let buffer = section.read("buffer")?;
        let missing = section.error(if by.is_none() {
            "there is no by; write by = \"NAME\" of a host, an accelerator or a block-dma"
        } else {
            "there is no buffer; write buffer = \"NAME\" of a [buffers.NAME]"
        });
        let mut parameters = AccessParameters::default();
        let lines = section.set(&mut [&mut parameters])?;
        let (Some(by), Some(buffer)) = (by, buffer) else {
            return Err(missing);
        };
        Ok(Self {
            id,
            by,
            buffer,
            parameters,
            lines,
        })
    }
}
