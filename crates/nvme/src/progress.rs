//! The commands in progress, each in a slot.

use peerlane_device::Label;

use crate::command::Command;
use crate::pages::Pages;

/// A command in progress.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The submission queue of the command.
    pub queue: u16,
    pub command: Command,
    /// The direction of the command's data.
    pub action: Action,
    /// The pages of the command's data in host memory; none for a flush.
    pub pages: Option<Pages>,
    /// The data of the command.
    pub bytes: Vec<u8>,
    /// Number of bytes of the data that were sent to host memory.
    pub sent: usize,
    /// The time at which the command began, in femtoseconds.
    pub born: u64,
    /// Number of reads and writes of host memory that have not ended.
    pub awaited: usize,
    pub has_failed: bool,
    /// Whether the command waits only for the media. If so, it can be aborted.
    pub is_at_media: bool,
}

/// The direction in which a command's data is transferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// From the controller to host memory.
    Send,
    /// From the media to host memory.
    Read {
        /// Offset in the media.
        offset: u64,
        /// Number of bytes.
        len: u64,
    },
    /// From host memory to the media.
    Write {
        /// Offset in the media.
        offset: u64,
        /// Whether the command ends only when the data is in the dies.
        through: bool,
    },
    /// From the write cache to the dies.
    Flush,
}

/// The next step of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The command has ended; the value is dword 0 of its completion.
    Done(u32),
    /// This data must be sent to host memory.
    Data(Vec<u8>),
    /// Data must be transferred: its direction and its number of bytes.
    Move(Action, u64),
    /// Another event ends the command later.
    Later,
}

/// The slots for the commands in progress.
#[derive(Clone, Debug)]
pub struct Slots {
    all: Vec<Option<Progress>>,
    free: Vec<usize>,
    /// Number of free slots that are reserved for entries that are being read.
    reserved: usize,
}

/// Number of slots that I/O commands cannot use, so that they are free for admin commands.
const ADMIN_SLOTS: usize = 4;

impl Progress {
    /// The label of the data from byte `at` on. `block` is the size of a block. `last` is true if the data is the last data of the command.
    pub fn label(&self, block: u64, at: usize, last: bool) -> Option<Label> {
        let (flow, before) = match self.action {
            Action::Read { .. } | Action::Write { .. } => self.command.label?,
            Action::Send | Action::Flush => return None,
        };
        Some(Label {
            flow,
            offset: u64::from(before) * block + at as u64,
            born_fs: self.born,
            last,
        })
    }
}

impl Slots {
    /// Slots for `commands` I/O commands, and additional slots for admin commands.
    pub fn new(commands: usize) -> Self {
        let count = commands + ADMIN_SLOTS;
        Slots {
            all: vec![None; count],
            free: (0..count).rev().collect(),
            reserved: 0,
        }
    }

    pub fn free(&self, queue: u16) -> u32 {
        let kept = if queue == 0 { 0 } else { ADMIN_SLOTS };
        (self.free.len().saturating_sub(self.reserved + kept)) as u32
    }

    /// Reserves slots for entries that are being read.
    pub fn reserve(&mut self, count: u32) {
        self.reserved += count as usize;
    }

    /// Ends the reservation of slots, because the entries have arrived.
    pub fn release(&mut self, count: u32) {
        self.reserved -= count as usize;
    }

    /// Puts a command into a slot. Panics if no slot is free.
    pub fn put(&mut self, progress: Progress) -> usize {
        let slot = self.free.pop();
        let slot = slot.expect("entries are read only for free slots");
        self.all[slot] = Some(progress);
        slot
    }

    pub fn at(&mut self, slot: usize) -> Option<&mut Progress> {
        self.all[slot].as_mut()
    }

    pub fn take(&mut self, slot: usize) -> Option<Progress> {
        let progress = self.all[slot].take();
        if progress.is_some() {
            self.free.push(slot);
        }
        progress
    }

    /// The slot of the command with identifier `id` in a queue.
    pub fn find(&self, queue: u16, id: u16) -> Option<usize> {
        let is_it = |one: &Progress| (one.queue, one.command.id) == (queue, id);
        self.all
            .iter()
            .position(|one| one.as_ref().is_some_and(is_it))
    }

    /// Whether a queue has commands in progress.
    pub fn has(&self, queue: u16) -> bool {
        self.all.iter().flatten().any(|one| one.queue == queue)
    }

    /// Whether a command waits for the media.
    pub fn accesses_media(&self) -> bool {
        self.all.iter().flatten().any(|one| one.is_at_media)
    }

    /// Whether no command is in progress.
    pub fn is_empty(&self) -> bool {
        self.free.len() == self.all.len()
    }
}
