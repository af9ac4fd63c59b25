//! The data of commands: PRP lists, transfers between host memory and media, and the ends of commands.

use peerlane_device::{Failure, Mark, Misuse, Shell};

use crate::command::{Command, FLUSH, READ, Status, WRITE};
use crate::identify::NAMESPACE;
use crate::pages::Pages;
use crate::progress::{Action, Outcome, Progress};

use super::{Nvme, Purpose};

impl Nvme {
    /// Checks a command of an I/O queue, and returns its next step.
    pub(super) fn plan_io(&self, command: &Command) -> Result<Outcome, Status> {
        let is_flush = command.opcode == FLUSH;
        if !matches!(command.opcode, FLUSH | WRITE | READ) {
            return Err(Status::InvalidOpcode);
        }
        let is_all = is_flush && command.namespace == u32::MAX;
        if command.namespace != NAMESPACE && !is_all {
            return Err(Status::InvalidNamespace);
        }
        if is_flush {
            return Ok(Outcome::Move(Action::Flush, 0));
        }
        let blocks = u64::from(command.low(12)) + 1;
        let first = u64::from(command.words[1]) << 32 | u64::from(command.words[0]);
        let len = blocks * self.parameters.block_size.0;
        if len > self.parameters.max_transfer.0 {
            return Err(Status::InvalidField);
        }
        let end = first.checked_add(blocks);
        if end.is_none_or(|end| end > self.parameters.blocks()) {
            return Err(Status::OutOfRange);
        }
        let offset = first * self.parameters.block_size.0;
        let through = command.words[2] >> 30 & 1 != 0 || self.features.write_cache != Some(true);
        let action = if command.opcode == READ {
            Action::Read { offset, len }
        } else {
            Action::Write { offset, through }
        };
        Ok(Outcome::Move(action, len))
    }

    /// Stores a command in a slot, and begins the transfer of its `len` bytes of data.
    pub(super) fn keep(
        &mut self,
        queue: u16,
        command: &Command,
        (action, bytes, len): (Action, Vec<u8>, u64),
        shell: &mut Shell<'_>,
    ) -> Result<(), Status> {
        let pages = match action {
            Action::Flush => None,
            _ => Some(Pages::begin(command.prp, len, self.registers.page())?),
        };
        let born = shell.now_fs();
        self.busy_since.get_or_insert(born);
        let slot = self.slots.put(Progress {
            queue,
            command: *command,
            action,
            pages,
            bytes,
            sent: 0,
            born,
            awaited: 0,
            has_failed: false,
            is_at_media: false,
        });
        self.find_pages(slot, shell);
        Ok(())
    }

    /// Reads the next PRP list of a command, or begins to transfer its data if the addresses of all pages are known.
    pub(super) fn find_pages(&mut self, slot: usize, shell: &mut Shell<'_>) {
        let Some(progress) = self.slots.at(slot) else {
            return;
        };
        match progress.pages.as_ref().and_then(Pages::list) {
            None => self.move_data(slot, shell),
            Some((address, len)) => {
                progress.awaited = 1;
                let mark = self.mark_of_entries();
                if !self.transfer(Purpose::List(slot), shell, |shell, tag| {
                    shell.marked(mark).read(tag, address, len)
                }) {
                    self.end(slot, Err(Status::DataTransferError), shell.now_fs());
                }
            }
        }
    }

    pub(super) fn take_list(
        &mut self,
        slot: usize,
        outcome: Result<&[u8], Failure>,
        shell: &mut Shell<'_>,
    ) {
        let Some(progress) = self.slots.at(slot) else {
            return;
        };
        progress.awaited = 0;
        let taken = match (&mut progress.pages, outcome) {
            (Some(pages), Ok(bytes)) => pages.take_list(bytes),
            _ => Err(Status::DataTransferError),
        };
        match taken {
            Ok(()) => self.find_pages(slot, shell),
            Err(status) => self.end(slot, Err(status), shell.now_fs()),
        }
    }

    /// Begins to transfer the data of a command. The addresses of all its pages must be known.
    pub(super) fn move_data(&mut self, slot: usize, shell: &mut Shell<'_>) {
        let Some(progress) = self.slots.at(slot) else {
            return;
        };
        let now = shell.now_fs();
        let end = match progress.action {
            Action::Send => return self.send(slot, shell),
            Action::Write { .. } => return self.collect(slot, shell),
            Action::Read { offset, len } => self.media.read(now, offset, len),
            Action::Flush => self.media.flush(now),
        };
        self.access(slot, end, shell);
    }

    /// Starts the command's access to the media, which ends at `end`.
    pub(super) fn access(&mut self, slot: usize, end: u64, shell: &mut Shell<'_>) {
        if let Some(progress) = self.slots.at(slot) {
            progress.is_at_media = true;
            self.wait(Purpose::Media(slot), end - shell.now_fs(), shell);
        }
    }

    /// Continues a command whose access to the media has ended.
    pub(super) fn end_access(&mut self, slot: usize, shell: &mut Shell<'_>) {
        let Some(progress) = self.slots.at(slot) else {
            return;
        };
        progress.is_at_media = false;
        let Action::Read { offset, len } = progress.action else {
            return self.end(slot, Ok(0), shell.now_fs());
        };
        progress.bytes = vec![0; len as usize];
        self.media.load(offset, &mut progress.bytes);
        self.send(slot, shell);
    }

    /// Writes the data of a command to host memory, after the data of earlier commands.
    pub(super) fn send(&mut self, slot: usize, shell: &mut Shell<'_>) {
        self.to_send.push_back(slot);
        if self.to_send.len() == 1 {
            self.send_page(shell);
        }
    }

