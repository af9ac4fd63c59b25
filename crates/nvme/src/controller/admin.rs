//! The admin commands (NVM Express 1.4, section 5).

use peerlane_device::Shell;

use crate::command::{
    CONTIGUOUS, CREATE_COMPLETION_QUEUE, CREATE_SUBMISSION_QUEUE, Command, INTERRUPTS, Status,
};
use crate::events::{Event, EventKind};
use crate::identify::{Identify, NAMESPACE};
use crate::logs::Health;
use crate::parameters::MOST_QUEUES;
use crate::progress::Outcome;
use crate::queues::{CompletionQueue, SubmissionQueue};

use super::Nvme;

impl Nvme {
    pub(super) fn execute_admin(
        &mut self,
        command: &Command,
        shell: &mut Shell<'_>,
    ) -> Result<Outcome, Status> {
        match command.opcode {
            0x00 => self.delete_submission_queue(command),
            CREATE_SUBMISSION_QUEUE => self.create_submission_queue(command),
            0x02 => self.log_page(command, shell.now_fs()),
            0x04 => self.delete_completion_queue(command),
            CREATE_COMPLETION_QUEUE => self.create_completion_queue(command),
            0x06 => self.identify(command),
            0x08 => Ok(self.abort(command, shell.now_fs())),
            0x09 => self.set_feature(command),
            0x0a => self.feature(command),
            0x0c => self.request_event(command),
            _ => Err(Status::InvalidOpcode),
        }
    }

    fn identify(&self, command: &Command) -> Result<Outcome, Status> {
        let structure = command.words[0] as u8;
        let is_possible = match structure {
            0x00 | 0x03 => command.namespace == NAMESPACE,
            0x02 => command.namespace < u32::MAX - 1,
            _ => true,
        };
        if !is_possible {
            return Err(Status::InvalidNamespace);
        }
        let identify = Identify {
            parameters: &self.parameters,
            serial: &self.serial,
        };
        let data = identify.data(structure, command.namespace);
        data.map(Outcome::Data).ok_or(Status::InvalidField)
    }

    fn create_completion_queue(&mut self, command: &Command) -> Result<Outcome, Status> {
        let (number, size) = (command.low(10), command.high(10));
        let is_free = is_place(number, self.features.queues[1])
            && self.completions[usize::from(number)].is_none();
        if !is_free {
            return Err(Status::InvalidQueueIdentifier);
        }
        self.check_queue(command, size)?;
        let (flags, vector) = (command.low(11), command.high(11));
        if vector > MOST_QUEUES {
            return Err(Status::InvalidVector);
        }
        let vector = (flags & INTERRUPTS != 0).then_some(vector);
        let queue = CompletionQueue::new(command.prp[0], u32::from(size) + 1, vector);
        self.completions[usize::from(number)] = Some(queue);
        Ok(Outcome::Done(0))
    }

    fn create_submission_queue(&mut self, command: &Command) -> Result<Outcome, Status> {
        let (number, size) = (command.low(10), command.high(10));
        let is_free = is_place(number, self.features.queues[0])
            && self.submissions[usize::from(number)].is_none();
        if !is_free {
            return Err(Status::InvalidQueueIdentifier);
        }
        let completions = command.high(11);
        let completion = self.completions.get(usize::from(completions));
        if completions == 0 || completion.is_none_or(Option::is_none) {
            return Err(Status::CompletionQueueInvalid);
        }
        self.check_queue(command, size)?;
        let queue = SubmissionQueue::new(command.prp[0], u32::from(size) + 1, completions);
        self.submissions[usize::from(number)] = Some(queue);
        Ok(Outcome::Done(0))
    }

    /// Checks the size, the flags and the address of a queue that software creates.
    fn check_queue(&self, command: &Command, size: u16) -> Result<(), Status> {
        if size == 0 || u32::from(size) >= self.parameters.queue_entries {
            return Err(Status::InvalidQueueSize);
        }
        // Queues must be contiguous (CAP.CQR).
        if command.low(11) & CONTIGUOUS == 0 || !self.registers.has_entry_sizes() {
            return Err(Status::InvalidField);
        }
        if !command.prp[0].is_multiple_of(self.registers.page()) {
            return Err(Status::PrpOffsetInvalid);
        }
        Ok(())
    }

    fn delete_submission_queue(&mut self, command: &Command) -> Result<Outcome, Status> {
        let number = usize::from(command.low(10));
        let queue = self.submissions.get_mut(number).filter(|_| number > 0);
        match queue.and_then(Option::as_mut) {
            Some(queue) if queue.deleted_by.is_none() => {
                queue.deleted_by = Some(command.id);
                Ok(Outcome::Later)
            }
            _ => Err(Status::InvalidQueueIdentifier),
        }
    }

