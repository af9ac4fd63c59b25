//! The steps of a schedule: transfers from device to device, each with a flag, and sums.

use std::collections::BTreeMap;

use device::gpu::program::{Engine, Move, Step, Work};
use kernel::Span;
use transaction::Direction;

use crate::workload::schedule::section::By;

/// Builds the programs of all devices.
#[derive(Debug)]
pub(super) struct Builder {
    pub(super) programs: Vec<Vec<Step>>,
    /// For each step that waits for a flag: the device and the step that set the flag.
    pub(super) signals: BTreeMap<(usize, usize), (usize, usize)>,
    /// For each device: the address of its memory, and the offset after its last allocated byte.
    pub(super) memories: Vec<(u64, u64)>,
    /// The last transfer of a device from or to another device. Transfers between the same devices are made one after the other.
    last: BTreeMap<(usize, usize), usize>,
    by: By,
    pub(super) engine: Engine,
    chunk: u64,
    /// For each device: the time from the start of a kernel to its first instruction, and the step of the start, if there is one.
    kernels: Vec<(Span, Option<usize>)>,
}

/// A range of bytes in the memory of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) device: usize,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// A range of bytes, in pieces, and the step of its device after which each piece is complete.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    pub(super) range: Range,
    pub(super) ready: Vec<Option<usize>>,
}

/// Flags are in cache lines of their own.
const FLAG_LINE: u64 = 64;

impl Builder {
    /// Creates programs without steps. `memories` has the address of each device's memory and the offset of its first free byte. The start of a
    /// kernel takes `launch`.
    pub(super) fn new(
        memories: Vec<(u64, u64)>,
        (by, engine, chunk): (By, Engine, u64),
        launch: &[Span],
    ) -> Self {
        Builder {
            programs: vec![Vec::new(); launch.len()],
            kernels: launch.iter().map(|launch| (*launch, None)).collect(),
            signals: BTreeMap::new(),
            memories,
            last: BTreeMap::new(),
            by,
            engine,
            chunk,
        }
    }

    /// The offset after the last allocated byte of each device.
    pub(super) fn tops(&self) -> impl Iterator<Item = u64> {
        self.memories.iter().map(|(_, top)| *top)
    }

    /// Allocates `bytes` bytes of a device.
    pub(super) fn allocate(&mut self, device: usize, bytes: u64) -> Range {
        let (_, top) = &mut self.memories[device];
        let offset = top.next_multiple_of(FLAG_LINE);
        *top = offset + bytes;
        Range {
            device,
            offset,
            bytes,
        }
    }

    /// The pieces of a range whose bytes are complete from the beginning.
    pub(super) fn given(&self, range: Range) -> Pieces {
        Pieces {
            ready: vec![None; range.bytes.div_ceil(self.chunk) as usize],
            range,
        }
    }

    /// The piece with this number.
    fn piece(&self, range: Range, number: usize) -> Range {
        let begin = self.chunk * number as u64;
        Range {
            offset: range.offset + begin,
            bytes: self.chunk.min(range.bytes - begin),
            ..range
        }
    }

    /// Adds a step of a device. It begins after the steps `after`. A first step of a kernel begins after the start of the kernel.
    pub(super) fn add(
        &mut self,
        device: usize,
        work: Work,
        after: impl IntoIterator<Item = Option<usize>>,
    ) -> usize {
        let mut after: Vec<usize> = after.into_iter().flatten().collect();
        let engine = match &work {
            Work::Move(transfer) => transfer.engine,
            _ => self.engine,
        };
        if after.is_empty() && engine == Engine::Kernel {
            after.push(self.kernel(device));
        }
        after.sort_unstable();
        after.dedup();
        self.push(device, Step { after, work })
    }

    /// The step that starts the kernel of a device.
    fn kernel(&mut self, device: usize) -> usize {
        if let (_, Some(start)) = self.kernels[device] {
            return start;
        }
        let work = Work::Compute(self.kernels[device].0);
        let start = self.push(
            device,
            Step {
                after: Vec::new(),
                work,
            },
        );
        self.kernels[device].1 = Some(start);
        start
    }

