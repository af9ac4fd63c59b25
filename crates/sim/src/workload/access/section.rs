//! Buffers that hosts share with accelerators, and accesses to them one after the other.

use host::commanded::Completion;
use kernel::{Bytes, Span};
use transaction::{AccessKind, AtomicAccess, PageSize, Rights};

use ::scenario::ScenarioError;
use ::scenario::{At, Item, Lines, Section};

/// Rights to a buffer, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferRights(pub Rights);

impl BufferRights {
    const NAMES: [(&str, Self); 2] = [
        ("read-write", Self(Rights::ReadWrite)),
        ("read", Self(Rights::Read)),
    ];
}

/// Kind of access, as written.
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

    /// Name in a scenario.
    pub fn name(self) -> &'static str {
        let name = Self::NAMES.iter().find(|(_, known)| *known == self);
        name.map_or("", |(name, _)| name)
    }
}

/// Order of the places of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each access behind the last one.
    Sequential,
    /// Random places in the buffer.
    Random,
    /// Always the beginning of the buffer.
    Local,
}

impl Order {
    const NAMES: [(&str, Self); 3] = [
        ("sequential", Self::Sequential),
        ("random", Self::Random),
        ("local", Self::Local),
    ];
}

/// The starter of the accesses of a device, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driven {
    /// The device itself.
    Device,
    /// A program on the host above it, by its registers.
    Program,
}

impl Driven {
    const NAMES: [(&str, Self); 2] = [("device", Self::Device), ("program", Self::Program)];
}

/// The way in which a program learns of the end of an access, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessCompletion(pub Completion);

impl AccessCompletion {
    const NAMES: [(&str, Self); 2] = [
        ("poll", Self(Completion::Poll)),
        ("interrupt", Self(Completion::Interrupt)),
    ];
}

kernel::choices!(BufferRights);
kernel::choices!(Kind);
kernel::choices!(Order);
kernel::choices!(Driven);
kernel::choices!(AccessCompletion);

kernel::parameters! {
    /// A buffer in the memory of a host, besides its `host`.
    pub struct BufferParameters {
        /// Size of the buffer.
        size: Bytes = Bytes(1 << 20), within Bytes(64)..=Bytes(1 << 36), from "our choice";
        /// Page size of the buffer for devices with virtual addresses; the buffer begins on a page.
        page: PageSize = PageSize::Kib4, from "common on Linux";
        /// Whether the pages are present before a device with virtual addresses asks for them (PRI).
        present: bool = true, from "pinned, as drivers do";
        /// Whether the host's software wrote the buffer before the run: the system cache of the coherent host has its lines, or as many of the last ones as it keeps.
        in_system_cache: bool = false, from "our choice: the run begins with empty caches";
        /// Number of moves of the buffer by the host's software, elsewhere in memory and back, while devices use it: they drop its translations, and wait. The first core copies it.
        moves: u32 = 0, within 0..=1_000_000, from "it stays where it is";
        /// Time from the end of a move, and from the beginning of the run, to the next.
        move_interval: Span = Span::from_us(50), from "our choice";
        /// Rights of devices with virtual addresses: "read-write" or "read".
        rights: BufferRights = BufferRights(Rights::ReadWrite), from "the usual one";
    }
}

kernel::parameters! {
    /// Accesses one after the other, besides their `id`, the node that makes them (`by`), and their `buffer`.
    pub struct AccessParameters {
        /// Kind of access: "read", "write", "atomic-store", "atomic-load", "atomic-swap" or "atomic-compare".
        kind: Kind = Kind(AccessKind::Read), from "a common choice";
        /// Bytes of each access: of an atomic operation 4, 8 or 16; of a block-dma only an atomic-compare has 16.
        size: Bytes = Bytes(64), within Bytes(1)..=Bytes(1 << 30), from "a cache line";
        /// Number of measured accesses, on each core.
        count: u64 = 1000, within 1..=1_000_000_000, from "our choice";
        /// Number of accesses before the measured ones.
        warm_up: u64 = 0, from "our choice: all are measured";
        /// Order of places: "sequential", behind the last one, "random", at any multiple of the size in the buffer, or "local", at the beginning.
        order: Order = Order::Random, from "random places force misses";
        /// Number of cores of a host that make accesses at the same time.
        cores: u32 = 1, within 1..=62, from "our choice";
        /// Number of the first core.
        first_core: u32 = 0, within 0..=61, from "our choice";
        /// Time of the first access.
        start: Span = Span::ZERO, from "the beginning of the run";
        /// Time from the end of each access to the beginning of the next.
        interval: Span = Span::ZERO, from "as fast as possible";
        /// Software time around each access (call, doorbell, interrupt or poll, return): it passes with the interval, and rates count it, but no latency.
        turnaround: Span = Span::ZERO, from "our choice: whoever makes them starts them itself";
        /// Starter of each access of a device: "device", itself, or "program": a program on the host writes the device's registers by a system call, and waits for the end. Rates then count the time of the program.
        driven: Driven = Driven::Device, from "our choice: the device alone, without software";
        /// How the program learns of the end of an access: "poll", by reads of the status register, or "interrupt".
        completion: AccessCompletion = AccessCompletion(Completion::Poll), from "our choice: the shorter one for small accesses";
        /// Whether an accelerator starts with the translations of the buffer, as far as it can keep them.
        warm_translations: bool = false, from "our choice: it asks for what it needs";
    }
}

/// One `[buffers.NAME]` section.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Name of the buffer.
    pub name: At<String>,
    /// The host in whose memory it is.
    pub host: At<String>,
    /// All other parameters.
    pub parameters: BufferParameters,
    /// Lines of the section in the scenario.
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
    /// Name of the accesses; `accesses-1` and so on if none is written.
    pub id: At<String>,
    /// The host, accelerator or block-dma that makes the accesses.
    pub by: At<String>,
    /// Name of the buffer.
    pub buffer: At<String>,
    /// All other parameters.
    pub parameters: AccessParameters,
    /// Lines of the entry in the scenario.
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