    fn delete_completion_queue(&mut self, command: &Command) -> Result<Outcome, Status> {
        let number = command.low(10);
        let mut submissions = self.submissions.iter().flatten();
        let is_used = submissions.any(|queue| queue.completions == number);
        let queue = self.completions.get_mut(usize::from(number));
        let queue = queue.filter(|queue| number > 0 && queue.is_some());
        let queue = queue.ok_or(Status::InvalidQueueIdentifier)?;
        if is_used {
            return Err(Status::InvalidQueueDeletion);
        }
        *queue = None;
        Ok(Outcome::Done(0))
    }

    fn log_page(&mut self, command: &Command, now: u64) -> Result<Outcome, Status> {
        let [first, second, low, high, ..] = command.words;
        let dwords = u64::from(second & 0xffff) << 16 | u64::from(first >> 16);
        let (offset, len) = (u64::from(high) << 32 | u64::from(low), (dwords + 1) * 4);
        let temperature = self.parameters.temperature as u16;
        let health = Health {
            warnings: self.features.warnings(temperature),
            temperature,
            uptime: now,
        };
        let number = first as u8;
        let page = self.logs.page(number, health);
        let page = page.ok_or(Status::InvalidLogPage)?;
        let is_of_all = matches!(command.namespace, 0 | u32::MAX);
        let is_possible = is_of_all
            && len <= self.parameters.max_transfer.0
            && offset.is_multiple_of(4)
            && offset <= page.len() as u64;
        if !is_possible {
            return Err(Status::InvalidField);
        }
        if first & RETAIN_EVENT == 0 {
            match number {
                1 => self.events.acknowledge(EventKind::Error),
                2 => self.events.acknowledge(EventKind::Health),
                _ => {}
            }
        }
        let mut data = page[offset as usize..].to_vec();
        data.resize(len as usize, 0);
        Ok(Outcome::Data(data))
    }

    fn set_feature(&mut self, command: &Command) -> Result<Outcome, Status> {
        if command.words[0] & SAVE != 0 {
            return Err(Status::NotSaveable);
        }
        let queues = self.submissions.iter().skip(1).flatten().count()
            + self.completions.iter().skip(1).flatten().count();
        let (feature, value) = (command.words[0] as u8, command.words[1]);
        let result = self.features.set(feature, value, queues > 0)?;
        let warnings = self.features.warnings(self.parameters.temperature as u16);
        let warns = warnings & self.features.event_warnings != 0;
        if warns && !self.is_warned {
            self.events.raise(Event::TemperatureThreshold);
        }
        self.is_warned = warns;
        Ok(Outcome::Done(result))
    }

    fn feature(&self, command: &Command) -> Result<Outcome, Status> {
        // Only the current values can be selected, because the controller stores no saved values.
        if command.words[0] >> 8 & 7 != 0 {
            return Err(Status::InvalidField);
        }
        let feature = command.words[0] as u8;
        self.features
            .get(feature, command.words[1])
            .map(Outcome::Done)
    }

    fn request_event(&mut self, command: &Command) -> Result<Outcome, Status> {
        if self.events.request(command.id) {
            Ok(Outcome::Later)
        } else {
            Err(Status::EventRequestLimit)
        }
    }

    /// Aborts a command that waits only for the media, or an asynchronous event request. Bit 0 of the result is set if nothing was aborted.
    fn abort(&mut self, command: &Command, now: u64) -> Outcome {
        let (queue, id) = (command.low(10), command.high(10));
        if queue == 0 && self.events.abort(id) {
            self.complete(0, id, Err(Status::AbortRequested));
            return Outcome::Done(0);
        }
        let slot = self.slots.find(queue, id);
        let is_at_media = |slot: &usize| self.slots.at(*slot).is_some_and(|one| one.is_at_media);
        let Some(slot) = slot.filter(is_at_media) else {
            return Outcome::Done(1);
        };
        self.end(slot, Err(Status::AbortRequested), now);
        Outcome::Done(0)
    }
}

/// Whether a queue can have the identifier `number` if there are `queues` I/O queues.
fn is_place(number: u16, queues: u16) -> bool {
    (1..=queues).contains(&number)
}

/// Retain Asynchronous Event (RAE).
const RETAIN_EVENT: u32 = 1 << 15;
/// Save (SV).
const SAVE: u32 = 1 << 31;