    fn push(&mut self, device: usize, step: Step) -> usize {
        self.programs[device].push(step);
        self.programs[device].len() - 1
    }

    /// Adds a flag that `from` sets after the step `after`, and returns the step of `to` that waits for it.
    pub(super) fn signal(&mut self, from: usize, after: Option<usize>, to: usize) -> usize {
        let flag = self.allocate(to, FLAG_LINE).offset;
        let address = self.memories[to].0 + flag;
        let set = self.add(from, Work::Signal(address), [after]);
        let wait = self.add(to, Work::Wait(flag), [None]);
        self.signals.insert((to, wait), (from, set));
        wait
    }

    /// Moves the pieces of a range to a range of another device. Returns the pieces there.
    pub(super) fn transfer(&mut self, from: &Pieces, to: Range) -> Pieces {
        let ready = (0..).zip(&from.ready).map(|(number, ready)| {
            let (source, target) = (self.piece(from.range, number), self.piece(to, number));
            Some(self.transfer_piece(source, *ready, target))
        });
        Pieces {
            ready: ready.collect(),
            range: to,
        }
    }

    fn transfer_piece(&mut self, from: Range, ready: Option<usize>, to: Range) -> usize {
        let move_of = |direction, own: Range, address| {
            Work::Move(Move {
                engine: self.engine,
                direction,
                address,
                offset: own.offset,
                bytes: own.bytes,
            })
        };
        match self.by {
            By::Push => {
                let work = move_of(
                    Direction::Write,
                    from,
                    self.memories[to.device].0 + to.offset,
                );
                let pair = (from.device, to.device);
                let last = self.last.get(&pair).copied();
                let step = self.add(from.device, work, [ready, last]);
                self.last.insert(pair, step);
                self.signal(from.device, Some(step), to.device)
            }
            By::Pull => {
                let work = move_of(
                    Direction::Read,
                    to,
                    self.memories[from.device].0 + from.offset,
                );
                let wait = ready.map(|ready| self.signal(from.device, Some(ready), to.device));
                let pair = (to.device, from.device);
                let last = self.last.get(&pair).copied();
                let step = self.add(to.device, work, [wait, last]);
                self.last.insert(pair, step);
                step
            }
        }
    }

    /// Writes the sum of vectors to `into`, piece by piece. All ranges are in the memory of one device and have the same length.
    pub(super) fn reduce(&mut self, into: Range, from: &[Pieces]) -> Pieces {
        let all = 0..from[0].ready.len();
        let ready = all.map(|number| {
            let piece = self.piece(into, number);
            let vectors = from.iter();
            let vectors = vectors.map(|one| self.piece(one.range, number).offset);
            let work = Work::Reduce {
                into: piece.offset,
                from: vectors.collect(),
                bytes: piece.bytes,
            };
            let after = from.iter().map(|one| one.ready[number]);
            let after: Vec<Option<usize>> = after.collect();
            Some(self.add(into.device, work, after))
        });
        Pieces {
            ready: ready.collect(),
            range: into,
        }
    }

    /// Copies the pieces of a range to another range of the same device.
    pub(super) fn duplicate(&mut self, from: &Pieces, to: Range) -> Pieces {
        let all = (0..).zip(&from.ready);
        let ready = all.map(|(number, ready)| {
            let (source, target) = (self.piece(from.range, number), self.piece(to, number));
            let work = Work::Duplicate {
                from: source.offset,
                to: target.offset,
                bytes: source.bytes,
            };
            Some(self.add(to.device, work, [*ready]))
        });
        Pieces {
            ready: ready.collect(),
            range: to,
        }
    }
}

impl Range {
    /// Segment `number` of `count` equal segments.
    pub(super) fn segment(self, number: usize, count: usize) -> Range {
        let bytes = self.bytes / count as u64;
        Range {
            offset: self.offset + bytes * number as u64,
            bytes,
            ..self
        }
    }
}