    /// Writes the next page of data to host memory, after the previous page was sent. Reads of submission entries therefore wait behind one page
    /// of data at most.
    fn send_page(&mut self, shell: &mut Shell<'_>) {
        let block = self.parameters.block_size.0;
        while let Some(slot) = self.to_send.front().copied() {
            let Some(progress) = self.slots.at(slot) else {
                self.to_send.pop_front();
                continue;
            };
            let at = progress.sent;
            let pages = progress.pages.as_ref();
            let piece = pages.and_then(|pages| pages.piece(at as u64));
            let Some((address, len)) = piece.filter(|_| !progress.has_failed) else {
                self.to_send.pop_front();
                self.end_if_over(slot, shell);
                continue;
            };
            progress.sent += len as usize;
            let bytes = std::mem::take(&mut progress.bytes);
            let part = &bytes[at..at + len as usize];
            let label = progress.label(block, at, at + part.len() == bytes.len());
            let mark = Mark {
                label,
                ..Mark::default()
            };
            self.move_part(slot, Purpose::Sent(slot), shell, |shell, tag| {
                shell.marked(mark).write_tagged(tag, address, part)
            });
            if let Some(progress) = self.slots.at(slot) {
                progress.bytes = bytes;
                if !progress.has_failed {
                    return;
                }
            }
        }
    }

    /// Handles the end of the transmission of a page of a command's data.
    pub(super) fn take_sent(&mut self, slot: usize, shell: &mut Shell<'_>) {
        if let Some(progress) = self.slots.at(slot) {
            progress.awaited -= 1;
        }
        self.send_page(shell);
    }

    /// Reads the data of a command from host memory.
    pub(super) fn collect(&mut self, slot: usize, shell: &mut Shell<'_>) {
        let Some(progress) = self.slots.at(slot) else {
            return;
        };
        let pages = progress.pages.as_ref();
        let ranges = pages.map_or(Vec::new(), |pages| pages.ranges().to_vec());
        if let [_, _, ..] = ranges[..] {
            progress.bytes = vec![0; ranges.iter().map(|(_, len)| *len as usize).sum()];
        }
        let block = self.parameters.block_size.0;
        let mut from = 0;
        for (address, len) in ranges {
            let label = self.slots.at(slot);
            let label = label.and_then(|progress| progress.label(block, from, true));
            let mark = Mark {
                label,
                ..Mark::default()
            };
            self.move_part(slot, Purpose::Data(slot, from), shell, |shell, tag| {
                shell.marked(mark).read(tag, address, len)
            });
            from += len as usize;
        }
        self.end_if_over(slot, shell);
    }

    /// Begins a transfer for the command in a slot. If its address is invalid, the transfer has failed.
    pub(super) fn move_part(
        &mut self,
        slot: usize,
        purpose: Purpose,
        shell: &mut Shell<'_>,
        ask: impl FnOnce(&mut Shell<'_>, u64) -> Result<(), Misuse>,
    ) {
        let begun = self.transfer(purpose, shell, ask);
        if let Some(progress) = self.slots.at(slot) {
            progress.awaited += usize::from(begun);
            progress.has_failed |= !begun;
        }
    }

    pub(super) fn take_data(
        &mut self,
        slot: usize,
        offset: usize,
        outcome: Result<&[u8], Failure>,
        shell: &mut Shell<'_>,
    ) {
        if let Some(progress) = self.slots.at(slot) {
            match outcome {
                // The data has a single range.
                Ok(bytes) if progress.bytes.is_empty() => progress.bytes = bytes.to_vec(),
                Ok(bytes) => progress.bytes[offset..offset + bytes.len()].copy_from_slice(bytes),
                Err(_) => progress.has_failed = true,
            }
        }
        if let Some(progress) = self.slots.at(slot) {
            progress.awaited -= 1;
        }
        self.end_if_over(slot, shell);
    }

    /// Continues a command if none of its transfers is outstanding. Data from host memory is then written to the media; otherwise the command
    /// ends.
    pub(super) fn end_if_over(&mut self, slot: usize, shell: &mut Shell<'_>) {
        let now = shell.now_fs();
        let Some(progress) = self.slots.at(slot).filter(|one| one.awaited == 0) else {
            return;
        };
        if progress.has_failed {
            return self.end(slot, Err(Status::DataTransferError), now);
        }
        let Action::Write { offset, through } = progress.action else {
            return self.end(slot, Ok(0), now);
        };
        let bytes = std::mem::take(&mut progress.bytes);
        if let Some(label) = progress.label(self.parameters.block_size.0, 0, true) {
            shell.deliver(label, &bytes);
        }
        self.media.store(offset, &bytes);
        let place = (offset, bytes.len() as u64);
        let end = self.media.write(now, place, through);
        self.access(slot, end, shell);
    }

    pub(super) fn end(&mut self, slot: usize, outcome: Result<u32, Status>, now: u64) {
        let Some(progress) = self.slots.take(slot) else {
            return;
        };
        let waits = Purpose::Media(slot);
        if progress.is_at_media {
            self.purposes.retain(|_, purpose| *purpose != waits);
        }
        if self.slots.is_empty()
            && let Some(since) = self.busy_since.take()
        {
            self.logs.busy += now - since;
        }
        if let Err(status) = outcome {
            return self.fail(progress.queue, &progress.command, status);
        }
        let moved = match progress.action {
            Action::Read { len, .. } => Some((0, len)),
            Action::Write { .. } => {
                let blocks = u64::from(progress.command.low(12)) + 1;
                Some((1, blocks * self.parameters.block_size.0))
            }
            Action::Send | Action::Flush => None,
        };
        if let Some((direction, len)) = moved {
            self.logs.commands[direction] += 1;
            self.logs.units[direction] += len / 512;
        }
        self.complete(progress.queue, progress.command.id, outcome);
    }
}
